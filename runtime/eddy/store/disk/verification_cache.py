# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Files of which something was found out, as long as nothing about them has changed since."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path

MAX_REMEMBERED = 1024
"""Files, or parts of files, that are remembered."""

Seen = tuple[int, int, int, int]
_Key = tuple[Path, tuple[int, int]]
_ALL = (0, -1)


class VerificationCache:
    """Remembers files by what the system says of them: one that is fetched in parts is read for its hash once."""

    def __init__(self) -> None:
        self._seen: OrderedDict[_Key, Seen] = OrderedDict()
        self._lock = threading.Lock()

    def is_remembered(self, path: Path, part: tuple[int, int] = _ALL) -> bool:
        """Whether a file, or a part (first byte and size), was remembered, and the file is as it was then."""
        with self._lock:
            known = self._seen.get((path, part))
        return known is not None and known == seen(path)

    def remember(self, path: Path, part: tuple[int, int] = _ALL) -> None:
        """Take note of it as it is now."""
        found, key = seen(path), (path, part)
        with self._lock:
            self._seen.pop(key, None)
            if found is not None:
                self._seen[key] = found
            while len(self._seen) > MAX_REMEMBERED:
                self._seen.popitem(last=False)


def seen(path: Path) -> Seen | None:
    """What the system says of a file: it differs once that is another, or was written; None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
