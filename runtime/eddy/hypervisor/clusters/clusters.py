# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""GPU clusters that tenants share core by core, inside the state machine.

A kernel is bound to a cluster when it is given memory, and runs there in slices, each on one core. When a core is free,
`next_tenant` says whose it is, and the oldest kernel of that tenant on this cluster gets it for about a quantum. A core
needs nothing between two tenants: the start of a kernel clears it, which is verified, so nothing is loaded again. A
cluster is loaded when it holds nothing that may be trusted, or when the price policy wants another one there and every
kernel that is bound to it has ended.
"""

from __future__ import annotations

import itertools

from eddy.board.port.port import Cause
from eddy.core.counters import CoreCounters
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.core.slots import Pool
from eddy.hypervisor.clusters.cluster_binding import ClusterBinding
from eddy.hypervisor.clusters.cluster_loads import ClusterLoads
from eddy.hypervisor.clusters.cluster_moves import ClusterMoves
from eddy.hypervisor.clusters.cluster_trials import ClusterTrials
from eddy.hypervisor.clusters.kernel_queues import KernelQueues
from eddy.hypervisor.clusters.kernel_work import KernelWork
from eddy.hypervisor.cores.core_accounts import CoreAccount, Slice, note_corunners
from eddy.hypervisor.cores.epoch_totals import SliceMeasurement
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.jobs.bound_kernel import BoundKernel
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import LaunchSlice, SliceEnded, StopItem, item_name
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.slots.machine_state import MachineState
from eddy.policy.price.turns import next_tenant
from eddy.policy.price.view import PricePolicy

OWN_FAULTS = frozenset(
    {
        *(Cause.TIME_LIMIT, Cause.ILLEGAL_INSTRUCTION, Cause.MISALIGNED_ACCESS, Cause.KERNEL_TRAP),
        *(Cause.READ_OUTSIDE_WINDOW, Cause.WRITE_OUTSIDE_WINDOW, Cause.BARRIER_DEADLOCK),
        Cause.STACK_OVERFLOW,
    }
)
"""Causes that only the kernel itself can have brought about; with any other, its neighbours may be innocent."""
SLACK_QUANTA = 4.0
"""Quanta of a core that a tenant may be owed or owe before it gets more or fewer cores than its share says."""


class SharedClusters:
    """Who runs on which core; see the module.

    Args:
        loop: What price decides, and what is known of kernels.
    """

    def __init__(self, state: MachineState, loop: PriceLoop) -> None:
        self.state, self.loop = state, loop
        self._indices = sorted(state.pools[Pool.GPU].slots)
        self._fits = state.pools[Pool.GPU].fits
        self.queues = KernelQueues(state.jobs, state.slots, self._indices, loop.kinds, self._fits)
        self.work = KernelWork(state.jobs, self.queues, loop)
        self.loads = ClusterLoads(state, loop, self.queues, self.work)
        self.trials = ClusterTrials(loop, self.queues)
        self.binding = ClusterBinding(state, loop, self.queues, self.work, self.loads, self.trials, self._indices)
        self.moves = ClusterMoves(state, loop, self.queues, self.work, self.loads, self.binding)
        self._names = itertools.count()
        loop.attach({index: CoreAccount() for index in self._indices})

    @property
    def slots(self) -> list[MachineSlot]:
        """Of the `gpu` pool, by index."""
        return self.binding.slots

    # What happened ------------------------------------------------------------------------------------------------

    def add_kernel(self, job: Job) -> None:
        """A kernel wants cores."""
        assert job.spec.spread is not None
        self.queues.enqueue(job)
        self.loop.add_arrival(job.spec.tenant, job.spec.spread, self.state.now_s)

    def remove_job(self, job: Job) -> None:
        """A job is to end: it gets no core any more, and what runs of it is stopped."""
        self.queues.forget(job)
        self.loads.cancel_loads(job)
        progress = self.queues.progress.get(job.spec.id)
        if progress is None or not progress.running:
            self.binding.release_kernel(job)
            return
        for index, account in self.loop.accounts.items():
            for each in account.running:
                if each.job == job.spec.id and not each.stopping:
                    each.stopping = True
                    self.state.out.commands.append(StopItem(index, each.name))

    def charge_slice(self, message: SliceEnded) -> Job | None:
        """Charge a slice that ended, and update its job; returns the job if that was its last and all went well."""
        account = self.loop.accounts.get(message.slot)
        found = account.cores[message.core] if account is not None and message.core < len(account.cores) else None
        if account is None or found is None or found.job != message.job:
            return None
        took_s = max(message.at_s - message.started_s, 0.0)
        beside = self._free(account, message, took_s)
        job = self.state.jobs.get(message.job)
        progress = self.queues.progress.get(message.job)
        if job is None or progress is None:
            return None
        progress.running -= 1
        progress.rests_s = message.at_s
        job.core_seconds += took_s
        job.paid += took_s * self.loop.price(message.slot)
        if message.cause is Cause.NONE:
            alone = found.alone and not self._others_run()
            measured = SliceMeasurement(
                *(message.slot, progress.module, found.count, took_s, beside, message.counters), alone=alone
            )
            self._count(job, progress, found, measured, len(account.cores))
        if progress.trial:
            progress.tried_s += took_s
            self.trials.record_trial(found.tenant, took_s)
        return self._goes_on(job, progress, found, message)

    def _free(self, account: CoreAccount, message: SliceEnded, took_s: float) -> float:
        """A slice's core is free; how many cores its tenant had on the cluster meanwhile, on average."""
        beside = account.average_cores(message.core, took_s)
        account.finish_slice(message.core, took_s, self.work.startable_slices(message.slot), self.loop.weights)
        slot = self.state.slots[message.slot]
        slot.meter.end(message.core, message.at_s)
        if not account.running:
            slot.enter(Phase.FREE, message.at_s)
            if message.cause is not Cause.NONE:
                # Alone in its slot, what ends badly leaves it closed.
                self.loads.unload(slot)
        return beside

    def _goes_on(self, job: Job, progress: BoundKernel, ended: Slice, message: SliceEnded) -> Job | None:
        """What becomes of a kernel after a slice; the job where that was the last and all went well."""
        if job.ending is not None:
            if not progress.running:
                self.binding.release_kernel(job)
                self.state.settle(job, message.at_s)
            return None
        if message.cause is not Cause.NONE:
            self._went_wrong(job, progress, ended, message)
        elif progress.will_restart and not progress.running:
            self.binding.restart_kernel(job)
        elif progress.done == progress.variant.groups:
            self.binding.release_kernel(job)
            return job
        elif progress.trial:
            self._tried(job, progress, message)
        return None

    def _tried(self, job: Job, progress: BoundKernel, message: SliceEnded) -> None:
        """A kernel on trial goes on with it, or begins again elsewhere once enough is known."""
        took_s = max(message.at_s - message.started_s, 0.0)
        if not self.trials.is_trial_over(took_s, progress.tried_s):
            self.queues.has_more(progress.slot, job)
            return
        self.state.note(job, message.at_s, JobEventKind.RECOVERED, detail="measured on this cluster: it begins again")
        self.binding.unbind(job)

    def _count(self, job: Job, progress: BoundKernel, ended: Slice, measured: SliceMeasurement, cores: int) -> None:
        progress.done += ended.count
        spread, counters = job.spec.spread, measured.counters
        assert spread is not None
        self.loop.record_slice(ended.tenant, spread, measured)
        if counters is not None:
            nothing = CoreCounters(0, 0, 0, (0,) * len(counters.cycle_thread))
            job.count(tuple(counters if core == ended.core else nothing for core in range(cores)))

    def _others_run(self) -> bool:
        """Whether a module of the `pipeline` pool runs: it uses the same memory."""
        shared = self.loop.accounts
        return any(slot.phase is Phase.RUNNING for index, slot in self.state.slots.items() if index not in shared)

    def _went_wrong(self, job: Job, progress: BoundKernel, ended: Slice, message: SliceEnded) -> None:
        slot = self.state.slots[message.slot]
        if message.bounced:
            progress.back.append((ended.first, ended.count))
            self.queues.has_more(progress.slot, job)
            return
        detail = f"{message.cause.value} {message.detail}".strip()
        self.state.log(job, slot, message.at_s, JobEventKind.ITEM_FAILED, 0, message.started_s, detail)
        if message.cause not in OWN_FAULTS and self.binding.can_restart(job):
            self.binding.restart_when_idle(job)
            return
        job.failed_task, job.failed_item = 0, 0
        where = f"slice {ended.number}, slot {message.slot}, core {ended.core}: {message.detail}".rstrip(": ")
        self.state.end(job, JobState.FAILED, message.at_s, message.cause.value, where)

    def find_slice(self, slot: int, item: str) -> Slice | None:
        """What runs in a slot under the board's name for it."""
        account = self.loop.accounts.get(slot)
        found = (each for each in (account.running if account else ()) if each.name == item)
        return next(found, None)

    # Loads --------------------------------------------------------------------------------------------------------

    def add_cluster(self, slot: MachineSlot) -> None:
        """A cluster is there, its cores free."""
        if slot.index in self.loop.accounts:
            self.loads.handle_loaded(slot)

    def load_failed(self, slot: MachineSlot, module: str, refused: bool) -> None:
        """A load failed: kernels go elsewhere where this one is hopeless, and those that have nowhere to go fail."""
        if slot.index not in self.loop.accounts or not self.loads.handle_failed_load(slot, module, refused):
            return
        for number in [n for n, progress in self.queues.progress.items() if progress.slot == slot.index]:
            self.binding.restart_when_idle(self.state.jobs[number])
        for job in list(self.queues.unbound_kernels()):
            spread = job.spec.spread
            if spread is not None and not any(self.loads.can_still_load(module) for module in spread.variants):
                why = "no slot could be loaded with a cluster that runs it"
                self.state.end(job, JobState.FAILED, self.state.now_s, "image-refused", why)

    def switch(self, policy: PricePolicy) -> None:
        """Another policy shares the cores, from now on."""
        self.loop.switch(policy)

    @property
    def wake_s(self) -> float | None:
        """Board time at which something is due though nothing happens: an epoch, or a slot that has rested."""
        resting = (slot for slot in self.slots if slot.rests_until_s > self.state.now_s and not slot.withheld)
        rested = [slot.rests_until_s for slot in resting]
        return min([*rested, *(() if self.loop.wake_s is None else (self.loop.wake_s,))], default=None)

    # Who gets what ------------------------------------------------------------------------------------------------

    def assign(self) -> None:
        """Ask for prices where they are due, and give every core that is free to somebody who can use it."""
        shared = [slot for slot in self.slots if not slot.withheld or slot.phase is Phase.RUNNING]
        tenants = self.queues.tenants().union(self.state.streaming.values()) if shared else set[str]()
        known = self.work.waiting_s, self.work.running, self.queues.reachable_slots
        self.loop.refresh(self.state.now_s, shared, self._fits, tenants, *known)
        if any(slot.withheld for slot in self.slots):
            self.moves.leave_drained_slots()
        self.moves.leave_unpromised_slots()
        self.binding.bind()
        self.loads.begin(self.slots)
        self.queues.hosts = frozenset(slot.index for slot in self.slots if self.binding.is_host(slot))
        for slot in self.slots:
            self._hand_out(slot)

    def _hand_out(self, slot: MachineSlot) -> None:
        account = self.loop.accounts[slot.index]
        account.update_claimants(self.state.now_s, self.queues.tenants_with_work(slot.index))
        if slot.phase is Phase.LOADING or account.is_closing or slot.withheld:
            return
        for core in account.free:
            if (tried := next(self.trials.due_kernels(slot.index), None)) is not None:
                self._start(slot, account, core, tried)
                continue
            wants = self.work.startable_slices(slot.index)
            if not wants:
                return
            claims = account.claims(self.state.now_s, wants, self.loop.weights)
            tenant = next_tenant(claims, len(account.cores), SLACK_QUANTA * self.loop.settings.quantum_s)
            if tenant is None:
                return
            self._start(slot, account, core, next(self.queues.ready(slot.index, tenant)))

    def _start(self, slot: MachineSlot, account: CoreAccount, core: int, job: Job) -> None:
        number, tenant = job.spec.id, job.spec.tenant
        progress, area = self.queues.progress[number], self.queues.area(number, slot.index, core)
        assert area is not None, "only kernels that may run here are ready"
        first, count = progress.take_groups(self.work.size(job, progress))
        name = item_name(number, self.loop.life, next(self._names))
        assert job.spec.spread is not None, "it has slices"
        started = Slice(number, tenant, core, progress.slices, name, first, count, self.state.now_s)
        started.kernel = job.spec.spread.kernel
        account.start(started)
        note_corunners(started, account, self.loop.accounts.values())
        # Slices on trial keep to one core.
        started.alone &= not (progress.trial or self._others_run())
        slot.meter.start(core, tenant, self.state.now_s)
        progress.slices += 1
        progress.running += 1
        if progress.trial or not progress.groups_left:
            self.queues.forget(job)
        if slot.phase is not Phase.RUNNING:
            slot.enter(Phase.RUNNING, self.state.now_s)
        if not job.held:
            job.held = 1
            job.reuses += not job.reconfigurations
            job.started_s = self.state.now_s if job.started_s is None else job.started_s
            self.state.log(job, slot, self.state.now_s, JobEventKind.LAUNCH, item=0)
        self.state.note_module(job, progress.module)
        self.state.out.commands.append(
            LaunchSlice(
                *(slot.index, number, 0, started.number, name, progress.module, core, first, count, area),
                account=tenant if self.loop.watch.on else "",
            )
        )
