# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`make demo`, whole: the simulated board, three tenants over HTTP, every result checked."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[3]


@pytest.mark.rtl
@pytest.mark.xdist_group("simulated board")
def test_the_demonstration_prints_one_json_object_and_leaves_timeline_and_trace(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eddy.cli.main", "demo", "--json", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    jobs: list[dict[str, Any]] = report["jobs"]
    assert {job["tenant"] for job in jobs} == {"ada", "grace", "edsger"}
    assert {job["application"] for job in jobs} == {"image_compression", "digit_recognition", "kernel:sgemm"}
    assert all(job["verified"] is True and job["state"] == "succeeded" for job in jobs)
    assert all(job["batch"] > 0 and job["running_s"] > 0 and job["waiting_s"] >= 0 for job in jobs)
    assert all(job["reconfiguring_s"] > 0 for job in jobs if job["reconfigurations"] > 0)
    assert "tenants" in done.stderr, "progress goes to standard error"
    assert Path(report["timeline"]).read_bytes().startswith(b"\x89PNG")
    before, both = (np.asarray(Image.open(file)) for file in (tmp_path / "photograph.png", report["picture"]))
    assert np.array_equal(both[:, : before.shape[1]], before)
    assert both.shape == (before.shape[0], 2 * before.shape[1])
    check_trace(json.loads(Path(report["trace"]).read_text()), jobs)


def check_trace(trace: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
    """One span a load and an item; a slot does one thing at a time, the configuration port too."""
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    tasks = {"image_compression": 6, "digit_recognition": 3, "kernel:sgemm": 1}
    assert {job["form"] for job in jobs} <= {"", "front", "back", "front+back", "whole"}
    # Each of the fused modules does the work of three tasks.
    saved = {"": 0, "front": 2, "back": 2, "front+back": 4, "whole": 2}
    items = [(tasks[job["application"]] - saved[job["form"]]) * job["batch"] for job in jobs]
    assert sum(span["cat"] == "run" for span in spans) == sum(items)
    assert sum(span["cat"] == "reconfigure" for span in spans) == sum(job["reconfigurations"] for job in jobs)
    rows = [[span for span in spans if span["tid"] == row] for row in {span["tid"] for span in spans}]
    resets = [span for span in spans if span["cat"] == "reset"]
    assert all(span["dur"] < 100 for span in resets), "a module that changes tenants is reset, not loaded"
    rows.append([span for span in spans if span["cat"] == "reconfigure"])
    for row in rows:
        times = sorted((span["ts"], span["ts"] + span["dur"]) for span in row)
        assert all(after[0] >= before[1] - 1e-3 for before, after in pairwise(times))


@pytest.mark.rtl
@pytest.mark.xdist_group("simulated board")
def test_the_demonstration_of_a_pool_survives_the_death_of_a_board(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eddy.cli.main", "demo", "--pool", "--json", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["verified"]
    assert all(job["state"] == "succeeded" for job in report["jobs"])
    assert {job["tenant"] for job in report["jobs"]} == {"ada", "grace", "edsger"}
    moved = [job for job in report["jobs"] if job["moves"]]
    assert any(len(job["boards"]) > 1 for job in moved), "a job went on elsewhere from what was committed"
    assert (tmp_path / "pool.png").exists()


def test_the_first_command_of_the_first_tutorial_is_the_demonstration() -> None:
    page = (ROOT / "docs" / "tutorials" / "first-job.md").read_text(encoding="utf-8")
    command = page.partition("\n    make ")[2].partition("\n")[0]
    done = subprocess.run(
        ["make", "-n", "--no-print-directory", *command.split()], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1].split()[1:] == ["-m", "eddy.cli.main", "demo"]
