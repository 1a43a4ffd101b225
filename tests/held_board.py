# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A model board that can be told to stand still: `python held_board.py FILE MODULE ARGUMENTS`.

While `FILE` is there, as many whole items may end as it says, and then no time passes on the board: what is under way
there stays so until the file has gone, however slow the machine is. Everything else of the board goes on.
"""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

from eddy.board.model.model import ModelBoard
from eddy.board.port.port import BoardEvent, EventKind

LAST = ("reconstruct", "image_back")
"""Modules with which an item of image compression ends."""
LOOK_S = 0.02


class Hold:
    """What the file says.

    Args:
        file: Where it is told how many items may still end.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._ended = self._before = self._seen = 0
        self._held = False

    def stands(self) -> bool:
        """Whether no time may pass."""
        try:
            more = int(self._file.read_text())
        except FileNotFoundError:
            self._held = False
            return False
        if not self._held:
            self._held, self._before = True, self._ended
        return self._ended - self._before >= more

    def take(self, board: ModelBoard, events: tuple[BoardEvent, ...]) -> None:
        """Count what ended."""
        new = [event for event in events if event.seq > self._seen and event.kind is EventKind.ITEM_DONE]
        if new:
            modules = {image.sha256: image.module for image in board.images()}
            slots = board.state().slots
            self._ended += sum(modules.get(slots[event.slot].image) in LAST for event in new)
        self._seen = max([self._seen, *(event.seq for event in events)])


def main() -> None:
    hold, wait = Hold(Path(sys.argv[1])), ModelBoard.wait

    def held(board: ModelBoard, until_s: float, acknowledge: int = -1) -> tuple[BoardEvent, ...]:
        stands = hold.stands()
        events = wait(board, board.now_s() if stands else until_s, acknowledge)
        hold.take(board, events)
        if stands and not events and until_s > board.now_s():
            time.sleep(LOOK_S)
        return events

    ModelBoard.wait = held  # type: ignore[method-assign, assignment]
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
