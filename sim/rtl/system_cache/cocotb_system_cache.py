# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The shared cache under random traffic of several slots, with a memory that answers in any order AXI allows."""

from __future__ import annotations

import itertools
import random
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import cocotb
from cache_model import (
    ALLOCATE,
    DECERR,
    DEVICE,
    FIXED,
    LINE,
    NORMAL,
    PAGE,
    RESERVED,
    SLVERR,
    WORD,
    WRAP,
    Burst,
    History,
    Memory,
    PendingWrite,
    Scoreboard,
    random_burst,
)
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

ALL = 0xFFFF
PAGES, SLOTS = 2, 3
HOT = (0, 8, 16, 1, 9, 17)
"""Lines that meet: three in each of two sets of the small cache."""
BAD = {0x1C3: SLVERR, 0x1C4: SLVERR, 0x3F0: DECERR}
"""Words that memory refuses."""


@dataclass(frozen=True)
class Flow:
    """How often, from 0 to 1, slots read and write, memory takes requests and does its steps, the CPU writes, and a
    flush starts."""

    read: float = 1.0
    write: float = 0.2
    take: float = 1.0
    speed: float = 0.7
    cpu: float = 0.0
    flush: float = 0.0
    lengths: tuple[int, ...] = (1, 1, 2, 4, 8, 8, 16, 33)
    caches: tuple[int, ...] = (NORMAL, NORMAL, ALLOCATE)
    lines: tuple[int, ...] = ()
    late: bool = False
    """Whether memory takes its time to perform writes."""


class Bench:
    """Slots, memory and the scoreboard around one cache."""

    def __init__(self, dut: Any, seed: int, speed: float = 0.7) -> None:
        self.dut, self.rng, self.time = dut, random.Random(seed), 0
        self.history = History()
        self.scoreboard = Scoreboard(self.history, BAD)
        self.memory = Memory(self.rng, self.history, BAD, speed)
        self.reads: deque[Burst] = deque()
        self.writes: deque[Burst] = deque()
        self.offered: dict[str, Burst | None] = {"ar": None, "aw": None}
        self.unanswered_writes = 0
        self.flush: tuple[int, int, int] | None = None
        self.flush_request: tuple[int, int] | None = None
        self.longest_flush = 0

    async def start(self, force: int = ALL) -> None:
        dut = self.dut
        for name in ("aw", "aw_slot", "aw_valid", "ar", "ar_slot", "ar_valid", "mem_aw_ready", "mem_ar_ready"):
            getattr(dut, f"{name}_i").value = 0
        for name in ("mem_b_id", "mem_b_valid", "mem_r", "mem_r_slot", "mem_r_valid", "flush", "show", "show_slot"):
            getattr(dut, f"{name}_i").value = 0
        dut.flush_first_i.value = dut.flush_last_i.value = 0
        dut.force_i.value = force
        dut.rst_ni.value = 0
        Clock(dut.clk_i, 10, "ns").start()
        await ClockCycles(dut.clk_i, 3)
        await FallingEdge(dut.clk_i)
        for name in ("mem_aw_valid", "mem_ar_valid", "r_valid", "flush_busy"):
            assert getattr(dut, f"{name}_o").value == 0
        dut.rst_ni.value = 1
        await self.settle()

    async def settle(self) -> None:
        """The cycles in which the counters are cleared."""
        for _ in range(16):
            await self.cycle(IDLE)

    async def cycle(self, flow: Flow) -> None:
        self.time += 1
        self.want(flow)
        self.drive(flow)
        await Timer(4, "ns")
        self.at_slots()
        self.at_memory()
        self.at_flush()
        await FallingEdge(self.dut.clk_i)

    def want(self, flow: Flow) -> None:
        rng = self.rng
        if not self.reads and rng.random() < flow.read:
            burst = random_burst(rng, PAGES, SLOTS, flow.lengths, flow.lines)
            cache = rng.choice(flow.caches)
            self.reads.append(replace(burst, cache=cache))
        if not self.writes and rng.random() < flow.write:
            self.writes.append(random_burst(rng, PAGES, SLOTS, flow.lengths, flow.lines))
        if rng.random() < flow.cpu:
            self.history.write(rng.randrange(PAGES * PAGE // WORD), self.time, behind=True)
        if self.flush is None and self.flush_request is None and rng.random() < flow.flush:
            first = rng.randrange(PAGES)
            self.flush_request = (first, rng.randrange(first, PAGES))

    def drive(self, flow: Flow) -> None:
        dut, rng = self.dut, self.rng
        for name, queue in (("ar", self.reads), ("aw", self.writes)):
            if self.offered[name] is None and queue:
                self.offered[name] = queue.popleft()
            burst = self.offered[name]
            getattr(dut, f"{name}_valid_i").value = int(burst is not None)
            getattr(dut, f"{name}_i").value = burst.pack() if burst else rng.getrandbits(72)
            getattr(dut, f"{name}_slot_i").value = burst.slot if burst else rng.getrandbits(4)
            getattr(dut, f"mem_{name}_ready_i").value = int(rng.random() < flow.take)
        beat, answer = self.memory.step(self.time)
        dut.mem_r_valid_i.value = int(beat is not None)
        key, data, response, last = beat or (rng.getrandbits(8), rng.getrandbits(64), rng.getrandbits(2), False)
        dut.mem_r_i.value = (key & 15) << 67 | data << 3 | response << 1 | last
        dut.mem_r_slot_i.value = key >> 4
        dut.mem_b_valid_i.value = int(answer is not None)
        dut.mem_b_id_i.value = rng.getrandbits(8) if answer is None else answer
        dut.flush_i.value = int(self.flush_request is not None)
        first, last_page = self.flush_request or (rng.getrandbits(28), rng.getrandbits(28))
        dut.flush_first_i.value, dut.flush_last_i.value = first, last_page

    def at_slots(self) -> None:
        dut = self.dut
        read, write = self.offered["ar"], self.offered["aw"]
        # A read may be answered from the moment it is offered: part of its beats may be out before it is accepted.
        if read is not None and not any(entry[0] is read for entry in self.scoreboard.open.get(read.key, ())):
            self.scoreboard.accepted(read, self.time)
        if read is not None and dut.ar_ready_o.value == 1:
            self.offered["ar"] = None
        if write is not None and dut.aw_ready_o.value == 1:
            self.offered["aw"] = None
        if dut.r_valid_o.value == 1:
            answer = int(dut.r_o.value)
            key = int(dut.r_slot_o.value) << 4 | answer >> 67
            self.scoreboard.answer(key, answer >> 3 & (1 << 64) - 1, answer >> 1 & 3, bool(answer & 1), self.time)

    def at_memory(self) -> None:
        dut = self.dut
        if dut.mem_ar_valid_o.value == 1 and dut.mem_ar_ready_i.value == 1:
            burst = Burst.unpack(int(dut.mem_ar_slot_o.value), int(dut.mem_ar_o.value))
            assert all(burst.key != other.burst.key for other in self.memory.reads), "one id, two reads"
            self.memory.accept_read(burst)
        if dut.mem_aw_valid_o.value == 1 and dut.mem_aw_ready_i.value == 1:
            burst = Burst.unpack(int(dut.mem_aw_slot_o.value), int(dut.mem_aw_o.value))
            self.memory.writes.append(PendingWrite(burst))

    def at_flush(self) -> None:
        if self.flush_request is not None:
            self.flush = (*self.flush_request, self.time)
            self.flush_request = None
        elif self.flush is not None and self.dut.flush_busy_o.value == 0:
            first, last, started = self.flush
            self.history.flushed(first, last, started, self.time)
            self.longest_flush = max(self.longest_flush, self.time - started)
            self.flush = None

    async def drain(self, cycles: int = 3000) -> None:
        """Ask no more; everything is answered."""
        for _ in range(cycles):
            await self.cycle(IDLE)
            if self.quiet():
                return
        raise AssertionError(
            f"{self.scoreboard.outstanding()} reads and {len(self.memory.writes)} writes without an answer"
        )

    def quiet(self) -> bool:
        waiting = self.reads or self.writes or self.offered["ar"] or self.offered["aw"] or self.flush
        return not (waiting or self.scoreboard.outstanding() or self.memory.writes or self.memory.reads)

    async def read(self, burst: Burst) -> int:
        """One read alone; how many requests it made of memory."""
        before = len(self.memory.asked)
        self.reads.append(burst)
        await self.drain()
        return len(self.memory.asked) - before

    async def read_for(self, burst: Burst) -> int:
        """One read alone; cycles from its offer to its last beat."""
        await self.read(burst)
        return self.scoreboard.last

    async def write(self, burst: Burst) -> None:
        self.writes.append(burst)
        await self.drain()

    async def flush_pages(self, first: int, last: int) -> None:
        self.flush_request = (first, last)
        await self.drain()

    async def counts(self, slot: int) -> tuple[int, int]:
        self.dut.show_i.value = 1
        self.dut.show_slot_i.value = slot
        await Timer(1, "ns")
        return int(self.dut.hits_o.value), int(self.dut.misses_o.value)


IDLE = Flow(read=0, write=0)
FLOWS = [
    Flow(),
    Flow(read=0.3, write=0.05, take=0.5, speed=0.3),
    Flow(write=0.6, speed=0.9),
    Flow(speed=0.25, lengths=(1, 2)),
    Flow(write=0.1, cpu=0.3, flush=0.02),
    Flow(write=0.3, flush=0.05, lengths=(1, 8, 64, 256)),
    Flow(caches=(NORMAL, ALLOCATE, 0b0010, DEVICE, 0b0001)),
    Flow(write=0.15, lengths=(1, 1, 2, 8), lines=HOT),
    Flow(write=0.05, speed=0.4, lengths=(1, 1, 4), lines=HOT),
    Flow(write=0.03, speed=0.9, lengths=(1,), lines=HOT[3:], late=True),
    Flow(write=0.0, speed=0.5, lengths=(1, 1, 2), lines=HOT),
    Flow(write=0.4, speed=0.95, take=0.7, lengths=(1,), lines=HOT[:2]),
    Flow(write=0.05, cpu=0.2, flush=0.05, speed=0.9, lengths=(1, 3), lines=HOT[:3]),
]


def line_read(line: int, slot: int = 0, cache: int = NORMAL) -> Burst:
    return Burst(slot, 0, line * LINE, LINE // WORD - 1, cache=cache)


@cocotb.test()
@cocotb.parametrize(number=range(len(FLOWS)))
async def every_word_was_there_while_it_was_read(dut: Any, number: int) -> None:
    flow = FLOWS[number]
    bench = Bench(dut, seed=60 + number, speed=flow.speed)
    bench.memory.refuse_writes = 0.1
    if flow.late:
        bench.memory.write_speed = 0.04
    # Slot 1 gets only what it asks for.
    await bench.start(force=ALL & ~2)
    for _ in range(2500):
        await bench.cycle(flow)
    await bench.drain()
    assert bench.scoreboard.answered > 30
    if flow.flush:
        assert bench.longest_flush > 0


@cocotb.test()
async def what_was_read_once_is_found_again(dut: Any) -> None:
    """By whoever may read it; an answer from the cache takes two cycles, and a beat a cycle after that."""
    bench = Bench(dut, seed=70, speed=1.0)
    await bench.start()
    assert await bench.read(line_read(5)) == 1
    assert await bench.read(line_read(5)) == 0
    assert await bench.read(line_read(5, slot=2)) == 0
    assert await bench.read_for(Burst(1, 1, 5 * LINE + 3, 0, size=0)) == 2
    assert await bench.read_for(line_read(5)) == 2 + 7
    assert await bench.counts(0) == (2, 1)
    assert await bench.counts(2) == (1, 0)
    assert await bench.counts(1) == (1, 0)


@cocotb.test()
async def lines_come_as_fast_as_memory_sends_them(dut: Any) -> None:
    """A long burst asks for its lines one after the other, each once, from the word on that is wanted first."""
    bench = Bench(dut, seed=71, speed=1.0)
    await bench.start()
    bench.memory.in_order = True
    cycles = await bench.read_for(Burst(0, 0, PAGE + 24, 255 - 3))
    asked = bench.memory.asked
    assert [burst.addr for burst in asked] == [PAGE + 24, *(PAGE + n * LINE for n in range(1, 32))]
    assert all((burst.len, burst.size, burst.burst) == (7, 3, WRAP) for burst in asked)
    # A word a cycle; the first line brings three that are not wanted yet, and memory takes some cycles to begin.
    assert cycles <= 253 + 3 + 8, cycles


@cocotb.test()
async def a_change_behind_the_back_shows_only_after_a_flush(dut: Any) -> None:
    bench = Bench(dut, seed=72)
    await bench.start()
    word = 9 * LINE // WORD
    await bench.read(line_read(9))
    await bench.read(line_read(70))
    old = bench.history.now(word)
    bench.history.write(word, bench.time, behind=True)
    assert await bench.read(line_read(9)) == 0
    assert bench.scoreboard.values[word] == old
    await bench.flush_pages(1, 1)
    assert await bench.read(line_read(9)) == 0, "another page was flushed"
    assert await bench.read(line_read(70)) == 1, "this one was"
    await bench.flush_pages(0, 0)
    assert await bench.read(line_read(9)) == 1
    assert bench.scoreboard.values[word] == bench.history.now(word) != old
    assert await bench.read(line_read(70)) == 0


@cocotb.test()
async def a_flush_ends_within_its_bound_whatever_is_written(dut: Any) -> None:
    """Two cycles a set at most, and what memory takes to answer the writes of before."""
    bench = Bench(dut, seed=73, speed=1.0)
    await bench.start()
    sets = int(dut.CacheBytes.value) // LINE // int(dut.Ways.value)
    busy = Flow(read=1.0, write=1.0, lengths=(1,))
    for _ in range(6):
        for _ in range(20):
            await bench.cycle(busy)
        bench.flush_request = (0, PAGES)
        for _ in range(2 * sets + 10):
            await bench.cycle(busy)
        assert bench.flush is None
    assert sets <= bench.longest_flush <= 2 * sets + 3
    await bench.drain()


@cocotb.test()
async def a_flush_waits_for_the_writes_of_before_and_for_no_later_ones(dut: Any) -> None:
    bench = Bench(dut, seed=74)
    await bench.start()
    bench.memory.speed = bench.memory.write_speed = 0.0
    bench.writes.append(Burst(0, 0, 0x100, 7))
    for _ in range(10):
        await bench.cycle(IDLE)
    assert bench.memory.writes
    bench.flush_request = (1, 1)
    for _ in range(1200):
        await bench.cycle(IDLE)
    assert bench.flush is not None, "the write has not landed"
    bench.writes.append(Burst(1, 0, 0x200, 7))
    for _ in range(10):
        await bench.cycle(IDLE)
    first, second = bench.memory.writes
    bench.memory.writes, bench.memory.speed, bench.memory.write_speed = [first], 1.0, 1.0
    for _ in range(6):
        await bench.cycle(IDLE)
    assert bench.flush is None
    bench.memory.writes = [second]
    await bench.drain()


@cocotb.test()
async def a_write_drops_every_line_it_touches(dut: Any) -> None:
    bench = Bench(dut, seed=75)
    await bench.start()
    for burst in (
        Burst(0, 1, 3 * LINE + 60, 0, size=0),
        Burst(0, 1, 2 * LINE + 62, 1, size=2),
        Burst(0, 1, 2 * LINE + 32, 15, burst=WRAP),
        Burst(0, 1, 2 * LINE + 8, 15, burst=FIXED),
        Burst(0, 1, LINE, 31),
    ):
        touched = {word * WORD // LINE for word in burst.words()}
        for line in range(6):
            await bench.read(line_read(line))
        await bench.write(burst)
        for line in range(6):
            assert await bench.read(line_read(line)) == (line in touched), (burst, line)


@cocotb.test()
async def errors_reach_who_asked_and_are_not_kept(dut: Any) -> None:
    bench = Bench(dut, seed=76)
    await bench.start()
    line = min(BAD) * WORD // LINE
    for _ in range(3):
        assert await bench.read(line_read(line)) == 1
    # The good words of that line are not to be had from the cache either.
    assert await bench.read(Burst(0, 0, line * LINE, 0)) == 1


@cocotb.test()
async def an_error_reaches_who_joins_the_fetch(dut: Any) -> None:
    """In any cycle of it: before the word that memory refuses, as it comes, and after."""
    bench = Bench(dut, seed=82, speed=1.0)
    await bench.start()
    for word, ahead, gap in itertools.product(BAD, range(8), range(12)):
        # So many words of the line come before it.
        line = word * WORD // LINE
        bench.reads.append(Burst(0, 0, line * LINE + (word - ahead) % 8 * WORD, 0))
        for _ in range(gap):
            await bench.cycle(IDLE)
        bench.reads.append(Burst(2, 0, word * WORD, 0))
        await bench.drain()
    hits, _ = await bench.counts(2)
    assert hits > 60, "it joined"


@cocotb.test()
async def what_does_not_ask_for_it_is_not_kept(dut: Any) -> None:
    bench = Bench(dut, seed=77)
    await bench.start(force=0)
    assert await bench.read(line_read(4, cache=ALLOCATE)) == 1
    assert await bench.read(line_read(4, cache=ALLOCATE)) == 0
    assert await bench.read(line_read(4)) == 1
    for line in range(8, 40):
        assert await bench.read(line_read(line)) == 1
    assert await bench.read(line_read(20)) == 1
    assert await bench.read(line_read(4, cache=ALLOCATE)) == 0, "what is not kept displaces nothing"


@cocotb.test()
async def what_must_not_be_changed_reaches_memory_as_it_is(dut: Any) -> None:
    """Reads that may not be modified, and what AXI forbids: alone, with their own ids, and answered as memory does."""
    bench = Bench(dut, seed=78)
    await bench.start()
    strange = [
        Burst(2, 5, 0x104, 3, size=2, cache=DEVICE, prot=5, qos=9, user=7),
        Burst(1, 15, 0x108, 2, burst=FIXED, cache=0b0001),
        Burst(0, 3, 0x200, 2, burst=WRAP),
        Burst(0, 4, 0x300, 5, burst=RESERVED),
        Burst(1, 6, 0x400, 1, size=5),
        Burst(1, 6, 0x400, 200, cache=DEVICE),
    ]
    for burst in strange:
        before = len(bench.memory.asked)
        bench.reads.extend([line_read(1), burst, line_read(2, slot=1)])
        await bench.drain()
        assert bench.memory.asked[before:].count(burst) == 1, burst


@cocotb.test()
async def reset_forgets(dut: Any) -> None:
    bench = Bench(dut, seed=79)
    await bench.start()
    assert await bench.read(line_read(5)) == 1
    dut.rst_ni.value = 0
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await bench.settle()
    assert await bench.counts(0) == (0, 0)
    assert await bench.read(line_read(5)) == 1
    assert await bench.counts(0) == (0, 1)
