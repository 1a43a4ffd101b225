"""`eddy reproduce levers`: each lever is worth something, and all together most."""

from __future__ import annotations

import csv
from pathlib import Path

from eddy.studies.levers import demo, run


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
    """Six of one application and three of the other, or two and three, and the cluster; else again for each tenant."""
    loads = {name: demo.figures(setting).loads for name, setting in run.DEMO.items()}
    assert loads == {
        "none": 25,
        "scrub": 10,
        "fusion": 13,
        "ICAP": 25,
        "scrub, fusion": 6,
        "scrub, ICAP": 10,
        "fusion, ICAP": 13,
        "all": 6,
    }


def test_shares_of_the_demo() -> None:
    """What slots do does not hang on the port; how long they take for it does."""
    slow, fast = demo.figures(run.DEMO["scrub"]), demo.figures(run.DEMO["scrub, ICAP"])
    assert 0 < slow.port <= 1
    assert 0 < slow.compute < fast.compute < 1
    assert fast.mean_s < 0.5 * slow.mean_s
