# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A price policy in force: exchanged when asked to, and one that fails is replaced by the entitlement for an epoch."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from eddy.hypervisor.cores.market_loop import GuardedPolicy
from eddy.policy.price.view import ClusterView, Configuration, PriceDecision, PriceView, Traits, zero_prices


class CountingPolicy:
    """Answers what it is told to, and remembers how often."""

    name = "counting"

    def __init__(self, shares: object) -> None:
        self._shares = shares

    @property
    def traits(self) -> Traits:
        return Traits()

    def initial(self) -> int:
        return 0

    def decide(self, view: PriceView) -> PriceDecision:
        if isinstance(self._shares, Exception):
            raise self._shares
        return PriceDecision(np.array(self._shares, float), zero_prices(view), memory=view.memory + 1)


def view(memory: object) -> PriceView:
    here = Configuration("one", (ClusterView(0, "wide", 4),), np.ones((2, 1)), np.ones((2, 1)))
    zero = np.zeros((2, 1))
    return PriceView(
        now_s=0.0,
        epoch=3,
        tenants=("a", "b"),
        weights=np.array([3.0, 1.0]),
        present=here,
        waiting_s=np.zeros(2),
        delivered_s=zero,
        counters=((None,), (None,)),
        alternatives=(),
        memory=memory,
        whole=here,
    )


def test_a_decision_is_passed_on_with_what_it_remembers() -> None:
    made = GuardedPolicy(CountingPolicy([[1.0], [2.0]]))
    for count in (1, 2):
        name, decision = made.decide(view(made.memory))
        assert (name, made.memory) == ("counting", count)
        np.testing.assert_array_equal(decision.shares, [[1.0], [2.0]])


@pytest.mark.parametrize(
    "shares",
    [ValueError("no"), [[5.0], [0.0]], [[-1.0], [1.0]], [[np.nan], [1.0]], [[1.0, 1.0]]],
    ids=["raises", "more than there is", "negative", "no number", "wrong shape"],
)
def test_what_cannot_be_given_is_shared_by_entitlement(shares: object, caplog: pytest.LogCaptureFixture) -> None:
    made = GuardedPolicy(CountingPolicy(shares))
    made.memory = 7
    with caplog.at_level(logging.ERROR):
        name, decision = made.decide(view(7))
    assert (name, made.memory) == ("entitlement", 0), "a policy begins again where it failed"
    np.testing.assert_allclose(decision.shares[:, 0], [3.0, 1.0])
    assert "counting" in caplog.text


def test_another_policy_remembers_nothing_and_the_same_one_what_it_did() -> None:
    first = CountingPolicy([[4.0], [0.0]])
    made = GuardedPolicy(first)
    made.decide(view(made.memory))
    made.switch(first)
    assert made.memory == 1
    made.switch(CountingPolicy([[0.0], [4.0]]))
    assert made.memory == 0
    assert made.decide(view(made.memory))[1].shares[0, 0] == 0.0
