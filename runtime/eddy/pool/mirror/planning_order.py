# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The order in which jobs that wait are planned: by priority, and of a priority by what tenants weigh."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from eddy.pool.records.records import PoolJob

Fits = Callable[[PoolJob], bool]
"""Whether a job counts at all. It depends on what the job runs alone."""


class TurnOrder(Protocol):
    """Jobs that wait, in turn; arguments as those of `order_by_weight` without its first."""

    def __call__(
        self, given: Iterable[PoolJob], weights: Mapping[str, float], most: int | None, fits: Fits
    ) -> list[PoolJob]:
        """The first of them."""
        ...


def order_by_weight(
    jobs: Sequence[PoolJob],
    given: Iterable[PoolJob],
    weights: Mapping[str, float],
    most: int | None = None,
    fits: Fits = lambda _: True,
) -> list[PoolJob]:
    """Waiting jobs in the order in which they are planned: by priority, and of a priority each from the tenant that has
    the least jobs on boards for its weight, these included; of a tenant by number.

    So of a pool that is full, tenants have places in proportion to their weights, whatever number of jobs each has
    waiting and of boards each reaches.

    Args:
        given: Those that boards have.
        weights: Of tenants; 1 where a name is missing.
        most: How many of them are wanted, from the front; all if left out.
        fits: Whether a job counts at all; asked for those that are looked at.
    """
    queues: dict[tuple[int, str], list[PoolJob]] = {}
    for job in sorted(jobs, key=lambda job: job.id):
        queues.setdefault((priority(job), job.tenant), []).append(job)
    return interleave_queues({key: filter(fits, queue) for key, queue in queues.items()}, given, weights, most)


def interleave_queues(
    queues: Mapping[tuple[int, str], Iterator[PoolJob]],
    given: Iterable[PoolJob],
    weights: Mapping[str, float],
    most: int | None,
) -> list[PoolJob]:
    """The same of jobs that are in queues by (priority, tenant) already, each in order of number. Of a queue no more is
    taken than what is answered, and one job."""
    has = Counter(job.tenant for job in given)
    levels: dict[int, dict[str, Iterator[PoolJob]]] = {}
    for (level, name), queue in queues.items():
        levels.setdefault(level, {})[name] = queue
    found: list[PoolJob] = []
    for level in sorted(levels, reverse=True):
        if most is not None and len(found) >= most:
            break
        firsts = {name: first for name, queue in levels[level].items() if (first := next(queue, None)) is not None}
        turns = [((has[name] + 1) / weights.get(name, 1.0), name) for name in firsts]
        heapq.heapify(turns)
        while turns and (most is None or len(found) < most):
            _, name = turns[0]
            found.append(firsts[name])
            has[name] += 1
            following = next(levels[level][name], None)
            if following is None:
                heapq.heappop(turns)
            else:
                firsts[name] = following
                heapq.heapreplace(turns, ((has[name] + 1) / weights.get(name, 1.0), name))
    return found


def priority(job: PoolJob) -> int:
    """Of a job; higher goes first."""
    return int(job.request.get("priority", 1))
