# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Leases: a slot, or all slots of a board, held by a person for a stated time. Their states, and what is kept of them.

The table of transitions is data: a lease moves along it only, and the page of the decision (docs/decisions/leases.md)
has it drawn.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


class LeaseKind(str, enum.Enum):
    """What is held."""

    SLOT = "slot"
    """One slot of the pipeline pool."""
    BOARD = "board"
    """Every slot that jobs are given; operators alone."""


class LeaseState(str, enum.Enum):
    """Where a lease is in its life."""

    QUEUED = "queued"
    """It waits for a slot."""
    PREPARING = "preparing"
    """It has its slots; what runs in them ends, and its memory is got."""
    ACTIVE = "active"
    """Its holder drives the slot."""
    CLOSING = "closing"
    """It is to end: its slots are closed, then its memory is given back."""
    ENDED = "ended"

    @property
    def is_final(self) -> bool:
        """Whether a lease in this state never moves again."""
        return not LEASE_TRANSITIONS[self]


_S = LeaseState
LEASE_TRANSITIONS: Mapping[LeaseState, frozenset[LeaseState]] = MappingProxyType(
    {
        _S.QUEUED: frozenset({_S.PREPARING, _S.ENDED}),
        _S.PREPARING: frozenset({_S.ACTIVE, _S.CLOSING, _S.QUEUED}),
        _S.ACTIVE: frozenset({_S.CLOSING}),
        _S.CLOSING: frozenset({_S.ENDED}),
        _S.ENDED: frozenset(),
    }
)
"""From each state, the states a lease may move to next."""

MIN_S, DEFAULT_S, MAX_S = 10.0, 1800.0, 7 * 86400.0
"""Bounds of the time a lease is asked for; a tenant's quota may be lower."""
MIN_BYTES, DEFAULT_BYTES, MAX_BYTES = 4096, 16 << 20, 1 << 30
"""Bounds of a lease's memory on the board."""


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """What a lease is asked for with.

    Attributes:
        kind: A slot, or the board.
        lasts_s: For how long, wall seconds from its beginning.
        module: What its slot is loaded with at first; "" for nothing. Only slots that fit it are given.
        memory_bytes: Board memory that its holder's buffers lie in; 0 for what the server gives.
    """

    kind: LeaseKind = LeaseKind.SLOT
    lasts_s: float = DEFAULT_S
    module: str = ""
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What is kept of a lease on disk; what its holder does changes nothing of it.

    Attributes:
        number: Counts leases of a store, from 1.
        id: What it is called outside.
        options: As it was asked for.
        asked_unix_s: When; wall time, as all here.
        state: Where it is in its life.
        slots: What it holds, in order; empty while it is queued.
        begins_unix_s: When it became active; None before.
        ends_unix_s: When it ends by itself; None before it began.
        notice: Why it ends earlier than asked; "" where it does not.
        cause: Why it ended, or is to end; "" before.
        ended_unix_s: When it did; None before.
        reloaded: Slots that its holder had loaded with something else than what the lease was asked for with.
    """

    number: int
    id: str
    tenant: str
    options: LeaseOptions = field(default_factory=LeaseOptions)
    asked_unix_s: float = 0.0
    state: LeaseState = LeaseState.QUEUED
    slots: tuple[int, ...] = ()
    begins_unix_s: float | None = None
    ends_unix_s: float | None = None
    notice: str = ""
    cause: str = ""
    ended_unix_s: float | None = None
    reloaded: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaseFigures:
    """How an open lease stands now; nothing of it is kept.

    Attributes:
        position: Place in the queue, from 1; 0 once it has slots.
        modules: What its slots hold, by slot; "" for nothing.
        loading: Slots that are being loaded.
        memory_address: Physical address of its memory, as modules see it; 0 before it has any.
        accesses: Register accesses since the server started.
        interrupts: Interrupts that were reported since the server started.
        bytes_moved: Bytes of its memory that were read and written over the network since then.
        idle_s: Wall seconds since it was last used.
        said: Why its last load failed; "" where it did not.
    """

    position: int = 0
    modules: Mapping[int, str] = field(default_factory=dict)
    loading: tuple[int, ...] = ()
    memory_address: int = 0
    accesses: int = 0
    interrupts: int = 0
    bytes_moved: int = 0
    idle_s: float = 0.0
    said: str = ""


@dataclass(frozen=True, slots=True)
class LeaseRules:
    """What holds for all leases of a server.

    Attributes:
        idle_s: Wall seconds without a sign of its holder after which a lease ends.
        notice_s: Wall seconds of notice before a lease ends because its slot is wanted for something else.
        part: Part of the pipeline slots that tenants may hold together at most; at least one slot, and never the last
            one where there are several.
    """

    idle_s: float = 600.0
    notice_s: float = 60.0
    part: float = 0.5

    def most_slots(self, slots: int) -> int:
        """Of so many slots, how many may be held at once."""
        return max(1, min(int(slots * self.part), slots - 1)) if slots else 0
