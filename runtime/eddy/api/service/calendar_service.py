# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Maintenance windows are kept: their slots are drained before they begin, and back in use after they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Set

import anyio
import anyio.to_thread
import structlog

from eddy.api.dependencies.context import Context
from eddy.core.errors import EddyError
from eddy.core.maintenance import closing_times, drain_changes

PERIOD_S = 1.0
"""Wall seconds between two looks: by so much a window may be late."""
AHEAD_S = 86_400.0
"""How long before slots close jobs are held back that could not end before: what takes longer than a day begins all the
same."""
SAY_AGAIN_S = 5.0
"""Wall seconds after which the engine is told again in how long slots close, and looks at every job again."""
_log = structlog.get_logger("eddy.api")


class CalendarService:
    """Drains and undrains slots by calendar. What is to be so follows from windows and clock alone, so a server that
    was down, or whose clock was set, does what is right from its next look on.

    Args:
        wall_s: Seconds since 1970.
    """

    def __init__(self, context: Context, wall_s: Callable[[], float] = time.time) -> None:
        self._context, self._wall_s = context, wall_s
        self._told: Set[int] = frozenset()
        """Slots that the engine was last told close soon."""
        self._again_s = 0.0

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            try:
                await self.keep()
            except EddyError as error:  # the disk, or the board: asked again
                _log.warning("the maintenance calendar waits", code=error.code, cause=error.message)
            await anyio.sleep(PERIOD_S)

    async def keep(self) -> None:
        """Have slots as the calendar wants them now.

        Raises:
            StorageFailed: A change cannot be kept; what was kept is in force.
        """
        context = self._context
        if not context.ready or context.hypervisor.unreachable_reason:
            return
        windows, now_s, given = context.store.maintenance.all(), self._wall_s(), context.hypervisor.usable_slots
        drained = {each.slot: each.drained for each in context.hypervisor.slots() if each.slot in given}
        for slot, because in drain_changes(windows, drained, now_s).items():
            await anyio.to_thread.run_sync(self._note, slot, because)
            await context.hypervisor.operator.drain(slot, because)
        closing = {s: at for s, at in closing_times(windows, drained, now_s).items() if at[0] <= AHEAD_S}
        if closing and now_s < self._again_s and closing.keys() == self._told:
            return
        if closing or self._told:
            await context.hypervisor.operator.close_soon(closing)
        self._told, self._again_s = closing.keys(), now_s + SAY_AGAIN_S

    def _note(self, slot: int, because: str) -> None:
        action = "drain-slot" if because else "undrain-slot"
        facts = {"slot": slot, "because": because, "by": "calendar"}
        self._context.store.audit.note(self._context.hasher.hash, "", "", action, facts)
