"""One decision of `eddy` in the making: slots are offered to tasks in order of rank."""

from __future__ import annotations

from collections.abc import Iterator

from eddy.policy.dispatch.choice import fits, free_slots, resident
from eddy.policy.dispatch.forecast import Forecast
from eddy.policy.dispatch.job_view import JobView, TaskView
from eddy.policy.dispatch.joining import Joining
from eddy.policy.dispatch.memory import PolicyMemory
from eddy.policy.dispatch.outlook import Outlook, items_ready, modules_of, modules_to_come
from eddy.policy.dispatch.rank import Constants, Ranks
from eddy.policy.dispatch.standing import Contest, Standing, Turn
from eddy.policy.dispatch.taking import Takings
from eddy.policy.dispatch.view import Configure, Decision, DispatchView, Preempt, Prefetch, SlotView

READS = 1
"""Images that are read at a time because they are needed, at most: who comes next shall not wait for more."""


class Round:
    """One decision in the making.

    Args:
        constants: What is weighed with what.
        view: The world.
        memory: From the last call.
    """

    def __init__(self, constants: Constants, view: DispatchView, memory: PolicyMemory) -> None:
        self.constants, self.view = constants, view
        self.decisions: list[Decision] = []
        self.free = free_slots(view)
        self.port_busy = view.port_busy
        self.fetched = memory.fetched
        self.kept = False
        """Whether a slot is kept for a task that waits for the port."""
        self.reading = sum(len(slot.coming) for slot in view.slots)
        """Images that are being read because they are needed."""
        self.reuses = memory.reuses or any(slot.module and slot.job is None for slot in view.slots)
        self.forecast = Forecast(view, memory, constants.pipelined)
        self.unshared = memory.unshared.with_arrivals(view.jobs, self.forecast.unshared_s)
        self.outlooks = {job.id: self.forecast.look(job) for job in view.jobs.begun.values()}
        """What lies before jobs: those that were begun, and others as they are given a slot."""
        self.kinds = [(kind, self.forecast.look_at(kind)) for kind in view.jobs.kinds.values()]
        """Jobs nothing was done for, and what lies before them."""
        work_s = sum([outlook.work_s for outlook in self.outlooks.values()])
        work_s += sum([kind.items * known.item_s + kind.jobs * known.loads_s for kind, known in self.kinds])
        self.ranks = Ranks(constants, view.now_s, self.unshared, work_s / max(len(view.slots), 1))
        self.rank = self.ranks.rank
        self.takings = Takings(constants, view, self.outlooks, self.rank, memory.leaving)
        most_s = constants.joining * self.forecast.load_s
        self.joining = Joining(view, self.outlooks, self.takings.leaving, self.forecast.load_s, most_s)

    def memory(self) -> PolicyMemory:
        """What to remember."""
        forecast = self.forecast
        return PolicyMemory(
            forecast.learned,
            forecast.predicted,
            forecast.load_s,
            self.takings.leaving,
            self.fetched,
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
                if self.takings.settled and not self.free:
                    return
                contest.passed_over(turn)
                continue
            self.outlooks[job.id] = outlook
            held = self.takings.held[job.id] = self.takings.held.get(job.id, outlook.held) + 1
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
                yield Turn(self.rank(job, outlook, outlook.held) * self.constants.idle, job, 0, outlook)

    def _standings(self) -> Iterator[Standing]:
        """Of the jobs nothing was done for: each has a task that is ready."""
        for kind, known in self.kinds:
            yield Standing(kind, known, self.rank, self.ranks.outlasts)

    def _serve(self, job: JobView, outlook: Outlook, task: TaskView, rank: float) -> bool:
        """Give a task a slot, or keep one for it; answers whether it will have one.

        If it has nothing for a job, it has nothing for one that is alike and comes later, before another is served.
        """
        if outlook.latency_s[task.id] > self.constants.patience_s and self._endless() >= len(self.view.slots) - 1 > 0:
            return False
        fitting = [slot for slot in self.free if fits(slot, task)]
        ready = resident(fitting, job, task)
        if ready is not None:
            self._give(job, task, ready)
        elif fitting:
            if self.reuses and self.joining.join(job, task):
                return True
            near = [slot for slot in fitting if task.module in slot.near]
            if self.view.reads_beside and not near:
                return self._await_image(task, fitting)
            near = near or fitting
            slot = near[0] if len(near) == 1 else self._least_wanted(near)
            if not self.port_busy:
                self.port_busy = True
                self._give(job, task, slot)
            else:
                self._keep(task, slot)
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
        self.free.remove(slot)

    def _keep(self, task: TaskView, slot: SlotView) -> None:
        """Keep a slot for a task that waits for the port; the first such task's image is read ahead."""
        self.free.remove(slot)
        wanted = task.module, slot.index
        if not self.kept and self.fetched != wanted:
            self.fetched = wanted
            self.decisions.append(Prefetch(*wanted))
        self.kept = True

    def _await_image(self, task: TaskView, slots: list[SlotView]) -> bool:
        """Keep a slot for a task whose image is read for it, or begin that read; the port serves others meanwhile.

        Answers whether it will have one: a few reads are under way at a time, see `READS`.
        """
        coming = [slot for slot in slots if task.module in slot.coming]
        if coming:
            self.free.remove(coming[0])
            return True
        if self.reading >= READS:
            return False
        self.reading += 1
        slot = slots[0] if len(slots) == 1 else self._least_wanted(slots)
        self.free.remove(slot)
        self.decisions.append(Prefetch(task.module, slot.index))
        return True

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
        return min([self.rank(job, self.forecast.look(job), 1) for job in jobs], default=None)

    def _take(self, job: JobView, outlook: Outlook, task: TaskView, rank: float, *, at_once: bool = False) -> bool:
        """Ask for a slot to be taken for a task, if one counts enough more for it."""
        slot = self.takings.take(job, outlook, task, rank, at_once=at_once)
        if slot is not None:
            self.decisions.append(Preempt(slot))
        return slot is not None
