# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`mtf_urgent`: most token first, where tenants rank accelerators by the work they would lose."""

from __future__ import annotations

from eddy.policy.price.mtf import MostTokenFirst
from eddy.policy.price.round_shares import RoundShares
from eddy.policy.price.thresholds import Relative
from eddy.policy.price.view import PricePolicy


def rounds() -> MostTokenFirst:
    """Round after round."""
    return MostTokenFirst(Relative(0.5), urgent=True, name="mtf_urgent")


def live() -> PricePolicy:
    """As `--price` takes it."""
    return RoundShares(rounds())
