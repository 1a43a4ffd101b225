# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which cluster a kernel is bound to: where it gets memory, runs, and leaves or begins again.

Each tenant's kernels wait in line for a cluster. `policy.price.kernel_places` says which one a kernel gets. It keeps
its cluster until it has ended, unless its slot fails or it is moved (`cluster_moves`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.hypervisor.clusters.cluster_loads import ClusterLoads
from eddy.hypervisor.clusters.cluster_trials import ClusterTrials
from eddy.hypervisor.clusters.kernel_queues import KernelQueues
from eddy.hypervisor.clusters.kernel_work import KernelWork
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.jobs.bound_kernel import BoundKernel
from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.messages import CorePartition, Free
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.slots.machine_state import MachineState
from eddy.policy.price.kernel_places import ClusterOffer, choose_cluster, entitled_cores

CLUSTER_LOST = "cluster-lost"
"""Cause of a launch that would have to begin again elsewhere, and may not."""
UNREPEATABLE = "a part of it was done, and its buffers are as that left them"
MAX_RESTARTS = 3
"""Times a kernel restarts because its slot failed, before its job fails."""


class ClusterBinding:
    """Binds kernels to clusters.

    Args:
        loop: What price decides, and what is known of kernels.
        queues: Kernels that have not ended.
        work: What they still have to do.
        loads: What slots hold, and will.
        trials: Kernels that are measured first.
        indices: Of the slots of the `gpu` pool, in order.
    """

    def __init__(
        self,
        state: MachineState,
        loop: PriceLoop,
        queues: KernelQueues,
        work: KernelWork,
        loads: ClusterLoads,
        trials: ClusterTrials,
        indices: Sequence[int],
    ) -> None:
        self._state, self._loop, self._queues, self._work = state, loop, queues, work
        self._loads, self._trials, self._indices = loads, trials, indices
        self._restarts: dict[int, int] = {}

    @property
    def slots(self) -> list[MachineSlot]:
        """Of the `gpu` pool, by index."""
        return [self._state.slots[index] for index in self._indices]

    def can_restart(self, job: Job) -> bool:
        """Whether a kernel may begin again, and has not as often as it may: what a session's launch did stays done."""
        return self.is_repeatable(job) and self._restarts.get(job.spec.id, 0) < MAX_RESTARTS

    def is_repeatable(self, job: Job) -> bool:
        """Whether a kernel may begin again: a session's launch only where none of its slices has begun."""
        progress = self._queues.progress.get(job.spec.id)
        return job.spec.kept or progress is None or not progress.slices

    def bind(self) -> None:
        """Bind kernels that wait to clusters, each tenant's oldest first, as long as few slices are left there."""
        for line in self._queues.heads():
            while (job := self._queues.head(line)) is not None:
                hosts = (slot for slot in self.slots if self.is_host(slot) and slot.phase is not Phase.LOADING)
                if (tried := self._trials.place(job, hosts)) is not None:
                    self.bind_to(job, tried, trial=True)
                elif (slot := self.place(job)) is not None:
                    self.bind_to(job, slot)
                else:
                    break

    def place(self, job: Job) -> MachineSlot | None:
        """The cluster that `choose_cluster` takes among those a kernel may be bound to; None where it is to wait."""
        spread, tenant = job.spec.spread, job.spec.tenant
        assert spread is not None
        first = self._queues.has_no_bound_kernel(tenant)
        offers = (self._offer(slot, spread, tenant, first) for slot in self.slots if self._is_open(slot, spread))
        chosen = choose_cluster(offers, first)
        return None if chosen is None else self._state.slots[chosen]

    def _is_open(self, slot: MachineSlot, spread: CorePartition) -> bool:
        module = self._loads.target_module(slot)
        able = not slot.withheld and slot.rests_until_s <= self._state.now_s
        return able and module in spread.variants and module == self._loads.next_module(slot)

    def _offer(self, slot: MachineSlot, spread: CorePartition, tenant: str, first: bool) -> ClusterOffer:
        module, alone = self._loads.target_module(slot), not self._queues.is_claimed(slot.index, tenant)
        share = self._loop.accounts[slot.index].shares.get(tenant, 0.0)
        return ClusterOffer(
            slot.index,
            self._loop.kinds[module].cores,
            self._work.slices_left(slot.index, tenant),
            share,
            self._loop.price(slot.index),
            alone,
            wanted=share <= 0 and bool(self._work.startable_slices(slot.index)),
            speed=self._entitled_speed(spread, module, tenant, alone) if first else 0.0,
        )

    def _entitled_speed(self, spread: CorePartition, module: str, tenant: str, idle: bool) -> float:
        """What a tenant's part by weight of one cluster of a kind would do of a kernel, over one base PE."""
        cores = entitled_cores(self._loop.weight_fraction(tenant), self._loop.kinds[module].cores, idle)
        return self._loop.estimates.speed_on(spread, module, cores)

    def bind_to(self, job: Job, slot: MachineSlot, trial: bool = False) -> None:
        """Bind a kernel to a cluster, with memory of its own where it has none; for a slice on trial, or to stay."""
        spec, module = job.spec, self._loads.target_module(slot)
        assert spec.spread is not None
        assert spec.kernel is not None
        variant = spec.spread.variants[module]
        if spec.application is not variant.application or spec.kernel.module != module:
            groups = variant.groups
            kernel = replace(spec.kernel, module=module, groups=groups, slice_groups=groups, shape=variant.shape)
            job.spec = replace(spec, application=variant.application, kernel=kernel)
        self._queues.bind(job, BoundKernel(slot.index, module, variant, trial=trial, rests_s=self._state.now_s))
        if job.memory is BufferState.NONE:
            self._state.request_memory(job)
        self._state.mark_changed(job)

    def is_host(self, slot: MachineSlot) -> bool:
        """Whether a cluster may run kernels bound to others of its kind: not what is to be loaded again, or drained."""
        return bool(slot.module) and not slot.withheld and slot.module == self._loads.next_module(slot)

    def restart_when_idle(self, job: Job) -> None:
        """A kernel begins again, once none of its slices runs on any cluster."""
        progress = self._queues.progress[job.spec.id]
        self._queues.forget(job)
        progress.will_restart = True
        if not progress.running:
            self.restart_kernel(job)

    def restart_kernel(self, job: Job, why: str = "its slot failed: it begins again") -> None:
        """What a kernel did is gone: it begins again, with its arrays as they came; or ends, where it may not."""
        if not self.is_repeatable(job):
            self._state.end(job, JobState.FAILED, self._state.now_s, CLUSTER_LOST, f"{UNREPEATABLE} ({why})")
            return
        self._restarts[job.spec.id] = self._restarts.get(job.spec.id, 0) + 1
        self._state.note(job, self._state.now_s, JobEventKind.RECOVERED, detail=why)
        self.unbind(job)

    def unbind(self, job: Job) -> None:
        """A kernel gives up its cluster, and with it what it did there; it is the first to get another."""
        self._queues.requeue(job)
        job.held, job.cores = 0, ()
        if self._state.memory.release_job(job):
            self._state.out.commands.append(Free(job.spec.id))
        job.memory = BufferState.NONE if job.spec.needs_memory else BufferState.HELD
        self._state.mark_changed(job)

    def release_kernel(self, job: Job) -> None:
        """A job has ended, or done its last work-group."""
        self._queues.remove_kernel(job)
        self._restarts.pop(job.spec.id, None)
        job.held = 0
