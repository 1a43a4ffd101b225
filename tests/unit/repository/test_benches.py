# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The benchmarks' harness: cases it finds, goals, and exit codes."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))

import bench


@pytest.mark.parametrize("name", bench.CASES)
def test_a_case_says_what_it_measures_and_how(name: str) -> None:
    case = import_module(f"benches.{name}")
    assert case.__doc__
    assert case.bench.__doc__
    assert bench.goals(case).keys() <= {*getattr(case, "LEAST", {}), *getattr(case, "MOST", {})}


@pytest.mark.parametrize(("rate", "code"), [(3.0, 0), (1.0, 1)])
def test_a_goal_that_is_missed_is_an_exit_code(
    rate: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = ModuleType("benches.made")
    vars(case).update(
        LEAST={"rate": 2.0}, OPTIONS={"--n": {"type": int}}, bench=lambda given: {given.n: {"rate": rate}}
    )
    monkeypatch.setitem(sys.modules, "benches.made", case)
    assert bench.run("made", ["--n", "7"]) == code
    said = capsys.readouterr()
    assert f"7: rate: {rate:g} (goal at least 2: {'met' if rate > 2 else 'missed'})" in said.out
    assert ("goal missed: 7 rate" in said.err) == bool(code)
    assert bench.main(["--seconds", "3"]) == 1, "an option is of one case"
