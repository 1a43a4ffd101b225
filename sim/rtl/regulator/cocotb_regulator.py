# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The regulator's promise over every window, its order, and its fairness, under pauses on both sides.

Bursts are of every size, length and type. The model knows nothing of the block but its promise: a bucket that fills by
the rate up to the burst and pays, for each beat of what it lets through, 8 bytes.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

SIDES = ("aw", "ar")
PORT = 8
"""Bytes of a beat on the port, whatever its size."""
LONGEST = 256 * PORT
FIXED, INCR, WRAP = 0, 1, 2


@dataclass(frozen=True)
class Request:
    """An AXI request; packed as `eddy_pkg::ax_t` lays it out."""

    serial: int
    length: int
    size: int = 3
    burst: int = INCR
    context: int = 0

    @property
    def word(self) -> int:
        word = self.serial & 0xF
        for value, width in ((self.serial, 40), (self.length - 1, 8), (self.size, 3), (self.burst, 2), (0, 11)):
            word = word << width | value
        return word << 4 | self.context

    @property
    def used(self) -> int:
        """Bytes of the port."""
        return self.length * PORT

    @property
    def moved(self) -> int:
        """Bytes of data."""
        return self.length << self.size


@dataclass
class Mix:
    """Which bursts are asked for; any size, length and type AXI has where nothing is said."""

    lengths: tuple[int, ...] = (1, 2, 4, 8, 16, 64, 256)
    sizes: tuple[int, ...] = (0, 1, 2, 3)
    bursts: tuple[int, ...] = (FIXED, INCR, WRAP)

    def draw(self, rng: random.Random, serial: int) -> Request:
        burst = rng.choice(self.bursts)
        lengths = self.lengths
        if burst == WRAP:
            lengths = tuple(length for length in lengths if length in (2, 4, 8, 16)) or (16,)
        elif burst == FIXED:
            lengths = tuple(length for length in lengths if length <= 16) or (16,)
        return Request(serial, rng.choice(lengths), rng.choice(self.sizes), burst, rng.randrange(16))


@dataclass
class Seen:
    """Admissions as (cycle, request, side), what came out by side, and cycles in which a request waited for tokens."""

    admitted: list[tuple[int, Request, str]] = field(default_factory=list)
    out: dict[str, list[int]] = field(default_factory=lambda: {"aw": [], "ar": []})
    sent: dict[str, list[int]] = field(default_factory=lambda: {"aw": [], "ar": []})
    token_stalls: int = 0


class Bucket:
    """What the promise says, in 1/65536 bytes."""

    def __init__(self, rate: int, burst: int) -> None:
        self.rate, self.full = rate, max(burst, LONGEST) << 16
        self.tokens = 0

    def holds(self, request: Request) -> bool:
        return self.tokens >= request.used << 16

    def cycle(self, admitted: Request | None) -> None:
        self.tokens = min(self.full, self.tokens + self.rate)
        if admitted is not None:
            self.tokens -= admitted.used << 16


async def start(dut: Any, rate: int, burst: int, enable: int = 1) -> None:
    for name in ("aw_valid_i", "ar_valid_i", "aw_ready_i", "ar_ready_i", "aw_i", "ar_i"):
        getattr(dut, name).value = 0
    dut.enable_i.value, dut.rate_i.value, dut.burst_i.value = enable, rate, burst
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


class Bench:
    """Offers requests at random and compares every cycle with the model."""

    def __init__(self, dut: Any, seed: int, mix: Mix | None = None, bucket: Bucket | None = None) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.mix, self.bucket = mix or Mix(), bucket
        self.waiting: dict[str, Request | None] = {"aw": None, "ar": None}
        self.seen = Seen()
        self.serial = 0

    async def run(self, cycles: int, offer: float, accept: float) -> Seen:
        for cycle in range(cycles):
            self.offer(offer, accept)
            # Just before the rising edge everything combinational has settled.
            await Timer(4, "ns")
            self.check_admission(cycle)
            self.check_flow()
            await FallingEdge(self.dut.clk_i)
        return self.seen

    def offer(self, offer: float, accept: float) -> None:
        for side in SIDES:
            if self.waiting[side] is None and self.rng.random() < offer:
                self.serial += 1
                self.waiting[side] = self.mix.draw(self.rng, self.serial)
            request = self.waiting[side]
            # A payload nobody announces is noise.
            noise = self.rng.getrandbits(72)
            getattr(self.dut, f"{side}_i").value = noise if request is None else request.word
            getattr(self.dut, f"{side}_valid_i").value = int(request is not None)
            getattr(self.dut, f"{side}_ready_i").value = int(self.rng.random() < accept)

    def check_admission(self, cycle: int) -> None:
        dut, admitted = self.dut, None
        able = [
            side
            for side in SIDES
            if self.waiting[side] is not None
            and (getattr(dut, f"{side}_valid_o").value == 0 or getattr(dut, f"{side}_ready_i").value == 1)
        ]
        if dut.admit_o.value == 1:
            side = "aw" if dut.admit_write_o.value == 1 else "ar"
            assert side in able
            admitted = self.waiting[side]
            assert admitted is not None
            assert int(dut.admit_bytes_o.value) == admitted.moved & 0xFFF
            assert int(dut.admit_addr_o.value) == admitted.serial
            assert int(dut.admit_context_o.value) == admitted.context
            self.seen.admitted.append((cycle, admitted, side))
        self.seen.token_stalls += int(dut.token_stall_o.value)
        if self.bucket is None:
            assert bool(able) == (admitted is not None)
            return
        if admitted is not None:
            assert self.bucket.holds(admitted), f"cycle {cycle}: {admitted} with {self.bucket.tokens / 65536} bytes"
        else:
            # Whose turn it is waits for its tokens; nothing else is a reason not to go.
            poor = [side for side in able if not self.bucket.holds(self.waiting[side] or Request(0, 1))]
            assert bool(poor) == bool(able) == (dut.token_stall_o.value == 1), f"cycle {cycle}: kept for nothing"
            if able:
                assert dut.token_stall_write_o.value == (self.turn(able) == "aw"), f"cycle {cycle}: another waits"
        self.bucket.cycle(admitted)

    def turn(self, able: list[str]) -> str:
        """Whose turn it is of those that could go: the other one's than last time; a read's at first."""
        last = self.seen.admitted[-1][2] if self.seen.admitted else "aw"
        return next((side for side in able if side != last), last)

    def check_flow(self) -> None:
        dut = self.dut
        for side in SIDES:
            request = self.waiting[side]
            stalled = dut.write_stall_o if side == "aw" else dut.read_stall_o
            taken = getattr(dut, f"{side}_ready_o").value == 1 and request is not None
            assert stalled.value == int(request is not None and not taken)
            if taken:
                assert request is not None
                self.seen.sent[side].append(request.word)
                self.waiting[side] = None
            if getattr(dut, f"{side}_valid_o").value == 1 and getattr(dut, f"{side}_ready_i").value == 1:
                self.seen.out[side].append(int(getattr(dut, f"{side}_o").value))


def holds(admitted: list[tuple[int, Request, str]], rate: float, burst: int) -> bool:
    """Whether every window of cycles keeps the promise; windows that begin and end with an admission are the worst."""
    for first, (start_cycle, _, _) in enumerate(admitted):
        total = 0
        for cycle, request, _ in admitted[first:]:
            total += request.used
            if total > burst + rate * (cycle - start_cycle + 1):
                return False
    return True


@cocotb.test()
@cocotb.parametrize(setting=[(1.0, 4096), (0.37, 2048), (6.5, 100), (3.0, 30000)], flow=[(1.0, 1.0), (0.2, 0.4)])
async def the_promise_holds_in_every_window(dut: Any, setting: tuple[float, int], flow: tuple[float, float]) -> None:
    rate, burst = setting
    await start(dut, int(rate * 65536), burst)
    seen = await Bench(dut, 3, bucket=Bucket(int(rate * 65536), burst)).run(3000, *flow)
    assert holds(seen.admitted, rate, max(burst, LONGEST))
    for side in SIDES:
        assert seen.sent[side][: len(seen.out[side])] == seen.out[side]
        assert len(seen.sent[side]) - len(seen.out[side]) <= 1
    if flow[0] == 1.0:
        # Not merely by admitting nothing: the bucket is used up to its rate, less one longest burst.
        assert sum(request.used for _, request, _ in seen.admitted) >= rate * 3000 - LONGEST
        assert seen.token_stalls > 100


@cocotb.test()
@cocotb.parametrize(size=[0, 1, 2, 3], length=[1, 2, 16, 256], burst=[FIXED, INCR, WRAP])
async def narrow_bursts_of_every_size_use_what_is_promised(dut: Any, size: int, length: int, burst: int) -> None:
    """Within 2 %, over a time long enough that a burst more or less is little."""
    if burst != INCR and length not in (2, 16):
        return
    rate = 4.5
    await start(dut, int(rate * 65536), 0)
    bench = Bench(dut, 4, Mix((length,), (size,), (burst,)), Bucket(int(rate * 65536), 0))
    seen = await bench.run(2500, 1.0, 1.0)
    first, last = seen.admitted[0][0], seen.admitted[-1][0]
    used = sum(request.used for _, request, _ in seen.admitted[1:])
    assert 0.98 * rate <= used / (last - first) <= 1.02 * rate, f"{used / (last - first):.3f} of {rate} bytes a cycle"


@cocotb.test()
async def reads_and_writes_take_turns_while_tokens_are_short(dut: Any) -> None:
    await start(dut, 65536, 2048)
    seen = await Bench(dut, 5, bucket=Bucket(65536, 2048)).run(12000, 1.0, 1.0)
    order = [side for _, _, side in seen.admitted]
    assert len(order) > 20
    assert all(a != b for a, b in itertools.pairwise(order[2:]))


@cocotb.test()
async def disabled_it_admits_one_a_cycle(dut: Any) -> None:
    await start(dut, 0, 0, enable=0)
    seen = await Bench(dut, 6).run(200, 1.0, 1.0)
    assert len(seen.admitted) >= 198
    assert seen.token_stalls == 0


@cocotb.test()
async def without_a_rate_only_what_was_saved_passes(dut: Any) -> None:
    await start(dut, 0, 4096, enable=0)
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.enable_i.value = 1
    bucket = Bucket(0, 4096)
    bucket.tokens = bucket.full
    seen = await Bench(dut, 8, bucket=bucket).run(1000, 1.0, 1.0)
    total = sum(request.used for _, request, _ in seen.admitted)
    assert 4096 - LONGEST < total <= 4096
