# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Board time of the simulated board, for whoever schedules: a hypervisor, a test.

A `SimClock` takes charge of time: from its construction on, board time passes only by register accesses and in
`wait`, and nothing that runs in a worker thread makes it pass. Worker threads and the caller take turns, one running
at a time, so a run is the same every time although it has threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from eddy.board.port.clock import run_due
from eddy.core.errors import Conflict

STRETCH_S = 1e-3
"""Board seconds between two looks at the loop, for what other threads asked of it."""


class Worker:
    """A thread that takes turns with the one that steps the board."""

    def __init__(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        self.future: Future[None] = Future()
        self._work, self._done = work, done
        self._moved = threading.Condition()
        self._state = "running"
        self.thread = threading.Thread(target=self._run, name="configuration", daemon=True)

    def begin(self) -> None:
        """Start it; return once it is parked or finished."""
        self.thread.start()
        self._until_still()

    def park(self) -> None:
        """Called by the worker: give the turn back until `resume`."""
        with self._moved:
            self._state = "parked"
            self._moved.notify_all()
            self._moved.wait_for(lambda: self._state == "running")

    def resume(self) -> None:
        """Let a parked worker go on; return once it is parked again or finished."""
        with self._moved:
            self._state = "running"
            self._moved.notify_all()
        self._until_still()

    @property
    def parked(self) -> bool:
        """Whether it waits for its turn."""
        return self._state == "parked"

    @property
    def finished(self) -> bool:
        """Whether it is done."""
        return self._state == "finished"

    def _until_still(self) -> None:
        with self._moved:
            self._moved.wait_for(lambda: self._state != "running")

    def _run(self) -> None:
        try:
            try:
                self._work()
            except BaseException as error:
                self.future.set_exception(error)
            else:
                self.future.set_result(None)
            self._done()
        finally:
            with self._moved:
                self._state = "finished"
                self._moved.notify_all()


class ClockedDevice(Protocol):
    """What a clock needs of the device whose time it lets pass."""

    @property
    def now_s(self) -> float:
        """Board seconds since the board started."""

    @property
    def configuring(self) -> bool:
        """Whether the configuration port is at work."""

    def claim(self, clock: SimClock) -> None:
        """Put a clock in charge of time."""

    def advance(self, until_s: float) -> None:
        """Let time pass until `until_s`, the end of a load, or an interrupt that is awaited."""

    def deliver(self) -> bool:
        """Wake whoever awaits the interrupt line, if it is high."""


class SimClock:
    """How time passes on a simulated board (`eddy.board.port.clock.Clock`).

    Args:
        device: The board; loops that await its interrupts stop advancing it from now on.
    """

    free_running = False

    def __init__(self, device: ClockedDevice) -> None:
        self._device = device
        self._worker: Worker | None = None
        device.claim(self)

    def now_s(self) -> float:
        """Board seconds since the board started."""
        return self._device.now_s

    def wait(self, until_s: float, loop: asyncio.AbstractEventLoop, bell: asyncio.Event) -> None:
        """Let board time pass, running the loop's callbacks, until `bell` is set or it is `until_s`.

        A download that a worker waits for is handed back to it as soon as the configuration port is done, and has
        ended when this returns or the bell rings.

        Args:
            until_s: Board time to stop at. In the past: only run the callbacks that are due.
            loop: The loop PYNQ's interrupts were made on; not running when this is called.
            bell: Set by a callback of the loop when an awaited interrupt arrives.
        """
        self._settle()
        run_due(loop)
        while not bell.is_set():
            now_s = self._device.now_s
            if now_s >= until_s:
                return
            if not self._device.deliver():
                self._device.advance(min(until_s, now_s + STRETCH_S))
                self._device.deliver()
            self._settle()
            run_due(loop)

    def start(self, work: Callable[[], None], done: Callable[[], None]) -> Future[None]:
        """Carry out a blocking call (a partial download) in a worker thread.

        Returns once the call is waiting for the configuration port, or has ended.

        Args:
            work: The call; what it raises is kept in the future.
            done: Called once the future is done, in the worker thread; must be thread safe.

        Raises:
            Conflict: Another one is under way.
        """
        if self._worker is not None and not self._worker.finished:
            raise Conflict("a download is under way; a board has one configuration port", field="slot")
        self._worker = Worker(work, done)
        self._worker.begin()
        return self._worker.future

    def park(self) -> bool:
        """Called by the device in a download: wait for the end of the configuration, if this is a worker's thread.

        Returns:
            Whether it was; if not, the caller must let the time pass itself.
        """
        worker = self._worker
        if worker is None or threading.current_thread() is not worker.thread:
            return False
        worker.park()
        return True

    def _settle(self) -> None:
        """Give the worker its turn if what it waits for has happened."""
        worker = self._worker
        if worker is not None and worker.parked and not self._device.configuring:
            worker.resume()
