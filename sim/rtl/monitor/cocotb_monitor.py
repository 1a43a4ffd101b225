# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The monitor's counters against a model that keeps every event with its cycle, under random requests and stalls.

A snapshot names its instant: the cycle in its first word. The model then says what had been counted before that cycle,
so the bench needs to know nothing of how the block walks over its counters.
"""

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
WALK = 288
"""Cycles a walk over all totals takes."""
INSTANT_WITHIN, READY_WITHIN = 290, 870
"""Cycles within which a snapshot's instant lies, and within which it can be read."""


@dataclass
class Model:
    """What the block's page says: events by cycle, and each bank's last row."""

    bank_shift: int
    bank_bits: int
    row_shift: int
    hash_masks: tuple[int, ...] = (0,) * 5
    now: int = 0
    events: list[tuple[int, str, int, int]] = field(default_factory=list)
    before: Counter[tuple[str, int]] = field(default_factory=Counter)
    rows: dict[int, int] = field(default_factory=dict)
    taken: Counter[tuple[str, int]] = field(default_factory=Counter)

    def request(self, write: bool, address: int, context: int, size: int) -> None:
        bank = (address >> self.bank_shift) % 2**self.bank_bits
        for bit, mask in enumerate(self.hash_masks):
            bank ^= ((address >> 12 & mask).bit_count() & 1) << bit
        row = address >> self.row_shift
        hit = self.rows.get(bank) == row
        self.rows[bank] = row
        kind = "write" if write else "read"
        self.add(f"{kind}_bytes", context, size)
        self.add(f"{kind}_requests", context, 1)
        self.add("row_hits" if hit else "row_misses", context, 1)

    def add(self, name: str, context: int, amount: int) -> None:
        self.events.append((self.now, name, context, amount))

    def words(self, context: int, instant: int, clear: bool = False) -> list[int]:
        """The counters before a cycle; with `clear` they start at zero there. Instants are asked for in order."""
        self.before.update({(name, owner): 0 for _, name, owner, _ in self.events})
        for cycle, name, owner, amount in self.events:
            if cycle < instant:
                self.before[name, owner] += amount
        self.events = [event for event in self.events if event[0] >= instant]
        self.taken = self.before.copy()
        if clear:
            self.before.clear()
        return self.kept(context)

    def kept(self, context: int) -> list[int]:
        """The counters of another context at the instant taken last."""
        owners = range(ALL) if context >= ALL else (context,)
        return [sum(self.taken[name, owner] for owner in owners) for name in WORDS]


async def start(dut: Any, model: Model) -> None:
    for name in ("admit", "read_stall", "write_stall", "token_stall", "snapshot", "clear", "keep", "word_sel"):
        getattr(dut, f"{name}_i").value = 0
    dut.bank_hash_i.value = sum(mask << 28 * bit for bit, mask in enumerate(model.hash_masks))
    dut.cycles_i.value = 0
    dut.bank_shift_i.value = model.bank_shift
    dut.bank_bits_i.value = model.bank_bits
    dut.row_shift_i.value = model.row_shift
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    # Rows are not kept while the totals are being cleared.
    for _ in range(WALK + 1):
        await tick(dut, model)


async def tick(dut: Any, model: Model) -> None:
    """The end of a cycle."""
    await FallingEdge(dut.clk_i)
    model.now += 1
    dut.cycles_i.value = model.now


async def drive(dut: Any, model: Model, rng: random.Random, rate: float, contexts: int = ALL) -> None:
    """One cycle of random events, for the block and for the model. Payloads are random also where nothing is valid."""
    admit, write = rng.random() < rate, rng.random() < 0.4
    # Few rows and banks beside each other, so that hits and misses both happen; sometimes anywhere.
    address = rng.getrandbits(40) if rng.random() < 0.1 else rng.randrange(16) << 11 | rng.getrandbits(11)
    context, size = rng.randrange(contexts), rng.choice((1, 8, 64, 512, 2048))
    dut.admit_i.value, dut.admit_write_i.value = int(admit), int(write)
    dut.admit_addr_i.value, dut.admit_context_i.value, dut.admit_bytes_i.value = address, context, size
    if admit:
        model.request(write, address, context, size)
    for name, counter in STALLS:
        stalled, waiting = rng.random() < rate, rng.randrange(contexts)
        getattr(dut, f"{name}_stall_i").value = int(stalled)
        getattr(dut, f"{name}_context_i").value = waiting
        if stalled:
            model.add(counter, waiting, 1)
    await tick(dut, model)


async def read(dut: Any) -> list[int]:
    """The words of the snapshot, 64 bits each, within one cycle."""
    halves = []
    dut.word_sel_i.value = 1
    for word in range(2 * (len(WORDS) + 1)):
        dut.word_i.value = word
        await Timer(100, "ps")
        halves.append(int(dut.word_o.value))
    dut.word_sel_i.value = 0
    await Timer(100, "ps")
    return [low | high << 32 for low, high in zip(halves[::2], halves[1::2], strict=True)]


async def snapshot(
    dut: Any, model: Model, rng: random.Random, context: int, clear: bool = False, rate: float = 0.7
) -> None:
    """Take a snapshot while events go on, and compare it with the model at its instant."""
    asked = model.now
    dut.snapshot_i.value, dut.snapshot_context_i.value, dut.clear_i.value = 1, context, int(clear)
    dut.keep_i.value = 0
    await drive(dut, model, rng, rate)
    dut.snapshot_i.value = 0
    dut.clear_i.value, dut.keep_i.value = rng.getrandbits(1), rng.getrandbits(1)
    dut.snapshot_context_i.value = rng.getrandbits(5)
    while int(dut.busy_o.value):
        await drive(dut, model, rng, rate)
        assert model.now - asked <= READY_WITHIN
    # A snapshot stays as it is while counting goes on.
    for _ in range(rng.randrange(4)):
        await drive(dut, model, rng, rate)
    instant, *found = await read(dut)
    assert asked < instant <= asked + INSTANT_WITHIN
    assert found == model.words(context, instant, clear), f"context {context}"


async def another(dut: Any, model: Model, rng: random.Random, context: int, rate: float) -> None:
    """Collect another context of the instant taken last while events go on. A clear that is asked for does nothing."""
    asked = model.now
    dut.snapshot_i.value, dut.snapshot_context_i.value, dut.keep_i.value = 1, context, 1
    dut.clear_i.value = rng.getrandbits(1)
    await drive(dut, model, rng, rate)
    dut.snapshot_i.value, dut.keep_i.value = 0, rng.getrandbits(1)
    while int(dut.busy_o.value):
        await drive(dut, model, rng, rate)
        assert model.now - asked <= READY_WITHIN
    _, *found = await read(dut)
    assert found == model.kept(context), f"context {context}"


def idle(dut: Any) -> None:
    for name in ("admit", "read_stall", "write_stall", "token_stall"):
        getattr(dut, f"{name}_i").value = 0


@cocotb.test()
@cocotb.parametrize(geometry=[(11, 3, 14), (13, 0, 13), (8, 5, 20), (35, 5, 36)], rate=[1.0, 0.3])
async def counts_are_the_models(dut: Any, geometry: tuple[int, int, int], rate: float) -> None:
    rng, model = random.Random(11), Model(*geometry)
    await start(dut, model)
    for _ in range(3):
        # Also longer than what is counted between two walks.
        for _ in range(rng.choice((150, 1100, 1900))):
            await drive(dut, model, rng, rate)
        for context in (rng.randrange(ALL), ALL):
            await snapshot(dut, model, rng, context, rate=rate)
    for context in rng.sample(range(ALL), 4):
        await snapshot(dut, model, rng, context, rate=rate)
    # The traffic was such that every counter had something to count.
    assert all(value > 0 for value in model.words(ALL, model.now))


@cocotb.test()
@cocotb.parametrize(rate=[1.0, 0.2])
async def every_context_is_collected_of_one_instant(dut: Any, rate: float) -> None:
    """All sixteen and their sum, one after the other, while events go on; across walks that add, and after a clear."""
    rng, model = random.Random(19), Model(11, 3, 14)
    await start(dut, model)
    await another(dut, model, rng, ALL, rate)
    for round_ in range(3):
        for _ in range(rng.choice((200, 870, 1000))):
            await drive(dut, model, rng, rate)
        await snapshot(dut, model, rng, rng.choice((3, ALL)), clear=round_ == 1, rate=rate)
        contexts = [*range(ALL), ALL]
        rng.shuffle(contexts)
        for context in contexts:
            for _ in range(rng.choice((0, 0, 40, 300))):
                await drive(dut, model, rng, rate)
            await another(dut, model, rng, context, rate)
        assert sum(model.kept(ALL)) > 0


@cocotb.test()
@cocotb.parametrize(bits=[(0,), (1,), (2,), (3,), (4,), (0, 1, 2, 3, 4)])
async def banks_are_hashed_as_told(dut: Any, bits: tuple[int, ...]) -> None:
    """Each bit of the bank by itself, those of the geometry and those that masks alone make; and all of them."""
    rng = random.Random(20)
    masks = tuple(rng.getrandbits(28) if bit in bits else 0 for bit in range(5))
    model = Model(12, 2, 16, masks)
    await start(dut, model)
    plain = Model(12, 2, 16)
    request = model.request

    def both(write: bool, address: int, context: int, size: int) -> None:
        plain.request(write, address, context, size)
        request(write, address, context, size)

    model.request = both  # type: ignore[method-assign]
    for _ in range(1200):
        await drive(dut, model, rng, 0.9)
    idle(dut)
    await snapshot(dut, model, rng, ALL, rate=0.0)
    hits = WORDS.index("row_hits")
    assert model.kept(ALL)[hits] != plain.words(ALL, 1)[hits], "the masks matter with this traffic"


@cocotb.test()
async def one_context_alone_fills_no_counter(dut: Any) -> None:
    """All events of a walk's interval go to one context, the largest there are, snapshots following each other."""
    rng, model = random.Random(15), Model(11, 3, 14)
    await start(dut, model)
    dut.admit_i.value, dut.admit_write_i.value, dut.admit_context_i.value, dut.admit_bytes_i.value = 1, 0, 9, 2048
    dut.admit_addr_i.value = 0
    for name, _ in STALLS:
        getattr(dut, f"{name}_stall_i").value, getattr(dut, f"{name}_context_i").value = 1, 9
    for _ in range(3000):
        model.request(False, 0, 9, 2048)
        for _, counter in STALLS:
            model.add(counter, 9, 1)
        await tick(dut, model)
    idle(dut)
    for context in (9, ALL, 8):
        await snapshot(dut, model, rng, context, rate=0.0)
    assert model.words(9, model.now)[0] == 3000 * 2048


@cocotb.test()
async def a_snapshot_that_clears_loses_nothing(dut: Any) -> None:
    rng, model = random.Random(12), Model(11, 3, 14)
    await start(dut, model)
    for round_ in range(8):
        for _ in range(rng.randrange(400)):
            await drive(dut, model, rng, 0.8)
        await snapshot(dut, model, rng, rng.choice((ALL, rng.randrange(ALL))), clear=round_ % 2 == 0)
    for context in (0, 5, 15, ALL):
        await snapshot(dut, model, rng, context)


@cocotb.test()
async def a_snapshot_meets_every_moment_of_a_walk(dut: Any) -> None:
    """Asked for while recent counts are being added to the totals, and while the totals are cleared."""
    rng, model = random.Random(16), Model(11, 3, 14)
    await start(dut, model)
    for round_ in range(24):
        for _ in range(890 + 13 * round_ if round_ < 20 else round_ - 20):
            await drive(dut, model, rng, 1.0, contexts=3)
        await snapshot(dut, model, rng, rng.choice((ALL, 1)), clear=round_ % 5 == 4, rate=1.0)


@cocotb.test()
async def a_reset_clears_whatever_is_under_way(dut: Any) -> None:
    rng, model = random.Random(13), Model(11, 3, 14)
    await start(dut, model)
    for cycles in (300, 899, 1000):
        for _ in range(cycles):
            await drive(dut, model, rng, 1.0)
        idle(dut)
        dut.rst_ni.value = 0
        await tick(dut, model)
        dut.rst_ni.value = 1
        model.events.clear()
        model.before.clear()
        model.rows.clear()
        for _ in range(WALK + 1):
            await tick(dut, model)
        for context in (0, 7, ALL):
            await snapshot(dut, model, rng, context, rate=0.0)


@cocotb.test()
async def nothing_moves_without_an_event(dut: Any) -> None:
    """Once a walk has ended, no flop of the block changes until there is an event: a simulator may leave cycles out."""
    rng, model = random.Random(17), Model(11, 3, 14)
    await start(dut, model)
    for _ in range(950):
        await drive(dut, model, rng, 1.0)
    idle(dut)
    for _ in range(WALK + 4):
        await tick(dut, model)
    still = [int(dut.state_q.value), int(dut.walk_q.value), int(dut.pressure_q.value)]
    for _ in range(50):
        await tick(dut, model)
        assert [int(dut.state_q.value), int(dut.walk_q.value), int(dut.pressure_q.value)] == still


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
    """Totals stand just below 2**32 (set from outside), and go on over it; so does the sum of two contexts."""
    rng, model = random.Random(18), Model(11, 3, 14)
    await start(dut, model)
    for context in (5, 6):
        dut.totals_q[1 << 5 | context << 1].value = 2**32 - 100
        model.before["read_bytes", context] = 2**32 - 100
    await tick(dut, model)
    dut.admit_i.value, dut.admit_write_i.value, dut.admit_addr_i.value = 1, 0, 0
    dut.admit_context_i.value, dut.admit_bytes_i.value = 5, 2048
    model.request(False, 0, 5, 2048)
    await tick(dut, model)
    idle(dut)
    for context in (5, 6, ALL):
        await snapshot(dut, model, rng, context, rate=0.0)
