# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A run's start and end, against what UG1399 says of `ap_ctrl_hs` and this block's own page of a run.

Two streams, the first to the kernel; the kernel says ready and done. The bench plays streams and kernel, in any order.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

AP_CTRL, GIE, IER, ISR, STREAM = 0x00, 0x04, 0x08, 0x0C, 0x20
START, DONE, IDLE, READY, RESTART = 1, 2, 4, 8, 0x80
STALL_CYCLES, RESET_CYCLES = 40, 16
OVERLONG, RAGGED, UNTAKEN, UNENDED, UNDONE, ABOUT = (1 << bit for bit in range(6))
"""Bits of what is told, of which the streams' numbers are the upper ones."""


class Bench:
    """The block, its registers, and a record of what it drove in each cycle."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.seen: list[dict[str, int]] = []
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "busy", "overlong", "ragged"):
            getattr(dut, f"{name}_i").value = 0
        for name in ("kernel_ready", "kernel_done", "moves"):
            getattr(dut, f"{name}_i").value = 0
        dut.kernel_quiet_i.value, dut.moved_i.value, dut.wstrb_i.value, dut.rst_ni.value = 1, 0, 15, 0
        Clock(dut.clk_i, 10, unit="ns").start()
        cocotb.start_soon(self._record())

    async def reset(self) -> None:
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 4)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)
        self.seen.clear()

    async def _record(self) -> None:
        names = ("start_o", "stop_o", "kernel_start_o", "kernel_rst_no", "running_o", "trouble_o", "irq_o")
        while True:
            await ReadOnly()
            self.seen.append({name: int(getattr(self.dut, name).value) for name in names})
            await RisingEdge(self.dut.clk_i)

    def told(self) -> int:
        """All that was told of trouble since the record began."""
        found = 0
        for cycle in self.seen:
            found |= cycle["trouble_o"]
        return found

    async def write(self, offset: int, value: int) -> None:
        self.dut.awaddr_i.value, self.dut.wdata_i.value = offset, value
        self.dut.awvalid_i.value = self.dut.wvalid_i.value = self.dut.bready_i.value = 1
        await self._until("awready_o")
        self.dut.awvalid_i.value = self.dut.wvalid_i.value = 0
        await self._until("bvalid_o")

    async def read(self, offset: int) -> int:
        self.dut.araddr_i.value, self.dut.arvalid_i.value, self.dut.rready_i.value = offset, 1, 1
        await self._until("arready_o")
        self.dut.arvalid_i.value = 0
        while True:
            await ReadOnly()
            if int(self.dut.rvalid_o.value):
                value = int(self.dut.rdata_o.value)
                await RisingEdge(self.dut.clk_i)
                return value
            await RisingEdge(self.dut.clk_i)

    async def _until(self, name: str) -> None:
        """Pass the edge at which a signal is one."""
        while True:
            await ReadOnly()
            there = int(getattr(self.dut, name).value)
            await RisingEdge(self.dut.clk_i)
            if there:
                return

    async def until(self, name: str, value: int = 1, cycles: int = 200) -> None:
        """Wait until an output is so."""
        for _ in range(cycles):
            await ReadOnly()
            if int(getattr(self.dut, name).value) == value:
                await RisingEdge(self.dut.clk_i)
                return
            await RisingEdge(self.dut.clk_i)
        raise AssertionError(f"{name} does not become {value}")

    async def pulse(self, names: Iterable[str]) -> None:
        for name in names:
            getattr(self.dut, name).value = 1
        await RisingEdge(self.dut.clk_i)
        for name in names:
            getattr(self.dut, name).value = 0


async def begin(bench: Bench) -> None:
    """Reset the block and begin a run, both streams busy."""
    await bench.reset()
    await bench.write(GIE, 1)
    await bench.write(IER, 1)
    await bench.write(AP_CTRL, START | RESTART)
    await bench.until("start_o")
    bench.dut.busy_i.value = 0b11


@cocotb.test()
async def a_run_ends_with_the_last_of_all(dut: Any) -> None:
    """Streams and kernel end in any order: done comes after the last, once, whatever else is written meanwhile."""
    rng = random.Random(4)
    bench = Bench(dut)
    await bench.reset()
    await bench.write(GIE, 1)
    await bench.write(IER, 1)
    for _ in range(24):
        bench.seen.clear()
        assert await bench.read(AP_CTRL) == IDLE
        await bench.write(AP_CTRL, START | RESTART)
        await bench.until("start_o")
        dut.busy_i.value, dut.moves_i.value = 0b11, 1
        resets = [cycle["kernel_rst_no"] for cycle in bench.seen]
        assert resets.count(0) >= RESET_CYCLES, "the kernel is reset before its run"
        assert resets[-1], "and out of reset at its start"
        told = [cycle["running_o"] for cycle in bench.seen]
        assert told == sorted(told), "a run is told from its start on"
        assert told.count(1) > RESET_CYCLES, "with its reset"
        events = ["first", "second", "kernel"]
        rng.shuffle(events)
        for number, event in enumerate(events):
            await ClockCycles(dut.clk_i, rng.randrange(1, 6))
            assert not await bench.read(AP_CTRL) & (DONE | IDLE), f"it says its end before {events[number:]}"
            await bench.write(AP_CTRL, START)
            if event == "kernel":
                assert bench.seen[-1]["kernel_start_o"], "start stays until the kernel is ready"
                await bench.pulse(["kernel_ready_i"])
                await ClockCycles(dut.clk_i, 2)
                assert not bench.seen[-1]["kernel_start_o"]
                await bench.pulse(["kernel_done_i"])
            else:
                dut.busy_i.value = int(dut.busy_i.value) & (0b10 if event == "first" else 0b01)
        await bench.until("irq_o")
        assert await bench.read(AP_CTRL) == DONE | IDLE | READY
        assert await bench.read(AP_CTRL) == IDLE, "done and ready clear on read; no restart, and no second start"
        assert await bench.read(ISR) == 1
        await bench.write(ISR, 1)
        await bench.until("irq_o", 0)
        assert [cycle["start_o"] for cycle in bench.seen].count(1) == 1
        assert not bench.told()
        dut.moves_i.value = 0


@cocotb.test()
async def a_run_that_does_not_move_is_ended_and_says_why(dut: Any) -> None:
    """Each stream, and the kernel, alone and together; streams are stopped; the kernel is reset when it is quiet."""
    bench = Bench(dut)
    for busy, done in ((0b01, 1), (0b10, 1), (0b11, 0), (0b00, 0)):
        await begin(bench)
        dut.busy_i.value = 0b11
        await bench.pulse(["kernel_ready_i"])
        if done:
            await bench.pulse(["kernel_done_i"])
        dut.kernel_quiet_i.value = 0
        for _ in range(6):
            # What moves now and then is not stuck.
            await bench.pulse(["moves_i"])
            await ClockCycles(dut.clk_i, STALL_CYCLES - 5)
        assert not bench.told(), "a run that moves is not stuck"
        dut.busy_i.value = busy
        bench.seen.clear()
        await bench.until("stop_o")
        wanted = (UNTAKEN if busy & 1 else 0) | (UNENDED if busy & 2 else 0) | (0 if done else UNDONE) | ABOUT * busy
        assert bench.told() == wanted, f"busy {busy:02b}, done {done}: told {bench.told():#x}, not {wanted:#x}"
        assert [cycle["trouble_o"] for cycle in bench.seen].count(wanted) == 1, "a cause is told once"
        await ClockCycles(dut.clk_i, 8)
        assert all(cycle["kernel_rst_no"] for cycle in bench.seen), "no reset while an access is under way"
        dut.kernel_quiet_i.value = 1
        await bench.until("kernel_rst_no", 0)
        if busy:
            await ClockCycles(dut.clk_i, 3 * RESET_CYCLES)
            assert not bench.seen[-1]["irq_o"], "a stream that is busy holds the end up"
            assert bench.seen[-1]["stop_o"]
        dut.busy_i.value = 0
        await bench.until("irq_o")
        assert await bench.read(AP_CTRL) == DONE | IDLE | READY
        await ClockCycles(dut.clk_i, 2)
        assert bench.seen[-1]["kernel_rst_no"]


@cocotb.test()
async def streams_say_what_was_amiss(dut: Any) -> None:
    bench = Bench(dut)
    await begin(bench)
    bench.seen.clear()
    dut.overlong_i.value = 0b10
    await RisingEdge(dut.clk_i)
    dut.overlong_i.value, dut.ragged_i.value = 0, 0b01
    await RisingEdge(dut.clk_i)
    dut.ragged_i.value = 0
    await ClockCycles(dut.clk_i, 2)
    told = [cycle["trouble_o"] for cycle in bench.seen if cycle["trouble_o"]]
    assert told == [OVERLONG | ABOUT * 0b10, RAGGED | ABOUT * 0b01]


@cocotb.test()
async def registers_are_those_of_hls_output(dut: Any) -> None:
    """Nothing interrupts that is not enabled; events toggle; addresses and lengths of streams read back."""
    rng = random.Random(9)
    bench = Bench(dut)
    await bench.reset()
    for _ in range(20):
        number, address, size = rng.randrange(2), rng.getrandbits(40), rng.getrandbits(32)
        base = STREAM + 0x20 * number
        for offset, value in ((0, address & 0xFFFF_FFFF), (4, address >> 32), (8, size)):
            await bench.write(base + offset, value)
            assert await bench.read(base + offset) == value
        assert int(dut.addr_o.value) >> 40 * number & (1 << 40) - 1 == address
        assert int(dut.bytes_o.value) >> 32 * number & 0xFFFF_FFFF == size
        moved = rng.getrandbits(64)
        dut.moved_i.value = moved
        assert await bench.read(base + 0x0C) == moved >> 32 * number & 0xFFFF_FFFF
    for enabled in range(4):
        await bench.write(IER, enabled)
        await bench.write(GIE, 0)
        await bench.write(AP_CTRL, START)
        await bench.until("start_o")
        await bench.pulse(["kernel_ready_i", "kernel_done_i"])
        await ClockCycles(dut.clk_i, 6)
        assert not bench.seen[-1]["irq_o"], "an interrupt without GIE"
        assert await bench.read(ISR) == enabled, "events that IER does not enable set nothing"
        await bench.write(GIE, 1)
        await ClockCycles(dut.clk_i, 3)
        assert bench.seen[-1]["irq_o"] == bool(enabled)
        await bench.write(ISR, enabled)
        assert await bench.read(ISR) == 0
        assert await bench.read(AP_CTRL) == DONE | IDLE | READY
    for offset in (0x10, 0x1C, 0x60, 0x1000):
        await bench.write(offset, 0xFFFF_FFFF)
        assert await bench.read(offset) == 0
