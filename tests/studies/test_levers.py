# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce levers`: each lever is worth something, and all together most."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from eddy_studies.levers import demo, run

ONCE = {name: setting for name, setting in run.DEMO.items() if setting.rounds == 1 and setting.smaller == 1.0}


def test_each_lever_alone_and_together(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    some = ("none", "scrub", "all")
    monkeypatch.setattr(run, "SETTINGS", {name: run.SETTINGS[name] for name in some})
    rows = run.reproduce(tmp_path, 0, True, lambda _: None)
    assert [row.what.rpartition(": ")[2] for row in rows] == [*some, *run.DEMO]
    with (tmp_path / "levers.csv").open(encoding="utf-8") as file:
        mean_s = {row["levers"]: float(row["mean_response_s"]) for row in csv.DictReader(file)}
    assert mean_s["scrub"] < mean_s["none"]
    assert mean_s["all"] < 0.8 * mean_s["none"]


def test_every_module_of_the_demo_is_loaded_once() -> None:
    """Six of one application and three of the other, or two and one, and the cluster; else again for each tenant. With
    more modules than slots, three are loaded again in another tenant's turn."""
    loads = {name: demo.figures(setting).loads for name, setting in ONCE.items()}
    assert loads == {
        "none": 25,
        **dict.fromkeys(("scrub", "scrub, ICAP", "scrub, ICAP at 200 MHz"), 13),
        "fusion": 9,
        **dict.fromkeys(("ICAP", "ICAP at 200 MHz"), 25),
        "scrub, fusion": 4,
        **dict.fromkeys(("fusion, ICAP", "fusion, ICAP at 200 MHz"), 9),
        **dict.fromkeys(("all", "all, ICAP at 200 MHz"), 4),
    }


def test_shares_of_the_demo() -> None:
    """What slots do does not hang on the port; how long they take for it does."""
    slow, fast = demo.figures(run.DEMO["scrub"]), demo.figures(run.DEMO["scrub, ICAP"])
    assert 0 < slow.port <= 1
    assert 0 < slow.compute < fast.compute < 1
    assert fast.mean_s < 0.5 * slow.mean_s


def test_a_faster_port_and_smaller_images_shorten_loads_alike() -> None:
    """What is loaded stays the same; a port twice as fast is one for images of half the size."""
    every = run.DEMO["all"]
    twice = replace(every, port_times=2 * every.port_times)
    fast, small = (demo.figures(each) for each in (twice, replace(every, smaller=2.0)))
    assert fast.mean_s == pytest.approx(small.mean_s)
    assert fast.loads == demo.figures(every).loads


def test_jobs_that_come_again_load_nothing() -> None:
    """So that the port is idle for longer than it works, and slots compute more than ten times what they did."""
    none, often = demo.figures(run.DEMO["none"]), demo.figures(run.DEMO["all, the jobs ten times"])
    assert often.loads == demo.figures(run.DEMO["all"]).loads
    assert often.port < 0.5
    assert often.compute > 10 * none.compute
