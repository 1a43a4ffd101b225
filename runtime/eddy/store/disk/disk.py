# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What was committed reaches the disk outside the turn of who commits, and one synchronisation serves all who wait.

In WAL mode a commit is a few pages at the end of one file. SQLite would synchronise that file within the commit, while
everybody else who writes stands in the queue. Here the commit ends first and the next one begins. Who promised
something waits for a synchronisation that began after its commit; it covers every commit before it too.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eddy.host.files import explain_os_error, sync_folder
from eddy.store.disk.log_position import NOWHERE, LogFollower, PromisedPosition


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
