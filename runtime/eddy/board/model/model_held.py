# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A module of the `model` board that its caller drives: registers of Xilinx HLS in a table, and runs that take time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.board.port.port import Launch, RegisterAccess

CONTROL, GLOBAL_ENABLE, ENABLE, STATUS = 0x00, 0x04, 0x08, 0x0C
START, DONE, IDLE, READY = 1, 2, 4, 8


@dataclass(slots=True)
class ModelHold:
    """One slot that is held.

    Attributes:
        number: Of the item among those of the slot.
        launch: What holds it.
        started_s: Board time since when.
        run: Number of the planned end of the run under way, or -1.
        listens: Whether the next interrupt is to be reported.
        registers: What was written, by offset.
    """

    number: int
    launch: Launch
    started_s: float
    run: int = -1
    listens: bool = False
    registers: dict[int, int] = field(default_factory=lambda: {CONTROL: IDLE})

    def access(self, access: RegisterAccess) -> tuple[int | None, bool]:
        """Do one access; answers what was read, and whether a run begins."""
        if access.value is None:
            value = self.registers.get(access.offset, 0)
            if access.offset == CONTROL:
                self.registers[CONTROL] = value & ~(DONE | READY)
            return value, False
        if access.offset == CONTROL:
            begins = bool(access.value & START) and self.run < 0
            if begins:
                self.registers[CONTROL] = START
            return None, begins
        if access.offset == STATUS:
            self.registers[STATUS] = self.registers.get(STATUS, 0) ^ access.value
        else:
            self.registers[access.offset] = access.value
        return None, False

    def finish_run(self) -> None:
        """The run that was begun has ended."""
        self.run = -1
        self.registers[CONTROL] = DONE | IDLE | READY
        if self.registers.get(ENABLE, 0) & 1:
            self.registers[STATUS] = self.registers.get(STATUS, 0) | 1

    def take_interrupt(self) -> bool:
        """Whether the interrupt is to be reported now; only once after each `listens`."""
        rings = self.listens and bool(self.registers.get(STATUS, 0)) and bool(self.registers.get(GLOBAL_ENABLE, 0) & 1)
        self.listens = self.listens and not rings
        return rings

    def arguments(self) -> Mapping[int, int]:
        """What a run finds in the registers."""
        return dict(self.registers)
