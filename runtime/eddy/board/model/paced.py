# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A `model` board whose time passes on the wall, for pools of boards that are not there."""

from __future__ import annotations

import time

from eddy.board.model.model import ModelBoard
from eddy.board.port.port import BoardEvent


class PacedModelBoard(ModelBoard):
    """A model board on which a board second takes `pace` wall seconds; 0 until it is set, and then as any other."""

    pace: float = 0.0

    def wait(self, until_s: float, acknowledge: int = -1) -> tuple[BoardEvent, ...]:
        """As `ModelBoard.wait`; returns once the wall has caught up with the board."""
        before_s = self.now_s()
        events = super().wait(until_s, acknowledge)
        time.sleep((self.now_s() - before_s) * self.pace)
        return events
