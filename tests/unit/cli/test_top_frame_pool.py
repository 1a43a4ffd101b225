# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy top` at a pool's head: boards in place of slots."""

from __future__ import annotations

from typing import Any

import pytest
from eddy.api.request_bodies import examples
from eddy.cli.top.frame import COLUMNS, LINES, FrameData, frame


def overview(boards: list[dict[str, Any]]) -> dict[str, Any]:
    return {**examples.OVERVIEW, "slots": [], "spans": [], "tenants": [], "jobs": [], "ended": [], "boards": boards}


def board(name: str, **said: Any) -> dict[str, Any]:
    usual = {"kind": "model kv260", "present": True, "drained": False, "width": 2, "modules": [], "link_bps": 0.0}
    return {"board": name, "jobs": [], **usual, **said}


@pytest.mark.parametrize("count", [0, 1, 12, 13, 200])
def test_boards_fit_and_what_is_wrong_is_shown(count: int) -> None:
    boards = [board(f"bench-{n:03}", jobs=[n], modules=["dct", "level_shift", "quantize"]) for n in range(count)]
    if count:
        boards[-1] |= {"present": False}
    lines = frame(FrameData("http://one:8100", overview(boards)))
    assert len(lines) <= LINES
    assert max(len(line.text) for line in lines) <= COLUMNS
    shown = [line for line in lines if line.text.startswith("bench-")]
    assert len(shown) == min(count, 12)
    assert [line.style for line in shown].count("bad") == min(count, 1)
    assert any(f"and {count - 12} more boards" in line.text for line in lines) == (count > 12)


def test_a_board_says_where_it_stands() -> None:
    boards = [board("a", link_bps=93e6, jobs=[4, 7]), board("b", drained=True), board("c", present=False, drained=True)]
    lines = frame(FrameData("http://one:8100", overview(boards)))
    a, b, c = (next(line for line in lines if line.text.startswith(f"{name} ")) for name in "abc")
    assert a.text.split() == ["a", "model", "kv260", "there", "2", "2", "93", "Mbit/s", "-"]
    assert (a.style, b.style, c.style) == ("plain", "bad", "bad")
    assert "drained" in b.text
    assert "away" in c.text
    assert "the head runs for" in lines[0].text


def test_clusters_of_several_boards_are_told_apart() -> None:
    clusters = [{"board": name, "slot": 3, "module": "gpu_1c4w4t", "cores": 4, "price": 0.25} for name in ("a", "b")]
    shares = [{"board": "b", "slot": 3, "pes": 1.5, "core_seconds": 0.0125}]
    market = {"clusters": clusters, "me": {"shares": shares}}
    lines = frame(FrameData("http://one:8100", overview([board("a"), board("b")]), market))
    one, other = (next(line.text for line in lines if f"gpu_1c4w4t {name}" in line.text) for name in "ab")
    assert "1.5" in other
    assert "1.5" not in one
