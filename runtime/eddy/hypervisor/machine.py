"""The hypervisor's state machine: events in, commands out, and nothing else.

It knows no board, no store and no clock: `step` is told the time and what happened, books it, launches every item that
may start, asks the policy, and answers what is to be done. So the same machine runs jobs on a real board, on RTL, and a
day of board time in seconds; and because it is plain and deterministic, the same inputs give the same trace.

What it promises, whatever the policy decides:

- one load at a time, over all pools; no two tasks in a slot; every job in slots of its own pool;
- an item of a task starts after every predecessor's same item (in bulk mode, after all their items), items in order;
- a slot is taken from a job only between items, and what is finished stays finished;
- a module that served one tenant is loaded again before it serves another, or scrubbed, where that is known to do;
- a job that ends, however it ends, gives back its slots first and its memory last;
- jobs that the memory has no room for get it in order of arrival, so that none starves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from eddy.board.port import Cause
from eddy.core.jobs import JobState
from eddy.core.records import What
from eddy.core.slots import Pool
from eddy.hypervisor.books import Books
from eddy.hypervisor.job import Fits, Job, Memory
from eddy.hypervisor.messages import (
    Allocate,
    Allocated,
    Arrive,
    Cancel,
    Collect,
    Collected,
    Configured,
    Fetch,
    Free,
    Input,
    ItemEnded,
    JobFault,
    JobSpec,
    Launch,
    Load,
    LoadFailed,
    NoMemory,
    Outcome,
    Resume,
    Scrub,
    Stop,
    Wake,
)
from eddy.hypervisor.pools import PoolSlots, PoolState
from eddy.hypervisor.slot import Phase, Slot
from eddy.policy.dispatch.view import (
    Configure,
    DispatchPolicy,
    DispatchView,
    Observation,
    Preempt,
    Prefetch,
)

MAX_LOAD_ATTEMPTS = 3
"""Failed loads of one task after which its job fails."""


class Machine(Books):
    """The state of every slot and of every job that has not ended.

    Args:
        slots: Index to expected load time in seconds, of the `pipeline` pool.
        policy: Who gets which slot of it.
        fits: Module to slot to image.
        scrubbed: Modules that may serve another tenant without a load, once the board has scrubbed them.
        gpu: The `gpu` pool, which kernel jobs run in; None where the board has none.
    """

    def __init__(
        self,
        slots: Mapping[int, float],
        policy: DispatchPolicy,
        fits: Fits,
        scrubbed: Collection[str] = (),
        gpu: PoolSlots | None = None,
    ) -> None:
        every = {**slots, **(gpu.slots if gpu is not None else {})}
        super().__init__(Slot(index, load_s) for index, load_s in sorted(every.items()))
        self._pools = {Pool.PIPELINE: PoolState(Pool.PIPELINE, policy, slots, fits)}
        if gpu is not None:
            self._pools[Pool.GPU] = PoolState(Pool.GPU, gpu.policy, gpu.slots, fits)
        self._scrubbed = set(scrubbed)
        self._loaded_last: Pool | None = None
        self._promised: Pool | None = None
        """The pool whose job just asked for memory, to be loaded as soon as it has it: the port is not for others."""
        self._dropped: tuple[object, ...] = ()

    @property
    def policy(self) -> DispatchPolicy:
        """Who gets which slot of the `pipeline` pool."""
        return self._pools[Pool.PIPELINE].policy

    @property
    def wake_s(self) -> float | None:
        """Board time at which a policy wants to be asked again, or None."""
        return min((pool.wake_s for pool in self._pools.values() if pool.wake_s is not None), default=None)

    def step(self, now_s: float, inputs: Iterable[Input]) -> Outcome:
        """Take in what happened, in order, and answer what is to be done.

        Args:
            now_s: Board time, not before the last step's.
            inputs: What happened since the last step.
        """
        out = self._out = Outcome()
        self._now_s = now_s
        self._gone.clear()
        happened = False
        ended: set[int] = set()
        for message in inputs:
            self._take(message)
            # That outputs are stored is nothing to a policy: the job had no task left.
            happened = happened or not isinstance(message, Collected)
            if isinstance(message, ItemEnded):
                ended.add(message.slot)
        # Whatever was just loaded does an item at least; a slot between two items is the policy's to take first.
        self._launch_ready(ended)
        if happened:
            self._decide()
            self._launch_ready()
        for number in sorted(out.jobs):
            job = self.jobs.get(number)
            if job is not None:
                self._settle(job, now_s)
        out.commands.sort(key=_rank)
        return out

    def _take(self, message: Input) -> None:
        if isinstance(message, ItemEnded):
            self._item_ended(message)
        elif isinstance(message, Configured):
            self._configured(message)
        elif isinstance(message, Arrive):
            self._arrive(message.job)
        elif isinstance(message, LoadFailed):
            self._load_failed(message)
        elif isinstance(message, Allocated):
            self._allocated(message.job)
        elif isinstance(message, NoMemory):
            self._no_memory(message)
        elif isinstance(message, JobFault):
            self._job_fault(message)
        elif isinstance(message, Collected):
            self._collected(message)
        elif isinstance(message, Cancel):
            job = self.jobs.get(message.job)
            if job is not None and job.ending is None:
                self._end(job, JobState.CANCELLED, self._now_s)
        elif isinstance(message, Resume):
            self._resume()
        elif isinstance(message, Wake):
            for pool in self._pools.values():
                pool.wake_s = None

    def _resume(self) -> None:
        """What was ending goes on ending; outputs that were finished and not stored are collected."""
        for job in list(self.jobs.values()):
            if job.ending is not None:
                self._end(job, job.ending, self._now_s, job.cause, job.detail)
                continue
            for item in range(job.committed, job.finished):
                self._finished(job, item, self._now_s)

    @property
    def busy(self) -> bool:
        """Whether the board works for it: a load or an item is under way, so an event will come."""
        return any(slot.phase in (Phase.LOADING, Phase.RUNNING) for slot in self.slots.values())

    def _arrive(self, spec: JobSpec) -> None:
        self._add(Job(spec, self.graph(spec)))

    # What the board reports ---------------------------------------------------------------------------------------

    def _allocated(self, number: int) -> None:
        job = self.jobs.get(number)
        if job is None:
            self._out.commands.append(Free(number))
            return
        if number in self._memory:
            job.shown_s = max(job.spec.arrival_s, self._pools[job.spec.pool].asked_s)
            job.touch_all()
        job.placed = True
        self._memory.grant(job)
        self._show_anew(job)
        self._changed(job)
        self._ask_for_waiting()

    def _no_memory(self, message: NoMemory) -> None:
        job = self.jobs.get(message.job)
        if job is None:
            return
        if self._memory.refuse(job):
            self._show_anew(job)
            self._changed(job)
        else:
            self._end(job, JobState.FAILED, self._now_s, "memory", message.detail)

    def _job_fault(self, message: JobFault) -> None:
        job = self.jobs.get(message.job)
        if job is None or job.ending is not None:
            return
        self._memory.give_up(job)
        job.failed_item = message.item
        self._end(job, JobState.FAILED, self._now_s, message.cause, message.detail)

    def _configured(self, message: Configured) -> None:
        scrubbed, slot = self._was_scrubbed(message.slot), self._loaded(message.slot)
        if slot is None:
            return
        slot.faulted = False
        slot.failed_loads = 0
        if not scrubbed:
            slot.load_s = message.at_s - message.started_s
        job = self.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            slot.let_go(message.at_s)
            return
        job.loading -= 1
        job.held += 1
        slot.enter(Phase.HELD, message.at_s)
        self._log(job, slot, message.at_s, What.CONFIGURED, started_s=message.started_s, detail="scrub" * scrubbed)
        if job.ending is not None:
            self._release(slot, job, message.at_s, What.RELEASE)
            self._settle(job, message.at_s)
        elif slot.leaving:
            self._release(slot, job, message.at_s, What.PREEMPT)

    def _loaded(self, index: int) -> Slot | None:
        """The slot whose load or scrub ended, or None where none was under way."""
        slot = self.slots.get(index)
        if slot is None or not (slot is self._loading or slot.scrubbing):
            return None
        if slot.scrubbing:
            slot.scrubbing = False
        else:
            self._loading = None
        self._out.slots.add(index)
        return slot

    def _was_scrubbed(self, index: int) -> bool:
        slot = self.slots.get(index)
        return slot is not None and slot.scrubbing

    def _load_failed(self, message: LoadFailed) -> None:
        scrubbed, slot = self._was_scrubbed(message.slot), self._loaded(message.slot)
        if slot is None:
            return
        module = slot.module
        if scrubbed:
            # Whatever the reason: from now on a load, which is known to do.
            self._scrubbed.discard(module)
        slot.distrust()
        slot.faulted = not message.refused
        if slot.faulted:
            slot.rest(message.at_s)
        job = self.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            slot.let_go(message.at_s)
            return
        task = slot.task
        job.attempts[task] += 1
        self._log(
            job, slot, message.at_s, What.CONFIGURATION_FAILED, detail=f"{message.cause} {message.detail}".strip()
        )
        pool = self._pools[job.spec.pool]
        if message.refused:
            pool.refuse(module, slot.index, (each for each in self.jobs.values() if each.spec.pool is pool.pool))
        images = pool.fits.get(module, {})
        self._release(slot, job, message.at_s, What.RELEASE)
        hopeless = not images or job.attempts[task] >= MAX_LOAD_ATTEMPTS
        if job.ending is None and hopeless:
            job.failed_task = task
            where = f"task {self._name(job, task)}, slot {slot.index}: {message.detail}".rstrip(": ")
            self._end(job, JobState.FAILED, message.at_s, message.cause, where)
        elif job.ending is not None:
            self._settle(job, message.at_s)

    def _item_ended(self, message: ItemEnded) -> None:
        slot = self.slots.get(message.slot)
        if slot is None or slot.phase is not Phase.RUNNING or slot.job is None or slot.task is None:
            return
        job, task, item = self.jobs[slot.job], slot.task, slot.item
        good = message.cause is Cause.NONE
        job.running -= 1
        job.held += 1
        job.count(message.cores)
        what = What.ITEM_DONE if good else What.ITEM_FAILED
        detail = "" if good else f"{message.cause.value} {message.detail}".strip()
        self._log(job, slot, message.at_s, what, item=item, started_s=message.started_s, detail=detail)
        slot.item = None
        slot.enter(Phase.HELD, message.at_s)
        if slot.stopping or not good:
            slot.distrust()
            slot.faulted = not good and message.cause is not Cause.STOPPED
        if good:
            self._count(job, task, message)
        if job.ending is not None:
            self._release(slot, job, message.at_s, What.RELEASE)
            self._settle(job, message.at_s)
        elif not good:
            job.failed_task, job.failed_item = task, item
            where = f"task {self._name(job, task)}, item {item}, slot {slot.index}"
            self._end(
                job, JobState.FAILED, message.at_s, message.cause.value, f"{where}: {message.detail}".rstrip(": ")
            )
        elif job.done[task] == job.spec.batch:
            self._release(slot, job, message.at_s, What.RELEASE)
            if job.finished == job.spec.batch:
                self._show_anew(job)
                self._settle(job, message.at_s)
        elif slot.leaving:
            self._release(slot, job, message.at_s, What.PREEMPT)

    def _count(self, job: Job, task: int, message: ItemEnded) -> None:
        """Book an item of a task."""
        application = job.spec.application
        graph, took_s = application.tasks[task], message.at_s - message.started_s
        seen = Observation(graph.module, took_s, application.name, task, graph.estimate_s)
        self._pools[job.spec.pool].observations.append(seen)
        self._show_anew(job)
        for item in job.finish_item(task):
            self._finished(job, item, message.at_s)
        self._changed(job)

    def _finished(self, job: Job, item: int, at_s: float) -> None:
        """Every task is done with an item: it counts, or its outputs are to be stored first."""
        if job.spec.leaves_outputs(item):
            self._out.commands.append(Collect(job.spec.id, item))
        else:
            self._stored(job, item, at_s)

    def _stored(self, job: Job, item: int, at_s: float) -> None:
        """An item counts as done."""
        job.committed = item + 1
        self._note(job, at_s, What.RESULT, item=item)
        self._changed(job)

    def _collected(self, message: Collected) -> None:
        job = self.jobs.get(message.job)
        if job is not None and message.item == job.committed:
            self._stored(job, message.item, self._now_s)
            self._settle(job, self._now_s)

    def _launch_ready(self, waiting: Collection[int] = ()) -> None:
        """Start every item that may start, but in slots that are `waiting` for what is decided."""
        for slot in self.slots.values():
            if slot.phase is not Phase.HELD or slot.job is None or slot.task is None or slot.index in waiting:
                continue
            job = self.jobs[slot.job]
            item = job.next_item(slot.task, self._pools[job.spec.pool].policy.pipelined)
            if item is None:
                continue
            slot.item = item
            job.held -= 1
            job.running += 1
            slot.enter(Phase.RUNNING, self._now_s)
            self._log(job, slot, self._now_s, What.LAUNCH, item=item)
            self._out.commands.append(Launch(slot.index, job.spec.id, slot.task, item))

    # What the policy decides --------------------------------------------------------------------------------------

    def _decide(self) -> None:
        """Ask the policies; again as long as what they decided changes the world at once.

        The pool that was loaded last is asked last, so that neither keeps the configuration port from the other.
        """
        self._promised = None
        for _ in range(2 * len(self.slots) + len(self.jobs) + 2):
            again = False
            for pool in sorted(self._pools.values(), key=lambda pool: pool.pool is self._loaded_last):
                again = self._ask_policy(pool) or again
            if not again:
                return
            self._launch_ready()

    def _ask_policy(self, pool: PoolState) -> bool:
        """Let a pool's policy decide, and carry it out; answers whether that changed the world at once."""
        dispatch = pool.decide(self.view(pool.pool))
        pool.wake_s = self._wake(pool, dispatch.wake_s)
        again = False
        for decision in dispatch.decisions:
            again = self._carry_out(decision, pool) or again
        return again

    def _wake(self, pool: PoolState, asked_s: float | None) -> float | None:
        """When to ask a policy again if nothing happens: as it asked, or when a slot has rested."""
        slots = (self.slots[index] for index in pool.slots)
        rested = [slot.rests_until_s for slot in slots if slot.rests_until_s > self._now_s]
        return min([*rested, *(() if asked_s is None else (asked_s,))], default=None)

    def view(self, which: Pool = Pool.PIPELINE) -> DispatchView:
        """What a pool's policy sees now: its slots, and the jobs that run in them. Jobs that wait for memory, and slots
        that rest after failed loads, are not shown: nothing could be decided about them."""
        pool = self._pools[which]
        return DispatchView(
            now_s=self._now_s,
            jobs=pool.jobs(self.jobs),
            slots=tuple(
                slot.view()
                for slot in self.slots.values()
                if slot.index in pool.slots and slot.rests_until_s <= self._now_s
            ),
            port_busy=self._loading is not None or self._promised not in (None, which),
            observations=tuple(pool.observations),
            memory=pool.memory,
            changed=pool.changed,
        )

    def _show_anew(self, job: Job) -> None:
        self._pools[job.spec.pool].stale(job.spec.id)

    def _carry_out(self, decision: Configure | Preempt | Prefetch, pool: PoolState) -> bool:
        """Carry out one decision; answers whether a slot was given or freed, or a job hidden, at once."""
        if isinstance(decision, Configure):
            return self._configure(decision, pool)
        if isinstance(decision, Preempt):
            return self._preempt(decision, pool)
        image = pool.fits.get(decision.module, {}).get(decision.slot)
        if image is not None:
            self._out.commands.append(Fetch(image))
        return False

    def _configure(self, decision: Configure, pool: PoolState) -> bool:
        job = self.jobs.get(decision.job)
        if job is not None and job.spec.pool is not pool.pool:
            return False
        slot = self.slots.get(decision.slot)
        reason = self._objection(job, slot, decision.task)
        if reason or job is None or slot is None:
            self._drop(job, decision, reason)
            return False
        if job.memory is not Memory.HELD:
            if job.memory is Memory.NONE:
                self._ask(job)
            if job.memory is Memory.ASKED and self._loading is None and self._promised is None:
                self._promised = pool.pool
            # A job sent to the end of the queue for memory is not shown any more: the slot is for another.
            return job.memory is Memory.BLOCKED
        module = job.spec.application.tasks[decision.task].module
        mine = slot.tenant == job.spec.tenant
        resident = slot.module == module and (mine or module in self._scrubbed)
        if not resident and self._loading is not None:
            self._drop(job, decision, "the configuration port is busy")
            return False
        self._give(slot, job, decision.task, module)
        if resident and not mine:
            self._scrub(slot, job)
            return False
        if resident:
            job.held += 1
            job.reuses += 1
            slot.enter(Phase.HELD, self._now_s)
            self._log(job, slot, self._now_s, What.CONFIGURE, detail="resident")
            self._log(job, slot, self._now_s, What.CONFIGURED, started_s=self._now_s, detail="resident")
            return True
        job.loading += 1
        job.reconfigurations += 1
        self._loading, self._loaded_last = slot, pool.pool
        slot.enter(Phase.LOADING, self._now_s)
        self._log(job, slot, self._now_s, What.CONFIGURE)
        self._out.commands.append(Load(slot.index, pool.fits[module][slot.index]))
        return False

    def _scrub(self, slot: Slot, job: Job) -> None:
        """Have the module that served another tenant scrubbed for a job; the configuration port has no part in it."""
        job.loading += 1
        job.reuses += 1
        slot.scrubbing = True
        slot.enter(Phase.LOADING, self._now_s)
        self._log(job, slot, self._now_s, What.CONFIGURE, detail="scrub")
        self._out.commands.append(Scrub(slot.index))

    def _objection(self, job: Job | None, slot: Slot | None, task: int) -> str:
        """Why a task cannot be given a slot; "" where it can."""
        if job is None or job.ending is not None or not 0 <= task < len(job.done):
            return "no such job or task"
        if slot is None or slot.phase is not Phase.FREE:
            return "the slot is not free"
        if slot.rests_until_s > self._now_s:
            return "the slot rests: its loads failed"
        if job.slot_of[task] is not None:
            return "the task has a slot"
        if job.done[task] == job.spec.batch:
            return "the task has no items left"
        if slot.index not in self._pools[job.spec.pool].fits.get(job.spec.application.tasks[task].module, {}):
            return "no image of the module for this slot"
        return ""

    def _give(self, slot: Slot, job: Job, task: int, module: str) -> None:
        """Let a job have a slot."""
        slot.job, slot.task, slot.module, slot.tenant = job.spec.id, task, module, job.spec.tenant
        slot.scrubs = module in self._scrubbed
        job.slot_of[task] = slot.index
        job.preempted = False
        job.touch(task)
        self._show_anew(job)
        if job.started_s is None:
            job.started_s = self._now_s
        self._dropped = ()

    def _preempt(self, decision: Preempt, pool: PoolState) -> bool:
        slot = self.slots.get(decision.slot) if decision.slot in pool.slots else None
        job = self.jobs.get(slot.job) if slot is not None and slot.job is not None else None
        if slot is None or job is None or job.ending is not None:
            self._drop(job, decision, "nothing to preempt in that slot")
            return False
        if slot.phase is Phase.HELD:
            self._release(slot, job, self._now_s, What.PREEMPT)
            return True
        slot.leaving = True
        self._out.slots.add(slot.index)
        return False

    def _drop(self, job: Job | None, decision: object, reason: str) -> None:
        """Record a decision that no longer fits, once, however often it is repeated."""
        key = (decision, reason)
        if job is not None and key != self._dropped:
            self._note(job, self._now_s, What.DROPPED, detail=f"{decision}: {reason}")
        self._dropped = key


_ORDER = (Collect, Stop, Launch, Scrub, Free, Allocate, Fetch, Load)


def _rank(command: object) -> tuple[int, int]:
    """Items start before a load that may block, in order of slots; memory is freed before it is asked for."""
    return _ORDER.index(type(command)), command.slot if isinstance(command, Launch) else 0
