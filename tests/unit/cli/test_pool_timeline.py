# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy pool timeline`: a trace that adds up, a picture, and a line for each board."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eddy.cli.pools.pool_timeline import lines, marks_of, trace, write_picture, write_trace


def part(job: int, board: str, start: float, end: float, first: int = 0, items: int = 1) -> dict[str, Any]:
    return {
        **{"job": job, "tenant": "ada", "work": "a", "board": board, "first": first, "items": items, "sent_bytes": 7},
        "started_unix_s": 1000.0 + start,
        "ended_unix_s": 1000.0 + end,
    }


def move(job: int, board: str, at_s: float) -> dict[str, Any]:
    return {"job": job, "tenant": "ada", "from": board, "because": "its lease ended", "at_unix_s": 1000.0 + at_s}


TIMELINE = {
    **{"now_unix_s": 1010.0, "since_unix_s": 900.0, "boards": ["b1", "b2", "b3"], "running": []},
    "parts": [part(1, "b1", 0.0, 2.0, 0, 3), part(2, "b1", 1.0, 4.0), part(1, "b2", 6.0, 8.0, 3, 1)],
    "moves": [move(1, "b1", 4.51), move(3, "b1", 4.52), move(2, "b2", 9.0)],
}
EMPTY = {**TIMELINE, "parts": [], "moves": [], "boards": []}


def test_the_trace_has_every_part_once_and_none_overlap_in_a_thread() -> None:
    events = trace(TIMELINE)["traceEvents"]
    assert [each["args"]["name"] for each in events if each["ph"] == "M"] == ["b1", "b2", "b3"]
    bars = [each for each in events if each["ph"] == "X"]
    assert [(each["pid"], each["tid"], each["ts"], each["dur"]) for each in bars] == [
        (1, 1, 0, 2_000_000),
        (1, 2, 1_000_000, 3_000_000),
        (2, 1, 6_000_000, 2_000_000),
    ]
    assert [each["name"] for each in bars] == ["a [0-2]", "a [0]", "a [3]"]
    assert bars[0]["args"] == {"job": 1, "tenant": "ada", "items": 3, "sent_bytes": 7}
    taken = [(each["pid"], each["ts"]) for each in events if each["ph"] == "i"]
    assert taken == [(1, 4_510_000), (1, 4_520_000), (2, 9_000_000)]


def test_boards_in_lines_and_what_was_taken_at_once_is_one_mark() -> None:
    one, two, three = lines(TIMELINE)
    assert one.endswith("2 jobs, 4 items in 2 parts, busy 50 % of 8 s, 2 jobs taken from it")
    assert two.endswith("1 jobs, 1 items in 1 parts, busy 25 % of 8 s, 1 jobs taken from it")
    assert three.endswith("0 jobs, 0 items in 0 parts, busy none of the time")
    assert [(mark.board, round(mark.at_s, 1), mark.text) for mark in marks_of(TIMELINE)] == [
        ("b1", 4.5, "2 jobs taken"),
        ("b2", 9.0, "1 job taken"),
    ]
    assert lines(EMPTY) == []


def test_files_are_written(tmp_path: Path) -> None:
    for name, timeline in {"some": TIMELINE, "none": EMPTY}.items():
        write_picture(timeline, tmp_path / name / "pool.svg")
        assert (tmp_path / name / "pool.svg").read_text().count("svg") > 1
        write_trace(timeline, tmp_path / name / "pool.json")
        assert json.loads((tmp_path / name / "pool.json").read_text()) == trace(timeline)
    assert "2 jobs taken" in (tmp_path / "some" / "pool.svg").read_text()
