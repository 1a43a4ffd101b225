# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is asked of the machine, and what comes of a job's memory."""

from __future__ import annotations

from eddy.core.jobs import JobState
from eddy.core.slots import Pool
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import (
    AdmitModules,
    Allocated,
    Arrive,
    Cancel,
    CloseSoon,
    Drain,
    Free,
    JobFault,
    LaunchStreamReport,
    NoMemory,
    Overdue,
    Switch,
    SwitchPrice,
    Undrain,
)
from eddy.hypervisor.machine.calendar import ClosingCalendar
from eddy.hypervisor.machine.slot_drainer import SlotDrainer
from eddy.hypervisor.slots.machine_state import MachineState
from eddy.policy.dispatch.sharing.fair_share import FairShare


class RequestHandler:
    """Takes in arrivals and cancellations, what became of a job's memory, and what the operator asks for.

    Args:
        calendar: Holds back jobs for maintenance windows.
    """

    def __init__(self, state: MachineState, draining: SlotDrainer, calendar: ClosingCalendar) -> None:
        self.state, self.draining, self.calendar = state, draining, calendar
        self._read_last: tuple[str, Pool, float] | None = None
        """For which application images were read ahead last, and when."""

    # Jobs

    def add_job(self, message: Arrive) -> None:
        """A job has come."""
        job = Job(message.job, self.state.graph(message.job))
        if message.ready_s is not None:
            job.times.book_dependency_wait(message.ready_s)
        self.state.add(job)
        if job.spec.only_holds:
            self.state.request_memory(job)
            return
        self.calendar.look(job)
        wanted = job.spec.application.label, job.spec.pool, self.state.now_s if job.spec.kept else 0.0
        if wanted != self._read_last:  # of many alike at once, or in a session's stream, the first one has them read
            self._read_last = wanted
            self.state.read_ahead(self.state.images.images_of_job(job.spec.application, *wanted[1:]))

    def cancel(self, message: Cancel) -> None:
        """A job's end is asked for."""
        job = self.state.jobs.get(message.job)
        if job is None:
            return
        job.cancel_asked_unix_s = job.cancel_asked_unix_s or message.asked_unix_s
        self.state.mark_changed(job)
        if job.ending is None:
            self.state.end(job, JobState.CANCELLED, self.state.now_s)
        elif job.will_retry:  # it would not have ended
            job.will_retry, job.ending, job.cause, job.detail = False, JobState.CANCELLED, "", ""

    def grant_memory(self, message: Allocated) -> None:
        """A job has its memory."""
        number = message.job
        job = self.state.jobs.get(number)
        if job is None:
            self.state.out.commands.append(Free(number))
            return
        if number in self.state.memory:
            job.views.show(max(job.arrival_s, self.state.pools[job.spec.pool].asked_s))
        job.placed = True
        self.state.memory.mark_granted(job)
        self.state.invalidate_view(job)
        self.state.mark_changed(job)
        self.state.request_next_memory()

    def deny_memory(self, message: NoMemory) -> None:
        """A job's buffers do not fit now."""
        job = self.state.jobs.get(message.job)
        if job is None:
            return
        if self.state.memory.refuse(job):
            self.state.invalidate_view(job)
            self.state.mark_changed(job)
        else:
            self.state.end(job, JobState.FAILED, self.state.now_s, "memory", message.detail)

    def fail_job(self, message: JobFault) -> None:
        """A job cannot go on."""
        job = self.state.jobs.get(message.job)
        if job is None or (job.ending is not None and not job.will_retry):
            return
        self.state.memory.cancel_request(job)
        job.failed_item = message.item
        self.state.end(job, message.ends, self.state.now_s, message.cause, message.detail)

    def set_streaming(self, message: LaunchStreamReport) -> None:
        """A session's launches follow one another, or do not any more."""
        job = self.state.jobs.get(message.job)
        if job is not None and message.on:
            self.state.streaming[message.job] = job.spec.tenant
        else:
            self.state.streaming.pop(message.job, None)

    def mark_overdue(self, message: Overdue) -> None:
        """A job has waited too long."""
        job = self.state.jobs.get(message.job)
        if job is not None and job.ending is None:
            job.views.overdue = True
            job.views.touch_all()
            self.state.invalidate_view(job)

    # The operator

    def drain(self, message: Drain) -> None:
        """A slot is given to nobody any more."""
        self.draining.drain(self.state.slots[message.slot], message.because)

    def undrain(self, message: Undrain) -> None:
        """A slot is given to jobs again."""
        self.draining.undrain(self.state.slots[message.slot])

    def close_soon(self, message: CloseSoon) -> None:
        """Slots are closed by calendar."""
        self.calendar.close_soon(message)

    def admit_modules(self, message: AdmitModules) -> None:
        """Jobs may be given a module."""
        for pool in self.state.pools.values():
            jobs = [job for job in self.state.jobs.values() if job.spec.pool is pool.pool]
            pool.admit_module(message.module, message.images, jobs)
        if message.scrubs:
            self.state.scrubbed.add(message.module)

    def switch(self, message: Switch) -> None:
        """Another policy decides about a pool's slots."""
        self.state.pools[message.pool].switch(FairShare(message.policy))

    def switch_price(self, message: SwitchPrice) -> None:
        """Another policy shares the cores of clusters."""
        if self.state.clusters is not None:
            self.state.clusters.switch(message.policy)
