# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes as files of a folder that all heads of a pool share, of one machine or mounted from elsewhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from eddy.host.files import disk_full_error, free_bytes, sync_folder, translate_os_errors, write_private
from eddy.pool.bytes.byte_store import BlobName, BytesAway, SeenBlob
from eddy.store.bytes.blob_file import BlobFile
from eddy.store.disk.files import DamagedFile, DraftFile, make_folder
from eddy.store.disk.names import DRAFT, INCOMING
from eddy.store.disk.verification_cache import seen

RESERVED, MAX_RESERVED_BYTES = 0.05, 4 << 30
"""Part of the disk that stays free of bytes, and how much of it at most: the servers may keep records there."""
MARK = "pool"
"""The file by which heads know that they share the folder."""


class FolderStore:
    """Files below a folder.

    Attributes:
        place: The same, for people.
    """

    def __init__(self, folder: Path) -> None:
        self.place, self._root = str(folder), folder
        self._folder = folder

    async def begin(self, pool: str, make: bool) -> bool:
        """As in `ByteStore`."""
        return await asyncio.to_thread(self._begin, pool, make)

    def _begin(self, pool: str, make: bool) -> bool:
        self._folder = self._root / pool
        if make and not (self._folder / MARK).exists():
            write_private(self._folder / MARK, b"")
        if not (self._folder / MARK).exists():
            return False
        make_folder(self._folder / INCOMING, self._folder)
        return True

    def draft(self) -> DraftFile:
        """As in `ByteStore`."""
        return DraftFile(self._folder / INCOMING)

    def check_room(self, more_bytes: int) -> None:
        """As in `ByteStore`."""
        check_disk(self._folder, more_bytes)

    def capacity(self) -> int:
        """As in `ByteStore`."""
        status = os.statvfs(self._folder)
        return status.f_blocks * status.f_frsize - reserved_bytes(self._folder)

    async def keep(self, draft: DraftFile, name: BlobName) -> None:
        """As in `ByteStore`."""
        await asyncio.to_thread(self._keep, draft, self._folder / name.path)

    def _keep(self, draft: DraftFile, path: Path) -> None:
        draft.settle()
        make_folder(path.parent, self._folder)
        draft.keep(path)
        with translate_os_errors(path):
            sync_folder(path.parent)

    async def look(self, name: BlobName) -> SeenBlob | None:
        """As in `ByteStore`."""
        return await asyncio.to_thread(self._look, self._folder / name.path)

    def _look(self, path: Path) -> SeenBlob | None:
        found = _seen(path)
        if found is None:
            self._require_there()
        return found

    def _require_there(self) -> None:
        """Tell a folder that is away from a file that is.

        Raises:
            BytesAway: The mark of this pool cannot be read.
        """
        try:
            os.close(os.open(self._folder / MARK, os.O_RDONLY))
        except OSError as error:
            raise BytesAway(f"{self.place} cannot be read now: {error.strerror}") from error

    async def pieces(self, name: BlobName, begin: int, stop: int) -> AsyncGenerator[bytes, None]:
        """As in `ByteStore`."""
        file = BlobFile(self._folder / name.path, name.sha256, stop)
        reading: Iterator[tuple[int, bytes]] = file.pieces(begin, stop - begin)
        try:
            while (piece := await asyncio.to_thread(next, reading, None)) is not None:
                yield piece[1]
        except DamagedFile:  # it is too short, or gone: whoever reads it sees that
            await asyncio.to_thread(self._require_there)

    async def remove(self, name: BlobName) -> None:
        """As in `ByteStore`."""
        path = self._folder / name.path
        with translate_os_errors(path):
            await asyncio.to_thread(path.unlink, missing_ok=True)

    async def blobs(self) -> AsyncGenerator[tuple[BlobName, SeenBlob], None]:
        """As in `ByteStore`."""
        for folder in await asyncio.to_thread(self._folders):
            for file in await asyncio.to_thread(os.listdir, folder):
                name = BlobName.of_path(f"{folder.name}/{file}")
                if name is not None and (found := _seen(folder / file)) is not None:
                    yield name, found

    async def left_drafts(self, before_unix_s: float) -> list[Path]:
        """As in `ByteStore`."""
        return await asyncio.to_thread(self._left_drafts, before_unix_s)

    def _left_drafts(self, before_unix_s: float) -> list[Path]:
        drafts = ((each, _seen(each)) for each in (self._folder / INCOMING).glob(f"*{DRAFT}"))
        return [each for each, found in drafts if found is not None and found.at_unix_s < before_unix_s]

    def _folders(self) -> list[Path]:
        self._require_there()
        return sorted(each for each in self._folder.iterdir() if each.is_dir() and not each.is_symlink())


def check_disk(folder: Path, more_bytes: int) -> None:
    """See that so many bytes fit on a folder's disk, beside what stays free.

    Raises:
        StorageFull: They do not.
    """
    with translate_os_errors(folder):
        if free_bytes(folder) - more_bytes < reserved_bytes(folder):
            raise disk_full_error(folder)


def reserved_bytes(folder: Path) -> int:
    """What stays free of a folder's disk."""
    status = os.statvfs(folder)
    return min(int(RESERVED * status.f_blocks * status.f_frsize), MAX_RESERVED_BYTES)


def _seen(path: Path) -> SeenBlob | None:
    mark = seen(path)
    return None if mark is None else SeenBlob(mark[1], mark, mark[2] / 1e9)
