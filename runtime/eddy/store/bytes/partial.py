# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Blobs that come in several requests: what has come is kept, for a while, until the rest does.

A partial blob is a file `blobs/incoming/<tenant>.<sha256>.part`, without a row: it survives a restart, counts towards
its tenant's quota, and is gone once it is whole, is given up, or nothing was added for `KEPT_S`.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote

from eddy.core.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.units import format_bytes
from eddy.host.files import translate_os_errors
from eddy.store.bytes.blobs import Blobs
from eddy.store.disk import files
from eddy.store.disk.names import INCOMING

KEPT_S = 86400.0
"""Wall seconds for which a partial blob waits for more."""
MAX_PARTIAL = 16
"""Partial blobs of one tenant."""
_NAME = re.compile(r"([^.]+)\.([0-9a-f]{64})\.part")


class PartialBlob:
    """A partial blob, held by whoever adds to it; for one thread at a time."""

    def __init__(self, path: Path, size_bytes: int) -> None:
        self.path, self.size_bytes = path, size_bytes
        with translate_os_errors(path):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)

    def write(self, data: bytes) -> None:
        """Append bytes."""
        with translate_os_errors(self.path):
            files.write_all(self._file, data, self.size_bytes)
            self.size_bytes += len(data)

    def settle(self) -> None:
        """Have all of it on disk, and nothing behind it."""
        with translate_os_errors(self.path):
            os.ftruncate(self._file, self.size_bytes)
            os.fsync(self._file)

    def digest(self) -> str:
        """Its sha256; reads all of it."""
        found = hashlib.sha256()
        for piece in files.pieces(self.path, 0, self.size_bytes, "a partial blob"):
            found.update(piece)
        return found.hexdigest()

    def keep(self, path: Path) -> None:
        """Give it its name."""
        with translate_os_errors(path):
            self.path.replace(path)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._file)


class Partials:
    """Blobs that have come in part.

    Args:
        blobs: What they become; their bytes are booked there.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs, self._ledger, self._folder = blobs, blobs.ledger, blobs.folder / INCOMING
        self._held, self._holding = set[Path](), threading.Lock()
        self._since_s: dict[Path, float] = {}
        for tenant, _, path in self._partials():
            self._ledger.book_kept(tenant, _size(path) or 0)
        self.sweep()

    def size_bytes(self, tenant: str, sha256: str) -> int | None:
        """How much of a blob has come; None where nothing has."""
        return _size(self._partial_path(tenant, sha256))

    @contextmanager
    def adding(self, tenant: str, sha256: str, offset: int) -> Iterator[PartialBlob]:
        """Add to a partial blob, or begin one.

        Args:
            offset: What is there already, as its sender believes.

        Raises:
            Conflict: Something else is there; `details` has `offset`. Or somebody adds to it at this moment.
            QuotaExceeded: The tenant has as many partial blobs as it may.
            Unauthorized: It has been removed; the request came before.
        """
        path = self._partial_path(tenant, sha256)
        with self._hold_alone(path):
            there = _size(path)
            if offset != (there or 0):
                message = f"{format_bytes(there or 0)} of this blob are here; go on from there, or delete them first."
                raise Conflict(message, field="Upload-Offset", offset=there or 0)
            partial = PartialBlob(path, offset) if there is not None else self._begin(tenant, path)
            try:
                yield partial
            finally:
                partial.close()
                if _size(path) is None:
                    self._since_s.pop(path, None)
                else:
                    self._since_s[path] = time.monotonic()

    def add(self, tenant: str, partial: PartialBlob, data: bytes) -> None:
        """Append bytes to a partial blob.

        Raises:
            QuotaExceeded: The tenant may not keep as many; what came before stays.
        """
        self._ledger.book(tenant, len(data))
        try:
            partial.write(data)
        except BaseException:
            self._ledger.release(tenant, len(data))
            raise

    def complete(self, tenant: str, sha256: str, partial: PartialBlob) -> bool:
        """Make a blob of a partial one; answers whether it is new.

        Raises:
            InvalidRequest: It has another hash; it is given up.
        """
        found = partial.digest()
        if found != sha256:
            self._forget(tenant, partial.path)
            message = (
                f"The {format_bytes(partial.size_bytes)} received have the sha256 {found}, not {sha256}: begin again"
            )
            raise InvalidRequest(f"{message}, under their own hash.", field="sha256", asked=sha256, allowed=found)
        partial.settle()
        try:
            return self._blobs.keep(tenant, sha256, partial, partial.size_bytes)
        except BaseException:
            self._ledger.book_kept(tenant, _size(partial.path) or 0)
            raise

    def drop(self, tenant: str, sha256: str) -> None:
        """Give a partial blob up.

        Raises:
            NotFound: Nothing of it is there.
            Conflict: Somebody adds to it at this moment.
        """
        path = self._partial_path(tenant, sha256)
        with self._hold_alone(path):
            if _size(path) is None:
                raise NotFound("Nothing of this blob is being uploaded.", field="sha256", asked=sha256)
            self._forget(tenant, path)

    def drop_all(self, tenant: str) -> None:
        """Give up all that is being uploaded of a tenant.

        Raises:
            Conflict: Somebody adds to one of them at this moment.
        """
        for whose, _, path in self._partials():
            if whose == tenant:
                with self._hold_alone(path):
                    self._forget(tenant, path)

    def any_of(self, tenant: str) -> bool:
        """Whether anything is being uploaded of a tenant."""
        return any(whose == tenant for whose, _, _ in self._partials())

    def sweep(self) -> list[Path]:
        """Give up what nothing was added to for long; answers which."""
        gone = []
        for tenant, _, path in self._partials():
            with suppress(Conflict, FileNotFoundError), self._hold_alone(path):
                if time.monotonic() - self._last_added_s(path) > KEPT_S:
                    self._forget(tenant, path)
                    gone.append(path)
        return gone

    def _begin(self, tenant: str, path: Path) -> PartialBlob:
        self.sweep()
        self._ledger.book(tenant, 0)  # a file is named after its tenant: none may come for one that is removed
        files.make_folder(path.parent, self._blobs.folder.parent)
        with self._holding:  # nobody begins another between the count and the file
            count = sum(1 for whose, _, _ in self._partials() if whose == tenant)
            if count >= MAX_PARTIAL:
                message = f"tenant {tenant} has {count} blobs that are not whole yet: complete or delete some"
                raise QuotaExceeded(message, limit=MAX_PARTIAL, asked=count + 1)
            return PartialBlob(path, 0)

    def _last_added_s(self, path: Path) -> float:
        """When something was last added, by the monotonic clock: a step of the wall clock ends no upload that is under
        way. The wall clock is asked only for the age of what an earlier process left."""
        if path not in self._since_s:
            self._since_s[path] = time.monotonic() - max(time.time() - path.stat().st_mtime, 0.0)
        return self._since_s[path]

    def _partials(self) -> list[tuple[str, str, Path]]:
        folder, found = self._folder, list[tuple[str, str, Path]]()
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                name = _NAME.fullmatch(path.name)
                if name is not None and _size(path) is not None:
                    found.append((unquote(name[1]), name[2], path))
        return found

    def _partial_path(self, tenant: str, sha256: str) -> Path:
        return self._folder / f"{quote(tenant, safe='').replace('.', '%2E')}.{sha256}.part"

    def _forget(self, tenant: str, path: Path) -> None:
        size = _size(path) or 0
        with translate_os_errors(path):
            path.unlink(missing_ok=True)
        self._since_s.pop(path, None)
        self._ledger.release(tenant, size)

    @contextmanager
    def _hold_alone(self, path: Path) -> Iterator[None]:
        with self._holding:
            if path in self._held:
                raise Conflict("Another request adds to this blob; wait for it to end.", field="sha256")
            self._held.add(path)
        try:
            yield
        finally:
            with self._holding:
                self._held.discard(path)


def _size(path: Path) -> int | None:
    try:
        return path.lstat().st_size
    except OSError:
        return None
