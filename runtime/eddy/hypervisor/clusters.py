"""GPU clusters that tenants share core by core, inside the state machine.

A kernel is bound to a cluster when it is given memory, and runs there in slices, each on one core. When a core is free,
`next_tenant` says whose it is, and the oldest kernel of that tenant on this cluster gets it for about a quantum. A core
needs nothing between two tenants: the start of a kernel clears it, which is verified, so nothing is loaded again. A
cluster is loaded when it holds nothing that may be trusted, or when the price policy wants another one there and every
kernel that is bound to it has ended.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

from eddy.board.port import Cause
from eddy.core.counters import CoreCounters
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.core.slots import Pool
from eddy.hypervisor.cluster_loads import ClusterLoads
from eddy.hypervisor.core_accounts import CoreAccount, Slice
from eddy.hypervisor.job import BufferState, Job
from eddy.hypervisor.kernel_queues import KernelQueues, Progress
from eddy.hypervisor.machine_state import MachineState
from eddy.hypervisor.market_loop import PriceLoop, SliceMeasured
from eddy.hypervisor.messages import Free, LaunchSlice, SliceEnded, Spread, StopItem, item_name
from eddy.hypervisor.slot import MachineSlot, Phase
from eddy.policy.price.turns import next_tenant

AHEAD = 2
"""Slices a tenant's kernels on a cluster should have left for each core before another kernel is bound to it."""
STRANDED = 20
"""Epochs a kernel waits for a core of a cluster its tenant has no share of, before it begins again on another."""
MOST_RESTARTS = 3
"""Times a kernel restarts because its slot failed, before its job fails."""
OWN_FAULTS = frozenset(
    {
        *(Cause.TIME_LIMIT, Cause.ILLEGAL_INSTRUCTION, Cause.MISALIGNED_ACCESS, Cause.KERNEL_TRAP),
        *(Cause.READ_OUTSIDE_WINDOW, Cause.WRITE_OUTSIDE_WINDOW, Cause.BARRIER_DEADLOCK),
        Cause.STACK_OVERFLOW,
    }
)
"""Causes that only the kernel itself can have brought about; with any other, its neighbours may be innocent."""


class SharedClusters:
    """Who runs on which core; see the module.

    Args:
        state: The machine's.
        loop: What price decides, and what is known of kernels.
    """

    def __init__(self, state: MachineState, loop: PriceLoop) -> None:
        self.state, self.loop = state, loop
        self._indices = sorted(state.pools[Pool.GPU].slots)
        self._fits = state.pools[Pool.GPU].fits
        self.queues = KernelQueues(state.jobs, state.slots, self._indices, loop, self._fits)
        self.loads = ClusterLoads(state, loop, self.queues)
        self._restarts: dict[int, int] = {}
        self._looked = -1
        """The epoch in which kernels were last looked through for those that are stranded."""
        self._names = itertools.count()
        loop.attach({index: CoreAccount() for index in self._indices})

    @property
    def slots(self) -> list[MachineSlot]:
        """Of the `gpu` pool, by index."""
        return [self.state.slots[index] for index in self._indices]

    # What happened ------------------------------------------------------------------------------------------------

    def arrived(self, job: Job) -> None:
        """A kernel wants cores."""
        assert job.spec.spread is not None
        self.queues.arrived(job)
        self.loop.arrived(job.spec.tenant, job.spec.spread, self.state.now_s)

    def leave(self, job: Job) -> None:
        """A job is to end: it gets no core any more, and what runs of it is stopped."""
        self.queues.forget(job)
        self.loads.leave(job)
        progress = self.queues.progress.get(job.spec.id)
        if progress is None or not progress.running:
            self._let_go(job)
            return
        for index, account in self.loop.accounts.items():
            for each in account.running:
                if each.job == job.spec.id and not each.stopping:
                    each.stopping = True
                    self.state.out.commands.append(StopItem(index, each.name))

    def ended(self, message: SliceEnded) -> Job | None:
        """A slice ended: charge it, and see to its job; answers the job whose last slice it was, if it ended well."""
        account = self.loop.accounts.get(message.slot)
        if account is None or message.core >= len(account.cores):
            return None
        found = account.cores[message.core]
        if found is None or found.job != message.job:
            return None
        took_s = max(message.at_s - message.started_s, 0.0)
        beside = account.beside(message.core, took_s)
        account.end(message.core, took_s, self.queues.wants(message.slot), self.loop.weights)
        slot = self.state.slots[message.slot]
        slot.meter.end(message.core, message.at_s)
        good = message.cause is Cause.NONE
        if not account.running:
            slot.enter(Phase.FREE, message.at_s)
            if not good:
                # Alone in its slot, what ends badly leaves it closed.
                self.loads.unload(slot)
        job = self.state.jobs.get(message.job)
        progress = self.queues.progress.get(message.job)
        if job is None or progress is None:
            return None
        progress.running -= 1
        progress.rests_s = message.at_s
        job.core_seconds += took_s
        job.paid += took_s * self.loop.price(message.slot)
        if good:
            measured = SliceMeasured(message.slot, progress.module, found.count, took_s, beside, message.counters)
            self._count(job, progress, found, measured, len(account.cores))
        if job.ending is not None:
            if not progress.running:
                self._let_go(job)
                self.state.settle(job, message.at_s)
            return None
        if not good:
            self._went_wrong(job, progress, found, message)
        elif progress.again and not progress.running:
            self._begin_again(job)
        elif progress.done == progress.variant.groups:
            self._let_go(job)
            return job
        return None

    def _count(self, job: Job, progress: Progress, ended: Slice, measured: SliceMeasured, cores: int) -> None:
        progress.done += ended.count
        spread, counters = job.spec.spread, measured.counters
        assert spread is not None
        self.loop.measured(ended.tenant, spread, measured)
        if counters is not None:
            nothing = CoreCounters(0, 0, 0, (0,) * len(counters.cycle_thread))
            job.count(tuple(counters if core == ended.core else nothing for core in range(cores)))

    def _went_wrong(self, job: Job, progress: Progress, ended: Slice, message: SliceEnded) -> None:
        number, slot = job.spec.id, self.state.slots[message.slot]
        if message.bounced:
            progress.back.append((ended.first, ended.count))
            self.queues.has_more(progress.slot, job)
            return
        detail = f"{message.cause.value} {message.detail}".strip()
        self.state.log(job, slot, message.at_s, JobEventKind.ITEM_FAILED, 0, message.started_s, detail)
        if message.cause not in OWN_FAULTS and self._restarts.get(number, 0) < MOST_RESTARTS:
            self._start_over(job)
            return
        job.failed_task, job.failed_item = 0, 0
        where = f"slice {ended.number}, slot {message.slot}, core {ended.core}: {message.detail}".rstrip(": ")
        self.state.end(job, JobState.FAILED, message.at_s, message.cause.value, where)

    def _start_over(self, job: Job) -> None:
        """A kernel begins again, once none of its slices runs on any cluster."""
        progress = self.queues.progress[job.spec.id]
        self.queues.forget(job)
        progress.again = True
        if not progress.running:
            self._begin_again(job)

    def _begin_again(self, job: Job, why: str = "its slot failed: it begins again") -> None:
        """What a kernel did is gone: it begins again, with its arrays as they came."""
        self._restarts[job.spec.id] = self._restarts.get(job.spec.id, 0) + 1
        self.state.note(job, self.state.now_s, JobEventKind.RECOVERED, detail=why)
        self._unbind(job)

    def _unbind(self, job: Job) -> None:
        """A kernel gives up its cluster, and with it what it did there; it is the first to get another."""
        self.queues.returned(job)
        job.held, job.cores = 0, ()
        if self.state.memory.leave(job):
            self.state.out.commands.append(Free(job.spec.id))
        job.memory = BufferState.NONE
        self.state.changed(job)

    def _let_go(self, job: Job) -> None:
        """A job has ended, or done its last work-group."""
        self.queues.leave(job)
        self._restarts.pop(job.spec.id, None)
        job.held = 0

    def slice_named(self, slot: int, item: str) -> Slice | None:
        """What runs in a slot under the board's name for it."""
        account = self.loop.accounts.get(slot)
        found = (each for each in (account.running if account else ()) if each.name == item)
        return next(found, None)

    # Loads --------------------------------------------------------------------------------------------------------

    def loaded(self, slot: MachineSlot) -> None:
        """A cluster is there, its cores free."""
        if slot.index in self.loop.accounts:
            self.loads.ended(slot)

    def load_failed(self, slot: MachineSlot, module: str, refused: bool) -> None:
        """A load failed: kernels go elsewhere where this one is hopeless, and those that have nowhere to go fail."""
        if slot.index not in self.loop.accounts or not self.loads.failed(slot, module, refused):
            return
        for number in [n for n, progress in self.queues.progress.items() if progress.slot == slot.index]:
            self._start_over(self.state.jobs[number])
        for job in list(self.queues.unbound()):
            spread = job.spec.spread
            if spread is not None and not any(self.loads.hopeful(module) for module in spread.variants):
                why = "no slot could be loaded with a cluster that runs it"
                self.state.end(job, JobState.FAILED, self.state.now_s, "image-refused", why)

    @property
    def wake_s(self) -> float | None:
        """Board time at which something is due though nothing happens: an epoch, or a slot that has rested."""
        resting = (slot for slot in self.slots if slot.rests_until_s > self.state.now_s and not slot.drained)
        rested = [slot.rests_until_s for slot in resting]
        return min([*rested, *(() if self.loop.wake_s is None else (self.loop.wake_s,))], default=None)

    # Who gets what ------------------------------------------------------------------------------------------------

    def assign(self) -> None:
        """Ask for prices where they are due, and give every core that is free to somebody who can use it."""
        shared = [slot for slot in self.slots if not slot.drained or slot.phase is Phase.RUNNING]
        tenants = self.queues.tenants() if shared else set[str]()
        queues = self.queues
        known = queues.waiting_s, queues.running, queues.reach
        self.loop.refresh(self.state.now_s, shared, self._fits, tenants, *known)
        if any(slot.drained for slot in self.slots):
            self._move_off()
        self._move_stranded()
        self._bind()
        self.loads.begin(self.slots)
        self.queues.hosts = frozenset(slot.index for slot in self.slots if self._is_host(slot))
        for slot in self.slots:
            self._hand_out(slot)

    def _move_off(self) -> None:
        """Kernels none of whose slices runs leave slots that are drained, as far as there is another for them.

        They keep what they have done where it holds the same module, and begin again otherwise.
        """
        for number, progress in list(self.queues.progress.items()):
            job = self.state.jobs[number]
            if progress.running or job.ending is not None or not self.state.slots[progress.slot].drained:
                continue
            assert job.spec.spread is not None
            variants, left = job.spec.spread.variants, partial(self.queues.left, tenant=job.spec.tenant)
            there = [slot for slot in self.slots if not slot.drained and self.loads.target(slot) in variants]
            same = [slot.index for slot in there if self.loads.target(slot) == progress.module]
            if same:
                self.queues.forget(job)
                progress.slot = min(same, key=lambda index: (left(index), index))
                self.queues.has_more(progress.slot, job)
            elif there:
                self._begin_again(job, "its slot is drained: it begins again on another cluster")

    def _move_stranded(self) -> None:
        """Kernels bound where their tenant has no share any more, and others take all there is, go where it has one:
        at once if they have not begun, else after `STRANDED` epochs, because they begin again there."""
        if self.loop.now is None or self.loop.now.number == self._looked:
            return
        self._looked = self.loop.now.number
        self._move_to_idle()
        for number, progress in list(self.queues.progress.items()):
            job, account = self.state.jobs[number], self.loop.accounts[progress.slot]
            stays = progress.running or progress.again or job.ending is not None or not progress.left
            if stays or account.shares.get(job.spec.tenant, 0.0) > 0:
                continue
            rested_s = self.state.now_s - progress.rests_s
            if progress.slices and rested_s < STRANDED * self.loop.settings.epoch_s:
                continue
            if set(self.queues.wants(progress.slot)) - {job.spec.tenant} and self._has_share_elsewhere(job):
                if progress.slices:
                    why = "its tenant's shares are elsewhere now: it begins again there"
                    self.state.note(job, self.state.now_s, JobEventKind.RECOVERED, detail=why)
                self._unbind(job)

    def _move_to_idle(self) -> None:
        """Kernels that had no core for an epoch, and have done little that is lost, go to clusters that stand idle."""
        for job in self.queues.held_up(self.state.now_s, self.loop.settings.epoch_s):
            assert job.spec.spread is not None
            spread, taken = job.spec.spread, {each.slot for each in self.queues.progress.values()}
            idle = [slot for slot in self.slots if slot.index not in taken and self._is_idle(slot)]
            there = [slot for slot in idle if self.loads.target(slot) in spread.variants]
            if there:
                if self.queues.progress[job.spec.id].slices:
                    why = "it waited for longer than it ever ran, and another cluster stood idle: it begins again there"
                    self.state.note(job, self.state.now_s, JobEventKind.RECOVERED, detail=why)
                self._unbind(job)
                self._bind_to(job, max(there, key=lambda slot: self._whole_speed(spread, slot)))

    def _whole_speed(self, spread: Spread, slot: MachineSlot) -> float:
        module = self.loads.target(slot)
        return self.loop.speed_on(spread, module, float(self.loop.kinds[module].cores))

    def _is_idle(self, slot: MachineSlot) -> bool:
        """Whether a cluster to which no kernel is bound may have one, and no kernel of others uses it."""
        able = not slot.drained and not slot.failed_loads and slot.rests_until_s <= self.state.now_s
        stays = self.loads.target(slot) == self.loads.wanted(slot)
        used = self.loop.accounts[slot.index].running or self.queues.wants(slot.index)
        return able and stays and not used

    def _has_share_elsewhere(self, job: Job) -> bool:
        """Whether there is a cluster for a kernel on which its tenant has a share."""
        found = self._place(job)
        return found is not None and self.loop.accounts[found.index].shares.get(job.spec.tenant, 0.0) > 0

    def _bind(self) -> None:
        """Bind kernels that wait to clusters, each tenant's oldest first, as long as few slices are left there."""
        for line in self.queues.heads():
            while (job := self.queues.head(line)) is not None and (slot := self._place(job)) is not None:
                self._bind_to(job, slot)

    def _place(self, job: Job) -> MachineSlot | None:
        """The cluster on which a tenant has least to do for its share; one it has no share of, if it stands idle.

        The first kernel of a tenant that has none on any cluster goes where the tenant's part by weight would get it
        furthest: its shares follow it there, because they are of clusters its kernels reach (`KernelQueues.reach`).
        Of a cluster nobody else has work on it has all: a tenant of next to no weight waits for none that is busy.
        """
        spread, tenant = job.spec.spread, job.spec.tenant
        assert spread is not None
        found: list[tuple[int, float, float, int]] = []
        first = self.queues.idle(tenant)
        for slot in self.slots:
            module = self.loads.target(slot)
            if module not in spread.variants or module != self.loads.wanted(slot):
                continue
            if slot.drained or slot.rests_until_s > self.state.now_s:
                continue
            cores, left = self.loop.kinds[module].cores, self.queues.left(slot.index, tenant)
            if left >= AHEAD * cores:
                continue
            share = self.loop.accounts[slot.index].shares.get(tenant, 0.0)
            idle = not self.queues.claimed(slot.index, tenant)
            if first and (share > 0 or self.loop.price(slot.index) > 0):
                # Where there are prices, its money follows it; other policies may keep its shares elsewhere.
                found.append((0, -self.loop.entitled_speed(tenant, spread, module, idle), -share, slot.index))
            elif share > 0:
                found.append((1, (left + 1) / (cores if idle else share), 0.0, slot.index))
            elif not left and not self.queues.wants(slot.index):
                found.append((2, 0.0, 0.0, slot.index))
        return self.state.slots[min(found)[3]] if found else None

    def _bind_to(self, job: Job, slot: MachineSlot) -> None:
        spec, module = job.spec, self.loads.target(slot)
        assert spec.spread is not None
        assert spec.kernel is not None
        variant = spec.spread.variants[module]
        kernel = replace(spec.kernel, module=module, groups=variant.groups, slice_groups=variant.groups)
        job.spec = replace(spec, application=variant.application, kernel=kernel)
        self.queues.bind(job, Progress(slot.index, module, variant, rests_s=self.state.now_s))
        if job.memory is BufferState.NONE:
            self.state.ask_for_memory(job)
        self.state.changed(job)

    def _is_host(self, slot: MachineSlot) -> bool:
        """Whether a cluster may run kernels bound to others of its kind: not what is to be loaded again, or drained."""
        return bool(slot.module) and not slot.drained and slot.module == self.loads.wanted(slot)

    def _hand_out(self, slot: MachineSlot) -> None:
        account = self.loop.accounts[slot.index]
        if slot.phase is Phase.LOADING or account.closing or slot.drained:
            return
        for core in account.free:
            wants = self.queues.wants(slot.index)
            if not wants:
                return
            claims = account.claims(self.state.now_s, wants, self.loop.weights)
            tenant = next_tenant(claims, len(account.cores))
            if tenant is None:
                return
            self._start(slot, account, core, next(self.queues.ready(slot.index, tenant)))

    def _start(self, slot: MachineSlot, account: CoreAccount, core: int, job: Job) -> None:
        number, tenant = job.spec.id, job.spec.tenant
        progress, area = self.queues.progress[number], self.queues.area(number, slot.index, core)
        assert area is not None, "only kernels that may run here are ready"
        first, count = progress.take(self.queues.size(job, progress))
        name = item_name(number, self.loop.life, next(self._names))
        started = Slice(number, tenant, core, progress.slices, name, first, count, self.state.now_s)
        account.start(started)
        slot.meter.start(core, tenant, self.state.now_s)
        progress.slices += 1
        progress.running += 1
        if not progress.left:
            self.queues.forget(job)
        if slot.phase is not Phase.RUNNING:
            slot.enter(Phase.RUNNING, self.state.now_s)
        if not job.held:
            job.held = 1
            job.reuses += not job.reconfigurations
            job.started_s = self.state.now_s if job.started_s is None else job.started_s
            self.state.log(job, slot, self.state.now_s, JobEventKind.LAUNCH, item=0)
        self.state.out.commands.append(
            LaunchSlice(
                *(slot.index, number, 0, started.number, name, progress.module, core, first, count, area),
                account=tenant if self.loop.watch.on else "",
            )
        )
