# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One open lease: what the engine knows of it beside its record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from eddy.board.port.port import BoardEvent, Launch
from eddy.core.applications import BufferSpec
from eddy.core.errors import NotFound
from eddy.core.leases import LeaseFigures, LeaseRecord, LeaseState
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import Content, Pieces
from eddy.hypervisor.jobs.work import Fetch, JobMemory

_LEASES = 1 << 60
MAX_LEASES = (1 << 60) - 1
"""Leases that a store counts."""


def lease_job(lease: int) -> int:
    """The job that a lease is to the state machine, which holds its memory: above those of all jobs that are kept."""
    return _LEASES + lease


def lease_of(job: int) -> int | None:
    """The lease that a job is; None for any other."""
    return job - _LEASES if _LEASES < job <= _LEASES + MAX_LEASES else None


def item_of(record: LeaseRecord, slot: int) -> str:
    """What the board calls what a lease drives in a slot."""
    return f"lease.{record.number}.{slot}"


@dataclass(eq=False)
class LiveLease:
    """What is known of an open lease.

    Attributes:
        used_s: When its holder was last heard of, by a clock that never jumps.
        wanted: By slot, what it is to be loaded with.
        images: By slot, the image of the holder's own that this is; none where it is the board's image of the module.
        asked: Those of them that the machine was told of.
        loading: Slots that are being loaded for it.
        held: Slots that its holder drives.
        listening: Slots whose next interrupt somebody waits for.
        rang: Slots whose interrupt came and was not told yet.
        said: By slot, why it was closed or could not be loaded.
        used: Slots that were loaded for it.
        given: Slots that were given back.
        memory: Whether it has its memory.
        accesses, interrupts, bytes_moved: What its holder did since the server started.
    """

    record: LeaseRecord
    used_s: float
    wanted: dict[int, str] = field(default_factory=dict)
    images: dict[int, str] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    loading: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    listening: set[int] = field(default_factory=set)
    rang: set[int] = field(default_factory=set)
    said: dict[int, str] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    given: set[int] = field(default_factory=set)
    memory: bool = False
    accesses: int = 0
    interrupts: int = 0
    bytes_moved: int = 0

    def take_over(self, before: LiveLease) -> None:
        """Go on with what was known before a recovery."""
        self.used_s, self.accesses, self.interrupts = before.used_s, before.accesses, before.interrupts
        self.bytes_moved = before.bytes_moved

    def lost(self, slot: int, why: str) -> None:
        """A slot was closed under its holder, or could not be loaded."""
        for known in (self.held, self.listening, self.rang, self.asked, self.loading):
            known.discard(slot)
        self.wanted.pop(slot, None)
        self.images.pop(slot, None)
        self.said[slot] = why

    @property
    def standing(self) -> tuple[LeaseState, int, int, int]:
        """Changes with everything somebody may wait for."""
        return self.record.state, len(self.held), len(self.wanted), len(self.said)

    def figures(self, position: int, address: int, modules: dict[int, str], now_s: float) -> LeaseFigures:
        """As it is shown.

        Args:
            modules: What its slots hold.
            now_s: By the clock of `used_s`.
        """
        return LeaseFigures(
            position,
            modules,
            tuple(sorted({*self.wanted, *self.loading})),
            address,
            self.accesses,
            self.interrupts,
            self.bytes_moved,
            max(0.0, now_s - self.used_s),
            "; ".join(f"slot {slot}: {why}" for slot, why in sorted(self.said.items())),
        )


class LeaseMemory:
    """A lease as work of the engine: it has memory, zeroed, and runs nothing; see `BoardWork`."""

    def contents(self, fetch: Fetch) -> Content:
        """Zeros."""

        def content(_spec: BufferSpec, _item: int) -> Pieces:
            return ()

        return content

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> Launch:
        """None: its holder drives the slot."""
        raise NotFound("a lease runs nothing by itself", field="job")

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        """Nothing."""
        return ()

    def log(self, memory: JobMemory) -> bytes:
        """Nothing."""
        return b""

    def explain(self, event: BoardEvent, module: str) -> str:
        """Nothing."""
        return ""
