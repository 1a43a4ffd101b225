"""Price: what does each tenant get of each cluster, and which clusters should the fabric hold? ([000], [003])."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib import resources

from eddy.model.dase import Dase
from eddy.model.eddy_slowdown import EddySlowdown
from eddy.model.known_alone import KnownAlone
from eddy.model.progress import HsmPredictor, ProgressPredictor
from eddy.model.themis_nn import ThemisNn
from eddy.policy.price.deadline_prices import DeadlinePrices
from eddy.policy.price.entitlement import Entitlement
from eddy.policy.price.equal_speedup import EqualSpeedup
from eddy.policy.price.fisher import FisherMarket
from eddy.policy.price.fisher_progress import ProgressMarket
from eddy.policy.price.gandiva import GandivaFair
from eddy.policy.price.learned import Actor, Hedge, parse
from eddy.policy.price.max_weight import MaxWeight
from eddy.policy.price.mtf import MostTokenFirst
from eddy.policy.price.progress_fair import ProgressFair
from eddy.policy.price.progress_qos import WIDE, Band, ProgressQos
from eddy.policy.price.round_shares import RoundShares
from eddy.policy.price.rounds import RoundPolicy
from eddy.policy.price.themis import Themis
from eddy.policy.price.thresholds import Relative
from eddy.policy.price.view import PricePolicy


@lru_cache
def trained(kind: str) -> Actor | Hedge:
    """The thresholds that ship: `"actor"` or `"hedge"`."""
    return parse(resources.files(__name__).joinpath(f"{kind}.json").read_text(encoding="utf-8"))


def _mtf() -> RoundPolicy:
    return MostTokenFirst(trained("actor"))


def _mtf_hedge() -> RoundPolicy:
    return MostTokenFirst(trained("hedge"), name="mtf_hedge")


def _mtf_urgent() -> RoundPolicy:
    return MostTokenFirst(Relative(0.5), urgent=True, name="mtf_urgent")


ROUNDS: Mapping[str, Callable[[], RoundPolicy]] = {
    "mtf": _mtf,
    "mtf_hedge": _mtf_hedge,
    "mtf_urgent": _mtf_urgent,
    "deadline_prices": DeadlinePrices,
    "gandiva": GandivaFair,
    "themis": Themis,
    "max_weight": MaxWeight,
}
"""Policies that share by rounds ([003]); `max_weight` is a yardstick, fair to nobody."""


def _of_rounds(make: Callable[[], RoundPolicy]) -> PricePolicy:
    return RoundShares(make())


def _eddy_slowdown() -> ProgressPredictor:
    return KnownAlone(EddySlowdown())


PREDICTORS: Mapping[str, Callable[[], ProgressPredictor]] = {
    "hsm": HsmPredictor,
    "dase": Dase,
    "themis_nn": ThemisNn,
    "eddy_slowdown": _eddy_slowdown,
}
"""Predictors of progress, each of which makes two policies, NAME_fair and NAME_qos ([001] 4.3). `eddy_slowdown`
measures where a kernel was seen alone; the others are as published and remember nothing."""


BANDS: Mapping[str, Band] = {"hsm": WIDE}
"""Of predictors that do not have the usual band (docs/decisions/progress-and-promises.md)."""


def _fair(name: str) -> PricePolicy:
    return ProgressFair(PREDICTORS[name](), name=f"{name}_fair")


def _qos(name: str) -> PricePolicy:
    return ProgressQos(PREDICTORS[name](), BANDS.get(name, Band()), name=f"{name}_qos")


BY_PROGRESS: Mapping[str, Callable[[], PricePolicy]] = {
    **{f"{name}_fair": partial(_fair, name) for name in PREDICTORS},
    **{f"{name}_qos": partial(_qos, name) for name in PREDICTORS},
    "market_progress": ProgressMarket,
}
"""Policies that go by predicted progress: they need counters and a calibrated memory (`eddy calibrate`)."""

POLICIES: Mapping[str, Callable[[], PricePolicy]] = {
    "market": FisherMarket,
    "market_amdahl": partial(FisherMarket, utility="amdahl", name="market_amdahl"),
    "entitlement": Entitlement,
    "equal_speedup": EqualSpeedup,
    **{name: partial(_of_rounds, make) for name, make in ROUNDS.items()},
    **BY_PROGRESS,
}
"""Every price policy: name to what makes it."""

__all__ = ["BY_PROGRESS", "POLICIES", "PREDICTORS", "ROUNDS", "trained"]
