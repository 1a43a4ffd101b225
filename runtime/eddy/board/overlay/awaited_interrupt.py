"""An interrupt of the fabric, awaited on the board's event loop."""

from __future__ import annotations

import asyncio
from typing import Any


class AwaitedInterrupt:
    """A PYNQ interrupt that rings the board's bell."""

    def __init__(self, interrupt: Any, loop: asyncio.AbstractEventLoop, bell: asyncio.Event) -> None:
        self._interrupt, self._loop, self._bell = interrupt, loop, bell
        self._task: asyncio.Task[None] | None = None

    def arm(self) -> None:
        """Await the next interrupt."""
        if self._task is None:
            self._task = self._loop.create_task(self._interrupt.wait())
            self._task.add_done_callback(self._fired)

    def _fired(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._bell.set()

    def take_interrupt(self) -> bool:
        """Whether there was one since the line was armed."""
        if self._task is None or not self._task.done():
            return False
        self._task.result()
        self._task = None
        return True

    def forget(self) -> None:
        """Await none any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
