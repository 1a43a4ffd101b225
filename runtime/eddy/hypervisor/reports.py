"""The input side of the state machine: applies arrivals, cancellations and the board's reports to its state."""

from __future__ import annotations

from eddy.board.port import Cause
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.core.slots import Pool
from eddy.hypervisor.draining import Draining
from eddy.hypervisor.job import Job
from eddy.hypervisor.machine_state import MachineState
from eddy.hypervisor.messages import (
    Allocated,
    Arrive,
    Cancel,
    Collect,
    Collected,
    Configured,
    Drain,
    Free,
    Input,
    ItemEnded,
    JobFault,
    LoadFailed,
    NoMemory,
    Resume,
    SliceEnded,
    Switch,
    SwitchPrice,
    Undrain,
    Wake,
)
from eddy.hypervisor.slot import MachineSlot, Phase
from eddy.policy.dispatch.view import Observation

MAX_LOAD_ATTEMPTS = 3
"""Failed loads of one task after which its job fails."""


class Reports:
    """Processes what happened, one input after the other.

    Args:
        state: Where.
    """

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self.draining = Draining(state)
        self._read_last: tuple[str, Pool, float] | None = None
        """For which application images were read ahead last, and when."""

    def take(self, message: Input) -> None:
        """Book one input."""
        if isinstance(message, ItemEnded):
            self._item_ended(message)
        elif isinstance(message, SliceEnded):
            self._slice_ended(message)
        elif isinstance(message, Configured):
            self._configured(message)
        elif isinstance(message, Arrive):
            self._arrive(message)
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
            self._cancel(message)
        elif isinstance(message, Resume):
            self._resume()
        elif isinstance(message, (Drain, Undrain, Switch, SwitchPrice)):
            self._asked(message)
        elif isinstance(message, Wake):
            for pool in self.state.pools.values():
                pool.wake_s = None

    def _cancel(self, message: Cancel) -> None:
        job = self.state.jobs.get(message.job)
        if job is None:
            return
        job.cancel_asked_unix_s = job.cancel_asked_unix_s or message.asked_unix_s
        self.state.changed(job)
        if job.ending is None:
            self.state.end(job, JobState.CANCELLED, self.state.now_s)
        elif job.again:  # it would not have ended
            job.again, job.ending, job.cause, job.detail = False, JobState.CANCELLED, "", ""

    def _asked(self, message: Drain | Undrain | Switch | SwitchPrice) -> None:
        """What the operator asked for."""
        if isinstance(message, Switch):
            self.state.pools[message.pool].switch(message.policy)
        elif isinstance(message, SwitchPrice):
            if self.state.clusters is not None:
                self.state.clusters.switch(message.policy)
        elif isinstance(message, Drain):
            self.draining.drain(self.state.slots[message.slot], message.because)
        else:
            self.draining.undrain(self.state.slots[message.slot])

    def _resume(self) -> None:
        """What was ending goes on ending; outputs that were finished and not stored are collected."""
        for job in list(self.state.jobs.values()):
            if job.ending is not None:
                self.state.end(job, job.ending, self.state.now_s, job.cause, job.detail)
                continue
            for item in range(job.items.committed, job.items.finished):
                self._finished(job, item, self.state.now_s)

    def _arrive(self, message: Arrive) -> None:
        job = Job(message.job, self.state.graph(message.job))
        if message.ready_s is not None:
            job.times.ready(message.ready_s)
        self.state.add(job)
        wanted = job.spec.application.label, job.spec.pool, self.state.now_s
        if wanted != self._read_last:  # of many that come at once and are alike, the first one has them read
            self._read_last = wanted
            self.state.read_ahead(self.state.images.of_application(job.spec.application, *wanted[1:]))

    def _allocated(self, number: int) -> None:
        job = self.state.jobs.get(number)
        if job is None:
            self.state.out.commands.append(Free(number))
            return
        if number in self.state.memory:
            job.views.show(max(job.arrival_s, self.state.pools[job.spec.pool].asked_s))
        job.placed = True
        self.state.memory.grant(job)
        self.state.show_again(job)
        self.state.changed(job)
        self.state.ask_for_waiting()

    def _no_memory(self, message: NoMemory) -> None:
        job = self.state.jobs.get(message.job)
        if job is None:
            return
        if self.state.memory.refuse(job):
            self.state.show_again(job)
            self.state.changed(job)
        else:
            self.state.end(job, JobState.FAILED, self.state.now_s, "memory", message.detail)

    def _job_fault(self, message: JobFault) -> None:
        job = self.state.jobs.get(message.job)
        if job is None or (job.ending is not None and not job.again):
            return
        self.state.memory.give_up(job)
        job.failed_item = message.item
        self.state.end(job, JobState.FAILED, self.state.now_s, message.cause, message.detail)

    def _configured(self, message: Configured) -> None:
        scrubbed, slot = self._was_scrubbed(message.slot), self._loaded(message.slot)
        if slot is None:
            return
        slot.faulted = False
        slot.failed_loads = 0
        if not scrubbed:
            slot.loaded(message.at_s - message.started_s)
        job = self.state.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            slot.let_go(message.at_s)
            if self.state.clusters is not None:
                self.state.clusters.loaded(slot)
            return
        job.loading -= 1
        job.held += 1
        slot.enter(Phase.HELD, message.at_s)
        self.state.log(
            job, slot, message.at_s, JobEventKind.CONFIGURED, started_s=message.started_s, detail="scrub" * scrubbed
        )
        if job.ending is not None:
            self.state.release(slot, job, message.at_s, JobEventKind.RELEASE)
            self.state.settle(job, message.at_s)
        elif slot.leaving:
            self.state.release(slot, job, message.at_s, JobEventKind.PREEMPT)

    def _loaded(self, index: int) -> MachineSlot | None:
        """The slot whose load or scrub ended, or None where none was under way."""
        slot = self.state.slots.get(index)
        if slot is None or not (slot is self.state.port.loading or slot.scrubbing):
            return None
        if slot.scrubbing:
            slot.scrubbing = False
        else:
            self.state.port.end(slot)
        self.state.out.slots.add(index)
        return slot

    def _was_scrubbed(self, index: int) -> bool:
        slot = self.state.slots.get(index)
        return slot is not None and slot.scrubbing

    def _load_failed(self, message: LoadFailed) -> None:
        scrubbed, slot = self._was_scrubbed(message.slot), self._loaded(message.slot)
        if slot is None:
            return
        module = slot.module
        if scrubbed:
            # Whatever the reason: from now on a load, which is known to do.
            self.state.scrubbed.discard(module)
        slot.forget_module()
        slot.faulted = not message.refused
        if slot.faulted:
            slot.rest(message.at_s)
        job = self.state.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            slot.let_go(message.at_s)
            if self.state.clusters is not None:
                self.state.clusters.load_failed(slot, module, message.refused)
            self.draining.load_ended(slot, "" if message.refused else message.cause)
            return
        task = slot.task
        job.items.attempts[task] += 1
        self.state.log(
            job,
            slot,
            message.at_s,
            JobEventKind.CONFIGURATION_FAILED,
            detail=f"{message.cause} {message.detail}".strip(),
        )
        pool = self.state.pools[job.spec.pool]
        if message.refused:
            pool.refuse(module, slot.index, (each for each in self.state.jobs.values() if each.spec.pool is pool.pool))
        images = pool.fits.get(module, {})
        self.state.release(slot, job, message.at_s, JobEventKind.RELEASE)
        self.draining.load_ended(slot, "" if message.refused else message.cause)
        hopeless = not images or job.items.attempts[task] >= MAX_LOAD_ATTEMPTS
        if job.ending is None and hopeless:
            job.failed_task = task
            where = f"task {self.state.task_name(job, task)}, slot {slot.index}: {message.detail}".rstrip(": ")
            self.state.end(job, JobState.FAILED, message.at_s, message.cause, where)
        elif job.ending is not None:
            self.state.settle(job, message.at_s)

    def _item_ended(self, message: ItemEnded) -> None:
        slot = self.state.slots.get(message.slot)
        if slot is None or slot.phase is not Phase.RUNNING or slot.job is None or slot.task is None:
            return
        job, task, item = self.state.jobs[slot.job], slot.task, slot.item
        good = message.cause is Cause.NONE
        job.running -= 1
        job.held += 1
        job.count(message.cores)
        what = JobEventKind.ITEM_DONE if good else JobEventKind.ITEM_FAILED
        detail = "" if good else f"{message.cause.value} {message.detail}".strip()
        self.state.log(job, slot, message.at_s, what, item=item, started_s=message.started_s, detail=detail)
        slot.item = None
        slot.enter(Phase.HELD, message.at_s)
        module = slot.module
        if slot.stopping or not good:
            slot.forget_module()
            slot.faulted = not good and message.cause is not Cause.STOPPED
        if good:
            self._count(job, task, message)
        if job.ending is not None:
            self.state.release(slot, job, message.at_s, JobEventKind.RELEASE)
            self.state.settle(job, message.at_s)
        elif not good:
            job.failed_task, job.failed_item = task, item
            where = f"task {self.state.task_name(job, task)}, item {item}, slot {slot.index}"
            self.state.end(
                job, JobState.FAILED, message.at_s, message.cause.value, f"{where}: {message.detail}".rstrip(": ")
            )
        elif job.items.is_done(task):
            self.state.release(slot, job, message.at_s, JobEventKind.RELEASE)
            if job.items.all_finished:
                self.state.show_again(job)
                self.state.settle(job, message.at_s)
        elif slot.leaving:
            self.state.release(slot, job, message.at_s, JobEventKind.PREEMPT)
        self.draining.item_ended(slot, module, message.cause)

    def _slice_ended(self, message: SliceEnded) -> None:
        """A slice ended on its core; with the last one, the kernel."""
        ran_on = self.state.slots.get(message.slot)
        if ran_on is not None and not message.bounced:
            self.draining.item_ended(ran_on, ran_on.module, message.cause)
        job = self.state.clusters.ended(message) if self.state.clusters is not None else None
        if job is None:
            return
        slot, done = self.state.slots[message.slot], JobEventKind.ITEM_DONE
        self.state.log(job, slot, message.at_s, done, item=0, started_s=job.started_s)
        for item in job.finish_item(0):
            self._finished(job, item, message.at_s)
        self.state.show_again(job)
        self.state.settle(job, message.at_s)

    def _count(self, job: Job, task: int, message: ItemEnded) -> None:
        """Book an item of a task."""
        application = job.spec.application
        graph, took_s = application.tasks[task], message.at_s - message.started_s
        seen = Observation(graph.module, took_s, application.label, task, graph.estimate_s)
        self.state.pools[job.spec.pool].observations.append(seen)
        self.state.show_again(job)
        for item in job.finish_item(task):
            self._finished(job, item, message.at_s)
        self.state.changed(job)

    def _finished(self, job: Job, item: int, at_s: float) -> None:
        """Every task is done with an item: it counts, or its outputs are to be stored first."""
        if job.spec.leaves_outputs(item):
            self.state.out.commands.append(Collect(job.spec.id, item))
        else:
            self._stored(job, item, at_s)

    def _stored(self, job: Job, item: int, at_s: float) -> None:
        """An item counts as done."""
        job.items.committed = item + 1
        self.state.note(job, at_s, JobEventKind.RESULT, item=item)
        self.state.changed(job)

    def _collected(self, message: Collected) -> None:
        job = self.state.jobs.get(message.job)
        if job is not None and message.item == job.items.committed:
            # While other items run, the log of the job has gone on; when all are finished, nothing of it did since.
            at_s = message.at_s if job.items.all_finished else self.state.now_s
            self._stored(job, message.item, at_s)
            self.state.settle(job, at_s)
