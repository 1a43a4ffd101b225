# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Straight utilities of every kind, markets too large for the whole path in 60 digits, and what is given where nothing
exact is found."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.market import equilibrium, newton_steps, reduced_market, sharing_incentive, solve
from eddy.market.exact import refine_exact
from eddy.market.problem import Array, Market, check_market
from eddy.market.result import complete_result
from eddy.market.smoothed import ONE, ZERO, DemandSample, SmoothedDemand
from eddy.market.solve import safe_equilibrium
from unit.market_cases import Case, worst_violation

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import benches.market
import market_trials

BELOW_ITS_PART = (
    [[1.0, 0.0021, 1.0], [1.0, 0.539, 1.0], [1.88e-08, 2.05e-05, 1.0]],
    [[66.0, 188.0, 83.9], [1070.0, 3.27, 0.00437], [0.00894, 1400.0, 2.17]],
    [27.9, 6.53, 52.0],
    [185.0, 7.91, 0.944],
)
"""A market that double precision does not solve with the deliverable utility; a tenant of its nearest answer has an
eighth of what its entitlement is worth."""


def _case(numbers: tuple[Any, ...], utility: str) -> Case:
    fraction, speed, weights, capacity = (np.asarray(each, np.float64) for each in numbers)
    return Case(fraction, speed, weights, capacity, utility)


@pytest.mark.parametrize("utility", ["amdahl", "deliverable"])
@pytest.mark.parametrize("kind", benches.market.LARGE)
def test_straight_markets_of_every_kind_are_solved(kind: str, utility: str) -> None:
    """The same in a small size as `benches.market.py --whole` solves with 5,000 tenants and 500 clusters."""
    for n, m in ((120, 24), (40, 60)):
        numbers = benches.market.large(kind, n, m)[:4]
        eq = equilibrium(*numbers, utility, in_digits=False)
        case = _case(numbers, utility)
        assert eq.residual < 1e-9, (n, m)
        assert worst_violation(case, eq.prices, eq.shares) < 1e-9, (n, m)
        assert (sharing_incentive(eq) > 1 - 1e-9).all(), (n, m)


@pytest.mark.parametrize(("number", "utility"), [(36, "amdahl"), (32, "deliverable")])
def test_a_larger_market_is_solved_with_what_matters_of_it(
    monkeypatch: pytest.MonkeyPatch, number: int, utility: str
) -> None:
    numbers = market_trials.market("extremes", number)
    assert equilibrium(*numbers, utility, in_digits=False).residual > 1e-9
    sizes = []

    def counted(market: Market) -> Iterator[tuple[tuple[Array, Array], int]]:
        sizes.append(int((market.throughput > 0).sum()))
        return refine_exact(market)

    monkeypatch.setattr(solve, "MAX_ENTRIES", 0)
    monkeypatch.setattr(reduced_market, "_BUYERS", 1)
    monkeypatch.setattr(reduced_market, "refine_exact", counted)
    eq = equilibrium(*numbers, utility)
    assert eq.residual < 1e-9
    case = _case(numbers, utility)
    assert worst_violation(case, eq.prices, eq.shares) < 1e-9
    assert sizes[0] < (numbers[1] > 0).sum()


def test_what_a_tenant_misses_is_taken_up() -> None:
    """From prices that say nothing, tenants first keep the wrong clusters."""
    rng = np.random.default_rng(3)
    market = check_market(rng.uniform(0.2, 0.9, (12, 6)), 10 ** rng.uniform(-1, 1, (12, 6)), np.ones(12), np.ones(6))
    expected = equilibrium(market.fraction, market.throughput, market.budgets, market.capacity)
    odd = np.array([1e-3, 1, 1e3, 1e-3, 1, 1e3])
    shares = np.zeros((12, 6))
    shares[:, 0] = market.budgets / odd[0]
    residuals = [
        complete_result(market, p, x, looks).residual
        for (x, p), looks in reduced_market.narrow_prices(market, odd, shares)
    ]
    assert residuals[0] > 1e-3
    assert residuals[-1] < 1e-9
    *_, ((_, prices), _) = reduced_market.narrow_prices(market, odd, shares)
    assert prices == pytest.approx(expected.prices, rel=1e-9)


def test_markets_with_too_much_that_matters_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    market = check_market(np.full((3, 4), 0.5), np.ones((3, 4)), np.ones(3), np.ones(4))
    shares = np.full((3, 4), 1 / 3)
    assert list(reduced_market.narrow_prices(market, np.full(4, 0.25), shares))
    for limit in ("MAX_KEPT", "MAX_ELIMINATED"):
        with monkeypatch.context() as patch:
            patch.setattr(reduced_market, limit, 2)
            assert not list(reduced_market.narrow_prices(market, np.full(4, 0.25), shares))


@pytest.mark.parametrize("utility", ["amdahl", "deliverable"])
@pytest.mark.parametrize(("n", "m"), [(3, 5), (5, 3)])
def test_steps_are_the_same_whichever_unknowns_are_eliminated_and_change_demand_as_asked(
    utility: str, n: int, m: int
) -> None:
    rng = np.random.default_rng(8)
    numbers = rng.uniform(0.1, 1, (n, m)), rng.uniform(0.1, 2, (n, m)), rng.uniform(1, 5, n), rng.uniform(1, 4, m)
    demand = SmoothedDemand(check_market(*numbers, utility))
    prices, worths = demand.even()
    at = [each.ln() for each in [*prices, Decimal("0.1"), *worths]]

    def look(place: list[Decimal]) -> DemandSample:
        every = [each.exp() for each in place]
        return demand.at(every[:m], every[m + 1 :], every[m])

    before, size = look(at), Decimal("1e-7")
    asked = [size * k for k in range(1, m + 1)]
    directions = [None, ([ONE] * (m + 1 + n), size)]
    for along in directions:
        both = [by(before, asked, False, along) for by in (newton_steps._by_prices, newton_steps._by_worths)]
        assert [float(a / b) for a, b in zip(*both, strict=True) if b] == pytest.approx(
            np.ones(m + n + (along is not None))
        )
        move = both[0]
        assert move[m] == 0 if along is None else float(sum(move) / size) == pytest.approx(1)
        after = look([a + b for a, b in zip(at, move, strict=True)])
        changes = [(a - b) / size for a, b in zip(after.excess, before.excess, strict=True)]
        assert [float(each) for each in changes] == pytest.approx(list(range(1, m + 1)), abs=1e-3)
        spent = [(a - b) / size for a, b in zip(after.over, before.over, strict=True)]
        assert [float(each) for each in spent] == pytest.approx([0.0] * n, abs=1e-3)
    mended = [by(before, [ZERO] * m, True, None) for by in (newton_steps._by_prices, newton_steps._by_worths)]
    assert [float(a / b) for a, b in zip(*mended, strict=True) if b] == pytest.approx(np.ones(m + n))


def test_where_nothing_exact_is_found_clusters_are_given_away_once_and_entitlements_kept() -> None:
    eq = equilibrium(*BELOW_ITS_PART, "deliverable", in_digits=False)
    assert eq.residual > 1e-9
    assert eq.shares.sum(axis=0) == pytest.approx(eq.market.capacity)
    assert (eq.shares >= 0).all()
    assert (sharing_incentive(eq) > 1 - 1e-9).all()
    assert equilibrium(*BELOW_ITS_PART, "deliverable").residual < 1e-9


def test_answers_are_made_safe_whatever_they_are() -> None:
    eq = equilibrium([[0.5, 0.7], [0.4, 0.9]], [[1, 2], [2, 1]], [1, 2], [1, 2])
    assert safe_equilibrium(eq) is eq
    nearly = complete_result(eq.market, eq.prices, eq.shares * [[1.3, 1.1]], 7)
    assert safe_equilibrium(nearly).shares == pytest.approx(eq.shares)
    entitled = eq.market.budgets[:, None] * eq.market.capacity
    for broken in (eq.shares * [[np.nan], [1]], eq.shares * [[0.01], [1]], 0 * eq.shares, -eq.shares):
        found = safe_equilibrium(complete_result(eq.market, eq.prices, broken, 7))
        assert found.shares == pytest.approx(entitled)
        assert found.certificate.budget < 1e-12
        assert found.residual > 1e-3
    no_prices = replace(eq, prices=eq.prices * np.nan, shares=eq.shares * np.nan)
    assert np.isfinite(safe_equilibrium(no_prices).residual)
