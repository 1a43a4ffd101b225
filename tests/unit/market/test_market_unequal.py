# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Markets of clusters orders of magnitude apart in size: by way of more equal ones, and not by the slow way."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.market import compiled, equilibrium, solve
from eddy.market.problem import Array, Market, check_market
from eddy.market.solve import approach_prices
from unit.market_cases import Case, demanded, worst_violation


def wide(seed: int) -> Case:
    """500 tenants, 60 clusters of 0.5 to 10,000 PEs. With seeds 5 and 10 Newton steps from the start lead nowhere."""
    rng = np.random.default_rng(seed)
    fraction, speed = rng.uniform(0.3, 0.9999, (500, 60)), rng.uniform(0.1, 3, (500, 60))
    return Case(fraction, speed, rng.uniform(1, 5, 500), 10 ** rng.uniform(-0.3, 4, 60))


@pytest.mark.parametrize("in_c", [True, False], ids=["compiled", "numpy"])
@pytest.mark.parametrize("seed", [5, 10])
def test_newton_finds_prices_of_very_unequal_clusters(monkeypatch: pytest.MonkeyPatch, seed: int, in_c: bool) -> None:
    case = wide(seed)
    if not in_c:
        monkeypatch.setattr(compiled, "LIBRARY", None)

    def slow(*_: object) -> None:
        raise AssertionError("the interior point was asked")

    with monkeypatch.context() as patch:
        patch.setattr(solve, "_by_path", slow)
        eq = equilibrium(*case.arguments)
    assert eq.residual < 1e-9
    assert worst_violation(case, eq.prices, eq.shares) < 1e-9
    assert demanded(case, eq.prices) == pytest.approx(case.capacity, rel=1e-8)
    assert equilibrium(*case.arguments, start=eq.prices).prices == pytest.approx(eq.prices, rel=1e-9)


def test_budgets_twelve_orders_of_magnitude_apart_are_spent_to_the_last() -> None:
    case = wide(5)
    weights = 10 ** np.random.default_rng(1).uniform(-6, 6, 500)
    eq = equilibrium(case.fraction, case.throughput, weights, case.capacity)
    assert eq.residual < 1e-9
    assert (eq.shares @ eq.prices) / (weights / weights.sum()) == pytest.approx(np.ones(500), rel=1e-9)


def test_the_way_begins_with_equal_clusters_and_ends_with_those_asked_for() -> None:
    case, seen = wide(5), list[Market]()
    market = check_market(*case.arguments)

    def near(between: Market, prices: Array) -> Array | None:
        seen.append(between)
        assert float(prices @ between.capacity) == pytest.approx(1)
        return None if len(seen) == 2 else prices

    assert approach_prices(market, near) is not None
    spread = [float(np.ptp(np.log(each.capacity))) / float(np.ptp(np.log(case.capacity))) for each in seen]
    assert spread[:3] == pytest.approx([0.0, 0.5, 0.25]), "a step that led nowhere is halved"
    assert spread[2:] == sorted(spread[2:])
    assert seen[-1].capacity == pytest.approx(case.capacity)
    assert approach_prices(market, lambda _, __: None) is None
    assert approach_prices(market, lambda each, prices: prices if np.ptp(each.capacity) < 1e-9 else None) is None
