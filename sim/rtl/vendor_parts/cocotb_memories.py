# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The vendor's memories against a list of words, and delays against what was put in some cycles before."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

CYCLES = 3000
CONTENTS = [1, 0xAB, 0xFFFF, 0, 0x9E3, *[0] * 11]
"""Of the memory that is only read, as the bench states it."""


class ReadPort:
    """What a port of a memory shows, stage by stage."""

    def __init__(self, latency: int, mode: str) -> None:
        self.stages = [0] * latency
        self.mode = mode

    def clock(self, old: int, new: int, enable: bool, writes: bool, regce: bool, reset: bool) -> None:
        before = list(self.stages)
        if enable and not (writes and self.mode == "no_change"):
            self.stages[0] = new if writes and self.mode == "write_first" else old
        for i in range(1, len(before)):
            if i < len(before) - 1 or regce:
                self.stages[i] = before[i - 1]
        if reset:
            self.stages[-1] = 0


def written(old: int, data: int, strobes: int) -> int:
    """A word of two bytes after a write of some of them."""
    mask = (0xFF if strobes & 1 else 0) | (0xFF00 if strobes & 2 else 0)
    return old & ~mask | data & mask


@cocotb.test()
async def memories_hold_what_was_written(dut: Any) -> None:
    rng = random.Random(1)
    Clock(dut.clk_i, 10, "ns").start()
    single, simple, both = [0] * 16, [0] * 16, [0] * 16
    ports = (ReadPort(1, "read_first"), ReadPort(2, "no_change"), ReadPort(1, "write_first"), ReadPort(3, "no_change"))
    await FallingEdge(dut.clk_i)
    for _ in range(CYCLES):
        en, regce, we = ([rng.getrandbits(bits) for _ in range(2)] for bits in (1, 1, 2))
        addr, data = [rng.getrandbits(4) for _ in range(2)], [rng.getrandbits(16) for _ in range(2)]
        reset = rng.random() < 0.05
        # Two writes to one word at once have no defined result.
        we[1] = 0 if addr[0] == addr[1] else we[1]
        for name, pair, bits in (
            ("en", en, 1),
            ("regce", regce, 1),
            ("addr", addr, 4),
            ("we", we, 2),
            ("data", data, 16),
        ):
            getattr(dut, f"{name}_i").value = pair[0] | pair[1] << bits
        dut.rst_i.value = reset
        await FallingEdge(dut.clk_i)
        a, b = addr
        whole = [3 if each & 1 else 0 for each in we]
        ports[0].clock(single[a], 0, bool(en[0]), we[0] > 0, True, reset)
        ports[1].clock(simple[b], 0, bool(en[1]), False, bool(regce[1]), reset)
        ports[2].clock(both[a], data[0], bool(en[0]), whole[0] > 0, bool(regce[0]), reset)
        ports[3].clock(both[b], data[1], bool(en[1]), whole[1] > 0, bool(regce[1]), reset)
        if en[0]:
            single[a], simple[a] = written(single[a], data[0], we[0]), written(simple[a], data[0], we[0])
            both[a] = written(both[a], data[0], whole[0])
        if en[1]:
            both[b] = written(both[b], data[1], whole[1])
        got = [int(dut.single_o.value), int(dut.simple_o.value)]
        true = int(dut.true_o.value)
        assert [*got, true & 0xFFFF, true >> 16] == [port.stages[-1] for port in ports]
        assert int(dut.only_read_o.value) == CONTENTS[a]


@cocotb.test()
async def signals_come_as_late_as_is_said(dut: Any) -> None:
    rng = random.Random(2)
    Clock(dut.clk_i, 10, "ns").start()
    before: deque[tuple[int, int, int]] = deque([(0, 0, 1)] * 8, maxlen=8)
    for name in ("regce", "addr", "we"):
        getattr(dut, f"{name}_i").value = 0
    dut.rst_i.value = dut.en_i.value = dut.data_i.value = 0
    for _ in range(8):
        await FallingEdge(dut.clk_i)
    before.extend([(0, 0, 0)] * 8)
    for _ in range(CYCLES // 4):
        now = (rng.getrandbits(1), rng.getrandbits(16), int(rng.random() < 0.8))
        dut.en_i.value, dut.data_i.value = now[0] | now[2] << 1, now[1]
        await Timer(1, "ns")
        assert now[2] or not int(dut.resets_o.value) >> 1, "the reset did not begin at once"
        await FallingEdge(dut.clk_i)
        before.append(now)
        assert int(dut.single_bit_o.value) == before[-2][0]
        assert int(dut.bits_o.value) == before[-3][1]
        assert int(dut.count_o.value) == before[-4][1]
        resets = int(dut.resets_o.value)
        assert resets & 1 == before[-3][2]
        # Low at once, and high again with the third clock after it ended.
        assert resets >> 1 == min(before[-1][2], before[-2][2], before[-3][2])
