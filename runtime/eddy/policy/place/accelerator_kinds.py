# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where many accelerators take the same times: one column stands for all of a kind.

A pool has many boards of few kinds, so most columns of its table are the same. Prices of accelerators that are alike
are the same at the best of them all, and what a kind is to compute fills its members like water. So searching prices
and packing cost what kinds and jobs are, and not what accelerators are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eddy.model.placement.instance import Floats, Ints

FEWEST = 4
"""Accelerators of a kind, on average, from which looking at kinds pays."""

SAMPLED = 16
"""Rows by which kinds are told apart before all are compared."""


@dataclass(frozen=True)
class Kinds:
    """Accelerators by kind.

    Attributes:
        time_s: (jobs, kinds).
        kind_of: (accelerators,) column of `time_s`.
    """

    time_s: Floats
    kind_of: Ints

    @cached_property
    def members(self) -> list[Ints]:
        """Accelerators of each kind, by index."""
        order = np.argsort(self.kind_of, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.kind_of))[:-1])

    @property
    def counted(self) -> tuple[Floats, int]:
        """The table of kinds, and how many accelerators there are."""
        return self.time_s, len(self.kind_of)

    def of_each(self, price: Floats) -> Floats:
        """(accelerators,) prices that sum to 1, of (kinds,) ones."""
        found: Floats = price[self.kind_of] / price[self.kind_of].sum()
        return found

    def levels(self, ready_s: Floats) -> Callable[[Floats], Floats]:
        """From (kinds,) seconds of work that may be divided to (kinds,) when each kind ends it, of members that are
        ready at `ready_s`."""
        each = [np.sort(ready_s[members]) for members in self.members]
        sums = [np.cumsum(ready) for ready in each]
        # Work at which the first k members are under water, and the next begins.
        begins = [ready[1:] * np.arange(1, len(ready)) - so_far[:-1] for ready, so_far in zip(each, sums, strict=True)]

        def level(work_s: Floats) -> Floats:
            under = [int(np.searchsorted(begin, work)) for begin, work in zip(begins, work_s, strict=True)]
            return np.array([(work + so_far[k]) / (k + 1) for work, so_far, k in zip(work_s, sums, under, strict=True)])

        return level

    def first_ready_s(self, ready_s: Floats) -> Floats:
        """(kinds,) when the first member of each kind is ready."""
        return np.array([ready_s[each].min() for each in self.members])


def group_accelerators(time_s: Floats) -> Kinds | None:
    """The kinds in a table; None where accelerators differ too much for it to pay.

    Args:
        time_s: (jobs, accelerators), float32 or float64.
    """
    jobs, accelerators = time_s.shape
    bits = np.uint32 if time_s.dtype == np.float32 else np.uint64
    rows = np.ascontiguousarray(time_s[:: max(jobs // SAMPLED, 1)]).view(bits).astype(np.uint64)
    # Sums modulo 2^64 of odd multiples: of equal columns they are equal.
    mixed = (rows * (np.arange(1, 2 * len(rows), 2, dtype=np.uint64)[:, None] * np.uint64(0x9E3779B97F4A7C15))).sum(
        axis=0
    )
    _, first, kind_of = np.unique(mixed, return_index=True, return_inverse=True)
    if FEWEST * len(first) > accelerators:
        return None
    columns = np.ascontiguousarray(time_s[:, first])
    return Kinds(columns, kind_of) if np.array_equal(columns.take(kind_of, axis=1), time_s) else None


def pack_alike(kinds: Kinds, price: Floats, room_s: Floats, size: Floats) -> tuple[Ints, Ints]:
    """Place what fits into `room_s`, larger jobs first: each into its cheapest kind that has room, there into the first
    member that has.

    Args:
        price: (kinds,) per second.
        room_s: (accelerators,) float64, seconds left; updated in place.
        size: (jobs,) precedence, larger first.

    Returns:
        (jobs,) accelerator or -1, and the jobs without a place, in order of precedence.
    """
    host = np.full(len(size), -1, np.int64)
    order = np.argsort(-size, kind="stable")
    cheapest = np.argsort(kinds.time_s * price.astype(kinds.time_s.dtype), axis=1, kind="stable")
    rooms = [room_s[each] for each in kinds.members]
    times = kinds.time_s.astype(np.float64).tolist()
    without = []
    for i, choices in zip(order.tolist(), cheapest[order].tolist(), strict=True):
        for kind in choices:
            time_s, room = times[i][kind], rooms[kind]
            at = int((room >= time_s).argmax())
            if room[at] >= time_s:
                room[at] -= time_s
                host[i] = kinds.members[kind][at]
                break
        else:
            without.append(i)
    for each, room in zip(kinds.members, rooms, strict=True):
        room_s[each] = room
    return host, np.array(without, np.int64)
