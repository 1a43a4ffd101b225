# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the market refuses, what welfare says, and which configuration is chosen."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.market import (
    Candidate,
    certify,
    choose_configuration,
    egalitarian,
    envy,
    equilibrium,
    log_nash,
    nash,
    pareto_efficiency,
    sharing_incentive,
    social,
)
from eddy.market.result import complete_result

GOOD: dict[str, Any] = {
    "parallel_fraction": [[0.9, 0.8], [0.7, 1.0]],
    "throughput": [[1.0, 2.0], [1.0, 0.0]],
    "weights": [1.0, 2.0],
    "capacity": [4.0, 8.0],
}


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("weights", [1.0, -2.0], "weights[1] is -2.0"),
        ("weights", [1.0, 0.0], "weights[1] is 0.0"),
        ("weights", [1.0, float("nan")], "weights[1] is nan"),
        ("weights", [1.0, float("inf")], "weights[1] is inf"),
        ("weights", [], "weights is empty"),
        ("weights", [1.0, 2.0, 3.0], "weights has shape (3,)"),
        ("capacity", [1.0], "capacity has shape (1,)"),
        ("parallel_fraction", [[0.9, 0.8, 0.7], [0.7, 0.9, 0.7]], "parallel_fraction has shape (2, 3)"),
        ("weights", [[1.0, 2.0]], "weights has shape (1, 2)"),
        ("weights", ["a", "b"], "weights must be an array of real numbers"),
        ("weights", [10**400, 1], "weights must be an array of real numbers"),
        ("weights", np.array([1, 4 + 1j]), "weights must be an array of real numbers"),
        ("throughput", np.ones((2, 2)).view(np.ma.MaskedArray), "throughput must be an array of real numbers"),
        ("capacity", [4.0, 0.0], "capacity[1] is 0.0"),
        ("capacity", [], "capacity is empty"),
        ("capacity", [4.0, float("nan")], "capacity[1] is nan"),
        ("parallel_fraction", [[0.9, 0.8], [0.0, 1.0]], "parallel_fraction[1, 0] is 0.0"),
        ("parallel_fraction", [[0.9, 0.8], [0.7, 1.1]], "parallel_fraction[1, 1] is 1.1"),
        ("parallel_fraction", [[0.9, 0.8], [0.7, float("nan")]], "parallel_fraction[1, 1] is nan"),
        ("parallel_fraction", [[0.9, 0.8], [0.7]], "parallel_fraction must be an array of real numbers"),
        ("throughput", [[1.0, 2.0], [0.0, 0.0]], "tenant 1 wants nothing"),
        ("throughput", [[1.0, -2.0], [1.0, 0.0]], "throughput[0, 1] is -2.0"),
        ("throughput", [[1.0, float("inf")], [1.0, 0.0]], "throughput[0, 1] is inf"),
        ("throughput", [[1.0, 2.0]], "throughput has shape (1, 2)"),
        ("utility", "cobb-douglas", "utility is 'cobb-douglas'"),
        ("method", "guess", "method is 'guess'"),
        ("tol", 0.0, "tol is 0.0"),
        ("tol", float("nan"), "tol is nan"),
        ("tol", 10**400, "tol is 1000"),
        ("utility", np.array(["amdahl", "amdahl"]), "utility is array"),
        ("start", [1.0], "start must be 2 prices"),
        ("start", [1.0, float("nan")], "start must be 2 prices"),
        ("start", [0.0, 0.0], "start must be 2 prices"),
        ("start", np.ones(2, complex), "start must be an array of real numbers"),
    ],
)
def test_wrong_input_is_refused_with_a_sentence_that_names_it(field: str, value: Any, says: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        equilibrium(**{**GOOD, field: value})
    assert says in refused.value.message
    assert refused.value.message.endswith(".")
    assert refused.value.details["allowed"]
    assert refused.value.details["field"] == field


NO_NUMBERS: list[Any] = ["1", b"1", True, np.True_, np.datetime64(1, "s"), None]
"""Each of which numpy would read as 1 or as not a number."""


@pytest.mark.parametrize("field", GOOD)
@pytest.mark.parametrize("wrong", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("make", [list, np.array], ids=["list", "array"])
def test_what_numpy_would_take_for_a_number_is_refused_if_it_is_none(field: str, wrong: Any, make: Any) -> None:
    for some in ([wrong, wrong], [1.0, wrong]):
        value = make(some if field in ("weights", "capacity") else [some, some])
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            continue  # np.array([1.0, True]) is an array of floats
        with pytest.raises(InvalidRequest, match=f"^{field} must be an array of real numbers"):
            equilibrium(**{**GOOD, field: value})


@pytest.mark.parametrize("kind", [int, np.float32, Fraction, Decimal])
def test_real_numbers_of_every_kind_make_the_same_market(kind: Any) -> None:
    numbers = [[kind(1), kind(2)], [kind(2), kind(1)]], [kind(1), kind(3)]
    for make in (list, np.array):
        eq = equilibrium([[0.5, 0.5]] * 2, make(numbers[0]), tuple(numbers[1]), make(numbers[1]))
        same = equilibrium([[0.5, 0.5]] * 2, [[1.0, 2.0], [2.0, 1.0]], [1.0, 3.0], [1.0, 3.0])
        assert eq.prices.tolist() == same.prices.tolist()


def test_the_certificate_finds_what_is_wrong_with_other_shares() -> None:
    eq = equilibrium(**GOOD)
    even = eq.market.budgets[:, None] * eq.market.capacity
    assert certify(eq.market, eq.prices, even, even * eq.prices).optimality > 0.1
    less = eq.shares * 0.9
    found = certify(eq.market, eq.prices, less, less * eq.prices)
    assert found.clearing == pytest.approx(0.1)
    assert found.budget == pytest.approx(0.1)
    assert found.residual >= 0.1


def test_the_even_split_is_neither_efficient_nor_better_than_the_market() -> None:
    eq = equilibrium(**GOOD)
    even = complete_result(eq.market, eq.prices, eq.market.budgets[:, None] * eq.market.capacity, 0)
    assert pareto_efficiency(even) > 0.01
    assert pareto_efficiency(eq) < 1e-12
    assert sharing_incentive(even) == pytest.approx([1, 1])
    assert sharing_incentive(eq).max() > 1.05


def test_who_gets_nothing_of_what_it_wants_is_envious() -> None:
    eq = equilibrium(**GOOD)
    swapped = complete_result(eq.market, eq.prices, eq.shares[::-1].copy(), 0)
    assert envy(swapped).max() > 1
    assert envy(eq).max() <= 1 + 1e-9


def test_welfare() -> None:
    assert social([1, 2, 3]) == 6
    assert egalitarian([1, 2, 3]) == 1
    assert nash([1, 2, 3]) == 6
    assert log_nash([1, 2, 3]) == pytest.approx(np.log(6))
    assert nash([1, 0]) == 0
    assert log_nash([1, 0]) == float("-inf")
    assert log_nash([1e-3] * 1000) == pytest.approx(1000 * np.log(1e-3))
    for wrong in ([], [-1.0], [float("nan")], [[1.0]]):
        with pytest.raises(InvalidRequest, match="utilities must be"):
            social(wrong)


def candidates(gain: float = 1.2, change_s: Any = 2.0) -> list[Candidate]:
    """Two configurations of which the second is `gain` times as good for everybody."""
    fraction = np.array([[0.9, 0.8], [0.7, 0.95]])
    speed = np.array([[1.0, 2.0], [1.0, 1.0]])
    capacity = np.array([4.0, 8.0])
    return [
        Candidate("small", fraction, speed, capacity, change_s),
        Candidate("large", fraction, gain * speed, capacity, change_s),
    ]


WEIGHTS = np.array([1.0, 4.0])


def test_the_configuration_of_most_nash_welfare_is_chosen() -> None:
    choice = choose_configuration(candidates(), WEIGHTS)
    assert choice.name == "large"
    assert choice.mean_utility["large"] == pytest.approx(1.2 * choice.mean_utility["small"])
    assert choice.equilibria["large"] is not None
    utilities = choice.equilibria["large"].utilities
    assert choice.mean_utility["large"] ** 2 == pytest.approx(nash(utilities))


def test_a_change_must_pay_for_itself_within_the_horizon() -> None:
    """A gain of 1.2 pays for 2 seconds without service over 12 seconds, and not over less."""
    assert choose_configuration(candidates(), WEIGHTS, "small", 12.1).name == "large"
    assert choose_configuration(candidates(), WEIGHTS, "small", 11.9).name == "small"
    assert choose_configuration(candidates(), WEIGHTS, "small", 1.0).name == "small"
    assert choose_configuration(candidates(), WEIGHTS, "large", 1.0).name == "large"


def test_nearly_equal_configurations_do_not_thrash() -> None:
    current, changes = "small", 0
    for epoch in range(50):
        found = choose_configuration(candidates(1 + 0.02 * (-1) ** epoch, 0.5), WEIGHTS, current, 10.0).name
        changes += found != current
        current = found
    assert changes == 0
    assert choose_configuration(candidates(1.0, 0.0), WEIGHTS, "large").name == "large"


def test_a_configuration_someone_cannot_use_is_not_chosen() -> None:
    good, other = candidates()
    useless = Candidate("useless", other.parallel_fraction, np.array([[9.0, 9], [0, 0]]), other.capacity)
    choice = choose_configuration([useless, good], WEIGHTS, "useless")
    assert choice.name == "small"
    assert choice.equilibria["useless"] is None
    assert choice.mean_utility["useless"] == 0


def test_choices_that_make_no_sense_are_refused() -> None:
    both = candidates()
    for arguments, says in (
        (([], WEIGHTS), "candidates must be"),
        (([both[0], both[0]], WEIGHTS), "candidates must be"),
        ((both, WEIGHTS, "none"), "current is 'none'"),
        ((both, WEIGHTS, None, 0.0), "horizon_s is 0.0"),
        ((candidates(change_s=-1.0), WEIGHTS), "change_s of small is -1.0"),
        ((candidates(change_s="soon"), WEIGHTS), "change_s of small is 'soon'"),
        ((candidates(change_s=float("inf")), WEIGHTS), "change_s of small is inf"),
        ((both, WEIGHTS, None, "long"), "horizon_s is 'long'"),
        ((both, WEIGHTS, None, float("nan")), "horizon_s is nan"),
        ((None, WEIGHTS), "candidates must be"),
        (([1], WEIGHTS), "candidates must be"),
        ((both, -WEIGHTS), "weights[0] is -1.0"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            choose_configuration(*arguments)
        assert says in refused.value.message
