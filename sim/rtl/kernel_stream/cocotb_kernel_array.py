# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A memory behind a kernel's ports: words of the window between runs, elements in a run, against a list of bytes."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

COUNTS = {8: 9, 12: 5, 64: 3}
"""Elements by their width, as the test says."""


class Bench:
    """The memory, and what it should hold: its elements as C lays them out, from the lowest byte on."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.sides = len(dut.en_i)
        self.width = len(dut.din_i) // self.sides
        self.enables = len(dut.we_i) // self.sides
        self.address = len(dut.addr_i) // self.sides
        self.count = COUNTS[self.width]
        self.element = next(each for each in (1, 2, 4, 8) if 8 * each >= self.width)
        row = max(self.element, 4)
        self.data = bytearray(-(-self.count * self.element // row) * row)
        self.seen = [0] * self.sides

    async def start(self) -> None:
        dut = self.dut
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "running", "en", "addr", "we", "din"):
            getattr(dut, f"{name}_i").value = 0
        Clock(dut.clk_i, 10, unit="ns").start()
        dut.rst_ni.value = 0
        await ClockCycles(dut.clk_i, 3)
        dut.rst_ni.value = 1
        await RisingEdge(dut.clk_i)

    async def _answer(self, channels: tuple[str, ...], answer: str) -> int:
        """An access, whose answer is taken late now and then."""
        dut = self.dut
        for channel in channels:
            getattr(dut, f"{channel}valid_i").value = 1
        for _ in range(50):
            await ReadOnly()
            taken = int(getattr(dut, f"{channels[0]}ready_o").value)
            await RisingEdge(dut.clk_i)
            if taken:
                break
        else:
            raise AssertionError("an access is not taken")
        for channel in channels:
            getattr(dut, f"{channel}valid_i").value = 0
        await ClockCycles(dut.clk_i, self.rng.randrange(4) or 1)
        getattr(dut, f"{answer}ready_i").value = 1
        for _ in range(50):
            await ReadOnly()
            there, value = int(getattr(dut, f"{answer}valid_o").value), int(dut.rdata_o.value)
            await RisingEdge(dut.clk_i)
            if there:
                getattr(dut, f"{answer}ready_i").value = 0
                return value
        raise AssertionError("an access is not answered")

    async def write(self, at: int, value: int, strobes: int = 15) -> None:
        dut = self.dut
        dut.awaddr_i.value, dut.wdata_i.value, dut.wstrb_i.value = at, value, strobes
        await self._answer(("aw", "w"), "b")

    async def read(self, at: int) -> int:
        self.dut.araddr_i.value = at
        return await self._answer(("ar",), "r")

    async def window(self) -> None:
        """Accesses of words, some beyond the end, and by bytes."""
        for _ in range(30):
            at = 4 * self.rng.randrange(len(self.data) // 4 + 2)
            if self.rng.random() < 0.6:
                value, strobes = self.rng.getrandbits(32), self.rng.getrandbits(4)
                await self.write(at, value, strobes)
                for lane in range(4):
                    if strobes >> lane & 1 and at + lane < self.count * self.element:
                        self.data[at + lane] = value >> 8 * lane & 0xFF
            at = 4 * self.rng.randrange(len(self.data) // 4 + 2)
            assert await self.read(at) == int.from_bytes(self.data[at : at + 4], "little"), hex(at)

    def _element(self, number: int) -> int:
        raw = self.data[number * self.element :][: self.element] if number < self.count else b""
        return int.from_bytes(raw, "little") & (1 << self.width) - 1

    async def run(self, cycles: int) -> None:
        """The kernel's accesses, of both sides, some beyond the last element and some without its enable."""
        dut, rng = self.dut, self.rng
        dut.running_i.value = 1
        known = False
        for _ in range(cycles):
            writes = []
            fields = {"en": 0, "addr": 0, "we": 0, "din": 0}
            seen = list(self.seen)
            for side in range(self.sides):
                enabled = rng.random() < 0.7 or not known
                number = rng.randrange(min(self.count + 3, 1 << self.address))
                we, value = rng.choice((0, rng.getrandbits(self.enables))), rng.getrandbits(self.width)
                fields["en"] |= enabled << side
                fields["addr"] |= number << self.address * side
                fields["we"] |= we << self.enables * side
                fields["din"] |= value << self.width * side
                if enabled:
                    seen[side] = self._element(number)
                    if we and number < self.count:
                        writes.append((number, we, value))
            for name, given in fields.items():
                getattr(dut, f"{name}_i").value = given
            await ReadOnly()
            got = int(dut.dout_o.value)
            for side in range(self.sides):
                assert not known or got >> self.width * side & (1 << self.width) - 1 == self.seen[side], f"side {side}"
            for number, we, value in writes:
                for byte in range(self.element):
                    if self.enables == 1 or we >> byte & 1:
                        self.data[number * self.element + byte] = value >> 8 * byte & 0xFF
            self.seen, known = seen, True
            await RisingEdge(dut.clk_i)
        dut.running_i.value = 0
        dut.en_i.value = 0


@cocotb.test()
async def every_element_is_what_was_written_last(dut: Any) -> None:
    bench = Bench(dut, 1)
    await bench.start()
    for _ in range(12):
        await bench.window()
        await bench.run(60)
        # What the kernel asks between runs changes nothing.
        dut.en_i.value, dut.we_i.value = (1 << bench.sides) - 1, (1 << len(dut.we_i)) - 1
        await bench.window()
        dut.en_i.value = 0


@cocotb.test()
async def the_window_is_shut_in_a_run_and_answers(dut: Any) -> None:
    bench = Bench(dut, 2)
    await bench.start()
    for at in range(0, len(bench.data), 4):
        await bench.write(at, 0)
    await bench.window()
    dut.running_i.value = 1
    dut.en_i.value, dut.we_i.value = 1, 0
    for at in range(0, len(bench.data) + 8, 4):
        assert await bench.read(at) == 0
        await bench.write(at, 0xFFFF_FFFF)
    dut.running_i.value = 0
    dut.en_i.value = 0
    for at in range(0, len(bench.data), 4):
        assert await bench.read(at) == int.from_bytes(bench.data[at : at + 4], "little")
