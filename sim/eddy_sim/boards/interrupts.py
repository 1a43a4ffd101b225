# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The shell's interrupt line on the processor's side, for `pynq.Interrupt`.

On a board a UIO file becomes readable when the line is high, and an asyncio loop watches the file. Here an object
takes the file's place in PYNQ's table of UIO devices. Simulated time does not pass by itself, so waiting makes it
pass: as long as somebody awaits an interrupt, each turn of their loop advances the board by a bounded stretch. A loop
that has nothing else to do thus advances it the same way every time.
"""

from __future__ import annotations

import asyncio
from typing import Protocol


class EventLike(Protocol):
    """An `asyncio.Event`, or PYNQ's interrupt controller, which looks like one."""

    def set(self) -> None:
        """Tell that the interrupt came."""


class Board(Protocol):
    """What the line needs of the device."""

    @property
    def interrupt(self) -> bool:
        """Level of the line."""

    @property
    def clocked(self) -> bool:
        """Whether a `SimClock` lets time pass, and loops must not."""

    def turn(self) -> None:
        """Let a bounded stretch of time pass, or less if the line rises."""


class InterruptLine:
    """Stands where PYNQ keeps a `UioController`.

    Args:
        board: The device.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._waiting: list[EventLike] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def awaited(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    def add_event(self, event: EventLike, number: int) -> None:
        """Wake `event` once when the line is high; `number` is not used, as with a UIO file."""
        self._waiting.append(event)
        self.touch()

    def touch(self) -> None:
        """Let the loop that runs now, if there is one, advance the board for whoever waits.

        PYNQ's interrupt controller waits here once, whoever waits on it. When that one gave up and their loop is gone,
        the next one to wait only writes the controller's registers: the device calls this on every write.
        """
        if not self._waiting or self._board.clocked:
            return
        try:
            self._schedule(asyncio.get_running_loop())
        except RuntimeError:
            # Nobody's loop runs: whoever steps the board next delivers it.
            return

    def deliver(self) -> bool:
        """Wake everybody who waits, if the line is high; answer whether that was so."""
        if not self._waiting or not self._board.interrupt:
            return False
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            event.set()
        return True

    def forget(self) -> None:
        """Nobody waits any more: what they waited on is gone with the overlay."""
        self._waiting.clear()

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        # A loop that was closed took its scheduled turn with it.
        if self._loop is loop and not loop.is_closed():
            return
        self._loop = loop
        loop.call_soon(self._turn, loop)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            self._loop = None
        if self._board.clocked or not self._waiting:
            return
        if not self.deliver():
            self._board.turn()
            self.deliver()
        if self._waiting:
            self._schedule(loop)
