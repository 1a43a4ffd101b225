# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Entitlement ([000] 5.3): every cluster is divided in proportion to weights, whoever can use it how well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eddy.policy.price.view import PriceDecision, PriceView, Traits, entitled, zero_prices


@dataclass(frozen=True, slots=True)
class Entitlement:
    """Shares by weight."""

    name: str = "entitlement"
    traits: ClassVar[Traits] = Traits(usable=False)

    def initial(self) -> None:
        """Nothing to remember."""

    def decide(self, view: PriceView) -> PriceDecision:
        """The same part of every cluster."""
        return PriceDecision(entitled(view), zero_prices(view))
