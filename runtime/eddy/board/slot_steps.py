"""The steps by which a slot is closed, and by which it comes from one phase to another."""

from __future__ import annotations

from eddy.board import swap
from eddy.board.clock import Clock
from eddy.board.fabric import Fabric
from eddy.board.port import SlotPhase
from eddy.board.slot import NO_FAULT, BoardSlot
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

    def shut(self, slot: BoardSlot, phase: SlotPhase) -> None:
        """Close a slot whatever its module does; it is in `phase` then."""
        try:
            self.close_hardware(slot)
        except BaseException:
            swap.shut(slot.hardware)
            raise
        finally:
            self.move(slot, phase)

    def close_hardware(self, slot: BoardSlot) -> None:
        """Close a slot, and end the loans of what it could reach as far as it has drained."""
        swap.close(self.context(slot))
        slot.gate.shut(swap.SLOT_DRAIN_BOUND_S)

    def move(self, slot: BoardSlot, phase: SlotPhase, image: str = "") -> None:
        """Note that a slot is in another phase now."""
        if phase not in (SlotPhase.IDLE, SlotPhase.RUNNING):
            slot.runner = None
            # A load starts the monitor from zero.
            slot.accounts.settle()
        if phase is not SlotPhase.RUNNING:
            slot.done.ignore()
        slot.phase, slot.image, slot.since_s = phase, image, self.clock.now_s()
        slot.idle_fault = NO_FAULT
