# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The kept measurements of programs side by side on the RTL: whole, consistent, and as diverse as [001]'s."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy_studies.hsm import rtl_data, rtl_measure, rtl_table, rtl_traces
from eddy_studies.hsm.rtl_data import CounterTotals, MeasuredRuns, SoloRun
from eddy_studies.hsm.workloads import WORKLOADS

KEPT = rtl_data.load_runs()
ROOT = Path(__file__).parents[2]


def test_every_program_was_measured_alone_and_enough_pairs_beside_each_other() -> None:
    assert {(name, cores) for name in WORKLOADS for cores in (8, 4)} <= set(KEPT.alone)
    assert len(KEPT.mixes) >= 30
    if rtl_measure.current(KEPT) != KEPT:  # a program has changed: python -m eddy_studies.hsm.rtl_measure
        page = (ROOT / "docs" / "explanations" / "hsm.md").read_text(encoding="utf-8")
        assert re.search(r"<!--result slowdown-measured-->`[0-9a-f]{8}`, stale", page), "and its page does not say so"


def test_counters_agree_with_each_other() -> None:
    counted = [run.counted for run in KEPT.alone.values()]
    counted += [each for mix in KEPT.mixes.values() for each in mix.shared]
    for each in counted:
        assert 0 < each.row_hits <= each.requests
        assert 0 < each.cache_misses <= each.requests
        assert each.bytes <= 64 * each.requests
        assert each.bytes <= 8 * each.cycles, "the memory gives eight bytes a cycle"
        assert each.stall_cycles <= each.core_cycles <= 8 * each.cycles


def test_programs_are_as_diverse_as_the_papers() -> None:
    found = rtl_table.behaviours(KEPT)
    rates = [each.row_hit_rate for each in found]
    assert len(found) == 15
    assert min(rates) < 0.415, "alone; [001] has programs below 0.3, and ours are beside others"
    assert min(each.least for each in rtl_table.row_hits(KEPT)) < 0.3
    assert max(rates) > 0.7
    assert {each.bound for each in found} == {"memory", "cores"}


def test_more_cores_are_seldom_slower_and_rates_in_mixes_lie_around_their_mean() -> None:
    speeds = rtl_table.speeds(KEPT)
    assert all(by_cores[8] == 1 and by_cores[4] < 1.2 for by_cores in speeds.values())
    for each in rtl_table.row_hits(KEPT):
        assert 0 < each.least <= each.mean <= each.most < 1
        assert each.mixes > 0
    for text in (rtl_table.table(KEPT), rtl_table.scaling(KEPT)):
        assert text.count("\n") == 16, "a row for each program below the head"
    assert rtl_table.mixes(KEPT).count("\n") == len(KEPT.mixes) + 1


def test_nobody_progresses_faster_beside_others_than_alone() -> None:
    for mix in KEPT.mixes.values():
        for cores, progress in zip(mix.cores, KEPT.progress(mix), strict=True):
            assert 0.1 < progress < 1.05, (mix.workloads, cores)


def test_cycles_of_rounds() -> None:
    run = SoloRun("X", 8, (100, 180, 260), CounterTotals(), ())
    assert [run.cycles_for(rounds) for rounds in (0.5, 1, 1.5, 3, 5)] == [50, 100, 140, 260, 420]


def test_measurements_are_kept_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    rtl_data.write(KEPT, path)
    again = rtl_data.read(path)
    assert (again.alone, again.mixes, again.hardware) == (KEPT.alone, KEPT.mixes, KEPT.hardware)
    assert rtl_data.read(tmp_path / "none.json") == MeasuredRuns("", {}, {}, {})


def test_only_measurements_of_the_same_hardware_are_joined() -> None:
    first, last = next(iter(KEPT.alone)), next(iter(KEPT.mixes))
    one = replace(KEPT, alone={first: KEPT.alone[first]}, mixes={})
    two = replace(KEPT, alone={}, mixes={last: KEPT.mixes[last]})
    both = rtl_measure.merge_measurements([one, two])
    assert (list(both.alone), list(both.mixes)) == ([first], [last])
    assert rtl_measure.merge_measurements([replace(one, hardware="old"), two]).alone == {}, (
        "the first is what was kept before"
    )
    with pytest.raises(InvalidRequest, match="different hardware"):
        rtl_measure.merge_measurements([one, replace(one, hardware="other"), two])


@pytest.mark.parametrize("cores", rtl_traces.COUNTS)
def test_streams_are_those_of_the_programs(cores: int) -> None:
    streams = rtl_traces.load_streams(cores)
    assert list(streams) == list(product(WORKLOADS, rtl_traces.LATENCIES))
    for name, each in streams.items():
        assert len(each.start) == cores + 1
        records = (each.line, each.gap, each.kind, each.bytes, each.after, each.data, each.program)
        assert {len(field) for field in records} == {each.start[-1]}
        assert (np.diff(each.start.astype(np.int64)) > 0).all()
        assert set(np.unique(each.kind)) == {0, 1, 2}
        assert (each.bytes[each.kind != rtl_traces.WRITE] == 64).all()
        gaps = np.add.reduceat(each.gap.astype(np.int64), each.start[:-1].astype(np.int64))
        assert (gaps <= each.cycles + 1000).all(), name
        assert (each.after <= each.gap.astype(np.int64) + 1).all(), "an answer that came since the request before"
        assert (each.data + each.program < 16).all()


def test_what_a_request_waited_for_is_what_came_before_it() -> None:
    """Two lines asked for at once, one when the first has come, a store meanwhile, one of instructions at the end."""
    asked = np.array(
        [(100, 0, 64, 1, 0), (102, 64, 64, 1, 0), (200, 128, 64, 1, 0), (203, 192, 8, 0, 1), (400, 256, 64, 0, 0)],
        [("cycle", "u8"), ("address", "u8"), ("bytes", "u8"), ("id", "u4"), ("write", "u4")],
    )
    line, gap, kind, size, after, data, program = rtl_traces.stream(asked, 90, 80).tolist()
    assert line == [0, 1, 2, 3, 4]
    assert gap == [10, 2, 98, 3, 197]
    assert kind == [0, 0, 0, 2, 1]
    assert size == [64, 64, 64, 8, 64]
    assert data == [0, 1, 0, 1, 0], "answers come at 191, 199 and 291"
    assert program == [0, 0, 0, 0, 0]
    assert after == [0, 0, 2, 0, 110]
    asked["cycle"] += np.array([0, 0, 0, 0, 90_000], "u8")
    _, gap, _, _, after, _, _ = rtl_traces.stream(asked, 90, 80).tolist()
    assert (gap[-1], after[-1]) == (90_197, 90_110), "however long a core computes"


def test_streams_are_as_long_as_their_cores_computed() -> None:
    """A core of DXTC computes for 100,000 cycles without a request; none of it is cut off."""
    for cores, name in product(rtl_traces.COUNTS, ("DXTC", "BINO")):
        for latency in rtl_traces.LATENCIES:
            found = rtl_traces.load_streams(cores)[name, latency]
            for core in range(cores):
                own = slice(found.start[core], found.start[core + 1])
                assert 0.9 < found.gap[own].sum() / found.cycles[core] < 1.01, (name, cores, core)
