# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Streams between three slots: a model of what each read must find, and memories and slots that pause or misbehave.

The model knows nothing of ports and queues: it is a list of the words that were sent since both ends were set, of which
a reader gets the first, the second, and so on, then zeros, or errors. What is no stream is held against a memory of
each slot's.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer
from eddy_drivers.regs import stream_port as regs
from eddy_sim.design.axi_fields import AX

SLOTS, PAGE, BLOCK = 3, 4096, 64
STREAM, ELSEWHERE = 0x40_0000, 0x80_0000
OKAY, SLVERR = 0, 2
INCR, FIXED = 1, 0
PATIENCE = 4000


def request(addr: int, beats: int, size: int = 3, burst: int = INCR) -> int:
    """A request as a vector; what nobody looks at is zero."""
    values, word = {"addr": addr, "len": beats - 1, "size": size, "burst": burst}, 0
    for name, width in AX:
        word = word << width | values.get(name, 0)
    return word


def fields(word: int) -> tuple[int, int]:
    """Address and beats of a request."""
    values = {}
    for name, width in reversed(AX):
        values[name] = word & (1 << width) - 1
        word >>= width
    return values["addr"], values["len"] + 1


def first_content(addr: int) -> int:
    return addr * 0x9E37_79B9_7F4A_7C15 & (1 << 64) - 1


def masked(data: int, strobe: int) -> int:
    return sum(data & 0xFF << 8 * byte for byte in range(8) if strobe >> byte & 1)


@dataclass
class BenchSlot:
    """What a slot asks, what it is answered, and its memory."""

    asks_writes: deque[tuple[int, list[tuple[int, int]]]] = field(default_factory=deque)
    asks_reads: deque[int] = field(default_factory=deque)
    data: deque[tuple[int, int, int]] = field(default_factory=deque)
    b: list[int] = field(default_factory=list)
    r: list[tuple[int, int, int]] = field(default_factory=list)
    memory: dict[int, int] = field(default_factory=dict)
    mem_writes: deque[tuple[int, int]] = field(default_factory=deque)
    mem_beat: int = 0
    mem_b: int = 0
    mem_r: deque[tuple[int, int]] = field(default_factory=deque)
    requests: int = 0
    speed: float = 1.0


class Rig:
    """Three slots, their memories, and the processor."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.slots = [BenchSlot() for _ in range(SLOTS)]
        self.pace = 0.7
        self.access: tuple[int, int | None] | None = None
        self.found: int | None = None

    async def start(self) -> None:
        dut = self.dut
        for name in ("aw", "w", "ar", "mem_b", "mem_r"):
            getattr(dut, f"{name}_valid_i").value = 0
            getattr(dut, f"{name}_i").value = 0
        for name in ("mem_aw", "mem_w", "mem_ar"):
            getattr(dut, f"{name}_ready_i").value = 0
        dut.sel_i.value = dut.write_i.value = dut.addr_i.value = dut.wdata_i.value = 0
        dut.rst_ni.value = 0
        Clock(dut.clk_i, 10, "ns").start()
        await ClockCycles(dut.clk_i, 3)
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

    def put(self, name: str, words: list[int], width: int) -> None:
        getattr(self.dut, name).value = sum(word << width * k for k, word in enumerate(words))

    def take(self, name: str, k: int, width: int) -> int:
        return int(getattr(self.dut, name).value) >> width * k & (1 << width) - 1

    async def cycle(self) -> None:
        dut, rng = self.dut, self.rng
        goes = [rng.random() < slot.speed for slot in self.slots]
        aw = [bool(slot.asks_writes) for slot in self.slots]
        ar = [bool(slot.asks_reads) and goes[k] for k, slot in enumerate(self.slots)]
        w = [bool(slot.data) for slot in self.slots]
        ready = {name: [rng.random() < self.pace for _ in self.slots] for name in ("mem_aw", "mem_w", "mem_ar")}
        b = [slot.mem_b > 0 and rng.random() < self.pace for slot in self.slots]
        r = [bool(slot.mem_r) and rng.random() < self.pace for slot in self.slots]
        for name, bits in (("aw", aw), ("ar", ar), ("w", w), ("mem_b", b), ("mem_r", r)):
            self.put(f"{name}_valid_i", [int(bit) for bit in bits], 1)
        for name, bits in ready.items():
            self.put(f"{name}_ready_i", [int(bit) for bit in bits], 1)
        noise = [rng.getrandbits(72) for _ in self.slots]
        # What is not offered is noise.
        asks = [
            request(s.asks_writes[0][0], len(s.asks_writes[0][1])) if aw[k] else noise[k] & ~(0xFF << 20)
            for k, s in enumerate(self.slots)
        ]
        self.put("aw_i", [self.shaped.get((k, "aw"), asks[k]) if aw[k] else asks[k] for k in range(SLOTS)], 72)
        reads = [slot.asks_reads[0] if ar[k] else noise[k] & ~(0xFF << 20) for k, slot in enumerate(self.slots)]
        self.put("ar_i", reads, 72)
        words = [slot.data[0] if w[k] else (noise[k] & (1 << 64) - 1, 0xFF, 1) for k, slot in enumerate(self.slots)]
        self.put("w_i", [data << 9 | strobe << 1 | last for data, strobe, last in words], 73)
        self.put("mem_b_i", [0] * SLOTS, 6)
        beats = [slot.mem_r[0] if r[k] else (noise[k] & (1 << 64) - 1, 1) for k, slot in enumerate(self.slots)]
        self.put("mem_r_i", [data << 3 | last for data, last in beats], 71)
        dut.sel_i.value = int(self.access is not None)
        if self.access is not None:
            dut.addr_i.value = self.access[0]
            dut.write_i.value = int(self.access[1] is not None)
            dut.wdata_i.value = self.access[1] or 0
            self.access = None
        await Timer(4, "ns")
        if dut.ack_o.value == 1:
            assert dut.err_o.value == 0
            self.found = int(dut.rdata_o.value)
        for k, slot in enumerate(self.slots):
            self.sample(k, slot, aw[k], ar[k], w[k], {name: bits[k] for name, bits in ready.items()}, b[k], r[k])
        await FallingEdge(dut.clk_i)

    shaped: dict[tuple[int, str], int] = {}  # noqa: RUF012 - requests of other shapes, by slot
    """Requests that are none of a stream's, by slot."""

    def sample(
        self, k: int, slot: BenchSlot, aw: bool, ar: bool, w: bool, ready: dict[str, bool], b: bool, r: bool
    ) -> None:
        if w and self.take("w_ready_o", k, 1):
            slot.data.popleft()
        if aw and self.take("aw_ready_o", k, 1):
            _, words = slot.asks_writes.popleft()
            self.shaped.pop((k, "aw"), None)
            slot.data += [(data, strobe, int(n == len(words) - 1)) for n, (data, strobe) in enumerate(words)]
            slot.requests += 1
        if ar and self.take("ar_ready_o", k, 1):
            slot.asks_reads.popleft()
        if self.take("b_valid_o", k, 1):
            slot.b.append(self.take("b_o", k, 6) & 3)
        if self.take("r_valid_o", k, 1):
            beat = self.take("r_o", k, 71)
            slot.r.append((beat >> 3 & (1 << 64) - 1, beat >> 1 & 3, beat & 1))
        if b:
            slot.mem_b -= 1
        if r:
            slot.mem_r.popleft()
        # Memory: a request goes on as it is; data follows it.
        if self.take("mem_w_valid_o", k, 1) and ready["mem_w"]:
            word = self.take("mem_w_o", k, 73)
            at, beats = slot.mem_writes[0]
            place = at + 8 * slot.mem_beat
            keep = masked((1 << 64) - 1, word >> 1 & 0xFF)
            slot.memory[place] = slot.memory.get(place, first_content(place)) & ~keep | word >> 9 & keep
            slot.mem_beat += 1
            assert (word & 1) == (slot.mem_beat == beats)
            if word & 1:
                slot.mem_writes.popleft()
                slot.mem_beat, slot.mem_b = 0, slot.mem_b + 1
        if self.take("mem_aw_valid_o", k, 1) and ready["mem_aw"]:
            slot.mem_writes.append(fields(self.take("mem_aw_o", k, 72)))
        if self.take("mem_ar_valid_o", k, 1) and ready["mem_ar"]:
            at, beats = fields(self.take("mem_ar_o", k, 72))
            for n in range(beats):
                place = at + 8 * n
                slot.mem_r.append((slot.memory.get(place, first_content(place)), int(n == beats - 1)))

    async def until(self, done: Any, patience: int = PATIENCE) -> None:
        for _ in range(patience):
            if done():
                return
            await self.cycle()
        raise AssertionError("what should have happened did not")

    async def write(self, slot: int, offset: int, value: int) -> None:
        self.access, self.found = (slot * BLOCK + offset, value), None
        await self.until(lambda: self.found is not None, 10)

    async def read(self, slot: int, offset: int) -> int:
        self.access, self.found = (slot * BLOCK + offset, None), None
        await self.until(lambda: self.found is not None, 10)
        assert self.found is not None
        return self.found

    async def receive(self, slot: int, source: int, key: int, at: int = STREAM) -> None:
        await self.write(slot, regs.RECEIVE_FIRST.offset, at // PAGE)
        await self.write(slot, regs.RECEIVE_LAST.offset, at // PAGE + 1)
        await self.write(slot, regs.RECEIVE.offset, regs.RECEIVE.encode(**{"open": 1, "from": source, "key": key}))

    async def send(self, slot: int, to: int, key: int, at: int = STREAM) -> None:
        await self.write(slot, regs.SEND_FIRST.offset, at // PAGE)
        await self.write(slot, regs.SEND_LAST.offset, at // PAGE + 1)
        await self.write(slot, regs.SEND.offset, regs.SEND.encode(open=1, to=to, key=key))

    async def end(self, slot: int) -> None:
        await self.write(slot, regs.END.offset, 1)

    # What slots ask

    def ask_to_write(self, slot: int, at: int, count: int, mixed: bool = False) -> list[int]:
        """Bursts from an address on; with `mixed`, some elsewhere between. Answers the words as a reader has them."""
        rng, sent = self.rng, []
        while count:
            beats = min(count, rng.randint(1, 16 - at // 8 % 16))
            words = [(rng.getrandbits(64), 0xFF if n < count - 1 else rng.getrandbits(8)) for n in range(beats)]
            self.slots[slot].asks_writes.append((at, words))
            sent += [masked(data, strobe) for data, strobe in words]
            at, count = at + 8 * beats, count - beats
            if mixed and rng.random() < 0.3:
                other = ELSEWHERE + 128 * rng.randrange(32)
                self.slots[slot].asks_writes.append((other, [(rng.getrandbits(64), 0xFF) for _ in range(3)]))
        return sent

    def ask_to_read(self, slot: int, at: int, count: int, mixed: bool = False) -> list[tuple[bool, int]]:
        """The same for reads; answers for each beat whether it is the stream's, and where."""
        rng, places = self.rng, []
        while count:
            beats = min(count, rng.randint(1, 16 - at // 8 % 16))
            self.slots[slot].asks_reads.append(request(at, beats))
            places += [(True, at + 8 * n) for n in range(beats)]
            at, count = at + 8 * beats, count - beats
            if mixed and rng.random() < 0.3:
                other = ELSEWHERE + 128 * rng.randrange(32)
                self.slots[slot].asks_reads.append(request(other, 4))
                places += [(False, other + 8 * n) for n in range(4)]
        return places


def check_reads(rig: Rig, slot: int, places: list[tuple[bool, int]], stream: list[int]) -> None:
    """The stream's words in their order, then zeros; memory's where memory was asked."""
    words = iter(stream)
    for (streamed, place), (data, answer, _) in zip(places, rig.slots[slot].r, strict=True):
        assert answer == OKAY
        assert data == (next(words, 0) if streamed else first_content(place))


def touched(rig: Rig, slot: int) -> list[int]:
    """Places of the stream's pages that memory was asked to write."""
    return [place for place in rig.slots[slot].memory if STREAM <= place < STREAM + 2 * PAGE]


@cocotb.test
async def words_arrive_once_in_order(dut: Any) -> None:
    """With pauses on every side, and other traffic of both slots between; what follows the last word reads zero."""
    rig = Rig(dut, 1)
    await rig.start()
    for number, (pace, reads, writes) in enumerate(
        ((0.7, 1.0, 1.0), (1.0, 0.05, 1.0), (0.2, 1.0, 0.1), (1.0, 1.0, 1.0))
    ):
        rig.pace, rig.slots[0].speed, rig.slots[2].speed = pace, writes, reads
        rig.slots[2].r.clear()
        rig.slots[0].b.clear()
        await rig.receive(2, 0, 7 + number)
        await rig.send(0, 2, 7 + number)
        sent = rig.ask_to_write(0, STREAM, 300, mixed=True)
        places = rig.ask_to_read(2, STREAM, 330, mixed=True)
        bursts = len(rig.slots[0].asks_writes)
        await rig.until(lambda: len(rig.slots[0].b) == bursts)  # noqa: B023 - within the turn
        assert set(rig.slots[0].b) == {OKAY}
        await rig.end(0)
        await rig.until(lambda: len(rig.slots[2].r) == len(places))  # noqa: B023
        check_reads(rig, 2, places, sent)
        assert await rig.read(0, regs.SENT.offset) == 300
        assert await rig.read(2, regs.RECEIVED.offset) == 300
        assert reads == 1.0 or await rig.read(0, regs.SEND_STALLS.offset) > 1000
    assert not touched(rig, 0)


@cocotb.test
async def who_takes_nothing_stops_its_sender_alone(dut: Any) -> None:
    """A stream nobody reads fills up; the third slot, and the reader's own memory traffic, go on as if it was not."""
    rig = Rig(dut, 2)
    await rig.start()
    await rig.receive(1, 0, 3)
    await rig.send(0, 1, 3)
    sent = rig.ask_to_write(0, STREAM, 200)
    for _ in range(200):
        await rig.cycle()
    assert rig.slots[0].data, "the sender waits"
    for slot in (1, 2):
        for n in range(40):
            rig.slots[slot].asks_writes.append((ELSEWHERE + 128 * n, [(n, 0xFF)] * 16))
            rig.slots[slot].asks_reads.append(request(ELSEWHERE + 0x10000 + 128 * n, 16))
    await rig.until(lambda: all(len(rig.slots[s].b) == 40 and len(rig.slots[s].r) == 640 for s in (1, 2)))
    assert all(beat[1] == OKAY for s in (1, 2) for beat in rig.slots[s].r)
    rig.slots[1].r.clear()
    places = rig.ask_to_read(1, STREAM, 200)
    await rig.until(lambda: len(rig.slots[1].r) == 200)
    check_reads(rig, 1, places, sent)


@cocotb.test
async def nothing_reaches_the_next_owner(dut: Any) -> None:
    """Words sent and not taken are gone when either end is set again; a read that waited ends with an error."""
    rig = Rig(dut, 3)
    await rig.start()
    for key, which in ((10, "sender"), (20, "reader"), (30, "both")):
        for slot in rig.slots:
            slot.b.clear()
            slot.r.clear()
        await rig.receive(1, 0, key)
        await rig.send(0, 1, key)
        old = rig.ask_to_write(0, STREAM, 12)
        rig.ask_to_read(1, STREAM, 4)
        await rig.until(lambda: not rig.slots[0].data and not rig.slots[0].asks_writes and len(rig.slots[1].r) == 4)
        assert [beat[0] for beat in rig.slots[1].r] == old[:4]
        if which != "sender":
            await rig.receive(1, 0, key + 1)
        if which != "reader":
            await rig.send(0, 1, key + 1)
        if which == "both":
            new = rig.ask_to_write(0, STREAM, 5)
            places = rig.ask_to_read(1, STREAM, 5)
            await rig.until(lambda: len(rig.slots[1].r) == 9)
            del rig.slots[1].r[:4]
            check_reads(rig, 1, places, new)
            assert not await rig.read(1, regs.STATE.offset) & 0x40
            continue
        # Keys differ: what is sent is dropped. A reader that was connected is told so; one that is set again waits,
        # until its end is closed, and then its reads end as well.
        rig.ask_to_write(0, STREAM if which == "sender" else STREAM + 96, 6)
        asked = rig.ask_to_read(1, STREAM + (32 if which == "sender" else 0), 6)
        await rig.until(lambda: not rig.slots[0].data and not rig.slots[0].asks_writes)
        for _ in range(100):
            await rig.cycle()
        assert len(rig.slots[1].r) == (10 if which == "sender" else 4)
        # A burst more waits behind the one that is answered; it is an error like that.
        await rig.write(1, regs.RECEIVE.offset, 0)
        await rig.until(lambda: len(rig.slots[1].r) >= 4 + 1)
        for _ in range(100):
            await rig.cycle()
        assert rig.slots[1].r[4][:2] == (0, SLVERR)
        assert len(rig.slots[1].r) == 4 + len(asked)


@cocotb.test
async def a_burst_that_is_none_of_the_stream_is_refused(dut: Any) -> None:
    """Out of order, of half words, or fixed: an error to both ends, nothing to memory, and the slots go on."""
    rig = Rig(dut, 4)
    await rig.start()
    for number, (at, size, burst) in enumerate(
        ((STREAM + 64, 3, INCR), (STREAM, 2, INCR), (STREAM, 3, FIXED), (STREAM + 4, 3, INCR))
    ):
        for slot in rig.slots:
            slot.b.clear()
            slot.r.clear()
        await rig.receive(2, 1, number)
        await rig.send(1, 2, number)
        rig.ask_to_read(2, STREAM, 3)
        rig.slots[1].asks_writes.append((at, [(number, 0xFF)] * 2))
        rig.shaped = {(1, "aw"): request(at, 2, size, burst)}
        await rig.until(lambda: len(rig.slots[1].b) == 1 and len(rig.slots[2].r) == 3)
        assert rig.slots[1].b == [SLVERR]
        assert all(beat[:2] == (0, SLVERR) for beat in rig.slots[2].r)
        assert await rig.read(1, regs.STATE.offset) & 2
        # So is what follows of it; memory is as it was, and answers.
        rig.ask_to_write(1, STREAM, 4)
        await rig.until(lambda: len(rig.slots[1].b) >= 2 and not rig.slots[1].asks_writes and not rig.slots[1].data)
        assert set(rig.slots[1].b) == {SLVERR}
        rig.slots[1].asks_writes.append((ELSEWHERE, [(5, 0xFF)]))
        known = len(rig.slots[1].b)
        await rig.until(lambda: len(rig.slots[1].b) > known and rig.slots[1].b[-1] == OKAY)  # noqa: B023
        assert not touched(rig, 1)
    # A reader that jumps.
    rig.slots[2].r.clear()
    await rig.receive(2, 1, 99)
    await rig.send(1, 2, 99)
    rig.ask_to_write(1, STREAM, 8)
    rig.ask_to_read(2, STREAM + 128, 4)
    await rig.until(lambda: len(rig.slots[2].r) == 4)
    assert all(beat[:2] == (0, SLVERR) for beat in rig.slots[2].r)
    assert await rig.read(2, regs.STATE.offset) & 0x20


@cocotb.test
async def ends_that_close(dut: Any) -> None:
    """A reader that goes lets its sender run on; a sender that goes, without an end, leaves errors; then memory."""
    rig = Rig(dut, 5)
    await rig.start()
    await rig.receive(1, 0, 1)
    await rig.send(0, 1, 1)
    rig.ask_to_write(0, STREAM, 120)
    for _ in range(60):
        await rig.cycle()
    assert rig.slots[0].data
    await rig.write(1, regs.RECEIVE.offset, 0)
    await rig.until(lambda: not rig.slots[0].data and not rig.slots[0].asks_writes)
    assert set(rig.slots[0].b) == {OKAY}
    await rig.receive(1, 0, 2)
    await rig.send(0, 1, 2)
    sent = rig.ask_to_write(0, STREAM, 3)
    rig.ask_to_read(1, STREAM, 9)
    await rig.until(lambda: len(rig.slots[1].r) == 3)
    await rig.write(0, regs.SEND.offset, 0)
    await rig.until(lambda: len(rig.slots[1].r) == 9)
    assert [beat[:2] for beat in rig.slots[1].r] == [*((word, OKAY) for word in sent), *[(0, SLVERR)] * 6]
    # After an end, the sender's pages are memory again, while the reader still takes what was sent.
    rig.slots[1].r.clear()
    await rig.receive(1, 0, 4)
    await rig.send(0, 1, 4)
    sent = rig.ask_to_write(0, STREAM, 10)
    await rig.until(lambda: not rig.slots[0].data and not rig.slots[0].asks_writes)
    await rig.end(0)
    rig.slots[0].asks_writes.append((STREAM, [(77, 0xFF)]))
    await rig.until(lambda: touched(rig, 0) == [STREAM])
    assert rig.slots[0].memory[STREAM] == 77
    places = rig.ask_to_read(1, STREAM, 14)
    await rig.until(lambda: len(rig.slots[1].r) == 14)
    check_reads(rig, 1, places, sent)


@cocotb.test
async def a_chain_of_three(dut: Any) -> None:
    """A slot reads one stream and writes another at once; a register behind the last slot's answers with an error."""
    rig = Rig(dut, 6)
    await rig.start()
    await rig.receive(2, 1, 21, at=STREAM + 0x10000)
    await rig.receive(1, 0, 20)
    await rig.send(1, 2, 21, at=STREAM + 0x10000)
    await rig.send(0, 1, 20)
    first = rig.ask_to_write(0, STREAM, 150)
    second = rig.ask_to_write(1, STREAM + 0x10000, 150)
    to_middle, to_last = rig.ask_to_read(1, STREAM, 150), rig.ask_to_read(2, STREAM + 0x10000, 150)
    await rig.until(lambda: len(rig.slots[1].r) == 150 and len(rig.slots[2].r) == 150)
    check_reads(rig, 1, to_middle, first)
    check_reads(rig, 2, to_last, second)
    dut.sel_i.value, dut.write_i.value, dut.addr_i.value = 1, 0, SLOTS * BLOCK
    await FallingEdge(dut.clk_i)
    dut.sel_i.value = 0
    assert dut.ack_o.value == 1
    assert dut.err_o.value == 1
