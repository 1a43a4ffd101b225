# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A slot of the `model` board: what it holds, what runs there, and what that counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from eddy.board.model.model_held import ModelHold
from eddy.board.model.model_modules import RunningItem
from eddy.board.port.port import SlotCounters, SlotPhase, SlotState
from eddy.core.counters import ContextCounters
from eddy.core.errors import Conflict

BURST_BYTES = 128
"""What one request moves, for the counters: 16 beats of 8 bytes."""


@dataclass(slots=True)
class ModelSlot:
    """One slot.

    Attributes:
        phase: What it is at.
        image: What it holds, or is loaded with; "" for nothing.
        since_s: When it entered its phase.
        items: What runs, by the number of its planned end: an end whose number is not here is void.
        load: Number of the planned end of the load in progress, or -1.
        loaded_s: When its counters began.
        read_bytes: What finished items were granted to read since then.
        write_bytes: The same for writing.
        accounts: What items that have ended did, by account.
        hold: What holds the module, where its caller drives it.
    """

    phase: SlotPhase = SlotPhase.EMPTY
    image: str = ""
    since_s: float = 0.0
    items: dict[int, RunningItem] = field(default_factory=dict)
    load: int = -1
    loaded_s: float = 0.0
    read_bytes: int = 0
    write_bytes: int = 0
    accounts: dict[str, ContextCounters] = field(default_factory=dict)
    hold: ModelHold | None = None

    def holder_of(self, index: int, item: str) -> ModelHold:
        """What holds the slot for an item.

        Raises:
            Conflict: That item does not hold it.
        """
        if self.hold is None or self.hold.launch.item != item:
            raise Conflict(f"slot {index} is not held by {item!r:.80}", field="item", phase=self.phase.value)
        return self.hold

    def enter(
        self, phase: SlotPhase, at_s: float, image: str = "", items: dict[int, RunningItem] | None = None
    ) -> None:
        """Enter a phase, with this image and these items and no load."""
        self.phase, self.image, self.items, self.load = phase, image, items or {}, -1
        self.since_s = at_s
        if phase is not SlotPhase.RUNNING:
            self.hold = None

    def count_from(self, at_s: float) -> None:
        """Begin to count from zero, as after a load."""
        self.loaded_s, self.read_bytes, self.write_bytes = at_s, 0, 0

    def counters(self, index: int, context: int | None, now_s: float, clk_hz: float) -> SlotCounters:
        """Granted bytes of finished items, in requests of `BURST_BYTES`; stalls are not modelled."""
        return SlotCounters(
            slot=index,
            context=context,
            cycles=int((now_s - self.loaded_s) * clk_hz) if self.image else 0,
            read_bytes=self.read_bytes,
            write_bytes=self.write_bytes,
            read_requests=-(-self.read_bytes // BURST_BYTES),
            write_requests=-(-self.write_bytes // BURST_BYTES),
            row_hits=0,
            row_misses=0,
            read_stall_cycles=0,
            write_stall_cycles=0,
            regulator_stall_cycles=0,
        )

    def shown(self, index: int) -> SlotState:
        """As the port tells it."""
        items = tuple(item.launch.item for item in self.items.values())
        return SlotState(index, self.phase, self.image, items[0] if items else "", self.since_s, items)


def charge(accounts: dict[str, ContextCounters], account: str, more: ContextCounters) -> None:
    """Count something on an account; nothing on nobody's."""
    if account:
        accounts[account] = accounts.get(account, ContextCounters()).add_counters(more)
