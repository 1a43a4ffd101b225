# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Markets at the end of double precision: solved in more digits, or refused; never called exact when they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.market import Certificate, certify, equilibrium, sharing_incentive
from eddy.market.result import complete_result
from unit.market_cases import Case, worst_violation

UNREACHED: dict[str, tuple[Any, Any, Any, Any]] = {
    "heavy and light": (
        [[0.0344, 0.415, 0.00244], [0.00102, 0.00702, 0.00545]],
        [[6.33, 0.088, 0.14], [424.0, 0.000365, 0.000153]],
        [0.000731, 742.0],
        [8, 2, 8],
    ),
    "serial work": (
        [[0.00525, 0.0275], [0.00604, 0.00693], [0.00355, 0.0175]],
        [[0.298, 2.45], [0.615, 2.46], [0.422, 0.283]],
        [77.2, 3.67, 0.04],
        [1, 4],
    ),
}
"""Markets that the interior point does not reach, with the deliverable utility."""
TINY: dict[str, Any] = {
    "weights": ([[0.5, 0.5], [0.5, 0.5]], [[1, 2], [2, 1]], [1e-300, 2e-300], [1, 1]),
    "capacity": ([[0.5, 0.5], [0.5, 0.5]], [[1, 2], [2, 1]], [1, 2], [1e-300, 1]),
}


def _case(numbers: tuple[Any, Any, Any, Any], utility: str) -> Case:
    fraction, speed, weights, capacity = (np.asarray(each, np.float64) for each in numbers)
    return Case(fraction, speed, weights, capacity, utility)


@pytest.mark.parametrize("name", UNREACHED)
def test_what_double_precision_does_not_reach_is_reached_in_digits(name: str) -> None:
    numbers = UNREACHED[name]
    case = _case(numbers, "deliverable")
    eq = equilibrium(*numbers, utility="deliverable")
    assert eq.residual < 1e-9
    assert worst_violation(case, eq.prices, eq.shares) < 1e-9
    assert (sharing_incentive(eq) > 1 - 1e-9).all()


def test_without_digits_the_nearest_answer_says_how_near_it_is() -> None:
    numbers = UNREACHED["serial work"]
    near = equilibrium(*numbers, utility="deliverable", in_digits=False)
    case = _case(numbers, "deliverable")
    assert near.residual > 1e-9
    assert near.residual >= 0.1 * worst_violation(case, near.prices, near.shares)


def _market(rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """A market with F down to a thousandth, and throughputs and weights twelve orders of magnitude apart."""
    n, m = rng.integers(1, 6), rng.integers(1, 4)
    powers = rng.uniform(-3, 0, (n, m)), rng.uniform(-6, 6, (n, m)), rng.uniform(-6, 6, n), rng.uniform(-1, 4, m)
    fraction, speed, weights, capacity = (10**each for each in powers)
    return fraction, speed, weights, capacity


@pytest.mark.parametrize("utility", ["amdahl", "deliverable"])
def test_markets_far_apart_in_everything_are_solved(utility: str) -> None:
    rng = np.random.default_rng(4)
    for k in range(150):
        numbers = _market(rng)
        eq = equilibrium(*numbers, utility=utility)
        assert eq.residual < 1e-9, f"market {k}"
        assert worst_violation(_case(numbers, utility), eq.prices, eq.shares) < 1e-9, f"market {k}"
        assert (sharing_incentive(eq) > 1 - 1e-9).all(), f"market {k}"


@pytest.mark.parametrize("field", TINY)
def test_numbers_too_small_to_compute_with_are_refused_by_name(field: str) -> None:
    fraction, speed, weights, capacity = TINY[field]
    for utility in ("amdahl", "deliverable"):
        with pytest.raises(InvalidRequest, match=rf"{field}\[0\] is 1e-300; it must be above 0.*from 1e-50"):
            equilibrium(fraction, speed, weights, capacity, utility)


def test_weights_and_capacities_as_small_as_they_may_be_are_solved() -> None:
    for weights, capacity in (([1e-50, 2e-50], [1, 1]), ([1, 2], [1e-50, 1e-50])):
        eq = equilibrium([[0.5, 0.5], [0.5, 0.5]], [[1, 2], [2, 1]], weights, capacity)
        assert eq.residual < 1e-9
        assert np.isfinite(eq.shares).all()


def test_a_residual_is_infinite_where_anything_is_not_a_number() -> None:
    eq = equilibrium([[0.5, 0.5]], [[1, 2]], [1], [1, 1])
    broken = eq.shares * [[np.nan, 1.0]]
    assert certify(eq.market, eq.prices, broken, broken * eq.prices).residual == np.inf
    for parts in ((np.nan, 0.0, 0.0), (0.0, np.nan, 0.0), (0.0, 0.0, np.nan), (0.0, np.inf, 0.0)):
        assert Certificate(*parts).residual == np.inf


@pytest.mark.parametrize("utility", ["amdahl", "deliverable"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_share_that_is_not_a_number_passes_for_an_answer(utility: str, value: float) -> None:
    eq = equilibrium([[0.5, 0.7, 1.0], [0.4, 1.0, 0.2]], [[1, 2, 0], [2, 0, 1]], [1, 2], [1, 2, 3], utility)
    for place in np.ndindex(eq.shares.shape):
        shares = eq.shares.copy()
        shares[place] = value
        assert complete_result(eq.market, eq.prices, shares, 1).residual == np.inf, "where it is not wanted, too"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("epsilon", value) for value in (-1, 0, float("nan"), "a", True)),
        *(("most_rounds", value) for value in (0, -3, 1.5, "a", True)),
        *(("tol", value) for value in ("a", None, 0, float("nan"), float("inf"), True)),
    ],
)
def test_how_to_solve_is_checked_too(field: str, value: object) -> None:
    how: dict[str, Any] = {"method": "proportional_response", field: value}
    with pytest.raises(InvalidRequest, match=field) as refused:
        equilibrium([[0.5, 0.5]], [[1, 2]], [1], [1, 1], **how)
    assert refused.value.details["field"] == field
