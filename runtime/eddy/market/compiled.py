# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The loops of the market in C (`native/`), where the shipped objects run; None says they do not.

Everything here has a numpy counterpart that gives the same numbers to rounding: `scan` in problem.py, `newton` in
newton.py, `Path` in interior.py, `settled` in result.py. The objects hold code only: no C library, no memory, no state.
"""

from __future__ import annotations

import ctypes
import os.path
import platform
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Sizes = npt.NDArray[np.int64]

_POINTER, _SIZE, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_ENTRY_BYTES = 20
_ENDLESS = 1e300
"""What the kernel takes for infinite."""
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "eddy_wide": (_SIZE, []),
    "eddy_room": (_SIZE, [_SIZE, _SIZE]),
    "eddy_space": (_SIZE, [_SIZE, _SIZE]),
    "eddy_scan": (_SIZE, [_SIZE, _SIZE, _POINTER, _POINTER, _DOUBLE, *[_POINTER] * 3]),
    "eddy_pack": (None, [_SIZE, _SIZE, *[_POINTER] * 3, _SIZE, _POINTER, _SIZE]),
    "eddy_newton": (
        _SIZE,
        [*[_SIZE] * 2, *[_POINTER] * 5, _DOUBLE, *[_POINTER] * 2, _SIZE, *[_POINTER] * 4, _SIZE, *[_POINTER] * 3],
    ),
    "eddy_settle": (None, [*[_SIZE] * 3, _DOUBLE, *[_POINTER] * 9]),
    "eddy_path_room": (_SIZE, [_SIZE] * 3),
    "eddy_follow": (_SIZE, [*[_SIZE] * 3, *[_POINTER] * 9, _SIZE, *[_POINTER] * 2]),
    "eddy_finish": (_SIZE, [*[_SIZE] * 3, *[_POINTER] * 9, _DOUBLE, *[_POINTER] * 2]),
}


def _loaded(name: str) -> Any:
    """The shipped object of this name, or None where this system does not take it."""
    path = os.path.join(os.path.dirname(__file__), "native", f"{name}.so")
    try:
        library = ctypes.CDLL(path)
        for function, (result, arguments) in _SIGNATURES.items():
            entry = getattr(library, function)
            entry.restype, entry.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    return library


def _library() -> Any:
    """The object for this machine."""
    if not sys.platform.startswith("linux") or sys.byteorder != "little":
        return None
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if machine not in ("x86_64", "aarch64"):
        return None
    plain = _loaded(f"linux-{machine}")
    if plain is not None and plain.eddy_wide():
        return _loaded("linux-x86_64-v3") or plain
    return plain


LIBRARY: Any = _library()


def _at(array: npt.NDArray[Any]) -> int:
    """Where an array's numbers are."""
    return int(array.__array_interface__["data"][0])


CURVED = 1 - 1e-4
"""Where F is above, demand at given prices is too steep for double precision, and lengths become unknowns."""


@dataclass(frozen=True)
class Scan:
    """What one look at F and f tells.

    Attributes:
        wanted: (m,), whether anybody has a use for the cluster.
        straight: Whether an F is above `CURVED`.
        marks: (n,), a number for every tenant's rows; None where no compiled kernel will ask.
    """

    wanted: npt.NDArray[np.bool_]
    straight: bool
    marks: Marks | None = None


def scan(fraction: Array, throughput: Array) -> Scan | None:
    """What there is to know, or None: a value may be out of range, or nothing compiled runs here."""
    if LIBRARY is None:
        return None
    n, m = fraction.shape
    column, straight, marks = np.empty(m, np.uint64), np.empty(1, np.int64), np.empty(n, np.uint64)
    if LIBRARY.eddy_scan(n, m, _at(fraction), _at(throughput), CURVED, _at(column), _at(straight), _at(marks)):
        return None
    return Scan(column != 0, bool(straight[0]), marks)


@dataclass(frozen=True)
class WarmStart:
    """What a market like one that was solved can begin with: root prices, slopes there, and tenants' lists."""

    q: Array
    factors: Array
    pivot: Sizes
    tenants: int
    room: Array
    lists: Bytes
    used: int


def newton(
    fraction: Array,
    throughput: Array,
    budgets: Array,
    capacity: Array,
    q: Array,
    tol: float,
    marks: Marks,
    kept: WarmStart | None,
) -> tuple[Array, Array, int, WarmStart] | None:
    """Root prices, shares, passes over demand, and what to begin with next time; None where the steps lead nowhere."""
    if LIBRARY is None:
        return None
    n, m = fraction.shape
    old = kept if kept is not None and len(kept.q) == m else None
    q = q.copy() if old is None else old.q.copy()
    factors = np.empty(m * m) if old is None else old.factors.copy()
    pivot = np.empty(m, np.int64) if old is None else old.pivot.copy()
    tenants, old_room, old_lists, old_used = (0, 0, 0, 0)
    if old is not None:
        tenants, old_room, old_lists, old_used = old.tenants, _at(old.room), _at(old.lists), old.used
    used, room = np.array([old_used]), np.empty(LIBRARY.eddy_room(n, m))
    lists, shares = np.empty(_ENTRY_BYTES * LIBRARY.eddy_space(n, m), np.uint8), np.zeros((n, m))
    passes = LIBRARY.eddy_newton(
        *(n, m, _at(fraction), _at(throughput), _at(budgets), _at(capacity), _at(q), tol),
        *(_at(factors), _at(pivot), int(old is not None), _at(shares), _at(marks), _at(room), _at(lists)),
        *(tenants, old_room, old_lists, _at(used)),
    )
    if not passes:
        return None
    count = int(used[0])
    packed = np.empty(_ENTRY_BYTES * count, np.uint8)
    LIBRARY.eddy_pack(n, m, _at(room), _at(lists), old_lists, old_used, _at(packed), count)
    return q, shares, passes, WarmStart(q, factors, pivot, n, room, packed, count)


class Path:
    """The interior point over pieces; see `Pieces` for what they are.

    Args:
        scale, bend, base, bound: (n, k, m); a bound may be infinite, and a piece of scale 0 is none.
        budgets: (n,), above 0, summing to 1.
        capacity: (m,), above 0.
    """

    def __init__(self, scale: Array, bend: Array, base: Array, bound: Array, budgets: Array, capacity: Array) -> None:
        n, _, m = scale.shape
        live = scale > 0
        counts = live.sum(axis=(1, 2))
        first = np.zeros(n + 1, np.int64)
        np.cumsum(counts, out=first[1:])
        where = np.broadcast_to(np.arange(m, dtype=np.int32), scale.shape)[live]
        ends = np.minimum(bound[live], _ENDLESS)
        self._shape, self._count = (n, m), int(first[-1])
        room = np.empty(LIBRARY.eddy_path_room(n, m, self._count))
        self._arrays: tuple[npt.NDArray[Any], ...] = (
            first,
            where,
            scale[live],
            bend[live],
            base[live],
            ends,
            budgets,
            capacity,
            room,
        )

    def follow(self, together: bool) -> tuple[Array, Array, int] | None:
        """Shares and prices at the path's end, and the steps to it; None where numbers end."""
        shares, prices, head = self._results()
        steps = LIBRARY.eddy_follow(*head, int(together), _at(shares), _at(prices))
        return (shares, prices, steps) if steps else None

    def finish(self, lean: float) -> tuple[Array, Array] | None:
        """Exact shares and prices, after `follow`."""
        shares, prices, head = self._results()
        good = LIBRARY.eddy_finish(*head, lean, _at(shares), _at(prices))
        return (shares, prices) if good else None

    def _results(self) -> tuple[Array, Array, tuple[int, ...]]:
        n, m = self._shape
        return np.empty((n, m)), np.empty(m), (n, m, self._count, *map(_at, self._arrays))


def settle(
    fraction: Array,
    throughput: Array,
    budgets: Array,
    capacity: Array,
    prices: Array,
    shares: Array,
    straight: bool,
    kink: float,
) -> tuple[Array, tuple[float, float, float]]:
    """Utilities, and the three parts of the certificate: by (3.2), or by the deliverable utility (`straight`), `kink`
    being how near to one PE, relatively, counts as one PE."""
    n, m = fraction.shape
    utilities, parts, room = np.empty(n), np.empty(3), np.empty(4 * m)
    LIBRARY.eddy_settle(
        *(n, m, int(straight), kink),
        *(_at(fraction), _at(throughput), _at(budgets), _at(capacity), _at(prices), _at(shares)),
        *(_at(utilities), _at(parts), _at(room)),
    )
    optimality, clearing, budget = parts.tolist()
    return utilities, (optimality, clearing, budget)
