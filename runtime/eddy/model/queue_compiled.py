"""The loops of `eddy_slowdown` in C (`native/queue.c`), where the shipped object runs; None says it does not.

numpy gives the same numbers but for how closely it finds the load, 2^-16 (`_speeds` in eddy_slowdown.py); near full
load that shows. The object holds code only: no C library, no memory, no state.
"""

from __future__ import annotations

import ctypes
import os.path
import platform
import sys
from collections.abc import Sequence
from typing import Any

MOST_TENANTS = 64
"""That the object has room for."""


def _library() -> Any:
    """The object for this machine."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    path = os.path.join(os.path.dirname(__file__), "native", f"linux-{machine}.so")
    if not sys.platform.startswith("linux") or sys.byteorder != "little":
        return None
    try:
        library = ctypes.CDLL(path)
        entry = library.eddy_queue_curve
    except (OSError, AttributeError):
        return None
    size, number, at = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
    entry.restype, entry.argtypes = size, [size, size, size, size, at, at, at, number, at, at, at]
    return library


LIBRARY: Any = _library()


class Curves:
    """Speeds of tenants that share a cluster, by number of cores.

    Args:
        tenants: Of each: work, reads under way, requests, idle cycles, supply, instructions, all per read.
        had: Cores of each.
        cores: Of the cluster.
        wait_cycles: W at half load.
    """

    def __init__(
        self, tenants: Sequence[Sequence[float]], had: Sequence[float], cores: int, wait_cycles: float
    ) -> None:
        self._size, self._cores, self._wait = len(tenants), cores, wait_cycles
        self._tenants = (ctypes.c_double * (6 * len(tenants)))(*(value for each in tenants for value in each))
        self._had = (ctypes.c_double * len(had))(*had)

    def of(self, index: int, most: int, own: Sequence[float]) -> tuple[float, float, list[float]]:
        """Instructions a cycle of a tenant.

        Args:
            index: Which.
            most: Cores it has work for, 1 to those of the cluster.
            own: The tenant with all cores to itself.

        Returns:
            Alone on `most` cores; as all are; on 0, 1, ... cores, the others in proportion on those that are left.
        """
        alone, seen, curve = ctypes.c_double(), ctypes.c_double(), (ctypes.c_double * (self._cores + 1))()
        itself = (ctypes.c_double * 6)(*own)
        given = (self._size, index, self._cores, most, self._tenants, itself, self._had, self._wait)
        if LIBRARY.eddy_queue_curve(*given, ctypes.byref(alone), ctypes.byref(seen), curve):
            raise ValueError(f"tenant {index} of {self._size}, on {self._cores} cores, {most} at most")
        return alone.value, seen.value, list(curve)
