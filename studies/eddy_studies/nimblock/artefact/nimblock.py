# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Nimblock as the artefact has it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.views.view import (
    Configure,
    Decision,
    Dispatch,
    DispatchView,
    JobView,
    Preempt,
    SlotView,
    TaskView,
)

from eddy_studies.nimblock.artefact.common import first_idle, is_ready, jobs_by_id, threshold_of


@dataclass(frozen=True, slots=True)
class KnownJob:
    """A job's tokens, and what they are counted from."""

    tokens: float
    priority: int
    arrival_s: float
    length_s: float


@dataclass(frozen=True, slots=True)
class State:
    """What the loop remembers.

    Attributes:
        known: Job id to its tokens.
        pending: Jobs that are no candidates, in order of joining.
        candidates: Jobs that are, in order of joining: a job that was demoted and comes back stands last.
        given: Job id to slots allocated at the last reallocation.
        threshold: What a candidate's tokens must reach.
        counted_s: Board time of the last periodic count, or None before the first job.
        last_s: Board time of the last count of any kind.
    """

    known: Mapping[int, KnownJob] = field(default_factory=dict)
    pending: tuple[int, ...] = ()
    candidates: tuple[int, ...] = ()
    given: Mapping[int, int] = field(default_factory=dict)
    threshold: float = 1.0
    counted_s: float | None = None
    last_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SlotCandidate:
    """A candidate that slots are allocated to.

    Attributes:
        tasks: Tasks with items left.
        goal: Slots that it can use well.
    """

    job: int
    tasks: int
    goal: int


def whole_rounds(candidates: Sequence[SlotCandidate], slots: int) -> dict[int, int]:
    """Slots by job: a round once begun serves every candidate, whatever is left."""
    given = {each.job: min(1, each.tasks) for each in candidates}
    left = slots - sum(given.values())
    if left > 0:
        goals = {each.job: min(each.goal, each.tasks) for each in candidates}
        left -= sum(goals.values()) - sum(given.values())
        given = goals
    return {each.job: max(given[each.job], each.tasks) for each in candidates} if left > 0 else given


def what_there_is(candidates: Sequence[SlotCandidate], slots: int) -> dict[int, int]:
    """Slots by job, no more than there are ([004] Algorithm 2)."""
    given, left = {each.job: 0 for each in candidates}, slots
    for wanted in (lambda each: 1, lambda each: each.goal, lambda each: each.tasks):
        for each in candidates:
            more = min(max(min(wanted(each), each.tasks) - given[each.job], 0), left)
            given[each.job] += more
            left -= more
    return given


@dataclass(frozen=True, slots=True)
class Rules:
    """What the artefact's Nimblock does where it departs from the text; `AS_TEXT` has the text's rules, one at a time.

    Attributes:
        is_promoted: Whether so many tokens make a candidate, at a threshold.
        is_demoted: Whether a candidate with so many tokens is one no longer, at a threshold.
        counted_from_s: Board time before which waiting earns nothing, given that of the last count.
        allocate: Slots by candidate, of so many.
    """

    is_promoted: Callable[[float, float], bool] = operator.ge
    is_demoted: Callable[[float, float], bool] = operator.lt
    counted_from_s: Callable[[float], float] = lambda last_s: 0.0
    allocate: Callable[[Sequence[SlotCandidate], int], dict[int, int]] = whole_rounds


PUBLISHED = Rules()
"""Reaching the threshold makes a candidate, falling below it ends that; every count adds the whole age again."""

AS_TEXT: Mapping[str, Rules] = {
    "candidates": Rules(is_promoted=operator.gt, is_demoted=operator.le),
    "age": Rules(counted_from_s=lambda last_s: last_s),
    "demotion": Rules(is_demoted=lambda tokens, threshold: False),
    "allocation": Rules(allocate=what_there_is),
}
"""The artefact's rules with one departure taken back, to see what it costs: strictly more tokens than the threshold;
waiting counts once; once a candidate, always one; no more slots allocated than there are."""


@dataclass(slots=True)
class _Turn:
    """One turn of the loop, at work on a copy of the state."""

    view: DispatchView
    jobs: Mapping[int, JobView]
    known: dict[int, KnownJob]
    pending: list[int]
    candidates: list[int]
    given: dict[int, int]
    threshold: float
    last_s: float
    policy: ArtefactNimblock

    def count(self) -> None:
        """Add every job's whole age, in its own lengths, to its tokens; set the threshold."""
        since_s = self.policy.rules.counted_from_s(self.last_s)
        for number in (*self.pending, *self.candidates):
            job = self.known[number]
            age_s = self.view.now_s - max(job.arrival_s, since_s)
            tokens = job.tokens + self.policy.alpha * job.priority * age_s / job.length_s
            self.known[number] = KnownJob(tokens, job.priority, job.arrival_s, job.length_s)
        self.last_s = self.view.now_s
        self.threshold = threshold_of(self.known[number].tokens for number in (*self.pending, *self.candidates))

    def promote(self) -> bool:
        """Make candidates of those who reach the threshold, and of those who do not, none; whether any moved."""
        moved = False
        for number in list(self.pending):
            if self.policy.rules.is_promoted(self.known[number].tokens, self.threshold):
                self.pending.remove(number)
                self.candidates.append(number)
                moved = True
        for number in list(self.candidates):
            if self.policy.rules.is_demoted(self.known[number].tokens, self.threshold):
                self.candidates.remove(number)
                self.given[number] = 0
                self.pending.append(number)
                moved = True
        return moved

    def allocate(self) -> None:
        """Algorithm 2, as the rules have it."""
        jobs = [
            SlotCandidate(number, self.incomplete(number), self.jobs[number].goal_slots if number in self.jobs else 0)
            for number in self.candidates
        ]
        self.given.update(self.policy.rules.allocate(jobs, len(self.view.slots)))

    def incomplete(self, number: int) -> int:
        """Tasks of a job with items left."""
        job = self.jobs.get(number)
        return 0 if job is None else sum(task.items_done < job.batch for task in job.tasks)

    def retire(self) -> bool:
        """Forget jobs that ended; whether there were any."""
        gone = [number for number in self.known if number not in self.jobs]
        for number in gone:
            del self.known[number]
            self.given.pop(number, None)
        self.pending = [number for number in self.pending if number in self.known]
        self.candidates = [number for number in self.candidates if number in self.known]
        return bool(gone)

    def select(self) -> tuple[JobView, TaskView] | None:
        """The first ready task of the first candidate with fewer slots than allocated."""
        for number in self.candidates:
            job = self.jobs[number]
            if _occupancy(job) < self.given[number]:
                for task in job.tasks:
                    if task.slot is None and is_ready(job, task, self.policy.pipelined):
                        return job, task
        return None

    def victim(self) -> int | None:
        """Algorithm 4 in one pass over the slots: later slots may replace or veto what earlier ones proposed."""
        most, chosen = 0, None
        for slot in self.view.slots:
            job = self.jobs.get(slot.job) if slot.job is not None else None
            if job is None or slot.task is None or slot.loading:
                continue
            if not slot.running:
                over = _occupancy(job) - self.given.get(job.id, 0)
                later = chosen is not None and chosen.job == slot.job and slot.task > (chosen.task or 0)
                if over > most or (over == most and later):
                    most, chosen = over, slot
            elif chosen is not None and chosen.job == slot.job and slot.task > (chosen.task or 0):
                chosen = None
        return None if chosen is None else chosen.index

    def decisions(self) -> tuple[Decision, ...]:
        """A task for an idle slot, or for one that is taken from a job with too many."""
        selected = None if self.view.port_busy else self.select()
        if selected is None:
            return ()
        job, task = selected
        slot: SlotView | None = first_idle(self.view, task)
        if slot is not None:
            return (Configure(job.id, task.id, slot.index),)
        victim = self.victim()
        return () if victim is None else (Preempt(victim, PreemptReason.ALLOCATION), Configure(job.id, task.id, victim))


def _occupancy(job: JobView) -> int:
    return sum(task.slot is not None for task in job.tasks)


@dataclass(frozen=True, slots=True)
class ArtefactNimblock:
    """Nimblock's loop in the artefact.

    Against the text: reaching the threshold is enough; whenever tokens are counted, a job's whole age is added again; a
    candidate overtaken by the threshold is one no longer; allocations may sum to more than the slots; candidates are
    served in order of joining, not of age; a task is pipelined only when its next item is there.

    Attributes:
        alpha: Weight of waiting in the tokens.
        interval_s: Board seconds between periodic counts.
        pipelined: Whether a task is ready before its predecessors have finished the batch.
        name: As `--policy` takes it.
        rules: What departs from the text.
    """

    alpha: float = 0.125
    interval_s: float = 0.396
    pipelined: bool = True
    name: str = "nimblock"
    rules: Rules = PUBLISHED

    def initial(self) -> State:
        """No job is known."""
        return State()

    def decide(self, view: DispatchView) -> Dispatch:
        """One turn of the loop."""
        state: State = view.memory
        turn = _Turn(
            view,
            jobs_by_id(view),
            dict(state.known),
            list(state.pending),
            list(state.candidates),
            dict(state.given),
            state.threshold,
            state.last_s,
            self,
        )
        counted_s, updated = state.counted_s, False
        if counted_s is not None and view.now_s - counted_s > self.interval_s:
            turn.count()
            turn.allocate()
            counted_s, updated = view.now_s, True
        new = [job for job in view.jobs if job.id not in turn.known]
        for job in new:
            length_s = max(job.batch * sum(task.estimate_s for task in job.tasks), 1e-9)
            turn.known[job.id] = KnownJob(float(job.priority), job.priority, job.arrival_s, length_s)
            turn.pending.append(job.id)
        if new and not updated and counted_s is not None:
            turn.count()
            updated = True
        counted_s = view.now_s if counted_s is None and new else counted_s
        if turn.promote():
            turn.allocate()
        if turn.retire():
            turn.allocate()
            if not updated:
                turn.count()
        memory = State(
            turn.known, tuple(turn.pending), tuple(turn.candidates), turn.given, turn.threshold, counted_s, turn.last_s
        )
        wake_s = None if counted_s is None or not view.jobs else counted_s + self.interval_s + 1e-6
        return Dispatch(turn.decisions(), memory, wake_s)
