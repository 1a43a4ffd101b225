# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the benches of the slot boundary share: the ports, traffic, and a model of what memory should hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiLiteRam, AxiMaster, AxiRam

CLK_PS = 10_000
RAM_BYTES = 1 << 16
SETTINGS = ("clear_path_i", "quiesce_i", "revoke_i", "slverr_i", "clear_i", "slot_irq_i")
OPENINGS = ("ctrl_open_i", "mem_open_i", "irq_open_i")
CHANNELS = (("write_if", "aw_channel"), ("write_if", "w_channel"), ("write_if", "b_channel"))
READ_CHANNELS = (("read_if", "ar_channel"), ("read_if", "r_channel"))

CAUSES = {
    0: "none",
    1: "control-timeout",
    2: "control-refused",
    3: "read-outside-window",
    4: "write-outside-window",
    5: "illegal-burst",
    6: "write-stalled",
    7: "response-stalled",
}


def pauses(rate: float, seed: int) -> Iterator[bool]:
    """Pause in a random share `rate` of the cycles."""
    rng = random.Random(seed)
    while True:
        yield rng.random() < rate


class Boundary:
    """The bench top with clocks, open gates, and no traffic yet."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.slot_clk = dut.clk_i

    async def start(self, slot_clk_ps: int = 0, *, opened: bool = True) -> None:
        """Start the clocks and reset; `slot_clk_ps` 0 puts the slot's side on the shell's clock."""
        dut = self.dut
        for name in SETTINGS:
            getattr(dut, name).value = 0
        for name in OPENINGS:
            getattr(dut, name).value = int(opened)
        dut.ctrl_timeout_i.value = 200
        dut.mem_timeout_i.value = 200
        for index in range(len(dut.window_base_i)):
            self.window(index, 0, 0, read=False, write=False, contexts=0)
        dut.rst_ni.value = 0
        # Reset must be there before the first edge.
        await Timer(1, "ns")
        Clock(dut.clk_i, CLK_PS, "ps").start()
        if slot_clk_ps:
            self.slot_clk = dut.slot_clk_i
            Clock(dut.slot_clk_i, slot_clk_ps, "ps").start()
        self.idle_slot()
        for name in ("awvalid", "wvalid", "arvalid", "bready", "rready"):
            getattr(dut, f"cpu_axil_{name}").value = 0
        await ClockCycles(dut.clk_i, 10)
        dut.rst_ni.value = 1
        await ClockCycles(dut.clk_i, 20)

    def idle_slot(self) -> None:
        """Drive nothing from the module's side."""
        for name in ("awvalid", "wvalid", "arvalid", "bready", "rready"):
            getattr(self.dut, f"slot_axi_{name}").value = 0
        for name in ("awready", "wready", "arready", "bvalid", "rvalid", "bresp", "rresp", "rdata"):
            getattr(self.dut, f"slot_axil_{name}").value = 0

    def window(
        self, index: int, base: int, last: int, *, read: bool = True, write: bool = True, contexts: int = 0xFFFF
    ) -> None:
        """Set a window, in pages."""
        for name, value in (("base", base), ("last", last), ("read", read), ("write", write), ("contexts", contexts)):
            getattr(self.dut, f"window_{name}_i")[index].value = int(value)

    async def windows_set(self) -> None:
        """Wait until the firewall has the windows; words are written one a cycle."""
        await RisingEdge(self.dut.clk_i)
        await self.until(lambda: self.dut.windows_set_o.value == 1, 100)

    def cpu(self) -> Any:
        """The CPU: a manager on the control path."""
        bus = AxiLiteBus.from_prefix(self.dut, "cpu_axil")
        return AxiLiteMaster(bus, self.dut.clk_i, self.dut.rst_ni, reset_active_level=False)

    def module_registers(self) -> Any:
        """The module's registers: a RAM at the end of the control path."""
        bus = AxiLiteBus.from_prefix(self.dut, "slot_axil")
        return AxiLiteRam(bus, self.slot_clk, self.dut.rst_ni, reset_active_level=False, size=RAM_BYTES)

    def module_manager(self) -> Any:
        """The module's own manager on the memory path."""
        bus = AxiBus.from_prefix(self.dut, "slot_axi")
        return AxiMaster(bus, self.slot_clk, self.dut.rst_ni, reset_active_level=False, max_burst_len=64)

    def memory(self) -> Any:
        """Memory, on the shell's clock."""
        bus = AxiBus.from_prefix(self.dut, "mem_axi")
        return AxiRam(bus, self.dut.clk_i, self.dut.rst_ni, reset_active_level=False, size=RAM_BYTES)

    async def cause(self) -> str:
        """Name of the fault kept, of all that happened before this cycle: it is told one cycle later."""
        await RisingEdge(self.dut.clk_i)
        return CAUSES[int(self.dut.cause_o.value)]

    async def until(self, condition: Callable[[], bool], cycles: int) -> int:
        """Wait for a condition; answer after how many cycles. Fails when it takes longer than `cycles`."""
        for cycle in range(cycles + 1):
            if condition():
                return cycle
            await RisingEdge(self.dut.clk_i)
        raise AssertionError(f"not within {cycles} cycles")


def slow(device: Any, rate: float, seed: int) -> None:
    """Make every channel of a manager or RAM pause at random."""
    for offset, (side, channel) in enumerate((*CHANNELS, *READ_CHANNELS)):
        part = getattr(getattr(device, side), channel)
        part.set_pause_generator(pauses(rate, seed * 10 + offset))


async def memory_traffic(manager: Any, rng: random.Random, rounds: int, span: int = RAM_BYTES) -> bytearray:
    """Random writes and reads against a model; answers what memory must hold at the end."""
    model = bytearray(span)
    sizes = manager.write_if.byte_lanes.bit_length()
    await manager.write(0, bytes(span))
    for _ in range(rounds):
        length = rng.choice([1, 3, 8, 17, 64, 500])
        address = rng.randrange(span - length)
        size = rng.randrange(sizes)
        if rng.random() < 0.5:
            data = rng.randbytes(length)
            answer = await manager.write(address, data, size=size)
            assert int(answer.resp) == 0
            model[address : address + length] = data
        else:
            answer = await manager.read(address, length, size=size)
            assert int(answer.resp) == 0
            assert answer.data == bytes(model[address : address + length])
    return model


async def register_traffic(cpu: Any, rng: random.Random, rounds: int) -> None:
    """Random register writes and reads against a model."""
    model: dict[int, int] = {}
    for _ in range(rounds):
        address = rng.randrange(0, 256, 4)
        if rng.random() < 0.5 or address not in model:
            model[address] = rng.getrandbits(32)
            assert int((await cpu.write_dword(address, model[address])) or 0) == 0
        else:
            assert await cpu.read_dword(address) == model[address]


async def both_ways(bench: Boundary, seed: int, rate: float, rounds: int = 25) -> None:
    """Registers and memory at once, every channel pausing in a share `rate` of its cycles."""
    cpu, manager = bench.cpu(), bench.module_manager()
    registers, memory = bench.module_registers(), bench.memory()
    if rate:
        for offset, device in enumerate((cpu, manager, registers, memory)):
            slow(device, rate, seed + offset)
    control = cocotb.start_soon(register_traffic(cpu, random.Random(seed), rounds))
    model = await memory_traffic(manager, random.Random(seed + 1), rounds, span=RAM_BYTES // 16)
    await control
    assert memory.read(0, len(model)) == bytes(model)
