# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the memory of a simulated board has served: sums, sums by user, and burst by burst."""

from __future__ import annotations

import ctypes

from eddy_sim.boards.board_program import BoardProgram
from eddy_sim.boards.dram import DramStatistics, ServedBurst, UserCounters


class ServedMemory:
    """Figures of one board's memory controller."""

    def __init__(self, program: BoardProgram) -> None:
        self._program = program

    def statistics(self) -> DramStatistics:
        """What the memory has served so far."""
        statistics = DramStatistics()
        self._program.short.eddy_board_dram_statistics(self._program.board, ctypes.byref(statistics))
        return statistics

    def user(self, slot: int, context: int) -> UserCounters:
        """What the memory has served to a slot's context so far."""
        counters = UserCounters()
        self._program.short.eddy_board_user(
            self._program.board, self._program.slot(slot) << 4 | context, ctypes.byref(counters)
        )
        return counters

    def keep_log(self, bursts: int = 1 << 20) -> None:
        """Keep a log of what the memory serves from now on, in order: that many bursts, and no more."""
        self._program.short.eddy_board_keep_log(self._program.board, bursts)

    def log(self) -> tuple[ServedBurst, ...]:
        """The log so far."""
        count = self._program.short.eddy_board_log(self._program.board, None, 0)
        log = (ServedBurst * count)()
        self._program.short.eddy_board_log(self._program.board, log, count)
        return tuple(log)
