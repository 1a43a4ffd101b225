# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The default where only computation counts: prices, packing, local search; never worse than SJF or LJF."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eddy.model.placement.bounds import pigeonholes, single_job
from eddy.model.placement.instance import Floats, Instance, Ints, Placement
from eddy.policy.place import sjf_ljf_computing, streaming_prices
from eddy.policy.place.accelerator_kinds import Kinds, group_accelerators, pack_alike
from eddy.policy.place.branch_and_bound import JOBS, branch_and_bound
from eddy.policy.place.dual_prices import search
from eddy.policy.place.packing import pack
from eddy.policy.place.schedule import accelerator_loads, make_placement, makespan_of


def improve(time_s: Floats, host: Ints, loads: Floats, target_s: float, steps: int) -> int:
    """Lower the largest load, in place, until it is at most `target_s`, nothing helps, or `steps` are done.

    A step looks at every move of a job of the fullest accelerator, and at every swap of one of its jobs with any other
    job, and takes the one after which the larger of the two loads is least.

    Args:
        time_s: (jobs, accelerators).
        host: (jobs,) changed in place.
        loads: (accelerators,) float64, ready times included; changed in place.
        target_s: Good enough.
        steps: At most so many.

    Returns:
        Steps done.
    """
    own = time_s[np.arange(len(host)), host]
    busy = np.bincount(host, minlength=len(loads)) > 0
    for step in range(steps):
        fullest = int(np.where(busy, loads, -1.0).argmax())
        top = float(loads[fullest])
        if top <= target_s:
            return step
        mine = np.flatnonzero(host == fullest)
        rows = time_s[mine]
        left_s = top - rows[:, fullest]
        move = _best_move(rows, mine, loads, left_s, fullest)
        swap = _best_swap(rows, mine, time_s[:, fullest], loads[host] - own, host, left_s)
        if min(move.load_s, swap.load_s) >= top * (1 - 1e-6):
            return step
        if move.load_s <= swap.load_s:
            _place_job(time_s, host, loads, own, move.job, move.other)
            busy[move.other] = True
            busy[fullest] = len(mine) > 1
        else:
            there = int(host[swap.other])
            _place_job(time_s, host, loads, own, swap.other, fullest)
            _place_job(time_s, host, loads, own, swap.job, there)
    return steps


class _Change(NamedTuple):
    """A job of the fullest accelerator, the accelerator it goes to or the job it is swapped with, and the larger of the
    two loads then."""

    job: int
    other: int
    load_s: float


def _best_move(rows: Floats, mine: Ints, loads: Floats, left_s: Floats, fullest: int) -> _Change:
    """The best move of a job of the fullest accelerator: `rows` are the times of its jobs `mine`, and `left_s` is its
    load without each."""
    after_s = np.maximum(loads + rows, left_s[:, None])
    after_s[:, fullest] = np.inf
    row, there = divmod(int(after_s.argmin()), len(loads))
    return _Change(int(mine[row]), there, float(after_s[row, there]))


def _best_swap(rows: Floats, mine: Ints, here_s: Floats, without_s: Floats, host: Ints, left_s: Floats) -> _Change:
    """The best swap of one of its jobs with another: `here_s` is what each job takes on the fullest accelerator, and
    `without_s` the load of each job's own accelerator without it."""
    after_s = np.maximum(left_s[:, None] + here_s, without_s + rows[:, host])
    after_s[:, mine] = np.inf
    row, other = divmod(int(after_s.argmin()), len(host))
    return _Change(int(mine[row]), other, float(after_s[row, other]))


def _place_job(time_s: Floats, host: Ints, loads: Floats, own: Floats, job: int, there: int) -> None:
    loads[host[job]] -= own[job]
    own[job] = time_s[job, there]
    loads[there] += own[job]
    host[job] = there


BASELINE_JOBS = 20_000
"""Up to here SJF and LJF are run too; above, the gap to the bound says as much, and they would take minutes."""

SLACKS = (0.005, 0.0, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3)
"""Makespans packed for, over the bound, until one is met; the last ones are for few jobs on few accelerators."""

CLOSE = 0.0085
"""A makespan this close to the bound is good enough: no other slack is tried."""

SMALL, MANY_TRIES, FEW_TRIES = 20_000, 8, 3
"""Tables of up to so many cells get so many slacks; larger ones few, to keep within milliseconds."""

STEPS = 200
"""Moves and swaps of one local search, at most."""


def balance(time_s: Floats, ready_s: Floats) -> tuple[Ints, float]:
    """An assignment and a lower bound on its makespan."""
    if streaming_prices.is_large(time_s):
        return streaming_prices.balance(time_s, ready_s)
    if (kinds := group_accelerators(time_s)) is None:
        table, scale = _compact(time_s)
        ready = ready_s / scale
        found = search(table, ready)
        price, single, holes_s = found.price, single_job(time_s, ready_s), pigeonholes(time_s)
    else:
        table, scale, ready = time_s, 1.0, ready_s
        found = search(kinds.time_s, ready_s, kinds=kinds)
        price = kinds.of_each(found.price)
        single, holes_s = single_job(kinds.time_s, kinds.first_ready_s(ready_s)), pigeonholes(*kinds.counted)
    bound = max(found.bound_s * scale, single, holes_s)
    # Where one long job decides there is room for all others, and nothing need be given away.
    slacks = (0.0, *SLACKS) if single > 1.01 * found.bound_s * scale else SLACKS
    best_host, best = None, np.inf
    for slack in slacks[: MANY_TRIES if time_s.size <= SMALL else FEW_TRIES]:
        host = _filled(table, ready, kinds, found.price, bound / scale, slack)
        makespan = makespan_of(time_s, host, ready_s)
        if best_host is None or makespan < best:
            best_host, best = host, makespan
        if best <= bound * (1 + min(CLOSE, max(slack, 1e-9) * 1.3)):
            break
    assert best_host is not None
    if len(time_s) <= JOBS and best > bound * (1 + 1e-9):
        best_host, proven = branch_and_bound(time_s, ready_s, price, best_host, bound)
        bound = makespan_of(time_s, best_host, ready_s) if proven else bound
    return best_host, bound


def _compact(time_s: Floats) -> tuple[Floats, float]:
    """The table in float32, half the bytes to read, and the unit it is in: its longest job's shortest time."""
    if time_s.dtype == np.float32:
        return time_s, 1.0
    scale = float(time_s.min(axis=1).max()) or 1.0
    with np.errstate(over="ignore"):
        return (time_s / scale).astype(np.float32), scale


def _filled(time_s: Floats, ready_s: Floats, kinds: Kinds | None, price: Floats, bound_s: float, slack: float) -> Ints:
    """Pack for a makespan, put what does not fit where it ends first, then move and swap."""
    room = np.maximum(bound_s * (1 + slack) - ready_s, 0.0)
    if kinds is None:
        host, left = pack(time_s, price, room, time_s.min(axis=1))
    else:
        host, left = pack_alike(kinds, price, room, kinds.time_s.min(axis=1))
    loads = bound_s * (1 + slack) - room
    for i in left:
        there = int((loads + time_s[i]).argmin())
        host[i] = there
        loads[there] += time_s[i, there]
    improve(time_s, host, accelerator_loads(time_s, host, ready_s), bound_s * (1 + 0.6 * slack), STEPS)
    return host


def balanced(instance: Instance) -> Placement:
    """Place by prices and local search; where SJF or LJF would end earlier, theirs."""
    time_s, ready_s = instance.time_s, instance.ready_s
    host, bound = balance(time_s, ready_s)
    best = makespan_of(time_s, host, ready_s)
    if instance.jobs <= BASELINE_JOBS and best > bound * (1 + 1e-6):
        for baseline in (sjf_ljf_computing.shortest_first, sjf_ljf_computing.longest_first):
            other = baseline(time_s, ready_s, stop_s=best)
            if other is not None and makespan_of(time_s, other, ready_s) < best:
                host, best = other, makespan_of(time_s, other, ready_s)
    return make_placement(instance, host, bound, "default")


def lower_bound(instance: Instance) -> float:
    """What no placement can be better than, where only computation counts."""
    table, scale = _compact(instance.time_s)
    priced = search(table, instance.ready_s / scale).bound_s * scale
    return max(single_job(instance.time_s, instance.ready_s), pigeonholes(instance.time_s), priced)
