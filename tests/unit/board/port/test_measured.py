# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Values measured on a board: what a report gives, and what a file may say in place of a profile."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
from eddy.board.port.dram_map import hash_masks, place
from eddy.board.port.measured import read_measurements, write
from eddy.board.port.profile import load_profile
from eddy.board.pynq.dram_finder import FoundMap, profile_map
from eddy.core.errors import InvalidRequest


def report(passed: bool = True, rate: float = 131e6, **time: float) -> dict[str, Any]:
    loads = {"step": "load time", "measured": {"loads": 12.0, "bytes_per_s": rate}}
    return {"passed": passed, "steps": [{"step": "time", "measured": time}, loads]}


def test_what_was_measured_takes_the_place_of_what_was_planned(tmp_path: Path) -> None:
    planned = load_profile("kv260")
    assert load_profile("kv260", tmp_path) == planned, "nothing was measured"
    write(tmp_path / "kv260.yaml", read_measurements(report(shell_hz=99_999_001.2), "2026-11-24"))
    found = load_profile("kv260", tmp_path)
    assert (found.shell_hz, found.configuration.bytes_per_s) == (99_999_001, 131_000_000)
    assert found.configuration.source == "eddy board-test, 2026-11-24: 12 loads"
    assert found.configuration.storage_bytes_per_s == planned.configuration.storage_bytes_per_s
    assert (found.slots, found.dram, found.arena) == (planned.slots, planned.dram, planned.arena)
    assert load_profile("zcu104", tmp_path) == load_profile("zcu104"), "it is the board's of that profile alone"


def test_the_measured_rate_of_an_engine_takes_the_place_of_its_words_a_cycle(tmp_path: Path) -> None:
    write(tmp_path / "kv260_icap.yaml", read_measurements(report(rate=397.6e6, shell_hz=99.9e6), "2026-11-24"))
    found = load_profile("kv260_icap", tmp_path)
    assert found.configuration.bytes_per_s == pytest.approx(397.6e6)
    assert found.configuration.words_per_cycle == pytest.approx(397.6 / 4 / 99.9)
    write(tmp_path / "kv260_icap.yaml", {"shell_hz": 99_900_000})
    assert load_profile("kv260_icap", tmp_path).configuration.bytes_per_s == 8 * 99.9e6, "two words a cycle, as planned"


def memory(found: FoundMap, as_planned: bool = False) -> dict[str, Any]:
    masks = {f"unit_bit_{bit}_mask": float(mask) for bit, mask in enumerate(found.unit_masks)}
    told = {"as_planned": float(as_planned), "expressible": float(found.expressible), **masks}
    shape = {"units": float(1 << len(found.unit_masks)), "row_bytes": float(found.row_bytes)}
    return {"passed": True, "steps": [{"step": "DRAM address map", "measured": {**shape, **told}}]}


@pytest.mark.parametrize("change", [{"hashing": True}, {"banks": 4}, {"row_bytes": 16384, "hashing": True, "banks": 8}])
def test_the_map_of_memory_that_was_found_takes_the_place_of_the_planned(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    planned = load_profile("tiny")
    actual = dataclasses.replace(planned.dram, **change)
    bits = actual.bytes - 64
    write(tmp_path / "tiny.yaml", read_measurements(memory(profile_map(actual, bits)), "today"))
    found = load_profile("tiny", tmp_path).dram
    assert hash_masks(found) == hash_masks(actual)
    assert all(place(found, each) == place(actual, each) for each in range(0, actual.bytes, 4096 + 64))
    assert dataclasses.replace(found, hash_masks=(), hashing=actual.hashing) == actual


def test_a_map_that_no_profile_can_say_or_that_is_as_planned_is_not_kept(tmp_path: Path) -> None:
    every = (1 << 23) - 64
    spread = FoundMap(every, (0x2080, 0x4000), 0x1F40)
    for said in (memory(spread), memory(profile_map(load_profile("tiny").dram, every), as_planned=True)):
        with pytest.raises(InvalidRequest, match="nothing of the profile"):
            read_measurements(said, "today")
    assert not spread.expressible
    (tmp_path / "tiny.yaml").write_text("dram: {row_bytes: 8192, units: 16, hash_masks: [8192, 0, 0, 0]}")
    with pytest.raises(InvalidRequest, match="hash_masks"):
        load_profile("tiny", tmp_path)


def test_what_was_not_measured_stays_as_planned(tmp_path: Path) -> None:
    assert read_measurements(report(rate=math.nan, shell_hz=1e8), "today") == {"shell_hz": 100_000_000}
    assert list(read_measurements(report(), "today")) == ["configuration"]
    with pytest.raises(InvalidRequest, match="differ in size"):
        read_measurements(report(rate=math.nan), "today")


def test_of_a_board_that_failed_nothing_is_kept() -> None:
    with pytest.raises(InvalidRequest, match="did not pass"):
        read_measurements(report(passed=False), "today")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("slots: []", "slots"),
        ("dram: {bytes: 1}", "dram"),
        ("dram: {row_bytes: 8192}", "dram"),
        ("dram: {row_bytes: 8192.5, units: 16, hash_masks: [0, 0, 0, 0]}", "dram"),
        ("dram: {row_bytes: 8192, units: true, hash_masks: [0, 0, 0, 0]}", "dram"),
        ("dram: {row_bytes: 8192, units: 16, hash_masks: 5}", "dram"),
        ("dram: {row_bytes: 8192, units: 16, hash_masks: [-1, 0, 0, 0]}", "dram"),
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
