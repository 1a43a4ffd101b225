# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A module on a bench: clock, reset, register access, a memory that pauses and fails on demand, and the checker.

The bus models are cocotbext-axi's; what is added is what a slot needs: windows, injected errors, HLS runs.
"""

from __future__ import annotations

import itertools
import logging
import math
import random
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlave
from eddy.core.slots import Control
from eddy.packages.modules import ModuleManifest
from eddy_drivers.regs import identity

from eddy_sim.modcheck.protocol import AllowedRange, ProtocolChecker

AP_CTRL, GIE, IER, ISR = 0x00, 0x04, 0x08, 0x0C
START, DONE, IDLE, READY, CONTINUE, AUTO_RESTART = 0x01, 0x02, 0x04, 0x08, 0x10, 0x80
IDENTITY, MAGIC = identity.MAGIC.offset, identity.MAGIC.reset
CLOCK_NS = 10


class Memory:
    """Sparse byte memory; raises (which the bus model answers with SLVERR) where told to fail."""

    def __init__(self) -> None:
        self.pages: dict[int, bytearray] = {}
        self.fail_reads: Container[int] = ()
        """Addresses at which reads fail."""
        self.fail_writes: Container[int] = ()
        self.failed = 0
        """Beats that failed."""

    def _page(self, address: int) -> bytearray:
        return self.pages.setdefault(address >> 12, bytearray(4096))

    def load(self, address: int, data: bytes) -> None:
        """Put bytes at an address."""
        for i, value in enumerate(data):
            self._page(address + i)[(address + i) & 4095] = value

    def dump(self, address: int, length: int) -> bytes:
        """Take bytes from an address."""
        return bytes(self._page(address + i)[(address + i) & 4095] for i in range(length))

    async def read(self, address: int, length: int, **_: Any) -> bytes:
        """A beat's read, for the bus model."""
        if address in self.fail_reads:
            self.failed += 1
            raise PermissionError(f"read at {address:#x} set to fail")
        page, offset = self._page(address), address & 4095
        return bytes(page[offset : offset + length])

    async def write(self, address: int, data: bytes, **_: Any) -> None:
        """A beat's write, for the bus model."""
        if address in self.fail_writes:
            self.failed += 1
            raise PermissionError(f"write at {address:#x} set to fail")
        page, offset = self._page(address), address & 4095
        page[offset : offset + len(data)] = data


def pauses(seed: int, chance: float) -> Iterator[bool]:
    """Pause with a probability, cycle by cycle."""
    return itertools.chain.from_iterable(itertools.repeat(*each) for each in spells(seed, chance))


def spells(seed: int, chance: float) -> Iterator[tuple[bool, int]]:
    """Pause with a probability in each cycle: for how many cycles it does, or does not, in turns."""
    generator = random.Random(seed)
    paused = generator.random() < chance
    while True:
        # As many cycles as a throw for each would give, which a simulator need not be woken for.
        stays = min(max(chance if paused else 1 - chance, 1e-9), 1 - 1e-9)
        yield paused, 1 + int(math.log(1 - generator.random()) / math.log(stays))
        paused = not paused


@dataclass
class Harness:
    """One module under test.

    Attributes:
        dut: The simulated top.
        manifest: Names and offsets of its registers.
        memory: What its memory port reaches.
        checker: Watches its memory port.
    """

    dut: Any
    manifest: ModuleManifest
    memory: Memory = field(default_factory=Memory)
    _pausing: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        logging.getLogger("cocotb").setLevel(logging.WARNING)
        Clock(self.dut.clk_i, CLOCK_NS, unit="ns").start()
        self.dut.rst_ni.value = 0
        self.checker = ProtocolChecker(self.dut)
        bus = AxiBus.from_prefix(self.dut, "m_axi")
        lite = AxiLiteBus.from_prefix(self.dut, "s_axil")
        reset = {"reset": self.dut.rst_ni, "reset_active_level": False}
        self.registers = AxiLiteMaster(lite, self.dut.clk_i, **reset)
        self.slave = AxiSlave(bus, self.dut.clk_i, target=self.memory, **reset)
        for channel in (self.registers.write_if, self.registers.read_if, self.slave.write_if, self.slave.read_if):
            channel.log.setLevel(logging.ERROR)
        cocotb.start_soon(self.checker.run())

    async def reset(self) -> None:
        """Hold the synchronous reset for some cycles."""
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 5)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 3)

    def pause(self, chance: float, seed: int = 1) -> None:
        """Pause every channel at random, with the same chance each; 0 never pauses."""
        channels = (
            *(self.slave.write_if.aw_channel, self.slave.write_if.w_channel, self.slave.write_if.b_channel),
            *(self.slave.read_if.ar_channel, self.slave.read_if.r_channel),
            *(self.registers.write_if.aw_channel, self.registers.write_if.w_channel),
            *(self.registers.write_if.b_channel, self.registers.read_if.ar_channel),
            self.registers.read_if.r_channel,
        )
        while self._pausing:
            self._pausing.pop().cancel()
        for i, channel in enumerate(channels):
            channel.pause = False
            if chance:
                self._pausing.append(cocotb.start_soon(self._pause(channel, seed * 16 + i, chance)))

    async def _pause(self, channel: Any, seed: int, chance: float) -> None:
        for paused, cycles in spells(seed, chance):
            channel.pause = paused
            await ClockCycles(self.dut.clk_i, cycles)

    def pause_writes(self, chance: float, seed: int = 1) -> None:
        """Pause memory's write side alone: what is read piles up inside the module, until its core is held up too."""
        self.pause(0.0)
        for i, channel in enumerate((self.slave.write_if.aw_channel, self.slave.write_if.w_channel)):
            self._pausing.append(cocotb.start_soon(self._pause(channel, seed * 16 + i, chance)))

    async def read(self, offset: int) -> int:
        """Read a register."""
        return int(await self.registers.read_dword(offset))

    async def write(self, offset: int, value: int) -> None:
        """Write a register."""
        await self.registers.write_dword(offset, value)

    async def write_bytes(self, offset: int, data: bytes) -> None:
        """Write some bytes of a register, with strobes for those only.

        The address is the register's own, as that of every access that reaches a slot: modules that decode addresses to
        the byte, as HLS writes them, need not know another one.
        """
        channel = self.registers.write_if.aw_channel
        send = channel.send

        async def aligned(request: Any) -> None:
            request.awaddr = int(request.awaddr) & ~3
            await send(request)

        channel.send = aligned
        try:
            await self.registers.write(offset, data)
        finally:
            channel.send = send

    async def arguments(self, values: Mapping[str, int]) -> None:
        """Set pointers and scalars by name."""
        for offset, value in self.manifest.writes(values):
            await self.write(offset, value)

    async def status(self) -> int:
        """The status register, zero where the module has none."""
        register = self.manifest.status
        return await self.read(register.offset) if register else 0

    async def start(self) -> None:
        """Start a run with the completion interrupt enabled, as the driver does: of a module that is at rest."""
        assert not await self.read(AP_CTRL) & DONE, "ap_done is still set from a run before, whose end was taken"
        await self.write(GIE, 1)
        await self.write(IER, 1)
        await self.write(AP_CTRL, START)

    async def done(self, max_cycles: int) -> int:
        """Wait for the interrupt, take it, and give the cycles waited.

        Raises:
            TimeoutError: It did not come within `max_cycles`.
        """
        began_ns = get_sim_time("ns")
        if not int(self.dut.irq_o.value):
            await First(RisingEdge(self.dut.irq_o), Timer(max_cycles * CLOCK_NS, "ns"))
            if not int(self.dut.irq_o.value):
                raise TimeoutError(f"no interrupt within {max_cycles} cycles of the start")
            await RisingEdge(self.dut.clk_i)
        cycles = round((get_sim_time("ns") - began_ns) / CLOCK_NS)
        if await self.read(AP_CTRL) & DONE == 0:
            raise AssertionError("the interrupt came, but ap_done reads 0")
        if self.manifest.control is Control.CHAIN:
            await self.write(AP_CTRL, CONTINUE)
        await self.write(ISR, await self.read(ISR))
        return cycles

    async def run(self, values: Mapping[str, int], max_cycles: int = 200_000) -> int:
        """Set arguments, start, wait; give the cycles the run took."""
        await self.arguments(values)
        await self.start()
        return await self.done(max_cycles)

    def grant(self, *windows: AllowedRange) -> None:
        """Say which bytes the module may touch from now on."""
        self.checker.windows = list(windows)

    def check_protocol(self) -> None:
        """Fail on anything the checker saw."""
        assert not self.checker.violations, self.checker.violations
