# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Fill accelerators up to a given makespan: each job to its cheapest place that has room, larger jobs first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eddy.model.placement.instance import Floats, Ints


def groups_of(jobs: int, accelerators: int) -> Iterator[slice]:
    """Ranks of jobs that bid together: a few on each accelerator first, where a wrong place costs most, then more."""
    at, length = 0, max(accelerators / 2, 1.0)
    while at < jobs:
        yield slice(at, min(at + int(length), jobs))
        at, length = at + int(length), length * 1.1


def pack(time_s: Floats, price: Floats, room_s: Floats, size: Floats) -> tuple[Ints, Ints]:
    """Place what fits into `room_s` (seconds left on each accelerator; updated in place).

    Group by group, in rounds: every waiting job bids for its cheapest accelerator with room; an accelerator takes its
    bidders by falling `size` while they fit, and the rest bid again. A job leaves when no accelerator has room for it.

    Args:
        time_s: (jobs, accelerators).
        price: (accelerators,) per second.
        room_s: (accelerators,) float64.
        size: (jobs,) precedence, larger first.

    Returns:
        (jobs,) accelerator or -1, and the jobs without a place, in order of precedence.
    """
    jobs, accelerators = time_s.shape
    order = np.argsort(-size, kind="stable")
    host = np.full(jobs, -1, np.int64)
    weight = price.astype(time_s.dtype)
    without = [_pack(time_s, weight, room_s, order[group], host) for group in groups_of(jobs, accelerators)]
    return host, np.concatenate(without)


def _pack(time_s: Floats, weight: Floats, room_s: Floats, waiting: Ints, host: Ints) -> Ints:
    """One group; returns those without a place."""
    times = time_s[waiting]
    cost = times * weight
    without = [waiting[:0]]
    cost[times > room_s.astype(times.dtype)] = np.inf
    while len(waiting):
        rows = np.arange(len(waiting))
        choice = cost.argmin(axis=1)
        able = cost[rows, choice] < np.inf
        if not able.all():
            without.append(waiting[~able])
            waiting, choice, cost, times = waiting[able], choice[able], cost[able], times[able]
            rows = rows[: len(waiting)]
        wanted = times[rows, choice].astype(np.float64)
        taken = _accepted(choice, wanted, room_s)
        host[waiting[taken]] = choice[taken]
        room_s -= np.bincount(choice[taken], weights=wanted[taken], minlength=len(room_s))
        keep = ~taken
        waiting, cost, times = waiting[keep], cost[keep], times[keep]
        _close(cost, times, room_s, np.unique(choice[taken]))
    return np.concatenate(without)


def _close(cost: Floats, times: Floats, room_s: Floats, fuller: Ints) -> None:
    """Take accelerators out of reach of jobs that they have no room for any more; only those that took one differ."""
    now = cost[:, fuller]
    now[times[:, fuller] > room_s[fuller].astype(times.dtype)] = np.inf
    cost[:, fuller] = now


def _accepted(choice: Ints, wanted: Floats, room_s: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which bids are taken: for each accelerator, in order, as long as their sum fits."""
    if not len(choice):
        return np.zeros(0, bool)
    order = np.argsort(choice, kind="stable")
    at, need = choice[order], wanted[order]
    sums = np.cumsum(need)
    first = np.flatnonzero(np.r_[True, at[1:] != at[:-1]])
    before = np.repeat(sums[first] - need[first], np.diff(np.r_[first, len(at)]))
    fits = sums - before <= room_s[at] * (1 + 1e-9)
    fits[first] = True  # alone it has been seen to fit
    taken = np.empty(len(choice), bool)
    taken[order] = fits
    return taken
