# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The timeline's picture and trace, from spans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eddy.cli.tenant.timeline import TimelineSpan, draw, perfetto, write_trace

SPANS = (
    TimelineSpan(1, "reconfigure", 0.0, 2e-3, "ada", "1", "dct"),
    TimelineSpan(1, "run", 2e-3, 2.5e-3, "ada", "1", "dct", 0),
    TimelineSpan(0, "run", 1e-3, 1.25e-3, "grace", "2", "init", 3, ok=False),
    TimelineSpan(0, "reset", 2e-3, 2.01e-3, "ada", "1", "idct"),
)


def test_the_trace_has_a_named_row_for_each_slot_and_microseconds() -> None:
    events = perfetto(SPANS, "test board")["traceEvents"]
    rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert rows == {1: "slot0", 2: "slot1"}
    drawn = [event for event in events if event["ph"] == "X"]
    assert [(event["tid"], event["cat"], event["name"]) for event in drawn] == [
        (1, "run", "init [3]"),
        (1, "reset", "reset idct"),
        (2, "reconfigure", "load dct"),
        (2, "run", "dct [0]"),
    ]
    assert (drawn[0]["ts"], drawn[0]["dur"]) == (1000.0, 250.0)
    assert drawn[0]["args"] == {"tenant": "grace", "job": "2", "task": "init", "ok": False, "item": 3}
    assert "item" not in drawn[1]["args"]


def test_the_trace_is_written_as_json(tmp_path: Path) -> None:
    write_trace(SPANS, "test board", tmp_path / "deep" / "trace.json")
    assert json.loads((tmp_path / "deep" / "trace.json").read_text()) == perfetto(SPANS, "test board")


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize("spans", [SPANS, ()], ids=["some", "none"])
def test_the_picture_is_drawn_in_the_format_of_its_suffix(
    tmp_path: Path, suffix: str, spans: tuple[TimelineSpan, ...]
) -> None:
    path = tmp_path / f"timeline.{suffix}"
    draw(spans, "a title", path)
    text = path.read_bytes()
    assert text.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    if suffix == "svg" and spans:
        assert all(f"<!-- {name} -->".encode() in text for name in ("ada", "grace", "slot 1", "a title"))
