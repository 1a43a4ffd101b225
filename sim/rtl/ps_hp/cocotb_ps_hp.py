# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The adapter to the processing system's memory port, between a manager that uses every id and a memory that reorders.

The memory answers ids in any order and interleaves their beats, as AXI lets it, and keeps the order within an id of
six bits. The manager must see its own ids, each in its own order, and the memory nothing
of what tenants may not choose.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

SLOTS = [slot << 4 for slot in range(10)]
FETCHES = list(range(16))
EVERY = list(range(256))
MOST_UNDER_WAY = 15
CLEARING_CYCLES = 64
NON_SECURE_DATA, NON_CACHEABLE = 0b010, 0b0011


@dataclass(frozen=True)
class Burst:
    """A request; its address is unlike any other's, so that what comes back tells whose it is."""

    id: int
    addr: int
    len: int

    def word(self, beat: int) -> int:
        return (self.addr << 8 | beat) & (1 << 64) - 1

    @property
    def resp(self) -> int:
        return self.addr >> 12 & 3


@dataclass(frozen=True)
class Flow:
    """How often, from 0 to 1, each side does something in a cycle."""

    ask: float = 1.0
    take: float = 1.0
    answer: float = 1.0
    accept: float = 1.0


class Bench:
    """A manager and a memory around the adapter."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.next_addr = 0
        self.to_ask: dict[str, deque[Burst]] = {"aw": deque(), "ar": deque()}
        self.to_write: deque[tuple[int, int]] = deque()
        # What the manager waits for, by its id: bursts with beats seen. What the memory owes, by the port's id: bursts
        # with beats given, and how many requests came before.
        self.waits: dict[str, dict[int, deque[list[Any]]]] = {"b": {}, "r": {}}
        self.owes: dict[str, dict[int, deque[list[Any]]]] = {"b": {}, "r": {}}
        self.asked: dict[str, deque[Burst]] = {"aw": deque(), "ar": deque()}
        self.written: list[tuple[int, int]] = []
        self.expected: list[tuple[int, int]] = []
        self.offered_answer: dict[str, Any] = {"b": None, "r": None}
        self.ended, self.arrived = Counter[str](), Counter[str]()
        self.held_back = self.most_under_way = 0

    def plan(self, ids: Sequence[int], count: int) -> None:
        """Have so many reads and writes asked, of ids drawn from these."""
        for _ in range(count):
            for side in ("aw", "ar"):
                self.next_addr += 4096
                burst = Burst(self.rng.choice(ids), self.next_addr, self.rng.choice((0, 0, 1, 3, 15)))
                self.to_ask[side].append(burst)
                if side == "aw":
                    beats = [(burst.word(beat), beat == burst.len) for beat in range(burst.len + 1)]
                    self.to_write.extend(beats)
                    self.expected.extend(beats)

    async def start(self) -> None:
        dut = self.dut
        for name in ("aw", "w", "ar"):
            getattr(dut, f"s_axi_{name}valid").value = 0
            getattr(dut, f"m_axi_{name}ready").value = 0
        for name in ("b", "r"):
            getattr(dut, f"m_axi_{name}valid").value = 0
            getattr(dut, f"s_axi_{name}ready").value = 0
        for signal in ("m_axi_bid", "m_axi_rid", "s_axi_awid", "s_axi_arid"):
            getattr(dut, signal).value = 0
        dut.rst_ni.value = 0
        Clock(dut.clk_i, 10, "ns").start()
        await ClockCycles(dut.clk_i, 3)
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    async def cycle(self, flow: Flow) -> None:
        dut, rng = self.dut, self.rng
        for side in ("aw", "ar"):
            valid = getattr(dut, f"s_axi_{side}valid")
            if not valid.value and self.to_ask[side] and rng.random() < flow.ask:
                burst = self.to_ask[side][0]
                for field, value in (
                    ("id", burst.id),
                    ("addr", burst.addr),
                    ("len", burst.len),
                    ("size", 3),
                    ("burst", 1),
                ):
                    getattr(dut, f"s_axi_{side}{field}").value = value
                valid.value = 1
            getattr(dut, f"m_axi_{side}ready").value = rng.random() < flow.take
        if not dut.s_axi_wvalid.value and self.to_write and rng.random() < flow.ask:
            dut.s_axi_wdata.value, dut.s_axi_wlast.value = self.to_write[0]
            dut.s_axi_wstrb.value = 0xFF
            dut.s_axi_wvalid.value = 1
        dut.m_axi_wready.value = rng.random() < flow.take
        for answer in ("b", "r"):
            self.offer_answer(answer, flow)
            getattr(dut, f"s_axi_{answer}ready").value = rng.random() < flow.accept
        await Timer(2, "ns")
        done = self.look()
        await FallingEdge(dut.clk_i)
        for name in done:
            getattr(dut, name).value = 0

    def offer_answer(self, answer: str, flow: Flow) -> None:
        """Let the memory answer some burst it owes: the oldest of any id, one beat."""
        dut = self.dut
        if self.offered_answer[answer] is not None or self.rng.random() >= flow.answer:
            return
        # A write is answered after its data: as many bursts of data as there are requests up to it.
        whole = sum(last for _, last in self.written)
        ids = [narrow for narrow, owed in self.owes[answer].items() if owed and (answer == "r" or owed[0][2] < whole)]
        if not ids:
            return
        narrow = self.rng.choice(ids)
        burst, beat, _ = self.owes[answer][narrow][0]
        self.offered_answer[answer] = narrow
        getattr(dut, f"m_axi_{answer}id").value = narrow
        getattr(dut, f"m_axi_{answer}resp").value = burst.resp
        if answer == "r":
            dut.m_axi_rdata.value = burst.word(beat)
            dut.m_axi_rlast.value = beat == burst.len
        getattr(dut, f"m_axi_{answer}valid").value = 1

    def look(self) -> list[str]:
        """Note what is handed over in this cycle; which valids end with it."""
        dut, done = self.dut, []
        for side, answer in (("aw", "b"), ("ar", "r")):
            if getattr(dut, f"s_axi_{side}valid").value:
                if getattr(dut, f"s_axi_{side}ready").value:
                    burst = self.to_ask[side].popleft()
                    self.asked[side].append(burst)
                    self.waits[answer].setdefault(burst.id, deque()).append([burst, 0])
                    self.most_under_way = max(self.most_under_way, len(self.waits[answer][burst.id]))
                    done.append(f"s_axi_{side}valid")
                else:
                    self.held_back += 1
            self.memory_side(side, answer)
            if getattr(dut, f"m_axi_{answer}valid").value and getattr(dut, f"m_axi_{answer}ready").value:
                self.give(answer)
                done.append(f"m_axi_{answer}valid")
            self.manager_side(answer)
        if dut.s_axi_wvalid.value and dut.s_axi_wready.value:
            self.to_write.popleft()
            done.append("s_axi_wvalid")
        if dut.m_axi_wvalid.value and dut.m_axi_wready.value:
            self.written.append((int(dut.m_axi_wdata.value), int(dut.m_axi_wlast.value)))
            assert dut.m_axi_wstrb.value == 0xFF
        return done

    def memory_side(self, side: str, answer: str) -> None:
        dut = self.dut
        if not (getattr(dut, f"m_axi_{side}valid").value and getattr(dut, f"m_axi_{side}ready").value):
            return
        burst = self.asked[side].popleft()
        port = {
            field: int(getattr(dut, f"m_axi_{side}{field}").value) for field in ("id", "addr", "len", "size", "burst")
        }
        assert (port["addr"], port["len"], port["size"], port["burst"]) == (burst.addr, burst.len, 3, 1)
        said = [int(getattr(dut, f"m_axi_{side}{field}").value) for field in ("prot", "cache", "qos", "lock", "user")]
        assert said == [NON_SECURE_DATA, NON_CACHEABLE, 0, 0, 0]
        under_way = self.owes[answer].setdefault(port["id"], deque())
        assert all(other.id == burst.id for other, *_ in under_way), "two ids under way look alike"
        under_way.append([burst, 0, self.arrived[side]])
        self.arrived[side] += 1

    def give(self, answer: str) -> None:
        narrow = self.offered_answer[answer]
        self.offered_answer[answer] = None
        owed = self.owes[answer][narrow][0]
        owed[1] += 1
        if answer == "b" or owed[1] > owed[0].len:
            self.owes[answer][narrow].popleft()

    def manager_side(self, answer: str) -> None:
        dut = self.dut
        if not (getattr(dut, f"s_axi_{answer}valid").value and getattr(dut, f"s_axi_{answer}ready").value):
            return
        waiting = self.waits[answer].get(int(getattr(dut, f"s_axi_{answer}id").value))
        assert waiting, f"an answer to nobody's {answer}"
        burst, beat = waiting[0]
        assert int(getattr(dut, f"s_axi_{answer}resp").value) == burst.resp
        last = True
        if answer == "r":
            assert int(dut.s_axi_rdata.value) == burst.word(beat)
            last = bool(dut.s_axi_rlast.value)
            assert last == (beat == burst.len)
        waiting[0][1] += 1
        if last:
            waiting.popleft()
            self.ended[answer] += 1

    async def until_done(self, flow: Flow, cycles: int) -> None:
        for _ in range(cycles):
            await self.cycle(flow)
            waiting = any(any(queues.values()) for queues in self.waits.values())
            if not waiting and not any(self.to_ask.values()):
                break
        assert not any(self.to_ask.values()), "requests stand still"
        assert not [id for side in self.waits.values() for id, queue in side.items() if queue], "answers are missing"
        assert self.written == self.expected


@cocotb.test()
async def nothing_is_taken_while_the_table_is_cleared(dut: Any) -> None:
    bench = Bench(dut, 1)
    await bench.start()
    bench.plan([0x10], 1)
    for _ in range(CLEARING_CYCLES - 1):
        await bench.cycle(Flow())
        assert not bench.ended
        assert bench.to_ask["ar"]
    await bench.until_done(Flow(), 40)


@cocotb.test()
@cocotb.parametrize(seed=[1, 2])
async def every_answer_finds_whose_it_is(dut: Any, seed: int) -> None:
    bench = Bench(dut, seed)
    await bench.start()
    flows = [Flow(), Flow(0.5, 0.5, 0.5, 0.5), Flow(answer=0.15), Flow(accept=0.3), Flow(take=0.2), Flow(0.2)]
    for flow in flows:
        for ids in (EVERY, SLOTS, FETCHES, [0x30, 0x34, 0x70, 0xB0, 0xF0, 0xFC]):
            bench.plan(ids, 20)
            await bench.until_done(flow, 20_000)
    assert bench.ended == {"b": 480, "r": 480}
    assert bench.held_back > 0


@cocotb.test()
async def a_table_entry_fills_and_empties(dut: Any) -> None:
    bench = Bench(dut, 5)
    await bench.start()
    bench.plan([0x50], 100)
    for _ in range(CLEARING_CYCLES + 100):
        await bench.cycle(Flow(answer=0.0))
    assert bench.most_under_way == MOST_UNDER_WAY
    await bench.until_done(Flow(), 20_000)


@cocotb.test()
@cocotb.parametrize(ids=[SLOTS, FETCHES])
async def what_the_shell_uses_never_waits(dut: Any, ids: list[int]) -> None:
    """Ids of slots, or of the shared cache's fetches: a request is held back by nobody else's."""
    bench = Bench(dut, 6)
    await bench.start()
    for _ in range(CLEARING_CYCLES + 1):
        await bench.cycle(Flow())
    for _ in range(MOST_UNDER_WAY):
        for id in ids:
            for side in ("aw", "ar"):
                bench.next_addr += 4096
                bench.to_ask[side].append(Burst(id, bench.next_addr, 0))
                if side == "aw":
                    bench.to_write.append((bench.to_ask[side][-1].word(0), 1))
                    bench.expected.append(bench.to_write[-1])
    before = bench.held_back
    for _ in range(2 * MOST_UNDER_WAY * len(ids)):
        await bench.cycle(Flow(answer=0.0))
    assert not any(bench.to_ask.values())
    assert bench.held_back == before
    await bench.until_done(Flow(), 20_000)
