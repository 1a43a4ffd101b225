# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fast cluster model: what must hold of any machine, and what its memory does that [001] rests on."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.model.slowdown import MemoryLaw
from eddy_studies.hsm.cluster import Cluster
from eddy_studies.hsm.kernels import AccessPattern, kernel, table_2
from eddy_studies.hsm.machine import TICKS, ClusterModel, Kernel, with_memory
from eddy_studies.hsm.session import keep, run_alone, run_together, slices, spread

TOOLS = Path(__file__).resolve().parents[2] / "tools"
MACHINE = ClusterModel()
HUNGRY = kernel("hungry", AccessPattern(4, 8, 4))
SCATTERED = kernel("scattered", AccessPattern(4, 1, 4))
IDLE = kernel("idle", AccessPattern(200, 1, 1))
CYCLES = 12_000
COUNTED = [
    [18421, 294736, 1572800, 2347, 146, 441, 59, 1906],
    [17027, 272432, 1595200, 2749, 1629, 840, 9, 1909],
    [18573, 297168, 1440000, 852, 382, 197, 0, 655],
]


def test_what_is_shipped_is_what_the_source_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    tool = importlib.import_module("native_kernels")
    assert tool.stale(tool.SHIPPED[1]) == []


def test_the_same_run_gives_the_same_numbers_and_a_copy_goes_on_alike() -> None:
    owners = [0] * 8 + [1] * 8
    first, second = (Cluster(MACHINE, [HUNGRY, IDLE]) for _ in range(2))
    assert first.run(owners, CYCLES) == second.run(owners, CYCLES)
    copied = first.copy()
    assert copied.run(owners, CYCLES) == first.run(owners, CYCLES)
    assert (copied.totals() == first.totals()).all()


def test_the_study_runs_on_the_machine_it_was_made_on() -> None:
    """Where this changes, every figure of docs/explanations/hsm.md that is marked model has to be made again."""
    cluster = Cluster(MACHINE, list(table_2().values())[:3])
    for owners in ([0] * 6 + [1] * 5 + [2] * 5, [0] * 3 + [1] * 8 + [2] * 5):
        cluster.run(owners, 9000)
    assert cluster.totals()[:, :8].tolist() == COUNTED


def test_what_is_counted_adds_up() -> None:
    found = Cluster(MACHINE, [HUNGRY, SCATTERED]).run([0] * 10 + [1] * 6, CYCLES)
    for cores, each in zip((10, 6), found, strict=True):
        assert each.core_ticks == cores * CYCLES * TICKS
        assert 0 < each.issue_ticks <= each.core_ticks * 1.05
        assert each.row_hits <= each.requests
        assert each.requests <= each.cache_misses + each.writes
        assert each.reads <= each.cache_hits + each.cache_misses
    moved = sum(each.requests for each in found) / CYCLES
    assert 0.4 * MACHINE.peak_lines_per_cycle < moved <= MACHINE.peak_lines_per_cycle


def test_compute_bound_kernels_speed_up_with_their_cores_and_memory_bound_ones_saturate() -> None:
    def speeds(of: Kernel) -> list[float]:
        return [run_alone(MACHINE, of, 40_000, cores).sharing.instructions for cores in (4, 8, 16)]

    four, eight, sixteen = speeds(IDLE)
    assert eight / four == pytest.approx(2, rel=0.05)
    assert sixteen / four == pytest.approx(4, rel=0.05)
    four, eight, sixteen = speeds(HUNGRY)
    assert sixteen < 1.1 * eight


def test_row_hits_decide_bandwidth() -> None:
    hits, bandwidth = [], []
    for run in (1, 2, 12):
        counted = run_alone(MACHINE, kernel("k", AccessPattern(4, run, 6)), CYCLES).sharing
        hits.append(counted.hit_rate)
        bandwidth.append(counted.requests)
    assert hits == sorted(hits)
    assert bandwidth == sorted(bandwidth)
    assert hits[0] < 0.1
    assert hits[-1] > 0.6
    assert bandwidth[-1] > 1.7 * bandwidth[0]


@pytest.mark.parametrize(
    ("setting", "value"), [("faw", 0.0), ("rcd", 0.0), ("turnaround", 0.0), ("queue", 256), ("banks", 64)]
)
def test_a_memory_without_one_of_its_bounds_is_not_slower(setting: str, value: float) -> None:
    usual, freed = (
        run_alone(machine, SCATTERED, CYCLES).sharing.requests
        for machine in (MACHINE, with_memory(MACHINE, **{setting: value}))
    )
    assert freed >= 0.99 * usual


def test_bw_app_serves_who_has_least() -> None:
    owners = [0] * 8 + [1] * 8
    modest = kernel("modest", AccessPattern(12, 4, 1))
    usual, least = (
        Cluster(machine, [HUNGRY, modest]).run(owners, 30_000)[1].instructions
        for machine in (MACHINE, with_memory(MACHINE, least_first=2000))
    )
    assert least > 1.2 * usual


def test_the_shared_cache_keeps_what_fits_and_neighbours_drive_it_out() -> None:
    fits = kernel("fits", AccessPattern(20, 1, 2, reused=0.9, reused_lines=1024, writes=0.0))
    cluster = Cluster(MACHINE, [fits, SCATTERED])
    cluster.run([0] * 8 + [-1] * 8, 40_000)
    quiet = cluster.run([0] * 8 + [-1] * 8, CYCLES)[0]
    cluster.run([0] * 8 + [1] * 8, 40_000)
    beside = cluster.run([0] * 8 + [1] * 8, CYCLES)[0]
    quiet_rate = quiet.cache_hits / (quiet.cache_hits + quiet.cache_misses)
    rate = beside.cache_hits / (beside.cache_hits + beside.cache_misses)
    own = beside.shadow_hits / beside.shadow_looks
    assert quiet_rate > 0.8
    assert rate < quiet_rate - 0.1
    assert own == pytest.approx(quiet_rate, abs=0.1), "tags of its own say what it would have alone"


def test_cores_change_hands_when_they_are_drained() -> None:
    cluster = Cluster(MACHINE, [HUNGRY, IDLE])
    cluster.run([0] * 16, CYCLES)
    cluster.run([0] * 4 + [1] * 12, 30_000)
    later = cluster.run([0] * 4 + [1] * 12, CYCLES)
    assert [each.core_ticks for each in later] == [cores * CYCLES * TICKS for cores in (4, 12)]


def test_as_few_cores_as_possible_change_hands() -> None:
    owners = spread([-1] * 6, [3, 3])
    assert owners == [0, 0, 0, 1, 1, 1]
    assert spread(owners, [1, 5]) == [0, 1, 1, 1, 1, 1]
    assert spread(owners, [4, 2]) == [0, 0, 0, 1, 1, 0]


def test_a_machine_that_is_too_large_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="room for 32 cores"):
        Cluster(replace(MACHINE, cores=64), [IDLE])
    with pytest.raises(InvalidRequest, match="16 cores"):
        Cluster(MACHINE, [IDLE]).run([0], 10)


def test_programs_are_as_diverse_as_the_table_and_come_from_their_seed() -> None:
    first, again, other = table_2(0), table_2(0), table_2(1)
    assert len(first) == 15
    assert all((first[name].lines == again[name].lines).all() for name in first)
    assert not all((first[name].lines == other[name].lines).all() for name in first)
    rates = {name: each.requests_per_instruction for name, each in first.items()}
    assert max(rates.values()) > 50 * min(rates.values())
    assert all((np.diff(each.first) > 0).all() for each in first.values())


STORE = 1 << 31
ALONE = [0] + [-1] * 15
ONE_WARP = replace(MACHINE, warps=1)
"""A core's requests leave it in the order they are written down."""


def written_down(lines: list[int], gaps: list[int] | None = None, first: list[int] | None = None, **of: Any) -> Kernel:
    """A kernel of one group, or of those that begin at `first`."""
    begins = np.array([*(first or [0]), len(lines)], np.int32)
    return Kernel("k", np.array(gaps or [0] * len(lines), np.int32), np.array(lines, np.uint32), begins, **of)


def test_stores_to_one_line_that_wait_leave_as_one() -> None:
    four = written_down([STORE | 6 << 28 | line for line in range(64) for _ in range(4)], stores=8)
    every, merged = (Cluster(replace(ONE_WARP, writes=n), [four]).run(ALONE, CYCLES)[0] for n in (0, 1))
    assert every.instructions - every.writes <= 16, "each store leaves by itself"
    assert merged.writes < 0.5 * merged.instructions
    unlike = written_down([STORE | line for line in range(256)], stores=8)
    found = Cluster(replace(ONE_WARP, writes=1), [unlike]).run(ALONE, CYCLES)[0]
    assert found.instructions - found.writes <= 16, "those to other lines do not"


def test_so_many_stores_are_on_their_way_and_no_more() -> None:
    stores = written_down([STORE | 64 * line for line in range(256)], stores=8)
    done = [
        Cluster(replace(ONE_WARP, writes=writes), [stores]).run([0] * 8 + [-1] * 8, CYCLES)[0].writes
        for writes in (1, 2, 8)
    ]
    assert 1.6 * done[0] < done[1] < done[2]


def test_a_line_is_not_read_before_what_was_stored_has_landed() -> None:
    same, other = (
        written_down([line for at in range(64) for line in (STORE | at, at + n)], stores=8) for n in (0, 999)
    )
    machine = replace(ONE_WARP, writes=8)
    waits, goes_on = (Cluster(machine, [each]).run(ALONE, CYCLES)[0].instructions for each in (same, other))
    assert waits < 0.8 * goes_on


def test_too_many_stores_under_way_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="16 stores"):
        Cluster(replace(MACHINE, writes=8), [written_down([STORE], stores=17)])


def test_cores_begin_a_launch_together() -> None:
    """Of two groups one is ten times the other: by themselves groups are taken as they come, in launches they wait."""
    lines, gaps = [0] * 11, [100] * 11
    apart, together = (
        Cluster(ONE_WARP, [written_down(lines, gaps, [0, 1], launch=launch)]).run([0, 0] + [-1] * 14, 40_000)[0]
        for launch in (0, 2)
    )
    assert apart.groups > 1.5 * together.groups
    assert together.groups // 2 - together.rounds in (-1, 0), "both groups of every launch"


def test_a_core_that_waits_for_a_launch_can_change_hands() -> None:
    cluster = Cluster(ONE_WARP, [written_down([0] * 11, [100] * 11, [0, 1], launch=2), IDLE])
    cluster.run([0, 0] + [-1] * 14, 1000)
    cluster.run([0, 1] + [-1] * 14, 20_000)
    first, second = cluster.run([0, 1] + [-1] * 14, 20_000)
    assert second.core_ticks == 20_000 * TICKS
    assert first.groups > 10, "one core runs both groups, one after the other"


def test_bits_of_the_row_are_added_to_its_bank() -> None:
    """Two rows of one bank, asked for in turn, miss each time; a mask moves one of them to another bank."""
    machine = with_memory(replace(ONE_WARP, sets=0), channels=1, hashed=False)
    lines = machine.memory.row_lines * machine.memory.banks
    turns = written_down([line for at in range(16) for line in (at, lines + at)], window=1)
    plain = Cluster(machine, [turns]).run(ALONE, CYCLES)[0]
    moved = Cluster(with_memory(machine, masks=(1, 0, 0, 0, 0)), [turns]).run(ALONE, CYCLES)[0]  # type: ignore[arg-type]
    assert plain.row_hit_rate < 0.1
    assert moved.row_hit_rate > 0.9


def test_reads_wait_for_the_bus_to_turn() -> None:
    mixed = written_down([line for at in range(64) for line in (at, STORE | 500 + at)], window=8)
    none, wtr, rtw = (
        Cluster(with_memory(ONE_WARP, channels=1, queue=2, turnaround=0, **turns), [mixed])
        .run([0] * 16, CYCLES)[0]
        .requests
        for turns in ({}, {"wtr": 60}, {"rtw": 60})
    )
    assert wtr < 0.95 * none
    assert rtw < 0.95 * none


def test_row_hits_overtake_so_often_and_no_more() -> None:
    """To whatever row: what was passed over goes after so many."""
    memory = with_memory(replace(MACHINE, sets=0), channels=1, cap=0)
    rates = [
        Cluster(with_memory(memory, overtakes=most), [HUNGRY, SCATTERED]).run([0] * 8 + [1] * 8, CYCLES)[0].row_hit_rate
        for most in (0, 1)
    ]
    assert rates[1] < rates[0]


def test_sets_are_the_lowest_bits_of_a_line_where_asked_for() -> None:
    machine = replace(ONE_WARP, sets=64, ways=2, warps=1)
    far = written_down([64 * at for at in range(4)])
    hashed, plain = (Cluster(replace(machine, plain_sets=each), [far]).run(ALONE, CYCLES)[0] for each in (False, True))
    assert plain.cache_hits == 0, "four lines in a set of two, in turn"
    assert hashed.cache_hits > hashed.cache_misses


def test_a_cache_that_sends_looks_nothing_up() -> None:
    hits = written_down(list(range(32)), window=8)
    free, busy = (Cluster(replace(MACHINE, sends=n), [hits]).run([0] * 16, CYCLES)[0].reads for n in (0, 8))
    assert busy <= 1.1 * CYCLES / 8
    assert free > 2 * busy


@pytest.mark.parametrize("shares", [[15.5, 0.5], [8.0, 8.0], [5.25, 5.25, 5.5], [0.25, 0.25, 15.5], [16.0, 0.0]])
def test_slices_have_whole_cores_and_shares_on_average(shares: list[float]) -> None:
    given = np.array(slices(shares, 4))
    assert given.shape == (4, len(shares))
    assert (given >= 0).all()
    assert (given.sum(axis=1) == 16).all()
    assert given.mean(axis=0).tolist() == shares


def test_an_epoch_of_slices_counts_as_one() -> None:
    privates = [run_alone(MACHINE, each, CYCLES) for each in (HUNGRY, IDLE)]
    law = MemoryLaw(0.6, 0.3, 3.2e9)
    run = run_together(MACHINE, [HUNGRY, IDLE], privates, law, keep, 2, CYCLES, start=[0.5, 15.5], parts=2)
    assert run.cores.tolist() == [[0.5, 15.5]] * 2
    hungry, idle = run.epochs[-1].tenants
    assert hungry is not None
    assert idle is not None
    assert hungry.cycles == idle.cycles == CYCLES
    assert 0.3 < hungry.cores < 0.75, "it has a core in half of the epoch, and gives it back when it has drained"
    assert hungry.cores + idle.cores <= 16.001


ORDERED = replace(ONE_WARP, sets=256, ways=2, plain_sets=True, ordered=True)


def test_a_launch_drops_the_tenants_lines_and_holds_everybodys_reads_up() -> None:
    """Lines that are read again in the next launch are misses then; who reads beside it waits for the walk."""
    reads = written_down(list(range(64)), [20] * 64, launch=1)
    beside = written_down([99], [5])
    kept, gone = (
        Cluster(replace(ORDERED, forgets=each), [reads, beside]).run([0, 1] + [-1] * 14, 40_000) for each in (0, 512)
    )
    assert kept[0].cache_misses == 64
    assert gone[0].cache_misses >= 60 * gone[0].rounds > 60
    assert gone[1].cache_misses <= 2, "what is another tenant's stays"
    assert gone[1].instructions < kept[1].instructions


def test_the_first_read_holds_up_all_behind_it_while_its_line_is_on_its_way() -> None:
    """Two cores read the same lines from memory, a third has its own in the cache."""
    same = written_down(list(range(0, 64 * 400, 64)))
    own = written_down([0])
    machine = replace(ORDERED, sets=4096)
    apart, together_ = (
        Cluster(machine, [same, own]).run([0] * cores + [1] + [-1] * (15 - cores), CYCLES)[1].instructions
        for cores in (1, 2)
    )
    assert together_ < 0.8 * apart
    anyhow = Cluster(replace(machine, ordered=False), [same, own])
    assert together_ < 0.8 * anyhow.run([0] * 2 + [1] + [-1] * 13, CYCLES)[1].instructions


def test_lines_of_a_core_come_in_the_order_in_which_it_asked() -> None:
    """A line that is in the cache waits for one from memory; those with instructions go by themselves."""
    first, here, program = 1 << 20, 5, 1 << 28 | 5
    lines = [[line for at in range(200) for line in (first + 64 * at, what)] for what in (here, program)]
    took = [
        counted.read_ticks / counted.reads
        for each in lines
        for counted in Cluster(ORDERED, [written_down(each, window=4)]).run(ALONE, CYCLES)[:1]
    ]
    assert took[0] > 1.2 * took[1]


def waiting(data: int, program: int = 0, ticks: int = 0) -> int:
    """A record's entry of `Kernel.waits`: lines that may be on their way, and work from the answer on."""
    return (ticks + 1) << 8 | program << 4 | data if ticks else program << 4 | data


def test_a_request_waits_for_the_answers_that_it_waited_for() -> None:
    """And for no other: in place of a window that is the same for all."""
    lines = list(range(0, 64 * 64, 64))
    free, pairs, each = (
        Cluster(
            replace(ORDERED, sets=0),
            [written_down(lines, window=1, waits=np.array([waiting(most) for most in on_their_way] * 32, np.uint32))],
        )
        .run(ALONE, CYCLES)[0]
        .requests
        for on_their_way in ((15, 15), (0, 15), (0, 0))
    )
    assert free > 1.5 * pairs > 2 * each


def test_work_after_an_answer_is_counted_from_it() -> None:
    """Where it came long ago, nothing is waited for; lines of instructions are told apart from those of data."""
    lines = list(range(0, 64 * 64, 64))
    took = [
        CYCLES
        / Cluster(replace(ORDERED, sets=0), [written_down(lines, gaps, waits=np.array(waits, np.uint32))])
        .run(ALONE, CYCLES)[0]
        .requests
        for gaps, waits in (
            ([0] * 64, [waiting(0)] * 64),
            ([0] * 64, [waiting(0, ticks=100 * 16)] * 64),
            ([1000] * 64, [waiting(0)] * 64),
            ([1000] * 64, [waiting(0, ticks=100 * 16)] * 64),
        )
    ]
    assert took[1] == pytest.approx(took[0] + 100, abs=12)
    assert took[3] == pytest.approx(took[2], rel=0.02), "the answer was there before the work was done"
    program = [line | 1 << 28 for line in lines]
    rates = [
        Cluster(replace(ORDERED, sets=0), [written_down(program, waits=np.array([mark] * 64, np.uint32))])
        .run(ALONE, CYCLES)[0]
        .requests
        for mark in (waiting(15, 0), waiting(0, 15))
    ]
    assert rates[1] > 1.5 * rates[0]
