"""Faults that a simulated board can be told to have.

A fault is a value given to `SimBoard.start_config` (it acts on that load), or to `SimBoard.set_slot_fault` (it acts on
whatever is in the slot). `ROGUES` are modules that answer registers like a sound one and misbehave once they are
started; they take the place of the module that the image should have brought, and show its identity.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
    FLOOD_WRITE = "flood-write"
    """Writes 2 KiB bursts to the address in 0x10 as fast as the bus takes them, for ever."""
    DRIBBLE_WRITE = "dribble-write"
    """Writes such bursts, a beat every 18 cycles of its clock at most."""
    LATE_OUTSIDE = "late-outside"
    """Does as a sound one, and 1,000 cycles after it is done writes 64 bytes to the page after the address in 0x10."""


@dataclass(frozen=True, slots=True)
class LoadFault:
    """How one load goes wrong.

    Attributes:
        fails: The configuration port reports an error at the end; the slot is left with noise.
        slowdown: The port takes this many times as long.
        boundary: What is wrong with the module that comes up.
        rogue: Load this misbehaving module instead of the image's.
    """

    fails: bool = False
    slowdown: float = 1.0
    boundary: BoundaryFault = BoundaryFault.NONE
    rogue: Behaviour | None = None


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
