# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a slot may take of memory, and what its neighbours leave it, whatever bursts they ask for.

The bounds are those of docs/reference/blocks/shell.md, "What a neighbour can cost". Cycle counts are deterministic.
"""

from __future__ import annotations

from functools import cache
from math import ceil

import pytest
from eddy.board.overlay import memory_bytes_per_cycle
from eddy.board.port.profile import Profile, load_profile
from eddy_sim.boards.board import SimBoard
from system.board.board_rig import run_for, tiny
from system.board.traffic import (
    BOTH,
    FIXED,
    INCR,
    READ,
    WINDOW,
    WRAP,
    WRITE,
    Traffic,
    bursts_ended,
    cycles_taken,
    default_rate,
    prepare,
)

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

ROW = 0x2_0000
"""Bytes from a row of a bank to its next."""
PART = 16
"""Beats after which slots take turns."""
KV260 = load_profile("kv260")


def narrow(beats: int, size: int, burst: int, directions: int) -> Traffic:
    """Bursts one after the other in one page, aligned as WRAP wants it."""
    return Traffic(beats, size, burst, directions, stride=beats << size, extent=4096)


SHAPES = [
    *(narrow(beats, size, INCR, way) for size in range(4) for beats in (1, 16, 256) for way in (READ, WRITE, BOTH)),
    *(narrow(beats, size, burst, BOTH) for size in range(4) for beats in (2, 16) for burst in (FIXED, WRAP)),
]


def name(traffic: Traffic) -> str:
    kind = {FIXED: "fixed", INCR: "incr", WRAP: "wrap"}[traffic.burst]
    way = {READ: "reads", WRITE: "writes", BOTH: "both"}[traffic.directions]
    return f"{traffic.beats}x{1 << traffic.size}-{kind}-{way}{'-rows' if traffic.stride == ROW else ''}"


# Single words, eight under way, do not use so much as the second rate in one direction.
RATES = [(shape, rate) for shape in SHAPES for rate in ((1.01, 3.0) if shape.beats >= PART else (1.01,))]


@pytest.mark.parametrize(
    ("shape", "rate"), RATES, ids=lambda value: name(value) if isinstance(value, Traffic) else value
)
def test_narrow_bursts_of_every_size_within_2_percent_of_the_promised_share(shape: Traffic, rate: float) -> None:
    """What a module uses of the port, 8 bytes a beat, over a time in which one burst more or less is under 1 %."""
    with SimBoard(tiny()) as board:
        prepare(board, 0, rate)
        shape.started(board, 0)
        # Past what had been saved up.
        run_for(board, 8000)
        bursts, since = bursts_ended(board, 0), board.shell_cycles
        run_for(board, ceil(250 * shape.used / rate) if shape.beats > 16 else 20_000)
        used = (bursts_ended(board, 0) - bursts) * shape.used
        share = used / (board.shell_cycles - since)
    print(f"{name(shape)}: {share:.4f} of {rate} bytes a cycle ({share / rate - 1:+.2%})")
    assert 0.98 * rate <= share <= 1.02 * rate


def row_factor(profile: Profile) -> float:
    """Cycles of memory that a beat each way may take, at worst, if each part opens another row and nothing hides it."""
    row = (profile.dram.rp_ns + profile.dram.rcd_ns + profile.dram.cl_ns) * 1e-9 * profile.shell_hz
    data = 8 * PART / (profile.dram.bytes_per_s / profile.shell_hz)
    return max(1.0, 2 * (data + row) / PART)


def stated_factor(profile: Profile) -> float:
    """How many times as long a slot may take beside others that do their utmost, at most."""
    return len(profile.slots) * row_factor(profile)


def far(beats: int, size: int) -> Traffic:
    """Each burst in another row of the same bank, which is everybody's."""
    return Traffic(beats, size, stride=ROW, extent=WINDOW)


FLOODS = [
    *(Traffic(beats, size, INCR, BOTH, stride=beats << size) for size in range(4) for beats in (1, 16, 256)),
    *(far(beats, size) for beats, size in ((1, 3), (4, 3), (8, 3), (15, 1), (20, 2), (64, 0), (255, 1))),
    *(Traffic(256, 3, INCR, way, stride=2048) for way in (READ, WRITE)),
    Traffic(16, 0, WRAP, BOTH, stride=16),
]
VICTIMS = {
    "long reads": Traffic(directions=READ, count=20),
    "long writes": Traffic(directions=WRITE, count=20),
    "long both": Traffic(count=16),
    "reads": Traffic(16, directions=READ, count=200, stride=128),
    "writes": Traffic(16, directions=WRITE, count=200, stride=128),
    "rows": Traffic(64, directions=READ, count=60, stride=ROW, extent=WINDOW),
    "narrow writes": Traffic(64, 1, directions=WRITE, count=60, stride=128),
    "narrow rows": Traffic(17, 0, directions=WRITE, count=150, stride=ROW, extent=WINDOW),
    "lines": Traffic(8, directions=READ, count=200, stride=64),
    "one line at a time": Traffic(8, directions=READ, count=100, stride=64, under_way=1),
    "one word at a time": Traffic(1, directions=READ, count=100, stride=8, under_way=1),
    "one word written at a time": Traffic(1, directions=WRITE, count=100, stride=8, under_way=1),
}


@cache
def alone(victim: str) -> int:
    return cycles_taken(KV260, VICTIMS[victim], None, default_rate(KV260))


@pytest.mark.parametrize("victim", VICTIMS)
def test_three_flooders_cost_no_more_than_the_stated_factor(victim: str) -> None:
    """With the settings a board has where nothing is said."""
    worst = {}
    for flood in FLOODS:
        worst[name(flood)] = cycles_taken(KV260, VICTIMS[victim], flood, default_rate(KV260)) / alone(victim)
    shape = max(worst, key=lambda each: worst[each])
    print(f"{victim}: {worst[shape]:.2f} times as long beside {shape}; stated {stated_factor(KV260):.2f}")
    assert worst[shape] <= stated_factor(KV260)


def test_one_slot_alone_has_all_of_the_port() -> None:
    """One direction: the port's whole width, but for a request's way there and the last answer's way back."""
    for direction in (READ, WRITE):
        took = cycles_taken(KV260, Traffic(directions=direction, count=40), None, default_rate(KV260))
        assert 40 * 256 * 8 / took >= 0.93 * memory_bytes_per_cycle(KV260) / 2
