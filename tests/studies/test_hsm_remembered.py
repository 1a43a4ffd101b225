# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a memory of programs alone is worth, on the kept measurements; and that these are whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from eddy.model.eddy_slowdown import EddySlowdown
from eddy_studies.hsm import remembered, rtl_data, rtl_launches
from eddy_studies.hsm.rtl_launches import INPUTS, LaunchedRuns, TimedLaunch
from eddy_studies.hsm.workloads import WORKLOADS

KEPT, LAUNCHED = rtl_data.load_runs(), rtl_launches.load_launches()


def test_launches_of_every_program_on_both_inputs_and_of_every_mix_are_kept() -> None:
    assert set(LAUNCHED.alone) == {(name, seed) for name in WORKLOADS for seed in INPUTS}
    assert set(LAUNCHED.mixes) == {names for names, _ in KEPT.mixes}
    for name in WORKLOADS:
        first, other = (LAUNCHED.alone[name, seed] for seed in INPUTS)
        assert [(each.kernel, each.groups) for each in other] == [
            (each.kernel, each.groups) for each in first[: len(other)]
        ]
        assert len(first) % len(other) == 0, "rounds are whole"


def test_work_groups_measure_progress_and_instructions_and_bandwidth_do_not() -> None:
    found = {name: float(np.mean(each)) for name, each in remembered.with_memory(KEPT, EddySlowdown()).items()}
    assert found["groups"] < 0.01
    assert 0.03 < found["bandwidth"] < found["instructions"] < 0.1
    assert all(np.mean(remembered.with_samples(KEPT, number)) > 0.1 for number in remembered.SAMPLES)


def test_no_counter_of_waiting_would_meet_the_goal() -> None:
    """Were waiting alone known exactly, progress would be off by more than 4 %: instructions grow with cores."""
    found = {name: float(np.mean(each)) for name, each in remembered.with_stalls(KEPT).items()}
    assert min(found["stalls"], found["latency"]) > 0.04
    assert max(found["stalls"], found["latency"]) < 0.08


def test_a_memory_of_other_data_is_nearly_as_good() -> None:
    found = remembered.by_launch(LAUNCHED)
    assert len(found.whole) == len(found.same) == 2 * len(LAUNCHED.mixes)
    assert np.mean(found.same) < np.mean(found.whole) < 0.02
    assert np.mean(found.stretches) < 0.04


def test_errors_are_those_of_the_kernels_mean() -> None:
    alone = (TimedLaunch("a", 10, 100), TimedLaunch("a", 10, 300), TimedLaunch("b", 5, 50))
    beside = tuple(TimedLaunch(each.kernel, each.groups, 2 * remembered.WINDOW) for each in alone)
    made = LaunchedRuns("x", {("P", seed): alone for seed in INPUTS}, {("P", "P"): (beside, beside)})
    found = remembered.by_launch(made)
    assert found.whole == pytest.approx([0.0] * 2), "over a round the mean is right"
    # A work-group of `a` takes 20 cycles on average, 10 in its first launch and 30 in its second.
    assert found.stretches[:6] == pytest.approx([1.0, 1.0, 1 / 3, 1 / 3, 0.0, 0.0])


def test_launches_are_kept_as_they_are(tmp_path: Path) -> None:
    rtl_launches.write(LAUNCHED, tmp_path / "kept.json")
    assert rtl_launches.read(tmp_path / "kept.json") == LAUNCHED
    assert rtl_launches.read(tmp_path / "none.json") == LaunchedRuns()


def test_rows_and_headlines_have_both_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, heads = remembered.rows(tmp_path)
    assert len(rows) == len(heads) == 11
    assert (tmp_path / "remembered_RTL.csv").exists()
    monkeypatch.setattr(remembered, "load_runs", lambda: replace(KEPT, mixes={}))
    assert remembered.rows(tmp_path) == ([], {})
