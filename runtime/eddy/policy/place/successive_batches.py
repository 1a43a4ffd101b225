# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Batches placed part by part, each beside what the parts before it use ([002] 3.4, 3.5).

`waves` schedules the kinds of jobs of a mixed batch one after another, `grouped` the sizes: small jobs first, which
lowers the average completion time. `pool_after` is what makes both possible, and online batches too: the instance as
the next part, or the next batch, finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from eddy.model.placement.instance import Floats, Instance, Ints, Placement, Rate

Method = Callable[[Instance], Placement]


def part_of(instance: Instance, jobs: Ints) -> Instance:
    """Some jobs of a batch, on the same pool."""
    size, requester = instance.size_bits, instance.requester
    if size is None or requester is None:
        return replace(instance, time_s=instance.time_s[jobs])
    return replace(instance, time_s=instance.time_s[jobs], size_bits=size[jobs], requester=requester[jobs])


def pool_after(instance: Instance, placed: Placement) -> Instance:
    """The same pool once `placed`, an answer for `instance`, is decided; the batch stays, to be replaced."""
    own = instance.time_s[np.arange(instance.jobs), placed.host].astype(np.float64)
    ready = instance.ready_s.astype(np.float64).copy()
    computes = own > 0
    np.maximum.at(ready, placed.host[computes], (placed.start_s + own)[computes])
    return replace(instance, ready_s=ready, busy=np.concatenate([instance.busy, _sent(instance, placed)]))


def _sent(instance: Instance, placed: Placement) -> Floats:
    if instance.requester is None or not placed.rates:
        return np.zeros((0, 5))
    job = np.array([r.job for r in placed.rates])
    when = np.array([(r.from_s, r.to_s, r.bps) for r in placed.rates])
    return np.column_stack([instance.requester[job], instance.host_of[placed.host[job]], when])


def shift_pool(instance: Instance, by_s: float) -> Instance:
    """The pool `by_s` seconds later: time starts there, and what is over is forgotten."""
    busy = instance.busy.copy()
    busy[:, 2:4] = np.maximum(busy[:, 2:4] - by_s, 0.0)
    return replace(
        instance, ready_s=np.maximum(instance.ready_s - by_s, 0.0), busy=busy[busy[:, 3] > busy[:, 2]].copy()
    )


def in_turn(instance: Instance, turns: Sequence[tuple[Ints, Method]], bound_s: float, method: str) -> Placement:
    """Place parts of a batch one after another.

    Args:
        turns: Jobs, and the method that places them; together every job once.
        bound_s: Lower bound on the whole batch.
        method: Name in the answer.
    """
    host, start = np.zeros(instance.jobs, np.int64), np.zeros(instance.jobs)
    rates: list[Rate] = []
    pool, makespan = instance, 0.0
    for jobs, place in turns:
        part = part_of(pool, jobs)
        placed = place(part)
        host[jobs], start[jobs] = placed.host, placed.start_s
        rates += [replace(rate, job=int(jobs[rate.job])) for rate in placed.rates]
        makespan = max(makespan, placed.makespan_s)
        used = pool_after(part, placed)
        pool = replace(instance, ready_s=used.ready_s, busy=used.busy)
    return Placement(host, start, makespan, min(bound_s, makespan), tuple(rates), method)


def waves(instance: Instance, methods: Sequence[Method], bound_s: float) -> Placement:
    """A batch of mixed jobs: those that only compute first, those that only send last ([002] 3.5).

    Args:
        instance: A batch with a network; a job without bits only computes, one that takes no time anywhere only sends.
        methods: For those that only compute, for those that do both, for those that only send.
        bound_s: Lower bound on the whole batch.
    """
    assert instance.size_bits is not None
    sends, computes = instance.size_bits > 0, instance.time_s.max(axis=1) > 0
    kinds = (computes & ~sends, computes & sends, ~computes)
    turns = [(np.flatnonzero(kind), place) for kind, place in zip(kinds, methods, strict=True) if kind.any()]
    return in_turn(instance, turns, bound_s, "waves")


def grouped(instance: Instance, groups: int, place: Method, bound_s: float) -> Placement:
    """Groups of equally many jobs by size, the smallest first ([002] 3.5, "Fairness Among Jobs").

    Args:
        place: The method for each group.
        bound_s: Lower bound on the whole batch.
    """
    size = instance.size_bits if instance.kind == "network" else instance.time_s.min(axis=1)
    assert size is not None
    turns = [(np.sort(jobs), place) for jobs in np.array_split(np.argsort(size, kind="stable"), groups) if len(jobs)]
    return in_turn(instance, turns, bound_s, "groups")


def with_reconfiguration(instance: Instance, seconds: float) -> Instance:
    """Every job that computes first loads its accelerator ([002] 3.5, "Logic Reconfiguration")."""
    return replace(instance, time_s=np.where(instance.time_s > 0, instance.time_s + seconds, instance.time_s))


def mean_completion_s(instance: Instance, placed: Placement) -> float:
    """The average completion time of a batch's jobs."""
    own = instance.time_s[np.arange(instance.jobs), placed.host].astype(np.float64)
    return float((placed.start_s + own).mean())
