"""Whether the store can be written, as its own writes show; changes are logged, one line each."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from eddy.core.errors import RecordDamaged, StorageDamaged, StorageFailed
from eddy.files import LEAST_FREE_BYTES, free_bytes
from eddy.store.faults import storage_errors

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
        self.problem: StorageFailed | None = None
        """What is wrong with it; None where nothing is known to be."""
        self._said = False
        self._said_s: dict[str, float] = {}
        self.on_trouble: Callable[[StorageFailed], None] = lambda error: None
        """Told of every trouble that is new, and of none again while it lasts."""

    @property
    def doubtful(self) -> bool:
        """Whether a write would tell something: the last one failed, or there is hardly room for another."""
        if isinstance(self.problem, StorageDamaged):
            return False  # no write mends that
        with contextlib.suppress(OSError):
            return self.problem is not None or (self._kept and free_bytes(self._path) < LEAST_FREE_BYTES)
        return True

    @contextlib.contextmanager
    def watched(self, *, writes: bool = False) -> Iterator[None]:
        """Note how the block ends; with `writes`, a good end shows that all is well again.

        Raises:
            StorageFailed: What SQLite reported.
        """
        try:
            with storage_errors(self._path):
                yield
        except RecordDamaged:  # concerns only who asked for that record
            raise
        except StorageFailed as error:
            self.note(error)
            raise
        if writes and self.problem is not None and not isinstance(self.problem, StorageDamaged):
            self.problem = None
            if self._said:
                _log.warning("storage: %s can be written again; waiting jobs continue", self._path)

    def note(self, error: StorageFailed) -> None:
        """Keep what is wrong, and say it; not again and again where small writes fit and large ones do not."""
        if self.problem is None or type(error) is not type(self.problem):
            self.on_trouble(error)
            now_s = time.monotonic()
            self._said = now_s - self._said_s.get(error.code, -PAUSE_S) >= PAUSE_S
            if self._said:
                self._said_s[error.code] = now_s
                _log.error("storage: %s", error.message)
        self.problem = error
