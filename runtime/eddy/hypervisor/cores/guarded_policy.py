# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The price policy in force: one that fails keeps nobody's kernels from running."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from eddy.policy.price.view import PriceDecision, PricePolicy, PriceView, entitled, zero_prices

_log = logging.getLogger(__name__)


class GuardedPolicy:
    """A policy, and what it remembers.

    Args:
        policy: In force at first.

    Attributes:
        memory: What it is shown of what it answered before.
    """

    def __init__(self, policy: PricePolicy) -> None:
        self._policy = policy
        self.memory: Any = policy.initial()

    @property
    def policy(self) -> PricePolicy:
        """In force."""
        return self._policy

    def switch(self, policy: PricePolicy) -> None:
        """Put another policy in force, which remembers nothing; the one that is in force goes on as it was."""
        if policy is not self._policy:
            self._policy, self.memory = policy, policy.initial()

    def decide(self, view: PriceView) -> tuple[str, PriceDecision]:
        """The policy's decision; of one that fails, or whose shares cannot be given, the entitlement for this epoch.

        What tenants run shapes what a policy is told; none of it may keep the others' kernels from running.
        """
        try:
            decision = self._policy.decide(view)
        except Exception:
            _log.exception("price policy %s failed; epoch %d is shared by entitlement", self._policy.name, view.epoch)
            return self._entitled(view)
        if not _can_be_given(decision, view):
            _log.error("price policy %s: shares that cannot be given in epoch %d", self._policy.name, view.epoch)
            return self._entitled(view)
        self.memory = decision.memory
        return self._policy.name, decision

    def _entitled(self, view: PriceView) -> tuple[str, PriceDecision]:
        self.memory = self._policy.initial()
        return "entitlement", PriceDecision(entitled(view), zero_prices(view))


def _can_be_given(decision: PriceDecision, view: PriceView) -> bool:
    """Whether shares and prices are numbers, and nobody is promised what is not there."""
    shares, capacity = decision.shares, view.present.capacity
    if shares.shape != view.present.throughput.shape or decision.prices.shape != capacity.shape:
        return False
    whole = np.isfinite(shares).all() and np.isfinite(decision.prices).all()
    return bool(whole and (shares >= 0).all() and (shares.sum(axis=0) <= capacity * (1 + 1e-6)).all())
