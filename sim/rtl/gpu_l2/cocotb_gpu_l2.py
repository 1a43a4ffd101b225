# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The second-level cache of a cluster under random traffic of two cores, against the history of every word of memory.

Below it a memory that answers late, in pieces, ids among each other, holds what is not taken, and refuses some lines to
some contexts; beside it
a host that changes memory. What is checked, word by word:

- a reader's lines come in the order in which it asked for them, several of them being under way;
- of lines that only cores write, a read brings a value that memory held between its request and its answer;
- of lines the host writes, one that it held since the last flush of the line, or the last start of the context;
- what memory refuses a context is refused, however often another context has read it, and whatever is cached;
- write answers come to the right core, in order; every read is a hit or a miss, and every miss one read of memory.
"""

from __future__ import annotations

import operator
import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from eddy_sim.design.axi_fields import AX

READERS, LINES, WORDS = 4, 24, 8
EACH = 4
"""Lines that a reader asks for before the first one has come."""
BASE = 0x12_3456_7000
HOST, PRIVATE = range(8, 14), {1: range(14, 18), 2: range(18, 22)}
"""Lines the host writes; lines that only one context may touch. The others belong to both cores."""
CYCLES = int(os.environ.get("L2_CYCLES", "24000"))


def pack(fields: tuple[tuple[int, int], ...]) -> int:
    """Values and widths, the highest first."""
    word = 0
    for value, width in fields:
        word = word << width | value
    return word


def request(values: dict[str, int]) -> tuple[int, int]:
    return pack(tuple((values.get(name, 0), width) for name, width in AX)), sum(width for _, width in AX)


class Answer:
    """`axi_rsp_t`, taken apart."""

    def __init__(self, word: int) -> None:
        self.r_valid, word = word & 1, word >> 1
        self.r_last, self.r_resp, self.r_data = word & 1, word >> 1 & 3, word >> 3 & (1 << 64) - 1
        self.r_id, word = word >> 67 & 15, word >> 71
        self.ar_ready, self.b_valid, self.b_resp, self.b_id = word & 1, word >> 1 & 1, word >> 2 & 3, word >> 4 & 15
        self.w_ready, self.aw_ready = word >> 8 & 1, word >> 9 & 1


class Request:
    """`axi_req_t`, taken apart."""

    def __init__(self, word: int) -> None:
        self.r_ready, self.ar_valid, word = word & 1, word >> 1 & 1, word >> 2
        self.ar, word = word & (1 << 72) - 1, word >> 72
        self.b_ready, self.w_valid, word = word & 1, word >> 1 & 1, word >> 2
        self.w_last, self.w_strb, self.w_data, word = word & 1, word >> 1 & 255, word >> 9 & (1 << 64) - 1, word >> 73
        self.aw_valid, self.aw = word & 1, word >> 1


def ax(word: int) -> tuple[int, int, int, int]:
    """Id, line, first word and context of a packed request."""
    address = (word >> 28 & (1 << 40) - 1) - BASE
    return word >> 68, address // 64, address // 8 % 8, word & 15


@dataclass
class Read:
    """A read of a core: what it asked, since when, and the earliest value it may bring."""

    line: int
    context: int
    asked: int
    since: int
    beat: int = 0


@dataclass
class Write:
    """A write of a core, on its way to memory."""

    core: int
    line: int
    context: int
    first: int
    words: list[tuple[int, int]]


@dataclass(frozen=True)
class Below:
    """A write that memory has taken, and when it may answer."""

    core: int
    line: int
    context: int
    first: int
    words: tuple[tuple[int, int], ...]
    when: int


class Bench:
    """All around the cache, one cycle at a time."""

    def __init__(self, dut: Any, seed: int, stall: float, spread: float) -> None:
        self.dut, self.random, self.stall, self.spread = dut, random.Random(seed), stall, spread
        self.now = 0
        self.history = [[[(0, self.random.getrandbits(64))] for _ in range(WORDS)] for _ in range(LINES)]
        self.context = [1, 2]
        self.reads: list[deque[Read]] = [deque() for _ in range(READERS)]
        self.ar: int | None = None
        self.writes: deque[Write] = deque()
        self.sending: Write | None = None
        self.aw_done, self.w_beat = True, 0
        self.expected_b: list[deque[bool]] = [deque(), deque()]
        # Below: reads by id with what is left, the oldest first; writes whose address or data has come, answers.
        self.below: list[deque[list[int]]] = [deque() for _ in range(READERS)]
        self.below_aw: deque[int] = deque()
        self.below_w: list[tuple[int, int]] = []
        self.below_b: list[Below] = []
        self.whole = False
        self.focus = 0
        self.shown: tuple[int, int] | None = None
        self.beat: tuple[tuple[int, int], ...] = ()
        self.deepest = self.held_back = 0
        self.flushed = [0] * LINES
        self.started = {1: 0, 2: 0}
        self.flush: tuple[int, range] | None = None
        # Writes of each core that the cache has taken, and that were answered; and those taken before a flush.
        self.taken, self.landed, self.before = [0, 0], [0, 0], [0, 0]
        self.hits = self.misses = self.asked = self.refused = self.flushes = self.done = 0

    def held(self, line: int, word: int, since: int) -> set[int]:
        """Values a word of memory had at any time since."""
        history = self.history[line][word]
        first = max(k for k, (when, _) in enumerate(history) if when <= since)
        return {value for _, value in history[first:]}

    def may(self, line: int, context: int) -> bool:
        return not any(line in lines for owner, lines in PRIVATE.items() if owner != context)

    # ---- The cores, the host, the driver

    def line(self) -> int:
        """Mostly one of two lines of a set, which change now and then."""
        if self.random.random() < 0.01:
            self.focus = self.random.randrange(LINES)
        if self.random.random() < self.spread:
            return self.random.randrange(LINES)
        return (self.focus + self.random.choice((0, 0, 4))) % LINES

    def act(self) -> None:
        rng = self.random
        if rng.random() < 0.5:
            line, word = rng.choice(HOST), rng.randrange(WORDS)
            self.history[line][word].append((self.now, rng.getrandbits(64)))
        reader = rng.randrange(READERS)
        if self.ar is None and len(self.reads[reader]) < EACH and rng.random() >= self.stall:
            line, context = self.line(), self.context[reader // 2]
            since = max(self.started[context], self.flushed[line]) if line in HOST else self.now
            self.reads[reader].append(Read(line, context, self.now, min(since, self.now)))
            self.ar, self.asked = reader, self.asked + 1
        if self.sending is None and rng.random() < 0.15:
            self.draw_write()
        self.drive_flush()
        self.drive_start()

    def draw_write(self) -> None:
        rng = self.random
        core = rng.randrange(2)
        if len(self.expected_b[core]) >= 4:
            return
        line = self.line()
        if line in HOST:
            line = rng.randrange(HOST[0])
        first = rng.randrange(WORDS)
        words = [(rng.getrandbits(64), rng.randrange(1, 256)) for _ in range(rng.randint(1, WORDS - first))]
        self.sending = Write(core, line, self.context[core], first, words)
        self.expected_b[core].append(self.may(line, self.context[core]))
        self.aw_done, self.w_beat = False, 0

    def drive_flush(self) -> None:
        rng, dut = self.random, self.dut
        dut.flush_i.value = 0
        if self.flush is None and rng.random() < 0.004:
            first = rng.randrange(LINES)
            lines = range(first, rng.randrange(first, LINES) + 1)
            dut.flush_i.value, self.flush, self.before = 1, (self.now, lines), list(self.taken)
            dut.flush_first_i.value, dut.flush_last_i.value = BASE // 64 + lines[0], BASE // 64 + lines[-1]

    def drive_start(self) -> None:
        """A core begins a kernel, perhaps in the other context; none of its requests is under way then."""
        self.dut.forget_i.value = 0
        core = self.random.randrange(2)
        readers = {2 * core, 2 * core + 1}
        if (
            self.random.random() < 0.01
            and not any(self.reads[reader] for reader in readers)
            and not self.expected_b[core]
        ):
            self.context[core] = self.random.choice((1, 2))
            self.started[self.context[core]] = self.now
            self.dut.forget_i.value = 1 << self.context[core]

    # ---- What both sides show

    def upper(self) -> int:
        ar: dict[str, int] = {}
        if self.ar is not None:
            read = self.reads[self.ar][-1]
            ar = {"id": self.ar, "addr": BASE + 64 * read.line, "len": 7, "size": 3, "burst": 1, "user": read.context}
        aw: dict[str, int] = {}
        data, strobe, last, valid = 0, 0, 0, 0
        if self.sending is not None:
            it = self.sending
            address = BASE + 64 * it.line + 8 * it.first
            aw = {"id": it.core, "addr": address, "len": len(it.words) - 1, "size": 3, "burst": 1, "user": it.context}
            if self.w_beat < len(it.words):
                (data, strobe), valid = it.words[self.w_beat], 1
                last = int(self.w_beat == len(it.words) - 1)
        head = (request(aw), (int(self.sending is not None and not self.aw_done), 1))
        middle = ((data, 64), (strobe, 8), (last, 1), (valid, 1), (1, 1))
        return pack((*head, *middle, request(ar), (int(self.ar is not None), 1), (1, 1)))

    def lower(self) -> int:
        rng = self.random
        if self.shown is None:
            self.beat = ((0, 4), (0, 64), (0, 2), (0, 1), (0, 1))
            ready = [key for key, reads in enumerate(self.below) if reads and reads[0][3] <= self.now]
            if ready and rng.random() >= self.stall:
                key = rng.choice(ready)
                line, context, beat, _, *words = self.below[key][0]
                refused = not self.may(line, context)
                value = rng.getrandbits(64) if refused else words[beat]
                self.beat = ((key, 4), (value, 64), (2 if refused else 0, 2), (int(beat == 7), 1), (1, 1))
                self.shown = (key, beat)
        b = [(0, 4), (0, 2), (0, 1)]
        firsts = [k for k, it in enumerate(self.below_b) if not any(o.core == it.core for o in self.below_b[:k])]
        ready_b = [k for k in firsts if self.below_b[k].when <= self.now]
        if ready_b and rng.random() >= self.stall:
            write = self.below_b.pop(rng.choice(ready_b))
            good = self.may(write.line, write.context)
            if good:
                self.write_memory(write)
            b = [(write.core, 4), (0 if good else 2, 2), (1, 1)]
        self.go = [int(rng.random() >= self.stall) for _ in range(3)]
        return pack(((self.go[0], 1), (self.go[1], 1), *b, (self.go[2], 1), *self.beat))

    async def step(self) -> None:
        dut = self.dut
        self.now += 1
        self.act()
        dut.req_i.value, dut.rsp_i.value = self.upper(), self.lower()
        await ReadOnly()
        up, down = Answer(int(dut.rsp_o.value)), Request(int(dut.req_o.value))
        hit, miss, busy = int(dut.hit_event_o.value), int(dut.miss_event_o.value), int(dut.flush_busy_o.value)
        self.hits, self.misses = self.hits + hit, self.misses + miss
        self.core_side(up)
        self.memory_side(down)
        if self.flush is not None and self.now > self.flush[0] + 1 and not busy:
            self.flush_done()
        await FallingEdge(dut.clk_i)

    def flush_done(self) -> None:
        assert self.flush is not None
        when, lines = self.flush
        assert all(map(operator.ge, self.landed, self.before)), "a flush waits for the writes of before"
        for line in lines:
            self.flushed[line] = max(self.flushed[line], when)
        self.flush, self.flushes = None, self.flushes + 1

    def core_side(self, up: Answer) -> None:
        if up.ar_ready and self.ar is not None:
            self.ar = None
        if self.sending is not None:
            if up.aw_ready and not self.aw_done:
                self.aw_done = True
                self.taken[self.sending.core] += 1
            if up.w_ready and self.w_beat < len(self.sending.words):
                self.w_beat += 1
            if self.aw_done and self.w_beat == len(self.sending.words):
                self.sending = None
        if up.b_valid:
            assert self.expected_b[up.b_id].popleft() == (up.b_resp == 0)
            self.landed[up.b_id] += 1
        if up.r_valid:
            self.answered(up)

    def answered(self, up: Answer) -> None:
        assert self.reads[up.r_id], f"reader {up.r_id} has asked for nothing"
        read = self.reads[up.r_id][0]
        assert (up.r_resp == 0) == self.may(read.line, read.context)
        if up.r_resp == 0:
            held = self.held(read.line, read.beat, read.since)
            assert up.r_data in held, f"line {read.line} word {read.beat} is {up.r_data:#x} at {self.now}: {read}"
        else:
            self.refused += 1
        assert up.r_last == (read.beat == 7)
        read.beat += 1
        if up.r_last:
            self.reads[up.r_id].popleft()
            self.done += 1

    def memory_side(self, down: Request) -> None:
        rng = self.random
        if self.shown is not None and not down.r_ready:
            self.held_back += 1
        elif self.shown is not None:
            key, beat = self.shown
            self.shown = None
            if beat == 7:
                self.below[key].popleft()
            else:
                self.below[key][0][2] += 1
        if down.ar_valid and self.go[2]:
            key, line, first, context = ax(down.ar)
            assert first == 0
            assert not any(read[0] == line for reads in self.below for read in reads), "a line is fetched once"
            words = [history[-1][1] for history in self.history[line]]
            self.below[key].append(
                [line, context, 0, self.now + rng.randrange(30 if self.spread < 0.5 else 120), *words]
            )
            self.deepest = max(self.deepest, len(self.below[key]))
        if down.aw_valid and self.go[0]:
            self.below_aw.append(down.aw)
        if down.w_valid and self.go[1]:
            assert self.below_aw or down.aw_valid, "data does not go before its address is shown"
            self.below_w.append((down.w_data, down.w_strb))
            self.whole = bool(down.w_last)
        if self.whole and self.below_aw:
            self.land()

    def land(self) -> None:
        """Address and all data of a write have come: it reaches memory in the cycle of its answer."""
        self.whole = False
        key, line, first, context = ax(self.below_aw.popleft())
        self.below_b.append(Below(key, line, context, first, tuple(self.below_w), self.now + self.random.randrange(20)))
        self.below_w.clear()

    def write_memory(self, write: Below) -> None:
        for k, (data, strobe) in enumerate(write.words):
            mask = sum(255 << 8 * n for n in range(8) if strobe >> n & 1)
            history = self.history[write.line][write.first + k]
            history.append((self.now, history[-1][1] & ~mask | data & mask))


class Quiet(Bench):
    """Nothing happens by itself: a core reads one line at a time, and what has to go is said in one cycle."""

    def __init__(self, dut: Any, seed: int) -> None:
        super().__init__(dut, seed, 0.0, 0.0)
        self.says: dict[str, int] = {}

    def act(self) -> None:
        for name in ("forget", "flush", "flush_first", "flush_last"):
            getattr(self.dut, f"{name}_i").value = self.says.get(name, 0)
        self.says = {}

    async def read(self, core: int, line: int, since: int) -> int:
        """Read a line, which must be as memory held it at some time since; the misses that took."""
        reader, before = 2 * core, self.misses
        self.reads[reader].append(Read(line, self.context[core], self.now, since))
        self.ar, self.asked = reader, self.asked + 1
        await self.until(lambda: not self.reads[reader])
        return self.misses - before

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(1000):
            if condition():
                return
            await self.step()
        raise AssertionError("it goes on for ever")

    async def drop(self, what: str, line: int) -> None:
        """Say what has to go: all of the line's context, or of the other one; the line, or another."""
        number = BASE // 64 + (line if what == "line" else LINES - 1)
        if what in ("line", "elsewhere"):
            self.says = {"flush": 1, "flush_first": number, "flush_last": number}
        else:
            self.says = {"forget": 1 << self.context[what == "other"]}
        await self.step()


async def reset(dut: Any) -> None:
    dut.rst_ni.value = 0
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


def begin(dut: Any) -> None:
    for name in ("req", "rsp", "forget", "flush", "flush_first", "flush_last"):
        getattr(dut, f"{name}_i").value = 0
    Clock(dut.clk_i, 10, "ns").start()


PAIRS = (("other", "context"), ("elsewhere", "context"), ("other", "line"), ("context", "other"), ("line", "other"))


@cocotb.test()
async def what_has_to_go_goes_whenever_it_is_said(dut: Any) -> None:
    """One thing and then another, some cycles apart: before a walk begins, as it begins, while it goes on."""
    begin(dut)
    await reset(dut)
    bench = Quiet(dut, 5)
    line = HOST[0]
    for first, second in PAIRS:
        for gap in range(14):
            await bench.read(0, line, bench.now)
            assert await bench.read(0, line, bench.now) == 0, "it is here"
            for history in bench.history[line]:
                history.append((bench.now, bench.random.getrandbits(64)))
            await bench.drop(first, line)
            for _ in range(gap):
                await bench.step()
            await bench.drop(second, line)
            await bench.until(lambda: dut.flush_busy_o.value == 0)
            await bench.read(0, line, bench.now)


@cocotb.test()
async def nothing_of_before_a_reset_is_found_after_it(dut: Any) -> None:
    """Lines lie in memories that no reset clears; a read in the first cycle waits until all are gone."""
    begin(dut)
    await reset(dut)
    bench = Quiet(dut, 6)
    for line in HOST:
        await bench.read(0, line, bench.now)
        assert await bench.read(0, line, bench.now) == 0, "it is here"
        for history in bench.history[line]:
            history.append((bench.now, bench.random.getrandbits(64)))
        await reset(dut)
        assert await bench.read(0, line, bench.now) == 1


@cocotb.test()
async def random_traffic_of_two_cores(dut: Any) -> None:
    begin(dut)
    deepest = held_back = 0
    for seed, stall, spread in ((1, 0.0, 0.3), (2, 0.3, 0.3), (3, 0.6, 0.3), (4, 0.1, 0.9)):
        await reset(dut)
        bench = Bench(dut, seed, stall, spread)
        for _ in range(CYCLES // 4):
            await bench.step()
        assert bench.hits + bench.misses >= bench.done > 50
        assert bench.misses < bench.asked <= bench.hits + bench.misses + 1
        assert bench.hits > (10 if spread < 0.5 else 0)
        assert bench.refused > 8
        assert bench.flushes > 2
        deepest, held_back = max(deepest, bench.deepest), held_back + bench.held_back
    assert deepest == EACH
    assert held_back > 50
