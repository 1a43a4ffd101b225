"""Files that were found to be what was stored, as long as nothing about them has changed since."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path

MOST = 1024
"""Files that are remembered."""

_Seen = tuple[int, int, int, int]


class Verified:
    """Remembers files by what the system says of them: one that is fetched in parts is read for its hash once."""

    def __init__(self) -> None:
        self._seen: OrderedDict[Path, _Seen] = OrderedDict()
        self._lock = threading.Lock()

    def knows(self, path: Path) -> bool:
        """Whether a file was found to be whole, and is as it was then."""
        with self._lock:
            return path in self._seen and self._seen[path] == _look(path)

    def remember(self, path: Path) -> None:
        """Take note that a file was found to be whole just now."""
        found = _look(path)
        with self._lock:
            self._seen.pop(path, None)
            if found is not None:
                self._seen[path] = found
            while len(self._seen) > MOST:
                self._seen.popitem(last=False)


def _look(path: Path) -> _Seen | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
