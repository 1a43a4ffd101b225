# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Data cache, local memory and store buffer of a GPU core under random accesses, against bytes in dictionaries.

The bench is all that stands behind the cache: a memory that answers late, in pieces, and refuses some lines; a
neighbour that writes to it; a core that does not always take its answers. What is checked:

- a load returns what the same core stored last before it, or after it while it was under way, and of the neighbour's
  bytes something they held since the last fence; its answers may come in parts, and after those of later loads;
- after a fence it is what they hold;
- a write at the memory port is a run of the stores to its line, in their order, and begins with the oldest store that
  has not left; none of the I/O lines is gathered;
- a line is read because a load wants it, or ahead of that, in a page of which a line has come;
- nothing of local memory leaves; what memory refuses is reported once, with its line; idle means that all has landed
  and no line is on its way;
- an atomic access reads and changes each lane's word once, in the order of the lanes, while it holds its line's lock
  and nobody else changes what that guards; it answers whole, when what it made has landed.
"""

from __future__ import annotations

import os
import random
import sys
from collections import defaultdict, deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from dcache_accesses import (
    ATOMIC,
    BAD,
    COUNTED,
    FENCE,
    IO_LINES,
    LINE,
    LOAD,
    LOCAL,
    LOCAL_BYTES,
    OWN,
    PAGE,
    SHARED,
    SHARED_LINES,
    STORE,
    THREADS,
    WALKED,
    Access,
    Bytes,
    Draws,
    combined,
    extended,
    is_local,
    refused,
    shared,
    together,
)

CYCLES = int(os.environ.get("DCACHE_CYCLES", "15000"))
READS = 8
"""Lines that may be on their way at once."""
STORES = 7
"""Lines that stores wait in before they leave."""


class Bench:
    """The cache's surroundings, one cycle at a time."""

    def __init__(self, dut: Any, seed: int, stall: float) -> None:
        self.dut, self.random, self.stall = dut, random.Random(seed), stall
        self.memory, self.own = Bytes(), Bytes()
        for memory in (self.memory, self.own):
            memory.put(WALKED, random.Random(seed).randbytes(BAD - WALKED))
        # Of the neighbour's bytes: all values since the last fence.
        self.seen: dict[int, set[int]] = {}
        self.request: Access | None = None
        # Taken at the port behind an atomic access that has not ended.
        self.behind: Access | None = None
        self.answers: dict[int, Access] = {}
        # Of each line its stores, numbered; and how many of them may have left.
        self.stores: defaultdict[int, list[tuple[int, dict[int, int]]]] = defaultdict(list)
        self.reached: defaultdict[int, set[int]] = defaultdict(lambda: {0})
        self.leaving: tuple[int, int, list[int], int, int] | None = None
        self.writes: deque[tuple[int, int, int, int, int]] = deque()
        self.fills: deque[list[Any]] = deque()
        self.good_pages: set[int] = set()
        self.cycle = self.reads = self.ahead = self.errors = self.hits = self.misses = self.stored = 0
        self.most_fills = self.overtaken = self.locks = self.atomics = 0
        self.lock: int | None = None
        self.drain = False
        # Memory answers no read; it takes no write.
        self.held = self.stuck = False
        self.draws = Draws(self.random, self.memory)

    # ---- The core

    def taken(self, access: Access) -> None:
        """The cache has taken an access: from here on its stores count, and its loads are decided."""
        if access.kind == STORE:
            self.store(access)
            return
        if access.kind == LOAD:
            access.left = access.mask
            for t in access.lanes():
                for at in range(access.address[t], access.address[t] + access.width):
                    access.allowed[at] = self.seen.get(at, {0}) if shared(at) else {self.own[at]}
        if access.kind == FENCE:
            access.before, access.reads = self.stored, self.reads
            access.since = {address: {self.memory[address]} for address in self.seen}
        if access.kind == ATOMIC:
            self.begin(access)
        assert access.tag not in self.answers
        self.answers[access.tag] = access

    def store(self, access: Access) -> None:
        for lanes in together(access):
            line = access.address[lanes[0]] // LINE
            written: dict[int, int] = {}
            for t in lanes:
                for k in range(access.width):
                    written[access.address[t] + k] = access.data[t] >> 8 * k & 255
            self.own.update(written)
            for load in self.answers.values():
                for at in written.keys() & load.allowed.keys():
                    load.allowed[at] = load.allowed[at] | {written[at]}
            if not is_local(line * LINE):
                self.stores[line].append((self.stored, written))
                self.stored += 1

    # ---- Atomic accesses

    def begin(self, access: Access) -> None:
        """What it does in its order; what is of local memory happens now, the rest when its line is locked."""
        access.groups = together(access)
        for lanes in access.groups:
            if is_local(access.address[lanes[0]]):
                self.change(access, lanes)
        access.before = self.stored

    def change(self, access: Access, lanes: list[int]) -> None:
        for t in lanes:
            at = access.address[t]
            access.old[t] = self.own.word(at)
            made = combined(access.operation, access.old[t], access.data[t], access.compare[t])
            if made is None or refused(at // LINE):
                continue
            written = {at + k: made >> 8 * k & 255 for k in range(4)}
            self.own.update(written)
            if not is_local(at):
                self.stores[at // LINE].append((self.stored, written))
                self.stored += 1

    def locking(self) -> None:
        """The lock of a line is given, kept, or seen to be given back."""
        dut = self.dut
        if not dut.lock_o.value:
            self.lock = None
        elif self.lock is None and self.random.random() >= self.stall:
            access = [access for access in self.answers.values() if access.kind == ATOMIC][-1]
            assert not access.release or self.landed(access.before), "a release is later than all stores before it"
            while is_local(access.address[access.groups[0][0]]):
                access.groups.pop(0)
            line = access.address[access.groups[0][0]] // LINE
            assert int(dut.lock_line_o.value) == line % 64
            self.lock, self.locks = line, self.locks + 1
            assert self.settled(line, self.stored), "a line is locked when every store to it has landed"
            for at in range(line * LINE, line * LINE + LINE):
                if COUNTED <= at < COUNTED + 2 * LINE:
                    self.own[at] = self.memory[at]
            while access.groups and access.address[access.groups[0][0]] // LINE == line:
                self.change(access, access.groups.pop(0))
            access.reads = self.stored
        dut.lock_grant_i.value = int(self.lock is not None)

    def settled(self, line: int, before: int) -> bool:
        """Whether the line's stores that were among the first so many are in memory."""
        left = self.stores[line][max(self.reached[line]) :]
        waits = [write[4] for write in self.writes if write[0] == line]
        return not any(number < before for number in [*waits, *(number for number, _ in left)])

    def atomic_answered(self, access: Access, mask: int, last: bool, values: list[int]) -> None:
        self.atomics += 1
        assert last
        assert mask == access.mask, "an atomic access answers whole"
        for t in access.lanes():
            at = access.address[t]
            assert refused(at // LINE) or values[t] == access.old[t], f"lane {t} read {values[t]:#x}"
            assert is_local(at) or self.settled(at // LINE, access.reads), "what an atomic access made has landed"
        if access.acquire:
            self.seen = {address: {self.memory[address]} for address in self.seen}
        del self.answers[access.tag]

    def answered(self, mask: int, tag: int, last: bool, values: list[int]) -> None:
        access = self.answers[tag]
        if access.kind == FENCE:
            assert last
            assert next(iter(self.answers)) == tag, "a fence answers after what was before it"
            assert self.landed(access.before), "and when every store before it has landed"
            assert all(fill[4] >= access.reads for fill in self.fills), "and when what was on its way has come"
            self.seen = access.since
            del self.answers[tag]
            return
        if access.kind == ATOMIC:
            return self.atomic_answered(access, mask, last, values)
        assert mask
        assert mask & ~access.left == 0, "no lane is answered twice"
        access.left &= ~mask
        assert last == (access.left == 0)
        if last:
            self.overtaken += next(iter(self.answers)) != tag
            del self.answers[tag]
        for t in access.lanes():
            if mask >> t & 1:
                self.check(access, t, values[t])

    def check(self, access: Access, lane: int, value: int) -> None:
        address = access.address[lane]
        if BAD <= address < BAD + PAGE:
            return
        raw = value.to_bytes(4, "little")[: access.width]
        assert value == extended(raw, access.size)
        for k in range(access.width):
            allowed = self.seen.get(address + k, {0}) if shared(address) else access.allowed[address + k]
            assert raw[k] in allowed, f"lane {lane}: {address + k:#x} is {raw[k]:#x}, of {allowed}"

    def landed(self, before: int = sys.maxsize) -> bool:
        """Whether every store, or the first so many, are in memory."""
        for line, stores in self.stores.items():
            at = max(self.reached[line])
            if at < len(stores) and stores[at][0] < before:
                return False
        return all(write[4] >= before for write in self.writes)

    # ---- Memory

    def neighbour(self) -> None:
        if self.random.random() < 0.3:
            address, value = SHARED + self.random.randrange(SHARED_LINES * LINE), self.random.getrandbits(8)
            fences = [access.since for access in self.answers.values() if access.kind == FENCE]
            for seen in (self.seen, *fences):
                seen.setdefault(address, {self.memory[address]}).add(value)
            self.memory[address] = value
        at = COUNTED + 4 * self.random.randrange(2 * LINE // 4)
        if self.random.random() < 0.2 and self.lock != at // LINE:
            self.memory.put(at, ((self.memory.word(at) + 1) & 0xFFFFFFFF).to_bytes(4, "little"))

    def written(self, line: int, data: int, strobes: int) -> None:
        """A write leaves: it must be some stores, next in order, to one line."""
        assert not is_local(line * LINE)
        assert strobes
        image = {line * LINE + k: data >> 8 * k & 255 for k in range(LINE) if strobes >> k & 1}
        stores = self.stores[line]
        others = [self.stores[k][max(self.reached[k])][0] for k in self.stores if k != line and self.waits(k)]
        reached = set()
        for start in self.reached[line]:
            if start == len(stores) or any(stores[start][0] > other for other in others):
                continue
            merged: dict[int, int] = {}
            for at in range(start, len(stores)):
                merged.update(stores[at][1])
                if merged == image:
                    reached.add(at + 1)
                if line < IO_LINES:
                    break
        assert reached, f"a write of line {line:#x} that is no run of its stores, or leaves before older ones"
        when = -1 if refused(line) else self.cycle + self.random.randrange(12)
        self.writes.append((line, data, strobes, when, stores[min(self.reached[line])][0]))
        self.reached[line] = reached

    def waits(self, line: int) -> bool:
        """Whether a store to a line has surely not left."""
        return max(self.reached[line]) < len(self.stores[line])

    def pull(self) -> None:
        """Drive which beat is wanted of the line that leaves."""
        if self.leaving is not None:
            self.dut.wr_beat_i.value = self.leaving[2][0]

    def pulled(self) -> None:
        """A beat of the line that leaves, in a cycle in which memory takes it."""
        if self.leaving is None or self.random.random() < self.stall:
            return
        line, beats, wanted, data, strobes = self.leaving
        beat = wanted[0]
        word, strobe = int(self.dut.wr_data_o.value), int(self.dut.wr_strb_o.value)
        assert bool(strobe) == bool(beats >> beat & 1)
        assert all(strobe >> k & 1 or not word >> 8 * k & 255 for k in range(8)), "what was not stored is zero"
        data, strobes = data | word << 64 * beat, strobes | strobe << 8 * beat
        self.leaving = (line, beats, wanted[1:], data, strobes)
        if not wanted[1:]:
            self.leaving = None
            self.written(line, data, strobes)

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
            self.offer(self.draws.draw())
        dut.rsp_ready_i.value = int(rng.random() >= self.stall)
        dut.rd_ready_i.value = int(rng.random() >= self.stall)
        dut.wr_ready_i.value = int(rng.random() >= self.stall and self.leaving is None and not self.stuck)
        self.pull()
        dut.drain_i.value = int(self.drain)
        self.locking()
        bad = self.beat()
        done, failed, line = self.land()
        dut.wr_done_i.value, dut.wr_error_i.value = int(done), int(failed)
        expected = [line * LINE] * failed + [bad] * (bad >= 0)
        await ReadOnly()
        self.look(expected, bool(done))
        await FallingEdge(dut.clk_i)
        if self.request is None:
            dut.req_valid_i.value = 0

    def offer(self, access: Access) -> None:
        dut, self.request = self.dut, access
        dut.req_valid_i.value = 1
        dut.req_store_i.value, dut.req_fence_i.value = int(access.kind == STORE), int(access.kind == FENCE)
        dut.req_amo_i.value, dut.req_amo_op_i.value = int(access.kind == ATOMIC), access.operation
        dut.req_acquire_i.value, dut.req_release_i.value = int(access.acquire), int(access.release)
        dut.req_size_i.value, dut.req_mask_i.value, dut.req_tag_i.value = access.size, access.mask, access.tag
        for t in range(THREADS):
            dut.req_addr_i[t].value, dut.req_data_i[t].value = access.address[t], access.data[t]
            dut.req_compare_i[t].value = access.compare[t]

    def beat(self) -> int:
        """Drive the read port; the address of a line whose last beat makes it a refused one, else -1."""
        dut = self.dut
        dut.rd_beat_i.value = dut.rd_last_i.value = dut.rd_error_i.value = 0
        if self.held or not self.fills or self.fills[0][2] > self.cycle or self.random.random() < self.stall:
            return -1
        line, number, _, early, _ = self.fills[0]
        word = early[8 * number : 8 * number + 8] if early else self.memory.take(line * LINE + 8 * number, 8)
        dut.rd_beat_i.value, dut.rd_last_i.value, dut.rd_error_i.value = 1, int(number == 7), int(refused(line))
        dut.rd_data_i.value = int.from_bytes(word, "little")
        self.fills[0][1] += 1
        if number < 7:
            return -1
        self.fills.popleft()
        if not refused(line):
            self.good_pages.add(line * LINE // PAGE)
        return line * LINE if refused(line) else -1

    def asked(self, line: int) -> None:
        """A line is asked for: what it brings may be from now, or from when it comes."""
        assert not is_local(line * LINE)
        assert all(write[0] != line for write in self.writes), "a line is read while a store to it has not landed"
        assert self.leaving is None or self.leaving[0] != line
        assert all(fill[0] != line for fill in self.fills), "a line is read twice at once"
        wanted = {access.address[t] // LINE for access in self.answers.values() for t in access.lanes()}
        if line not in wanted:
            self.ahead += 1
            assert line * LINE // PAGE in self.good_pages, "a line ahead is in a page that may be read"
        early = self.memory.take(line * LINE, LINE) if self.random.random() < 0.5 else b""
        self.fills.append([line, 0, self.cycle + self.random.randrange(20), early, self.reads])
        self.most_fills = max(self.most_fills, len(self.fills))
        assert len(self.fills) <= READS
        self.reads += 1

    def look(self, failed: list[int], landed: bool) -> None:
        """What the next edge will see."""
        dut = self.dut
        atomic = next((tag for tag, access in self.answers.items() if access.kind == ATOMIC and not access.ended), None)
        if dut.rsp_valid_o.value and atomic == int(dut.rsp_tag_o.value):
            self.answers[atomic].ended, atomic = True, None
            if self.behind is not None:
                self.taken(self.behind)
                self.behind = None
        if dut.error_o.value:
            self.errors += 1
            assert int(dut.error_addr_o.value) in failed
        else:
            assert not failed
        self.hits += int(dut.hit_event_o.value)
        self.misses += int(dut.miss_event_o.value)
        if dut.idle_o.value:
            assert self.landed()
            assert not landed
            assert not self.answers
            assert not self.fills
        if dut.rd_valid_o.value and dut.rd_ready_i.value:
            self.asked(int(dut.rd_line_o.value))
        if dut.wr_valid_o.value and dut.wr_ready_i.value:
            beats = int(dut.wr_beats_o.value)
            wanted = [b for b in range(8) if beats & ((2 << b) - 1) and beats >> b]
            self.leaving = (int(dut.wr_line_o.value), beats, wanted, 0, 0)
        else:
            self.pulled()
        if dut.rsp_valid_o.value and dut.rsp_ready_i.value:
            values = [int(dut.rsp_data_o[t].value) for t in range(THREADS)]
            mask, last = int(dut.rsp_mask_o.value), bool(dut.rsp_last_o.value)
            self.answered(mask, int(dut.rsp_tag_o.value), last, values)
        if self.request is not None and dut.req_ready_o.value:
            if atomic is None:
                self.taken(self.request)
            else:
                assert self.behind is None, "one access waits at the port"
                self.behind = self.request
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
    for name in (
        "clear",
        "req_valid",
        "req_amo",
        "lock_grant",
        "rsp_ready",
        "drain",
        "rd_ready",
        "rd_beat",
        "wr_ready",
        "wr_done",
        "wr_beat",
    ):
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
    errors = ahead = overtaken = most_fills = atomics = locks = 0
    for seed, stall in ((1, 0.0), (2, 0.3), (3, 0.7)):
        bench = Bench(dut, seed, stall)
        for _ in range(CYCLES // 3):
            await bench.step()
        await bench.quiet()
        assert bench.landed(), "every store has left"
        for line, stores in bench.stores.items():
            if not refused(line) and line * LINE < COUNTED:
                assert all(bench.memory[at] == bench.own[at] for _, written in stores for at in written)
        assert 20 < bench.misses <= bench.reads - bench.ahead
        assert bench.hits > bench.misses / 2
        errors, ahead, overtaken = errors + bench.errors, ahead + bench.ahead, overtaken + bench.overtaken
        most_fills = max(most_fills, bench.most_fills)
        atomics, locks = atomics + bench.atomics, locks + bench.locks
        await clear(dut)
    assert errors > 3
    assert ahead > 10
    assert overtaken > 10
    assert most_fills >= 2
    assert atomics > 100
    assert locks > atomics / 2


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


@cocotb.test()
async def a_start_forgets_walks(dut: Any) -> None:
    """Who walked through a page before has no say in what is read ahead for the next kernel."""
    await reset(dut)
    bench = Bench(dut, 10, 0.0)
    for number in range(6):
        await one(bench, Access(LOAD, 2, 1, 8, [WALKED + LINE * number] * THREADS, [0] * THREADS))
    assert bench.reads > 6, "a walk is learnt"
    await clear(dut)
    reads = bench.reads
    await one(bench, Access(LOAD, 2, 1, 8, [WALKED + PAGE + LINE] * THREADS, [0] * THREADS))
    for _ in range(40):
        await bench.step(requests=False)
    assert bench.reads == reads + 1


@cocotb.test()
async def a_fence_shows_what_the_neighbour_stored(dut: Any) -> None:
    await reset(dut)
    bench = Bench(dut, 5, 0.0)
    line = SHARED + 0x40
    for text in (b"\x01\x02\x03\x04", b"\x11\x22\x33\x44"):
        bench.memory.put(line, text)
        await one(bench, Access(FENCE, 2, 1, 8, [0] * THREADS, [0] * THREADS))
        bench.seen = {line + k: {byte} for k, byte in enumerate(text)}
        for _ in range(2):
            await one(bench, Access(LOAD, 2, 1, 9, [line] * THREADS, [0] * THREADS))


@cocotb.test()
async def a_fence_waits_for_lines_that_nobody_asked_for(dut: Any) -> None:
    """A line is loaded from, which brings the next ones; a fence some cycles later, while that is on its way."""
    await reset(dut)
    bench = Bench(dut, 7, 0.0)
    met = 0
    for number in range(2 * PAGE // LINE - 8):
        bench.offer(Access(LOAD, 2, 1, 8, [WALKED + LINE * number] * THREADS, [0] * THREADS))
        while bench.request is not None or bench.answers:
            await bench.step(requests=False)
        for _ in range(number % 8):
            await bench.step(requests=False)
        fence = Access(FENCE, 2, 1, 7, [0] * THREADS, [0] * THREADS)
        bench.offer(fence)
        while bench.request is not None:
            await bench.step(requests=False)
        met += bool(bench.fills)
        await idle(bench)
    assert met > 20


@cocotb.test()
async def a_line_is_read_whole_at_any_distance_behind_its_miss(dut: Any) -> None:
    await reset(dut)
    bench = Bench(dut, 6, 0.0)
    for distance in range(60):
        for memory in (bench.memory, bench.own):
            memory.put(WALKED, bytes([distance + 1]) * LINE)
        await one(bench, Access(FENCE, 2, 1, 7, [0] * THREADS, [0] * THREADS))
        bench.offer(Access(LOAD, 2, 1, 8, [WALKED] * THREADS, [0] * THREADS))
        for _ in range(1 + distance):
            await bench.step(requests=False)
        await one(bench, Access(LOAD, 2, 1, 9, [WALKED + LINE - 4] * THREADS, [0] * THREADS))


@cocotb.test()
async def as_many_lines_are_on_their_way_as_may_be(dut: Any) -> None:
    """A walk is learnt; then memory answers nothing, and more lines are loaded from than may be on their way."""
    await reset(dut)
    bench = Bench(dut, 8, 0.0)
    for number in range(3):
        bench.offer(Access(LOAD, 2, 1, number, [WALKED + LINE * number] * THREADS, [0] * THREADS))
        while bench.request is not None or bench.answers:
            await bench.step(requests=False)
    bench.held = True
    for _ in range(20):
        await bench.step(requests=False)
    ahead = len(bench.fills)
    for number in range(READS):
        address = OWN + (PAGE << number) + LINE * (number + ahead + 3)
        bench.offer(Access(LOAD, 2, 1, 8 + number, [address] * THREADS, [0] * THREADS))
        for _ in range(8):
            await bench.step(requests=False)
    ways = int(os.environ["DCACHE_BYTES"]) // LINE
    assert len(bench.fills) == min(READS, ways)
    assert 0 < ahead < READS
    bench.held = False
    await idle(bench)


@cocotb.test()
async def a_full_buffer_takes_no_store(dut: Any) -> None:
    """Memory takes no write; stores to more lines than there are places are offered, and all of them land later."""
    await reset(dut)
    bench = Bench(dut, 9, 0.0)
    bench.stuck, count = True, 0
    while bench.request is None:
        assert count < 2 * STORES, "more is taken than there is room for"
        at = OWN + LINE * (IO_LINES + count)
        bench.offer(Access(STORE, 2, 1, 0, [at] * THREADS, [count + 1] * THREADS))
        count += 1
        for _ in range(100):
            await bench.step(requests=False)
            if bench.request is None:
                break
    assert count > STORES
    bench.stuck = False
    await bench.quiet()
    for number in range(count):
        assert bench.memory.take(OWN + LINE * (IO_LINES + number), 4) == (number + 1).to_bytes(4, "little")


async def one(bench: Bench, access: Access) -> None:
    """An access by itself, until the cache is idle again."""
    bench.offer(access)
    await idle(bench)


async def idle(bench: Bench) -> None:
    """Until all is answered and nothing is on its way."""
    for _ in range(400):
        await bench.step(requests=False)
        if bench.request is None and not bench.answers and int(bench.dut.idle_o.value):
            return
    raise AssertionError("no answer")
