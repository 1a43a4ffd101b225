"""The monitor's counters against a model that keeps them in a dictionary, under random requests, stalls and clears."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

ALL = 16
"""Number that asks for the sum over the contexts."""

WORDS = (
    *("read_bytes", "write_bytes", "read_requests", "write_requests", "row_hits", "row_misses"),
    *("read_stalls", "write_stalls", "token_stalls"),
)
STALLS = (("read", "read_stalls"), ("write", "write_stalls"), ("token", "token_stalls"))
CLEARING = 16
"""Cycles a clear takes, in which nothing is counted."""


@dataclass
class Model:
    """What the block's page says: counters by name and context, and each bank's last row."""

    bank_shift: int
    bank_bits: int
    row_shift: int
    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    rows: dict[int, int] = field(default_factory=dict)
    pause: int = 0

    def request(self, write: bool, address: int, context: int, size: int) -> None:
        bank = (address >> self.bank_shift) % 2**self.bank_bits
        row = address >> self.row_shift
        hit = self.rows.get(bank) == row
        self.rows[bank] = row
        kind = "write" if write else "read"
        self.add(f"{kind}_bytes", context, size)
        self.add(f"{kind}_requests", context, 1)
        self.add("row_hits" if hit else "row_misses", context, 1)

    def add(self, name: str, context: int, amount: int) -> None:
        if not self.pause:
            self.counts[name, context] += amount

    def clock(self, clear: bool) -> None:
        """The end of a cycle, after its events."""
        self.pause = CLEARING if clear else max(self.pause - 1, 0)
        if clear:
            self.counts.clear()

    def words(self, context: int) -> list[int]:
        if context >= ALL:
            return [sum(self.counts[name, each] for each in range(ALL)) for name in WORDS]
        return [self.counts[name, context] for name in WORDS]


async def start(dut: Any, model: Model) -> None:
    for name in ("admit", "read_stall", "write_stall", "token_stall", "snapshot", "clear", "word_sel"):
        getattr(dut, f"{name}_i").value = 0
    dut.cycles_i.value = 0
    dut.bank_shift_i.value = model.bank_shift
    dut.bank_bits_i.value = model.bank_bits
    dut.row_shift_i.value = model.row_shift
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    # Out of reset the counters are being cleared.
    await ClockCycles(dut.clk_i, CLEARING + 1)
    await FallingEdge(dut.clk_i)


async def drive(dut: Any, model: Model, rng: random.Random, rate: float, clear: bool = False) -> None:
    """One cycle of random events, for the block and for the model. Payloads are random also where nothing is valid."""
    admit, write = rng.random() < rate, rng.random() < 0.4
    # Few rows and banks beside each other, so that hits and misses both happen; sometimes anywhere.
    address = rng.getrandbits(40) if rng.random() < 0.1 else rng.randrange(16) << 11 | rng.getrandbits(11)
    context, size = rng.randrange(ALL), rng.choice((1, 8, 64, 512, 2048))
    dut.admit_i.value, dut.admit_write_i.value = int(admit), int(write)
    dut.admit_addr_i.value, dut.admit_context_i.value, dut.admit_bytes_i.value = address, context, size
    if admit:
        model.request(write, address, context, size)
    for name, counter in STALLS:
        stalled, waiting = rng.random() < rate, rng.randrange(ALL)
        getattr(dut, f"{name}_stall_i").value = int(stalled)
        getattr(dut, f"{name}_context_i").value = waiting
        if stalled:
            model.add(counter, waiting, 1)
    dut.clear_i.value = int(clear)
    model.clock(clear)
    await FallingEdge(dut.clk_i)
    dut.clear_i.value = 0


async def read(dut: Any) -> list[int]:
    """The words of the snapshot, 64 bits each, within one cycle."""
    halves = []
    dut.word_sel_i.value = 1
    for word in range(2 * (len(WORDS) + 1)):
        dut.word_i.value = word
        await Timer(100, "ps")
        halves.append(int(dut.word_o.value))
    dut.word_sel_i.value = 0
    await FallingEdge(dut.clk_i)
    return [low | high << 32 for low, high in zip(halves[::2], halves[1::2], strict=True)]


async def snapshot(dut: Any, model: Model, rng: random.Random, context: int, clear: bool = False) -> None:
    """Take a snapshot while events go on, and compare it with the model as it was before this cycle."""
    expected = model.words(context)
    cycles = rng.getrandbits(64)
    dut.cycles_i.value, dut.snapshot_i.value, dut.snapshot_context_i.value = cycles, 1, context
    await drive(dut, model, rng, 0.7, clear)
    dut.snapshot_i.value = 0
    dut.cycles_i.value = rng.getrandbits(64)
    dut.snapshot_context_i.value = rng.getrandbits(5)
    # A snapshot stays as it is while counting goes on.
    for _ in range(rng.randrange(4)):
        await drive(dut, model, rng, 0.7)
    idle(dut)
    model.clock(clear=False)
    assert await read(dut) == [cycles, *expected], f"context {context}"


def idle(dut: Any) -> None:
    for name in ("admit", "read_stall", "write_stall", "token_stall"):
        getattr(dut, f"{name}_i").value = 0


@cocotb.test()
@cocotb.parametrize(geometry=[(11, 3, 14), (13, 0, 13), (8, 5, 20)], rate=[1.0, 0.3])
async def counts_are_the_models(dut: Any, geometry: tuple[int, int, int], rate: float) -> None:
    rng, model = random.Random(11), Model(*geometry)
    await start(dut, model)
    for _ in range(6):
        for _ in range(150):
            await drive(dut, model, rng, rate)
        for context in (rng.randrange(ALL), rng.randrange(ALL), ALL):
            await snapshot(dut, model, rng, context)
    for context in range(ALL + 1):
        await snapshot(dut, model, rng, context)
    # The traffic was such that every counter had something to count.
    assert all(value > 0 for value in model.words(ALL))


@cocotb.test()
async def a_snapshot_that_clears_loses_no_count_before_it(dut: Any) -> None:
    rng, model = random.Random(12), Model(11, 3, 14)
    await start(dut, model)
    for round_ in range(8):
        for _ in range(40):
            await drive(dut, model, rng, 0.8)
        await snapshot(dut, model, rng, rng.choice((ALL, rng.randrange(ALL))), clear=round_ % 2 == 0)
    for context in range(ALL + 1):
        await snapshot(dut, model, rng, context)


@cocotb.test()
async def every_counter_is_zero_after_a_clear(dut: Any) -> None:
    rng, model = random.Random(13), Model(11, 3, 14)
    await start(dut, model)
    for _ in range(300):
        await drive(dut, model, rng, 1.0)
    await drive(dut, model, rng, 1.0, clear=True)
    # Also a second clear while the first is under way.
    for cycle in range(CLEARING - 4):
        await drive(dut, model, rng, 1.0, clear=cycle == 6)
    idle(dut)
    for _ in range(CLEARING):
        model.clock(clear=False)
        await FallingEdge(dut.clk_i)
    for context in range(ALL + 1):
        dut.snapshot_i.value, dut.snapshot_context_i.value = 1, context
        await FallingEdge(dut.clk_i)
        dut.snapshot_i.value = 0
        assert (await read(dut))[1:] == [0] * len(WORDS)


@cocotb.test()
async def nothing_is_read_unless_selected(dut: Any) -> None:
    rng, model = random.Random(14), Model(11, 3, 14)
    await start(dut, model)
    for _ in range(50):
        await drive(dut, model, rng, 1.0)
    await snapshot(dut, model, rng, ALL)
    for word in range(32):
        dut.word_i.value = word
        await Timer(1, "ns")
        assert dut.word_o.value == 0
        if word >= 2 * (len(WORDS) + 1):
            dut.word_sel_i.value = 1
            await Timer(1, "ns")
            assert dut.word_o.value == 0, "a word that does not exist reads zero"
            dut.word_sel_i.value = 0


@cocotb.test()
async def counts_carry_into_the_upper_word(dut: Any) -> None:
    """A counter stands just below 2**32 (set from outside), and goes on over it."""
    model = Model(11, 3, 14)
    await start(dut, model)
    dut.gen_counters[0].total_q.value = 2**32 - 100
    dut.gen_counters[0].counts_q[5].value = 2**32 - 100
    await FallingEdge(dut.clk_i)
    dut.admit_i.value, dut.admit_write_i.value, dut.admit_addr_i.value = 1, 0, 0
    dut.admit_context_i.value, dut.admit_bytes_i.value = 5, 2048
    await FallingEdge(dut.clk_i)
    idle(dut)
    for context in (5, ALL):
        dut.snapshot_i.value, dut.snapshot_context_i.value = 1, context
        await FallingEdge(dut.clk_i)
        dut.snapshot_i.value = 0
        assert (await read(dut))[1] == 2**32 - 100 + 2048
