"""`eddy reproduce levers`: each lever is worth something, and all together most."""

from __future__ import annotations

import csv
from pathlib import Path

from eddy.studies.levers import run


def test_each_lever_alone_and_together(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    some = ("none", "scrub", "all")
    monkeypatch.setattr(run, "SETTINGS", {name: run.SETTINGS[name] for name in some})
    rows = run.reproduce(tmp_path, 0, True, lambda _: None)
    assert [row.what.rpartition(": ")[2] for row in rows] == list(some)
    with (tmp_path / "levers.csv").open(encoding="utf-8") as file:
        mean_s = {row["levers"]: float(row["mean_response_s"]) for row in csv.DictReader(file)}
    assert mean_s["scrub"] < mean_s["none"]
    assert mean_s["all"] < 0.8 * mean_s["none"]
