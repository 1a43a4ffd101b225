"""The default where only computation counts: prices, packing, local search; never worse than SJF or LJF."""

from __future__ import annotations

import numpy as np

from eddy.model.placement.bounds import pigeonholes, single_job
from eddy.model.placement.instance import Floats, Instance, Ints, Placement
from eddy.policy.place import sjf_ljf_computing, streaming_prices
from eddy.policy.place.accelerator_kinds import Kinds, group_accelerators, pack_alike
from eddy.policy.place.branch_and_bound import JOBS, branch_and_bound
from eddy.policy.place.dual_prices import search
from eddy.policy.place.local_search import improve
from eddy.policy.place.packing import pack
from eddy.policy.place.schedule import accelerator_loads, make_placement, makespan_of

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
