"""The fast cluster model: what must hold of any machine, and what its memory does that [001] rests on."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.studies.hsm.cluster import Cluster
from eddy.studies.hsm.kernels import AccessPattern, kernel, table_2
from eddy.studies.hsm.machine import TICKS, ClusterModel, Kernel, with_memory
from eddy.studies.hsm.session import alone, spread

TOOLS = Path(__file__).resolve().parents[2] / "tools"
MACHINE = ClusterModel()
HUNGRY = kernel("hungry", AccessPattern(4, 8, 4))
SCATTERED = kernel("scattered", AccessPattern(4, 1, 4))
IDLE = kernel("idle", AccessPattern(200, 1, 1))
CYCLES = 12_000


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
        return [alone(MACHINE, of, 40_000, cores).sharing.instructions for cores in (4, 8, 16)]

    four, eight, sixteen = speeds(IDLE)
    assert eight / four == pytest.approx(2, rel=0.05)
    assert sixteen / four == pytest.approx(4, rel=0.05)
    four, eight, sixteen = speeds(HUNGRY)
    assert sixteen < 1.1 * eight


def test_row_hits_decide_bandwidth() -> None:
    hits, bandwidth = [], []
    for run in (1, 2, 12):
        counted = alone(MACHINE, kernel("k", AccessPattern(4, run, 6)), CYCLES).sharing
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
        alone(machine, SCATTERED, CYCLES).sharing.requests
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
