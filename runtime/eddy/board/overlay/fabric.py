"""A configured PYNQ overlay as a `Fabric`: the drivers of `eddy_drivers` over what PYNQ maps.

Images go through the device's configuration port, or through the shell's engine where the profile says so
(`EnginePort`).
"""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any

import pynq
from eddy_drivers.clocking_wizard import ClockingWizard
from eddy_drivers.icap_engine import IcapEngine
from eddy_drivers.memory_counters import MemoryCounters
from eddy_drivers.regs.axi_intc import Input
from eddy_drivers.shell import Shell
from eddy_drivers.slot_ctrl import SlotCtrl

from eddy.board.overlay.awaited_interrupt import AwaitedInterrupt
from eddy.board.overlay.blocks import blocks_of_type, single_block, window_at
from eddy.board.overlay.control_bank import ControlBank, SlotClock
from eddy.board.overlay.device_calls import DeviceCalls, StockCalls
from eddy.board.overlay.memory import FabricMemory, contiguous, reserve_arena
from eddy.board.overlay.module_window import ModuleWindow
from eddy.board.port.clock import run_due
from eddy.board.port.measured import WORD_BYTES
from eddy.board.port.profile import Profile
from eddy.board.pynq.engine_port import EnginePort
from eddy.board.pynq.fabric import SlotFabric
from eddy.core.errors import BoardFault, BoardNotReady

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
        self.slots = tuple(
            SlotFabric(
                control=ControlBank(bank, profile, index, controller),
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
        # No more than the port takes, however much memory would give: the rest is the slots'.
        engine.set_rate(profile.configuration.words_per_cycle * WORD_BYTES)
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
