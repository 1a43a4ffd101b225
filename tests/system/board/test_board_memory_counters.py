# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Row hits by tenant: the controller's counters against its own log, and what the monitors derive beside them.

Modules that lie ask for random bursts in several memory contexts while slots are closed, loaded again and reset in the
middle of their traffic. Nothing here is a time on the wall.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from eddy.board.port.dram_map import hash_masks, place, units
from eddy.board.port.profile import Profile
from eddy_drivers.memory_counters import COUNTERS
from eddy_drivers.regs import memory_counters, slot_ctrl, window
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.boards.dram import USERS
from eddy_sim.boards.faults import DoneClaim, Liar, LoadFault
from eddy_sim.design import build
from system.board.board_rig import CONTROL, OPEN_ALL, WINDOWS, bank, load, page, run_for, start, tiny

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

SPAN = 0x4_0000
CONTEXTS = 4
ALL_CONTEXTS = 0xFFFF_0003
"""A window's flags: read and write, every context."""
FULL = {"faw_ns": 40.0, "wtr_ns": 10.0, "rtw_ns": 5.0, "hashing": True, "reorders": True, "queue_bursts": 64}


def random_liar(rng: random.Random) -> Liar:
    """A module that reads and writes for ever, in several contexts and ids."""
    return Liar(
        reads=True,
        writes=rng.random() < 0.7,
        len=rng.choice((0, 1, 7, 15)),
        when=DoneClaim.NEVER,
        pause=rng.choice((0, 3, 20)),
        outstanding=rng.choice((1, 4)),
        contexts=CONTEXTS,
        ids=rng.choice((1, 4)),
        span=SPAN,
    )


def begin(board: SimBoard, slot: int, rng: random.Random) -> None:
    """Swap another module in, whatever the slot does, and start it."""
    fault = LoadFault(liar=random_liar(rng))
    assert load(board, slot, build.build_liar(), fault) == StopReason.CONFIG
    reopen(board, slot)


def reopen(board: SimBoard, slot: int) -> None:
    """Open a slot that is closed, and start what it holds."""
    first = page(board, slot)
    # What a slot that was closed in the middle of a burst is told; it would stay isolated otherwise.
    run_for(board, 100)
    board.write32(bank(slot, slot_ctrl.FAULT_CLEAR.offset), slot_ctrl.FAULT_CLEAR.encode(clear=1))
    for offset, word in ((0, first >> 12), (4, (first + SPAN - 1) >> 12), (8, ALL_CONTEXTS)):
        board.write32(bank(slot, WINDOWS) + offset, word)
    board.write32(bank(slot, CONTROL), OPEN_ALL)
    run_for(board, 20)
    start(board, slot, first)


def shake(board: SimBoard, rng: random.Random, rounds: int) -> None:
    """Traffic of every slot, with swaps, resets of slots and of the whole shell in the middle of it."""
    slots = range(len(board.profile.slots))
    for slot in slots:
        begin(board, slot, rng)
    for _ in range(rounds):
        run_for(board, rng.randint(100, 1500))
        slot, what = rng.choice(slots), rng.choice(("swap", "reset", "nothing", "all"))
        if what == "swap":
            begin(board, slot, rng)
        elif what == "reset":
            board.write32(bank(slot, CONTROL), 0)
            run_for(board, rng.randint(1, 200))
            reopen(board, slot)
        elif what == "all" and rng.random() < 0.3:
            board.reset()
            for each in slots:
                begin(board, each, rng)
    run_for(board, 500)


def counted_from_log(board: SimBoard) -> dict[int, Counter[str]]:
    """Rows opened again burst by burst, with the address map as it stands in Python."""
    rows: dict[int, int] = {}
    counted: dict[int, Counter[str]] = {}
    for served in board.served.log():
        unit, row = place(board.profile.dram, served.address)
        hit = rows.get(unit) == row
        assert hit == bool(served.hit), "the log's own word"
        rows[unit] = row
        kind = "write" if served.write else "read"
        user = counted.setdefault(served.user, Counter())
        user.update({f"{kind}_requests": 1, f"{kind}_bytes": served.bytes, "row_hits": hit, "row_misses": not hit})
    return counted


def read_by_register(board: SimBoard, user: int) -> dict[str, int]:
    """A user's counters as software reads them."""
    base = window.MEMORY.offset
    board.write32(base + memory_counters.USER.offset, user)
    words = [
        board.read32(base + register.at(index))
        for index in range(len(COUNTERS))
        for register in (memory_counters.COUNTER_LO, memory_counters.COUNTER_HI)
    ]
    return {name: words[2 * i] | words[2 * i + 1] << 32 for i, name in enumerate(COUNTERS)}


def board_with(**settings: object) -> Profile:
    """Short rows in two banks, so that slots and contexts meet each other's."""
    profile = tiny()
    small = replace(profile.dram, row_bytes=4096, banks=2)
    return replace(profile, dram=replace(small, **settings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seed", "settings"), [(1, {}), (2, FULL), (3, {**FULL, "scheduling": "bw_app", "row_hit_cap": 5})]
)
def test_every_tenants_counters_equal_the_controllers_log(seed: int, settings: dict[str, object]) -> None:
    with SimBoard(board_with(**settings)) as board:
        board.served.keep_log()
        shake(board, random.Random(seed), rounds=60)
        counted = counted_from_log(board)
        assert len(counted) == 2 * CONTEXTS, "every context of both slots"
        assert sum(user["row_hits"] for user in counted.values()) > 500
        assert sum(user["row_misses"] for user in counted.values()) > 500
        for user in range(USERS):
            found = board.served.user(user >> 4, user & 15) if user >> 4 < 2 else None
            expected = counted.get(user, Counter())
            assert found is None or {n: getattr(found, n) for n in COUNTERS} == {n: expected[n] for n in COUNTERS}
            assert found is not None or user not in counted
        assert sum(u["row_hits"] for u in counted.values()) == board.served.statistics().row_hits


def test_a_snapshot_keeps_all_tenants_of_one_cycle_while_everything_runs() -> None:
    with SimBoard(board_with(**FULL)) as board:
        board.served.keep_log()
        shake(board, random.Random(5), rounds=4)
        board.write32(window.MEMORY.offset + memory_counters.SNAPSHOT.offset, 1)
        at_once = counted_from_log(board)
        run_for(board, 3000)
        users = [slot << 4 | context for slot in range(2) for context in range(16)]
        kept = {user: read_by_register(board, user) for user in users}
        assert counted_from_log(board) != at_once, "it went on meanwhile"
        assert kept == {user: {n: at_once.get(user, Counter())[n] for n in COUNTERS} for user in users}


def monitor_rows(board: SimBoard, slot: int, context: int, keep: bool) -> tuple[int, int]:
    """Requests and row hits that a slot's monitor derived for a context."""
    word = slot_ctrl.MONITOR_SNAPSHOT.encode(memory_context=context, keep=keep)
    board.write32(bank(slot, slot_ctrl.MONITOR_SNAPSHOT.offset), word)
    read = [board.read32(bank(slot, slot_ctrl.COUNTER_LO.at(3 + i))) for i in range(4)]
    return read[0] + read[1], read[2]


def tell_map(board: SimBoard, slot: int) -> None:
    """What the driver tells a monitor of the board's DRAM map."""
    dram = board.profile.dram
    shift, bits = (dram.row_bytes - 1).bit_length(), (units(dram) - 1).bit_length()
    word = slot_ctrl.MONITOR_GEOMETRY.encode(bank_shift=shift, bank_bits=bits, row_shift=shift + bits)
    board.write32(bank(slot, slot_ctrl.MONITOR_GEOMETRY.offset), word)
    for bit, mask in enumerate(hash_masks(dram)):
        board.write32(bank(slot, getattr(slot_ctrl, f"MONITOR_HASH{bit}").offset), mask >> 12)


@dataclass(frozen=True)
class Distance:
    """Row-buffer hit rates of one context: as the controller counted, and as its slot's monitor derived."""

    counted: float
    derived: float


def distances(board: SimBoard, slots: Sequence[int], seed: int) -> list[Distance]:
    """Let slots ask for random bursts until they are told to stop and have drained; both hit rates of every context."""
    rng = random.Random(seed)
    for slot in slots:
        tell_map(board, slot)
        begin(board, slot, rng)
    run_for(board, 6000)
    for slot in slots:
        board.write32(bank(slot, CONTROL), OPEN_ALL | slot_ctrl.CONTROL.encode(quiesce=1))
    run_for(board, 500)
    found = []
    for slot in slots:
        for context in range(CONTEXTS):
            counted = board.served.user(slot, context)
            requests, hits = monitor_rows(board, slot, context, keep=context > 0)
            whole = counted.read_requests + counted.write_requests
            # The monitor counts bursts as slots ask for them; the crossbar takes them to memory in parts of 16 beats.
            assert whole == requests
            found.append(Distance(counted.row_hits / whole, hits / requests))
    return found


@pytest.mark.parametrize("settings", [{}, {"hashing": True}], ids=["plain", "hashed"])
def test_a_monitor_alone_on_a_memory_in_order_derives_what_the_controller_counts(settings: dict[str, object]) -> None:
    """One slot, one request at a time: nothing else opens rows and nothing is served out of order."""
    with SimBoard(board_with(**settings)) as board:
        tell_map(board, 0)
        # Three contexts, so that a row's first line is not always the same one's.
        liar = Liar(reads=True, len=7, when=DoneClaim.NEVER, contexts=3, span=SPAN)
        assert load(board, 0, build.build_liar(), LoadFault(liar=liar)) == StopReason.CONFIG
        reopen(board, 0)
        run_for(board, 8000)
        board.write32(bank(0, CONTROL), OPEN_ALL | slot_ctrl.CONTROL.encode(quiesce=1))
        run_for(board, 300)
        for context in range(3):
            counted = board.served.user(0, context)
            assert (counted.read_requests, counted.row_hits) == monitor_rows(board, 0, context, keep=context > 0)
            assert 0 < counted.row_misses < counted.row_hits


@pytest.mark.parametrize(("slots", "most"), [((0,), 0.05), ((0, 1), 0.5)], ids=["alone", "beside another"])
def test_derived_hit_rates_are_as_far_from_counted_ones_as_is_stated(slots: tuple[int, ...], most: float) -> None:
    """docs/reference/slowdown-counters.md: a monitor sees its own slot, and the order of asking."""
    with SimBoard(board_with(**FULL)) as board:
        found = distances(board, slots, seed=8)
    off = [each.derived - each.counted for each in found]
    mean = sum(map(abs, off)) / len(off)
    print(f"{len(slots)} slots: derived less counted {min(off):+.3f} to {max(off):+.3f}, mean distance {mean:.3f}")
    assert mean <= most
