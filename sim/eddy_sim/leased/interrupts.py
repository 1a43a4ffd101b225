# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Interrupts of a leased slot, for `pynq.Interrupt`: the controller's registers are here, what they tell is there.

A lease reaches its slot alone, and not the shell's interrupt controller. So PYNQ finds one here, with the registers
that it uses, and an object in place of the UIO file that the controller waits on. While an input is enabled, a thread
waits at the server for the slot's interrupt.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Protocol

from eddy.core.errors import EddyError

ISR, IPR, IER, IAR, SIE, CIE = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14
Wait = Callable[[int], bool]
"""Waits for the interrupt at an input; answers whether it came, after a while."""


class EventLike(Protocol):
    """An `asyncio.Event`, or PYNQ's interrupt controller, which looks like one."""

    def set(self) -> None:
        """Tell that the interrupt came."""


class LeasedInterrupts:
    """An interrupt controller, and the line to the processor.

    Args:
        wait: Waits for an interrupt at the server; called from threads.
    """

    def __init__(self, wait: Wait) -> None:
        self._wait = wait
        self._lock = threading.Lock()
        self._enabled = self._pending = 0
        self._awaited: set[int] = set()
        """Inputs that a thread waits for."""
        self._events: list[tuple[asyncio.AbstractEventLoop, EventLike]] = []
        self.failed: EddyError | None = None
        """Why the last wait ended without an interrupt."""

    def forget(self) -> None:
        """Nobody waits any more: what they waited on is gone with the overlay."""
        with self._lock:
            self._enabled = self._pending = 0
            self._events.clear()

    # The controller

    def read(self, offset: int) -> int:
        """Read a register."""
        with self._lock:
            return {ISR: self._pending, IPR: self._pending & self._enabled, IER: self._enabled}.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """Write a register."""
        with self._lock:
            if offset == IER:
                self._enabled = value
            elif offset == SIE:
                self._enabled |= value
            elif offset == CIE:
                self._enabled &= ~value
            elif offset == IAR:
                self._pending &= ~value
            for number in range(32):
                if self._enabled >> number & 1 and not self._pending >> number & 1 and number not in self._awaited:
                    self._awaited.add(number)
                    threading.Thread(target=self._await, args=(number,), daemon=True).start()

    # The line

    def add_event(self, event: EventLike, number: int) -> None:
        """Wake `event` once, in the loop that runs now, when an input that is enabled rings."""
        with self._lock:
            self._events.append((asyncio.get_running_loop(), event))
        self._deliver()

    def _await(self, number: int) -> None:
        """Wait as long as the input is enabled."""
        rang = False
        try:
            while not rang and self._enabled >> number & 1:
                rang = self._wait(number)
        except EddyError as error:
            self.failed, rang = error, True  # who waits finds in the registers what is wrong
        finally:
            with self._lock:
                self._awaited.discard(number)
                self._pending |= rang << number
        self._deliver()

    def _deliver(self) -> None:
        with self._lock:
            waiting = self._events if self._pending & self._enabled else []
            self._events = [] if waiting else self._events
        for loop, event in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)
