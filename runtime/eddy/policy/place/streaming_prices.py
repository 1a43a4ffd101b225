# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The default for millions of jobs: one reading of the table, prices that follow the loads, then repairs.

A sample of the jobs gives first prices. The table is then read once, some rows at a time, so that every step after
the first finds its rows in the processor's cache: each job goes to its cheapest place, and a price rises where an
accelerator is ahead of its share of the jobs read so far. At the end few jobs lie above the makespan aimed at; they
are taken off and packed into what is free.

Two threads read one half of the rows each, with half of every accelerator's time; how many processors there are
does not change the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from eddy.model.placement.bounds import from_prices, single_job
from eddy.model.placement.instance import Floats, Ints
from eddy.policy.place.dual_prices import lower_bound_float32, normalize_prices, search
from eddy.policy.place.packing import pack
from eddy.policy.place.schedule import makespan_of

LONG = 50
"""From so many jobs an accelerator on, one more or less matters little, and the table is read only a few times."""

CELLS = 200_000
"""Of the table at a time: they stay in the cache."""

SAMPLE_CELLS = 8_000_000
"""Of the sample that gives the first prices."""

PULL = 0.3
"""Change of a price's logarithm when its accelerator is ahead by all it should get."""

LEARN = 2.0
"""The same for being ahead by all of it during the whole reading: what the sample's prices lack is learned for good."""

SPREAD = 1e-3
"""Costs are varied by so much, so that jobs whose cheapest places tie do not all go to the same one."""

MARGINS = (0.001, 0.003, 0.01, 0.03)
"""Makespans packed for, over the larger of the bound and the level at which the work found would stand."""

READINGS, GOOD = 4, 0.003
"""The table is read again, at most so often, with the prices learned, where the gap to the bound is above this."""

LONGEST = 1000
"""Jobs looked at for the bound of one job alone."""

T = TypeVar("T")


def is_large(time_s: Floats) -> bool:
    """Whether the table is for this module."""
    jobs, accelerators = time_s.shape
    return jobs >= LONG * accelerators and time_s.size >= 1 << 20


def run_halves(jobs: int, work: Callable[[slice], T]) -> tuple[T, T]:
    """`work` of the first and of the second half of the rows, each in a thread."""
    half = jobs // 2
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(work, (slice(0, half), slice(half, jobs)))
    return first, second


@dataclass(frozen=True, slots=True)
class RowPass:
    """What reading some rows gave.

    Attributes:
        host: Accelerator of each row.
        own_s: Its time there.
        priced: Sum of the cheapest costs at the first prices.
        price: (accelerators,) the prices learned.
    """

    host: Ints
    own_s: Floats
    priced: float
    price: Floats


def balance(time_s: Floats, ready_s: Floats) -> tuple[Ints, float]:
    """An assignment and a lower bound on its makespan.

    Args:
        time_s: (jobs, accelerators).
        ready_s: (accelerators,).
    """
    price = sample_prices(time_s, ready_s)
    weight_of = time_s.dtype.type
    best: Ints | None = None
    best_s = bound = 0.0
    for _ in range(READINGS):
        room = room_of(time_s, price, ready_s)
        halves = run_halves(len(time_s), partial(read_rows, time_s, price, room))
        host, own = (np.concatenate(parts) for parts in zip(*((half.host, half.own_s) for half in halves), strict=True))
        priced = from_prices(price.astype(weight_of), halves[0].priced + halves[1].priced, ready_s)
        longest = np.argpartition(own, -min(LONGEST, len(own)))[-LONGEST:]
        bound = max(bound, lower_bound_float32(priced, time_s), single_job(time_s[longest], ready_s))
        host = repair_overload(time_s, host, own, price, ready_s, bound)
        makespan = makespan_of(time_s, host, ready_s)
        if best is None or makespan < best_s:
            best, best_s = host, makespan
        if best_s <= bound * (1 + GOOD):
            break
        price = normalize_prices(np.sqrt(halves[0].price * halves[1].price))
    assert best is not None
    return best, bound


def sample_prices(time_s: Floats, ready_s: Floats) -> Floats:
    """Prices from a sample of the jobs."""
    step = max(time_s.size // SAMPLE_CELLS, 1)
    sample = np.ascontiguousarray(time_s[step // 2 :: step])
    return search(sample, ready_s * (len(sample) / len(time_s)), patience=2).price


def room_of(time_s: Floats, price: Floats, ready_s: Floats) -> Floats:
    """What each accelerator should get: up to the level a sample of the jobs gives at these prices."""
    step = max(time_s.size // SAMPLE_CELLS, 1)
    sample = time_s[step // 2 :: step]
    weight = price.astype(time_s.dtype)
    work = float((sample * weight).min(axis=1).sum(dtype=np.float64)) * (len(time_s) / len(sample))
    room: Floats = np.maximum(from_prices(weight, work, ready_s) - ready_s, 0.0)
    return room


def read_rows(time_s: Floats, price: Floats, room_s: Floats, rows: slice) -> RowPass:
    """`read` of half the rows, which get half the room."""
    return read(time_s[rows], price, room_s / 2)


def read(time_s: Floats, price: Floats, room_s: Floats) -> RowPass:
    """Place rows one chunk after another, prices following the loads.

    Args:
        time_s: (rows, accelerators).
        price: (accelerators,) at the start.
        room_s: (accelerators,) what each should get of these rows.
    """
    rows, accelerators = time_s.shape
    # Never more than a few of a chunk's jobs for one accelerator: prices must keep up with the loads.
    chunk = max(min(CELLS // accelerators, accelerators // 4), 16)
    kind = time_s.dtype.type
    first = price.astype(kind)
    host, own = np.empty(rows, np.int64), np.empty(rows, time_s.dtype)
    cost = np.empty((min(chunk, rows), accelerators), kind)
    varied = _varied(len(cost), accelerators, kind)
    load = np.zeros(accelerators)
    usual = max(float(room_s.mean()), 1e-300)
    learned = np.zeros(accelerators)
    now, priced = first, 0.0
    for at in range(0, rows, chunk):
        part = time_s[at : at + chunk]
        some = cost[: len(part)]
        np.multiply(part, first, out=some)
        priced += float(some.min(axis=1).sum(dtype=np.float64))
        np.multiply(part, now, out=some)
        some *= varied[: len(part)]
        choice = some.argmin(axis=1)
        took = part[np.arange(len(part)), choice]
        host[at : at + chunk], own[at : at + chunk] = choice, took
        load += np.bincount(choice, weights=took, minlength=accelerators)
        ahead = np.clip((load - room_s * min((at + chunk) / rows, 1.0)) / usual, -1.0, 1.0)
        learned += LEARN * ahead * (len(part) / rows)
        now = (price * np.exp(PULL * ahead + learned)).astype(kind)
    return RowPass(host, own, priced, price * np.exp(learned))


def _varied(rows: int, accelerators: int, kind: type) -> Floats:
    """Factors close to 1, other ones in every row: a window that slides over one list, which stays in the cache."""
    factors = 1 + SPREAD * np.random.default_rng(0).random(accelerators + rows).astype(kind)
    return np.lib.stride_tricks.sliding_window_view(factors.astype(kind), accelerators)[:rows]


def repair_overload(time_s: Floats, host: Ints, own: Floats, price: Floats, ready_s: Floats, bound_s: float) -> Ints:
    """Take jobs off where the load is above a makespan little over the bound, and pack them where there is room."""
    level_s = max(bound_s, from_prices(np.ones(len(price)), float(own.sum(dtype=np.float64)), ready_s))
    # What is taken off must fit elsewhere: long jobs stay, and of the others the longest go, so that few rows are read.
    uneven = float(np.std(np.bincount(host, weights=own, minlength=len(price)) + ready_s))
    long = own > max(uneven / 3, float(np.quantile(own, 0.1)))
    order = np.lexsort((np.where(long, -own, own), ~long, host))
    at = host[order]
    sums = np.cumsum(own[order], dtype=np.float64)
    first = np.flatnonzero(np.r_[True, at[1:] != at[:-1]])
    begun = sums[first] - own[order][first]
    until = sums - np.repeat(begun, np.diff(np.r_[first, len(at)])) + ready_s[at]
    best, best_s = host, np.inf
    for margin in MARGINS:
        aim = level_s * (1 + margin)
        loose = order[until > aim]
        tried = host.copy()
        loads = np.bincount(host, weights=own, minlength=len(price)) + ready_s
        loads -= np.bincount(host[loose], weights=own[loose], minlength=len(price))
        _pack(time_s, tried, loads, loose, price, aim)
        makespan = float(loads[np.unique(tried)].max())
        if makespan < best_s:
            best, best_s = tried, makespan
        if best_s <= level_s * (1 + 2 * margin):
            break
    return best


def _pack(time_s: Floats, host: Ints, loads: Floats, loose: Ints, price: Floats, aim_s: float) -> None:
    """Place `loose` within `aim_s`; what has no room goes where it ends first. Changes `host` and `loads`."""
    table = time_s[loose]
    room = np.maximum(aim_s - loads, 0.0)
    free = room.copy()
    place, left = pack(table, price, room, table.min(axis=1))
    loads += free - room
    for i in left:
        there = int((loads + table[i]).argmin())
        place[i] = there
        loads[there] += table[i, there]
    host[loose] = place
