# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots that are given to nobody any more: drained by the operator, or quarantined because they keep failing.

What runs in such a slot ends; at the next boundary its job goes on elsewhere. A drained slot that is free is shown to
no policy, so nothing new is placed there, until it is undrained.

Suspicion: loads that fail one after the other are the slot's fault, and so is a clock or a configuration that is lost.
Another fault of an item may be the module's or its data's: it counts only where the items that failed one after the
other ran different modules; what only a kernel itself can have done counts never. The last open slot of a pool is left
to rest instead: it may be the board that is at fault, and somebody must find out that it works again.
"""

from __future__ import annotations

from eddy.board.port.port import Cause
from eddy.core.maintenance import MARK
from eddy.core.slots import PreemptReason
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.slots.machine_state import MachineState

QUARANTINED = "quarantined: "
"""What the reason of a slot begins with that nobody asked to drain."""
MAX_FAILED_LOADS = 5
"""Failed loads in a row after which a slot is quarantined."""
MAX_FAULTS = 5
"""Items in a row that ended in a fault, after which a slot is quarantined."""
MIN_MODULES = 2
"""Different modules those items ran: one alone is more likely to be at fault itself."""
NOT_THE_SLOT = frozenset(
    {
        *(Cause.NONE, Cause.STOPPED, Cause.BOARD_RESTARTED, Cause.INTERNAL_ERROR),
        *(Cause.ILLEGAL_INSTRUCTION, Cause.MISALIGNED_ACCESS, Cause.KERNEL_TRAP, Cause.BARRIER_DEADLOCK),
        Cause.STACK_OVERFLOW,
        *(Cause.READ_OUTSIDE_WINDOW, Cause.WRITE_OUTSIDE_WINDOW, Cause.STREAM_LOST),
    }
)
"""Causes that say nothing about the slot."""
SURELY_THE_SLOT = frozenset({Cause.CLOCK_LOST, Cause.CONFIGURATION_ERROR, Cause.IDENTITY_MISMATCH})
"""Causes that no module can bring about."""


class SlotDrainer:
    """Drains and undrains slots, on request or on suspicion."""

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self._faults: dict[int, list[tuple[str, Cause]]] = {}
        """By slot: modules and causes of the items that ended in a fault, one after the other."""

    def drain(self, slot: MachineSlot, because: str) -> None:
        """Give a slot to nobody any more; `because` is shown, and must not be empty."""
        slot.drained = because
        slot.cached = None
        self._note(slot)
        job = self.state.jobs.get(slot.job) if slot.job is not None else None
        if job is None or job.ending is not None:
            return
        marks = {QUARANTINED: PreemptReason.QUARANTINED, MARK: PreemptReason.MAINTENANCE}
        reason = next((marks[mark] for mark in marks if because.startswith(mark)), PreemptReason.DRAINED)
        if slot.phase is Phase.HELD:
            self.state.preempt(slot, job, self.state.now_s, reason)
        else:
            slot.leaving = reason

    def undrain(self, slot: MachineSlot) -> None:
        """Give it to jobs again, at once: what it was suspected of is forgotten."""
        self._faults.pop(slot.index, None)
        slot.drained, slot.failed_loads, slot.rests_until_s, slot.cached = "", 0, 0.0, None
        self._note(slot)

    def load_ended(self, slot: MachineSlot, failed: str = "") -> None:
        """A load ended; `failed` says how, where it did badly. Its count in a row is the slot's own."""
        if failed and slot.failed_loads >= MAX_FAILED_LOADS:
            self._quarantine(slot, f"{slot.failed_loads} loads in a row failed, the last with {failed}")

    def record_item(self, slot: MachineSlot, module: str, cause: Cause) -> None:
        """An item ended on `module`."""
        if cause is Cause.NONE:
            self._faults.pop(slot.index, None)
        elif cause not in NOT_THE_SLOT:
            faults = [*self._faults.get(slot.index, ())[1 - MAX_FAULTS :], (module, cause)]
            self._faults[slot.index] = faults
            surely = all(each in SURELY_THE_SLOT for _, each in faults)
            different = len({each for each, _ in faults})
            if len(faults) == MAX_FAULTS and (surely or different >= MIN_MODULES):
                self._quarantine(slot, f"{MAX_FAULTS} items in a row ended in a fault, the last with {cause.value}")

    def _quarantine(self, slot: MachineSlot, why: str) -> None:
        (pool,) = (pool for pool in self.state.pools.values() if slot.index in pool.slots)
        open_slots = [index for index in pool.slots if not self.state.slots[index].drained]
        if not slot.drained and len(open_slots) > 1:
            self.drain(slot, f"{QUARANTINED}{why}; once it is mended, `eddy undrain {slot.index}` brings it back")

    def _note(self, slot: MachineSlot) -> None:
        self.state.out.drained[slot.index] = slot.drained
        self.state.out.slots.add(slot.index)
