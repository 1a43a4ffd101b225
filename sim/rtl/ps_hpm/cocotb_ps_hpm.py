# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The adapter from the processing system's manager port: bursts of every kind against AXI's rules for addresses.

A model of the shell keeps every access in order and answers some with errors; what should have been asked is worked out
beat by beat from A3.4.1, and compared.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

FIXED, INCR, WRAP = 0, 1, 2
WINDOW = 1 << 24


@dataclass(frozen=True)
class Burst:
    id: int
    addr: int
    len: int
    size: int
    burst: int

    def words(self) -> list[int]:
        """The register that each beat falls into."""
        step = 1 << self.size
        start = self.addr // step * step
        beats = [self.addr, *(start + step * beat for beat in range(1, self.len + 1))]
        if self.burst == FIXED:
            beats = [self.addr] * (self.len + 1)
        if self.burst == WRAP:
            extent = step * (self.len + 1)
            low = self.addr // extent * extent
            beats = [low + (beat - low) % extent for beat in beats]
        return [beat % WINDOW // 4 * 4 for beat in beats]


def draw(rng: random.Random) -> Burst:
    """A burst that AXI4 allows on a port of 32 bits."""
    kind, size = rng.choice((FIXED, INCR, INCR, WRAP)), rng.randrange(3)
    page = rng.getrandbits(28) << 12
    if kind == WRAP:
        length, addr = rng.choice((2, 4, 8, 16)), rng.randrange(4096) >> size << size
    else:
        addr = rng.randrange(4096)
        room = (4096 >> size) - (addr >> size)
        length = min(rng.choice((1, 1, 1, 2, 4, 16, 40) if kind == INCR else (1, 2, 16)), room)
    return Burst(rng.getrandbits(16), page | addr, length - 1, size, kind)


class Bench:
    """The processing system and the shell, around the adapter."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.reads: deque[Burst] = deque()
        self.writes: deque[Burst] = deque()
        self.data: deque[tuple[int, int, bool]] = deque()
        self.expected_reads: deque[tuple[int, int, bool]] = deque()
        self.expected_writes: deque[tuple[int, int, int]] = deque()
        self.expected_answers: deque[tuple[int, int]] = deque()
        self.read_addresses: deque[int] = deque()
        self.shell: dict[str, Any] = {"aw": None, "w": None, "ar": None}

    @staticmethod
    def read_answer(address: int) -> tuple[int, int]:
        """What the model's register holds, and its response."""
        return address * 2654435761 & 0xFFFFFFFF, 2 if address & 0x1C0 == 0x40 else 0

    @staticmethod
    def write_answer(address: int) -> int:
        return {0x40: 2, 0x80: 3}.get(address & 0x1C0, 0)

    def plan(self, burst: Burst, write: bool) -> None:
        words = burst.words()
        if not write:
            self.reads.append(burst)
            self.read_addresses.extend(words)
            self.expected_reads.extend((burst.id, word, beat == burst.len) for beat, word in enumerate(words))
            return
        self.writes.append(burst)
        worst = 0
        for beat, word in enumerate(words):
            value, strobe = self.rng.getrandbits(32), self.rng.choice((0, 1, 0xC, 0xF, 0xF))
            self.data.append((value, strobe, beat == burst.len))
            if strobe:
                self.expected_writes.append((word, value, strobe))
                worst = max(worst, self.write_answer(word))
        self.expected_answers.append((burst.id, worst))

    async def start(self) -> None:
        dut = self.dut
        for name in ("s_axi_awvalid", "s_axi_wvalid", "s_axi_arvalid", "s_axi_bready", "s_axi_rready"):
            getattr(dut, name).value = 0
        for name in ("m_axil_awready", "m_axil_wready", "m_axil_arready", "m_axil_bvalid", "m_axil_rvalid"):
            getattr(dut, name).value = 0
        dut.rst_ni.value = 0
        Clock(dut.clk_i, 10, "ns").start()
        await ClockCycles(dut.clk_i, 3)
        await FallingEdge(dut.clk_i)
        for name in ("s_axi_bvalid", "s_axi_rvalid", "m_axil_awvalid", "m_axil_wvalid", "m_axil_arvalid"):
            assert getattr(dut, name).value == 0
        dut.rst_ni.value = 1

    async def cycle(self, rate: float) -> None:
        dut, rng = self.dut, self.rng
        for side, queue in (("aw", self.writes), ("ar", self.reads)):
            valid = getattr(dut, f"s_axi_{side}valid")
            if not valid.value and queue and rng.random() < rate:
                for field in ("id", "addr", "len", "size", "burst"):
                    getattr(dut, f"s_axi_{side}{field}").value = getattr(queue[0], field)
                valid.value = 1
        if not dut.s_axi_wvalid.value and self.data and rng.random() < rate:
            dut.s_axi_wdata.value, dut.s_axi_wstrb.value, dut.s_axi_wlast.value = self.data[0]
            dut.s_axi_wvalid.value = 1
        for name in ("s_axi_bready", "s_axi_rready", "m_axil_awready", "m_axil_wready", "m_axil_arready"):
            getattr(dut, name).value = rng.random() < rate
        self.answer(rate)
        await Timer(2, "ns")
        done = self.look()
        await FallingEdge(dut.clk_i)
        for name in done:
            getattr(dut, name).value = 0

    def answer(self, rate: float) -> None:
        """The shell's answers: of a read once it was asked, of a write once address and data were."""
        dut, shell = self.dut, self.shell
        if shell["ar"] is not None and not dut.m_axil_rvalid.value and self.rng.random() < rate:
            dut.m_axil_rdata.value, dut.m_axil_rresp.value = self.read_answer(shell["ar"])
            dut.m_axil_rvalid.value = 1
        asked = shell["aw"] is not None and shell["w"] is not None
        if asked and not dut.m_axil_bvalid.value and self.rng.random() < rate:
            assert (shell["aw"], *shell["w"]) == self.expected_writes.popleft()
            dut.m_axil_bresp.value = self.write_answer(shell["aw"])
            dut.m_axil_bvalid.value = 1

    def goes(self, name: str) -> bool:
        return bool(getattr(self.dut, f"{name}valid").value and getattr(self.dut, f"{name}ready").value)

    def look(self) -> list[str]:
        """Note what is handed over in this cycle; which valids end with it."""
        dut, shell, done = self.dut, self.shell, []
        for name, queue in (("s_axi_aw", self.writes), ("s_axi_ar", self.reads), ("s_axi_w", self.data)):
            if self.goes(name):
                queue.popleft()
                done.append(f"{name}valid")
        if self.goes("m_axil_ar"):
            assert shell["ar"] is None
            assert dut.m_axil_arprot.value == 0b010
            shell["ar"] = int(dut.m_axil_araddr.value)
            assert shell["ar"] == self.read_addresses.popleft()
        if self.goes("m_axil_aw"):
            assert shell["aw"] is None
            assert dut.m_axil_awprot.value == 0b010
            shell["aw"] = int(dut.m_axil_awaddr.value)
        if self.goes("m_axil_w"):
            assert shell["w"] is None
            shell["w"] = (int(dut.m_axil_wdata.value), int(dut.m_axil_wstrb.value))
        if self.goes("m_axil_r"):
            shell["ar"] = None
            done.append("m_axil_rvalid")
        if self.goes("m_axil_b"):
            shell["aw"] = shell["w"] = None
            done.append("m_axil_bvalid")
        if self.goes("s_axi_r"):
            seen = tuple(int(getattr(dut, f"s_axi_r{field}").value) for field in ("id", "data", "resp", "last"))
            id, word, last = self.expected_reads.popleft()
            assert seen == (id, *self.read_answer(word), last)
        if self.goes("s_axi_b"):
            assert (int(dut.s_axi_bid.value), int(dut.s_axi_bresp.value)) == self.expected_answers.popleft()
        return done

    async def until_done(self, rate: float, cycles: int) -> None:
        for _ in range(cycles):
            if not (self.expected_reads or self.expected_answers):
                break
            await self.cycle(rate)
        assert not self.expected_reads, "reads stand still"
        assert not self.expected_answers, "writes stand still"
        assert not self.expected_writes
        assert not self.read_addresses


@cocotb.test()
@cocotb.parametrize(rate=[1.0, 0.6, 0.25])
async def bursts_become_the_accesses_they_mean(dut: Any, rate: float) -> None:
    bench = Bench(dut, int(rate * 100))
    await bench.start()
    for _ in range(120):
        bench.plan(draw(bench.rng), write=False)
        bench.plan(draw(bench.rng), write=True)
    await bench.until_done(rate, 60_000)


@cocotb.test()
async def one_access_takes_a_few_cycles(dut: Any) -> None:
    """A register is read in four cycles and written in five, with a shell that answers at once."""
    bench = Bench(dut, 7)
    await bench.start()
    for write in (False, True):
        bench.plan(Burst(3, 0x80001008, 0, 2, INCR), write)
        if write:
            bench.data[0] = (bench.data[0][0], 0xF, True)
            bench.expected_writes.clear()
            bench.expected_writes.append((0x1008, bench.data[0][0], 0xF))
        cycles = 0
        while bench.expected_reads or bench.expected_answers:
            await bench.cycle(1.0)
            cycles += 1
        assert cycles == (5 if write else 4)
