# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What was committed reaches the disk outside the turn of who commits, and one synchronisation serves all who wait.

In WAL mode a commit is a few pages at the end of one file. SQLite would synchronise that file within the commit, while
everybody else who writes stands in the queue. Here the commit ends first and the next one begins. Who promised
something waits for a synchronisation that began after its commit; it covers every commit before it too.

How far the log was promised is kept beside it: a log that lost its end is no shorter one that was written. SQLite takes
what it finds of a log up to the first frame that is not whole, and says nothing of what is missing behind it. So after
each synchronisation a small file says up to which frame the log was on disk by then, and a start compares. The small
file is not synchronised itself: where a loss of power leaves an older one, less is compared, and nothing is claimed.
The format of logs is SQLite's (<https://www.sqlite.org/fileformat2.html>, 4).
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eddy.host.files import PRIVATE, damaged_file_error, explain_os_error, sync_folder

SUFFIX = "-promised"
HEADER_BYTES, FRAME_BYTES = 32, 24
LOOKS = 3
"""Times a log is looked at before it is said to have lost something: it may be restarted while it is read."""
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
"""How the words are read that a log's checksums are of."""
_KEPT = struct.Struct(">8sQ")


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A place in a log.

    Attributes:
        salts: Of the log, which another one that begins in the same file does not have.
        frames: From its beginning, up to the end of a commit.
    """

    salts: bytes
    frames: int


NOWHERE = LogPosition(bytes(8), 0)


class LogFollower:
    """Where the last commit in a log ends, as its frames' heads say; for who commits, after each commit."""

    def __init__(self) -> None:
        self._position, self._frame_bytes = NOWHERE, 0

    def follow(self, log: int) -> LogPosition:
        """The end of the last commit."""
        head = os.pread(log, HEADER_BYTES, 0)
        if len(head) < HEADER_BYTES:
            return NOWHERE
        salts = head[16:24]
        if salts != self._position.salts:
            self._position = LogPosition(salts, 0)
            self._frame_bytes = FRAME_BYTES + int.from_bytes(head[8:12], "big")
        number = self._position.frames
        while True:
            frame = os.pread(log, FRAME_BYTES, HEADER_BYTES + number * self._frame_bytes)
            if len(frame) < FRAME_BYTES or frame[8:16] != salts:
                return self._position
            number += 1
            if frame[4:8] != b"\0\0\0\0":
                self._position = LogPosition(salts, number)


class PromisedPosition:
    """What is kept of one log's position."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + SUFFIX)
        self._file: int | None = None

    def keep(self, position: LogPosition) -> None:
        """Note how far the log is on disk. Where that cannot be noted, nothing is."""
        with contextlib.suppress(OSError):
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
            text = _KEPT.pack(position.salts, position.frames)
            os.pwrite(self._file, text + zlib.crc32(text).to_bytes(4, "big"), 0)

    def forget(self) -> None:
        """The log is about to be emptied or removed, in order."""
        if self._file is not None or self._path.exists():
            self.keep(NOWHERE)

    def read(self) -> LogPosition:
        """What was kept last; nowhere where nothing was, or it is not what was written."""
        try:
            text = self._path.read_bytes()
        except OSError:
            return NOWHERE
        kept, check = text[: _KEPT.size], text[_KEPT.size :]
        if len(kept) < _KEPT.size or check != zlib.crc32(kept).to_bytes(4, "big"):
            return NOWHERE
        return LogPosition(*_KEPT.unpack(kept))

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def check_log(database: Path) -> None:
    """See that a log has everything that was promised to be in it, before SQLite takes it up.

    Raises:
        StorageDamaged: It has not.
        OSError: It cannot be read.
    """
    log = database.with_name(database.name + "-wal")
    for _ in range(LOOKS):
        promised = PromisedPosition(database).read()
        if promised == NOWHERE or not log.exists():  # whether it may be missing, the folder's lock says
            return
        found = count_frames(log, promised.frames)
        if _has(found, promised):
            return
    there = found.frames if found.salts == promised.salts else 0
    mark = database.with_name(database.name + SUFFIX)
    raise damaged_file_error(
        log,
        f"lost its end: {there} of {promised.frames} pages are there that were promised to be kept",
        f"restore it; or give up the last changes by removing {mark}",
    )


def _has(found: LogPosition, promised: LogPosition) -> bool:
    """Whether a log has what was promised, itself or in the data base."""
    if found.salts == promised.salts:
        return found.frames >= promised.frames
    # SQLite counts restarts of a log in its first salt; what the last one held is in the data base then.
    later = int.from_bytes(found.salts[:4], "big") - int.from_bytes(promised.salts[:4], "big")
    return found != NOWHERE and 0 < later % (1 << 32) < 1 << 31


def count_frames(log: Path, most: int) -> LogPosition:
    """How many frames of a log are whole, up to `most`; nowhere where it does not begin like one."""
    with log.open("rb") as file:
        head = file.read(HEADER_BYTES)
        order = _MAGIC.get(int.from_bytes(head[:4], "big"))
        if len(head) < HEADER_BYTES or order is None:
            return NOWHERE
        sums = _add(order, head[:24], (0, 0))
        if head[24:32] != struct.pack(">2I", *sums):
            return NOWHERE
        salts, page = head[16:24], int.from_bytes(head[8:12], "big")
        for number in range(most):
            frame = file.read(FRAME_BYTES + page)
            if len(frame) < FRAME_BYTES + page or frame[8:16] != salts:
                return LogPosition(salts, number)
            sums = _add(order, frame[FRAME_BYTES:], _add(order, frame[:8], sums))
            if frame[16:24] != struct.pack(">2I", *sums):
                return LogPosition(salts, number)
    return LogPosition(salts, most)


def _add(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    """The log's checksum, carried on over more bytes."""
    first, second = sums
    for one, two in struct.iter_unpack(f"{order}2I", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return first, second


class Disk:
    """How far one write-ahead log is known to be on disk.

    Commits are counted by who commits, one at a time; everything else may be called from any thread.

    Args:
        path: The log; it need not exist before the first commit. None where nothing is kept. What is in it already
            was promised, and counts as the first commit.
        promised: Where it is noted how far the log is on disk.
    """

    def __init__(self, path: Path | None, promised: PromisedPosition | None = None) -> None:
        self._path, self._promised_to = path, promised
        self._follower, self._position = LogFollower(), NOWHERE
        """Where the last commit ends in the log."""
        self._logs = 0
        """How often the log was emptied: what is said of one is not said of the next."""
        self._file: int | None = None
        self._changed = threading.Condition(threading.Lock())
        # A process that died had shown what is in the log it left; it is in memory, but on disk only as far as it came.
        left = path is not None and path.exists() and path.stat().st_size > 0
        self._committed = self._promised = int(left)
        self._kept = 0
        self._busy = False

    @contextmanager
    def commit(self, durable: bool) -> Iterator[int]:
        """Count the commit that is made in the block; gives its number.

        Args:
            durable: Whether somebody is to be told of it. From now on readers wait for the disk: they may see it
                before it is counted.
        """
        with self._changed:
            number, before = self._committed + 1, self._promised
            if durable:
                self._promised = number
        try:
            yield number
        except BaseException:
            self._promised = before
            raise
        if self._promised_to is not None and self._file is not None:
            with contextlib.suppress(OSError):
                self._position = self._follower.follow(self._file)
        self._committed = number

    @property
    def settling(self) -> bool:
        """Whether something promised is not known to be on disk."""
        return self._path is not None and self._kept < self._promised

    def settle(self, number: int | None = None) -> None:
        """Return when a commit, and every one before it, is on disk.

        Args:
            number: Which, and it has been made; None for the last that was promised.

        Raises:
            StorageFailed: The disk refused. The commit stands, and whether it survives a loss of power is not known.
        """
        if self._path is None:
            return
        with self._changed:
            wanted = self._promised if number is None else number
            while self._kept < wanted and self._busy:
                self._changed.wait()
            if self._kept >= wanted:
                return
            self._busy, reached, position, begun = True, self._committed, self._position, self._logs
        done = False
        try:
            self._synchronise(self._path)
            done = True
        finally:
            with self._changed:
                self._busy = False
                self._kept = max(self._kept, reached) if done else self._kept
                if done and self._promised_to is not None and position != NOWHERE and begun == self._logs:
                    self._promised_to.keep(position)
                self._changed.notify_all()

    def _synchronise(self, path: Path) -> None:
        try:
            if self._file is None:
                self._file = self._open(path)
            os.fdatasync(self._file)
        except OSError as error:
            raise explain_os_error(error, path) from error

    def _open(self, path: Path) -> int:
        """The log, with its name on disk: where that fails, it is tried again with the next synchronisation."""
        file = os.open(path, os.O_RDWR)
        try:
            sync_folder(path.parent)
        except OSError:
            os.close(file)
            raise
        return file

    def forget_position(self) -> None:
        """The log is about to be emptied or removed, in order; nobody commits meanwhile."""
        with self._changed:
            self._position, self._logs = NOWHERE, self._logs + 1
            if self._promised_to is not None:
                self._promised_to.forget()

    def close(self) -> None:
        """Give the file back; nobody waits any more."""
        if self._promised_to is not None:
            self._promised_to.close()
        if self._file is not None:
            os.close(self._file)
            self._file = None
