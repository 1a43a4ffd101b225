# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One decision of `eddy` in the making: slots are offered to tasks in order of rank."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.choosing.eviction import Eviction
from eddy.policy.dispatch.choosing.forecast import Forecast
from eddy.policy.dispatch.choosing.free_slots import FreeSlots
from eddy.policy.dispatch.choosing.join_candidates import JoinCandidates
from eddy.policy.dispatch.choosing.kept_slots import KeptSlots
from eddy.policy.dispatch.choosing.memory import PolicyMemory
from eddy.policy.dispatch.choosing.preemption import PreemptionPlan
from eddy.policy.dispatch.choosing.rank import Constants, Ranks
from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.outlook import Outlook, items_ready
from eddy.policy.dispatch.views.requests import KindQueue, LaterRequests, RequestQueue, SlotRequest
from eddy.policy.dispatch.views.view import Configure, Decision, DispatchView, Preempt, SlotView


class SlotAllocation:
    """Computes one decision of `eddy`: which tasks get which slots.

    Args:
        constants: What is weighed with what.
        view: Jobs, slots and time.
        memory: From the last call.
    """

    def __init__(self, constants: Constants, view: DispatchView, memory: PolicyMemory) -> None:
        self.constants, self.view = constants, view
        self.decisions: list[Decision] = []
        self.free = FreeSlots(view)
        self.port_busy = view.port_busy
        self.reuses = memory.reuses or any(slot.module and slot.job is None for slot in view.slots)
        self.forecast = Forecast(view, memory, constants.pipelined)
        self.unshared = memory.unshared.with_arrivals(view.jobs, self.forecast.unshared_s)
        self.outlooks = {job.id: self.forecast.look(job) for job in view.jobs.holding.values()}
        """What lies before jobs: those that have a slot, and others as they are given one."""
        paused = [(kind, self.forecast.look_at(kind)) for kind in view.jobs.paused.values()]
        untouched = [(kind, self.forecast.look_at(kind)) for kind in view.jobs.kinds.values()]
        self.kinds = [*paused, *untouched]
        """Jobs without a slot, and what lies before them."""
        work_s = sum([outlook.work_s for outlook in self.outlooks.values()])
        work_s += sum([kind.jobs * known.outlook_of(kind.head()).work_s for kind, known in paused])
        work_s += sum([kind.items * known.item_s + kind.jobs * known.loads_s for kind, known in untouched])
        self.ranks = Ranks(constants, view.now_s, self.unshared, work_s / max(len(view.slots), 1))
        self.rank = self.ranks.rank
        self.eviction = Eviction(view, self.forecast, self.rank)
        self.kept = KeptSlots(view, self.free, self.decisions, self.eviction, memory.fetched)
        self.takings = PreemptionPlan(constants, view, self.outlooks, self.rank, memory.leaving)
        most_s = constants.joining * self.forecast.load_s
        self.joining = JoinCandidates(view, self.outlooks, self.takings.leaving, self.forecast.load_s, most_s)

    def memory(self) -> PolicyMemory:
        """What to remember."""
        forecast = self.forecast
        return PolicyMemory(
            forecast.learned,
            forecast.predicted,
            forecast.load_s,
            self.takings.leaving,
            self.kept.fetched,
            self.unshared,
            self.reuses,
        )

    def _offers(self, outlook: Outlook, number: int) -> tuple[TaskView, float] | None:
        """A job's task to be given a slot next, after `number` others, and by how much that slot counts less."""
        ready = outlook.ready
        if number < len(ready):
            return ready[number], 1.0
        number -= len(ready)
        return (outlook.early[number], self.constants.idle) if number < len(outlook.early) else None

    # Slots ----------------------------------------------------------------------------------------------------------

    def allocate(self) -> None:
        """Offer slots to tasks in order of rank until no slot is left to give; then lend those that are kept."""
        if not self.free.slots and self.port_busy:
            return
        self._serve_requests()
        self.kept.lend(self.outlooks, self.forecast, self.rank)

    def _serve_requests(self) -> None:
        queue = RequestQueue(self._requests(), self._kind_queues())
        while self.free.slots or not self.port_busy:
            request = queue.next()
            if request is None:
                return
            job, outlook = request.job, request.outlook
            offer = self._offers(outlook, request.given)
            assert offer is not None
            joined = self.joining.count
            if not self._serve(job, outlook, offer[0], request.rank):
                if self.takings.settled and not self.free.slots:
                    return
                queue.mark_passed_over(request)
                continue
            self.outlooks[job.id] = outlook
            held = self.takings.record_grant(job, outlook)
            following = self._offers(outlook, request.given + 1)
            rank = None if following is None else self.rank(job, outlook, held) * following[1]
            if self.joining.count > joined:
                self._join_alike(queue, request, offer[0], rank, following)
            queue.mark_served(request, rank)

    def _join_alike(
        self,
        queue: RequestQueue,
        request: SlotRequest,
        task: TaskView,
        rank: float | None,
        following: tuple[TaskView, float] | None,
    ) -> None:
        """Have those that come next join as a request did that is like theirs. Hundreds may, at every decision: what is
        decided is what it would be, had each been asked in turn."""
        outlook = request.outlook

        def must_load(job: JobView) -> bool:
            fitting, ready = self.free.find_fitting(job, task)
            return bool(fitting) and ready is None

        others = takewhile(must_load, queue.run(request, rank))
        joined = [*self.joining.join_too(others, task, outlook.latency_s[task.id])]
        if not joined:
            return
        self.outlooks.update(dict.fromkeys([job.id for job in joined], outlook))
        self.takings.record_first_grant(joined, outlook)
        later = None
        if following is not None:
            held, factor = outlook.held + 1, following[1]
            later = LaterRequests(joined, lambda job: self.rank(job, outlook, held) * factor, 1, outlook)
        last = joined[-1]
        queue.mark_run_served((self.rank(last, outlook, outlook.held), last.id), later)

    def _requests(self) -> Iterator[SlotRequest]:
        """Of the jobs that are unlike others."""
        for job in self.view.jobs.holding.values():
            outlook = self.outlooks[job.id]
            if outlook.ready:
                yield SlotRequest(self.rank(job, outlook, outlook.held), job, 0, outlook)
            elif outlook.early:
                yield SlotRequest(self.rank(job, outlook, outlook.held) * self.constants.idle, job, 0, outlook)

    def _kind_queues(self) -> Iterator[KindQueue]:
        """Of the jobs without a slot: each has a task that is ready."""
        for kind, known in self.kinds:
            yield KindQueue(kind, known, self.rank, self.ranks.ends_last)

    def _serve(self, job: JobView, outlook: Outlook, task: TaskView, rank: float) -> bool:
        """Give a task a slot, or keep one for it; answers whether it will have one.

        If it has nothing for a job, it has nothing for one that is alike, asks for the same task and comes later, until
        another is served.
        """
        if outlook.latency_s[task.id] > self.constants.patience_s and self._endless() >= len(self.view.slots) - 1 > 0:
            return False
        fitting, ready = self.free.find_fitting(job, task)
        if ready is not None:
            self._give(job, task, ready)
            self.joining.mark_given(ready, job, task, outlook.latency_s[task.id])
        elif fitting:
            if self.reuses and self.joining.join(job, task, outlook.latency_s[task.id]):
                return True
            near = [slot for slot in fitting if task.module in slot.near]
            if self.view.reads_beside and not near:
                return self.kept.await_image(task, fitting)
            near = near or fitting
            slot = near[0] if len(near) == 1 else self.eviction.least_wanted(near)
            if not self.port_busy:
                self.port_busy = True
                self._give(job, task, slot)
            else:
                self.kept.await_port(task, slot)
        elif self.takings.coming:
            # One is on its way, but another may be had at once.
            if not self._take(job, outlook, task, rank, at_once=True):
                self.takings.coming -= 1
        else:
            return self._take(job, outlook, task, rank)
        return True

    def _endless(self) -> int:
        """How many slots are, or will by this decision be, at work on items nobody has the patience for.

        Where such a task waits for its predecessors the slot does not count: they may be as long, and must get one.
        """
        count, patience_s = 0, self.constants.patience_s
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
        self.free.remove_slot(slot)

    def _take(self, job: JobView, outlook: Outlook, task: TaskView, rank: float, *, at_once: bool = False) -> bool:
        """Ask for a slot to be taken for a task, if one counts enough more for it."""
        slot = self.takings.choose_victim(job, outlook, task, rank, at_once=at_once)
        if slot is not None:
            self.decisions.append(Preempt(slot, PreemptReason.RANK))
        return slot is not None
