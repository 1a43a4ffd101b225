# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is left: a mean no schedule can go below, and the best schedule found by who knows everything beforehand."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from eddy.core.jobs import PRIORITIES
from eddy.model.latency.learned import Item, Latencies
from eddy.policy.dispatch.choosing.memory import PolicyMemory
from eddy.policy.dispatch.eddy import Eddy

from eddy_studies.judge.demand import EventDemand, needs
from eddy_studies.judge.trial import MACHINES, OURS, Array, Trial
from eddy_studies.nimblock.run import Player, responses_s, run
from eddy_studies.nimblock.workload import Arrival, EventSequence

CLAIMS = (0.35, 0.0, 1.0)
"""Constants of `eddy` the search begins with."""


Relaxed = Callable[[Sequence[EventDemand], Sequence[float], int], float]
"""A bound for jobs, by weight, on so many slots' speed."""

# A lower bound ------------------------------------------------------------------------------------------------------


def lower_bound(jobs: Sequence[EventDemand], weights: Sequence[float], slots: int) -> float:
    """A sum of weighted responses that no schedule goes below, be it preemptive, clairvoyant and with loads for free.

    Let S be any set of jobs. Then the sum is at least that of the bounds of S and of the others:

    - Others: an item of a task follows the one before it and those of its predecessors, and a task has one slot at a
      time. So a response is at least `path_s`.
    - S: ten slots, say, work off at most ten seconds of work a second; leave out what they do for others. So the
      schedule is one of a single machine that is preempted at will, on which a job takes p = work / slots. With equal
      weights, shortest remaining time first has the least sum there. With any, let M be the mean time at which a
      job is worked on: its end is at least M + p / 2, as it takes p at least from where its work begins, and at least
      M + `after_s`. The sum of weight * M is least where whoever has the largest weight / p is worked on first
      (Goemans 1997); so is the bound. With equal weights the larger of the two counts.

    Every S gives a bound; the one used is found by moving single jobs in or out as long as that helps.

    Args:
        weights: What a second of each one's response counts.
    """
    relaxations = (_shortest_first, _heaviest_first) if len(set(weights)) == 1 else (_heaviest_first,)
    return max(_best_bound(jobs, weights, slots, relaxed) for relaxed in relaxations)


def _best_bound(jobs: Sequence[EventDemand], weights: Sequence[float], slots: int, relaxed: Relaxed) -> float:
    """The bound over the sets that are found."""

    def bound(shared: frozenset[int]) -> float:
        alone = sum(weights[i] * jobs[i].path_s for i in range(len(jobs)) if i not in shared)
        members = sorted(shared)
        return alone + relaxed([jobs[i] for i in members], [weights[i] for i in members], slots)

    shared = frozenset(range(len(jobs)))
    best, moved = bound(shared), True
    while moved:
        moved = False
        for job in range(len(jobs)):
            value = bound(shared ^ {job})
            if value > best + 1e-9:
                best, shared, moved = value, shared ^ {job}, True
    return max(best, bound(frozenset()))


def _shortest_first(jobs: Sequence[EventDemand], weights: Sequence[float], slots: int) -> float:
    """The sum of responses on one machine of all slots' speed, the shortest remaining first."""
    ends_s, _ = _preempted(jobs, slots, lambda job, left_s: left_s)
    return sum(weight * (end_s - job.arrival_s) for job, weight, end_s in zip(jobs, weights, ends_s, strict=True))


def _heaviest_first(jobs: Sequence[EventDemand], weights: Sequence[float], slots: int) -> float:
    """The bound by mean times of work, the largest weight over work first."""
    ratios = [job.work_s / weight for job, weight in zip(jobs, weights, strict=True)]
    _, means_s = _preempted(jobs, slots, lambda job, _: ratios[job])
    return sum(
        weight * (mean_s + max(job.work_s / slots / 2, job.after_s) - job.arrival_s)
        for job, weight, mean_s in zip(jobs, weights, means_s, strict=True)
    )


def _preempted(
    jobs: Sequence[EventDemand], slots: int, rank: Callable[[int, float], float]
) -> tuple[list[float], list[float]]:
    """When jobs end on one machine, and the mean time at which each is worked on; the least rank first."""
    coming = sorted(range(len(jobs)), key=lambda job: jobs[job].arrival_s)
    left_s = [job.work_s / slots for job in jobs]
    ends_s, means_s = [0.0] * len(jobs), [0.0] * len(jobs)
    waiting: list[tuple[float, int]] = []
    now_s, place = 0.0, 0
    while place < len(coming) or waiting:
        if not waiting:
            now_s = max(now_s, jobs[coming[place]].arrival_s)
        while place < len(coming) and jobs[coming[place]].arrival_s <= now_s:
            heappush(waiting, (rank(coming[place], left_s[coming[place]]), coming[place]))
            place += 1
        _, job = heappop(waiting)
        until_s = jobs[coming[place]].arrival_s if place < len(coming) else float("inf")
        done_s = min(left_s[job], until_s - now_s)
        means_s[job] += done_s * (now_s + done_s / 2) / (jobs[job].work_s / slots)
        left_s[job] -= done_s
        now_s += done_s
        ends_s[job] = now_s
        if left_s[job] > 1e-12:
            heappush(waiting, (rank(job, left_s[job]), job))
    return ends_s, means_s


# A clairvoyant schedule ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClairvoyantEddy(Eddy):
    """`eddy` that knows from the beginning what items take."""

    known: Latencies = field(default_factory=Latencies)

    def initial(self) -> PolicyMemory:
        """Everything is known."""
        return PolicyMemory(self.known)


def true_latencies(workload: EventSequence) -> Latencies:
    """What items really take, as if one of each had been seen."""
    return Latencies().observe(
        Item(name, task.id, task.module, task.estimate_s, app.measured_s[task.id])
        for name, app in workload.apps.items()
        for task in app.application.tasks
    )


def clairvoyant(workload: EventSequence, events: Sequence[Arrival], weights: Array, tries: int) -> Array:
    """Responses under the best schedule found.

    It is looked for among those of `eddy` with true latencies: with several constants, then with other priorities of
    single events, kept where the weighted sum falls. What comes later is known, as each try runs the whole sequence.

    Args:
        events: The sequence; its own priorities are where the search begins.
        weights: What a second of each response counts.
        tries: Runs, beyond those that compare constants.
    """
    known, rng = true_latencies(workload), random.Random(len(events))

    def play(tried: Sequence[Arrival], claim: float) -> Array:
        result = run(workload, tried, Player(ClairvoyantEddy(claim=claim, known=known)), MACHINES["reuse, overlap"])
        return np.array(responses_s(result, tried))

    tried = list(events)
    best, claim = min(((play(tried, claim), claim) for claim in CLAIMS), key=lambda found: float(found[0] @ weights))
    for _ in range(tries):
        place = rng.randrange(len(tried))
        other = rng.choice([priority for priority in PRIORITIES if priority != tried[place].priority])
        changed = [*tried]
        changed[place] = dataclasses.replace(tried[place], priority=other)
        found = play(changed, claim)
        if found @ weights < best @ weights:
            best, tried = found, changed
    return best


@dataclass(frozen=True, slots=True)
class RemainingGap:
    """Means over the first sequences of a trial, in seconds or relative to `exclusive`.

    Attributes:
        bound: No schedule is below.
        found: The best schedule found, everything known; no worse than `ours`.
        ours: `eddy`.
    """

    sequences: int
    bound: float
    found: float
    ours: float
    rival: float


def gap_to_bound(
    workload: EventSequence,
    sequences: Sequence[Sequence[Arrival]],
    trial: Trial,
    rival: str,
    relative: bool,
    tries: int,
) -> RemainingGap:
    """What lies between `eddy` and the bound.

    Args:
        sequences: The first ones of the trial.
        rival: By name.
        relative: Whether responses count over those under `exclusive`, or in seconds.
        tries: Of the search, for each sequence.
    """
    bound, found, ours, theirs = [], [], [], []
    for row, events in enumerate(sequences):
        exclusive = trial.response_s["exclusive"][row]
        weights = (1.0 / exclusive if relative else np.ones(len(events))) / len(events)
        bound.append(lower_bound(needs(workload, events), [float(weight) for weight in weights], len(workload.load_s)))
        ours.append(float(trial.response_s[OURS][row] @ weights))
        theirs.append(float(trial.response_s[rival][row] @ weights))
        found.append(min(float(clairvoyant(workload, events, weights, tries) @ weights), ours[-1]))
    return RemainingGap(len(sequences), *(float(np.mean(each)) for each in (bound, found, ours, theirs)))
