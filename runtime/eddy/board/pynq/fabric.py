# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the board adapter needs of the hardware, one small protocol a block.

`eddy.board.overlay` makes these of a PYNQ overlay and the drivers in `eddy_drivers`; the unit tests make them of plain
Python. `PynqBoard` and the swap see nothing below.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from eddy.board.port.port import Cause, CoreReport, MonitorCounters
from eddy.core.counters import CoreCounters, MemoryUse
from eddy.core.slots import Control
from eddy.gpu.programs.shape import ClusterShape


@dataclass(frozen=True, slots=True)
class Fault:
    """What a slot's cause register says; `cause` is `NONE` where it says nothing."""

    cause: Cause
    detail: str = ""
    context: int = 0
    """Memory context of the burst, where it was one."""
    address: int = 0
    """Physical address of the burst, where it was one."""


@dataclass(frozen=True, slots=True)
class Window:
    """A range of memory a slot may reach: whole 4 KiB pages, both ends included."""

    first_page: int
    last_page: int
    read: bool
    write: bool
    contexts: int = 1
    """Bit mask over the context numbers it holds for; a module that serves one tenant drives context 0."""


NO_WINDOW = Window(0, 0, read=False, write=False, contexts=0)
"""Lets nothing through: keeps the windows behind it in their places."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What the identity block of a module says."""

    magic: int
    kind: int
    map_major: int
    map_minor: int
    build: str
    """16 hex digits."""


@dataclass(frozen=True, slots=True)
class KernelStart:
    """What a cluster is told of a kernel.

    Attributes:
        entry: First address of the program, as the cores see it.
        argument: What warp 0 of each core finds in mscratch.
        address: Physical address of the region, a multiple of 4096.
        bytes: Its size.
        cores: Which cores run it.
        context: Memory context of its bursts.
        family: Slices of the same one may work on one region side by side; "" for a kernel by itself.
    """

    entry: int
    argument: int
    address: int
    bytes: int
    cores: tuple[int, ...]
    context: int
    family: str = ""


@dataclass(frozen=True, slots=True)
class KernelEnd:
    """A kernel that has ended, by the ticket its start gave, and what its cores say."""

    ticket: int
    cores: tuple[CoreReport, ...]


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """A slot's end of a stream: pages that go to another slot's, or come from there.

    Attributes:
        sends: Whether the slot writes them; else it reads them.
        slot: Where the other end is.
        key: The same at both ends, and nowhere else.
        first_page: Physical page number of the first of them.
        last_page: Of the last.
    """

    sends: bool
    slot: int
    key: int
    first_page: int
    last_page: int


class ShellControl(Protocol):
    """The static region's own registers."""

    def build(self) -> str:
        """Identity of the shell: 16 hex digits."""

    def clear_configuration_status(self) -> None:
        """Forget how the last load ended."""

    def configuration_error(self) -> bool:
        """Whether the configuration port reported an error since the status was cleared."""


class SlotControl(Protocol):
    """A slot's control bank: decoupler, reset, firewall, monitor."""

    def stop_memory(self) -> None:
        """Take no further memory request from the module; bursts already accepted are finished."""

    def resume_memory(self) -> None:
        """Take memory requests again."""

    def drained(self) -> bool:
        """Whether no memory burst and no register access of the slot is outstanding."""

    def revoke(self) -> None:
        """Refuse every further memory request, whatever the windows say; what was admitted goes on."""

    def admit(self) -> None:
        """Let memory requests through again, window by window."""

    def memory_drained(self) -> bool:
        """Whether nothing the slot got admitted is on its way to memory.

        While its windows are closed (revoked, stopped, or the slot closed) a yes stays true.
        """

    def decouple(self) -> None:
        """Close both paths at the slot's boundary."""

    def hold_reset(self) -> None:
        """Hold the module and both sides of its crossings in reset."""

    def release_reset(self) -> None:
        """Let the module out of reset."""

    def open_control(self) -> None:
        """Let register accesses through, and nothing else."""

    def open_memory(self) -> None:
        """Couple the memory path, on which everything is refused until `admit`, and let the interrupt through."""

    def clock_running(self) -> bool:
        """Whether the slot's clock ticks."""

    def fault(self) -> Fault:
        """The first cause recorded since `clear_fault`."""

    def clear_fault(self) -> None:
        """Forget the cause, so that the next one is recorded."""

    def open_stream(self, end: StreamEnd) -> None:
        """Set an end; the slot's end of that kind before is gone."""

    def stream_fault(self) -> Fault:
        """What went wrong at the slot's ends since they were set; `Cause.NONE` where nothing did. A module may
        pass over the error that answers it."""

    def stop_receiving(self) -> None:
        """The slot reads no stream any more: what it still asks for is answered with an error."""

    def end_sending(self) -> None:
        """The slot has sent all it will, and has drained: a reader gets what is left, then zeros."""

    def break_streams(self) -> None:
        """Both ends are gone, with all that is under way, and whoever waits at the other end waits no more. What was
        ended stays there for its reader."""

    def set_windows(self, windows: tuple[Window, ...]) -> None:
        """Make these the slot's windows and disable all others; one that stays as and where it was holds throughout."""

    @property
    def shares_cache(self) -> bool:
        """Whether the slots share a cache in front of memory."""

    @property
    def window_count(self) -> int:
        """How many windows the slot has."""

    def clear_counters(self) -> None:
        """Start the monitor from zero."""

    def snapshot(self, context: int | None) -> MonitorCounters:
        """The counters of a context, or of all together."""

    def memory_use(self, contexts: Sequence[int]) -> Mapping[int, MemoryUse]:
        """What contexts asked of memory, behind shared caches where that shows, at one instant. Differences count."""


class SlotClock(Protocol):
    """The clocking wizard of a slot."""

    def set_rate(self, hz: float) -> None:
        """Ask for a frequency; the output is not to be used until `locked`.

        Raises:
            ValueError: The wizard cannot make it.
        """

    def rate_hz(self) -> float:
        """The frequency it is set to."""

    def locked(self) -> bool:
        """Whether the output is stable."""


class ClusterDriver(Protocol):
    """A GPU cluster: kernels on disjoint sets of its cores, each with a memory context of its own."""

    @property
    def shape(self) -> ClusterShape:
        """What it is made of."""

    def start(self, kernel: KernelStart) -> int:
        """Start a kernel on idle cores, their ends raising the interrupt; answer its ticket."""

    def poll(self) -> tuple[KernelEnd, ...]:
        """Take the interrupt away; say which kernels have ended since this was last asked."""

    def halt(self, ticket: int) -> None:
        """Ask a kernel's cores to stop; its end comes with `poll`."""

    @property
    def shares_cache(self) -> bool:
        """Whether its cores share a cache."""

    def counters(self, cores: Sequence[int]) -> Mapping[int, CoreCounters]:
        """What cores have counted since their kernels began; they may be running."""


class Module(Protocol):
    """The module in a slot, through its control window."""

    @property
    def fenced(self) -> bool:
        """Whether register accesses are refused in software."""

    def fence(self) -> None:
        """Refuse register accesses from now on: what answers may be garbage."""

    def unfence(self) -> None:
        """Allow register accesses."""

    def identity(self) -> Identity:
        """Read the identity block; allowed while fenced, because it decides whether the fence goes."""

    def has_driver(self, identity: Identity) -> bool:
        """Whether there is a driver for this kind and register-map version."""

    @property
    def cluster(self) -> ClusterDriver | None:
        """The module as a GPU cluster; None where the identity read last is none's."""

    def quiesce(self) -> None:
        """Ask the module to stop: no restart after this item, no interrupts."""

    def read(self, offset: int) -> int:
        """Read one register."""

    def write(self, offset: int, value: int) -> None:
        """Write one register."""

    def unready_reason(self) -> str:
        """Why an item cannot be started: the module has an end to tell, or runs; "" where it can."""

    def is_at_rest(self) -> bool:
        """Whether nothing was started that has not ended."""

    def start(self) -> None:
        """Start an item and enable its completion interrupt."""

    def finished(self, control: Control) -> bool:
        """Whether the item started last is done; takes the completion and its interrupt away, by a protocol."""


class InterruptSource(Protocol):
    """One interrupt line."""

    def arm(self) -> None:
        """Ask to be woken once; nothing if already asked."""

    def take_interrupt(self) -> bool:
        """Whether it fired since it was armed; it must be armed again afterwards."""

    def forget(self) -> None:
        """Wake nobody any more."""


class ArenaMemory(Protocol):
    """The reserved arena: one allocation of the device, cached by the CPU, not coherent with the fabric."""

    @property
    def address(self) -> int:
        """Physical address of its first byte."""

    @property
    def bytes(self) -> npt.NDArray[np.uint8]:
        """All of it, as the CPU sees it."""

    def flush(self, start: int, end: int) -> None:
        """Write the cache lines of a range back to memory."""

    def invalidate(self, start: int, end: int) -> None:
        """Drop the cache lines of a range."""


@dataclass(frozen=True)
class SlotFabric:
    """All blocks of one slot."""

    control: SlotControl
    clock: SlotClock
    module: Module
    done: InterruptSource
    fault: InterruptSource


class Fabric(Protocol):
    """A configured static region."""

    @property
    def shell(self) -> ShellControl:
        """The shell's registers."""

    @property
    def slots(self) -> tuple[SlotFabric, ...]:
        """Its slots, by index."""

    @property
    def memory(self) -> ArenaMemory:
        """The arena."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop its interrupts live on."""

    @property
    def bell(self) -> asyncio.Event:
        """Set whenever an armed line fires."""

    def download(self, region: str, file: Path) -> None:
        """Push a partial bitstream through the configuration port; blocks until the port took it.

        Raises:
            OSError: The port refused it.
        """

    def close(self) -> None:
        """Await no interrupt any more; nothing here can be used afterwards."""
