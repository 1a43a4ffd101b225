"""Eddy's own policy: the least work left goes first, on latencies learned from items that ended.

It takes from [004] pipelining, preemption at batch boundaries, priorities and the wish that every application soon has
one slot. What it does otherwise:

- Estimates are only a beginning: `eddy.model.latency` learns what items take. Work left ranks applications, so a
  factor of ten between estimate and truth is a factor of ten in rank.
- Slots are valued, not allotted: an application's next slot counts the less the more it has. So slots go to many when
  many wait, and all to one when it is alone, and nobody is given more than there are.
- A slot in which a task would wait for its predecessors is worth a tenth of one in which it would work. Such slots are
  given last and taken first.
- An application that will end last whatever is done, because its critical path is longer than all the work that waits
  would take on all slots, gets one slot at once.
- Waiting makes everyone more urgent in proportion to his own length, so that nobody starves.
- Modules stay in slots that were given back, and are used again without a load; the one that is loaded over is that
  which is wanted last.
- The image of the load after the one under way is read into memory ahead of its turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from eddy.model.latency.learned import Item, Latencies
from eddy.policy.dispatch.choice import fits, free_slots
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
from unit.plain_dispatch.outlook import (
    KEPT,
    Outlook,
    items_ready,
    items_soon,
    look,
    modules_and_estimates,
    modules_to_come,
)

WEIGHTS: Mapping[int, float] = {1: 1.0, 3: 1.2, 9: 4.0}
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
        ends_s: By age of those that came since the oldest that is left, when they would end without sharing.
        last: The age of the youngest that was seen.
        reuses: Whether a module was seen in a slot that nobody held.
    """

    learned: Latencies = field(default_factory=Latencies)
    predicted: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    load_s: float = 0.0
    leaving: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    fetched: tuple[str, int] | None = None
    ends_s: Mapping[tuple[float, int], float] = field(default_factory=dict)
    last: tuple[float, int] = (float("-inf"), -1)
    reuses: bool = False


@dataclass(frozen=True, slots=True)
class Eddy:
    """The least work left first; see the module. Ties go to the lower job id, then to the lower slot.

    The constants were chosen on sequences of [004]'s applications with seeds below 1000; results change little around
    them.

    Attributes:
        pipelined: Whether tasks of a job may work on different items at once.
        crowd: How much less a job's next slot counts for each that it has; less so for higher priorities.
        idle: How many times less a slot counts in which a task waits for its predecessors.
        early: The part of its critical path that counts as the work of a job that will end last anyway, over the
            weight of its priority.
        outlasting: How long a critical path must be against all the work that waits, shared among all slots, for its
            job to be one that will end last.
        ageing: How much waiting counts against work.
        reluctance: How many times more a slot must count for the job that wants it than for the one that has it.
        joining: How many loads long a task waits, at most, for its module in a slot another job is about to give back.
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
    joining: float = 2.0
    patience_s: float = 10.0
    interval_s: float = 0.396
    name: str = "eddy"

    def initial(self) -> Memory:
        """Nothing is known."""
        return Memory()

    def decide(self, view: DispatchView) -> Dispatch:
        """Give free slots, ask for one to be taken, or for an image to be read ahead."""
        memory: Memory = view.memory
        if not view.jobs:
            return Dispatch((), self._forget(memory, view))
        allocation = SlotAllocation(self, view, memory)
        allocation.play()
        return Dispatch(tuple(allocation.decisions), allocation.memory(), view.now_s + self.interval_s)

    def _forget(self, memory: Memory, view: DispatchView) -> Memory:
        """What stays when no job is left."""
        learned = memory.learned.observe(_items(view))
        predicted = memory.predicted if learned.version == memory.learned.version else {}
        return Memory(learned, predicted, memory.load_s, reuses=memory.reuses)


def _items(view: DispatchView) -> list[Item]:
    """Items that ended since the last call, as they are learned."""
    return [Item(o.application, o.task, o.module, o.estimate_s, o.duration_s) for o in view.observations]


class HeldSlot(NamedTuple):
    """A slot that could be taken from its job.

    Attributes:
        slot: The slot.
        job: Who has it.
        task: For what.
        waits: Whether the task waits there for its predecessors, longer than a load takes.
        value: What the slot counts for the job: the rank at which it would ask for it.
        wait_s: Seconds until it could be had, at most: those of the item that runs.
    """

    slot: SlotView
    job: int
    task: int
    waits: bool
    value: float
    wait_s: float


class SlotAllocation:
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
        self.reuses = memory.reuses or any(slot.module and slot.job is None for slot in view.slots)
        self.promised_s: dict[int, float] = {}
        """By slot: seconds that tasks which wait for it will work there."""
        self.lent: list[SlotView] = []
        """Slots that are kept, and hold a module meanwhile."""
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
        self.outlooks = self._look()
        self.ends_s, self.last = self._unshared(memory)
        self.backlog_s = sum([o.work_s for o in self.outlooks.values()]) / max(len(view.slots), 1)
        self.held: dict[int, int] = {}
        """Slots of jobs for which this decision changes them."""
        holders = {slot.index: (slot.job, slot.task) for slot in view.slots} if memory.leaving else {}
        self.leaving = {slot: whose for slot, whose in memory.leaving.items() if holders.get(slot) == whose}
        self.coming = len(self.leaving)
        """Slots on their way back that nobody was promised yet."""
        self.takeable: list[HeldSlot] | None = None
        """Slots that could be taken from their jobs; None where it must be recomputed."""
        self.settled = False
        """Whether no slot counts so little that whoever comes next in rank could take it."""

    def _look(self) -> dict[int, Outlook]:
        """What lies before every job; recomputed only for those that changed, or whose figures did."""
        found, predicted, load_s, pipelined = {}, self.predicted, self.load_s, self.policy.pipelined
        for job in self.view.jobs:
            outlook: Outlook | None = job.facts.get(KEPT)
            latency_s = predicted.get(job.application)
            if (
                outlook is None
                or outlook.latency_s is not latency_s
                or outlook.load_s != load_s
                or outlook.pipelined is not pipelined
            ):
                if latency_s is None or len(latency_s) != len(job.tasks):
                    latency_s = predicted[job.application] = self._predict(job)
                outlook = look(job, latency_s, load_s, pipelined)
            found[job.id] = outlook
        return found

    def _unshared(self, memory: Memory) -> tuple[dict[tuple[float, int], float], tuple[float, int]]:
        """When jobs would end were they served one after another, in order of age."""
        ends_s, last = dict(memory.ends_s), memory.last
        for job in sorted(self.view.jobs, key=lambda job: job.age):
            if job.age > last:
                begin_s = max([job.arrival_s, *([ends_s[max(ends_s)]] if ends_s else [])])
                ends_s[job.age], last = begin_s + (self.outlooks[job.id].path_s + self.load_s), job.age
        since_s = min(job.arrival_s for job in self.view.jobs)
        return {age: end_s for age, end_s in ends_s.items() if age[0] >= since_s}, last

    def _claim(self, outlook: Outlook) -> float:
        ends_s = [end_s for age, end_s in self.ends_s.items() if age <= outlook.job.age]
        since_s = min(job.arrival_s for job in self.view.jobs)
        alone_s = max(ends_s, default=float("-inf")) - since_s
        claim: float = max(alone_s, 1e-3) ** self.policy.claim
        return claim

    def _predict(self, job: JobView) -> tuple[float, ...]:
        """Latencies of a job's application; the very same object as before where they are the same."""
        fresh = self.learned.predict(job.application, modules_and_estimates(job))
        before = self.before.get(job.application)
        return before if before is not None and before == fresh else fresh

    def memory(self) -> Memory:
        """What to remember."""
        return Memory(
            self.learned,
            self.predicted,
            self.load_s,
            self.leaving,
            self.fetched,
            self.ends_s,
            self.last,
            self.reuses,
        )

    # Ranks: the less, the sooner ------------------------------------------------------------------------------------

    def rank(self, outlook: Outlook, held: int) -> float:
        """Of a job's next slot when it has `held`."""
        policy, job, work_s = self.policy, outlook.job, outlook.work_s
        longer_s = work_s + policy.ageing * (self.now_s - job.arrival_s) + 1e-9
        weight = WEIGHTS[job.priority] / self._claim(outlook)
        rank = work_s * work_s / (weight * longer_s)
        if job.deadline_s is not None:
            rank *= self._haste(outlook, job.deadline_s)
        if held:
            return rank * (1.0 + policy.crowd * held / ROOTS[job.priority])
        if outlook.path_s > policy.outlasting * self.backlog_s:
            return min(rank, policy.early * outlook.path_s / weight)
        return rank

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
        """Offer slots to tasks in order of rank until no slot is left to give; then lend those that are kept."""
        if not self.free and self.port_busy:
            return
        self._contest()
        for slot in self.lent:
            self._lend(slot)

    def _contest(self) -> None:
        heap = []
        for number, outlook in self.outlooks.items():
            if outlook.ready:
                heap.append((self.rank(outlook, outlook.held), number, 0))
            elif outlook.early:
                heap.append((self.rank(outlook, outlook.held) * self.policy.idle, number, 0))
        heapify(heap)
        while heap and (self.free or not self.port_busy):
            rank, number, count = heappop(heap)
            outlook = self.outlooks[number]
            offer = self._offers(outlook, count)
            assert offer is not None
            if not self._serve(outlook, offer[0], rank):
                if self.settled and not self.free:
                    return
                continue
            held = self.held[number] = self.held.get(number, outlook.held) + 1
            following = self._offers(outlook, count + 1)
            if following is not None:
                heappush(heap, (self.rank(outlook, held) * following[1], number, count + 1))

    def _serve(self, outlook: Outlook, task: TaskView, rank: float) -> bool:
        """Give a task a slot, or keep one for it; answers whether it will have one."""
        job = outlook.job
        if outlook.latency_s[task.id] > self.policy.patience_s and self._endless() >= len(self.view.slots) - 1 > 0:
            return False
        fitting = [slot for slot in self.free if fits(slot, task)]
        ready = next((s for s in fitting if s.module == task.module and s.tenant == job.tenant), None)
        if ready is not None:
            self._give(job, task, ready)
        elif fitting:
            if self._join(outlook, task):
                return True
            slot = fitting[0] if len(fitting) == 1 else self._least_wanted(fitting)
            if not self.port_busy:
                self.port_busy = True
                self._give(job, task, slot)
            else:
                self._keep(task, slot)
        elif self.coming:
            # One is on its way, but another may be had at once.
            if not self._take(outlook, task, rank, at_once=True):
                self.coming -= 1
        else:
            return self._take(outlook, task, rank)
        return True

    def _join(self, outlook: Outlook, task: TaskView) -> bool:
        """Whether the task waits for a slot that another job of its tenant will soon give back, with its module."""
        job = outlook.job
        found: list[tuple[float, int]] = []
        for slot in self.view.slots if self.reuses else ():
            other = next((o.job for o in self.outlooks.values() if o.job.id == slot.job), None)
            if other is None or other is job or (slot.module, slot.tenant) != (task.module, job.tenant):
                continue
            if slot.task is None or slot.index in self.leaving or not fits(slot, task):
                continue
            own = other.tasks[slot.task]
            left = other.batch - own.items_done
            if not (slot.loading or slot.running or left):
                continue
            wait_s = self.promised_s.get(slot.index, 0.0)
            wait_s += left * self.outlooks[other.id].latency_s[own.id] + (self.load_s if slot.loading else 0.0)
            if items_ready(other, own) >= left and wait_s < self.policy.joining * self.load_s:
                found.append((wait_s, slot.index))
        mine = job.batch - task.items_done
        own_s = mine * outlook.latency_s[task.id] if items_ready(job, task) >= mine else math.inf
        for _, slot_index in sorted(found)[:1]:
            self.promised_s[slot_index] = self.promised_s.get(slot_index, 0.0) + own_s
        return bool(found)

    def _lend(self, slot: SlotView) -> None:
        """Give a kept slot to the first in rank who needs no load there and is done before a load would be."""
        served = [(made.job, made.task) for made in self.decisions if isinstance(made, Configure)]
        found = []
        for outlook in self.outlooks.values():
            job = outlook.job
            for task in outlook.ready if job.tenant == slot.tenant and self._in_front(job) else ():
                left = job.batch - task.items_done
                soon = items_ready(job, task) >= left and left * outlook.latency_s[task.id] <= self.load_s
                if soon and task.module == slot.module and fits(slot, task) and (job.id, task.id) not in served:
                    found.append((self.rank(outlook, outlook.held), job.id, task.id))
        for _, number, task_id in sorted(found)[:1]:
            self.decisions.append(Configure(number, task_id, slot.index))

    def _in_front(self, job: JobView) -> bool:
        """Whether nobody precedes a job who is alike and has no larger batch; of those with deadlines everyone is."""

        def kind(other: JobView) -> object:
            return other.application, other.shape, other.priority, other.deadline_s is None, other.tenant, _waits(other)

        alike = [other for other in self.view.jobs if kind(other) == kind(job) and other.batch <= job.batch]
        return job.deadline_s is not None or not _waits(job) or all(other.age >= job.age for other in alike)

    def _endless(self) -> int:
        """How many slots are, or will by this decision be, at work on items nobody has the patience for.

        Where such a task waits for its predecessors the slot does not count: they may be as long, and must get one.
        """
        count, patience_s = 0, self.policy.patience_s
        for slot in self.view.slots:
            holder = self.outlooks.get(slot.job) if slot.job is not None else None
            if holder is not None and slot.task is not None and holder.latency_s[slot.task] > patience_s:
                count += slot.running or items_ready(holder.job, holder.job.tasks[slot.task]) > 0
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
        self.lent += [slot] * bool(slot.module)
        wanted = task.module, slot.index
        if not self.kept and self.fetched != wanted:
            self.fetched = wanted
            self.decisions.append(Prefetch(*wanted))
        self.kept = True

    def _least_wanted(self, slots: list[SlotView]) -> SlotView:
        """The slot to load over: an empty one, else one with a module nobody wants, else that of the last in rank."""
        inside = {slot.module for slot in slots if slot.module}
        wanted: dict[tuple[str, str], float] = {}
        for outlook in self.outlooks.values() if inside else ():
            modules = modules_to_come(outlook.job)
            if modules.isdisjoint(inside):
                continue
            rank = self.rank(outlook, 1)
            for module in modules & inside:
                key = module, outlook.job.tenant
                wanted[key] = min(rank, wanted.get(key, rank))

        def worth(slot: SlotView) -> tuple[float, float, float, int]:
            if not slot.module:
                return 0, 0, slot.load_s, slot.index
            rank = wanted.get((slot.module, slot.tenant))
            return (1, 0, slot.load_s, slot.index) if rank is None else (2, -rank, slot.load_s, slot.index)

        return min(slots, key=worth)

    # Preemption -----------------------------------------------------------------------------------------------------

    def _take(self, outlook: Outlook, task: TaskView, rank: float, *, at_once: bool = False) -> bool:
        """Ask for the slot that counts least for the job that has it, if it counts enough more for this task.

        Of slots that count alike, one in which nothing runs, else that of the task latest in topological order. Of the
        job's own slots only one may be taken in which a task waits: a later one, or one that nothing in a slot works
        towards.
        """
        if self.takeable is None:
            self.takeable = [held for held in map(self._held, self.view.slots) if held is not None]
        least = rank * self.policy.reluctance
        if all(held.value <= least for held in self.takeable):
            self.settled = not at_once
            return False
        job = outlook.job.id
        able = [
            held
            for held in self.takeable
            if held.value > least
            and not (at_once and held.slot.running)
            and fits(held.slot, task)
            and (held.job != job or (held.waits and (held.task > task.id or _stalled(outlook.job, held.task))))
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

    def _held(self, slot: SlotView) -> HeldSlot | None:
        """A slot that could be taken from its job."""
        if slot.job is None or slot.task is None or slot.loading or slot.index in self.leaving:
            return None
        holder = self.outlooks.get(slot.job)
        if holder is None:
            return None
        waits = not slot.running and items_soon(holder.job, holder.job.tasks[slot.task], holder) <= 0
        held = self.held.get(slot.job, holder.held)
        value = self.rank(holder, max(held - 1, 0)) * (self.policy.idle if waits else 1.0)
        wait_s = self.predicted[holder.job.application][slot.task] if slot.running else 0.0
        return HeldSlot(slot, slot.job, slot.task, waits, value, wait_s)


def _waits(job: JobView) -> bool:
    """Whether nothing was done for a job yet."""
    return job.shown_s is None and not job.shape.begun


def _stalled(job: JobView, number: int) -> bool:
    """Whether no task that has a slot works towards a task's next item, however far back."""
    before = [job.tasks[p] for p in job.tasks[number].predecessors if job.tasks[p].items_done < job.batch]
    return all(task.slot is None and _stalled(job, task.id) for task in before)
