# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figures 5.3 to 5.10 of [000]: clusters shared in windows of board time, calibrated by kept runs on the RTL."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from eddy.cli.main import app
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.programs.shape import ClusterShape
from eddy.policy.price import POLICIES
from eddy_studies.report import Row
from eddy_studies.vayalapra import live_figures, sharing, slicing
from eddy_studies.vayalapra import run as study
from eddy_studies.vayalapra.clusters import (
    CONFIGURATIONS,
    SIZES,
    CoreScaling,
    core_scaling,
    counts,
    runs,
    shapes,
    warps,
)
from eddy_studies.vayalapra.scaling import point_of
from eddy_studies.vayalapra.users import MECHANISMS, USER_SETS, outcome, speedups
from eddy_studies.vayalapra.window import shared, whole_cluster
from typer.testing import CliRunner
from unit.gpu_kit import build_quickly

WINDOW_S = 0.5


@pytest.fixture(scope="module")
def found() -> sharing.Results:
    return sharing.results(WINDOW_S, lambda text: None)


def test_every_workload_was_measured_on_every_number_of_cores() -> None:
    wanted = {(w, of, t, fpu, k) for of, t, fpu in shapes() for k in counts(of) for w in SIZES}
    kept = {(r.workload, r.of, r.threads, r.fpu, r.cores): r for r in runs()}
    assert set(kept) == wanted
    for (workload, of, threads, fpu, cores), run in kept.items():
        if cores > 1:
            before = kept[workload, of, threads, fpu, cores // 2]
            assert 0.45 * before.cycles < run.cycles < 1.1 * before.cycles


@pytest.mark.rtl
@pytest.mark.parametrize("workload", ["k-means", "yolo"])
def test_a_kept_measurement_is_what_the_rtl_takes(workload: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from eddy_sim.gpu.executors import RtlExecutor

    build_quickly(monkeypatch)
    executor = RtlExecutor(ClusterShape(1, warps(4), 4, True), of=2)
    taken = point_of(SIZES[workload](0), executor, Compiler()).profile.time
    (kept,) = (r for r in runs() if (r.workload, r.of, r.threads, r.fpu, r.cores) == (workload, 2, 4, True, 1))
    assert taken == pytest.approx(kept.cycles, rel=0.05)


def test_fractions_by_counters_and_by_times_and_what_the_law_says_of_more_cores() -> None:
    alike = CoreScaling("x", 4, 4, True, (1, 2, 4), (1000, 600, 400), (0.0, 0.8, 0.8), (0.0, 0.8, 0.8))
    assert alike.error(2, 4) == pytest.approx(0.0)
    optimist = replace(alike, by_counters=(0.0, 1.0, 1.0))
    assert optimist.error(2, 4) == pytest.approx(300 / 400 - 1)
    kept = {(one.workload, one.of, one.threads, one.fpu): one for one in core_scaling()}
    assert set(kept) == {(w, *shape) for w in SIZES for shape in shapes()}
    for one in kept.values():
        assert one.cores == tuple(counts(one.of))
        for cores, cycles, flatt in zip(one.cores[1:], one.cycles[1:], one.by_times[1:], strict=True):
            assert one.cycles[0] * ((1 - flatt) + flatt / cores) == pytest.approx(cycles)
    assert kept["mlp", 8, 4, False].error(4, 8) == pytest.approx(0.0, abs=0.05), "mostly serial, and predicted so"


def test_speedups_start_at_nothing_and_one() -> None:
    for cluster in {c for clusters in CONFIGURATIONS.values() for c in clusters}:
        for workload in SIZES:
            curve = speedups(workload, cluster)
            assert curve[:2] == (0.0, 1.0)
            assert len(curve) == cluster.cores + 1


def test_a_window_delivers_the_shares_with_slices_of_unequal_length() -> None:
    alone = tuple(float(k) for k in range(9))
    shares = (1.25, 4.85, 1.9)
    had = shared(8, shares, (1.0, 4.0, 1.0), (alone,) * 3, 2.0)
    assert np.array(had.core_s) / 2.0 == pytest.approx(shares, rel=2e-3)
    # Work that two cores do no faster than one: 4.85 cores are four or five in time, never fewer.
    steps = (0.0, 1.0, 1.0, 1.0, 4.0, 5.0, 5.0, 5.0, 5.0)
    had = shared(8, shares, (1.0, 4.0, 1.0), (alone, steps, alone), 2.0)
    assert had.done[1] / 2.0 == pytest.approx(4 * 0.15 + 5 * 0.85, rel=0.01)


def test_user_sets_gain_from_sharing(found: sharing.Results) -> None:
    for user_set in USER_SETS:
        for name in CONFIGURATIONS:
            market, fair = (found[user_set, name, mechanism] for mechanism in ("market", "entitlement"))
            assert (market.speedup >= fair.speedup * (1 - sharing.NEAR)).all(), (user_set, name)
            cores = sum(cluster.cores for cluster in CONFIGURATIONS[name])
            assert market.given.sum() == pytest.approx(cores, rel=1e-6)
            assert np.abs(market.given - market.shares).max() < 0.05
            assert 0 < market.utilisation <= 1.01


def test_who_computes_no_floats_leaves_the_fpus_to_others(found: sharing.Results) -> None:
    market, fair = (found["1", "CFG1", mechanism] for mechanism in ("market", "entitlement"))
    assert market.shares[0, :2] == pytest.approx([0, 0], abs=1e-6)
    assert market.speedup[0] > 1.9 * fair.speedup[0]


def test_equal_work_gets_on_by_weight(found: sharing.Results) -> None:
    for name in CONFIGURATIONS:
        market = found["3", name, "market"].speedup
        assert market[0] == pytest.approx(market[2], rel=0.02)
        # An MLP on all cores of a cluster gains less than one on a few: weight 4 is less than four times as fast.
        assert 2.7 < market[1] / market[0] < 4.1


def test_slicing_whole_clusters_breaks_the_sharing_incentive_and_whole_cores_in_time_do_not() -> None:
    """400 random markets, and the study's arithmetic against what a window delivers."""
    kept = slicing.check_promises()
    assert kept["by_cores"].markets == kept["by_clusters"].markets == 400
    assert kept["by_cores"].broken == 0
    assert kept["by_cores"].worst > 1 - 1e-9
    assert kept["by_clusters"].broken > 40
    assert kept["by_clusters"].worst < 0.85
    view = slicing.market(np.random.default_rng(5))
    shares, (cores, *_) = POLICIES["market"]().decide(view).shares, (c.cores for c in view.present.clusters)
    alone = replace(view, present=replace(view.present, throughput=np.eye(1, len(view.present.clusters)) + 0 * shares))
    curves = [[k / (k * (1 - f) + f) for k in range(cores + 1)] for f in view.present.parallel_fraction[:, 0]]
    own = tuple(float(x) for x in shares[:, 0])
    had = shared(cores, own, tuple(view.weights), tuple(tuple(curve) for curve in curves), 1.0)
    assert slicing.by_cores(alone, shares) == pytest.approx(had.done, rel=0.02)
    in_turns = whole_cluster(cores, own, curves, 1.0)
    assert slicing.by_clusters(alone, shares) == pytest.approx(in_turns.done)


def test_headlines_have_the_shape_programs_read(found: sharing.Results) -> None:
    told = json.loads(json.dumps(sharing.headlines(found)))
    assert set(told["user_sets"]) == set(told["chosen"]) == {"1", "2", "3"}
    assert set(told["chosen"].values()) <= set(CONFIGURATIONS)
    for by_name in told["user_sets"].values():
        assert set(by_name) == set(CONFIGURATIONS)
        for by_mechanism in by_name.values():
            assert set(by_mechanism) == set(MECHANISMS)
            for one in by_mechanism.values():
                assert len(one["speedup"]) == 3
                assert np.shape(one["shares"]) == (3, 4)
                assert isinstance(one["utilisation"], float)


def test_figures_come_with_data_pictures_and_published_values(found: sharing.Results, tmp_path: Path) -> None:
    for figure, make in sharing.FIGURES.items():
        rows = make(tmp_path, found)
        assert {row.figure for row in rows} == {figure}
        assert all(row.published for row in rows)
        stem = f"figure_{figure.replace('.', '_')}"
        assert (tmp_path / f"{stem}.png").stat().st_size > 1000
        assert len((tmp_path / f"{stem}.csv").read_text().splitlines()) > 8


def test_prices_converge_as_published(tmp_path: Path) -> None:
    rows = {row.what: row for row in sharing.figure_5_3(tmp_path)}
    assert int(rows["iterations until prices change by less than 1e-4"].ours) <= 30
    assert int(rows["iterations until prices change by less than 1e-5"].ours) <= 200
    assert rows["clusters 1 and 2 cost the same"].ours.startswith("yes")


def test_the_command_prints_headlines_beside_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "QUICK_S", 0.01)
    monkeypatch.setattr(study, "_points", lambda *arguments: [])
    monkeypatch.setattr(study, "FIGURES", {})
    row = Row("live", "user sets live", "", "are tests of their own (test_vayalapra_live)")
    monkeypatch.setattr(live_figures, "rows", lambda *arguments: [row])
    done = CliRunner().invoke(app, ["reproduce", "vayalapra", "--quick", "--json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert {"user_sets", "chosen", "vayalapra"} <= set(told)
    assert told["user_sets"]["1"]["CFG1"]["market"]["shares"]
    assert "test_vayalapra_live" in (tmp_path / "table.md").read_text(), "the user sets live are among all figures"


def test_one_outcome_is_the_same_again() -> None:
    one, again = (outcome("2", "CFG3", "market", 0.05) for _ in range(2))
    assert np.array_equal(one.speedup, again.speedup)
