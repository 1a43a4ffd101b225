# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Room in the board's memory: that of sessions nobody uses at the moment goes to the disk while others wait."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from eddy.core.errors import StorageFailed
from eddy.core.sessions import OnPressure, SessionState
from eddy.hypervisor.engine.output_writer import Spawn
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.sessions.memory import pack_memory
from eddy.hypervisor.sessions.numbers import session_job
from eddy.hypervisor.sessions.session import STEP_BYTES, Session
from eddy.store import Store

AGAIN_S = 10.0
"""Wall seconds after which it is tried again, where the disk refused."""
_log = logging.getLogger(__name__)

Put = Callable[[Callable[[float], Iterable[m.Input]]], None]
"""Puts into the keeper's inbox what is to be done in the engine's thread, at a board time."""


def choose_spill(sessions: Iterable[Session], only_of: str = "") -> Session | None:
    """The session whose memory is to go: of those that rest and let it, the one that was not used for longest.

    Args:
        only_of: Of this tenant alone; "" for any.
    """
    able = [
        each
        for each in sessions
        if each.state is SessionState.RESIDENT
        and each.record.options.on_pressure is OnPressure.SPILL
        and each.is_at_rest
        and only_of in ("", each.record.tenant)
    ]
    return min(able, key=lambda each: (each.asked_s, each.record.number), default=None)


class MemoryRoom:
    """Makes room, one session at a time.

    Args:
        spawn: Who waits for the disk.
        put: Into the keeper's inbox.
        keep: Writes a session's state down.

    Attributes:
        again_s: Wall time before which nothing is tried, because the disk refused.
    """

    def __init__(self, store: Store, spawn: Spawn, put: Put, keep: Callable[[Session, SessionState], None]) -> None:
        self._store, self._spawn, self._put, self._keep = store, spawn, put, keep
        self._reading: tuple[Session, Iterator[bytes], list[bytes]] | None = None
        """The session whose memory is read from the board, what is left of it, and what was read."""
        self.again_s = 0.0

    @property
    def is_reading(self) -> bool:
        """Whether memory is read from the board, so that there is more to do in the next step."""
        return self._reading is not None

    def forget(self) -> None:
        """What was read is of an earlier life."""
        self._reading = None

    def go_on(self) -> None:
        """Read some more of the memory that is to go; others have their turn before the rest."""
        if self._reading is None:
            return
        session, left, pieces = self._reading
        if session.state is not SessionState.SPILLING:
            self._reading = None
            return
        read = 0
        for piece in left:
            pieces.append(piece)
            read += len(piece)
            if read >= STEP_BYTES:
                return
        self._reading = None
        self._spawn(partial(self._write, session, pieces))

    def make(self, machine: Machine, sessions: Iterable[Session]) -> None:
        """Begin to bring a session's memory to the disk, for whoever has waited longest of those it helps.

        One who waits because its tenant holds as much as it may is helped by that tenant's sessions alone.
        """
        sessions = tuple(sessions)
        if any(each.state is SessionState.SPILLING for each in sessions) or time.monotonic() < self.again_s:
            return
        memory = machine.state.memory
        waiters = (machine.jobs[number] for number in memory.waiting)
        whose = {each.spec.tenant if memory.waits_for_its_own(each) else "": None for each in waiters}
        chosen = next((found for found in (choose_spill(sessions, each) for each in whose) if found), None)
        if chosen is not None:
            chosen.move(SessionState.SPILLING)
            self._reading = chosen, pack_memory(chosen), []

    def _write(self, session: Session, pieces: list[bytes]) -> None:
        """In the disk's thread."""
        try:
            self._store.sessions.write_memory(session.record.number, b"".join(pieces))
        except StorageFailed as error:
            _log.warning("session %s stays on the board: %s", session.record.id, error.message)
            self.again_s = time.monotonic() + AGAIN_S
            self._put(partial(self._stays, session))
        else:
            self._put(partial(self._spilled, session))

    def _stays(self, session: Session, now_s: float) -> list[m.Input]:
        if session.state is SessionState.SPILLING:
            session.move(SessionState.RESIDENT)
        return []

    def _spilled(self, session: Session, now_s: float) -> list[m.Input]:
        """What it holds is on the disk: its memory is given back."""
        if session.state is not SessionState.SPILLING:
            return []
        self._keep(session, SessionState.SPILLED)
        return [m.Cancel(session_job(session.record.number))]
