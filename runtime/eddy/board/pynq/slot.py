# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the PYNQ adapter keeps of a slot, and what it refuses to launch on one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eddy.board.port.clock import Clock
from eddy.board.port.port import MAX_RESULT_BYTES, Cause, Launch, SlotPhase, SlotState
from eddy.board.pynq.arena import Arena
from eddy.board.pynq.cluster_runner import ClusterRunner
from eddy.board.pynq.fabric import Fault, SlotFabric
from eddy.board.pynq.held_runner import HeldRunner
from eddy.board.pynq.hls_runner import HlsRunner
from eddy.board.pynq.interrupt_lines import ThrottledLine
from eddy.board.pynq.memory_gate import MemoryGate
from eddy.board.pynq.runner import Runner, RunnerParts
from eddy.board.pynq.slot_accounts import SlotAccounts
from eddy.core.errors import Conflict, ImageRefused, InvalidRequest
from eddy.core.slots import Control, Image
from eddy.core.units import format_bytes
from eddy.packages.modules import FIRST_ARGUMENT, IDENTITY_OFFSET

NO_FAULT = Fault(Cause.NONE)


@dataclass
class BoardSlot:
    """What the board knows about a slot beyond its hardware.

    Attributes:
        hardware: Its blocks.
        done: The interrupt of the module in it.
        gate: What it may reach of memory: while an item runs, what was granted; otherwise nothing.
        accounts: On whose account its contexts are.
        phase: What it is doing.
        image: sha256 of what it holds.
        held: What that is, from the load on.
        since_s: Board time at which its phase began.
        idle_fault: Why it was closed while it ran nothing: there was no item to say it of, so the next launch says it.
        runner: What runs on the module it holds; None while it is empty, loading or faulted.
    """

    hardware: SlotFabric
    done: ThrottledLine
    gate: MemoryGate
    accounts: SlotAccounts
    phase: SlotPhase = SlotPhase.EMPTY
    image: str = ""
    held: Image | None = None
    since_s: float = 0.0
    idle_fault: Fault = NO_FAULT
    runner: Runner | None = None

    @property
    def launches(self) -> tuple[Launch, ...]:
        """What it runs: one item, or kernels on disjoint cores."""
        return () if self.runner is None else self.runner.launches

    @property
    def limit_s(self) -> float:
        """Board time at which the first time limit of what it runs comes."""
        return float("inf") if self.runner is None else self.runner.next_limit_s()

    @property
    def can_start_item(self) -> bool:
        """Whether an item may start: nothing runs, or what runs shares the module."""
        return self.phase is SlotPhase.IDLE or (self.runner is not None and self.runner.can_share)

    @property
    def next_check_s(self) -> float:
        """Board time at which it must be seen to, whether it rings or not."""
        return min(self.limit_s, self.done.rests_until_s)


def make_runner(index: int, slot: BoardSlot, clock: Clock, arena: Arena, control: Control) -> Runner:
    """The runner for the module that a slot was just loaded with, by what the module says it is.

    Args:
        index: Number of the slot.
        slot: The slot.
        clock: Board time.
        arena: Where buffers are.
        control: How an accelerator is started and says that it is done, by its image.
    """
    parts = RunnerParts(index, slot.hardware, slot.done, slot.gate, clock, arena, slot.accounts)
    cluster = slot.hardware.module.cluster
    return HlsRunner(parts, control) if cluster is None else ClusterRunner(parts, cluster)


def make_held_runner(index: int, slot: BoardSlot, clock: Clock, arena: Arena) -> HeldRunner:
    """The runner of an accelerator that its caller drives itself, until the slot is closed.

    Raises:
        InvalidRequest: The slot holds a GPU cluster.
    """
    if slot.hardware.module.cluster is not None:
        raise InvalidRequest(f"slot {index} holds a GPU cluster; only accelerators are held", field="held")
    parts = RunnerParts(index, slot.hardware, slot.done, slot.gate, clock, arena, slot.accounts)
    return HeldRunner(parts)


def holder_of(index: int, slot: BoardSlot, item: str) -> HeldRunner:
    """What holds a slot for an item.

    Raises:
        Conflict: That item does not hold it.
    """
    runner = slot.runner
    if not isinstance(runner, HeldRunner) or not any(each.item == item for each in runner.launches):
        raise Conflict(f"slot {index} is not held by {item!r:.80}", field="item", phase=slot.phase.value)
    return runner


def check_launch(launch: Launch, running: Iterable[str]) -> None:
    """Check what every launch must be.

    Args:
        launch: The launch.
        running: Names of the items that run on the board.

    Raises:
        InvalidRequest: A register, its value or the time limit cannot be.
        Conflict: An item of that name runs.
    """
    for offset, value in launch.registers:
        _check_offset(offset, "registers")
        if not 0 <= value < 1 << 32:
            raise InvalidRequest(f"register value {value} has more than 32 bits", field="registers")
    if launch.status != -1:
        _check_offset(launch.status, "status")
    for result in launch.results:
        _check_offset(result.offset, "results")
        if not 0 < result.bytes <= MAX_RESULT_BYTES:
            allowed = f"1 to {format_bytes(MAX_RESULT_BYTES)}"
            raise InvalidRequest(f"a result has {allowed}, not {result.bytes}", field="results", allowed=allowed)
        _check_offset(result.offset + 4 * ((result.bytes - 1) // 4), "results")
    if not launch.time_limit_s > 0:
        raise InvalidRequest("a time limit is more than zero seconds", field="time_limit_s", allowed="> 0")
    if launch.item in running:
        raise Conflict("an item of that name runs already", field="item", item=launch.item)


def slot_busy_error(index: int, slot: BoardSlot) -> Conflict:
    """Why nothing can be launched on a slot; `details["cause"]` where the module in it misbehaved on its own."""
    phase, fault = slot.phase.value, slot.idle_fault
    if fault.cause is Cause.NONE:
        return Conflict(f"slot {index} is {phase}, not idle", field="slot", phase=phase)
    return Conflict(
        f"slot {index} was closed while it ran nothing ({fault.detail}); load it again",
        field="slot",
        phase=phase,
        cause=fault.cause.value,
    )


def resettable_image(index: int, slot: BoardSlot) -> Image:
    """What an idle slot holds, if a reset scrubs it.

    Raises:
        Conflict: The slot is not idle.
        ImageRefused: Nobody verified that a reset scrubs what it holds.
    """
    if slot.phase is not SlotPhase.IDLE or slot.held is None:
        raise slot_busy_error(index, slot)
    if not slot.held.scrubs:
        raise ImageRefused(
            f"no trusted record says that a reset scrubs {slot.held.module}, build {slot.held.build}; load slot {index}"
            " again for another tenant",
            reason="not-scrubbed",
        )
    return slot.held


def buffer_in_use_error(buffer: int, index: int, launch: Launch) -> Conflict:
    """A buffer that an item may touch is not to be given back."""
    message = f"buffer {buffer} is granted to an item on slot {index}, which still runs; stop it or wait for it"
    return Conflict(message, field="buffer", item=launch.item)


def _check_offset(offset: int, field: str) -> None:
    if offset % 4 or not FIRST_ARGUMENT <= offset < IDENTITY_OFFSET:
        raise InvalidRequest(
            f"register offset {offset:#x} is not an argument's",
            field=field,
            allowed="multiples of 4 from 0x10 to below 0xF000",
        )


def slot_state(index: int, slot: BoardSlot) -> SlotState:
    """What `state` says of a slot."""
    items = tuple(launch.item for launch in slot.launches)
    return SlotState(index, slot.phase, slot.image, items[0] if items else "", slot.since_s, items)
