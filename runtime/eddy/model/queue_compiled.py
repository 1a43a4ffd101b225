# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The loops of `eddy_slowdown` in C (`native/queue.c`), where the shipped object runs; None says it does not.

numpy gives the same numbers but for how closely it finds the load, 2^-16 (`_speeds` in eddy_slowdown.py); near full
load that shows. The object holds code only: no C library, no memory, no state.
"""

from __future__ import annotations

import ctypes
import os.path
import platform
import sys
from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any

MAX_TENANTS = 64
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
        wait_cycles: W at half load.
    """

    def __init__(
        self, tenants: Sequence[Sequence[float]], had: Sequence[float], cores: int, wait_cycles: float
    ) -> None:
        self._size, self._cores, self._wait = len(tenants), cores, wait_cycles
        self._tenants, self._had = array("d", chain.from_iterable(tenants)), array("d", had)

    def of(self, index: int, most: int, own: Sequence[float]) -> tuple[float, float, list[float]]:
        """Instructions a cycle of a tenant.

        Args:
            most: Cores it has work for, 1 to those of the cluster.
            own: The tenant with all cores to itself.

        Returns:
            Alone on `most` cores; as all are; on 0, 1, ... cores, the others in proportion on those that are left.
        """
        found, itself = array("d", bytes(8 * (self._cores + 3))), array("d", own)
        tenants, alone, had, at = (each.buffer_info()[0] for each in (self._tenants, itself, self._had, found))
        given = (self._size, index, self._cores, most, tenants, alone, had, self._wait, at, at + 8, at + 16)
        if LIBRARY.eddy_queue_curve(*given):
            raise ValueError(f"tenant {index} of {self._size}, on {self._cores} cores, {most} at most")
        alone_speed, seen, *curve = found
        return alone_speed, seen, curve
