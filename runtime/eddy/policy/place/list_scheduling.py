# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A first answer within a millisecond: list scheduling over the whole table, many jobs at a time."""

from __future__ import annotations

import numpy as np

from eddy.model.placement.instance import Floats, Ints

ABREAST = 0.4
"""Jobs that bid at once, as a share of the accelerators."""

WEIGHT = 0.5
"""How much of an accelerator's load counts in a bid: below 1 bids spread over more accelerators, in fewer rounds."""

LAST = 0.5
"""Jobs left without a bid, as a share of the accelerators: they are the shortest, and go where it is free first."""


def first_answer(time_s: Floats, ready_s: Floats) -> Ints:
    """The accelerator of each job: larger jobs first, each to where it would end early.

    Of the jobs that bid at once, only the first that bids for an accelerator gets it; the others bid again at the new
    loads. The last and shortest jobs go one each to the accelerators that are free first.

    Args:
        time_s: (jobs, accelerators), infinite where a job cannot run.
        ready_s: (accelerators,).
    """
    jobs, accelerators = time_s.shape
    order = np.argsort(-time_s[:, : min(accelerators, 8)].min(axis=1), kind="stable")
    table = time_s[order].astype(np.float32, copy=False)
    loads = ready_s.astype(table.dtype)
    place = np.empty(jobs, np.int64)
    group = min(max(int(accelerators * ABREAST), 1), jobs)
    every, winner = np.arange(group), np.empty(accelerators, np.int64)
    waiting, at = every, group
    ends, weighted, weight = np.empty((group, accelerators), table.dtype), loads.copy(), table.dtype.type(WEIGHT)
    last = jobs - int(LAST * accelerators)
    while at < last:
        np.multiply(loads, weight, out=weighted)
        np.add(table.take(waiting, 0), weighted, out=ends)
        choice = ends.argmin(axis=1)
        winner[choice[::-1]] = every[::-1]  # the last to write is the first to bid
        won = winner[choice] == every
        placed, chosen = waiting[won], choice[won]
        place[placed] = chosen
        loads[chosen] += table[placed, chosen]
        # Fewer than have won are never left, because LAST is more than ABREAST.
        waiting, at = np.concatenate((waiting[~won], np.arange(at, at + len(placed)))), at + len(placed)
    _one_each(table, loads, np.concatenate((waiting, np.arange(at, jobs))), place)
    host = np.empty_like(place)
    host[order] = place
    return host


def _one_each(table: Floats, loads: Floats, waiting: Ints, place: Ints) -> None:
    """The k-th of the jobs left goes to the accelerator free k-th; if it cannot run there, to where it ends first."""
    chosen = loads.argsort()[: len(waiting)]
    time_s = table[waiting, chosen]
    able = time_s < np.inf
    place[waiting[able]] = chosen[able]
    loads[chosen[able]] += time_s[able]
    for i in waiting[~able]:
        there = int((loads + table[i]).argmin())
        place[i] = there
        loads[there] += table[i, there]
