# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The market on measured progress: fractions that follow curves, no cores beyond saturation, and what that gains."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
from eddy.model.parallel_fraction import speedup
from eddy.model.progress import ProgressCurve, linear_curve
from eddy.policy.price.fisher import FisherMarket
from eddy.policy.price.fisher_progress import ProgressMarket, _useful, saturating_fraction
from eddy_studies.progress_market.run import KERNELS, MIX, _run, _view, play, reproduce
from unit.policy.price.test_price_shares import random_view, with_memory


def test_a_fraction_rises_as_its_curve_does() -> None:
    curve = linear_curve(0.6, 3, 16)  # a fifth a core: full with five
    fraction = saturating_fraction(curve)
    assert speedup(fraction, 16) == pytest.approx(5.0)
    assert saturating_fraction(linear_curve(0.25, 4, 16)) == 1.0
    assert saturating_fraction(ProgressCurve(0.0, (0.0, 0.0, 0.0))) == 1.0


def test_cores_beyond_saturation_go_to_who_can_use_them() -> None:
    full = dataclasses.replace(linear_curve(0.9, 3, 16), memory_bound=True)
    shares = _useful(np.array([[8.0], [6.0], [2.0]]), [(full, None, None)])
    assert shares[0, 0] == 4.0
    assert shares[1, 0] / shares[2, 0] == pytest.approx(3.0)
    assert shares.sum() == pytest.approx(16.0)
    alone = _useful(np.array([[16.0]]), [(full,)])
    assert alone[0, 0] == 4.0, "there is nobody to use the rest"


def test_without_counters_it_is_the_market() -> None:
    shown = random_view(5, tenants=4)
    found = ProgressMarket().decide(with_memory(shown, {}))
    plain = FisherMarket().decide(with_memory(shown, {}))
    assert np.array_equal(found.shares, plain.shares)
    assert np.array_equal(found.prices, plain.prices)


def test_kernels_bound_by_cores_are_sold_the_same() -> None:
    mix = ("compute",) * MIX
    kernels = [KERNELS["compute"]] * MIX
    runs = _run(kernels, np.full((MIX, 2), 4.0))
    shown = _view(1, mix, kernels, runs, {})
    assert ProgressMarket().decide(shown).shares == pytest.approx(FisherMarket().decide(shown).shares)


def test_where_memories_are_full_it_wastes_nothing_and_more_gets_done() -> None:
    mix = ("stream", "scatter", "compute", "filter")
    market, progress = play(mix, "market"), play(mix, "market_progress")
    assert market.wasted > 0.5
    assert progress.wasted < 0.01
    assert progress.paid_for_waste < 0.01 * market.paid_for_waste
    assert sum(progress.work) > 1.15 * sum(market.work)


@pytest.mark.parametrize("mix", list(itertools.combinations(KERNELS, MIX)), ids="+".join)
def test_nobody_is_worse_off_than_on_the_market(mix: tuple[str, ...]) -> None:
    market, progress = play(mix, "market"), play(mix, "market_progress")
    assert sum(progress.work) > 0.999 * sum(market.work)
    assert min(progress.work) > 0.999 * min(market.work)


def test_the_study_writes_what_it_says(tmp_path: Path) -> None:
    rows = reproduce(tmp_path, 0, True, lambda _: None)
    assert len(rows) == 15
    assert (tmp_path / "market_progress.csv").read_text().count("\n") == 4
