# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the board's reports do to slots and jobs: ends of items and slices, and when an item counts as done; ends of
loads, and when a load is tried again."""

from __future__ import annotations

from eddy.board.port.port import Cause
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import Collect, Collected, Configured, ItemEnded, LoadFailed, SliceEnded
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.machine.slot_drainer import SlotDrainer
from eddy.hypervisor.slots.machine_state import MachineState
from eddy.policy.dispatch.views.view import Observation


class ItemReportHandler:
    """Takes in that items ended and that their outputs are stored.

    Args:
        draining: Told of every item; quarantines slots that keep failing.
    """

    def __init__(self, state: MachineState, draining: SlotDrainer) -> None:
        self.state, self.draining = state, draining

    def finish_item(self, message: ItemEnded) -> None:
        """An item ended in its slot."""
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
            self.state.release(slot, job, message.at_s)
            self.state.settle(job, message.at_s)
        elif not good:
            job.failed_task, job.failed_item = task, item
            where = f"task {self.state.task_name(job, task)}, item {item}, slot {slot.index}"
            self.state.end(
                job, JobState.FAILED, message.at_s, message.cause.value, f"{where}: {message.detail}".rstrip(": ")
            )
        elif job.items.is_done(task):
            self.state.release(slot, job, message.at_s)
            if job.items.all_finished:
                self.state.invalidate_view(job)
                self.state.settle(job, message.at_s)
        elif slot.leaving is not None:
            self.state.preempt(slot, job, message.at_s, slot.leaving)
        self.draining.record_item(slot, module, message.cause)

    def finish_slice(self, message: SliceEnded) -> None:
        """A slice ended on its core; with the last one, the kernel."""
        ran_on = self.state.slots.get(message.slot)
        if ran_on is not None and not message.bounced:
            self.draining.record_item(ran_on, ran_on.module, message.cause)
        job = self.state.clusters.charge_slice(message) if self.state.clusters is not None else None
        if job is None:
            return
        slot, done = self.state.slots[message.slot], JobEventKind.ITEM_DONE
        self.state.log(job, slot, message.at_s, done, item=0, started_s=job.started_s)
        for item in job.finish_item(0):
            self.complete_item(job, item, message.at_s)
        self.state.invalidate_view(job)
        self.state.settle(job, message.at_s)

    def store_outputs(self, message: Collected) -> None:
        """The outputs of an item are stored."""
        job = self.state.jobs.get(message.job)
        if job is not None and message.item == job.items.committed < job.items.finished:
            # While other items run, the log of the job has gone on; when all are finished, nothing of it did since.
            at_s = message.at_s if job.items.all_finished else self.state.now_s
            self._stored(job, message.item, at_s)
            self.state.settle(job, at_s)

    def _count(self, job: Job, task: int, message: ItemEnded) -> None:
        """Book an item of a task."""
        application = job.spec.application
        graph, took_s = application.tasks[task], message.at_s - message.started_s
        seen = Observation(graph.module, took_s, application.label, task, graph.estimate_s)
        self.state.pools[job.spec.pool].observations.append(seen)
        self.state.invalidate_view(job)
        for item in job.finish_item(task):
            self.complete_item(job, item, message.at_s)
        self.state.mark_changed(job)

    def complete_item(self, job: Job, item: int, at_s: float) -> None:
        """Every task is done with an item: it counts, or its outputs are to be stored first."""
        if job.spec.leaves_outputs(item):
            self.state.out.commands.append(Collect(job.spec.id, item))
        else:
            self._stored(job, item, at_s)

    def _stored(self, job: Job, item: int, at_s: float) -> None:
        """An item counts as done."""
        job.items.committed = item + 1
        self.state.out.stored.add((job.spec.id, item))
        self.state.note(job, at_s, JobEventKind.RESULT, item=item)
        self.state.mark_changed(job)


MAX_LOAD_ATTEMPTS = 3
"""Failed loads of one task after which its job fails."""


class LoadReportHandler:
    """Takes in that loads and scrubs ended.

    Args:
        draining: Told of every load; quarantines slots that keep failing.
    """

    def __init__(self, state: MachineState, draining: SlotDrainer) -> None:
        self.state, self.draining = state, draining

    def finish_load(self, message: Configured) -> None:
        """A slot holds what was loaded, or is clean."""
        scrubbed, slot = self._was_scrubbed(message.slot), self._loaded(message.slot)
        if slot is None:
            return
        slot.faulted = False
        slot.failed_loads = 0
        if not scrubbed:
            slot.loaded(message.at_s - message.started_s)
        job = self.state.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            slot.release(message.at_s)
            if self.state.clusters is not None:
                self.state.clusters.add_cluster(slot)
            return
        job.loading -= 1
        job.held += 1
        slot.enter(Phase.HELD, message.at_s)
        self.state.log(
            job, slot, message.at_s, JobEventKind.CONFIGURED, started_s=message.started_s, detail="scrub" * scrubbed
        )
        if job.ending is not None:
            self.state.release(slot, job, message.at_s)
            self.state.settle(job, message.at_s)
        elif slot.leaving is not None:
            self.state.preempt(slot, job, message.at_s, slot.leaving)

    def fail_load(self, message: LoadFailed) -> None:
        """A slot holds nothing that is known."""
        scrubbed, slot = self._was_scrubbed(message.slot), self._loaded(message.slot)
        if slot is None:
            return
        module, own = slot.module, slot.has_own_image
        if scrubbed:
            # Whatever the reason: from now on a load, which is known to do.
            self.state.scrubbed.discard(module)
        slot.forget_module()
        slot.faulted = not message.refused
        if slot.faulted and not own:
            slot.back_off(message.at_s)
        job = self.state.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            slot.release(message.at_s)
            if slot.leased:
                slot.rests_until_s = 0.0  # its holder may try again at once
                self.state.out.load_failures[slot.index] = f"{message.cause}: {message.detail}".rstrip(": ")
            if self.state.clusters is not None:
                self.state.clusters.load_failed(slot, module, message.refused)
            if not own:
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
        self.state.release(slot, job, message.at_s)
        self.draining.load_ended(slot, "" if message.refused else message.cause)
        hopeless = not images or job.items.attempts[task] >= MAX_LOAD_ATTEMPTS
        if job.ending is None and hopeless:
            job.failed_task = task
            where = f"task {self.state.task_name(job, task)}, slot {slot.index}: {message.detail}".rstrip(": ")
            self.state.end(job, JobState.FAILED, message.at_s, message.cause, where)
        elif job.ending is not None:
            self.state.settle(job, message.at_s)

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
