# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel started by a bit of its registers, between accesses of others: every access arrives once and is answered to
whom it belongs, the kernel is started once, and its end is told once.

The kernel is a model of AXI4-Lite that takes address and data in any order, with pauses, and keeps what was written.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

START, DONE, ACKNOWLEDGE = 0x10, 0x14, 0x18
START_VALUE, DONE_BIT, ACKNOWLEDGE_VALUE = 0x4, 0x20, 0x80
MINE = 0x40
"""Registers from here on are the slot's."""


_running: list[Any] = []
"""What plays the kernel and counts ends: cancelled before a new one begins."""


class Kernel:
    """Registers behind the block, and what was asked of them."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng = dut, rng
        self.words: dict[int, int] = {DONE: 0xFFFF_FFFF & ~DONE_BIT}
        self.writes: list[tuple[int, int]] = []
        for name in ("awready", "wready", "bvalid", "arready", "rvalid", "rdata"):
            getattr(dut, f"{name}_i").value = 0
        self.parts: list[Any] = []
        _running.extend((cocotb.start_soon(self._write()), cocotb.start_soon(self._read())))

    async def _taken(self, channel: str, payload: str) -> int:
        """Take something of a channel, some cycles after it is there; it must stay as it is until then."""
        valid, before = getattr(self.dut, f"{channel}valid_o"), None
        while True:
            ready = self.rng.random() < 0.5
            getattr(self.dut, f"{channel}ready_i").value = int(ready)
            await ReadOnly()
            offered = int(valid.value)
            value = int(getattr(self.dut, payload).value)
            assert before is None or (offered and value == before), f"{channel} moves before it is taken"
            before = value if offered and not ready else None
            await RisingEdge(self.dut.clk_i)
            if offered and ready:
                getattr(self.dut, f"{channel}ready_i").value = 0
                return value

    async def _answer(self, channel: str) -> None:
        await ClockCycles(self.dut.clk_i, self.rng.randrange(1, 4))
        getattr(self.dut, f"{channel}valid_i").value = 1
        while True:
            await ReadOnly()
            taken = int(getattr(self.dut, f"{channel}ready_o").value)
            await RisingEdge(self.dut.clk_i)
            if taken:
                getattr(self.dut, f"{channel}valid_i").value = 0
                return

    async def _write(self) -> None:
        while True:
            address = cocotb.start_soon(self._taken("aw", "awaddr_o"))
            data = cocotb.start_soon(self._taken("w", "wdata_o"))
            self.parts[:] = address, data
            at, value = await address, await data
            self.parts.clear()
            self.words[at] = value
            self.writes.append((at, value))
            await self._answer("b")

    async def _read(self) -> None:
        while True:
            at = await self._taken("ar", "araddr_o")
            self.dut.rdata_i.value = self.words.get(at, 0)
            await self._answer("r")


class SlotSide:
    """The slot's side: accesses that must be answered as if nobody else were there."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng, self.done = dut, rng, 0
        self.known = dict[int, int]()
        self.owed, self.stray = {"b": False, "r": False}, 0
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "go", "stop"):
            getattr(dut, f"{name}_i").value = 0
        dut.wstrb_i.value = 15

    async def _handed(self, channel: str) -> None:
        await ClockCycles(self.dut.clk_i, self.rng.randrange(3))
        getattr(self.dut, f"{channel}valid_i").value = 1
        while True:
            await ReadOnly()
            taken = int(getattr(self.dut, f"{channel}ready_o").value)
            await RisingEdge(self.dut.clk_i)
            if taken:
                getattr(self.dut, f"{channel}valid_i").value = 0
                return

    async def _answered(self, channel: str) -> int:
        self.owed[channel] = True
        await ClockCycles(self.dut.clk_i, self.rng.randrange(3))
        getattr(self.dut, f"{channel}ready_i").value = 1
        while True:
            await ReadOnly()
            there, value = int(getattr(self.dut, f"{channel}valid_o").value), int(self.dut.rdata_i.value)
            await RisingEdge(self.dut.clk_i)
            if there:
                getattr(self.dut, f"{channel}ready_i").value = 0
                self.owed[channel] = False
                return value

    async def writes(self, count: int) -> None:
        for _ in range(count):
            at, value = MINE + 4 * self.rng.randrange(8), self.rng.getrandbits(32)
            self.dut.awaddr_i.value, self.dut.wdata_i.value = at, value
            parts = [cocotb.start_soon(self._handed(channel)) for channel in ("aw", "w")]
            for part in parts:
                await part
            await self._answered("b")
            self.known[at] = value
            await ClockCycles(self.dut.clk_i, self.rng.randrange(6))

    async def reads(self, kernel: Kernel, count: int) -> None:
        for _ in range(count):
            at = MINE + 0x40 + 4 * self.rng.randrange(8)
            kernel.words.setdefault(at, self.rng.getrandbits(32))
            self.dut.araddr_i.value = at
            await self._handed("ar")
            assert await self._answered("r") == kernel.words[at], "an answer that belongs to another"
            await ClockCycles(self.dut.clk_i, self.rng.randrange(6))


async def brought_up(dut: Any, seed: int) -> tuple[Kernel, SlotSide]:
    rng = random.Random(seed)
    dut.rst_ni.value = 0
    slot = SlotSide(dut, rng)
    await ClockCycles(dut.clk_i, 3)
    dut.rst_ni.value = 1
    kernel = Kernel(dut, rng)

    async def count() -> None:
        while True:
            await ReadOnly()
            slot.done += int(dut.done_o.value)
            slot.stray += sum(int(getattr(dut, f"{each}valid_o").value) and not slot.owed[each] for each in "br")
            await RisingEdge(dut.clk_i)

    _running.append(cocotb.start_soon(count()))
    await ClockCycles(dut.clk_i, 2)
    return kernel, slot


async def taken_down(dut: Any, kernel: Kernel) -> None:
    """End what plays, then reset the block."""
    for each in (*_running, *kernel.parts):
        each.cancel()
    _running.clear()
    dut.rst_ni.value = 0
    await ClockCycles(dut.clk_i, 3)


async def pulse(dut: Any, name: str) -> None:
    getattr(dut, name).value = 1
    await RisingEdge(dut.clk_i)
    getattr(dut, name).value = 0


@cocotb.test()
async def a_kernel_is_started_once_and_its_end_is_told_once(dut: Any) -> None:
    Clock(dut.clk_i, 10, unit="ns").start()
    for seed in range(12):
        kernel, slot = await brought_up(dut, seed)
        others = [cocotb.start_soon(slot.writes(20)), cocotb.start_soon(slot.reads(kernel, 20))]
        await ClockCycles(dut.clk_i, seed)
        await pulse(dut, "go_i")
        await ClockCycles(dut.clk_i, 200)
        own = [each for each in kernel.writes if each[0] < MINE]
        assert own == [(START, START_VALUE)], f"it is started by {own}"
        assert slot.done == 0, "its end is told before it is there"
        kernel.words[DONE] |= DONE_BIT
        await ClockCycles(dut.clk_i, 200)
        own = [each for each in kernel.writes if each[0] < MINE]
        assert own == [(START, START_VALUE), (START, 0), (ACKNOWLEDGE, ACKNOWLEDGE_VALUE)], own
        assert slot.done == 1
        for other in others:
            await other
        assert not slot.stray, "the slot is given answers that it did not ask for"
        assert {at: kernel.words[at] for at in slot.known} == slot.known
        assert len([each for each in kernel.writes if each[0] >= MINE]) == 20
        await taken_down(dut, kernel)


@cocotb.test()
async def stopped_it_leaves_no_access_behind(dut: Any) -> None:
    """At any cycle: what is under way is answered, nothing new comes, and the next run is a whole one."""
    Clock(dut.clk_i, 10, unit="ns").start()
    for wait in range(0, 40, 3):
        kernel, slot = await brought_up(dut, wait)
        await pulse(dut, "go_i")
        await ClockCycles(dut.clk_i, wait)
        dut.stop_i.value = 1
        await ClockCycles(dut.clk_i, 60)
        asked = len(kernel.writes)
        assert int(dut.quiet_o.value), "something is under way long after it was stopped"
        kernel.words[DONE] |= DONE_BIT
        await ClockCycles(dut.clk_i, 60)
        assert len(kernel.writes) == asked, "it goes on after it was stopped"
        assert slot.done == 0
        dut.stop_i.value = 0
        kernel.writes.clear()
        await pulse(dut, "go_i")
        await ClockCycles(dut.clk_i, 150)
        assert [at for at, _ in kernel.writes] == [START, START, ACKNOWLEDGE]
        assert not slot.stray
        assert slot.done == 1
        await taken_down(dut, kernel)
