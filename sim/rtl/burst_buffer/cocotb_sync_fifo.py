# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The FIFO on one clock, against a deque: order, capacity, latency and rate, in every cycle."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

LATENCY = 2
"""Edges from the one that takes a word to the first at which it can be had again."""


async def start(dut: Any) -> None:
    dut.valid_i.value = dut.ready_i.value = dut.data_i.value = 0
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    assert dut.valid_o.value == 0
    assert dut.ready_o.value == 0, "nothing is taken in reset"
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)


class Fifo:
    """The model: (cycle in which it went in, word), and what was offered last."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.words: deque[tuple[int, int]] = deque()
        self.cycle = 0
        self.put = self.got = self.most = 0
        self.held: int | None = None

    async def step(self, offer: float, take: float) -> None:
        dut, rng = self.dut, self.rng
        # A payload nobody announces is noise.
        dut.valid_i.value, dut.data_i.value = int(rng.random() < offer), rng.getrandbits(16)
        dut.ready_i.value = int(rng.random() < take)
        await Timer(4, "ns")
        self.leave()
        if dut.valid_i.value == 1 and dut.ready_o.value == 1:
            self.words.append((self.cycle, int(dut.data_i.value)))
            self.put += 1
        self.most = max(self.most, len(self.words))
        assert len(self.words) <= int(dut.Depth.value) + 1, "more than there are places for"
        self.cycle += 1
        await FallingEdge(dut.clk_i)

    def leave(self) -> None:
        dut = self.dut
        due = bool(self.words) and self.cycle - self.words[0][0] >= LATENCY
        valid = dut.valid_o.value == 1
        # Behind a word that waits there is no further latency, and none for the next where words follow one another.
        assert valid == due, f"cycle {self.cycle}: a word {'late' if due else 'early'}"
        if not valid:
            assert self.held is None, "what was offered was withdrawn"
            return
        word = int(dut.data_o.value)
        assert word == self.words[0][1]
        assert self.held in (None, word)
        self.held = word
        if dut.ready_i.value == 1:
            self.words.popleft()
            self.got += 1
            self.held = None


@cocotb.test()
@cocotb.parametrize(flow=[(1.0, 1.0), (0.5, 0.5), (0.9, 0.2), (0.2, 0.9), (1.0, 0.6)])
async def words_come_out_as_they_went_in(dut: Any, flow: tuple[float, float]) -> None:
    await start(dut)
    fifo = Fifo(dut, seed=41)
    for _ in range(800):
        await fifo.step(*flow)
    for _ in range(int(dut.Depth.value) + 4):
        await fifo.step(0, 1)
    assert not fifo.words
    assert fifo.put == fifo.got > 100


@cocotb.test()
async def it_fills_to_its_depth_and_refuses_more(dut: Any) -> None:
    await start(dut)
    fifo, depth = Fifo(dut, seed=42), int(dut.Depth.value)
    for _ in range(3 * depth + 10):
        await fifo.step(1, 0)
    # One place of the memory is given away so that `ready` is a flop; the output register holds one word more.
    assert depth - 1 <= fifo.most <= depth + 1
    assert dut.ready_o.value == 0
    for _ in range(3 * depth + 10):
        await fifo.step(0, 1)
    assert fifo.got == fifo.put == fifo.most


@cocotb.test()
async def a_word_a_cycle_goes_through(dut: Any) -> None:
    await start(dut)
    fifo = Fifo(dut, seed=43)
    for _ in range(300):
        await fifo.step(1, 1)
    assert fifo.got >= 300 - LATENCY - 1 if int(dut.Depth.value) > 4 else fifo.got > 100


@cocotb.test()
async def a_reset_empties_it(dut: Any) -> None:
    await start(dut)
    fifo = Fifo(dut, seed=44)
    for _ in range(30):
        await fifo.step(1, 0.1)
    dut.rst_ni.value = 0
    await FallingEdge(dut.clk_i)
    assert dut.valid_o.value == 0
    dut.valid_i.value = 0
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)
    fifo.words.clear()
    fifo.held = None
    for _ in range(60):
        await fifo.step(0.7, 0.7)
