# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Multiplication and division against integers: every operation, chosen and random operands, masks, waits, resets.

The cycles of a division are those that the block states.
"""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

OPERATIONS = 600
TOP = 1 << 31
ALL = (1 << 32) - 1
CHOSEN = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x100, 0xFFFF, 0x10000, 0xFFFFFF, 0x1000000, TOP - 1, TOP, ALL - 1, ALL)


def signed(word: int) -> int:
    return word - (1 << 32) if word & TOP else word


def expected(op: int, a: int, b: int) -> int:
    """funct3 of the "M" extension, on words."""
    if op < 4:
        left = a if op == 3 else signed(a)
        right = b if op in (2, 3) else signed(b)
        product = left * right
        return (product if op == 0 else product >> 32) & ALL
    if b == 0:
        return ALL if op < 6 else a
    left, right = (a, b) if op & 1 else (signed(a), signed(b))
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return (quotient if op < 6 else left - quotient * right) & ALL


def cycles(op: int, lanes: list[tuple[int, int]]) -> int:
    """From the request to the first cycle of the answer."""
    if op < 4:
        return 2
    total = 1
    for a, b in lanes:
        size = a if op & 1 else abs(signed(a))
        total += 2 + 4 * max(1, (size.bit_length() + 7) // 8 if b else 4)
    return total


def word(rng: random.Random) -> int:
    if rng.random() < 0.4:
        return rng.choice(CHOSEN)
    value = rng.getrandbits(rng.choice((4, 8, 16, 24, 32)))
    return -value & ALL if rng.random() < 0.3 else value


async def reset(dut: Any) -> None:
    dut.rst_ni.value = 0
    dut.req_valid_i.value = 0
    dut.rsp_ready_i.value = 0
    await FallingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


@cocotb.test()
async def operations(dut: Any) -> None:
    threads, rng = int(os.environ["MULDIV_THREADS"]), random.Random(3)
    Clock(dut.clk_i, 10, "ns").start()
    await reset(dut)
    for number in range(OPERATIONS):
        op, tag = number % 8, rng.getrandbits(12)
        mask = rng.randrange(1, 1 << threads)
        operands = [(word(rng), word(rng)) for _ in range(threads)]
        active = [t for t in range(threads) if mask >> t & 1]
        for _ in range(rng.choice((0, 0, 1, 5))):
            await FallingEdge(dut.clk_i)
        assert int(dut.req_ready_o.value)
        dut.req_valid_i.value = 1
        dut.req_op_i.value = op
        dut.req_mask_i.value = mask
        dut.req_tag_i.value = tag
        for t, (a, b) in enumerate(operands):
            dut.req_a_i[t].value, dut.req_b_i[t].value = a, b
        await FallingEdge(dut.clk_i)
        # What stands at the port meanwhile is not looked at.
        for t in range(threads):
            dut.req_a_i[t].value, dut.req_b_i[t].value = rng.getrandbits(32), rng.getrandbits(32)
        dut.req_op_i.value = rng.randrange(8)
        dut.req_tag_i.value = rng.getrandbits(12)
        dut.req_valid_i.value = int(rng.random() < 0.5)
        if number % 97 == 96:
            await reset(dut)
            assert not int(dut.rsp_valid_o.value)
            continue
        waited = 1
        while not int(dut.rsp_valid_o.value):
            assert not int(dut.req_ready_o.value)
            waited += 1
            assert waited < 40 + 18 * threads
            await FallingEdge(dut.clk_i)
        assert waited == cycles(op, [operands[t] for t in active]), f"operation {op}"
        for held in range(rng.choice((0, 0, 2)) + 1):
            await ReadOnly()
            assert int(dut.rsp_valid_o.value), f"taken back after {held} cycles"
            assert int(dut.rsp_mask_o.value) == mask
            assert int(dut.rsp_tag_o.value) == tag
            for t in active:
                assert int(dut.rsp_data_o[t].value) == expected(op, *operands[t]), f"operation {op} of {operands[t]}"
            await FallingEdge(dut.clk_i)
        dut.req_valid_i.value = 0
        dut.rsp_ready_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.rsp_ready_i.value = 0
