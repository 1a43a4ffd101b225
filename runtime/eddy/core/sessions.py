# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions: a tenant's memory on a board, and a stream of commands on it. Their states, and what is kept of them.

The tables of transitions are data: the engine may only move a session or a command along them, the test walks them, and
the page of the decision (docs/decisions/sessions.md) has them drawn.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

MAX_AFTER = 64
"""Commands that one command may name as those it comes after."""


class SessionState(str, enum.Enum):
    """Where a session is in its life."""

    WAITING = "waiting"
    """It is open, and waits for board memory."""
    RESIDENT = "resident"
    """Its memory is on the board."""
    SPILLING = "spilling"
    """Its memory is being brought to the disk; it begins nothing meanwhile."""
    SPILLED = "spilled"
    """Its memory is on the disk; the next command brings it back."""
    CLOSING = "closing"
    """It is to end: what runs is stopped, then the memory is given back."""
    CLOSED = "closed"
    """It has ended as its tenant asked, or because nobody used it."""
    LOST = "lost"
    """The board has lost what was in its memory."""

    @property
    def is_final(self) -> bool:
        """Whether a session in this state never moves again."""
        return not SESSION_TRANSITIONS[self]


class CommandState(str, enum.Enum):
    """Where a command of a session is."""

    QUEUED = "queued"
    """Taken; it waits for those it comes after, or for memory."""
    SUBMITTED = "submitted"
    """It could begin, and waits for a core."""
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Whether a command in this state never moves again."""
        return not COMMAND_TRANSITIONS[self]


_S, _C = SessionState, CommandState
SESSION_TRANSITIONS: Mapping[SessionState, frozenset[SessionState]] = MappingProxyType(
    {
        _S.WAITING: frozenset({_S.RESIDENT, _S.SPILLED, _S.CLOSING, _S.LOST}),
        _S.RESIDENT: frozenset({_S.SPILLING, _S.CLOSING, _S.LOST}),
        _S.SPILLING: frozenset({_S.SPILLED, _S.RESIDENT, _S.CLOSING, _S.LOST}),
        _S.SPILLED: frozenset({_S.WAITING, _S.CLOSING, _S.LOST}),
        _S.CLOSING: frozenset({_S.CLOSED}),
        _S.CLOSED: frozenset(),
        _S.LOST: frozenset(),
    }
)
"""From each state, the states a session may move to next."""
COMMAND_TRANSITIONS: Mapping[CommandState, frozenset[CommandState]] = MappingProxyType(
    {
        _C.QUEUED: frozenset({_C.SUBMITTED, _C.FAILED}),
        _C.SUBMITTED: frozenset({_C.RUNNING, _C.COMPLETE, _C.FAILED}),
        _C.RUNNING: frozenset({_C.COMPLETE, _C.FAILED}),
        _C.COMPLETE: frozenset(),
        _C.FAILED: frozenset(),
    }
)
"""From each state, the states a command may move to next."""


class OnPressure(str, enum.Enum):
    """What becomes of a session nobody uses at the moment when others wait for board memory."""

    SPILL = "spill"
    """Its memory goes to the disk, and comes back with its next command."""
    REFUSE = "refuse"
    """It keeps its memory; the others wait."""


MIN_BYTES, MAX_BYTES = 1 << 20, 1 << 30
"""Bounds of a session's memory: a program and its stacks need some, and cores see no more."""
DEFAULT_BYTES = 16 << 20
DEFAULT_IDLE_S, MAX_IDLE_S = 600.0, 86400.0


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a session is opened with.

    Attributes:
        memory_bytes: Board memory it has: for its buffers, its programs and their stacks.
        idle_timeout_s: Wall seconds without a command, and without one under way, after which it is closed.
        on_pressure: What becomes of it when others wait for memory.
        out_of_order: Whether commands are ordered by `after` and barriers alone; else each comes after the one before.
        priority: Of the tenant's own work, higher comes first; one of `eddy.core.jobs.PRIORITIES`.
        lease_s: Wall seconds without a batch, which may be empty, after which it is closed, whatever is under way; None
            for never.
    """

    memory_bytes: int = DEFAULT_BYTES
    idle_timeout_s: float = DEFAULT_IDLE_S
    on_pressure: OnPressure = OnPressure.SPILL
    out_of_order: bool = False
    priority: int = 1
    lease_s: float | None = None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """What is kept of a session on disk: nothing that a launch changes.

    Attributes:
        number: Counts sessions of a store, from 1.
        id: What it is called outside: drawn at random, so that it is its token as well.
        options: As it was opened with.
        opened_unix_s: Wall time.
        state: As it was last written down: `WAITING` until it ended.
        cause: Why it ended; "" while it is open.
        ended_unix_s: Wall time; None while it is open.
    """

    number: int
    id: str
    tenant: str
    options: SessionOptions = field(default_factory=SessionOptions)
    opened_unix_s: float = 0.0
    state: SessionState = SessionState.WAITING
    cause: str = ""
    ended_unix_s: float | None = None


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended.

    Attributes:
        code: Why it failed, a stable code; "" where it is complete.
        message: The same for people.
        times_s: Board seconds at which it was queued, submitted, begun and ended.
    """

    number: int
    code: str = ""
    message: str = ""
    times_s: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    data: bytes = field(default=b"", repr=False)
    log: str = ""

    @property
    def state(self) -> CommandState:
        """How it ended."""
        return CommandState.FAILED if self.code else CommandState.COMPLETE


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """What a session has done and holds, as it is shown; nothing of it is kept.

    Attributes:
        state: Where it is in its life.
        buffer_bytes: What they take of its memory.
        queued, running: Commands that have not ended.
        launches, failures: Commands that ended: launches, and any that failed.
        bytes_up, bytes_down: Of its buffers, over the network.
        bytes_kept: Of buffers that launches worked on where they were: what a job would have brought and fetched.
        core_s: Core-seconds its launches took.
        accepted: Number of the last command that was taken, all before it included.
        ended: Number of results so far.
        idle_s: Wall seconds since its last request.
    """

    state: SessionState
    buffers: int = 0
    buffer_bytes: int = 0
    queued: int = 0
    running: int = 0
    launches: int = 0
    failures: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    bytes_kept: int = 0
    core_s: float = 0.0
    accepted: int = 0
    ended: int = 0
    idle_s: float = 0.0
