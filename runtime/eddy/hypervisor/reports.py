"""What goes into the state machine: what the board reports, and what becomes of jobs, is booked here."""

from __future__ import annotations

from eddy.board.port import Cause
from eddy.core.jobs import JobState
from eddy.core.records import What
from eddy.hypervisor.books import Books
from eddy.hypervisor.job import Job
from eddy.hypervisor.messages import (
    Allocated,
    Arrive,
    Cancel,
    Collect,
    Collected,
    Configured,
    Free,
    Input,
    ItemEnded,
    JobFault,
    JobSpec,
    LoadFailed,
    NoMemory,
    Resume,
    Wake,
)
from eddy.hypervisor.slot import Phase, Slot
from eddy.policy.dispatch.view import Observation

MAX_LOAD_ATTEMPTS = 3
"""Failed loads of one task after which its job fails."""


class Reports:
    """Books what happened, one input after the other.

    Args:
        books: Where.
    """

    def __init__(self, books: Books) -> None:
        self.books = books

    def take(self, message: Input) -> None:
        """Book one input."""
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
            job = self.books.jobs.get(message.job)
            if job is not None and job.ending is None:
                self.books.end(job, JobState.CANCELLED, self.books.now_s)
        elif isinstance(message, Resume):
            self._resume()
        elif isinstance(message, Wake):
            for pool in self.books.pools.values():
                pool.wake_s = None

    def _resume(self) -> None:
        """What was ending goes on ending; outputs that were finished and not stored are collected."""
        for job in list(self.books.jobs.values()):
            if job.ending is not None:
                self.books.end(job, job.ending, self.books.now_s, job.cause, job.detail)
                continue
            for item in range(job.committed, job.finished):
                self._finished(job, item, self.books.now_s)

    def _arrive(self, spec: JobSpec) -> None:
        self.books.add(Job(spec, self.books.graph(spec)))

    def _allocated(self, number: int) -> None:
        job = self.books.jobs.get(number)
        if job is None:
            self.books.out.commands.append(Free(number))
            return
        if number in self.books.memory:
            job.shown_s = max(job.spec.arrival_s, self.books.pools[job.spec.pool].asked_s)
            job.touch_all()
        job.placed = True
        self.books.memory.grant(job)
        self.books.show_again(job)
        self.books.changed(job)
        self.books.ask_for_waiting()

    def _no_memory(self, message: NoMemory) -> None:
        job = self.books.jobs.get(message.job)
        if job is None:
            return
        if self.books.memory.refuse(job):
            self.books.show_again(job)
            self.books.changed(job)
        else:
            self.books.end(job, JobState.FAILED, self.books.now_s, "memory", message.detail)

    def _job_fault(self, message: JobFault) -> None:
        job = self.books.jobs.get(message.job)
        if job is None or job.ending is not None:
            return
        self.books.memory.give_up(job)
        job.failed_item = message.item
        self.books.end(job, JobState.FAILED, self.books.now_s, message.cause, message.detail)

    def _configured(self, message: Configured) -> None:
        scrubbed, slot = self._was_scrubbed(message.slot), self._loaded(message.slot)
        if slot is None:
            return
        slot.faulted = False
        slot.failed_loads = 0
        if not scrubbed:
            slot.load_s = message.at_s - message.started_s
        job = self.books.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            slot.let_go(message.at_s)
            return
        job.loading -= 1
        job.held += 1
        slot.enter(Phase.HELD, message.at_s)
        self.books.log(job, slot, message.at_s, What.CONFIGURED, started_s=message.started_s, detail="scrub" * scrubbed)
        if job.ending is not None:
            self.books.release(slot, job, message.at_s, What.RELEASE)
            self.books.settle(job, message.at_s)
        elif slot.leaving:
            self.books.release(slot, job, message.at_s, What.PREEMPT)

    def _loaded(self, index: int) -> Slot | None:
        """The slot whose load or scrub ended, or None where none was under way."""
        slot = self.books.slots.get(index)
        if slot is None or not (slot is self.books.port.loading or slot.scrubbing):
            return None
        if slot.scrubbing:
            slot.scrubbing = False
        else:
            self.books.port.end(slot)
        self.books.out.slots.add(index)
        return slot

    def _was_scrubbed(self, index: int) -> bool:
        slot = self.books.slots.get(index)
        return slot is not None and slot.scrubbing

    def _load_failed(self, message: LoadFailed) -> None:
        scrubbed, slot = self._was_scrubbed(message.slot), self._loaded(message.slot)
        if slot is None:
            return
        module = slot.module
        if scrubbed:
            # Whatever the reason: from now on a load, which is known to do.
            self.books.scrubbed.discard(module)
        slot.forget_module()
        slot.faulted = not message.refused
        if slot.faulted:
            slot.rest(message.at_s)
        job = self.books.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            slot.let_go(message.at_s)
            return
        task = slot.task
        job.attempts[task] += 1
        self.books.log(
            job, slot, message.at_s, What.CONFIGURATION_FAILED, detail=f"{message.cause} {message.detail}".strip()
        )
        pool = self.books.pools[job.spec.pool]
        if message.refused:
            pool.refuse(module, slot.index, (each for each in self.books.jobs.values() if each.spec.pool is pool.pool))
        images = pool.fits.get(module, {})
        self.books.release(slot, job, message.at_s, What.RELEASE)
        hopeless = not images or job.attempts[task] >= MAX_LOAD_ATTEMPTS
        if job.ending is None and hopeless:
            job.failed_task = task
            where = f"task {self.books.task_name(job, task)}, slot {slot.index}: {message.detail}".rstrip(": ")
            self.books.end(job, JobState.FAILED, message.at_s, message.cause, where)
        elif job.ending is not None:
            self.books.settle(job, message.at_s)

    def _item_ended(self, message: ItemEnded) -> None:
        slot = self.books.slots.get(message.slot)
        if slot is None or slot.phase is not Phase.RUNNING or slot.job is None or slot.task is None:
            return
        job, task, item = self.books.jobs[slot.job], slot.task, slot.item
        good = message.cause is Cause.NONE
        job.running -= 1
        job.held += 1
        job.count(message.cores)
        what = What.ITEM_DONE if good else What.ITEM_FAILED
        detail = "" if good else f"{message.cause.value} {message.detail}".strip()
        self.books.log(job, slot, message.at_s, what, item=item, started_s=message.started_s, detail=detail)
        slot.item = None
        slot.enter(Phase.HELD, message.at_s)
        if slot.stopping or not good:
            slot.forget_module()
            slot.faulted = not good and message.cause is not Cause.STOPPED
        if good:
            self._count(job, task, message)
        if job.ending is not None:
            self.books.release(slot, job, message.at_s, What.RELEASE)
            self.books.settle(job, message.at_s)
        elif not good:
            job.failed_task, job.failed_item = task, item
            where = f"task {self.books.task_name(job, task)}, item {item}, slot {slot.index}"
            self.books.end(
                job, JobState.FAILED, message.at_s, message.cause.value, f"{where}: {message.detail}".rstrip(": ")
            )
        elif job.done[task] == job.spec.batch:
            self.books.release(slot, job, message.at_s, What.RELEASE)
            if job.finished == job.spec.batch:
                self.books.show_again(job)
                self.books.settle(job, message.at_s)
        elif slot.leaving:
            self.books.release(slot, job, message.at_s, What.PREEMPT)

    def _count(self, job: Job, task: int, message: ItemEnded) -> None:
        """Book an item of a task."""
        application = job.spec.application
        graph, took_s = application.tasks[task], message.at_s - message.started_s
        seen = Observation(graph.module, took_s, application.name, task, graph.estimate_s)
        self.books.pools[job.spec.pool].observations.append(seen)
        self.books.show_again(job)
        for item in job.finish_item(task):
            self._finished(job, item, message.at_s)
        self.books.changed(job)

    def _finished(self, job: Job, item: int, at_s: float) -> None:
        """Every task is done with an item: it counts, or its outputs are to be stored first."""
        if job.spec.leaves_outputs(item):
            self.books.out.commands.append(Collect(job.spec.id, item))
        else:
            self._stored(job, item, at_s)

    def _stored(self, job: Job, item: int, at_s: float) -> None:
        """An item counts as done."""
        job.committed = item + 1
        self.books.note(job, at_s, What.RESULT, item=item)
        self.books.changed(job)

    def _collected(self, message: Collected) -> None:
        job = self.books.jobs.get(message.job)
        if job is not None and message.item == job.committed:
            self._stored(job, message.item, self.books.now_s)
            self.books.settle(job, self.books.now_s)
