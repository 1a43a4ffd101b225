"""Eddy's own policy: the least work left goes first, on latencies learned from items that ended, and those who would
have been served soon without sharing go before those who would not.

It takes from [004] pipelining, preemption at batch boundaries, priorities and the wish that every application soon has
one slot. What it does otherwise:

- Estimates are only a beginning: `eddy.model.latency` learns what items take. Work left ranks applications, so a
  factor of ten between estimate and truth is a factor of ten in rank.
- What sharing is measured by is the response without it. Whoever would have been served soon without sharing loses
  most by waiting, so work counts the less the sooner that would have been; see `unshared`.
- Slots are valued, not allotted: an application's next slot counts a little less the more it has. So of applications
  with about as much left one ends before the other, instead of both late; all slots go to one when it is alone.
- A slot in which a task would wait for its predecessors is worth a hundredth of one in which it would work. Such slots
  are given last and taken first.
- An application that will end last whatever is done, because its critical path is longer than all the work that waits
  would take on all slots, gets one slot at once.
- Waiting makes everyone more urgent in proportion to his own length, so that nobody starves.
- Modules stay in slots that were given back, and are used again without a load; the one that is loaded over is that
  which is wanted last.
- The image of the load after the one under way is read into memory ahead of its turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from eddy.model.latency.learned import Item, Latencies
from eddy.policy.dispatch.choice import fits, free_slots, resident
from eddy.policy.dispatch.jobs import Kind
from eddy.policy.dispatch.outlook import (
    Outlook,
    Outlooks,
    items_ready,
    look,
    modules_and_estimates,
    modules_of,
    modules_to_come,
    outlooks,
)
from eddy.policy.dispatch.standing import Contest, Standing, Turn
from eddy.policy.dispatch.unshared import Unshared
from eddy.policy.dispatch.view import (
    Configure,
    Decision,
    Dispatch,
    DispatchView,
    JobView,
    Preempt,
    Prefetch,
    SlotView,
    TaskView,
)

WEIGHTS: Mapping[int, float] = {1: 1.0, 3: 1.4, 9: 3.0}
"""How many times shorter a job of each priority counts."""
ROOTS: Mapping[int, float] = {priority: math.sqrt(weight) for priority, weight in WEIGHTS.items()}
"""How many times less the slots it has count against a job of each priority."""
SAME = 0.1
"""A mean load time that moved less than this share is not worth looking at every job again."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered from call to call.

    Attributes:
        learned: Latencies.
        predicted: Application to seconds an item of each of its tasks takes, as of `learned`.
        load_s: What a load takes, about.
        leaving: Slot to the (job, task) it is being taken from.
        fetched: (module, slot) of the image last asked to be read ahead.
        unshared: When jobs would end without sharing.
    """

    learned: Latencies = field(default_factory=Latencies)
    predicted: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    load_s: float = 0.0
    leaving: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    fetched: tuple[str, int] | None = None
    unshared: Unshared = field(default_factory=Unshared)


@dataclass(frozen=True, slots=True)
class Eddy:
    """The least work left first; see the module. Ties go to the lower job id, then to the lower slot.

    The constants were chosen on sequences of [004]'s applications with seeds below 1000; results change little around
    them.

    Attributes:
        pipelined: Whether tasks of a job may work on different items at once.
        claim: The power of the time a job would take without sharing by which its rank grows: 0 is for the mean of
            responses, 1 for the mean of responses over those without sharing.
        crowd: How much less a job's next slot counts for each that it has; less so for higher priorities.
        idle: How many times less a slot counts in which a task waits for its predecessors.
        early: The part of its critical path that counts as the work of a job that will end last anyway, over the
            weight of its priority.
        outlasting: How long a critical path must be against all the work that waits, shared among all slots, for its
            job to be one that will end last.
        ageing: How much waiting counts against work.
        reluctance: How many times more a slot must count for the job that wants it than for the one that has it.
        patience_s: Board seconds an item may take for its task to get the last slot: an item cannot be preempted, and
            whoever comes while such items hold every slot would have to wait for the end of one.
        interval_s: Board seconds after which to look again, waiting having changed ranks.
    """

    pipelined: bool = True
    claim: float = 0.35
    crowd: float = 0.05
    idle: float = 100.0
    early: float = 0.025
    outlasting: float = 0.7
    ageing: float = 0.3
    reluctance: float = 1.5
    patience_s: float = 10.0
    interval_s: float = 0.396
    name: str = "eddy"

    def initial(self) -> Memory:
        """Nothing is known."""
        return Memory()

    def decide(self, view: DispatchView) -> Dispatch:
        """Give free slots, ask for one to be taken, or for an image to be read ahead."""
        memory: Memory = view.memory
        if not len(view.jobs):
            return Dispatch((), self._forget(memory, view))
        round_ = Round(self, view, memory)
        round_.play()
        return Dispatch(tuple(round_.decisions), round_.memory(), view.now_s + self.interval_s)

    def _forget(self, memory: Memory, view: DispatchView) -> Memory:
        """What stays when no job is left."""
        learned = memory.learned.observe(_items(view))
        predicted = memory.predicted if learned.version == memory.learned.version else {}
        return Memory(learned, predicted, memory.load_s)


def _items(view: DispatchView) -> list[Item]:
    """Items that ended since the last call, as they are learned."""
    return [Item(o.application, o.task, o.module, o.estimate_s, o.duration_s) for o in view.observations]


class Held(NamedTuple):
    """A slot that could be taken from its job.

    Attributes:
        slot: The slot.
        job: Who has it.
        task: For what.
        waits: Whether the task waits there for its predecessors.
        value: What the slot counts for the job: the rank at which it would ask for it.
        wait_s: Seconds until it could be had, at most: those of the item that runs.
    """

    slot: SlotView
    job: int
    task: int
    waits: bool
    value: float
    wait_s: float


class Round:
    """One decision in the making.

    Args:
        policy: Its constants.
        view: The world.
        memory: From the last call.
    """

    def __init__(self, policy: Eddy, view: DispatchView, memory: Memory) -> None:
        self.policy, self.view, self.now_s = policy, view, view.now_s
        self.decisions: list[Decision] = []
        self.free = free_slots(view)
        self.port_busy = view.port_busy
        self.fetched = memory.fetched
        self.kept = False
        """Whether a slot is kept for a task that waits for the port."""
        self.learned, predicted = memory.learned, memory.predicted
        if view.observations:
            self.learned = self.learned.observe(_items(view))
        self.before = predicted
        self.predicted = dict(predicted) if self.learned.version == memory.learned.version else {}
        self.load_s = memory.load_s
        mean_s = sum([slot.load_s for slot in view.slots]) / max(len(view.slots), 1)
        if abs(mean_s - self.load_s) > SAME * self.load_s:
            self.load_s = mean_s
        self.unshared = memory.unshared.with_arrivals(view.jobs, self._unshared_s)
        self.claims = self.unshared.facts
        self.outlooks = {job.id: self._look(job) for job in view.jobs.begun.values()}
        """What lies before jobs: those that were begun, and others as they are given a slot."""
        self.kinds = [(kind, self._look_at_kind(kind)) for kind in view.jobs.kinds.values()]
        """Jobs nothing was done for, and what lies before them."""
        work_s = sum([outlook.work_s for outlook in self.outlooks.values()])
        work_s += sum([kind.items * known.item_s + kind.jobs * known.loads_s for kind, known in self.kinds])
        self.backlog_s = work_s / max(len(view.slots), 1)
        self.held: dict[int, int] = {}
        """Slots of jobs for which this decision changes them."""
        holders = {slot.index: (slot.job, slot.task) for slot in view.slots} if memory.leaving else {}
        self.leaving = {slot: whose for slot, whose in memory.leaving.items() if holders.get(slot) == whose}
        self.coming = len(self.leaving)
        """Slots on their way back that nobody was promised yet."""
        self.takeable: list[Held] | None = None
        """Slots that could be taken from their jobs; None where it must be recomputed."""
        self.settled = False
        """Whether no slot counts so little that whoever comes next in rank could take it."""

    def _latency_s(self, job: JobView) -> tuple[float, ...]:
        """Seconds an item of each task of a job takes, as far as is known."""
        latency_s = self.predicted.get(job.application)
        if latency_s is None or len(latency_s) != len(job.tasks):
            latency_s = self.predicted[job.application] = self._predict(job)
        return latency_s

    def _unshared_s(self, job: JobView) -> float:
        """Seconds a job would take alone: a load and its critical path; other loads are hidden."""
        return self._look(job).path_s + self.load_s

    def _look(self, job: JobView) -> Outlook:
        """What lies before a job; recomputed only where it or its figures changed."""
        return look(job, self._latency_s(job), self.load_s, self.policy.pipelined)

    def _look_at_kind(self, kind: Kind) -> Outlooks:
        """The same for all jobs of a kind."""
        return outlooks(kind.tasks, self._latency_s(kind.head()), self.load_s, self.policy.pipelined)

    def _predict(self, job: JobView) -> tuple[float, ...]:
        """Latencies of a job's application; the very same object as before where they are the same."""
        fresh = self.learned.predict(job.application, modules_and_estimates(job))
        before = self.before.get(job.application)
        return before if before is not None and before == fresh else fresh

    def memory(self) -> Memory:
        """What to remember."""
        return Memory(self.learned, self.predicted, self.load_s, self.leaving, self.fetched, self.unshared)

    # Ranks: the less, the sooner ------------------------------------------------------------------------------------

    def rank(self, job: JobView, outlook: Outlook, held: int = 0) -> float:
        """Of a job's next slot when it has `held`."""
        policy, work_s = self.policy, outlook.work_s
        longer_s = work_s + policy.ageing * (self.now_s - job.arrival_s) + 1e-9
        claim = self.claims.get(job.id) or self.unshared.claim(job, policy.claim)
        weight = WEIGHTS[job.priority] / claim
        rank = work_s * work_s / (weight * longer_s)
        if job.deadline_s is not None:
            rank *= self._haste(outlook, job.deadline_s)
        if held:
            return rank * (1.0 + policy.crowd * held / ROOTS[job.priority])
        if self.outlasts(outlook):
            return min(rank, policy.early * outlook.path_s / weight)
        return rank

    def outlasts(self, outlook: Outlook) -> bool:
        """Whether a job with this before it will end last whatever is done."""
        return outlook.path_s > self.policy.outlasting * self.backlog_s

    def _haste(self, outlook: Outlook, deadline_s: float) -> float:
        """Down to a tenth for a job whose deadline comes near; 1 for one that has time, or none any more."""
        slack_s = deadline_s - self.now_s - outlook.path_s
        return 1.0 if slack_s < 0 else min(max(slack_s / (outlook.work_s + 1e-9), 0.1), 1.0)

    def _offers(self, outlook: Outlook, number: int) -> tuple[TaskView, float] | None:
        """A job's task to be given a slot next, after `number` others, and by how much that slot counts less."""
        ready = outlook.ready
        if number < len(ready):
            return ready[number], 1.0
        number -= len(ready)
        return (outlook.early[number], self.policy.idle) if number < len(outlook.early) else None

    # Slots ----------------------------------------------------------------------------------------------------------

    def play(self) -> None:
        """Offer slots to tasks in order of rank until no slot is left to give."""
        if not self.free and self.port_busy:
            return
        contest = Contest(self._turns(), self._standings())
        while self.free or not self.port_busy:
            turn = contest.next()
            if turn is None:
                return
            job, outlook = turn.job, turn.outlook
            offer = self._offers(outlook, turn.given)
            assert offer is not None
            if not self._serve(job, outlook, offer[0], turn.rank):
                if self.settled and not self.free:
                    return
                contest.passed_over(turn)
                continue
            self.outlooks[job.id] = outlook
            held = self.held[job.id] = self.held.get(job.id, outlook.held) + 1
            following = self._offers(outlook, turn.given + 1)
            rank = None if following is None else self.rank(job, outlook, held) * following[1]
            contest.served(turn, rank)

    def _turns(self) -> Iterator[Turn]:
        """Of the jobs that were begun."""
        for number, outlook in self.outlooks.items():
            job = self.view.jobs.job(number)
            if outlook.ready:
                yield Turn(self.rank(job, outlook, outlook.held), job, 0, outlook)
            elif outlook.early:
                yield Turn(self.rank(job, outlook, outlook.held) * self.policy.idle, job, 0, outlook)

    def _standings(self) -> Iterator[Standing]:
        """Of the jobs nothing was done for: each has a task that is ready."""
        for kind, known in self.kinds:
            yield Standing(kind, known, self.rank, self.outlasts)

    def _serve(self, job: JobView, outlook: Outlook, task: TaskView, rank: float) -> bool:
        """Give a task a slot, or keep one for it; answers whether it will have one.

        If it has nothing for a job, it has nothing for one that is alike and comes later, before another is served.
        """
        if outlook.latency_s[task.id] > self.policy.patience_s and self._endless() >= len(self.view.slots) - 1 > 0:
            return False
        fitting = [slot for slot in self.free if fits(slot, task)]
        ready = resident(fitting, job, task)
        if ready is not None:
            self._give(job, task, ready)
        elif fitting:
            slot = fitting[0] if len(fitting) == 1 else self._least_wanted(fitting)
            if not self.port_busy:
                self.port_busy = True
                self._give(job, task, slot)
            else:
                self._keep(task, slot)
        elif self.coming:
            # One is on its way, but another may be had at once.
            if not self._take(job, outlook, task, rank, at_once=True):
                self.coming -= 1
        else:
            return self._take(job, outlook, task, rank)
        return True

    def _endless(self) -> int:
        """How many slots are, or will by this decision be, at work on items nobody has the patience for.

        Where such a task waits for its predecessors the slot does not count: they may be as long, and must get one.
        """
        count, patience_s = 0, self.policy.patience_s
        for slot in self.view.slots:
            holder = self.outlooks.get(slot.job) if slot.job is not None else None
            if holder is None or slot.job is None or slot.task is None:
                continue
            if holder.latency_s[slot.task] > patience_s:
                job = self.view.jobs.job(slot.job)
                count += slot.running or items_ready(job, job.tasks[slot.task]) > 0
        for decision in self.decisions:
            if isinstance(decision, Configure):
                count += self.outlooks[decision.job].latency_s[decision.task] > patience_s
        return count

    def _give(self, job: JobView, task: TaskView, slot: SlotView) -> None:
        self.decisions.append(Configure(job.id, task.id, slot.index))
        self.free.remove(slot)

    def _keep(self, task: TaskView, slot: SlotView) -> None:
        """Keep a slot for a task that waits for the port; the first such task's image is read ahead."""
        self.free.remove(slot)
        wanted = task.module, slot.index
        if not self.kept and self.fetched != wanted:
            self.fetched = wanted
            self.decisions.append(Prefetch(*wanted))
        self.kept = True

    def _least_wanted(self, slots: list[SlotView]) -> SlotView:
        """The slot to load over: an empty one, else one with a module nobody wants, else that of the last in rank."""
        users = {slot.index: None if slot.scrubs else slot.tenant for slot in slots}
        wanted = {
            key: self._wanted(*key) for key in {(slot.module, users[slot.index]) for slot in slots if slot.module}
        }

        def worth(slot: SlotView) -> tuple[float, float, float, int]:
            if not slot.module:
                return 0, 0, slot.load_s, slot.index
            rank = wanted[slot.module, users[slot.index]]
            return (1, 0, slot.load_s, slot.index) if rank is None else (2, -rank, slot.load_s, slot.index)

        return min(slots, key=worth)

    def _wanted(self, module: str, tenant: str | None) -> float | None:
        """The rank of the first of a tenant's jobs, or of anybody's, that will want a module; None where none will."""
        begun = [job for job in self.view.jobs.begun.values() if tenant in (None, job.tenant)]
        jobs = [job for job in begun if module in modules_to_come(job)]
        for kind in self.view.jobs.kinds.values() if tenant is None else self.view.jobs.waiting_of(tenant):
            if module in modules_of(kind.tasks):
                jobs += kind.every() if kind.due else kind.front
        return min([self.rank(job, self._look(job), 1) for job in jobs], default=None)

    # Preemption -----------------------------------------------------------------------------------------------------

    def _take(self, job: JobView, outlook: Outlook, task: TaskView, rank: float, *, at_once: bool = False) -> bool:
        """Ask for the slot that counts least for the job that has it, if it counts enough more for this task.

        Of slots that count alike, one in which nothing runs, else that of the task latest in topological order. Of the
        job's own slots only one may be taken in which a later task waits for this one.
        """
        if self.takeable is None:
            self.takeable = [held for held in map(self._held, self.view.slots) if held is not None]
        least = rank * self.policy.reluctance
        if all(held.value <= least for held in self.takeable):
            self.settled = not at_once
            return False
        able = [
            held
            for held in self.takeable
            if held.value > least
            and not (at_once and held.slot.running)
            and fits(held.slot, task)
            and (held.job != job.id or (held.waits and held.task > task.id))
        ]
        if not able:
            return False
        work_s = outlook.work_s
        taken = max(able, key=lambda held: (held.value / (work_s + held.wait_s + 1e-9), held.task, held.slot.index))
        self.decisions.append(Preempt(taken.slot.index))
        self.leaving[taken.slot.index] = taken.job, taken.task
        self.held[taken.job] = self.held.get(taken.job, self.outlooks[taken.job].held) - 1
        self.takeable = None
        return True

    def _held(self, slot: SlotView) -> Held | None:
        """A slot that could be taken from its job."""
        if slot.job is None or slot.task is None or slot.loading or slot.index in self.leaving:
            return None
        holder = self.outlooks.get(slot.job)
        if holder is None:
            return None
        job = self.view.jobs.job(slot.job)
        waits = not slot.running and items_ready(job, job.tasks[slot.task]) <= 0
        held = self.held.get(slot.job, holder.held)
        value = self.rank(job, holder, max(held - 1, 0)) * (self.policy.idle if waits else 1.0)
        wait_s = holder.latency_s[slot.task] if slot.running else 0.0
        return Held(slot, slot.job, slot.task, waits, value, wait_s)
