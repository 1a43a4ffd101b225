# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A forecast of a queue: the live policy, asked in virtual time, until every job has ended or the bound is reached.

A forecast is a pure function of the queue, of what items take, and of its bounds. It knows nothing of jobs that are yet
to come; `eddy.model.estimates.calibration` learns what they, and everything else, do to it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from eddy.hypervisor.forecast.arena import ArenaAhead
from eddy.hypervisor.forecast.fabric import GivenSlot, Seconds, SlotsAhead, slot_standing
from eddy.hypervisor.forecast.queue import QueuePicture, tenant_places
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.view import Configure, Dispatch, Preempt


class ForecastExtrapolation:
    """Extrapolates from where a forecast stopped.

    Args:
        fabric: As it stood then.
        pipelined: Whether tasks of a job may work on different items at once.
    """

    def __init__(self, fabric: SlotsAhead, pipelined: bool) -> None:
        self._fabric, self._pipelined = fabric, pipelined
        slots = [slot.view.load_s for slot in fabric.slots.values()]
        self._count = max(len(slots), 1)
        self._load_s = sum(slots) / self._count
        self._ahead_s: dict[int, float] | None = None

    def start_s(self, job: JobView) -> float:
        """When a job starts that was not come to: once the work before it is done."""
        if self._ahead_s is None:
            self._ahead_s = self._lay_out()
        return self._fabric.now_s + self._ahead_s.get(job.id, 0.0)

    def end_s(self, job: JobView, start_s: float) -> float:
        """When a job ends that was not brought to its end: its own way takes it there from its start, or from where it
        stood."""
        left = self._fabric.jobs.get(job.id)
        begun = left is not None and left.shape.has_begun
        path_s = self._path_s(job if left is None else left)
        return self._fabric.now_s + path_s if begun else start_s + path_s + self._load_s

    def _lay_out(self) -> dict[int, float]:
        """Seconds before the start of each job that was not come to."""
        left = [job for job in self._fabric.jobs if job.id not in self._fabric.started_s]
        left.sort(key=lambda job: (-job.priority, job.age))
        work_s = sum(self._work_s(job) for job in self._fabric.jobs.begun.values())
        ahead_s = {}
        for job in left:
            ahead_s[job.id] = work_s / self._count
            if not job.shape.has_begun:
                work_s += self._work_s(job)
        return ahead_s

    def _work_s(self, job: JobView) -> float:
        """Slot-seconds a job has left, a load for each task that has no slot among them."""
        seconds = self._fabric.seconds(job)
        left = [(task, job.batch - task.items_done) for task in job.tasks if task.items_done < job.batch]
        return sum(items * seconds[task.id] + (task.slot is None) * self._load_s for task, items in left)

    def _path_s(self, job: JobView) -> float:
        """Seconds a job needs at least: an item through all tasks left, then the others as fast as the slowest task
        does them; where tasks do not overlap, each its whole batch."""
        seconds, longest, rest_s = self._fabric.seconds(job), dict[int, float](), 0.0
        for task in job.tasks:
            items = job.batch - task.items_done
            before_s = max((longest[number] for number in task.predecessors), default=0.0)
            own_s = 0.0 if items <= 0 else seconds[task.id] * (1 if self._pipelined else items)
            longest[task.id] = before_s + own_s
            rest_s = max(rest_s, (items - 1) * seconds[task.id])
        return max(longest.values(), default=0.0) + (rest_s if self._pipelined else 0.0)


MAX_DECISIONS = 400
"""Times the policy is asked; what it has not come to by then is extrapolated."""
FULL_ITEMS = 40
"""Items, over all tasks of all jobs, up to which each is simulated by itself."""
LARGEST_CHUNK = 0.25
"""Most of a batch that is simulated as one."""

MAX_IDLE = 8
"""Times in a row that the policy may decide nothing while nothing goes on, before the rest is extrapolated."""


@dataclass(frozen=True, slots=True)
class JobForecast:
    """When a job is expected to start and to end, in board time.

    Attributes:
        start_s: When it first gets a slot; its true start where it has one.
        end_s: When its last item is done.
        simulated: Whether the policy itself brought it to its start; else it lies beyond the bound, and was
            extrapolated from the work before it.
    """

    start_s: float
    end_s: float
    simulated: bool = True


@dataclass(frozen=True, slots=True)
class QueueForecast:
    """What is expected of a queue.

    Attributes:
        now_s: Board time it was made at.
        jobs: By id.
        order: Jobs that have not started, in the order in which they are expected to.
        own: Their places among their tenants' jobs alone, from 1.
        decisions: Times the policy was asked.
        given: Slots that are given, in order, as far as the policy was asked.
        unknown: Jobs that wait for memory, and nobody can tell until when: those that have it do not end here.
    """

    now_s: float
    jobs: Mapping[int, JobForecast]
    order: tuple[int, ...]
    own: Mapping[int, int]
    decisions: int
    given: tuple[GivenSlot, ...] = ()
    unknown: frozenset[int] = frozenset()

    def position(self, job: int) -> int | None:
        """Place in the queue, from 1; None for a job that has started, or is not in it."""
        return self.order.index(job) + 1 if job in self.order else None


def forecast(queue: QueuePicture, seconds: Seconds, *, most_decisions: int = MAX_DECISIONS) -> QueueForecast:
    """What becomes of a queue if nothing more comes.

    Args:
        queue: As it is.
        seconds: What an item of each of a job's tasks takes.
        most_decisions: Times the policy is asked at most.
    """
    return _Run(queue, seconds, most_decisions).run()


class _Run:
    """One forecast; see `forecast`."""

    def __init__(self, queue: QueuePicture, seconds: Seconds, most_decisions: int) -> None:
        view = queue.view
        self.queue, self.left, self.asked = queue, most_decisions, 0
        self.memory, self.begun = view.memory, {job.id for job in view.jobs.begun.values() if job.shape.has_begun}
        self.wake_s: float | None = None
        self.idle = 0
        """Times in a row that the policy decided nothing."""
        slots = {}
        for each in view.slots:
            job = view.jobs.get(each.job) if each.job is not None else None
            item_s = seconds(job)[each.task] if job is not None and each.task is not None else 0.0
            began_s = queue.since_s.get(each.index)
            slots[each.index] = slot_standing(each, began_s, view.now_s, each.index in queue.leaving, item_s)
        loads = [s.busy_until_s for s in slots.values() if s.view.loading and s.busy_until_s is not None]
        port_s = max([view.now_s + queue.port_busy_s, *loads])
        policy = queue.policy
        self.arena = ArenaAhead.of(queue.arena)
        self.arena.allocate()
        jobs = view.jobs
        for number in self.arena.waiting:
            jobs = jobs if jobs.get(number) is None else jobs.drop(number)
        self.fabric = SlotsAhead(view.now_s, jobs, slots, seconds, self._chunk(), policy.pipelined, port_s)
        self.heap = [(s.busy_until_s, i, s.round) for i, s in slots.items() if s.busy_until_s is not None]
        heapq.heapify(self.heap)

    def _chunk(self) -> float:
        """Part of a batch that is done as one: none of it in a short queue."""
        items = 0
        for job in self.queue.view.jobs:
            items += job.batch * len(job.tasks)
            if items > FULL_ITEMS:
                return LARGEST_CHUNK
        return 0.0

    def run(self) -> QueueForecast:
        """Go on until nothing is left, or the bound is reached."""
        self._settle(())
        while len(self.fabric.jobs) and self.left > 0 and (at_s := self._next_s()) is not None:
            self.fabric.now_s = max(at_s, self.fabric.now_s)
            self._settle(self._end_due())
        return self._result()

    def _next_s(self) -> float | None:
        """When something happens next."""
        while self.heap:
            slot = self.fabric.slots[self.heap[0][1]]
            if slot.round == self.heap[0][2] and slot.busy_until_s is not None:
                break
            heapq.heappop(self.heap)
        port_s = self.fabric.port_busy_s if self.fabric.port_busy else None
        times = [self.heap[0][0] if self.heap else None, self.wake_s, port_s]
        return min((t for t in times if t is not None), default=None)

    def _end_due(self) -> tuple[int, ...]:
        """End what ends now; answers the slots whose items ended."""
        ended = []
        while self.heap and self.heap[0][0] <= self.fabric.now_s:
            _, index, number = heapq.heappop(self.heap)
            slot = self.fabric.slots[index]
            if slot.round == number and slot.busy_until_s is not None:
                if slot.view.running:
                    ended.append(index)
                self.fabric.finish_run(slot)
        self._give_memory()
        return tuple(ended)

    def _give_memory(self) -> None:
        """Jobs that ended give theirs back, and those that waited for it are there."""
        if not self.arena.waiting:
            return
        for number in self.arena.held.keys() & self.fabric.ended_s.keys():
            self.arena.release(number)
        for number in self.arena.allocate():
            job = self.queue.view.jobs.get(number)
            if job is not None:
                self.fabric.jobs = self.fabric.jobs.put(job)
                self.fabric.changed.add(number)

    def _settle(self, ended: tuple[int, ...]) -> None:
        """Start what may start and ask the policy, again as long as what it decided changes things at once."""
        self.fabric.launch(ended)
        for _ in range(2 * len(self.fabric.slots) + 2):
            if self.left <= 0 or not self._ask():
                break
            self.fabric.launch()
        self.fabric.launch()
        for end in self.fabric.ends:
            heapq.heappush(self.heap, end)
        self.fabric.ends.clear()

    def _ask(self) -> bool:
        """Let the policy decide, and do what it says as far as it fits; answers whether that changed things at once."""
        fabric = self.fabric
        changed = self.queue.view.changed if self.asked == 0 else frozenset(fabric.changed)
        if self.asked == 0 and self.arena.waiting:
            changed = None  # others are there than the policy saw last
        view = replace(
            self.queue.view,
            now_s=fabric.now_s,
            jobs=fabric.jobs,
            slots=fabric.views(),
            port_busy=fabric.port_busy,
            memory=self.memory,
            changed=changed,
            # Reads are part of loads here: what is not in memory takes longer.
            reads_beside=False,
        )
        fabric.changed.clear()
        self.asked, self.left = self.asked + 1, self.left - 1
        dispatch: Dispatch = self.queue.policy.decide(view)
        self.memory = dispatch.memory
        self._wake(dispatch)
        acted = False
        for decision in dispatch.decisions:
            if isinstance(decision, Configure):
                acted = self._configure(decision) or acted
            elif isinstance(decision, Preempt):
                slot = fabric.slots.get(decision.slot)
                acted = (slot is not None and slot.view.job is not None and fabric.preempt(slot)) or acted
        return acted

    def _wake(self, dispatch: Dispatch) -> None:
        """When to ask again if nothing happens: as the policy asked, twice as late each time it decided nothing."""
        now_s, asked_s = self.fabric.now_s, dispatch.wake_s
        self.idle = 0 if dispatch.decisions else self.idle + 1
        late = 2.0 ** max(self.idle - 1, 0)
        self.wake_s = None
        if asked_s is not None and asked_s > now_s and (self.heap or self.fabric.ends or self.idle <= MAX_IDLE):
            self.wake_s = now_s + (asked_s - now_s) * late

    def _configure(self, decision: Configure) -> bool:
        slot, job = self.fabric.slots.get(decision.slot), self.fabric.jobs.get(decision.job)
        if slot is None or slot.view.job is not None or slot.busy_until_s is not None or job is None:
            return False
        task = job.tasks[decision.task]
        if task.slot is not None or task.items_done >= job.batch:
            return False
        return self.fabric.configure(slot, job, decision.task)

    def _unknown(self) -> frozenset[int]:
        """Jobs that wait for memory of which jobs have too much that do not end here, those of other pools."""
        mine, jobs = self.queue.view.jobs, self.fabric.jobs
        waiting = {number: each for number, each in self.arena.waiting.items() if mine.get(number) is not None}
        here = sum(each.bytes for number, each in self.arena.held.items() if jobs.get(number) is not None)
        most = self.arena.free + here if len(jobs) else -1
        return frozenset(number for number, each in waiting.items() if each.bytes > most)

    def _result(self) -> QueueForecast:
        fabric, start_s = self.fabric, self.queue.view.now_s
        unknown = self._unknown()
        for number in self.arena.waiting.keys() - unknown:
            job = self.queue.view.jobs.get(number)
            fabric.jobs = fabric.jobs if job is None else fabric.jobs.put(job)
        beyond = ForecastExtrapolation(fabric, self.queue.policy.pipelined)
        found: dict[int, JobForecast] = {}
        waiting: list[tuple[float, int]] = []
        for job in self.queue.view.jobs:
            if job.id in unknown:
                waiting.append((math.inf, job.id))
                continue
            begun = job.id in self.begun
            at_s = start_s if begun else fabric.started_s.get(job.id)
            simulated = at_s is not None
            at_s = beyond.start_s(job) if at_s is None else at_s
            end_s = fabric.ended_s.get(job.id)
            found[job.id] = JobForecast(at_s, beyond.end_s(job, at_s) if end_s is None else end_s, simulated)
            if not begun:
                waiting.append((at_s, job.id))
        order = tuple(number for _, number in sorted(waiting))
        own = tenant_places(order, self.queue.view.jobs)
        return QueueForecast(start_s, found, order, own, self.asked, tuple(fabric.given), unknown)
