# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The study of [001]: mixes, sharing by the live policies, and what it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest
from eddy.policy.price import POLICIES
from eddy_studies.commands.reproduce import STUDIES
from eddy_studies.hsm import measured, mixes, replay, run
from eddy_studies.hsm.kernels import MEMORY_BOUND
from eddy_studies.hsm.mixes import FAIR, KINDS, QOS, MixRun, Outcome, Scale, kind
from eddy_studies.policies import PREDICTORS

SMALL = Scale(6, 6_000, 2, 2)
MIXES = [("LBM", "BINO"), ("PVC", "FWT"), ("DXTC", "PF")]


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three mixes, short runs, all in this process."""

    def run_all(tasks: Sequence[MixRun], scale: Scale, seed: int, tick: Any) -> list[Outcome]:
        found = []
        for task in tasks:
            found.append(mixes.run_task(task))
            tick()
        return found

    monkeypatch.setattr(run, "run_all", run_all)
    monkeypatch.setattr(run, "pairs", lambda: MIXES)
    monkeypatch.setattr(run, "QUICK", SMALL)
    monkeypatch.setattr(mixes, "_SCALE", SMALL)
    monkeypatch.setattr(mixes, "_SEED", 0)
    monkeypatch.setattr(measured, "rows", lambda _: ([], {}))  # tests/studies/test_hsm_replay.py has these
    monkeypatch.setattr(replay, "rows", lambda _: ([], {}))
    monkeypatch.setattr(run, "SETTINGS", {"queue 16": (("queue", 16),)})


def test_there_are_105_mixes_of_which_50_are_heterogeneous_and_45_memory_bound() -> None:
    found = [kind(mix) for mix in mixes.pairs()]
    assert [found.count(each) for each in KINDS] == [50, 45, 10]
    for mix in mixes.pairs():
        high = mixes.high_of(mix, 0)
        assert high in (0, 1)
        if kind(mix) == KINDS[0]:
            assert mix[high] in MEMORY_BOUND
    assert mixes.fours(6, 0) == mixes.fours(6, 0) != mixes.fours(6, 1)


def test_the_study_writes_its_figures_table_and_headlines(one_process: None, tmp_path: Path) -> None:
    said: list[str] = []
    rows = run.reproduce(tmp_path, 0, True, said.append)
    heads: dict[str, Any] = run.headlines(tmp_path)
    assert heads["mixes"] == len(MIXES)
    assert set(heads["progress_error"]) == set(PREDICTORS)
    assert all(0 <= each["mean"] <= each["worst"] for each in heads["progress_error"].values())
    assert set(heads["fairness"]) == set(heads["stp"]) == set(heads["antt"]) == set(FAIR)
    assert all(set(each) >= {"met", "of", "stp"} for each in heads["qos"].values())
    assert set(heads["qos"]) == set(QOS)
    assert heads["fairness"]["hsm_fair"] > heads["fairness"]["even"]
    assert json.loads(json.dumps(heads)) == heads
    assert {row.figure for row in rows} >= {"2", "3", "4", "10", "11", "12", "13", "14", "15", "6.5"}
    assert all("model" in row.note or "RTL" in row.note for row in rows), "each says what it was measured on"
    for number in ("2_model", "3_model", "4_model", "10_model", "11", "12", "13", "14", "15"):
        picture = matplotlib.image.imread(tmp_path / f"figure_{number}.png")
        assert picture.std() > 0.05, "something is drawn"
    assert (tmp_path / "figure_11.csv").read_text().startswith("measure,policy")
    assert said[-1].startswith("[####################]")


def test_policies_of_the_study_are_those_that_run_live() -> None:
    names = {name for name in (*FAIR, *QOS) if name.rpartition("_")[0] in PREDICTORS}
    assert all(POLICIES[name]().traits.by_progress for name in names)
    assert len(names) == 2 * len(PREDICTORS)
    assert STUDIES["hsm"].headlines


def test_a_memory_bound_program_gives_cores_up_to_a_compute_bound_one(one_process: None) -> None:
    fair = mixes.run_task(MixRun(("LBM", "BINO"), "hsm_fair"))
    even = mixes.run_task(MixRun(("LBM", "BINO")))
    assert even.cores == (8, 8)
    assert fair.cores[0] < 8
    assert sum(fair.cores) == 16
    assert min(fair.settled) / max(fair.settled) > 1.2 * min(even.settled) / max(even.settled)
    served = mixes.run_task(MixRun(("LBM", "BINO"), "hsm_qos", high=1))
    assert served.cores[1] >= 13
    assert served.settled[1] >= 0.78


def test_a_target_no_whole_cores_reach_is_met_by_parts_of_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """One core of PVC, of sixteen, holds SRAD up by more than a quarter; half a core does not."""
    mixes._begin(Scale(8, 12_000, 1, 1), 0)
    task = MixRun(("PVC", "SRAD"), mixes.MOST, high=1)
    whole = mixes.best_partition(task)
    assert whole == pytest.approx(mixes.run_task(task).settled[1], abs=0.05), "no other division is better"
    assert whole < mixes.TARGET
    for policy in mixes.PARTS:
        served = mixes.run_task(replace(task, policy=policy))
        assert served.settled[1] >= mixes.TARGET
        assert served.settled[0] > 0.02, "the other runs"
        assert served.cores[0] < 1
