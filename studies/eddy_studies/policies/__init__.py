# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Policies and predictors to compare with; each registers by an entry point of this distribution."""

from collections.abc import Callable, Mapping

from eddy.model.progress import ProgressPredictor
from eddy.policy.price import PREDICTORS as SHIPPED
from eddy.policy.price import learned_mtf
from eddy.policy.price.gandiva import GandivaFair
from eddy.policy.price.rounds import RoundPolicy
from eddy.policy.price.themis import Themis

from eddy_studies.policies import hedge, mtf_urgent
from eddy_studies.policies.dase import Dase
from eddy_studies.policies.deadline_prices import DeadlinePrices
from eddy_studies.policies.max_weight import MaxWeight
from eddy_studies.policies.themis_nn import ThemisNn

PREDICTORS: Mapping[str, Callable[[], ProgressPredictor]] = {
    "hsm": SHIPPED["hsm"],
    "dase": Dase,
    "themis_nn": ThemisNn,
    "eddy_slowdown": SHIPPED["eddy_slowdown"],
}
"""Predictors of progress ([001] 4.3). `eddy_slowdown` measures where a kernel was seen alone; the others are as
published and remember nothing."""

ROUNDS: Mapping[str, Callable[[], RoundPolicy]] = {
    "mtf": learned_mtf,
    "mtf_hedge": hedge.rounds,
    "mtf_urgent": mtf_urgent.rounds,
    "deadline_prices": DeadlinePrices,
    "gandiva": GandivaFair,
    "themis": Themis,
    "max_weight": MaxWeight,
}
"""Policies that share by rounds ([003]); `max_weight` is a yardstick, fair to nobody."""

__all__ = ["PREDICTORS", "ROUNDS"]
