# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The table of windows against a list of them, under random requests of both directions while software writes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

WINDOWS = 16
KNOWN_WITHIN = 2 * (WINDOWS + 1) + 2
"""Cycles without an access of software within which a request's answer is known."""


@dataclass
class Table:
    """What software wrote: three words a window."""

    words: list[list[int]] = field(default_factory=lambda: [[0, 0, 0] for _ in range(WINDOWS)])

    def allows(self, page: int, context: int, write: bool) -> bool:
        return any(
            base <= page <= last and flags >> int(write) & 1 and flags >> 16 + context & 1
            for base, last, flags in self.words
        )


@dataclass
class Way:
    """One direction's requests: what it asks, since when, and how long answers took."""

    name: str
    write: bool
    page: int = 0
    context: int = 0
    looking: bool = False
    known: bool = False
    waited: int = 0
    waits: list[int] = field(default_factory=list)
    answers: set[bool] = field(default_factory=set)


async def start(dut: Any) -> None:
    for name in ("sel", "write", "index", "word", "wdata", "read_req", "write_req"):
        getattr(dut, f"{name}_i").value = 0
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 2)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    for cycle in range(WINDOWS):
        assert int(dut.ready_o.value) == 0, f"cycle {cycle}"
        await FallingEdge(dut.clk_i)
    assert int(dut.ready_o.value) == 1


async def put(dut: Any, table: Table, index: int, word: int, value: int) -> None:
    dut.sel_i.value, dut.write_i.value, dut.index_i.value, dut.word_i.value, dut.wdata_i.value = (
        1,
        1,
        index,
        word,
        value,
    )
    await FallingEdge(dut.clk_i)
    dut.sel_i.value = 0
    table.words[index][word] = value & (0xFFFF_0003 if word == 2 else 0xFFF_FFFF)


def ask(dut: Any, way: Way, taken: bool) -> None:
    request = int(way.looking) << 33 | int(taken) << 32 | way.page << 4 | way.context
    getattr(dut, f"{way.name}_req_i").value = request


def answer(dut: Any, way: Way) -> tuple[bool, bool]:
    response = int(getattr(dut, f"{way.name}_rsp_o").value)
    return bool(response & 2), bool(response & 1)


async def cycle(dut: Any, table: Table, ways: list[Way], rng: random.Random, busy: float, touched: bool) -> None:
    """One cycle of both directions: each asks, gets the table's answer or none yet, and sometimes takes it."""
    for way in ways:
        if not way.looking and rng.random() < busy:
            way.looking, way.known, way.waited = True, False, 0
            # Pages that lie in windows, beside them, and far from them; runs within one window.
            if rng.random() < 0.25:
                way.page = rng.choice((rng.randrange(40), rng.choice((0xFFF_FFFF, 0x800_0000, 0x123_4567))))
                way.context = rng.randrange(16)
        ask(dut, way, taken=False)
    await Timer(1, "ns")
    for way in ways:
        hit, miss = answer(dut, way)
        assert not (hit and miss)
        if not way.looking:
            assert (hit, miss) == (False, False)
            continue
        if hit or miss:
            assert hit == table.allows(way.page, way.context, way.write), (way, table.words)
            if not way.known:
                way.waits.append(way.waited)
            way.known = True
            way.answers.add(hit)
            way.waited = 0
            # Held for some cycles, its answer follows the table.
            if rng.random() < 0.6:
                ask(dut, way, taken=True)
                way.looking = False
        else:
            way.waited = 0 if touched else way.waited + 1
            assert way.waited <= KNOWN_WITHIN
    await FallingEdge(dut.clk_i)


def window(rng: random.Random) -> tuple[int, int, int]:
    base = rng.randrange(36)
    last = base + rng.choice((0, 0, 1, 5)) if rng.random() < 0.9 else rng.randrange(36)
    return base, last, rng.getrandbits(16) << 16 | rng.randrange(4)


@cocotb.test()
@cocotb.parametrize(writes=[0.0, 0.02, 0.06])
async def answers_are_the_tables(dut: Any, writes: float) -> None:
    rng, table = random.Random(21), Table()
    ways = [Way("read", write=False), Way("write", write=True)]
    await start(dut)
    for index in range(WINDOWS):
        for word, value in enumerate(window(rng)):
            await put(dut, table, index, word, value)
    for _ in range(6000):
        written = None
        if rng.random() < writes:
            index, word = rng.randrange(WINDOWS), rng.randrange(3)
            written = index, word, window(rng)[word]
            dut.sel_i.value, dut.write_i.value = 1, 1
            dut.index_i.value, dut.word_i.value, dut.wdata_i.value = written
        await cycle(dut, table, ways, rng, 0.8, touched=written is not None)
        dut.sel_i.value = 0
        if written:
            index, word, value = written
            table.words[index][word] = value
    for way in ways:
        assert way.answers == {True, False}
        assert 0 in way.waits, "what stays in a window does not wait"
    if not writes:
        assert max(max(way.waits) for way in ways) > WINDOWS, "the slowest case was met"


@cocotb.test()
async def every_word_reads_back_and_a_fourth_reads_zero(dut: Any) -> None:
    rng, table = random.Random(22), Table()
    await start(dut)
    for index in range(WINDOWS):
        for word in range(3):
            dut.sel_i.value, dut.write_i.value, dut.index_i.value, dut.word_i.value = 1, 0, index, word
            await Timer(1, "ns")
            assert int(dut.rdata_o.value) == 0, "closed out of reset"
            await FallingEdge(dut.clk_i)
    for _ in range(100):
        await put(dut, table, rng.randrange(WINDOWS), rng.randrange(3), rng.getrandbits(32))
    for index in range(WINDOWS):
        for word, expected in enumerate([*table.words[index], 0]):
            dut.sel_i.value, dut.write_i.value, dut.index_i.value, dut.word_i.value = 1, 0, index, word
            await Timer(1, "ns")
            assert int(dut.rdata_o.value) == expected
            await FallingEdge(dut.clk_i)
    dut.sel_i.value = 0
    await Timer(1, "ns")
    assert int(dut.rdata_o.value) == 0, "nothing is read unless selected"


@cocotb.test()
async def two_buffers_read_side_by_side_cost_two_cycles_a_change(dut: Any) -> None:
    """After the first look at each page, the window it lies in is tried first."""
    rng, table = random.Random(23), Table()
    await start(dut)
    for index, base in ((3, 0x100), (9, 0x208), (14, 0x310)):
        for word, value in enumerate((base, base + 7, 0xFFFF_0003)):
            await put(dut, table, index, word, value)
    way = Way("read", write=False)
    for page in [base + page for page in range(4) for _ in range(3) for base in (0x100, 0x208, 0x310)]:
        way.looking, way.known, way.page, way.waited = True, False, page, 0
        while way.looking:
            await cycle(dut, table, [way], rng, 0.0, touched=False)
    assert max(way.waits) <= WINDOWS + 3
    # The first round of each page learns; the later rounds know.
    later = [wait for start in range(0, len(way.waits), 9) for wait in way.waits[start + 3 : start + 9]]
    assert max(later) == 2
