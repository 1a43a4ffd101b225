# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who gets the core that is free now: a pure function of promises and accounts.

A price policy promises each tenant a share of each cluster, in cores. Cores are given for a slice of a kernel at a
time, which nobody can interrupt, so a promise is kept over time: each tenant runs on floor(x) or ceil(x) cores at any
moment, and *lag*, the core-seconds it was due less those it had, decides which. A slice is charged by what it took,
whatever anybody said it would take: a kernel that spins, or whose estimate is wrong, uses up its own tenant's time.

What a tenant leaves idle goes to the others at once, in proportion to their shares of that cluster: all pay the same
price for it, so this is in proportion to what they spend there. Nobody owes anything for time that nobody else wanted,
and nobody is due time before it wanted any, or more than it used when it wants no more: ideal sharing, in which all run
at once at the speed of their shares, would have ended its work earlier and given it nothing since. Who has no share of
a cluster runs on it only while it would stand idle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_EXACT = 1e-9
"""Shares this near to a whole number of cores are that number."""
REPAID_S = 1.0
"""Seconds of one core: a tenant with so much more lag than is left alone counts as having a share of one core more."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One tenant on one cluster.

    Attributes:
        tenant: Its name; settles ties.
        share: Cores it was promised, 0 or more.
        weight: What it is entitled to, relative to the others: divides what nobody has a share of.
        running: Cores it holds.
        wants: Further cores it could use now.
        lag_s: Core-seconds it was due less those it had, the slices that run counted up to now.
    """

    tenant: str
    share: float
    weight: float
    running: int
    wants: int
    lag_s: float = 0.0

    @property
    def most(self) -> int:
        """Cores it could use in all."""
        return self.running + self.wants


def shares_in_force(claims: Sequence[Claim], cores: int) -> dict[str, float]:
    """Shares as they are while some leave theirs idle: nobody has more than it can use, and no core is left.

    Args:
        claims: Of one cluster, one a tenant.
        cores: It has so many.

    Returns:
        Cores by tenant; they sum to `cores`, or to what all can use together where that is less.
    """
    given = {claim.tenant: 0.0 for claim in claims}
    left = _divide(given, {c.tenant: (c.share, c.most) for c in claims if c.share > 0}, float(cores))
    if left > _EXACT:
        _divide(given, {c.tenant: (c.weight, c.most) for c in claims if c.share <= 0}, left)
    return given


def _divide(given: dict[str, float], asked: Mapping[str, tuple[float, int]], left: float) -> float:
    """Divide cores in proportion, nobody having more than it asks for; answers what is left."""
    open_ = {tenant: want for tenant, want in asked.items() if want[1] > 0}
    while open_ and left > _EXACT:
        total = sum(part for part, _ in open_.values())
        full = {t: most for t, (part, most) in open_.items() if left * part / total >= most - _EXACT}
        if not full:
            for tenant, (part, _) in open_.items():
                given[tenant] = left * part / total
            return 0.0
        for tenant, most in full.items():
            given[tenant] = float(most)
            left -= most
            del open_[tenant]
    return left


def next_tenant(claims: Sequence[Claim], cores: int, slack_s: float = math.inf) -> str | None:
    """Who gets a core that is free: whoever has fewer than floor(x), else fewer than ceil(x), the largest lag first.

    Where x is a whole number that alone would never repay a lag, so a lag beyond the slack adds to x or takes from it.

    Args:
        claims: Of one cluster, one a tenant, those that run on it and those that want to.
        cores: The cluster has so many.
        slack_s: Lags up to this change no x, core-seconds: what cutting time into slices brings about by itself.

    Returns:
        The tenant; None where nobody can use it.
    """
    shares = shares_in_force(claims, cores)

    def rank(claim: Claim) -> tuple[int, float, str]:
        beyond_s = math.copysign(max(abs(claim.lag_s) - slack_s, 0.0), claim.lag_s)
        share = shares[claim.tenant] + beyond_s / REPAID_S
        if claim.running < math.floor(share + _EXACT):
            place = 0
        else:
            place = 1 if claim.running < math.ceil(share - _EXACT) else 2
        return place, -claim.lag_s, claim.tenant

    wanting = [claim for claim in claims if claim.wants > 0]
    return min(wanting, key=rank).tenant if wanting else None


def due_core_s(shares: Mapping[str, float], seconds: float, there_s: Mapping[str, float]) -> dict[str, float]:
    """What tenants were due of the time that one core ran.

    Args:
        shares: In force meanwhile (`shares_in_force`).
        seconds: For so long it ran.
        there_s: For how much of that a tenant ran or wanted to; all of it where it is not named.
    """
    total = sum(shares.values())
    if total <= 0:
        return {}
    return {name: share / total * min(there_s.get(name, seconds), seconds) for name, share in shares.items()}


def charge_lags(
    lags: Mapping[str, float],
    shares: Mapping[str, float],
    tenant: str,
    seconds: float,
    there_s: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Lags after one core ran for a tenant: each was due its part of that time, and it had all of it.

    Args:
        lags: By tenant, before.
        shares: In force meanwhile (`shares_in_force`).
        there_s: As `due_core_s` takes it.
    """
    after = dict(lags)
    parts = due_core_s(shares, seconds, there_s or {})
    for name, part in parts.items():
        after[name] = after.get(name, 0.0) + part
    if parts:
        after[tenant] = after.get(tenant, 0.0) - sum(parts.values())
    return after


def settle_lags(lags: Mapping[str, float], tenant: str, used_s: float) -> dict[str, float]:
    """Lags after a tenant runs and wants nothing any more: what it is owed beyond what it used is not owed any more.

    Args:
        lags: By tenant, before.
        used_s: Core-seconds it had since it came.
    """
    surplus_s = lags.get(tenant, 0.0) - used_s
    owing_s = -sum(lag for lag in lags.values() if lag < 0)
    if surplus_s <= 0 or owing_s <= 0:
        return dict(lags)
    kept = 1 - min(surplus_s / owing_s, 1.0)
    after = {name: lag * kept if lag < 0 else lag for name, lag in lags.items()}
    after[tenant] = used_s
    return after
