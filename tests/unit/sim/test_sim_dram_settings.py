# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Settings of the memory model beside its basic timing: each against arithmetic, or against the controller's log."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from eddy.board.port.dram_map import hash_masks, place, units
from eddy.board.port.profile import Dram, load_profile
from eddy.core.errors import InvalidRequest
from eddy_sim.boards.dram import Burst, ProbeResult, dram_parameters, probe

pytestmark = pytest.mark.rtl

DRAM = replace(load_profile("tiny").dram, bytes=1 << 22, row_bytes=4096, banks=8, bytes_per_s=1_600_000_000.0)
"""Small, so that each run's memory is."""
STRIDE = DRAM.row_bytes * DRAM.banks
"""From one row of a bank to the next."""
FAST_HZ = 1e9
"""A clock at which the port is not what limits."""


def run(bursts: list[Burst], dram: Dram = DRAM, clk_hz: float = FAST_HZ) -> ProbeResult:
    return probe(dram_parameters(dram), bursts, np.zeros(dram.bytes, np.uint8), clk_hz)


def mixed(count: int, seed: int, users: int = 4) -> list[Burst]:
    """Reads and writes of several users, half of them close to the one before."""
    rng, at, found = random.Random(seed), 0, []
    for i in range(count):
        at = (at + 64) % DRAM.bytes if rng.random() < 0.6 else rng.randrange(DRAM.bytes // 64) * 64
        found.append(Burst(at, rng.choice((1, 4, 8)), i % 13, rng.random() < 0.3, user=rng.randrange(users)))
    return [replace(b, address=b.address // 4096 * 4096) if b.address % 4096 > 4096 - 64 else b for b in found]


def test_four_rows_are_activated_in_a_window_at_most() -> None:
    bursts = [Burst(i * DRAM.row_bytes, 1, id=i % 16) for i in range(160)]
    free, bound = run(bursts), run(bursts, replace(DRAM, faw_ns=200.0))
    assert bound.cycles == pytest.approx(160 / 4 * 200, rel=0.02), "an activation for each, four in 200 ns"
    assert free.cycles < bound.cycles / 2
    hits = [Burst(64 * i, 1, id=i % 16) for i in range(60)]
    assert run(hits, replace(DRAM, faw_ns=200.0)).cycles == run(hits).cycles, "row hits activate nothing"


def test_the_bus_takes_its_time_to_turn() -> None:
    one_way = [Burst(64 * i, 8, id=i % 16) for i in range(40)]
    # One id each way: every read waits for the one before it, so that the two directions meet on the bus.
    both = [Burst(64 * i, 8, id=0, write=bool(i % 2)) for i in range(40)]
    turning = replace(DRAM, wtr_ns=100.0, rtw_ns=50.0)
    assert run(one_way, turning).cycles == run(one_way).cycles
    slower = run(both, turning).cycles - run(both).cycles
    turns = sum(a.write != b.write for a, b in zip(run(both, turning).log, run(both, turning).log[1:], strict=False))
    assert turns > 1
    assert slower >= (turns - 1) / 2 * (100 + 50) * 0.9


def test_a_hashed_map_moves_no_two_addresses_together_and_spreads_every_stride() -> None:
    hashed = replace(DRAM, hashing=True)
    rows = range(0, DRAM.bytes, DRAM.row_bytes)
    assert len({place(hashed, address) for address in rows}) == len(rows)
    assert hash_masks(DRAM) == (0,) * 5
    for shift in range(12, 19):
        met = Counter(place(hashed, i << shift)[0] for i in range(64) if i << shift < DRAM.bytes)
        assert len(met) >= min(4, DRAM.bytes >> shift), (shift, met)
    bursts = [Burst(i * STRIDE % DRAM.bytes, 1, id=i % 16) for i in range(120)]
    assert run(bursts, hashed).cycles < run(bursts).cycles / 2, "one bank no more"


def test_channels_each_have_their_bus() -> None:
    two = replace(DRAM, channels=2, banks=4)
    assert units(two) == units(DRAM)
    one_channel = [Burst(2 * i * DRAM.row_bytes, 64, id=i % 16) for i in range(40)]
    both = [Burst(i * DRAM.row_bytes, 64, id=i % 16) for i in range(40)]
    assert run(one_channel, two, 4e9).cycles > 1.7 * run(both, two, 4e9).cycles


@pytest.mark.parametrize("queue", [4, 16, 64])
def test_the_controller_holds_as_many_bursts_as_it_is_told(queue: int) -> None:
    # A slow first burst, then one hit that is asked for last: it is overtaken only by what the queue held beside it.
    bursts = [Burst(STRIDE * (1 + i % 7), 1, id=i % 16) for i in range(100)]
    slow = replace(DRAM, bytes_per_s=20_000_000.0, queue_bursts=queue, reorders=True)
    result = run(bursts, slow)
    order = [burst.address // STRIDE for burst in result.log]
    hits = result.statistics.row_hits
    deeper = run(bursts, replace(slow, queue_bursts=2 * queue)).statistics.row_hits
    assert len(order) == 100
    assert (hits < deeper) if queue < 64 else (hits <= deeper), "a longer queue shows more row hits"


def test_a_cap_bounds_how_many_row_hits_overtake() -> None:
    hits = [Burst(64 * i % 4096, 4, id=1 + i % 14) for i in range(60)]
    bursts = [*hits[:8], Burst(STRIDE, 1, id=15), *hits[8:]]
    slow = replace(DRAM, bytes_per_s=100_000_000.0)
    free, capped = run(bursts, slow, 1e8), run(bursts, replace(slow, row_hit_cap=5), 1e8)
    assert free.place[8] > 8 + 5 + 1
    assert capped.place[8] <= 8 + 5 + 1


def test_whoever_had_least_bandwidth_goes_first_under_bw_app() -> None:
    hog = [Burst(64 * i % 4096, 8, id=i % 8, user=0x10) for i in range(160)]
    meek = [Burst(STRIDE * (1 + i % 3), 8, id=8 + i % 4, user=0x21, not_before=400 * i) for i in range(16)]
    bursts = [b for pair in zip(hog[:16], meek, strict=True) for b in pair] + hog[16:]
    slow = replace(DRAM, bytes_per_s=160_000_000.0)

    def meek_waits(dram: Dram) -> int:
        found = run(bursts, dram)
        return sum(done for burst, done in zip(bursts, found.done, strict=True) if burst.user == 0x21)

    assert meek_waits(replace(slow, scheduling="bw_app")) < meek_waits(slow)


def test_reads_of_one_id_are_served_in_any_order_and_answered_in_theirs() -> None:
    rng = random.Random(9)
    bursts = [Burst(rng.randrange(40) * STRIDE % DRAM.bytes + 64 * (i % 8), 4, id=i % 2) for i in range(120)]
    slow = replace(DRAM, bytes_per_s=200_000_000.0)
    plain, free = run(bursts, slow), run(bursts, replace(slow, reorders=True))
    for result in (plain, free):
        for id_ in range(2):
            places = [result.place[i] for i in range(id_, 120, 2)]
            assert places == sorted(places)
    asked = [burst.address for burst in bursts]
    assert [burst.address for burst in free.log if burst.id == 0] != asked[::2]
    assert free.statistics.row_hits > plain.statistics.row_hits


SETTINGS: tuple[dict[str, object], ...] = (
    {},
    {"hashing": True},
    {"faw_ns": 60.0, "wtr_ns": 15.0, "rtw_ns": 7.5, "hashing": True, "reorders": True, "queue_bursts": 64},
    {"channels": 2, "banks": 4, "hashing": True, "row_hit_cap": 5, "scheduling": "bw_app", "reorders": True},
)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: ",".join(each) or "plain")
def test_every_users_row_hits_follow_from_the_log(settings: dict[str, object]) -> None:
    """Rows are opened again here, burst by burst in the log's order, with the map written in Python."""
    dram = replace(DRAM, **settings)  # type: ignore[arg-type]
    bursts = mixed(600, seed=4)
    result = run(bursts, dram)
    assert sorted((b.address, b.user) for b in result.log) == sorted((b.address, b.user) for b in bursts)
    rows: dict[int, int] = {}
    counted = {user: Counter[str]() for user in range(4)}
    for served in result.log:
        unit, row = place(dram, served.address)
        hit = rows.get(unit) == row
        assert hit == bool(served.hit)
        rows[unit] = row
        kind = "write" if served.write else "read"
        counted[served.user].update({f"{kind}_requests": 1, f"{kind}_bytes": served.bytes})
        counted[served.user].update({"row_hits": hit, "row_misses": not hit})
    for user, totals in counted.items():
        found = result.users[user]
        assert {name: getattr(found, name) for name in totals} == totals
    assert all(not any(getattr(user, name) for name, _ in user._fields_) for user in result.users[4:])
    assert sum(user.row_hits for user in result.users) == result.statistics.row_hits


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: ",".join(each) or "plain")
def test_what_was_written_is_in_memory_whatever_the_order(settings: dict[str, object]) -> None:
    dram, memory = replace(DRAM, **settings), np.zeros(DRAM.bytes, np.uint8)  # type: ignore[arg-type]
    bursts = [Burst(4096 * i, 4, id=i % 4, write=True) for i in range(40)]
    probe(dram_parameters(dram), bursts, memory)
    words = memory.view(np.uint64)
    assert [words[512 * i] for i in range(40)] == list(range(40))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("channels", 3),
        ("banks", 64),
        ("faw_ns", -1.0),
        ("queue_bursts", 0),
        ("queue_bursts", 257),
        ("row_hit_cap", -1),
        ("scheduling", "round_robin"),
        ("bytes_per_s", 0.0),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_what_can(field: str, value: object) -> None:
    from eddy.board.port.profile import parse_profile

    with pytest.raises(InvalidRequest, match=f"dram.{field} is .*; it must be") as refused:
        parse_profile("x", {**_PROFILE, "dram": {**_PROFILE["dram"], field: value}})  # type: ignore[dict-item]
    assert refused.value.details["field"] == f"dram.{field}"


_PROFILE: dict[str, object] = {
    "board": "b",
    "part": "p",
    "shell_hz": 1e8,
    "slots": [{"pool": "pipeline", "image_bytes": 100, "clk_hz": 1e8}],
    "configuration": {"kind": "pcap", "bytes_per_s": 1e8, "storage_bytes_per_s": 1e7, "source": "here"},
    "dram": {
        **{"base": 0, "bytes": 65536, "banks": 2, "row_bytes": 4096},
        **{"rcd_ns": 1, "rp_ns": 1, "cl_ns": 1, "ras_ns": 1, "bytes_per_s": 1e9},
    },
    "arena": {"base": 4096, "bytes": 8192},
    "memory_share": 0.5,
    "requires_signature": False,
}
