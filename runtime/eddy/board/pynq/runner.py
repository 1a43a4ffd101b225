# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What runs on the module in a slot: one protocol for every kind of module.

The board opens and closes slots, keeps time and records events; a runner starts items on the module that a slot holds,
sees which have ended, and halts them. The board asks runners only through this protocol, never which kind of module it
has before it: another kind of module is another runner, chosen in `slot.make_runner`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from eddy.board.port.clock import Clock
from eddy.board.port.port import Cause, CoreReport, Launch
from eddy.board.pynq.arena import Arena
from eddy.board.pynq.fabric import SlotFabric
from eddy.board.pynq.interrupt_lines import ThrottledLine
from eddy.board.pynq.memory_gate import MemoryGate
from eddy.board.pynq.slot_accounts import SlotAccounts
from eddy.core.counters import CoreCounters


@dataclass(frozen=True)
class EndedItem:
    """An item that has ended, and how: `Cause.NONE` is a success."""

    launch: Launch
    started_s: float
    cause: Cause = Cause.NONE
    detail: str = ""
    cores: tuple[CoreReport, ...] = ()


class SlotFailed(Exception):
    """The slot as a whole went wrong: everything in it ends, and it must be closed."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause, self.detail = cause, detail


class StartFailed(Exception):
    """A start that left the slot in a state nobody can vouch for: it must be closed.

    Args:
        error: What the caller of the start is to see.
        detail: What the other items of the slot are told; they end with it.
    """

    def __init__(self, error: BaseException, detail: str) -> None:
        super().__init__(detail)
        self.error, self.detail = error, detail


@dataclass(frozen=True)
class RunnerParts:
    """What a runner works with.

    Attributes:
        index: Number of the slot.
        hardware: Blocks of the slot.
        done: The interrupt of the module.
        gate: What the module may reach of memory.
        clock: Board time.
        arena: Where buffers are.
        accounts: On whose account the slot's contexts are.
    """

    index: int
    hardware: SlotFabric
    done: ThrottledLine
    gate: MemoryGate
    clock: Clock
    arena: Arena
    accounts: SlotAccounts


class Runner(Protocol):
    """Runs items on the module of one slot, from its load until the slot is closed."""

    @property
    def can_share(self) -> bool:
        """Whether an item may start beside others that run."""

    @property
    def launches(self) -> tuple[Launch, ...]:
        """What runs, in the order of its start. Their grants are the buffers that are lent."""

    def next_limit_s(self) -> float:
        """Board time at which the first time limit comes; infinite where nothing runs."""

    def start(self, launch: Launch) -> None:
        """Let the item reach what it is granted, and start it.

        Raises:
            EddyError: It cannot be started; nothing has changed.
            StartFailed: It was begun and failed: the slot must be closed.
        """

    def service(self, fault: bool, done: bool) -> None:
        """See which items have ended by themselves, by a fault or by their time limit.

        Args:
            fault: Whether the slot's fault line rang.
            done: Whether the module's interrupt did.

        Raises:
            SlotFailed: The slot as a whole has a fault.
        """

    def stop(self, item: str) -> None:
        """End one item, or all with ``""``; nothing where it does not run.

        Raises:
            SlotFailed: It does not stop.
        """

    def abandon_all(self, cause: Cause, detail: str) -> None:
        """End everything without asking the module, which may not answer; the slot is about to be closed."""

    def take_ended(self) -> tuple[EndedItem, ...]:
        """What has ended since this was last asked, in order."""

    def take_interrupt(self) -> str:
        """The item whose caller listens for the module's interrupt, where it came since this was last asked; "" for
        none. Only what is held has one."""

    def running_counters(self) -> tuple[tuple[str, CoreCounters], ...]:
        """What cores that run have counted so far, and on whose account; nothing for modules without cores."""
