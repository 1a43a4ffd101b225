"""GPU clusters that tenants share core by core, inside the state machine.

A kernel is bound to a cluster when it is given memory, and runs there in slices, each on one core. When a core is free,
`next_tenant` says whose it is, and the oldest kernel of that tenant on this cluster gets it for about a quantum. A core
needs nothing between two tenants: the start of a kernel clears it, which is verified, so nothing is loaded again. A
cluster is loaded when it holds nothing that may be trusted, or when the price policy wants another one there and every
kernel that is bound to it has ended.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import dataclass, field, replace

from eddy.board.port import Cause
from eddy.core.counters import CoreCounters
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.core.slots import Pool
from eddy.hypervisor.core_accounts import CoreAccount, Slice
from eddy.hypervisor.job import BufferState, Job
from eddy.hypervisor.machine_state import MachineState
from eddy.hypervisor.market_loop import PriceLoop
from eddy.hypervisor.messages import Free, LaunchSlice, Load, SliceEnded, StopItem, Variant, item_name
from eddy.hypervisor.slot import MachineSlot, Phase
from eddy.policy.price.turns import next_tenant

AHEAD = 2
"""Slices a tenant's kernels on a cluster should have left for each core before another kernel is bound to it."""
ATTEMPTS = 3
"""Times a kernel restarts because its slot failed, and loads of a slot that fail in a row, before jobs fail."""
LEAST_OF_LIMIT = 0.25
"""Part of its time limit that a slice should take at most."""
OWN_FAULTS = frozenset(
    {
        *(Cause.TIME_LIMIT, Cause.ILLEGAL_INSTRUCTION, Cause.MISALIGNED_ACCESS, Cause.KERNEL_TRAP),
        *(Cause.READ_OUTSIDE_WINDOW, Cause.WRITE_OUTSIDE_WINDOW),
    }
)
"""Causes that only the kernel itself can have brought about; with any other, its neighbours may be innocent."""


@dataclass(slots=True)
class Progress:
    """A kernel that is bound to a cluster.

    Attributes:
        slot: Which.
        module: What the cluster is.
        variant: The kernel on it.
        issued, done: Work-groups given out, and done; those given out come in order.
        back: Ranges that were given out and did not start: first and count.
        slices: Given out so far.
        running: Slices that run.
        again: Its slot failed: once none of its slices runs, it begins again.
    """

    slot: int
    module: str
    variant: Variant
    issued: int = 0
    done: int = 0
    back: list[tuple[int, int]] = field(default_factory=list)
    slices: int = 0
    running: int = 0
    again: bool = False

    @property
    def left(self) -> int:
        """Work-groups to give out."""
        return self.variant.groups - self.issued + sum(count for _, count in self.back)

    def take(self, count: int) -> tuple[int, int]:
        """The next range of at most so many work-groups."""
        if self.back:
            first, back = self.back.pop()
            if back > count:
                self.back.append((first + count, back - count))
            return first, min(back, count)
        first, self.issued = self.issued, min(self.variant.groups, self.issued + count)
        return first, self.issued - first


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
        self._progress: dict[int, Progress] = {}
        self._bound: dict[int, dict[str, deque[int]]] = {index: {} for index in self._indices}
        """By slot and tenant: jobs with work-groups to give out, oldest first."""
        self._unbound: dict[str, deque[int]] = {}
        self._restarts: dict[int, int] = {}
        self._names = itertools.count()
        self._loading_for: dict[int, int] = {}
        """By slot: the job a load is booked for, the first of those that wait for it."""
        loop.attach({index: CoreAccount() for index in self._indices})

    @property
    def slots(self) -> list[MachineSlot]:
        """Of the `gpu` pool, by index."""
        return [self.state.slots[index] for index in self._indices]

    # What happened ------------------------------------------------------------------------------------------------

    def arrived(self, job: Job) -> None:
        """A kernel wants cores."""
        assert job.spec.spread is not None
        self._unbound.setdefault(job.spec.tenant, deque()).append(job.spec.id)
        self.loop.arrived(job.spec.tenant, job.spec.spread, self.state.now_s)

    def leave(self, job: Job) -> None:
        """A job is to end: it gets no core any more, and what runs of it is stopped."""
        self._forget(job)
        for index in [index for index, number in self._loading_for.items() if number == job.spec.id]:
            del self._loading_for[index]
            job.loading -= 1
        progress = self._progress.get(job.spec.id)
        if progress is None or not progress.running:
            self._let_go(job)
            return
        for each in self.loop.accounts[progress.slot].running:
            if each.job == job.spec.id and not each.stopping:
                each.stopping = True
                self.state.out.commands.append(StopItem(progress.slot, each.name))

    def ended(self, message: SliceEnded) -> Job | None:
        """A slice ended: charge it, and see to its job; answers the job whose last slice it was, if it ended well."""
        account = self.loop.accounts.get(message.slot)
        if account is None or message.core >= len(account.cores):
            return None
        found = account.cores[message.core]
        if found is None or found.job != message.job:
            return None
        took_s = max(message.at_s - message.started_s, 0.0)
        account.end(message.core, took_s, self._wants(message.slot), self.loop.weights)
        slot = self.state.slots[message.slot]
        slot.meter.end(message.core, message.at_s)
        good = message.cause is Cause.NONE
        if not account.running:
            slot.enter(Phase.FREE, message.at_s)
            if not good:
                # Alone in its slot, what ends badly leaves it closed.
                self._unload(slot)
        job = self.state.jobs.get(message.job)
        progress = self._progress.get(message.job)
        if job is None or progress is None:
            return None
        progress.running -= 1
        job.core_seconds += took_s
        job.paid += took_s * self.loop.price(message.slot)
        if good:
            self._count(job, progress, found, took_s, message.counters, len(account.cores))
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

    def _count(
        self, job: Job, progress: Progress, ended: Slice, took_s: float, counters: CoreCounters | None, cores: int
    ) -> None:
        progress.done += ended.count
        spread = job.spec.spread
        assert spread is not None
        self.loop.measured(ended.tenant, progress.slot, progress.module, spread, ended.count, took_s, counters)
        if counters is not None:
            nothing = CoreCounters(0, 0, 0, (0,) * len(counters.cycle_thread))
            job.count(tuple(counters if core == ended.core else nothing for core in range(cores)))

    def _went_wrong(self, job: Job, progress: Progress, ended: Slice, message: SliceEnded) -> None:
        number, slot = job.spec.id, self.state.slots[message.slot]
        if message.bounced:
            progress.back.append((ended.first, ended.count))
            self._line(progress.slot, ended.tenant, number)
            return
        detail = f"{message.cause.value} {message.detail}".strip()
        self.state.log(job, slot, message.at_s, JobEventKind.ITEM_FAILED, 0, message.started_s, detail)
        if message.cause not in OWN_FAULTS and self._restarts.get(number, 0) < ATTEMPTS:
            self._forget(job)
            progress.again = True
            if not progress.running:
                self._begin_again(job)
            return
        job.failed_task, job.failed_item = 0, 0
        where = f"slice {ended.number}, slot {message.slot}, core {ended.core}: {message.detail}".rstrip(": ")
        self.state.end(job, JobState.FAILED, message.at_s, message.cause.value, where)

    def _begin_again(self, job: Job, why: str = "its slot failed: it begins again") -> None:
        """What a kernel did is gone: it begins again, with its arrays as they came."""
        number = job.spec.id
        self._restarts[number] = self._restarts.get(number, 0) + 1
        self._forget(job)
        self._progress.pop(number, None)
        job.held, job.cores = 0, ()
        if self.state.memory.leave(job):
            self.state.out.commands.append(Free(number))
        job.memory = BufferState.NONE
        self._unbound.setdefault(job.spec.tenant, deque()).appendleft(number)
        self.state.note(job, self.state.now_s, JobEventKind.RECOVERED, detail=why)
        self.state.changed(job)

    def _let_go(self, job: Job) -> None:
        """A job has ended, or done its last work-group."""
        self._forget(job)
        self._progress.pop(job.spec.id, None)
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
        account, kind = self.loop.accounts.get(slot.index), self.loop.kinds.get(slot.module)
        if account is not None:
            account.cores = [None] * (kind.cores if kind is not None else 0)
            slot.meter.share(len(account.cores), slot.since_s)
            self._unbook(slot, JobEventKind.CONFIGURED)

    def load_failed(self, slot: MachineSlot, module: str, refused: bool) -> None:
        """A load failed: kernels go elsewhere where this one is hopeless, and those that have nowhere to go fail."""
        if slot.index not in self.loop.accounts:
            return
        self._unbook(slot, JobEventKind.CONFIGURATION_FAILED)
        if refused:
            self._fits.get(module, {}).pop(slot.index, None)
        elif slot.failed_loads < ATTEMPTS:
            return
        for number in [n for n, progress in self._progress.items() if progress.slot == slot.index]:
            self._begin_again(self.state.jobs[number])
        for number in [n for line in self._unbound.values() for n in line]:
            job = self.state.jobs[number]
            spread = job.spec.spread
            if spread is not None and not any(self._hopeful(module) for module in spread.variants):
                why = "no slot could be loaded with a cluster that runs it"
                self.state.end(job, JobState.FAILED, self.state.now_s, "image-refused", why)

    def _unbook(self, slot: MachineSlot, what: JobEventKind) -> None:
        """The load of a slot is over, for the job it was booked for."""
        job = self.state.jobs.get(self._loading_for.pop(slot.index, -1))
        if job is not None:
            job.loading -= 1
            self.state.log(job, slot, self.state.now_s, what, started_s=job.load_began_s)

    def _hopeful(self, module: str) -> bool:
        slots = (self.state.slots[index] for index in self._fits.get(module, {}))
        return any(slot.failed_loads < ATTEMPTS for slot in slots)

    def _unload(self, slot: MachineSlot) -> None:
        slot.forget_module()
        self.loop.accounts[slot.index].cores = []
        slot.meter.share(0, self.state.now_s)
        self.state.out.slots.add(slot.index)

    def _target(self, slot: MachineSlot) -> str:
        """The module a slot should hold: what kernels are bound to it for, else what price wants, or what is in it."""
        for lines in self._bound[slot.index].values():
            for number in lines:
                return self._progress[number].module
        for progress in self._progress.values():
            if progress.slot == slot.index:
                return progress.module
        return self._wanted(slot)

    def _wanted(self, slot: MachineSlot) -> str:
        wanted = self.loop.wanted.get(slot.index, "") or slot.module
        if slot.index in self._fits.get(wanted, {}):
            return wanted
        return next((module for module in self.loop.kinds if slot.index in self._fits.get(module, {})), "")

    def _load(self) -> None:
        """Load one cluster that is missing where somebody waits for it, or is to be another one and has drained."""
        if self.state.port.closed_to(Pool.GPU):
            return
        for slot in self.slots:
            target = self._target(slot)
            if slot.phase is not Phase.FREE or slot.module == target or not slot.offered(self.state.now_s):
                continue
            if target and (slot.module or self._awaited(slot, target)):
                self.state.port.begin(slot, Pool.GPU)
                slot.module, slot.tenant = target, ""
                slot.enter(Phase.LOADING, self.state.now_s)
                self.loop.accounts[slot.index].cores = []
                slot.meter.share(0, self.state.now_s)
                self.state.out.slots.add(slot.index)
                self.state.out.commands.append(Load(slot.index, self._fits[target][slot.index]))
                self._book_load(slot)
                return

    def _book_load(self, slot: MachineSlot) -> None:
        """A load is booked for the oldest job that waits for it, if any does."""
        waiting = [n for line in self._bound[slot.index].values() for n in line]
        waiting = waiting or [n for line in self._unbound.values() for n in line]
        if waiting:
            job = self.state.jobs[min(waiting)]
            self._loading_for[slot.index] = job.spec.id
            job.reconfigurations += 1
            job.loading += 1
            job.load_began_s = self.state.now_s
            self.state.log(job, slot, self.state.now_s, JobEventKind.CONFIGURE)

    def _awaited(self, slot: MachineSlot, module: str) -> bool:
        """Whether some kernel is bound to a slot, or could be."""
        if any(self._bound[slot.index].values()):
            return True
        waiting = (self.state.jobs[number].spec.spread for line in self._unbound.values() for number in line)
        return any(spread is not None and module in spread.variants for spread in waiting)

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
        tenants = self._tenants() if shared else set[str]()
        self.loop.refresh(self.state.now_s, shared, self._fits, tenants, self._waiting)
        if any(slot.drained for slot in self.slots):
            self._move_off()
        self._bind()
        self._load()
        for slot in self.slots:
            self._hand_out(slot)

    def _move_off(self) -> None:
        """Kernels none of whose slices runs leave slots that are drained, as far as there is another for them.

        They keep what they have done where it holds the same module, and begin again otherwise.
        """
        for number, progress in list(self._progress.items()):
            job = self.state.jobs[number]
            if progress.running or job.ending is not None or not self.state.slots[progress.slot].drained:
                continue
            assert job.spec.spread is not None
            there = [slot for slot in self.slots if not slot.drained and self._target(slot) in job.spec.spread.variants]
            same = [slot for slot in there if self._target(slot) == progress.module]
            if same:
                self._forget(job)
                progress.slot = min(same, key=lambda slot: (self._left(slot.index, job.spec.tenant), slot.index)).index
                self._line(progress.slot, job.spec.tenant, number)
            elif there:
                self._begin_again(job, "its slot is drained: it begins again on another cluster")

    def _tenants(self) -> set[str]:
        bound = {self.state.jobs[number].spec.tenant for number in self._progress}
        return bound.union(self._unbound)

    def _waiting(self) -> dict[str, float]:
        """Core-seconds of work by tenant: infinite where some of it was never measured."""
        waiting: dict[str, float] = {}
        for number, progress in self._progress.items():
            job = self.state.jobs[number]
            groups = progress.variant.groups - progress.done
            waiting[job.spec.tenant] = waiting.get(job.spec.tenant, 0.0) + self._takes_s(job, progress.module, groups)
        for tenant, line in self._unbound.items():
            for number in line:
                job = self.state.jobs[number]
                assert job.spec.spread is not None
                module, variant = next(iter(job.spec.spread.variants.items()))
                waiting[tenant] = waiting.get(tenant, 0.0) + self._takes_s(job, module, variant.groups)
        return waiting

    def _takes_s(self, job: Job, module: str, groups: int) -> float:
        """Core-seconds of so many work-groups, as measured."""
        assert job.spec.spread is not None
        group_s = self.loop.learned.look(job.spec.spread.kernel, module).group_s
        return math.inf if group_s is None else groups * group_s

    def _bind(self) -> None:
        """Bind kernels that wait to clusters, each tenant's oldest first, as long as few slices are left there."""
        for tenant in sorted(self._unbound):
            line = self._unbound[tenant]
            while line:
                job = self.state.jobs[line[0]]
                found = self._place(job)
                if found is None:
                    break
                line.popleft()
                self._bind_to(job, found)
            if not line:
                del self._unbound[tenant]

    def _place(self, job: Job) -> MachineSlot | None:
        """The cluster on which a tenant has least to do for its share; one it has no share of, if it stands idle."""
        spread, tenant = job.spec.spread, job.spec.tenant
        assert spread is not None
        found: list[tuple[int, float, int]] = []
        for slot in self.slots:
            module = self._target(slot)
            if module not in spread.variants or module != self._wanted(slot):
                continue
            if slot.drained or slot.rests_until_s > self.state.now_s:
                continue
            cores, left = self.loop.kinds[module].cores, self._left(slot.index, tenant)
            if left >= AHEAD * cores:
                continue
            share = self.loop.accounts[slot.index].shares.get(tenant, 0.0)
            if share > 0:
                found.append((0, (left + 1) / share, slot.index))
            elif not left and not self._wants(slot.index):
                found.append((1, 0.0, slot.index))
        return self.state.slots[min(found)[2]] if found else None

    def _bind_to(self, job: Job, slot: MachineSlot) -> None:
        spec, module = job.spec, self._target(slot)
        assert spec.spread is not None
        assert spec.kernel is not None
        variant = spec.spread.variants[module]
        kernel = replace(spec.kernel, module=module, groups=variant.groups, slice_groups=variant.groups)
        job.spec = replace(spec, application=variant.application, kernel=kernel)
        self._progress[spec.id] = Progress(slot.index, module, variant)
        self._line(slot.index, spec.tenant, spec.id)
        if job.memory is BufferState.NONE:
            self.state.ask_for_memory(job)
        self.state.changed(job)

    def _hand_out(self, slot: MachineSlot) -> None:
        account = self.loop.accounts[slot.index]
        if slot.phase is Phase.LOADING or account.closing or slot.drained:
            return
        for core in account.free:
            wants = self._wants(slot.index)
            if not wants:
                return
            claims = account.claims(self.state.now_s, wants, self.loop.weights)
            tenant = next_tenant(claims, len(account.cores))
            if tenant is None:
                return
            ready = (number for number in self._bound[slot.index][tenant] if self._ready(number))
            self._start(slot, account, core, self.state.jobs[next(ready)])

    def _start(self, slot: MachineSlot, account: CoreAccount, core: int, job: Job) -> None:
        number, tenant = job.spec.id, job.spec.tenant
        progress = self._progress[number]
        first, count = progress.take(self._size(job, progress))
        name = item_name(number, self.loop.life, next(self._names))
        started = Slice(number, tenant, core, progress.slices, name, first, count, self.state.now_s)
        account.start(started)
        slot.meter.start(core, tenant, self.state.now_s)
        progress.slices += 1
        progress.running += 1
        if not progress.left:
            self._forget(job)
        if slot.phase is not Phase.RUNNING:
            slot.enter(Phase.RUNNING, self.state.now_s)
        if not job.held:
            job.held = 1
            job.reuses += not job.reconfigurations
            job.started_s = self.state.now_s if job.started_s is None else job.started_s
            self.state.log(job, slot, self.state.now_s, JobEventKind.LAUNCH, item=0)
        self.state.out.commands.append(
            LaunchSlice(slot.index, number, 0, started.number, name, progress.module, core, first, count)
        )

    def _size(self, job: Job, progress: Progress) -> int:
        """Work-groups of the next slice: what should take a quantum, in whole waves; one wave of what never ran.

        Of a kernel whose slices may take little longer than a quantum, less: a slice must not come near its limit.
        """
        assert job.spec.spread is not None
        wave = progress.variant.wave
        wanted = self.loop.learned.look(job.spec.spread.kernel, progress.module).slice_groups
        limit_s, quantum_s = progress.variant.application.tasks[0].time_limit_s, self.loop.settings.quantum_s
        wanted *= min(1.0, LEAST_OF_LIMIT * limit_s / quantum_s)
        return max(int(wanted) // wave * wave, wave)

    def _ready(self, number: int) -> bool:
        """Whether a kernel has its memory, and work-groups to give out."""
        return self.state.jobs[number].memory is BufferState.HELD and self._progress[number].left > 0

    def _left(self, slot: int, tenant: str) -> int:
        """Slices a tenant's kernels have left on a cluster."""
        line = self._bound[slot].get(tenant, ())
        return sum(self._slices(number) for number in line)

    def _slices(self, number: int) -> int:
        progress = self._progress[number]
        return -(-progress.left // self._size(self.state.jobs[number], progress))

    def _wants(self, slot: int) -> dict[str, int]:
        """By tenant: slices it could start on a cluster now, if cores were free."""
        most, wants = len(self.loop.accounts[slot].cores), {}
        for tenant, line in self._bound[slot].items():
            count = 0
            for number in line:
                if self._ready(number):
                    count += self._slices(number)
                    if count >= most:
                        break
            if count:
                wants[tenant] = min(count, most)
        return wants

    # Who waits for what -------------------------------------------------------------------------------------------

    def _line(self, slot: int, tenant: str, job: int) -> None:
        """A job has work-groups to give out."""
        line = self._bound[slot].setdefault(tenant, deque())
        if job not in line:
            line.append(job)

    def _forget(self, job: Job) -> None:
        """A job has nothing to give out any more."""
        number, tenant = job.spec.id, job.spec.tenant
        for lines in (self._unbound, *self._bound.values()):
            line = lines.get(tenant)
            if line is not None and number in line:
                line.remove(number)
                if not line:
                    del lines[tenant]
