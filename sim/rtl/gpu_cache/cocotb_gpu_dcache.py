"""Data cache, local memory and store buffer of a GPU core under random accesses, against bytes in dictionaries.

The bench is all that stands behind the cache: a memory that answers late, in pieces, and refuses some lines; a
neighbour that writes to it; a core that does not always take its answers. What is checked:

- a load returns what the same core stored last, and of the neighbour's bytes something they held since the last fence;
- after a fence it is what they hold;
- a write at the memory port is a run of stores to one line, in their order, and none of the I/O lines is gathered;
- nothing of local memory leaves; what memory refuses is reported once, with its line; idle means that all has landed.
"""

from __future__ import annotations

import os
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

LINE = 64
LOCAL = 0xFFFF0000
OWN, SHARED, BAD = 0x80000000, 0x90000000, 0xA0000000
"""Lines that the core alone writes, those that its neighbour writes, those that memory refuses."""
IO_LINES, SHARED_LINES = 4, 2
CYCLES = int(os.environ.get("DCACHE_CYCLES", "15000"))
THREADS, LOCAL_BYTES = int(os.environ["DCACHE_THREADS"]), int(os.environ["DCACHE_LOCAL"])

LOAD, STORE, FENCE = range(3)
SIZES = (0, 1, 2, 4, 5)
"""funct3 of lb, lh, lw, lbu, lhu."""


@dataclass
class Access:
    """One access of a warp: what each lane addresses, and what it stores or expects.

    Of a fence: how many stores were before it, and what the neighbour's bytes have been since.
    """

    kind: int
    size: int
    mask: int
    tag: int
    address: list[int]
    data: list[int]
    expected: dict[int, bytes] = field(default_factory=dict)
    before: int = 0
    since: dict[int, set[int]] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return 1 << (self.size & 3)

    def lanes(self) -> list[int]:
        return [t for t in range(THREADS) if self.mask >> t & 1]


def extended(raw: bytes, size: int) -> int:
    return int.from_bytes(raw, "little", signed=size < 2) & 0xFFFFFFFF


def is_local(address: int) -> bool:
    return LOCAL <= address < LOCAL + LOCAL_BYTES


class Bytes(dict[int, int]):
    """Memory: zero where never written."""

    def __missing__(self, address: int) -> int:
        return 0

    def take(self, address: int, size: int) -> bytes:
        return bytes(self[address + k] for k in range(size))

    def put(self, address: int, data: bytes) -> None:
        for k, value in enumerate(data):
            self[address + k] = value


class Bench:
    """The cache's surroundings, one cycle at a time."""

    def __init__(self, dut: Any, seed: int, stall: float) -> None:
        self.dut, self.random, self.stall = dut, random.Random(seed), stall
        self.memory, self.own = Bytes(), Bytes()
        # Of the neighbour's bytes: all values since the last fence.
        self.seen: dict[int, set[int]] = {}
        self.request: Access | None = None
        self.answers: deque[Access] = deque()
        self.stores: list[tuple[int, dict[int, int]]] = []
        self.reached = {0}
        self.writes: deque[tuple[int, int, int, int, int]] = deque()
        self.fill: tuple[int, int, int] | None = None
        self.cycle = self.reads = self.errors = self.hits = self.misses = self.loads = self.tag = 0
        self.drain = False
        self.focus = self.place()

    # ---- The core

    def draw(self) -> Access:
        rng = self.random
        kind = rng.choices((LOAD, STORE, FENCE), (60, 37, 3))[0]
        size = rng.choice(SIZES) if kind == LOAD else rng.choice((0, 1, 2))
        width = 1 << (size & 3)
        base, first, span = self.place() if rng.random() < 0.08 else self.focus
        if base == SHARED and kind == STORE:
            base = OWN
        if rng.random() < 0.02:
            self.focus = self.place()
        together = rng.random() < 0.5
        start = rng.randrange(span)
        address = [
            base + first + ((start + t * width if together else rng.randrange(span)) % span & -width)
            for t in range(THREADS)
        ]
        data = [rng.getrandbits(32) for _ in range(THREADS)]
        self.tag = (self.tag + 1) % 256
        return Access(kind, size, rng.randrange(1, 1 << THREADS), self.tag, address, data)

    def place(self) -> tuple[int, int, int]:
        """A region, and some lines of it: first byte and size."""
        base = self.random.choices((OWN, LOCAL, SHARED, 0, BAD), (40, 15, 30, 12, 3))[0]
        lines = {LOCAL: LOCAL_BYTES // LINE, 0: IO_LINES, SHARED: SHARED_LINES}.get(base, 8)
        first = self.random.randrange(lines)
        return base, first * LINE, min(self.random.choice((1, 1, 2, 8)), lines - first) * LINE

    def taken(self, access: Access) -> None:
        """The cache has taken an access: from here on its stores count, and its loads are decided."""
        if access.kind == STORE:
            self.store(access)
            return
        if access.kind == LOAD:
            self.loads += 1
            access.expected = {t: self.own.take(access.address[t], access.width) for t in access.lanes()}
        if access.kind == FENCE:
            access.before = len(self.stores)
            access.since = {address: {self.memory[address]} for address in self.seen}
        self.answers.append(access)

    def store(self, access: Access) -> None:
        lanes = access.lanes()
        while lanes:
            line = access.address[lanes[0]] // LINE
            written: dict[int, int] = {}
            for t in [t for t in lanes if access.address[t] // LINE == line]:
                for k in range(access.width):
                    written[access.address[t] + k] = access.data[t] >> 8 * k & 255
            lanes = [t for t in lanes if access.address[t] // LINE != line]
            self.own.update(written)
            if not is_local(line * LINE):
                self.stores.append((line, written))

    def answered(self, mask: int, tag: int, values: list[int]) -> None:
        access = self.answers.popleft()
        assert tag == access.tag, "answers come in order"
        if access.kind == FENCE:
            assert max(self.reached) >= access.before, "a fence answers when every store has left"
            assert all(write[4] >= access.before for write in self.writes), "and has landed"
            self.seen = access.since
            return
        assert mask == access.mask
        for t in access.lanes():
            self.check(access, t, values[t])

    def check(self, access: Access, lane: int, value: int) -> None:
        address = access.address[lane]
        if BAD <= address < BAD + 0x1000:
            return
        if SHARED <= address < SHARED + 0x1000:
            raw = value.to_bytes(4, "little")
            for k in range(access.width):
                allowed = self.seen.get(address + k, {0})
                assert raw[k] in allowed, f"{address + k:#x} is {raw[k]:#x}, of {allowed} since the last fence"
            return
        want = extended(access.expected[lane], access.size)
        assert value == want, f"lane {lane} at {address:#x}: {value:#x} instead of {want:#x}"

    # ---- Memory

    def neighbour(self) -> None:
        if self.random.random() < 0.3:
            address, value = SHARED + self.random.randrange(SHARED_LINES * LINE), self.random.getrandbits(8)
            fences = [access.since for access in self.answers if access.kind == FENCE]
            for seen in (self.seen, *fences):
                seen.setdefault(address, {self.memory[address]}).add(value)
            self.memory[address] = value

    def written(self, line: int, data: int, strobes: int) -> None:
        """A write leaves: it must be some stores, next in order, to one line."""
        assert not is_local(line * LINE)
        assert strobes
        image = {line * LINE + k: data >> 8 * k & 255 for k in range(LINE) if strobes >> k & 1}
        reached = set()
        for start in self.reached:
            merged: dict[int, int] = {}
            for at in range(start, len(self.stores)):
                if self.stores[at][0] != line:
                    break
                merged.update(self.stores[at][1])
                if merged == image:
                    reached.add(at + 1)
                if line < IO_LINES:
                    break
        assert reached, f"a write of line {line:#x} that is no run of stores"
        refused = BAD // LINE <= line < BAD // LINE + 64
        when = -1 if refused else self.cycle + self.random.randrange(12)
        self.writes.append((line, data, strobes, when, max(self.reached)))
        self.reached = reached

    def land(self) -> tuple[bool, bool, int]:
        """Whether a write ends in this cycle, and how."""
        if not self.writes or self.writes[0][3] > self.cycle or self.random.random() < self.stall:
            return False, False, 0
        line, data, strobes, when, _ = self.writes.popleft()
        if when < 0:
            return True, True, line
        for k in range(LINE):
            if strobes >> k & 1:
                self.memory[line * LINE + k] = data >> 8 * k & 255
        return True, False, line

    # ---- A cycle

    async def step(self, requests: bool = True) -> None:
        dut, rng = self.dut, self.random
        self.cycle += 1
        self.neighbour()
        if self.request is None and requests and rng.random() >= self.stall:
            self.offer(self.draw())
        dut.rsp_ready_i.value = int(rng.random() >= self.stall)
        dut.rd_ready_i.value = int(rng.random() >= self.stall)
        dut.wr_ready_i.value = int(rng.random() >= self.stall)
        dut.drain_i.value = int(self.drain)
        bad = self.beat()
        done, refused, line = self.land()
        dut.wr_done_i.value, dut.wr_error_i.value = int(done), int(refused)
        expected = [line * LINE] * refused + [bad] * (bad >= 0)
        await ReadOnly()
        self.look(expected, bool(done))
        await FallingEdge(dut.clk_i)
        if self.request is None:
            dut.req_valid_i.value = 0

    def offer(self, access: Access) -> None:
        dut, self.request = self.dut, access
        dut.req_valid_i.value = 1
        dut.req_store_i.value, dut.req_fence_i.value = int(access.kind == STORE), int(access.kind == FENCE)
        dut.req_size_i.value, dut.req_mask_i.value, dut.req_tag_i.value = access.size, access.mask, access.tag
        for t in range(THREADS):
            dut.req_addr_i[t].value, dut.req_data_i[t].value = access.address[t], access.data[t]

    def beat(self) -> int:
        """Drive the read port; the address of a line whose last beat makes it a refused one, else -1."""
        dut = self.dut
        dut.rd_beat_i.value = dut.rd_last_i.value = dut.rd_error_i.value = 0
        if self.fill is None or self.fill[2] > self.cycle or self.random.random() < self.stall:
            return -1
        line, number, when = self.fill
        refused = BAD <= line * LINE < BAD + 0x1000
        dut.rd_beat_i.value, dut.rd_last_i.value, dut.rd_error_i.value = 1, int(number == 7), int(refused)
        dut.rd_data_i.value = int.from_bytes(self.memory.take(line * LINE + 8 * number, 8), "little")
        self.fill = None if number == 7 else (line, number + 1, when)
        return line * LINE if refused and number == 7 else -1

    def look(self, refused: list[int], landed: bool) -> None:
        """What the next edge will see."""
        dut = self.dut
        if dut.error_o.value:
            self.errors += 1
            assert int(dut.error_addr_o.value) in refused
        else:
            assert not refused
        self.hits += int(dut.hit_event_o.value)
        self.misses += int(dut.miss_event_o.value)
        if dut.idle_o.value:
            assert not self.writes
            assert not landed
            assert not self.answers
        if dut.rd_valid_o.value and dut.rd_ready_i.value:
            assert self.fill is None
            line = int(dut.rd_line_o.value)
            assert not is_local(line * LINE)
            assert all(write[0] != line for write in self.writes), "a line is read while a store to it has not landed"
            self.fill, self.reads = (line, 0, self.cycle + self.random.randrange(20)), self.reads + 1
        if dut.wr_valid_o.value and dut.wr_ready_i.value:
            self.written(int(dut.wr_line_o.value), int(dut.wr_data_o.value), int(dut.wr_strb_o.value))
        if dut.rsp_valid_o.value and dut.rsp_ready_i.value:
            values = [int(dut.rsp_data_o[t].value) for t in range(THREADS)]
            self.answered(int(dut.rsp_mask_o.value), int(dut.rsp_tag_o.value), values)
        if self.request is not None and dut.req_ready_o.value:
            self.taken(self.request)
            self.request = None

    async def quiet(self) -> None:
        """Until everything has landed."""
        self.drain = True
        for _ in range(2000):
            await self.step(requests=False)
            if self.request is None and self.dut.idle_o.value:
                break
        else:
            raise AssertionError("never idle")
        self.drain = False


async def reset(dut: Any) -> None:
    for name in ("clear", "req_valid", "rsp_ready", "drain", "rd_ready", "rd_beat", "wr_ready", "wr_done"):
        getattr(dut, f"{name}_i").value = 0
    dut.clear_line_i.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    dut.rst_ni.value = 0
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await clear(dut)


async def clear(dut: Any) -> None:
    """As at the start of a kernel."""
    dut.wr_done_i.value = dut.rd_beat_i.value = 0
    dut.clear_i.value = 1
    for line in range(LOCAL_BYTES // LINE):
        dut.clear_line_i.value = line
        await FallingEdge(dut.clk_i)
    dut.clear_i.value = 0


@cocotb.test()
async def random_accesses_of_warps(dut: Any) -> None:
    await reset(dut)
    errors = 0
    for seed, stall in ((1, 0.0), (2, 0.3), (3, 0.7)):
        bench = Bench(dut, seed, stall)
        for _ in range(CYCLES // 3):
            await bench.step()
        await bench.quiet()
        assert len(bench.stores) in bench.reached, "every store has left"
        for line, written in bench.stores:
            if not BAD // LINE <= line < BAD // LINE + 64:
                assert all(bench.memory[at] == bench.own[at] for at in written)
        assert bench.misses == bench.reads > 20
        assert bench.hits > bench.misses / 2
        errors += bench.errors
        await clear(dut)
    assert errors > 3


@cocotb.test()
async def a_start_forgets_lines_and_local_memory(dut: Any) -> None:
    await reset(dut)
    bench = Bench(dut, 4, 0.0)
    secret, line = LOCAL + 4 * (LOCAL_BYTES // 8), SHARED + 0x40
    for kind, address in ((STORE, secret), (LOAD, secret), (LOAD, line)):
        await one(bench, Access(kind, 2, 1, kind, [address] * THREADS, [0xC0FFEE] * THREADS))
    bench.memory.put(line, b"\x11\x22\x33\x44")
    await clear(dut)
    bench.own.clear()
    for k in range(4):
        bench.seen[line + k] = {bench.memory[line + k]}
    reads = bench.reads
    for address in (secret, line):
        await one(bench, Access(LOAD, 2, 1, 9, [address] * THREADS, [0] * THREADS))
    assert bench.reads == reads + 1


async def one(bench: Bench, access: Access) -> None:
    """An access by itself."""
    bench.offer(access)
    for _ in range(100):
        await bench.step(requests=False)
        if bench.request is None and not bench.answers:
            return
    raise AssertionError("no answer")
