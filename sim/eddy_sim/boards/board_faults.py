# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is wrong with a simulated board, beside what a load brings with it."""

from __future__ import annotations

import math

from eddy_sim.boards.board_program import FS_PER_S, BoardProgram
from eddy_sim.boards.faults import BoundaryFault


class BoardFaults:
    """Faults of one board's slots."""

    def __init__(self, program: BoardProgram) -> None:
        self._program = program

    def at_boundary(self, slot: int, fault: BoundaryFault) -> None:
        """Change what is wrong between a slot's module and the shell, from now until its next load."""
        self._program.short.eddy_board_set_faults(self._program.board, self._program.slot(slot), int(fault))

    def lose_clock(self, slot: int, lost: bool = True) -> None:
        """Stop a slot's clock whatever its wizard says, or give it back."""
        self._program.short.eddy_board_lose_clock(self._program.board, self._program.slot(slot), lost)

    def limit_clock(self, slot: int, hz: float) -> None:
        """Whatever is in a slot writes wrong words while its clock is faster than `hz`; infinity: it never does."""
        shortest_fs = 0 if math.isinf(hz) else round(FS_PER_S / hz)
        self._program.short.eddy_board_bears(self._program.board, self._program.slot(slot), shortest_fs)
