# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Models of the vendor's parts: floating point against numpy, FIFOs against a queue."""

from __future__ import annotations

import random
from collections import deque
from fractions import Fraction
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

COMPARISONS = {
    4: "unordered",
    12: "less",
    20: "equal",
    28: "less_equal",
    36: "greater",
    44: "not_equal",
    52: "greater_equal",
}
OPERATIONS = ("add", "sub", "mul", "div", "sqrt", "cmp", "from_fixed", "exp", "log", "recip", "rsqrt", "fma")
"""In the order of the bench's outputs."""
CASES = 400
FRACTION_BITS = {np.float32: 23, np.float64: 52}


def flushed(value: Any) -> Any:
    """A number as the vendor's operator has it: none below the least normal one."""
    small = abs(value) < np.finfo(type(value)).tiny
    return type(value)(np.copysign(0.0, value)) if small else value


def draw(rng: random.Random, real: Any, whole: Any) -> Any:
    """A number of any kind, some of them special."""
    bits = np.iinfo(whole).bits
    special = (
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        np.finfo(real).max,
        np.finfo(real).tiny,
        np.finfo(real).tiny / 4,
    )
    if rng.random() < 0.3:
        return real(rng.choice(special))
    if rng.random() < 0.5:
        return real(rng.uniform(-1000, 1000))
    return whole(rng.getrandbits(bits)).view(real)


def wanted(name: str, a: Any, b: Any, c: Any, asked: int) -> Any:
    """What numpy says; of `fma`, what fractions say."""
    a, b, c, real = flushed(a), flushed(b), flushed(c), type(a)
    if name == "cmp":
        said = COMPARISONS[asked]
        if said == "unordered":
            return bool(np.isnan(a) or np.isnan(b))
        return bool(getattr(np, said)(a, b))
    if name == "fma":
        return fused(a, b, -c if asked & 1 else c)
    operation: Any = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}.get(name)
    if operation:
        return flushed(real(operation(a, b)))
    if name in ("sqrt", "recip"):
        return flushed(real(np.sqrt(a) if name == "sqrt" else real(1) / a))
    wide = np.longdouble(a)
    if name == "rsqrt":
        return flushed(real(1 / np.sqrt(wide)))
    return flushed(real(np.exp(wide) if name == "exp" else np.log(wide)))


def fused(a: Any, b: Any, c: Any) -> Any:
    """A product and a sum rounded once."""
    real = type(a)
    if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        return real(a * b + c if not (np.isfinite(a) and np.isfinite(b)) else c)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if not exact:
        return real(-0.0) if np.signbit(a) != np.signbit(b) and np.signbit(c) and not a * b else real(0.0)
    power = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    power -= abs(exact) < Fraction(2) ** power
    least = Fraction(2) ** (power - FRACTION_BITS[real])
    kept = round(exact / least) * least
    sign = 1.0 if exact > 0 else -1.0
    if abs(kept) > Fraction(float(np.finfo(real).max)):
        return real(sign * np.inf)
    return real(sign * 0.0) if abs(kept) < Fraction(float(np.finfo(real).tiny)) else real(kept)


def same(got: int, value: Any, whole: Any, apart: int = 0) -> bool:
    """Whether a result is that one, or no more than so many units of the last place from it."""
    if isinstance(value, bool):
        return got == value
    if np.isnan(value):
        return got == int(type(value)(np.nan).view(whole)) & ~(1 << np.iinfo(whole).bits - 1)
    return abs(got - int(value.view(whole))) <= apart


@cocotb.test()
async def floating_point_is_numpys(dut: Any) -> None:
    rng = random.Random(1)
    with np.errstate(all="ignore"):
        for outputs, real, whole in ((dut.single_o, np.float32, np.uint32), (dut.double_o, np.float64, np.uint64)):
            for _ in range(CASES):
                a, b, c = draw(rng, real, whole), draw(rng, real, whole), draw(rng, real, whole)
                c = real(-a * b) if rng.random() < 0.3 else c
                b = a if rng.random() < 0.2 else b
                if rng.random() < 0.1:  # a product half way between two numbers
                    a, b, c = real(1 + (2 * rng.randrange(999) + 1) * np.finfo(real).eps), real(1.5), real(0)
                codes: list[Any] = [each.view(whole) for each in (a, b, c)]
                asked = rng.choice([*COMPARISONS, 1])
                dut.a_i.value, dut.b_i.value, dut.c_i.value = (int(code) for code in codes)
                dut.operation_i.value = asked
                await Timer(1, "ns")
                packed = int(outputs.value)
                for number, name in enumerate(OPERATIONS):
                    if name == "from_fixed" or (name == "cmp" and asked not in COMPARISONS):
                        continue
                    got, value = packed >> 64 * number & (1 << 64) - 1, wanted(name, a, b, c, asked)
                    apart = int(name in ("exp", "log", "rsqrt"))
                    assert same(got, value, whole, apart), (name, a, b, c, asked, hex(got), value)


@cocotb.test()
async def conversions_are_numpys(dut: Any) -> None:
    rng = random.Random(2)
    with np.errstate(all="ignore"):
        for _ in range(CASES):
            raw = rng.getrandbits(64) >> rng.randrange(64)
            dut.a_i.value = raw
            await Timer(1, "ns")
            singles, doubles = int(dut.single_o.value), int(dut.double_o.value)
            assert singles >> 64 * 6 & (1 << 64) - 1 == int(
                np.float32(np.uint32(raw & 0xFFFF_FFFF).view(np.int32)).view(np.uint32)
            )
            assert doubles >> 64 * 6 & (1 << 64) - 1 == int(np.float64(np.uint64(raw).view(np.int64)).view(np.uint64))
            number = draw(rng, np.float64, np.uint64)
            dut.a_i.value = int(number.view(np.uint64))
            await Timer(1, "ns")
            assert same(int(dut.resized_o.value), flushed(np.float32(flushed(number))), np.uint32), number


@cocotb.test()
async def results_come_after_their_latency(dut: Any) -> None:
    rng = random.Random(3)
    dut.rst_i.value = dut.put_i.value = dut.take_i.value = dut.late_enable_i.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    pipe: deque[tuple[int, int]] = deque()
    await FallingEdge(dut.clk_i)
    for _ in range(200):
        enable, a, b = rng.random() < 0.7, np.float32(rng.uniform(-9, 9)), np.float32(rng.uniform(-9, 9))
        dut.late_enable_i.value = enable
        dut.a_i.value, dut.b_i.value = int(a.view(np.uint32)), int(b.view(np.uint32))
        if enable:
            pipe.append((int((a + b).view(np.uint32)), int(a.view(np.uint32)) & 1))
        await FallingEdge(dut.clk_i)
        if len(pipe) >= 4:
            assert (int(dut.late_o.value), int(dut.late_valid_o.value)) == pipe[-4]


@cocotb.test()
async def fifos_keep_order_and_count(dut: Any) -> None:
    rng = random.Random(4)
    Clock(dut.clk_i, 10, "ns").start()
    dut.rst_i.value, dut.put_i.value, dut.take_i.value = 1, 0, 0
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    await ClockCycles(dut.clk_i, 2)
    await FallingEdge(dut.clk_i)
    held: list[deque[int]] = [deque(), deque()]
    coming: deque[int | None] = deque([None])
    seen = 0
    for cycle in range(3000):
        eager = 0.9 if cycle // 500 % 2 else 0.3
        put, data = rng.random() < 1 - eager / 2, rng.getrandbits(16)
        take = [rng.random() < eager, rng.random() < eager]
        dut.put_i.value, dut.data_i.value, dut.take_i.value = put, data, take[0] | take[1] << 1
        await Timer(1, "ns")
        full, empty, valid = (int(getattr(dut, f"{name}_o").value) for name in ("full", "empty", "valid"))
        counts, shown, prog = int(dut.count_o.value), int(dut.data_o.value), int(dut.prog_full_o.value)
        read: int | None = None
        for k in range(2):
            assert counts >> 5 * k & 31 == len(held[k])
            assert full >> k & 1 == (len(held[k]) == 16)
            assert prog >> k & 1 == (len(held[k]) >= 11)
            if k == 0 and not empty & 1:
                assert shown & 0xFFFF == held[0][0]
            if take[k] and not empty >> k & 1:
                value = held[k].popleft()
                read = value if k else read
                seen += 1
            if put and not full >> k & 1:
                held[k].append(data)
        arrived = coming.popleft()
        assert valid >> 1 & 1 == (arrived is not None)
        if arrived is not None:
            assert shown >> 16 == arrived
        coming.append(read)
        if len(coming) < 2:
            coming.appendleft(None)
        await FallingEdge(dut.clk_i)
    assert seen > 2000


@cocotb.test()
async def fifos_of_beats_keep_what_goes_beside_them_and_packets_whole(dut: Any) -> None:
    """Packets are shorter than the FIFO, but one in a while, which goes before its end has come."""
    rng = random.Random(6)
    Clock(dut.clk_i, 10, "ns").start()
    dut.rst_i.value, dut.beat_valid_i.value, dut.out_ready_i.value = 1, 0, 0
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    await ClockCycles(dut.clk_i, 2)
    await FallingEdge(dut.clk_i)
    held: list[deque[tuple[int, int]]] = [deque(), deque()]
    offered, left, began, early = 0, 3, False, 0
    for cycle in range(6000):
        eager = 0.9 if cycle // 500 % 2 else 0.3
        valid = bool(offered) or rng.random() < 1 - eager / 2
        if valid and not offered:
            left -= 1
            last = left == 0
            offered = rng.getrandbits(30) & ~(1 << 20) | last << 20 | 1 << 30
            left = left or rng.choice([1, 2, 5, 9, 15, 40])
        ready = rng.getrandbits(2) if rng.random() < eager else 0
        dut.beat_valid_i.value, dut.beat_i.value, dut.out_ready_i.value = valid, offered & (1 << 30) - 1, ready
        await Timer(1, "ns")
        # Both take a beat in the same cycle, or neither is offered it again.
        takes = int(dut.beat_ready_o.value)
        shown = int(dut.out_valid_o.value)
        beats = int(dut.out_o.value)
        for k in range(2):
            assert int(dut.out_count_o.value) >> 5 * k & 31 == len(held[k])
            assert takes >> k & 1 == (len(held[k]) < 16)
            if not shown >> k & 1:
                continue
            beat, at = held[k][0]
            assert beats >> 30 * k & (1 << 30) - 1 == beat
            assert at < cycle - 1, "a beat came sooner than two cycles after it was taken"
            whole = any(each >> 20 & 1 for each, _ in held[k])
            if k and not whole:
                assert began or len(held[k]) == 16, "a packet that is not whole came from a FIFO that is not full"
                began, early = True, early + 1
            if ready >> k & 1:
                began = began and not (k and beat >> 20 & 1)
                held[k].popleft()
        if valid and takes == 3:
            for each in held:
                each.append((offered & (1 << 30) - 1, cycle))
            offered = 0
        await FallingEdge(dut.clk_i)
    assert early > 50
