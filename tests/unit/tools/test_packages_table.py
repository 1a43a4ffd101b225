# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `make packages` ends with: a line a step, what failed among them, and what it took."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
from package_walk.process import Failed, follow
from package_walk.table import Steps, timed


def walked(*lines: str, fails: str = "") -> Iterator[str]:
    yield from lines
    if fails:
        raise Failed(fails)


def test_steps_are_rows_and_those_that_failed_are_told_apart() -> None:
    steps = Steps()
    steps.take("Python 3.11", walked("ok eddy --version\teddy 0.1.0\t1.5", "WARNING: of pip"))
    steps.take("Python 3.12", walked("ok install\t\t60.0", "FAIL eddy demo\tno board\t2.0", fails="$ walk\nno board"))
    steps.take("Python 3.13", walked("ok install\t\t7.0", fails="$ walk\nended by a signal"))
    assert [(row.where, row.step, row.result) for row in steps.rows] == [
        ("Python 3.11", "eddy --version", "ok"),
        ("Python 3.12", "install", "ok"),
        ("Python 3.12", "eddy demo", "FAIL"),
        ("Python 3.13", "install", "ok"),
        ("Python 3.13", "the walk", "FAIL"),
    ]
    assert [row.said for row in steps.failed] == ["no board", "ended by a signal"]
    head, *lines = steps.table().splitlines()
    assert head.split() == ["where", "step", "s", "what", "came", "of", "it"]
    assert lines[0].split() == ["ok", "Python", "3.11", "eddy", "--version", "1.5", "eddy", "0.1.0"]
    assert len({line.index("eddy") for line in lines if "  eddy " in line}) == 1, "columns stand still"


def test_a_step_says_what_it_took_and_one_that_fails_ends_its_walk() -> None:
    steps = Steps()
    assert steps.do("build", "two builds", lambda: "9 files")

    def broken() -> str:
        raise Failed("$ pip\nno such package")

    assert not steps.do("build", "contents", broken)
    assert [(row.result, row.said) for row in steps.rows] == [("ok", "9 files"), ("FAIL", "no such package")]
    with pytest.raises(Failed):
        list(timed("contents", broken))


def test_a_program_is_followed_line_by_line_and_its_failure_has_what_it_said(tmp_path: Path) -> None:
    assert list(follow(["sh", "-c", "echo one; echo two >&2"], tmp_path)) == ["one", "two"]
    lines = []
    with pytest.raises(Failed, match="why"):
        lines += [*follow(["sh", "-c", "echo first; echo why; exit 3"], tmp_path)]
