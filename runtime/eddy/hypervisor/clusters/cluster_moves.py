# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels that leave their cluster for another: it is drained, their tenant has no share of it, or another is idle."""

from __future__ import annotations

from functools import partial

from eddy.core.records import JobEventKind
from eddy.hypervisor.clusters.cluster_binding import ClusterBinding
from eddy.hypervisor.clusters.cluster_loads import ClusterLoads
from eddy.hypervisor.clusters.kernel_queues import KernelQueues
from eddy.hypervisor.clusters.kernel_work import KernelWork
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import CorePartition
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.slots.machine_state import MachineState
from eddy.policy.price.kernel_places import is_stranded


class ClusterMoves:
    """Moves kernels between clusters.

    Args:
        loop: What price decides, and what is known of kernels.
        queues: Kernels that have not ended.
        work: What they still have to do.
        loads: What slots hold, and will.
        binding: Which cluster each is bound to.
    """

    def __init__(
        self,
        state: MachineState,
        loop: PriceLoop,
        queues: KernelQueues,
        work: KernelWork,
        loads: ClusterLoads,
        binding: ClusterBinding,
    ) -> None:
        self._state, self._loop, self._queues, self._work = state, loop, queues, work
        self._loads, self._binding = loads, binding
        self._looked = -1
        """The epoch in which kernels were last looked through for those that are stranded."""

    def leave_drained_slots(self) -> None:
        """Kernels none of whose slices runs leave slots that are drained, as far as there is another for them.

        They keep what they have done where it holds the same module, and begin again otherwise.
        """
        for number, progress in list(self._queues.progress.items()):
            job = self._state.jobs[number]
            if progress.running or job.ending is not None or not self._state.slots[progress.slot].withheld:
                continue
            assert job.spec.spread is not None
            variants, left = job.spec.spread.variants, partial(self._work.slices_left, tenant=job.spec.tenant)
            there = [
                slot
                for slot in self._binding.slots
                if not slot.withheld and self._loads.target_module(slot) in variants
            ]
            same = [slot.index for slot in there if self._loads.target_module(slot) == progress.module]
            if same:
                self._queues.forget(job)
                progress.slot = min(same, key=lambda index: (left(index), index))
                self._queues.has_more(progress.slot, job)
            elif there:
                self._binding.restart_kernel(job, "its slot is drained: it begins again on another cluster")

    def leave_unpromised_slots(self) -> None:
        """Kernels bound where their tenant has no share any more, and others take all there is, go where it has one:
        at once if they have not begun, else after some epochs, because they begin again there (`is_stranded`)."""
        if self._loop.now is None or self._loop.now.number == self._looked:
            return
        self._looked = self._loop.now.number
        self._to_idle()
        for number, progress in list(self._queues.progress.items()):
            job, account = self._state.jobs[number], self._loop.accounts[progress.slot]
            if (
                progress.running
                or progress.will_restart
                or progress.trial
                or job.ending is not None
                or not progress.groups_left
                or not self._binding.is_repeatable(job)
            ):
                continue
            share = account.shares.get(job.spec.tenant, 0.0)
            others_want = bool(set(self._work.startable_slices(progress.slot)) - {job.spec.tenant})
            rested = (self._state.now_s - progress.rests_s) / self._loop.settings.epoch_s
            if is_stranded(share, others_want, progress.slices > 0, rested) and self._has_share_elsewhere(job):
                if progress.slices:
                    why = "its tenant's shares are elsewhere now: it begins again there"
                    self._state.note(job, self._state.now_s, JobEventKind.RECOVERED, detail=why)
                self._binding.unbind(job)

    def _to_idle(self) -> None:
        """Kernels that had no core for an epoch, and have done little that is lost, go to clusters that stand idle."""
        for job in self._queues.starved_kernels(self._state.now_s, self._loop.settings.epoch_s):
            assert job.spec.spread is not None
            spread, taken = job.spec.spread, {each.slot for each in self._queues.progress.values()}
            idle = [slot for slot in self._binding.slots if slot.index not in taken and self._is_idle(slot)]
            there = [slot for slot in idle if self._loads.target_module(slot) in spread.variants]
            if there and self._binding.is_repeatable(job):
                if self._queues.progress[job.spec.id].slices:
                    why = "it waited for longer than it ever ran, and another cluster stood idle: it begins again there"
                    self._state.note(job, self._state.now_s, JobEventKind.RECOVERED, detail=why)
                self._binding.unbind(job)
                self._binding.bind_to(job, max(there, key=lambda slot: self._whole_speed(spread, slot)))

    def _whole_speed(self, spread: CorePartition, slot: MachineSlot) -> float:
        module = self._loads.target_module(slot)
        return self._loop.estimates.speed_on(spread, module, float(self._loop.kinds[module].cores))

    def _is_idle(self, slot: MachineSlot) -> bool:
        """Whether a cluster to which no kernel is bound may have one, and no kernel of others uses it."""
        able = not slot.withheld and not slot.failed_loads and slot.rests_until_s <= self._state.now_s
        stays = self._loads.target_module(slot) == self._loads.next_module(slot)
        used = self._loop.accounts[slot.index].running or self._work.startable_slices(slot.index)
        return able and stays and not used

    def _has_share_elsewhere(self, job: Job) -> bool:
        """Whether there is a cluster for a kernel on which its tenant has a share."""
        found = self._binding.place(job)
        return found is not None and self._loop.accounts[found.index].shares.get(job.spec.tenant, 0.0) > 0
