# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Why a tenant got what it got: in numbers and in words, of its own shares, and with its weight doubled.

What another PE is worth follows from the tenant's own F and throughputs. What a doubled weight would change is not
estimated: the policy is asked again, with the epoch's view and that weight. Prices and the tenant's own numbers are
told, and nothing of other tenants. What prices imply is no secret: they are of all money, so a tenant's bids sum to its
part of all weights, and of two tenants each knows the other's part by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eddy.hypervisor.cores.market_history import Epoch
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.cores.market_report import speedup_worth
from eddy.policy.price import POLICIES
from eddy.policy.price.round_shares import RoundShares
from eddy.policy.price.view import Floats, PriceDecision, entitled

_NONE = 5e-4
"""PEs that are called none."""
_AS_GOOD = 0.999
"""Of the best worth of money: as good as the best."""


def explain_market(loop: PriceLoop, tenant: str) -> dict[str, Any]:
    """The epoch that lasts, or the last one, as `GET /v1/market/explain` answers it."""
    now, history = loop.snapshot_epochs()
    epoch = now if now is not None else (history[-1] if history else None)
    head = {
        "epoch": epoch.number if epoch else 0,
        "at_s": epoch.at_s if epoch else 0.0,
        "price_policy": epoch.policy if epoch else loop.policy_name,
    }
    if epoch is None or tenant not in epoch.view.tenants:
        words = ["You have no kernel that waits or runs, so that there is nothing to share with you."]
        return {**head, "words": words, "clusters": [], "doubled": None}
    clusters, doubled = _clusters(epoch, tenant), _doubled(epoch, tenant)
    return {**head, "words": _sentences(epoch, tenant, clusters, doubled), "clusters": clusters, "doubled": doubled}


def marginal(fraction: Floats, throughput: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Speedup lost by a little less of a PE and won by a little more, per PE; (m,). They differ at one PE only."""
    divisor = shares * (1 - fraction) + fraction
    curved = throughput * fraction / (divisor * divisor)
    return np.where(shares <= 1 + 1e-9, throughput, curved), np.where(shares < 1 - 1e-9, throughput, curved)


def _clusters(epoch: Epoch, tenant: str) -> list[dict[str, Any]]:
    row, here, prices = epoch.view.tenants.index(tenant), epoch.view.present, epoch.decision.prices
    shares = epoch.decision.shares[row]
    less, more = marginal(here.parallel_fraction[row], here.throughput[row], shares)
    per_money = np.where(prices > 0, more / np.where(prices > 0, prices, 1.0), 0.0)
    best = float(per_money.max())
    return [
        {
            **{"slot": cluster.slot, "module": cluster.module, "cores": cluster.cores, "pes": float(shares[c])},
            **{"price": float(prices[c]), "bid": float(shares[c] * prices[c])},
            **{"one_less": float(less[c]) if shares[c] > _NONE else 0.0, "one_more": float(more[c])},
            "worth_of_money": float(per_money[c] / best) if best > 0 else None,
        }
        for c, cluster in enumerate(here.clusters)
    ]


def _doubled(epoch: Epoch, tenant: str) -> dict[str, Any] | None:
    """The policy's answer with twice the weight; None where it goes by what happened before, and not by one view.

    That it does shows where it is asked again with the weights as they are and does not say what it said.
    """
    if epoch.policy not in POLICIES or isinstance(POLICIES[epoch.policy](), RoundShares):
        return None
    row, here = epoch.view.tenants.index(tenant), epoch.view.present
    weights = epoch.view.weights.copy()
    said = _asked_again(epoch, weights)
    if not np.allclose(said.shares[row], epoch.decision.shares[row], rtol=0, atol=_NONE):
        return None
    weights[row] *= 2
    found = _asked_again(epoch, weights)
    shares = found.shares[row]
    return {
        "weight": float(weights[row]),
        "promised_speedup": speedup_worth(here.parallel_fraction[row], here.throughput[row], shares),
        "shares": [
            {"slot": cluster.slot, "pes": float(shares[c]), "price": float(found.prices[c])}
            for c, cluster in enumerate(here.clusters)
        ],
    }


def _asked_again(epoch: Epoch, weights: Floats) -> PriceDecision:
    """What the policy of an epoch says of its view with these weights, knowing nothing of before."""
    policy = POLICIES[epoch.policy]()
    return policy.decide(replace(epoch.view, weights=weights, alternatives=(), memory=policy.initial()))


def _sentences(
    epoch: Epoch, tenant: str, clusters: Sequence[dict[str, Any]], doubled: dict[str, Any] | None
) -> list[str]:
    row, here = epoch.view.tenants.index(tenant), epoch.view.present
    numbers = here.parallel_fraction[row], here.throughput[row]
    fair, now = speedup_worth(*numbers, entitled(epoch.view)[row]), speedup_worth(*numbers, epoch.decision.shares[row])
    lines = [
        f"Your weight is {epoch.view.weights[row]:g}. Your part of every cluster by weight, which you are entitled to, "
        f"would be worth a speedup of {fair:.3f}."
    ]
    lines += [_of_cluster(each, epoch.policy) for each in clusters]
    times = f", {now / fair:.3f} times that of the entitlement" if fair > 0 else ""
    lines.append(f"Your shares are worth a speedup of {now:.3f}{times}.")
    if doubled is None:
        lines.append(f"{epoch.policy} goes by what happened before, so a doubled weight has no answer of one epoch.")
        return lines
    then = ", ".join(f"{share['pes']:.2f} on slot {share['slot']}" for share in doubled["shares"])
    grows = f", {doubled['promised_speedup'] / now:.3f} times as much" if now > 0 else ""
    lines.append(
        f"With weight {doubled['weight']:g} you would have these PEs: {then}; "
        f"a speedup of {doubled['promised_speedup']:.3f}{grows}."
    )
    return lines


def _of_cluster(each: dict[str, Any], policy: str) -> str:
    name = f"Slot {each['slot']} ({each['module']})"
    if each["price"] > 0:
        cost = f" at {each['price']:.4f} each, {each['bid']:.4f} of all money"
    else:
        cost = f" by {policy}, which has no prices"
    if each["one_more"] <= 0:
        return f"{name}: none; none of your kernels can run there now."
    if each["pes"] <= _NONE:
        if each["price"] <= 0:
            return f"{name}: none{cost}. One PE would add {each['one_more']:.3f}."
        good = each["worth_of_money"]
        return (
            f"{name}: none. A PE costs {each['price']:.4f} and would add {each['one_more']:.3f}; "
            f"your money buys {1 / good:.2f} times as much elsewhere."
            if good < _AS_GOOD
            else f"{name}: none, at {each['price']:.4f}. It would be worth no more than what you have elsewhere."
        )
    return (
        f"{name}: {each['pes']:.2f} of {each['cores']} PEs{cost}. "
        f"A PE more would add {each['one_more']:.3f}, one less would cost {each['one_less']:.3f} (at the margin)."
    )
