"""Sizes of blobs, remembered: a submission asks for each of its inputs."""

from __future__ import annotations

import threading
from collections import OrderedDict

MOST_KNOWN = 4096
"""Sizes of blobs that are remembered."""


class Sizes:
    """Sizes of the blobs that were asked for last: a submission asks for each of its inputs."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tenant: str, sha256: str) -> int | None:
        """What is remembered."""
        return self._sizes.get((tenant, sha256))

    def put(self, tenant: str, sha256: str, bytes: int) -> None:
        """Remember a size; the one that came longest ago is forgotten for it."""
        with self._lock:
            self._sizes[tenant, sha256] = bytes
            if len(self._sizes) > MOST_KNOWN:
                self._sizes.popitem(last=False)

    def drop(self, tenant: str, sha256: str) -> None:
        """Forget one."""
        with self._lock:
            self._sizes.pop((tenant, sha256), None)
