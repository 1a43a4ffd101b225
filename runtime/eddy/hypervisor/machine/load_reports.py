# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What ends of loads and scrubs do to slots and jobs."""

from __future__ import annotations

from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.hypervisor.jobs.messages import Configured, LoadFailed
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.machine.slot_drainer import SlotDrainer
from eddy.hypervisor.slots.machine_state import MachineState

MAX_LOAD_ATTEMPTS = 3
"""Failed loads of one task after which its job fails."""


class LoadReportHandler:
    """Takes in that loads and scrubs ended.

    Args:
        state: Where.
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
