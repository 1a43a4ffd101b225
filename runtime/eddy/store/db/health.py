# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether the store can be written, as its own writes show; changes are logged, one line each."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from eddy.core.errors import RecordDamaged, StorageDamaged, StorageFailed
from eddy.host.files import MIN_FREE_BYTES, free_bytes
from eddy.store.db.faults import explain_sqlite_error

PAUSE_S = 60.0
"""Wall seconds between two lines of the log about the same trouble."""
_log = logging.getLogger(__name__)


class Health:
    """What is known of one data base.

    Args:
        path: Its file, or ``:memory:``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = str(path) != ":memory:"
        self._problem: StorageFailed | None = None
        self._opened: dict[Path, tuple[int, int]] = {}
        self._said = False
        self._said_s: dict[str, float] = {}
        self.on_trouble: Callable[[StorageFailed], None] = lambda error: None
        """Told of every trouble that is new, and of none again while it lasts."""

    def mark_opened(self) -> None:
        """The file is open now: from here on it, and its folder, are to stay where they are."""
        if self._kept:
            self._opened = {each: _identity(os.stat(each)) for each in (self._path.parent, self._path)}

    @property
    def problem(self) -> StorageFailed | None:
        """What is wrong with it; None where nothing is known to be."""
        with contextlib.suppress(StorageFailed):
            self.check_in_place()
        return self._problem

    def check_in_place(self) -> None:
        """See that the file and its folder are where they were opened. Whoever writes would write elsewhere, and beside
        files that are not found any more.

        Raises:
            StorageFailed: They were moved or removed.
        """
        for path, opened in self._opened.items():
            try:
                there = _identity(os.stat(path)) == opened
            except (FileNotFoundError, NotADirectoryError):
                there = False
            except OSError:  # whoever reads or writes there finds out
                continue
            if not there:
                message = (
                    f"{path} was moved or removed while the server runs: put it back, and work goes on; or stop the"
                    " server, and start it with the folder's new place as --data"
                )
                error = StorageFailed(message, path=str(path))
                self.note(error)
                raise error

    @property
    def is_doubtful(self) -> bool:
        """Whether a write would tell something: the last one failed, or there is hardly room for another."""
        if isinstance(self._problem, StorageDamaged):
            return False  # no write mends that
        with contextlib.suppress(OSError):
            return self._problem is not None or (self._kept and free_bytes(self._path) < MIN_FREE_BYTES)
        return True

    @contextlib.contextmanager
    def watch_writes(self, *, writes: bool = False) -> Iterator[None]:
        """Note how the block ends; with `writes`, a good end shows that all is well again.

        Raises:
            StorageFailed: What SQLite reported.
        """
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as reported:
            found = explain_sqlite_error(reported, self._path)
            if found is None:
                raise
            self.note(found)
            raise found from reported
        except RecordDamaged:  # concerns only who asked for that record
            raise
        except StorageFailed as error:
            self.note(error)
            raise
        if writes and self._problem is not None and not isinstance(self._problem, StorageDamaged):
            self._problem = None
            if self._said:
                _log.warning("storage: %s can be written again; waiting jobs continue", self._path)

    def note(self, error: StorageFailed) -> None:
        """Keep what is wrong, and say it; not again and again where small writes fit and large ones do not."""
        if self._problem is None or type(error) is not type(self._problem):
            self.on_trouble(error)
            now_s = time.monotonic()
            self._said = now_s - self._said_s.get(error.code, -PAUSE_S) >= PAUSE_S
            if self._said:
                self._said_s[error.code] = now_s
                _log.error("storage: %s", error.message)
        self._problem = error


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
