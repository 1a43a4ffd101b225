# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which cluster each shared slot should hold, and the loads that bring it there."""

from __future__ import annotations

from eddy.core.records import JobEventKind
from eddy.core.slots import Pool
from eddy.hypervisor.clusters.kernel_queues import KernelQueues
from eddy.hypervisor.clusters.kernel_work import KernelWork
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import Load
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.slots.machine_state import MachineState

GIVEN_UP_AFTER = 3
"""Loads of a slot that fail in a row before its kernels go elsewhere."""


class ClusterLoads:
    """Loads the clusters of the `gpu` pool.

    Args:
        loop: Knows the clusters that price wants.
        queues: Know which kernels wait for which cluster.
        work: What they still have to do.
    """

    def __init__(self, state: MachineState, loop: PriceLoop, queues: KernelQueues, work: KernelWork) -> None:
        self.state, self.loop, self.queues, self.work = state, loop, queues, work
        self._fits = state.pools[Pool.GPU].fits
        self._loading_for: dict[int, int] = {}
        """By slot: the job a load is booked for, the first of those that wait for it."""

    def begin(self, slots: list[MachineSlot]) -> None:
        """Load one cluster that is missing where somebody waits for it, or is to be another one and has drained."""
        if self.state.port.is_closed_to(Pool.GPU):
            return
        for slot in slots:
            target = self.target_module(slot)
            if slot.phase is not Phase.FREE or slot.module == target or not slot.is_offered(self.state.now_s):
                continue
            if target and (slot.module or self._awaited(slot, target)):
                self.state.port.begin(slot, Pool.GPU)
                slot.module, slot.tenant = target, ""
                slot.enter(Phase.LOADING, self.state.now_s)
                self.loop.accounts[slot.index].cores = []
                slot.meter.set_cores(0, self.state.now_s)
                self.state.out.slots.add(slot.index)
                self.state.out.commands.append(Load(slot.index, self._fits[target][slot.index]))
                self._book(slot)
                return

    def handle_loaded(self, slot: MachineSlot) -> None:
        """A cluster is there, its cores free."""
        kind = self.loop.kinds.get(slot.module)
        cores = kind.cores if kind is not None else 0
        self.loop.accounts[slot.index].cores = [None] * cores
        slot.meter.set_cores(cores, slot.since_s)
        self._unbook(slot, JobEventKind.CONFIGURED)

    def handle_failed_load(self, slot: MachineSlot, module: str, refused: bool) -> bool:
        """A load failed; answers whether the slot is given up for kernels that are bound to it."""
        self._unbook(slot, JobEventKind.CONFIGURATION_FAILED)
        if refused:
            self._fits.get(module, {}).pop(slot.index, None)
        return refused or slot.failed_loads >= GIVEN_UP_AFTER

    def cancel_loads(self, job: Job) -> None:
        """A job is to end: loads are booked for it no more."""
        for index in [index for index, number in self._loading_for.items() if number == job.spec.id]:
            del self._loading_for[index]
            job.loading -= 1

    def unload(self, slot: MachineSlot) -> None:
        """What a slot held may not be trusted any more."""
        slot.forget_module()
        self.loop.accounts[slot.index].cores = []
        slot.meter.set_cores(0, self.state.now_s)
        self.state.out.slots.add(slot.index)

    def target_module(self, slot: MachineSlot) -> str:
        """The module a slot should hold: what kernels are bound to it for, else what price wants, or what is in it."""
        for number in self.queues.bound_kernels(slot.index):
            return self.queues.progress[number].module
        for progress in self.queues.progress.values():
            if progress.slot == slot.index:
                return progress.module
        return self.next_module(slot)

    def next_module(self, slot: MachineSlot) -> str:
        """The module a slot holds once kernels that are bound to it have ended."""
        wanted = self.loop.offers.wanted.get(slot.index, "") or slot.module
        if slot.index in self._fits.get(wanted, {}):
            return wanted
        return next((module for module in self.loop.kinds if slot.index in self._fits.get(module, {})), "")

    def can_still_load(self, module: str) -> bool:
        """Whether some slot may still be loaded with a module."""
        slots = (self.state.slots[index] for index in self._fits.get(module, {}))
        return any(slot.failed_loads < GIVEN_UP_AFTER for slot in slots)

    def _awaited(self, slot: MachineSlot, module: str) -> bool:
        """Whether some kernel is bound to a slot, or could be; or is bound to another, and more than that can do."""
        if any(True for _ in self.queues.bound_kernels(slot.index)) or self.work.overflows(module, slot.index):
            return True
        spreads = (job.spec.spread for job in self.queues.unbound_kernels())
        return any(spread is not None and module in spread.variants for spread in spreads)

    def _book(self, slot: MachineSlot) -> None:
        """A load is booked for the oldest job that waits for it, if any does."""
        waiting = list(self.queues.bound_kernels(slot.index)) or [job.spec.id for job in self.queues.unbound_kernels()]
        if waiting:
            job = self.state.jobs[min(waiting)]
            self._loading_for[slot.index] = job.spec.id
            job.reconfigurations += 1
            job.loading += 1
            job.load_began_s = self.state.now_s
            self.state.log(job, slot, self.state.now_s, JobEventKind.CONFIGURE)

    def _unbook(self, slot: MachineSlot, what: JobEventKind) -> None:
        """The load of a slot is over, for the job it was booked for."""
        job = self.state.jobs.get(self._loading_for.pop(slot.index, -1))
        if job is not None:
            job.loading -= 1
            self.state.log(job, slot, self.state.now_s, what, started_s=job.load_began_s)
