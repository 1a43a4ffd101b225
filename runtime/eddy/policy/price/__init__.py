# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Price: what does each tenant get of each cluster, and which clusters should the fabric hold? ([000], [003])."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from eddy.model.eddy_slowdown import EddySlowdown
from eddy.model.measured_predictor import MeasuredPredictor
from eddy.model.progress import HsmPredictor, ProgressPredictor
from eddy.policy.price.entitlement import Entitlement
from eddy.policy.price.equal_speedup import EqualSpeedup
from eddy.policy.price.fisher import FisherMarket
from eddy.policy.price.fisher_progress import ProgressMarket
from eddy.policy.price.gandiva import GandivaFair
from eddy.policy.price.learned import trained_actor
from eddy.policy.price.mtf import MostTokenFirst
from eddy.policy.price.progress_fair import ProgressFair
from eddy.policy.price.progress_qos import WIDE, Band, ProgressQos
from eddy.policy.price.round_shares import RoundShares
from eddy.policy.price.rounds import RoundPolicy
from eddy.policy.price.themis import Themis
from eddy.policy.price.view import PricePolicy
from eddy.policy.registry import Policies


def learned_mtf() -> RoundPolicy:
    """Most token first with the actor that ships."""
    return MostTokenFirst(trained_actor())


def _of_rounds(make: Callable[[], RoundPolicy]) -> PricePolicy:
    return RoundShares(make())


def _eddy_slowdown() -> ProgressPredictor:
    return MeasuredPredictor(EddySlowdown())


PREDICTORS: Mapping[str, Callable[[], ProgressPredictor]] = {"hsm": HsmPredictor, "eddy_slowdown": _eddy_slowdown}
"""Predictors of progress, each of which makes two policies, NAME_fair and NAME_qos ([001] 4.3). `eddy_slowdown`
measures where a kernel was seen alone; `hsm` is as published and remembers nothing."""


BANDS: Mapping[str, Band] = {"hsm": WIDE}
"""Of predictors that do not have the usual band (docs/decisions/progress-and-promises.md)."""


def _make_fair(name: str) -> PricePolicy:
    return ProgressFair(PREDICTORS[name](), name=f"{name}_fair")


def _qos(name: str) -> PricePolicy:
    return ProgressQos(PREDICTORS[name](), BANDS.get(name, Band()), name=f"{name}_qos")


POLICIES: Policies[PricePolicy] = Policies(
    "eddy.price_policies",
    {
        "market": FisherMarket,
        "entitlement": Entitlement,
        "equal_speedup": EqualSpeedup,
        "mtf": partial(_of_rounds, learned_mtf),
        "gandiva": partial(_of_rounds, GandivaFair),
        "themis": partial(_of_rounds, Themis),
        **{f"{name}_fair": partial(_make_fair, name) for name in PREDICTORS},
        **{f"{name}_qos": partial(_qos, name) for name in PREDICTORS},
        "market_progress": ProgressMarket,
    },
)
"""Every price policy, as `--price` takes it: name to what makes it."""

__all__ = ["POLICIES", "PREDICTORS", "learned_mtf"]
