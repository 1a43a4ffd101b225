"""Values measured on a board: what a report gives, and what a file may say in place of a profile."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from eddy.board.measured import of_report, write
from eddy.board.profile import load_profile
from eddy.core.errors import InvalidRequest


def report(passed: bool = True, rate: float = 131e6, **time: float) -> dict[str, Any]:
    loads = {"step": "load time", "measured": {"loads": 12.0, "bytes_per_s": rate}}
    return {"passed": passed, "steps": [{"step": "time", "measured": time}, loads]}


def test_what_was_measured_takes_the_place_of_what_was_planned(tmp_path: Path) -> None:
    planned = load_profile("kv260")
    assert load_profile("kv260", tmp_path) == planned, "nothing was measured"
    write(tmp_path / "kv260.yaml", of_report(report(shell_hz=99_999_001.2), "2026-11-24"))
    found = load_profile("kv260", tmp_path)
    assert (found.shell_hz, found.configuration.bytes_per_s) == (99_999_001, 131_000_000)
    assert found.configuration.source == "eddy board-test, 2026-11-24: 12 loads"
    assert found.configuration.storage_bytes_per_s == planned.configuration.storage_bytes_per_s
    assert (found.slots, found.dram, found.arena) == (planned.slots, planned.dram, planned.arena)
    assert load_profile("zcu104", tmp_path) == load_profile("zcu104"), "it is the board's of that profile alone"


def test_the_measured_rate_of_an_engine_takes_the_place_of_its_words_a_cycle(tmp_path: Path) -> None:
    write(tmp_path / "kv260_icap.yaml", of_report(report(rate=397.6e6, shell_hz=99.9e6), "2026-11-24"))
    found = load_profile("kv260_icap", tmp_path)
    assert found.configuration.bytes_per_s == pytest.approx(397.6e6)
    assert found.configuration.words_per_cycle == pytest.approx(397.6 / 4 / 99.9)
    write(tmp_path / "kv260_icap.yaml", {"shell_hz": 99_900_000})
    assert load_profile("kv260_icap", tmp_path).configuration.bytes_per_s == 4 * 99.9e6, "a word a cycle, as planned"


def test_what_was_not_measured_stays_as_planned(tmp_path: Path) -> None:
    assert of_report(report(rate=math.nan, shell_hz=1e8), "today") == {"shell_hz": 100_000_000}
    assert list(of_report(report(), "today")) == ["configuration"]
    with pytest.raises(InvalidRequest, match="differ in size"):
        of_report(report(rate=math.nan), "today")


def test_of_a_board_that_failed_nothing_is_kept() -> None:
    with pytest.raises(InvalidRequest, match="did not pass"):
        of_report(report(passed=False), "today")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("slots: []", "slots"),
        ("dram: {bytes: 1}", "dram"),
        ("configuration: {kind: icap}", "configuration"),
        ("configuration: 5", "configuration"),
        ("configuration: {bytes_per_s: 0}", "configuration"),
        ("configuration: {bytes_per_s: .inf}", "configuration"),
        ("shell_hz: fast", "shell_hz"),
        ("shell_hz: true", "shell_hz"),
        ("- shell_hz", "measured"),
        ("shell_hz: [", "measured"),
    ],
)
def test_a_file_that_says_anything_else_is_refused_by_field(tmp_path: Path, text: str, field: str) -> None:
    (tmp_path / "kv260.yaml").write_text(text)
    with pytest.raises(InvalidRequest) as refused:
        load_profile("kv260", tmp_path)
    assert refused.value.details["field"] == field
    assert "kv260.yaml" in refused.value.message
