"""Price: what does each tenant get of each accelerator in a round? ([003])."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources

from eddy.policy.price.deadline_prices import DeadlinePrices
from eddy.policy.price.gandiva import GandivaFair
from eddy.policy.price.learned import Actor, Hedge, parse
from eddy.policy.price.max_weight import MaxWeight
from eddy.policy.price.mtf import MostTokenFirst
from eddy.policy.price.themis import Themis
from eddy.policy.price.thresholds import Relative
from eddy.policy.price.view import PricePolicy


@lru_cache
def trained(kind: str) -> Actor | Hedge:
    """The thresholds that ship: `"actor"` or `"hedge"`."""
    return parse(resources.files(__name__).joinpath(f"{kind}.json").read_text(encoding="utf-8"))


def _mtf() -> PricePolicy:
    return MostTokenFirst(trained("actor"))


def _mtf_hedge() -> PricePolicy:
    return MostTokenFirst(trained("hedge"), name="mtf_hedge")


def _mtf_urgent() -> PricePolicy:
    return MostTokenFirst(Relative(0.5), urgent=True, name="mtf_urgent")


POLICIES: Mapping[str, Callable[[], PricePolicy]] = {
    "mtf": _mtf,
    "mtf_hedge": _mtf_hedge,
    "mtf_urgent": _mtf_urgent,
    "deadline_prices": DeadlinePrices,
    "gandiva": GandivaFair,
    "themis": Themis,
    "max_weight": MaxWeight,
}
"""Name to what makes the policy; `max_weight` is a yardstick, fair to nobody."""

__all__ = ["POLICIES", "trained"]
