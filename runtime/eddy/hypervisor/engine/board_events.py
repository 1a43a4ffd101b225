# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the board says: the engine waits for it here, and each event is read once, on the time axis of the jobs.

The board's own time restarts with the board. Jobs' time goes on: the two differ by an offset, which is stored.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence

from eddy.board.port.port import BoardEvent, BoardPort, Cause
from eddy.core.errors import EddyError
from eddy.hypervisor.engine.recovery import LastTimes
from eddy.hypervisor.jobs.messages import Input, ItemEnded, SliceEnded
from eddy.hypervisor.jobs.work import BoardWork
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.translate import to_input

ROUNDED_S = 1e-9
"""Nearer than this to the time that was waited for, it has come: a sum with the board's offset is rounded."""
BOARD_STEPS = 8
"""Steps that wait for the board after one that was only for what came, where the board's time, which may pass only
where it is waited for, stood still. Or a crowd that submits would hold all work up, and have most decisions made for
itself alone; what comes meanwhile is dealt with in these steps too, together with what the board says."""


class BoardRestarted(EddyError):
    """The board restarted: everything must be recovered."""

    code = "board-restarted"


class BoardEvents:
    """The events of one board, in order, and its time.

    Attributes:
        seen: Sequence number of the last event that was read; it is committed with what came of the event.
        now_s: Time of the jobs, as last seen.
        offset_s: Added to the board's time to give that of the jobs.
        waited: Board seconds that passed in the last call of `wait` while it waited, and wall seconds that it took.
    """

    def __init__(self, board: BoardPort) -> None:
        self._board = board
        self.seen = -1
        self.now_s, self.offset_s = 0.0, 0.0
        self.waited = 0.0, 0.0
        self._owed = 0
        """Calls of `wait` that will wait, whatever has come; see `BOARD_STEPS`."""

    def resume(self, last: LastTimes) -> None:
        """Go on after what was recovered."""
        self.seen, self.now_s, self.offset_s = last.seen, last.now_s, last.offset_s

    def read_time(self) -> None:
        """Ask the board for its time.

        Raises:
            BoardUnreachable: It does not answer.
        """
        self.now_s = self._board.now_s() + self.offset_s

    def wait(self, until_s: float, pending: bool, busy: bool) -> list[BoardEvent]:
        """Wait for the next events, and acknowledge those read before.

        Args:
            until_s: Time of the jobs, in seconds, at which the wait ends.
            pending: Whether there is something else to do, so that only what the board has already is read.
            busy: Whether the board has something to do, and must come to it in spite of that now and then.

        Returns:
            Events that were not read before, in order, with the board's own times.

        Raises:
            BoardUnreachable: It does not answer.
            BoardRestarted: It has lost everything.
        """
        before_s, waits = self.now_s, not pending or (self._owed > 0 and busy)
        until_s = until_s if waits else before_s
        began_s = time.monotonic()
        found = self._board.wait(until_s - self.offset_s, self.seen)
        took_s = time.monotonic() - began_s
        events = sorted((e for e in found if e.seq > self.seen), key=lambda event: event.seq)
        if any(event.cause is Cause.BOARD_RESTARTED for event in events):
            raise BoardRestarted("the board restarted: slots are closed and jobs continue after their last results")
        self.read_time()
        if 0 < until_s - self.now_s < ROUNDED_S:
            self.now_s = until_s
        self.waited = (self.now_s - before_s if waits else 0.0), took_s
        if waits:
            self._owed = max(0, self._owed - 1)
        elif self.now_s <= before_s:
            self._owed = BOARD_STEPS
        if events:
            self.seen = events[-1].seq
        return events

    def inputs(self, events: Iterable[BoardEvent], machine: Machine, work: Mapping[int, BoardWork]) -> Sequence[Input]:
        """The events as inputs of the machine, on the time axis of the jobs.

        Args:
            events: As `wait` returned them.
            work: Of every job that has not ended; explains a fault from what the cores of a cluster reported.
        """
        found = (self._input(event, machine, work) for event in events)
        return [message for message in found if message is not None]

    def _input(self, event: BoardEvent, machine: Machine, work: Mapping[int, BoardWork]) -> Input | None:
        if self.offset_s:
            at_s, started_s = event.at_s + self.offset_s, event.started_s + self.offset_s
            event = dataclasses.replace(event, at_s=at_s, started_s=started_s)
        message = to_input(event, machine)
        if isinstance(message, (ItemEnded, SliceEnded)) and message.cause is not Cause.NONE and event.cores:
            slot = machine.slots[message.slot]
            job = message.job if isinstance(message, SliceEnded) else slot.job
            why = work[job].explain(event, slot.module) if job is not None else ""
            return dataclasses.replace(message, detail=why or message.detail)
        return message
