# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The benchmark against the cluster's first release finds its sources, compares right, and says what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import benches.gpu_speed


def test_a_history_without_the_first_release_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benches.gpu_speed, "FIRST", "0" * 40)
    with pytest.raises(SystemExit, match="not in this repository's history"):
        benches.gpu_speed.first_release(tmp_path)


def test_this_tree_is_compared_with_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def turn(tree: Path) -> dict[str, Any]:
        slow = tree == tmp_path
        return {"float": 2.0 if slow else 5.0, "work": {"a": 4.0 if slow else 1.0, "b": 1.0}}

    monkeypatch.setattr(benches.gpu_speed, "_turn", turn)
    found = benches.gpu_speed.compare(tmp_path, 2)
    assert found["float loop, relative"] == 2.5, "a rate"
    assert (found["a, relative"], found["b, relative"]) == (4.0, 1.0), "times: the other's over this one's"
    assert found["workloads, relative"] == pytest.approx(2.0)
