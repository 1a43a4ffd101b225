# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The burst split: memory sees parts of 16 beats at most that touch what the bursts touch; the slot sees its bursts.

Models of a burst buffer on one side and of memory on the other, which pauses at random. What a burst touches is worked
out beat by beat from AXI's rules, on both sides, and compared.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer
from eddy_sim.design.axi_fields import AX

FIXED, INCR, WRAP = 0, 1, 2
LONGEST_PART = 16
SIDES = ("aw", "ar")


@dataclass(frozen=True)
class Ax:
    """A request, field by field."""

    id: int
    addr: int
    len: int
    size: int
    burst: int
    cache: int
    prot: int
    qos: int
    user: int

    @classmethod
    def of(cls, word: int) -> Ax:
        values = {}
        for name, width in reversed(AX):
            values[name] = word & (1 << width) - 1
            word >>= width
        return cls(**values)

    @property
    def word(self) -> int:
        word = 0
        for name, width in AX:
            word = word << width | getattr(self, name)
        return word

    def beats(self) -> list[int]:
        """Address of every beat (AXI A3.4.1)."""
        size = 1 << self.size
        aligned = self.addr // size * size
        if self.burst == FIXED:
            return [self.addr] * (self.len + 1)
        following = [self.addr, *(aligned + size * beat for beat in range(1, self.len + 1))]
        if self.burst == INCR:
            return following
        extent = size * (self.len + 1)
        low = self.addr // extent * extent
        return [low + (address - low) % extent for address in following]

    def same_but_shape(self, other: Ax) -> bool:
        names = ("size", "burst", "cache", "prot", "qos", "user")
        return all(getattr(self, name) == getattr(other, name) for name in names)


def draw(rng: random.Random) -> Ax:
    """A legal burst: any type, size, length and alignment, within 4 KiB."""
    burst, size = rng.choice((FIXED, INCR, INCR, INCR, WRAP)), rng.randrange(4)
    page = rng.getrandbits(28) << 12
    if burst == INCR:
        addr = rng.randrange(4096)
        room = 4096 // (1 << size) - addr // (1 << size)
        length = min(rng.choice((1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 255, 256)), room)
    elif burst == FIXED:
        addr, length = rng.randrange(4096), rng.randint(1, 16)
    else:
        length = rng.choice((2, 4, 8, 16))
        addr = rng.randrange(4096) // (1 << size) * (1 << size)
    others = (rng.getrandbits(width) for _, width in AX[5:])
    return Ax(rng.getrandbits(4), page | addr, length - 1, size, burst, *others)


@dataclass(frozen=True)
class Flow:
    """How often, from 0 to 1, the slot asks, and memory takes requests and data, and answers."""

    ask: float = 1.0
    take: float = 1.0
    take_data: float = 1.0
    answer: float = 1.0


@dataclass
class Seen:
    """What went over the faces, in order."""

    asked: dict[str, list[Ax]] = field(default_factory=lambda: {"aw": [], "ar": []})
    parts: dict[str, list[Ax]] = field(default_factory=lambda: {"aw": [], "ar": []})
    written: list[tuple[int, int]] = field(default_factory=list)
    delivered: list[tuple[int, int]] = field(default_factory=list)
    memory_answers: dict[str, list[int]] = field(default_factory=lambda: {"b": [], "r": []})
    answers: dict[str, list[int]] = field(default_factory=lambda: {"b": [], "r": []})
    most_unanswered: dict[str, int] = field(default_factory=lambda: {"aw": 0, "ar": 0})


async def start(dut: Any) -> None:
    for name in ("aw", "w", "ar", "mem_b", "mem_r"):
        getattr(dut, f"{name}_valid_i").value = 0
        getattr(dut, f"{name}_i").value = 0
    for name in ("mem_aw", "mem_w", "mem_ar"):
        getattr(dut, f"{name}_ready_i").value = 0
    dut.b_ready_i.value = dut.r_ready_i.value = 1
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    for name in ("mem_aw", "mem_w", "mem_ar", "b", "r"):
        assert getattr(dut, f"{name}_valid_o").value == 0
    dut.rst_ni.value = 1


class Bench:
    """A burst buffer and memory around one split."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng, self.seen = dut, random.Random(seed), Seen()
        self.max_parts = int(dut.MaxParts.value)
        self.offered: dict[str, Ax | None] = {"aw": None, "ar": None}
        self.busy = True
        self.data: deque[tuple[int, int, int]] = deque()
        self.owed: dict[str, deque[int]] = {"b": deque(), "r": deque()}
        self.whole_parts = self.beats_in_part = 0
        self.ended = {"b": 0, "r": 0}
        self.held: dict[str, int | None] = {"mem_aw": None, "mem_w": None, "mem_ar": None}

    async def cycle(self, flow: Flow) -> None:
        self.drive(flow)
        await Timer(4, "ns")
        for name in self.held:
            self.check_held(name)
        for side in SIDES:
            self.check_side(side)
        self.check_data()
        self.check_answers()
        for side, answer in (("aw", "b"), ("ar", "r")):
            self.seen.most_unanswered[side] = max(self.seen.most_unanswered[side], self.unanswered(side, answer))
        await FallingEdge(self.dut.clk_i)

    def unanswered(self, side: str, answer: str) -> int:
        """Parts that memory was asked for and has not answered to the end."""
        return len(self.seen.parts[side]) - self.ended[answer]

    def drive(self, flow: Flow) -> None:
        dut, rng = self.dut, self.rng
        for side in SIDES:
            if self.offered[side] is None and self.busy and rng.random() < flow.ask:
                self.offer(side, draw(rng))
            request = self.offered[side]
            getattr(dut, f"{side}_valid_i").value = int(request is not None)
            getattr(dut, f"{side}_i").value = rng.getrandbits(72) if request is None else request.word
            getattr(dut, f"mem_{side}_ready_i").value = int(rng.random() < flow.take)
        dut.mem_w_ready_i.value = int(rng.random() < flow.take_data)
        # A burst buffer offers data with its request, and without a gap.
        dut.w_valid_i.value = int(bool(self.data))
        word = self.data[0] if self.data else (rng.getrandbits(64), rng.getrandbits(8), rng.getrandbits(1))
        dut.w_i.value = word[0] << 9 | word[1] << 1 | word[2]
        for name in ("b", "r"):
            answers = bool(self.owed[name]) and rng.random() < flow.answer
            getattr(dut, f"mem_{name}_valid_i").value = int(answers)
            getattr(dut, f"mem_{name}_i").value = self.owed[name][0] if answers else rng.getrandbits(6)

    def offer(self, side: str, request: Ax) -> None:
        """Offer a request; it stays until it is taken, with its last part."""
        self.offered[side] = request
        if side == "aw":
            rng, beats = self.rng, request.len + 1
            words = [(rng.getrandbits(64), rng.getrandbits(8), int(beat == beats - 1)) for beat in range(beats)]
            self.data.extend(words)
            self.seen.written.extend(word[:2] for word in words)

    def check_held(self, name: str) -> None:
        """What is offered stays, unchanged, until it is taken."""
        before, valid = self.held[name], getattr(self.dut, f"{name}_valid_o").value == 1
        payload = int(getattr(self.dut, f"{name}_o").value)
        assert before is None or (valid and payload == before), f"{name} changed before it was taken"
        self.held[name] = payload if valid and getattr(self.dut, f"{name}_ready_i").value == 0 else None

    def check_side(self, side: str) -> None:
        dut, seen, rng = self.dut, self.seen, self.rng
        if getattr(dut, f"{side}_valid_i").value == 1 and getattr(dut, f"{side}_ready_o").value == 1:
            request = self.offered[side]
            assert request is not None
            seen.asked[side].append(request)
            self.offered[side] = None
        if getattr(dut, f"mem_{side}_valid_o").value == 1 and getattr(dut, f"mem_{side}_ready_i").value == 1:
            part = Ax.of(int(getattr(dut, f"mem_{side}_o").value))
            assert part.id == 0
            assert part.len < LONGEST_PART
            seen.parts[side].append(part)
            if side == "ar":
                for beat in range(part.len + 1):
                    self.owed["r"].append(
                        rng.getrandbits(64) << 3 | rng.choice((0, 0, 0, 2, 3)) << 1 | (beat == part.len)
                    )

    def check_data(self) -> None:
        dut, seen = self.dut, self.seen
        if dut.mem_w_valid_o.value == 0 or dut.mem_w_ready_i.value == 0:
            assert dut.w_ready_o.value == 0 or dut.w_valid_i.value == 0
            return
        assert dut.w_ready_o.value == 1
        self.data.popleft()
        word = int(dut.mem_w_o.value)
        seen.delivered.append((word >> 9, word >> 1 & 0xFF))
        # Data of a part comes after its request, and ends with it.
        assert self.whole_parts < len(seen.parts["aw"])
        self.beats_in_part += 1
        assert (word & 1 == 1) == (self.beats_in_part == seen.parts["aw"][self.whole_parts].len + 1)
        if word & 1:
            self.whole_parts += 1
            self.beats_in_part = 0
            self.owed["b"].append(self.rng.choice((0, 0, 0, 2, 3)))

    def check_answers(self) -> None:
        for name in ("b", "r"):
            if getattr(self.dut, f"mem_{name}_valid_i").value == 1:
                assert getattr(self.dut, f"mem_{name}_ready_o").value == 1
                word = self.owed[name].popleft()
                self.seen.memory_answers[name].append(word)
                self.ended[name] += 1 if name == "b" else word & 1
            if getattr(self.dut, f"{name}_valid_o").value == 1:
                self.seen.answers[name].append(int(getattr(self.dut, f"{name}_o").value))

    async def drain(self) -> None:
        self.busy = False
        for _ in range(3000):
            await self.cycle(Flow())
            if not (any(self.offered.values()) or self.data or any(self.owed.values())) and self.parts_are_whole():
                break
        await self.cycle(Flow())
        for side in SIDES:
            self.compare_requests(side)
        assert self.seen.delivered == self.seen.written
        self.compare_answers()

    def parts_are_whole(self) -> bool:
        """Whether memory was asked for every beat, and has answered every part."""
        seen = self.seen
        asked = all(
            sum(burst.len + 1 for burst in seen.asked[side]) == sum(part.len + 1 for part in seen.parts[side])
            for side in SIDES
        )
        return asked and self.unanswered("aw", "b") == self.unanswered("ar", "r") == 0

    def compare_requests(self, side: str) -> None:
        """The parts of each burst touch, beat by beat, what the burst does, and end where 16 beats are aligned."""
        parts = iter(self.seen.parts[side])
        for burst in self.seen.asked[side]:
            wanted, touched = burst.beats(), list[int]()
            while len(touched) < len(wanted):
                part = next(parts)
                assert part.same_but_shape(burst)
                touched += part.beats()
                whole = burst.len < LONGEST_PART and len(touched) == len(wanted)
                if burst.burst == INCR and not whole:
                    extent = LONGEST_PART << part.size
                    assert part.beats()[0] // extent == part.beats()[-1] // extent
            assert touched == wanted
        assert next(parts, None) is None

    def compare_answers(self) -> None:
        seen = self.seen
        parts = {side: iter(seen.parts[side]) for side in SIDES}
        resps, words = iter(seen.memory_answers["b"]), iter(seen.memory_answers["r"])
        expected: dict[str, list[int]] = {"b": [], "r": []}
        for burst in seen.asked["aw"]:
            worst, beats = 0, 0
            while beats < burst.len + 1:
                beats += next(parts["aw"]).len + 1
                worst = max(worst, next(resps))
            expected["b"].append(burst.id << 2 | worst)
        for burst in seen.asked["ar"]:
            for beat in range(burst.len + 1):
                expected["r"].append(burst.id << 67 | (next(words) & ~1) | (beat == burst.len))
        assert seen.answers == expected


FLOWS = [
    Flow(),
    Flow(ask=0.3, take=0.5, take_data=0.5, answer=0.5),
    Flow(take=0.2),
    Flow(take_data=0.2),
    Flow(answer=0.2),
]


@cocotb.test()
@cocotb.parametrize(number=range(len(FLOWS)))
async def parts_touch_what_bursts_do_and_answers_are_whole(dut: Any, number: int) -> None:
    await start(dut)
    bench = Bench(dut, seed=70 + number)
    for _ in range(3000):
        await bench.cycle(FLOWS[number])
    await bench.drain()
    kinds = {(burst.burst, burst.size) for side in SIDES for burst in bench.seen.asked[side]}
    assert len(kinds) > 6
    assert all(len(bench.seen.parts[side]) > 15 for side in SIDES)


@cocotb.test()
async def no_more_parts_are_under_way_than_can_be_told_apart(dut: Any) -> None:
    await start(dut)
    bench = Bench(dut, seed=80)
    for _ in range(1500):
        await bench.cycle(Flow(answer=0.0))
    assert bench.seen.most_unanswered == {"aw": bench.max_parts, "ar": bench.max_parts}
    await bench.drain()


@cocotb.test()
async def both_directions_move_a_beat_a_cycle(dut: Any) -> None:
    """From the first cycle on: a request passes without a delay."""
    await start(dut)
    bench = Bench(dut, seed=81)
    burst = Ax(5, 0x1000, 255, 3, INCR, 3, 0, 0, 1)
    for side in SIDES:
        bench.offer(side, burst)
    bench.busy = False
    await bench.cycle(Flow())
    assert all(len(bench.seen.parts[side]) == 1 for side in SIDES)
    for _ in range(256):
        await bench.cycle(Flow())
    assert len(bench.seen.delivered) >= 256 - 1
    await bench.drain()
    assert [word >> 2 for word in bench.seen.answers["b"]] == [5]
