# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`market_amdahl`: the market of [000] with equation (3.2) below one core, too; nobody's part is kept
(docs/decisions/sharing-cores.md)."""

from __future__ import annotations

from eddy.policy.price.fisher import FisherMarket
from eddy.policy.price.view import PricePolicy


def live() -> PricePolicy:
    """As `--price` takes it."""
    return FisherMarket(utility="amdahl", name="market_amdahl")
