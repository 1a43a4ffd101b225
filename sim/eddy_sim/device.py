# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The simulated board as a PYNQ device: import this, and stock `pynq` drives it.

::

    import eddy_sim.device
    from pynq import Overlay, allocate

    overlay = Overlay("build/bitstreams/kv260/eddy.bit")
    overlay.pr_download("slot0", "build/bitstreams/kv260/dct__slot0.bit")

`SimDevice` is a `pynq.Device` with the capabilities of a Zynq UltraScale+ board: registers and memory are mapped,
partial bitstreams go through a configuration port at the profile's rate, interrupts arrive in asyncio loops, buffers
have physical addresses. Nothing of PYNQ is replaced and nothing is written outside `build/`.

Where `EDDY_LEASE` names a lease of a server, the same import makes its slot the active device instead (see
`eddy_sim.leased`).

Environment: `EDDY_PROFILE` names the board profile (default ``kv260``); `EDDY_COHERENT=1` makes memory coherent with
the CPU, which on a board it is not.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eddy_drivers.hls_accelerator
import eddy_drivers.shell  # noqa: F401 - imported, so that overlays bind the drivers
import numpy as np
from eddy.board.port.profile import Profile, load_profile
from eddy.core.errors import InvalidRequest, NotFound
from pynq.interrupt import _InterruptController
from pynq.pl_server.device import Device
from pynq.pl_server.embedded_device import EmbeddedDevice

from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.boards.download import FullImage, PartialImage, read_download
from eddy_sim.boards.faults import LoadFault
from eddy_sim.boards.interrupts import InterruptLine
from eddy_sim.boards.loader import EngineImages, LoadRefused
from eddy_sim.design.addressmap import PL_BASE, PL_BYTES
from eddy_sim.processor import standalone
from eddy_sim.processor.buffers import PageAllocator, SimMemory
from eddy_sim.processor.clocks import ProcessorClocks
from eddy_sim.processor.registers import Read32, RegisterArray, Write32
from eddy_sim.processor.simclock import SimClock
from eddy_sim.processor.tables import OverlayTables

__all__ = ["LoadRefused", "SimClock", "SimDevice"]

DEFAULT_PROFILE = "kv260"
LEASE = "EDDY_LEASE"
"""Names a lease, where a script drives a slot of a server."""
TURN_CYCLES = 10_000
"""Shell cycles that pass in one turn of a loop in which an interrupt is awaited."""
_CHUNK_S = 1e-3
"""Board time for which the board is not shared with other threads."""


def to_stderr(message: str) -> None:
    """Show progress where it does not mix with a script's output."""
    print(f"eddy: {message}", file=sys.stderr, flush=True)


class SimDevice(OverlayTables):
    """A simulated board.

    Args:
        profile: A board profile or its name; `EDDY_PROFILE` where not given.
        coherent: Whether the CPU sees memory as modules do; `EDDY_COHERENT` where not given.
        progress: Told what is being built.
        board: Makes the board when it is first needed; the default builds and starts the RTL.

    Raises:
        NotFound: There is no such profile.
    """

    _probe_priority_ = 10

    @classmethod
    def _probe_(cls) -> list[Device]:
        return [active_device()]

    def __init__(
        self,
        profile: str | Profile | None = None,
        coherent: bool | None = None,
        progress: Callable[[str], None] = to_stderr,
        board: Callable[[], SimBoard] | None = None,
    ) -> None:
        name = profile or os.environ.get("EDDY_PROFILE") or DEFAULT_PROFILE
        board_profile = load_profile(name) if isinstance(name, str) else name
        super().__init__(f"eddy_{board_profile.name}", board_profile)
        self.name = f"eddy-{self.profile.name}"
        self.capabilities = {"MEMORY_MAPPED": True, "REGISTER_RW": False, "CALLABLE": False}
        # What PYNQ asks a board to know how its clocks are laid out.
        self.arch = "aarch64"
        self.coherent = os.environ.get("EDDY_COHERENT") == "1" if coherent is None else coherent
        dram, arena = self.profile.dram, self.profile.arena
        # Below the arena is what an operating system would use; from it on, what is kept for buffers.
        self.pages = PageAllocator(arena.base, dram.base + dram.bytes - arena.base)
        self.line = InterruptLine(self)
        self._progress = progress
        self._make = board or self._start_board
        self._board: SimBoard | None = None
        self._lock = threading.RLock()
        self._clocks = ProcessorClocks(self.profile.shell_hz)
        self._clock: SimClock | None = None
        self._faults: dict[int, LoadFault] = {}

    def __deepcopy__(self, _memo: dict[int, Any]) -> SimDevice:
        """A board is one thing, however often a description that names it is copied."""
        return self

    # The board

    @property
    def sim(self) -> SimBoard:
        """The simulated board; built and started when it is first asked for."""
        if self._board is None:
            with self._lock:
                if self._board is None:
                    self._board = self._make()
                    self._board.attach(EngineImages(self.profile, self._faults, self._progress))
        return self._board

    def _start_board(self) -> SimBoard:
        return SimBoard(self.profile, coherent=self.coherent, progress=self._progress)

    # Registers and memory

    def mmap(self, base_addr: int, length: int) -> Any:
        """An array over a physical range: registers, memory (uncached), or the processor's clock pages.

        Raises:
            InvalidRequest: Nothing is there.
        """
        if base_addr % 4:
            raise InvalidRequest(f"address {base_addr:#x} is not a multiple of 4", field="base_addr")
        if base_addr >= PL_BASE and base_addr + length <= PL_BASE + PL_BYTES:
            return RegisterArray(*self._bus(), base_addr - PL_BASE, -(-length // 4))
        dram = self.profile.dram
        if dram.base <= base_addr and base_addr + length <= dram.base + dram.bytes:
            start = base_addr - dram.base
            return self.sim.device_dram[start : start + length // 4 * 4].view(np.uint32)
        clocks = self._clocks.mmap(base_addr, length)
        if clocks is None:
            raise InvalidRequest(
                f"nothing is at {base_addr:#x} to {base_addr + length:#x}; there are memory at {dram.base:#x} to"
                f" {dram.base + dram.bytes:#x} and the shell at {PL_BASE:#x} to {PL_BASE + PL_BYTES:#x}",
                field="base_addr",
            )
        return clocks

    def _bus(self) -> tuple[Read32, Write32]:
        """Register accesses that keep out of the way of a thread that steps the board; short, for they are many."""
        lock, read32, write32, touch = self._lock, self.sim.read32, self.sim.write32, self.line.touch

        def read(offset: int) -> int:
            with lock:
                return read32(offset)

        def write(offset: int, value: int) -> None:
            with lock:
                write32(offset, value)
            touch()

        return read, write

    @property
    def default_memory(self) -> SimMemory:
        """The memory `pynq.allocate` takes buffers from."""
        return SimMemory(self, self.memory_description())

    def get_memory(self, description: dict[str, Any]) -> SimMemory:
        """The memory an entry of an overlay's `mem_dict` describes."""
        return SimMemory(self, description)

    def get_memory_by_idx(self, idx: int) -> SimMemory:
        """The memory of an index, as PYNQ's XRT devices have it.

        Raises:
            NotFound: There is none.
        """
        return self._memory("idx", idx)

    def get_memory_by_name(self, name: str) -> SimMemory:
        """The memory of a name.

        Raises:
            NotFound: There is none.
        """
        return self._memory("tag", name)

    def _memory(self, key: str, wanted: Any) -> SimMemory:
        description = self.memory_description()
        if description[key] != wanted:
            raise NotFound(f"no memory {wanted!r}", field=key, allowed=[description[key]])
        return SimMemory(self, description)

    def __getattr__(self, name: str) -> Any:
        """Say of what PYNQ's devices have through XRT that there is none here.

        Raises:
            AttributeError: Always.
        """
        if hasattr(EmbeddedDevice, name):
            raise AttributeError(
                f"the simulated board has no {name}, which pynq.Device has on a board through XRT and the FPGA manager;"
                " docs/how-to/use-stock-pynq.md has the calls that work"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def memory_description(self) -> dict[str, Any]:
        """The memory that buffers are allocated from."""
        return {
            "raw_type": 1,
            "used": 1,
            "base_address": self.profile.dram.base,
            "size": self.profile.dram.bytes,
            "type": "DDR4",
            "streaming": False,
            "idx": 0,
            "tag": "PSDDR",
        }

    def flush(self, _bo: Any, _offset: int, ptr: int, size: int) -> None:
        """Write the CPU's lines of a buffer back to memory."""
        self.sim.flush(self._physical(ptr), size)

    def invalidate(self, _bo: Any, _offset: int, ptr: int, size: int) -> None:
        """Drop the CPU's lines of a buffer."""
        self.sim.invalidate(self._physical(ptr), size)

    def _physical(self, pointer: int) -> int:
        return pointer - int(self.sim.dram.ctypes.data) + self.profile.dram.base

    # Time

    @property
    def now_s(self) -> float:
        """Board seconds since the board started."""
        return self.sim.now_s

    @property
    def interrupt(self) -> bool:
        """Level of the shell's interrupt line."""
        with self._lock:
            return self.sim.irq

    @property
    def configuring(self) -> bool:
        """Whether the configuration port is at work."""
        with self._lock:
            return self.sim.config_busy

    @property
    def clocked(self) -> bool:
        """Whether a `SimClock` is in charge of time."""
        return self._clock is not None

    def claim(self, clock: SimClock) -> None:
        """Put a `SimClock` in charge of time, instead of asyncio loops and blocking downloads."""
        self._clock = clock

    def advance(self, until_s: float) -> None:
        """Let time pass until `until_s`, the end of a load, or a rise of the interrupt line if somebody awaits it."""
        stop = StopReason.CONFIG | StopReason.IRQ if self.line.awaited else StopReason.CONFIG
        while True:
            with self._lock:
                limit_s = min(until_s, self.sim.now_s + _CHUNK_S)
                if self.sim.step_until(limit_s, stop) != StopReason.DEADLINE or limit_s == until_s:
                    return

    def turn(self) -> None:
        """Let a bounded stretch of time pass, or less if something happens."""
        self.advance(self.now_s + TURN_CYCLES / self.profile.shell_hz)

    def deliver(self) -> bool:
        """Wake whoever awaits the interrupt line, if it is high; answer whether somebody was woken."""
        return self.line.deliver()

    # Bitstreams

    def set_bitfile_name(self, bitfile_name: str) -> None:
        """Take an overlay's metadata, and let its interrupts find this board's interrupt line."""
        super().set_bitfile_name(bitfile_name)
        # What PYNQ would make of a UIO file; it looks here before it looks for one.
        _InterruptController._uio_devices[_RAW_IRQ] = self.line

    def inject(self, slot: int, fault: LoadFault) -> None:
        """Let the next load of a slot go wrong."""
        self._faults[slot] = fault

    def download(self, bitstream: Any, parser: Any = None) -> None:
        """Load a bitstream and return when the configuration port is done with it.

        This is the processor's port; loads through the shell's engine are begun by its registers. A full bitstream
        resets the static region, with every slot empty. A partial one takes its bytes over the port's rate, in board
        time. If a `SimClock` is in charge and this is one of its workers, time is left to it; otherwise time passes
        here. Without a `SimClock` the slot is closed before and opened after the load: a stock script has nobody else
        to run that part of a swap.

        Raises:
            LoadRefused: The file is damaged, or for another part or shell, or the port reported an error.
        """
        image = read_download(Path(bitstream.bitfile_name), bitstream.partial, self.profile, self._progress)
        if isinstance(image, PartialImage):
            self._load_partial(image)
        else:
            if parser is None:  # `Bitstream(...).download()`: PYNQ then asks for the name of a file it never set
                parser = self.get_bitfile_metadata(bitstream.bitfile_name)
            self._load_full(image)
        super().post_download(bitstream, parser, self.name)

    def _load_full(self, image: FullImage) -> None:
        image.check()
        fresh = self._board is None
        with self._lock:
            board = self.sim
            if not fresh:
                board.reset()
            self.line.forget()

    def _load_partial(self, image: PartialImage) -> None:
        managed = self.clocked
        if not managed:
            standalone.close(self, image.slot.index)
        fault = image.fault(self._faults.pop(image.slot.index, None))
        with self._lock:
            self.sim.start_config(image.slot.index, image.program, image.bytes, fault, image.shown)
        self.await_load()
        with self._lock:
            self.sim.step_until(self.sim.now_s + _SHOWN_CYCLES / self.profile.shell_hz)
            image.check_loaded(fault, self.sim.load_error)
        if not managed:
            standalone.open(self, image.slot.index, min(image.module.clk_hz, image.slot.clk_hz))

    def await_load(self) -> None:
        """Let time pass until the load under way has ended, through whichever port; a `SimClock`'s worker waits."""
        if self._clock is not None and self._clock.park():
            return
        while self.configuring:
            self.advance(self.now_s + 1.0)


_SHOWN_CYCLES = 6
"""Cycles of the shell within which its status shows how a load ended: the port has a clock of its own. A board's kernel
takes longer to say that it has."""
_RAW_IRQ = 121
"""Interrupt of the processor that `pl_ps_irq0` is (Ref: UG1085, table of system interrupts)."""


def active_device() -> Device:
    """What PYNQ drives in this process: a slot that is leased, where the environment names one (`eddy lease env`); else
    the simulated board."""
    if not os.environ.get(LEASE):
        return SimDevice()
    # Imported here: a server's simulated board has nothing of a client.
    from eddy_sim.leased.device import LeasedDevice

    return LeasedDevice()


def _announce() -> None:
    """Make it the active device, also where PYNQ has looked for devices before this import."""
    if "_devices" in vars(Device):
        device = active_device()
        Device.devices.insert(0, device)
        Device.active_device = device


_announce()
