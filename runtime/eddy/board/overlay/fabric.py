# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A configured PYNQ overlay as a `Fabric`: the drivers of `eddy_drivers` over what PYNQ maps.

Images go through the device's configuration port, or through the shell's engine where the profile says so
(`EnginePort`).

Blocks of the static region, found by their types in the overlay's metadata and ordered by address.

That is the order of the slots in the shell's address map.
"""

from __future__ import annotations

import asyncio
import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pynq
from eddy_drivers.clocking_wizard import ClockingWizard
from eddy_drivers.hls_accelerator import HlsAccelerator
from eddy_drivers.icap_engine import IcapEngine
from eddy_drivers.memory_counters import MemoryCounters
from eddy_drivers.regs.axi_intc import Input
from eddy_drivers.shell import Shell
from eddy_drivers.slot_ctrl import SlotCtrl
from eddy_drivers.stream_port import StreamPorts

from eddy.board.overlay.control_bank import ControlBank, SlotClock
from eddy.board.overlay.device_calls import DeviceCalls, StockCalls
from eddy.board.overlay.module_window import ModuleWindow
from eddy.board.port.clock import run_due
from eddy.board.port.measured import WORD_BYTES
from eddy.board.port.pages import PAGE
from eddy.board.port.profile import Profile
from eddy.board.pynq.engine_port import EnginePort
from eddy.board.pynq.fabric import SlotFabric
from eddy.core.errors import BoardFault, BoardNotReady
from eddy.core.units import format_bytes


def reserve_arena(device: Any, profile: Profile) -> Any:
    """The arena, where the slots' ports reach it.

    Raises:
        BoardNotReady: The kernel has no room of that size, or gave memory that the profile does not know.
    """
    buffer = contiguous(device, profile.arena.bytes)
    first, last = int(buffer.device_address), int(buffer.device_address) + profile.arena.bytes
    dram = profile.dram
    if first % PAGE or not dram.base <= first <= last <= dram.base + dram.bytes:
        raise BoardNotReady(
            f"the arena was placed at {first:#x} to {last:#x}, the profile's memory is {dram.base:#x} to"
            f" {dram.base + dram.bytes:#x}; use the profile of this board, or reserve memory inside of it (cma=)",
            cause="memory-address",
        )
    return buffer


def contiguous(device: Any, size: int) -> Any:
    """A buffer that is contiguous in memory.

    Raises:
        BoardNotReady: The kernel has no room of that size.
    """
    try:
        return pynq.allocate((size,), dtype="u1", target=device)
    except RuntimeError as error:
        raise BoardNotReady(
            f"the kernel has no {format_bytes(size)} of contiguous memory ({error}); raise cma= on its command"
            " line, or lower the arena of the profile",
            cause="memory",
        ) from error


class FabricMemory:
    """The arena: one PYNQ buffer. What leaves the CPU's cache must leave the one that the slots share, too."""

    def __init__(self, buffer: Any, shell: Shell, calls: DeviceCalls) -> None:
        self._buffer, self._calls = buffer, calls
        self._shell = shell
        self.address = int(buffer.device_address)
        self.bytes: npt.NDArray[np.uint8] = np.asarray(buffer)

    def flush(self, start: int, end: int) -> None:
        """Write what the CPU wrote in a range back to memory, and drop it from the cache that slots share."""
        if end > start:
            self._calls.flush(self._buffer, start, end)
            self._shell.flush(self.address + start, end - start)

    def invalidate(self, start: int, end: int) -> None:
        """Drop a range from the CPU's cache, after what slots wrote has reached memory."""
        if end > start:
            self._calls.invalidate(self._buffer, start, end)


def _driver(overlay: Any, name: str) -> Any:
    target = overlay
    for part in name.split("/"):
        target = getattr(target, part)
    return target


def blocks_of_type(overlay: Any, kind: type) -> list[Any]:
    """Every block of a type, by address."""
    types = {re.sub(r":[^:]*$", "", vlnv) for vlnv in kind.bindto}  # type: ignore[attr-defined]
    names = [
        (int(details["phys_addr"]), name)
        for name, details in overlay.ip_dict.items()
        if re.sub(r":[^:]*$", "", str(details.get("type"))) in types
    ]
    return [_driver(overlay, name) for _, name in sorted(names)]


def single_block(overlay: Any, kind: type) -> Any:
    """The one block of a type.

    Raises:
        BoardFault: There is none, or more than one.
    """
    found = blocks_of_type(overlay, kind)
    if len(found) != 1:
        raise BoardFault(
            f"the overlay has {len(found)} blocks of type {kind.bindto[0]}, expected one;"  # type: ignore[attr-defined]
            " load an overlay that `eddy bitstreams` lists",
            cause="metadata",
        )
    return found[0]


def window_at(overlay: Any, address: int) -> tuple[HlsAccelerator, dict[str, Any]]:
    """The register window at an address, whatever its metadata calls what is in it, and what drivers of it are told."""
    for name, details in overlay.ip_dict.items():
        if details.get("phys_addr") == address:
            description = {**details, "fullpath": name, "device": overlay.device, "interrupts": {}, "gpio": {}}
            return HlsAccelerator(description), description
    raise BoardFault(f"the overlay's metadata has no register window at {address:#x}", cause="metadata")


class AwaitedInterrupt:
    """A PYNQ interrupt that rings the board's bell."""

    def __init__(self, interrupt: Any, loop: asyncio.AbstractEventLoop, bell: asyncio.Event) -> None:
        self._interrupt, self._loop, self._bell = interrupt, loop, bell
        self._task: asyncio.Task[None] | None = None

    def arm(self) -> None:
        """Await the next interrupt."""
        if self._task is None:
            self._task = self._loop.create_task(self._interrupt.wait())
            self._task.add_done_callback(self._fired)

    def _fired(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._bell.set()

    def take_interrupt(self) -> bool:
        """Whether there was one since the line was armed."""
        if self._task is None or not self._task.done():
            return False
        self._task.result()
        self._task = None
        return True

    def forget(self) -> None:
        """Await none any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None


_END_READS = 1000
"""Reads of a register, each of many cycles, within which a load that was aborted has ended."""


class OverlayFabric:
    """The fabric behind a downloaded overlay.

    Args:
        overlay: The overlay, configured.
        profile: The board's profile: how large the arena is, and how memory falls into rows.
        loop: The loop interrupts are awaited on; the thread's current one while this is made.
        calls: How the device below it is asked.

    Raises:
        BoardFault: The overlay has not the blocks a shell has.
        BoardNotReady: The interrupt has no UIO file, or the arena lies where the slots' ports do not reach.
    """

    def __init__(
        self,
        overlay: Any,
        profile: Profile,
        loop: asyncio.AbstractEventLoop,
        calls: DeviceCalls | None = None,
    ) -> None:
        self._overlay, self._calls = overlay, calls or StockCalls()
        self.loop = loop
        self.bell = asyncio.Event()
        self.shell: Shell = single_block(overlay, Shell)
        banks, wizards = blocks_of_type(overlay, SlotCtrl), blocks_of_type(overlay, ClockingWizard)
        if not len(banks) == len(wizards) == self.shell.slots:
            raise BoardFault(
                f"the shell has {self.shell.slots} slots, the overlay's metadata {len(banks)} control banks and"
                f" {len(wizards)} clocking wizards; the .hwh does not belong to the .bit",
                cause="metadata",
            )
        pins = {details["index"]: name for name, details in overlay.interrupt_pins.items() if details["controller"]}
        modules = [window_at(overlay, self.shell.module_address(index)) for index in range(len(banks))]
        # Where the controller shows nothing, rows are those the shell's monitors derive from addresses.
        controller = next(iter(blocks_of_type(overlay, MemoryCounters)), None)
        streams = single_block(overlay, StreamPorts) if profile.streams else None
        self.slots = tuple(
            SlotFabric(
                control=ControlBank(bank, profile, index, controller, streams),
                clock=SlotClock(wizard, profile),
                module=ModuleWindow(*module),
                done=self._line(pins, Input.MODULE + index),
                fault=self._line(pins, Input.FAULT + index),
            )
            for index, (bank, wizard, module) in enumerate(zip(banks, wizards, modules, strict=True))
        )
        # One allocation for as long as the process lives: memory that a slot may still write to never goes back.
        self.memory = FabricMemory(reserve_arena(overlay.device, profile), self.shell, self._calls)
        self._engine = self._engine_port(profile) if profile.configuration.by_engine else None

    def _engine_port(self, profile: Profile) -> EnginePort:
        engine: IcapEngine = single_block(self._overlay, IcapEngine)
        # What a boardd before this one began ends here; its slot is closed, like all.
        engine.abort()
        _await_end(engine)
        # No more than the port takes, however much memory would give: the rest is the slots'. A beat of it has 64 bits,
        # and uses the whole width.
        engine.set_rate(profile.configuration.words_per_cycle * WORD_BYTES * profile.memory_bits / 64)
        buffer = contiguous(self._overlay.device, max(slot.image_bytes for slot in profile.slots))
        memory = FabricMemory(buffer, self.shell, self._calls)
        turn = functools.partial(self._calls.engine_turn, self._overlay)
        return EnginePort(engine, buffer, memory.flush, turn, profile.configuration.bytes_per_s)

    def download(self, region: str, file: Path) -> None:
        """Push a partial bitstream through the configuration port.

        Raises:
            OSError, ConfigurationFailed: The port refused it.
        """
        if self._engine is None:
            self._calls.load_partial(self._overlay, region, file)
        else:
            self._engine.load(region, file)

    def close(self) -> None:
        """Await no interrupt any more, and give loop and device back."""
        self._calls.close()
        for slot in self.slots:
            slot.done.forget()
            slot.fault.forget()
        if not self.loop.is_closed():
            run_due(self.loop)
            self.loop.close()

    def _line(self, pins: dict[int, str], index: int) -> AwaitedInterrupt:
        if index not in pins:
            raise BoardFault(f"the overlay has nothing at input {index} of its interrupt controller", cause="metadata")
        try:
            return AwaitedInterrupt(pynq.Interrupt(pins[index]), self.loop, self.bell)
        except (ValueError, OSError) as error:
            raise BoardNotReady(
                f"the fabric's interrupt has no UIO file ({error}); the device tree needs a generic-uio node for GIC"
                " SPI 89, and the kernel's command line uio_pdrv_genirq.of_id=generic-uio",
                cause="interrupt",
            ) from error


def _await_end(engine: IcapEngine) -> None:
    """Back when a load that was aborted has ended; the engine bounds it itself, some 100 of the port's cycles or 41 us.

    Raises:
        BoardFault: It does not end.
    """
    for _ in range(_END_READS):
        if not engine.status().busy:
            return
    raise BoardFault(
        "the configuration engine did not end the load that was in progress when this boardd started; load the whole"
        " bitstream again (restart eddy-boardd)",
        cause="configuration-error",
    )
