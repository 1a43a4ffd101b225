# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The scaling study of [000] on a machine that executes an instruction of a warp each cycle; the first tutorial."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from eddy.gpu.launches.executor import Execution
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.workloads.basic import vecadd
from eddy.gpu.workloads.learning import kmeans
from eddy_sim.gpu.executors import IsaExecutor
from eddy_studies.vayalapra import run as study
from eddy_studies.vayalapra.scaling import CONFIGURATIONS, QUICK, measure, predictions
from unit.gpu_kit import compiler

ROOT = Path(__file__).resolve().parents[2]


class Ideal(IsaExecutor):
    """Every core issues an instruction a cycle: the machine the law describes."""

    def execute(self, region: bytearray, entry: int, argument: int, limit: int) -> Execution:
        done = super().execute(region, entry, argument, limit)
        return dataclasses.replace(done, cycles=max(core.total_active_cycles for core in done.counters))


def test_the_law_holds_on_the_machine_it_describes(tmp_path: Path) -> None:
    sizes = {"k-means": lambda seed: kmeans(8192, 4, 512, 1, seed), "vecadd": lambda seed: vecadd(131072, seed)}
    said: list[str] = []
    points = measure(list(sizes), sizes, CONFIGURATIONS, 1, Ideal, compiler(), said.append)
    assert len(said) == len(points) == 8
    found = predictions(points)
    assert [p.error for p in found[::4]] == pytest.approx([0.0, 0.0], abs=1e-12)
    # What is left is groups that do not divide evenly.
    assert max(abs(p.error) for p in found) < 0.05
    assert not any(p.memory_bound for p in found)
    rows = study._figure_5_1(tmp_path, points) + study._figure_5_2(tmp_path, points)
    assert {row.figure for row in rows} == {"5.1", "5.2"}
    assert (tmp_path / "figure_5_1.png").stat().st_size > 1000
    table = (tmp_path / "figure_5_2.csv").read_text().splitlines()
    assert len(table) == 9
    assert table[0].startswith("workload,cores,threads,cycles,fraction,fraction_published,waiting_for_memory,predicted")


def test_serial_workloads_show_a_smaller_fraction() -> None:
    sizes = {name: QUICK[name] for name in ("mlp", "vecadd")}
    points = measure(list(sizes), sizes, CONFIGURATIONS[:1], 1, Ideal, compiler(), lambda text: None)
    serial, parallel = (point.profile.fraction for point in points)
    assert serial < 0.9 < 0.99 < parallel
    assert points[0].published <= serial + 0.05


def test_a_figure_can_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "QUICK", {"vecadd": QUICK["vecadd"]})
    monkeypatch.setattr(study, "Compiler", compiler)
    monkeypatch.setattr(study, "_rtl", lambda shape: Ideal(ClusterShape(1, 2, shape.threads)))
    rows = study.reproduce(tmp_path, 1, True, lambda text: None, figure="5.2")
    assert {row.figure for row in rows} == {"5.2"}
    assert {row.published for row in rows} <= {"within 5 %", "not stated in the text"}
    assert not (tmp_path / "figure_5_1.csv").exists()


def test_figures_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    from eddy.cli.main import app
    from typer.testing import CliRunner

    for command, words in (
        (["vayalapra", "--figure", "9.9"], "there are 5.1, 5.2"),
        (["makespan", "--figure", "2"], "leave --figure out"),
    ):
        done = CliRunner().invoke(app, ["reproduce", *command, "--out", str(tmp_path)])
        assert done.exit_code == 2
        assert words in done.output
