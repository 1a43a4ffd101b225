# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes as objects of an S3-compatible store, which all heads of a cluster reach."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from eddy.core.errors import InvalidRequest, StorageFailed, StorageFull
from eddy.host.distribution import install_hint
from eddy.pool.bytes.byte_store import S3, BlobName, BytesAway, SeenBlob
from eddy.pool.bytes.folder_store import check_disk
from eddy.store.disk.files import DraftFile, UnnamedDraft, make_folder

PIECE_BYTES = 64 << 10
"""What is given on at once, where so much has come."""
PART_BYTES, PARTS = 5 << 20, 2
"""Of a large object that is sent: the least that a store takes, and how many on their way at once."""
SENDING = 4
"""Objects that a head sends at once: their parts are held in memory."""
CONNECT_S, READ_S, AGAIN_S = 5, 20, 10
"""Wall seconds until a store does not answer: for a connection, for the next bytes, and for tries in all."""
MARK = "pool"
_FULL = re.compile(r"status code: 507|<Code>(StorageFull|QuotaExceeded|InsufficientStorage)|no writable volumes")
_AWAY = re.compile(r"status code: (5\d\d|429)|error sending request|<Code>SlowDown|timed out|error decoding response")
"""What a store, or the way to it, says of itself, in texts of the client: it tells kinds of failure by them alone."""


class S3Store:
    """Objects below a prefix of a bucket.

    Args:
        bucket: Which; it is there.
        prefix: What names of objects begin with; "" for nothing.
        drafts: Where objects lie on this machine until all of them has come; where the system has such files, if empty.
            They have no names, so the system takes them away where this process is killed.

    Attributes:
        place: Both, for people.

    Raises:
        InvalidRequest: The client is not installed, or what the environment says makes no sense.
    """

    def __init__(self, bucket: str, prefix: str, drafts: Path | None = None) -> None:
        self.place = f"{S3}{bucket}" + (f"/{prefix}" if prefix else "")
        try:
            import obstore
            from obstore.exceptions import BaseError
            from obstore.store import S3Store as Objects
        except ImportError:
            message = f"Bytes in S3 need the client `obstore`: {install_hint('s3')}"
            raise InvalidRequest(message, field="bytes", asked=self.place) from None
        self._calls, self._failure = obstore, BaseError
        try:
            self._objects: Any = Objects(
                bucket,
                prefix=prefix or None,
                checksum_algorithm="sha256",
                client_options={"allow_http": True, "connect_timeout": f"{CONNECT_S}s", "read_timeout": f"{READ_S}s",
                                "timeout": "1h"},
                retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=AGAIN_S)},
            )  # fmt: skip
        except BaseError as wrong:
            raise InvalidRequest(f"{self.place}: {wrong}.", field="bytes", asked=self.place) from wrong
        self._drafts = drafts or Path(tempfile.gettempdir())
        self._sending = asyncio.Semaphore(SENDING)
        self._pool = ""

    async def begin(self, pool: str, make: bool) -> bool:
        """As in `ByteStore`."""
        self._pool = pool
        with self._translated():
            if make:
                try:
                    await self._calls.put_async(self._objects, f"{pool}/{MARK}", b"-")
                except FileNotFoundError as none:
                    raise StorageFailed(f"There is no bucket for {self.place}: make it first.") from none
            with suppress(FileNotFoundError):
                await self._calls.head_async(self._objects, f"{pool}/{MARK}")
                return True
        return False

    def draft(self) -> DraftFile:
        """As in `ByteStore`."""
        return UnnamedDraft(make_folder(self._drafts))

    def check_room(self, more_bytes: int) -> None:
        """As in `ByteStore`, of drafts; the store says of itself that it is full."""
        check_disk(make_folder(self._drafts), more_bytes)

    async def left_drafts(self, before_unix_s: float) -> tuple[Path, ...]:
        """As in `ByteStore`: none, as they have no names."""
        return ()

    def capacity(self) -> int:
        """As in `ByteStore`."""
        return 0

    async def keep(self, draft: DraftFile, name: BlobName) -> None:
        """As in `ByteStore`. The store compares what came with a digest of each part, too."""
        async with self._sending:
            with self._translated():
                await self._calls.put_async(
                    self._objects, self._path(name), draft.path, chunk_size=PART_BYTES, max_concurrency=PARTS
                )

    async def look(self, name: BlobName) -> SeenBlob | None:
        """As in `ByteStore`."""
        with self._translated(), suppress(FileNotFoundError):
            return _seen(await self._calls.head_async(self._objects, self._path(name)))
        return None

    async def pieces(self, name: BlobName, begin: int, stop: int) -> AsyncGenerator[bytes, None]:
        """As in `ByteStore`."""
        if begin >= stop:
            return
        with self._translated(), suppress(FileNotFoundError):
            options: Any = {"range": (begin, stop)}
            found = await self._calls.get_async(self._objects, self._path(name), options=options)
            async for piece in found.stream(min_chunk_size=PIECE_BYTES):
                yield bytes(piece)

    async def remove(self, name: BlobName) -> None:
        """As in `ByteStore`."""
        with self._translated(), suppress(FileNotFoundError):
            await self._calls.delete_async(self._objects, self._path(name))

    async def blobs(self) -> AsyncGenerator[tuple[BlobName, SeenBlob], None]:
        """As in `ByteStore`."""
        with self._translated():
            async for batch in self._calls.list(self._objects, f"{self._pool}/", chunk_size=500):
                for each in batch:
                    name = BlobName.of_path(str(each["path"]).removeprefix(f"{self._pool}/"))
                    if name is not None:
                        yield name, _seen(each)

    def _path(self, name: BlobName) -> str:
        return f"{self._pool}/{name.path}"

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Say in the pool's words what the client says."""
        try:
            yield
        except self._failure as failure:
            text = str(failure)
            if _FULL.search(text):
                raise StorageFull(f"{self.place} is full: give it more room, or remove outputs.") from failure
            if _AWAY.search(text):
                raise BytesAway(f"{self.place} does not answer") from failure
            raise StorageFailed(f"{self.place} refuses this: {text.splitlines()[0][:300]}") from failure


def _seen(found: Any) -> SeenBlob:
    return SeenBlob(int(found["size"]), found["e_tag"], found["last_modified"].timestamp())
