# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The steps by which slots are closed, and by which one comes from one phase to another."""

from __future__ import annotations

from eddy.board.port.clock import Clock
from eddy.board.port.port import SlotPhase
from eddy.board.pynq import swap
from eddy.board.pynq.arena import Arena
from eddy.board.pynq.fabric import Fabric
from eddy.board.pynq.interrupt_lines import ThrottledLine
from eddy.board.pynq.memory_gate import Loan, MemoryGate, NotDrained, QuiescenceProof
from eddy.board.pynq.slot import NO_FAULT, BoardSlot
from eddy.board.pynq.slot_accounts import SlotAccounts
from eddy.core.errors import BoardFault
from eddy.core.slots import Image


class SlotSteps:
    """Steps that loads, items and faults have in common.

    Args:
        fabric: Drivers of the configured static region.
        clock: Board time.
    """

    def __init__(self, fabric: Fabric, clock: Clock) -> None:
        self.fabric, self.clock = fabric, clock

    def context(self, slot: BoardSlot, image: Image | None = None) -> swap.SwapContext:
        """What the swap works with; `image` is to be in the slot then."""
        was_open = slot.phase in (SlotPhase.IDLE, SlotPhase.RUNNING)
        return swap.SwapContext(slot.hardware, self.fabric, self.clock, image, was_open)

    def force_close(self, slot: BoardSlot, phase: SlotPhase) -> None:
        """Close a slot whatever its module does; it is in `phase` then."""
        try:
            self.close_hardware(slot)
        except BaseException:
            swap.force_close(slot.hardware)
            raise
        finally:
            self.move(slot, phase)

    def close_hardware(self, slot: BoardSlot) -> None:
        """Close a slot, and end the loans of what it could reach as far as it has drained."""
        swap.close(self.context(slot))
        slot.gate.close_all(swap.SLOT_DRAIN_BOUND_S)

    def move(self, slot: BoardSlot, phase: SlotPhase, image: str = "") -> None:
        """Note that a slot is in another phase now."""
        if phase not in (SlotPhase.IDLE, SlotPhase.RUNNING):
            slot.runner = None
            # A load starts the monitor from zero.
            slot.accounts.settle()
        if phase is not SlotPhase.RUNNING:
            slot.done.disarm()
        slot.phase, slot.image, slot.since_s = phase, image, self.clock.now_s()
        slot.idle_fault = NO_FAULT


def closed_slots(fabric: Fabric, clock: Clock, arena: Arena, steps: SlotSteps) -> list[BoardSlot]:
    """The slots of a board that was just taken over, all closed.

    Whoever had the board before may have left a slot open: nothing is handed out until all are closed, and what they
    had asked of memory has ended.

    Raises:
        BoardFault: A slot was closed, but an access of its module does not end.
    """
    slots = [
        BoardSlot(
            hardware,
            ThrottledLine(hardware.done, clock.now_s),
            MemoryGate(hardware.control, clock, arena),
            SlotAccounts(hardware.control),
        )
        for hardware in fabric.slots
    ]
    for index, slot in enumerate(slots):
        steps.close_hardware(slot)
        try:
            QuiescenceProof(Loan({}), slot.hardware.control, clock, swap.SLOT_DRAIN_BOUND_S)
        except NotDrained as late:
            message = f"slot {index} was closed, but its {late}; reset the board"
            raise BoardFault(message, cause="memory") from late
    return slots
