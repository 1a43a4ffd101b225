# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How many uploads are in progress, and how many bytes of them: bounded in all and by tenant; the others wait outside.

An upload holds a megabyte of memory while it streams to disk. One that waits for its turn is not read, so its sender is
slowed down by TCP and nothing of it is held here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread

from eddy.core.errors import EddyError

WRITERS = 4
"""Threads that may wait for the disk at once."""
T = TypeVar("T")


class TooManyUploads(EddyError):
    """No place became free in time."""

    code = "too-many-uploads"


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Bounds on uploads.

    Attributes:
        uploads: Most at once.
        uploads_per_tenant: Most at once of one tenant.
        upload_bytes: Most bytes of all that are under way, on disk; half of them are for one tenant.
        wait_s: Wall time one waits for its turn.
    """

    uploads: int = 16
    uploads_per_tenant: int = 8
    upload_bytes: int = 4 << 30
    wait_s: float = 10.0


@dataclass(slots=True)
class Uploads:
    """The uploads of one server; it belongs to the event loop."""

    limits: UploadLimits = field(default_factory=UploadLimits)
    _disk: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(WRITERS))
    _of: Counter[str] = field(default_factory=Counter)
    _bytes: Counter[str] = field(default_factory=Counter)
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    async def on_disk(self, call: Callable[..., T], *arguments: object) -> T:
        """Make a call that waits for the disk, in a thread; routes that need none of these threads go on."""
        return await anyio.to_thread.run_sync(call, *arguments, limiter=self._disk)

    @asynccontextmanager
    async def place(self, tenant: str, size_bytes: int) -> AsyncIterator[None]:
        """Hold a place for one upload.

        Args:
            size_bytes: What it will have, or may have at most.

        Raises:
            TooManyUploads: None became free in time.
        """
        await self._wait(tenant, size_bytes)
        self._of[tenant] += 1
        self._bytes[tenant] += size_bytes
        try:
            yield
        finally:
            for taken, count in ((self._of, 1), (self._bytes, size_bytes)):
                taken[tenant] -= count
                if not taken[tenant]:
                    del taken[tenant]
            self._freed.set()
            self._freed = asyncio.Event()

    async def _wait(self, tenant: str, size_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self.limits.wait_s
        while not self._fits(tenant, size_bytes):
            try:
                await asyncio.wait_for(self._freed.wait(), until_s - loop.time())
            except asyncio.TimeoutError:
                raise TooManyUploads(
                    f"{self._of.total()} uploads are in progress, {self._of[tenant]} of them yours; at most"
                    f" {self.limits.uploads} may be, {self.limits.uploads_per_tenant} of one tenant: send it again.",
                    limit=self.limits.uploads_per_tenant,
                ) from None

    def _fits(self, tenant: str, size_bytes: int) -> bool:
        limits = self.limits
        # One that is larger than it may be still gets its turn, alone.
        of_all, of_tenant = self._bytes.total(), self._bytes[tenant]
        room = not of_all or of_all + size_bytes <= limits.upload_bytes
        room = room and (not of_tenant or 2 * (of_tenant + size_bytes) <= limits.upload_bytes)
        return room and self._of.total() < limits.uploads and self._of[tenant] < limits.uploads_per_tenant
