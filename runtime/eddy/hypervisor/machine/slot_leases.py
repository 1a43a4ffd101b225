# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots that a lease holds: withheld from jobs, loaded for its holder, and given back with nothing trusted inside.

The machine knows no holder. It lets what runs in such a slot come to its next boundary, as a drain does, keeps policies
from it, charges its time to the lease's tenant, and has it take its turn at the configuration port.
"""

from __future__ import annotations

from eddy.core.slots import PreemptReason
from eddy.hypervisor.jobs.messages import LeaseSlot, Load, LoadLeased, UnleaseSlot
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.slots.machine_state import MachineState


class SlotLeases:
    """Withholds slots, loads them, and gives them back."""

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self._wanted: dict[int, LoadLeased] = {}
        """What slots are to be loaded with as soon as the port is free, the first one first."""

    def lease(self, message: LeaseSlot) -> None:
        """Withhold a slot; at once where nothing runs there."""
        slot = self.state.slots[message.slot]
        slot.leased, slot.lease_tenant, slot.cached = message.lease, message.tenant, None
        job = self.state.jobs.get(slot.job) if slot.job is not None else None
        if job is not None and job.ending is None:
            if slot.phase is Phase.HELD:
                self.state.preempt(slot, job, self.state.now_s, PreemptReason.LEASED)
            else:
                slot.leaving = PreemptReason.LEASED
        self._note(slot)

    def unlease(self, message: UnleaseSlot) -> None:
        """Give a slot to jobs again: it was closed, and is loaded before it serves."""
        slot = self.state.slots[message.slot]
        slot.leased = slot.lease_tenant = ""
        self._wanted.pop(slot.index, None)
        if message.used:
            slot.forget_module()
        self._note(slot)

    def load(self, message: LoadLeased) -> None:
        """Have a slot loaded for its holder."""
        self._wanted[message.slot] = message

    def begin_load(self) -> None:
        """Begin the first load that is asked for, where the port is free: before policies are asked, so that no crowd
        of jobs keeps it from holders."""
        for index, wanted in list(self._wanted.items()):
            slot = self.state.slots[index]
            if self.state.port.loading is not None or slot.phase is not Phase.FREE:
                continue
            del self._wanted[index]
            pool = next(pool for pool in self.state.pools.values() if index in pool.slots)
            module = wanted.module
            image = wanted.image or pool.fits.get(module, {}).get(index)
            if image is None:
                self.state.out.load_failures[index] = f"there is no image of {module} for it"
                continue
            slot.module, slot.tenant, slot.scrubs = module, slot.lease_tenant, False
            self.state.port.begin(slot, pool.pool)
            # One of the holder's own was brought into memory when it came.
            slot.was_near = bool(wanted.image) or self.state.images.request_image(index, module, self.state.now_s)
            slot.enter(Phase.LOADING, self.state.now_s)
            self.state.out.slots.add(index)
            self.state.out.commands.append(Load(index, image))

    def _note(self, slot: MachineSlot) -> None:
        """Whose its time is from now on."""
        slot.enter(slot.phase, self.state.now_s)
        self.state.out.slots.add(slot.index)
