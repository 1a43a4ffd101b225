# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Faults that a simulated board can be told to have.

A fault is a value given to `SimBoard.start_config` (it acts on that load), or to `SimBoard.faults` (it acts on
whatever is in the slot). `ROGUES` are modules that answer registers like a sound one and misbehave once they are
started; they take the place of the module that the image should have brought, and show its identity.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields

from eddy_drivers.regs.icap_engine import Cause


class BoundaryFault(enum.IntFlag):
    """What is wrong between a sound module and the shell."""

    NONE = 0
    MUTE = 1
    """The module never answers and never asks: every output is low."""
    WRONG_IDENTITY = 2
    """The identity block reads wrong."""


class Behaviour(str, enum.Enum):
    """What a rogue module does after a write of 1 to its register 0 (AP_CTRL.start)."""

    SOUND = "sound"
    """Writes one word to the address in registers 0x10 (low) and 0x14 (high), raises done and its interrupt."""
    HANG = "hang"
    """Nothing: it never is done. Registers still answer."""
    SILENT = "silent"
    """Stops answering registers."""
    FLOOD = "flood"
    """Reads 2 KiB bursts from the address in 0x10 as fast as the bus takes them, for ever."""
    READ_OUTSIDE = "read-outside"
    """Reads from the address in 0x10, wherever that is, once; then done."""
    WRITE_OUTSIDE = "write-outside"
    """Writes 64 bytes to the address in 0x10, wherever that is, once; then done."""
    STALL_WRITE = "stall-write"
    """Announces a write burst and never delivers its data."""
    STALL_RESPONSE = "stall-response"
    """Asks for a read burst and never takes the answer."""
    ILLEGAL_BURST = "illegal-burst"
    """Asks for a burst that crosses 4 KiB."""
    INTERRUPT = "interrupt"
    """Holds its interrupt high for ever."""
    TOGGLE = "toggle"
    """Raises and lowers its interrupt for ever, 64 cycles of its clock each."""
    FLOOD_WRITE = "flood-write"
    """Writes 2 KiB bursts to the address in 0x10 as fast as the bus takes them, for ever."""
    DRIBBLE_WRITE = "dribble-write"
    """Writes such bursts, a beat every 18 cycles of its clock at most."""
    LATE_OUTSIDE = "late-outside"
    """Does as a sound one, and 1,000 cycles after it is done writes 64 bytes to the page after the address in 0x10."""
    TRAFFIC = "traffic"
    """Reads or writes bursts of one shape, as registers 0x18 to 0x28 say (`cpp/traffic.hpp`), so many or for ever."""


class DoneClaim(enum.IntEnum):
    """When a module that lies says that its item is done."""

    AT_START = 0
    ASKED = 1
    """When its first request was taken."""
    ANSWERED = 2
    """When its first request was answered, and others were not."""
    NEVER = 3


@dataclass(frozen=True, slots=True)
class Liar:
    """How a module lies about being done. All it asks for lies in `span` bytes from the address in `pointer`.

    Attributes:
        reads: Whether it reads.
        writes: Whether it writes (the word `LIE`).
        len: AxLEN: beats of a burst, less one.
        size: AxSIZE.
        burst: AxBURST: 0 FIXED, 1 INCR, 2 WRAP.
        when: When it says that it is done.
        delay: Cycles of its clock from the start to its first request.
        pause: Cycles between requests.
        total: Requests in all; 0 for ever.
        outstanding: Requests under way, for reads and for writes each.
        contexts: Memory contexts it takes in turn, from 0.
        ids: Ids it takes in turn.
        hold_w: Cycles it holds back each beat of write data.
        hold_r: Cycles it lets each beat of read data wait.
        hold_b: Cycles it lets each write answer wait.
        pointer: Offset of the register that holds its address.
        span: Bytes it goes through.
        cores: Where it is a GPU cluster: how many cores it says it has. Core 0 lies in its kernel's region and context,
            and core 1 runs until it is halted. 0 for an accelerator.
    """

    reads: bool = False
    writes: bool = False
    len: int = 0
    size: int = 3
    burst: int = 1
    when: DoneClaim = DoneClaim.AT_START
    delay: int = 0
    pause: int = 0
    total: int = 0
    outstanding: int = 1
    contexts: int = 1
    ids: int = 1
    hold_w: int = 0
    hold_r: int = 0
    hold_b: int = 0
    pointer: int = 0x10
    span: int = 4096
    cores: int = 0

    def options(self) -> str:
        """What `liar.cpp` is told."""
        return " ".join(f"{field.name}={int(getattr(self, field.name))}" for field in fields(self))


LIE = (0x11E5_11E5_11E5_11E5).to_bytes(8, "little")
"""What a `Liar` writes."""


ENGINE_CAUSES = {
    Cause.PORT_ERROR: 1,
    Cause.WRONG_CRC: 2,
    Cause.MEMORY_ERROR: 2,
    Cause.NOT_DONE: 3,
    Cause.PORT_LOST: 4,
}
"""What a device or its memory can do to a load through the engine, and how the port then behaves."""
_MEMORY_FAULTS = {Cause.WRONG_CRC: 1, Cause.MEMORY_ERROR: 2}


@dataclass(frozen=True, slots=True)
class LoadFault:
    """How one load goes wrong.

    Attributes:
        fails: The load does not end well; the slot is left with noise. The processor's port reports an error at the
            end.
        slowdown: The processor's port takes this many times as long; the engine's words come as they come.
        boundary: What is wrong with the module that comes up.
        rogue: Load this misbehaving module instead of the image's.
        liar: Load a module that lies about being done instead.
        cause: What the configuration engine calls a load that fails through it: one of `ENGINE_CAUSES`.
    """

    fails: bool = False
    slowdown: float = 1.0
    boundary: BoundaryFault = BoundaryFault.NONE
    rogue: Behaviour | None = None
    liar: Liar | None = None
    cause: Cause = Cause.PORT_ERROR

    def __post_init__(self) -> None:
        if self.fails and self.cause not in ENGINE_CAUSES:
            known = ", ".join(each.name.lower() for each in ENGINE_CAUSES)
            raise ValueError(f"no device makes an engine end with {self.cause.name.lower()}; it may be {known}")

    @property
    def outcome(self) -> int:
        """How the port behaves (`config_port.h`)."""
        return ENGINE_CAUSES[self.cause] if self.fails else 0

    @property
    def memory_fault(self) -> int:
        """What is wrong with a beat that the engine reads (`board.h`)."""
        return _MEMORY_FAULTS.get(self.cause, 0) if self.fails else 0


FAILED_LOAD = LoadFault(fails=True)
"""The configuration port reports an error."""
DEAD_IMAGE = LoadFault(boundary=BoundaryFault.MUTE)
"""The load succeeds, but nothing comes up."""
WRONG_IDENTITY = LoadFault(boundary=BoundaryFault.WRONG_IDENTITY)
"""The load succeeds, but the module is not what it should be."""


def slow_port(times: float) -> LoadFault:
    """The port takes `times` as long as its rate says."""
    return LoadFault(slowdown=times)


def rogue(behaviour: Behaviour) -> LoadFault:
    """The load brings a module that misbehaves once it is started."""
    return LoadFault(rogue=behaviour)
