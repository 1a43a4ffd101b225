# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The adversarial markets of `tools/market_trials.py`: some of each kind in every run of the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import market_trials


@pytest.mark.parametrize("utility", ["amdahl", "deliverable"])
@pytest.mark.parametrize("kind", market_trials.KINDS)
def test_some_of_every_kind_are_solved(kind: str, utility: str) -> None:
    count = 6 if kind == "extremes" else 15  # they take a second each, of the path in 60 digits
    tally = market_trials.tried(kind, utility, count)
    assert tally.count == count
    assert not tally.failed


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        *(("far_apart", 1061), ("kinks", 673), ("singular", 60)),
        *(("kinks", 1224), ("kinks", 1329), ("kinks", 1646)),
    ],
)
def test_paths_that_were_lost_are_followed_to_their_ends(kind: str, number: int) -> None:
    """A path has to be followed nearly, or less nearly, and longer than most; or what money is worth to a tenant is
    free, because it holds one PE of all it wants (docs/decisions/market-equilibrium.md)."""
    assert not market_trials.tried(kind, "deliverable", 1, number).failed


def test_a_market_has_a_number_and_is_always_the_same() -> None:
    for kind in market_trials.KINDS:
        first, again, other = (market_trials.market(kind, number) for number in (7, 7, 8))
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_what_fails_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--kinds", "apart", "--count", "2", "--seed", "5", "--utility", "amdahl"]
    assert market_trials.main(arguments) == 0
    assert "failed: none" in capsys.readouterr().out
    monkeypatch.setattr(market_trials, "EXACT", -1.0)
    assert market_trials.main(arguments) == 1
    assert "failed: [5, 6]" in capsys.readouterr().out
