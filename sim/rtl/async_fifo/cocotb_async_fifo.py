# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The FIFO against a Python queue, on unrelated clocks, with pauses on both sides."""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout

SRC_PS, DST_PS = (int(text) for text in os.environ.get("PERIODS_PS", "10000,7300").split(","))
WORDS = 400


async def start(dut: Any) -> None:
    dut.valid_i.value = 0
    dut.ready_i.value = 0
    dut.src_rst_ni.value = 0
    dut.dst_rst_ni.value = 0
    Clock(dut.src_clk_i, SRC_PS, "ps").start()
    Clock(dut.dst_clk_i, DST_PS, "ps").start()
    await release(dut)


async def release(dut: Any) -> None:
    await ClockCycles(dut.src_clk_i, 5)
    await ClockCycles(dut.dst_clk_i, 5)
    assert dut.ready_o.value == 0
    assert dut.valid_o.value == 0
    await RisingEdge(dut.src_clk_i)
    dut.src_rst_ni.value = 1
    await RisingEdge(dut.dst_clk_i)
    dut.dst_rst_ni.value = 1


async def push(dut: Any, words: list[int], rate: float) -> None:
    for word in words:
        while random.random() >= rate:
            await RisingEdge(dut.src_clk_i)
        dut.valid_i.value = 1
        dut.data_i.value = word
        await RisingEdge(dut.src_clk_i)
        while dut.ready_o.value == 0:
            await RisingEdge(dut.src_clk_i)
        dut.valid_i.value = 0


async def pop(dut: Any, count: int, rate: float) -> list[int]:
    got: list[int] = []
    while len(got) < count:
        ready = random.random() < rate
        dut.ready_i.value = int(ready)
        await RisingEdge(dut.dst_clk_i)
        if ready and dut.valid_o.value == 1:
            got.append(int(dut.data_o.value))
    dut.ready_i.value = 0
    return got


@cocotb.test()
@cocotb.parametrize(rates=[(1.0, 1.0), (0.3, 1.0), (1.0, 0.3), (0.5, 0.5)])
async def every_word_crosses_once_in_order(dut: Any, rates: tuple[float, float]) -> None:
    await start(dut)
    words = [random.getrandbits(len(dut.data_i)) for _ in range(WORDS)]
    writer = cocotb.start_soon(push(dut, words, rates[0]))
    assert await with_timeout(cocotb.start_soon(pop(dut, WORDS, rates[1])), 1, "ms") == words
    await writer
    await ClockCycles(dut.dst_clk_i, 10)
    assert dut.valid_o.value == 0


@cocotb.test()
async def it_holds_exactly_its_depth(dut: Any) -> None:
    depth = int(dut.Depth.value)
    await start(dut)
    queue: deque[int] = deque()
    for word in range(depth * 3):
        dut.valid_i.value = 1
        dut.data_i.value = word
        await RisingEdge(dut.src_clk_i)
        if dut.ready_o.value == 1:
            queue.append(word)
    dut.valid_i.value = 0
    assert len(queue) == depth
    assert await with_timeout(cocotb.start_soon(pop(dut, depth, 1.0)), 1, "ms") == list(queue)


@cocotb.test()
async def a_reset_of_both_sides_empties_it(dut: Any) -> None:
    await start(dut)
    await with_timeout(cocotb.start_soon(push(dut, [1, 2][: int(dut.Depth.value)], 1.0)), 1, "ms")
    await ClockCycles(dut.dst_clk_i, 6)
    assert dut.valid_o.value == 1
    dut.src_rst_ni.value = 0
    dut.dst_rst_ni.value = 0
    await release(dut)
    await ClockCycles(dut.dst_clk_i, 10)
    assert dut.valid_o.value == 0
    writer = cocotb.start_soon(push(dut, [7, 8], 1.0))
    assert await with_timeout(cocotb.start_soon(pop(dut, 2, 1.0)), 1, "ms") == [7, 8]
    await writer


@cocotb.test()
async def a_stopped_reader_loses_nothing(dut: Any) -> None:
    """The reading clock stands still while the writer fills the FIFO; then everything comes."""
    dut.valid_i.value = 0
    dut.ready_i.value = 0
    dut.src_rst_ni.value = 0
    dut.dst_rst_ni.value = 0
    Clock(dut.src_clk_i, SRC_PS, "ps").start()
    reading = Clock(dut.dst_clk_i, DST_PS, "ps")
    reading.start()
    await release(dut)
    await ClockCycles(dut.src_clk_i, 5)
    reading.stop()
    words = list(range(10, 10 + int(dut.Depth.value) + 2))
    writer = cocotb.start_soon(push(dut, words, 1.0))
    await ClockCycles(dut.src_clk_i, 50)
    assert not writer.done()
    reading.start()
    assert await with_timeout(cocotb.start_soon(pop(dut, len(words), 1.0)), 1, "ms") == words
