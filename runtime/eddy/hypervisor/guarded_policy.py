"""The price policy in force: exchanged between two epochs, and one that fails keeps nobody's kernels from running."""

from __future__ import annotations

import logging
import threading
from typing import Any

import numpy as np

from eddy.policy.price.view import PriceDecision, PricePolicy, PriceView, entitled, unpriced

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
        self._next: PricePolicy | None = None
        self._switching = threading.Lock()
        self.memory: Any = policy.initial()

    @property
    def name(self) -> str:
        """Of the policy in force, or about to be."""
        return (self._next or self._policy).name

    def switch(self, policy: PricePolicy) -> None:
        """Another policy, once `exchange` is called; from any thread."""
        with self._switching:
            self._next = policy

    def exchange(self) -> None:
        """Put the policy in force that was asked for meanwhile, if any."""
        with self._switching:
            asked, self._next = self._next, None
        if asked is not None:
            self._policy, self.memory = asked, asked.initial()

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
        return "entitlement", PriceDecision(entitled(view), unpriced(view))


def _can_be_given(decision: PriceDecision, view: PriceView) -> bool:
    """Whether shares and prices are numbers, and nobody is promised what is not there."""
    shares, capacity = decision.shares, view.present.capacity
    if shares.shape != view.present.throughput.shape or decision.prices.shape != capacity.shape:
        return False
    whole = np.isfinite(shares).all() and np.isfinite(decision.prices).all()
    return bool(whole and (shares >= 0).all() and (shares.sum(axis=0) <= capacity * (1 + 1e-6)).all())
