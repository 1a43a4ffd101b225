# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When jobs of a pool should start and end: what boards have and what waits, in the order in which it is planned.

A model, as every board's forecast is: each waiting job goes, in its turn, where it would end first. Times of jobs have
the mean and the deviation that were learned (`eddy.pool.mirror.estimates`), and those of different jobs are taken to be
independent. Sending is not counted, as inputs are sent while earlier jobs run.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from eddy.api.answers.estimates import ExpectedTimes
from eddy.pool.mirror.estimates import P90, Estimates
from eddy.pool.mirror.planning_order import order_by_weight
from eddy.pool.placement.constraints import PlacementRules, likeness
from eddy.pool.placement.placement import PoolView
from eddy.pool.records.records import RUNNING, PoolBoard, PoolJob

LOOKED_AT = 2_000
"""Waiting jobs that are forecast: the first. Of the others nothing is told."""
OLDEST_S, OLDEST_MISSING_S = 1.0, 0.2
"""How old a forecast may be in wall seconds, and for a job that it does not have."""
MIN_LEFT = 0.1
"""Of a part that takes longer than expected, this share of the expected time is left."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time with its uncertainty: mean in seconds from now, and variance."""

    mean_s: float = 0.0
    variance: float = 0.0

    def after(self, later: Moment) -> Moment:
        """This and then something that takes so long."""
        return Moment(self.mean_s + later.mean_s, self.variance + later.variance)

    @property
    def p90_s(self) -> float:
        """Before which nine in ten are."""
        return self.mean_s + P90 * math.sqrt(self.variance)


@dataclass(frozen=True, slots=True)
class ExpectedJob:
    """What is expected of a job.

    Attributes:
        start: When a board begins it; None once one has.
        end: When it ends.
        known: Whether such work has run anywhere.
        place: In the queue, from 1; None once started.
        own_place: The same among its tenant's.
    """

    start: Moment | None
    end: Moment
    known: bool
    place: int | None = None
    own_place: int | None = None

    def shown(self, at_s: float, everyone: bool) -> ExpectedTimes:
        """As a board shows it, in the seconds of the job.

        Args:
            everyone: Whether the place counts everyone's jobs.
        """
        return ExpectedTimes(
            at_s=at_s,
            position=self.place if everyone else self.own_place,
            start_p50_s=None if self.start is None else at_s + self.start.mean_s,
            start_p90_s=None if self.start is None else at_s + self.start.p90_s,
            end_p50_s=at_s + self.end.mean_s,
            end_p90_s=at_s + self.end.p90_s,
            known=self.known,
        )


def forecast(view: PoolView, now_unix_s: float) -> dict[int, ExpectedJob]:
    """What is expected of jobs on boards and of the first that wait, by number.

    Args:
        now_unix_s: Wall time.
    """
    found: dict[int, ExpectedJob] = {}
    free = _Free(view)
    has: dict[str, list[PoolJob]] = {}
    for job in view.given:
        has.setdefault(job.board, []).append(job)
    for board in view.boards:
        ready = [(0.0, 0.0)] * board.width
        for job in sorted(has.get(board.name, ()), key=lambda job: (job.state != RUNNING, job.id)):
            begin = Moment(*heapq.heappop(ready))
            takes = time_left(job, board, view.estimates, now_unix_s)
            end = begin.after(takes)
            started = job.started_unix_s is not None
            found[job.id] = ExpectedJob(None if started else begin, end, _known(job, view.estimates))
            heapq.heappush(ready, (end.mean_s, end.variance))
        if not board.drained:
            free.add(board, ready)
    own: dict[str, int] = {}
    for place, job in enumerate(order_by_weight(view.waiting, view.given, view.weights, LOOKED_AT), 1):
        given = free.take(job, view.estimates, now_unix_s)
        if given is None:
            continue
        own[job.tenant] = own.get(job.tenant, 0) + 1
        begin, end = given
        start = begin if job.started_unix_s is None else None
        found[job.id] = ExpectedJob(start, end, _known(job, view.estimates), place, own[job.tenant])
    return found


class _Free:
    """When accelerators are free, by what they can run and how fast."""

    def __init__(self, view: PoolView) -> None:
        self._alike: dict[tuple[object, ...], tuple[PoolBoard, list[tuple[float, float]]]] = {}
        # Those that are kept apart end before others begin: what boards have now keeps nothing from them for ever.
        self._way, self._rules = likeness(view.waiting), PlacementRules(view.partners)

    def add(self, board: PoolBoard, ready: Sequence[tuple[float, float]]) -> None:
        _, heap = self._alike.setdefault(self._way(board), (board, []))
        for each in ready:
            heapq.heappush(heap, each)

    def take(self, job: PoolJob, estimates: Estimates, now_unix_s: float) -> tuple[Moment, Moment] | None:
        """Give a job the accelerator where it ends first; its start and end."""
        best: tuple[Moment, Moment, list[tuple[float, float]]] | None = None
        for board, heap in self._alike.values():
            if not heap or not self._rules.allow(job, board):
                continue
            begin = Moment(*heap[0])
            end = begin.after(time_left(job, board, estimates, now_unix_s))
            if best is None or end.mean_s < best[1].mean_s:
                best = begin, end, heap
        if best is None:
            return None
        begin, end, heap = best
        heapq.heapreplace(heap, (end.mean_s, end.variance))
        return begin, end


def time_left(job: PoolJob, board: PoolBoard, estimates: Estimates, now_unix_s: float) -> Moment:
    """What is left of a job on its board, without the time that has gone into its next part."""
    mean_s, p90_s = estimates.item_s(job.timed, board.kind)
    items = job.batch - job.done
    whole = Moment(items * mean_s, (items * (p90_s - mean_s) / P90) ** 2)
    if job.state != RUNNING or job.started_unix_s is None:
        return whole
    since = max(job.started_unix_s, job.parts[-1].ended_unix_s if job.parts else 0.0)
    spent_s = min(max(now_unix_s - since, 0.0), whole.mean_s)
    return replace(whole, mean_s=max(whole.mean_s - spent_s, MIN_LEFT * mean_s))


def _known(job: PoolJob, estimates: Estimates) -> bool:
    return any(work == job.timed for work, _ in estimates.known)


class Forecasts:
    """A head's forecasts, each kept for a second.

    Args:
        view: The pool now; sizes of blobs are not needed.
        now: Wall time, seconds since 1970.
        clock: Seconds that never jump.
    """

    def __init__(
        self,
        view: Callable[[], PoolView],
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._view, self._now, self._clock = view, now, clock
        self._made_s, self._made_unix_s = float("-inf"), 0.0
        self._found: Mapping[int, ExpectedJob] = {}

    def expect_job(self, job: PoolJob, everyone: bool) -> ExpectedTimes | None:
        """What is expected of a job, in seconds since its arrival; None where nothing can be told.

        Args:
            everyone: Whether its place counts everyone's jobs.
        """
        if job.is_ended:
            return None
        age_s = self._clock() - self._made_s
        if age_s > OLDEST_S or (job.id not in self._found and age_s > OLDEST_MISSING_S):
            self._made_s, self._made_unix_s = self._clock(), self._now()
            self._found = forecast(self._view(), self._made_unix_s)
        expected = self._found.get(job.id)
        at_s = max(self._made_unix_s - job.submitted_unix_s, 0.0)
        return None if expected is None else expected.shown(at_s, everyone)

    def trial(self, job: PoolJob, everyone: bool) -> tuple[ExpectedTimes | None, float]:
        """What would be expected of a job that is not submitted, in seconds from now, and the mean seconds it would
        take; None and 0 where no board that is there can run it."""
        view = self._view()
        expected = forecast(replace(view, waiting=[*view.waiting, job]), self._now()).get(job.id)
        if expected is None or expected.start is None:
            return None, 0.0
        return expected.shown(0.0, everyone), expected.end.mean_s - expected.start.mean_s
