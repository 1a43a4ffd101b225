# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the market says to one tenant: prices, and of all bids and shares its own; plain JSON, as the API answers it.

Speedups are over one base PE, the slowest kind of cluster there is. *Promised* is what utility says of the shares that
were promised, *modelled* what it says of the core-seconds that were delivered, and *measured* what the slices got done.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eddy.core.errors import UnknownCursor
from eddy.hypervisor.cores.market_history import Epoch
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.cores.progress_report import progress_in
from eddy.policy.price.view import Floats, entitled

HISTORY = 500
"""Epochs one answer lists where nobody asks for fewer."""


def speedup_worth(fraction: Floats, throughput: Floats, shares: Floats) -> float:
    """Speedup that shares of clusters are worth: (3.3), and below one PE what slices of time deliver; each (m,)."""
    return float((throughput * shares / np.maximum(shares * (1 - fraction) + fraction, 1.0)).sum())


def market_answer(loop: PriceLoop, tenant: str) -> dict[str, Any]:
    """The epoch that lasts, or the last one; `me` without shares where the tenant has no work."""
    now, history = loop.snapshot_epochs()
    epoch = now if now is not None else (history[-1] if history else None)
    if epoch is None:
        return {
            "epoch": 0,
            "at_s": 0.0,
            "price_policy": loop.policy_name,
            "clusters": [],
            "me": _nothing(loop.weight_beside(tenant)),
        }
    before = next((e for e in reversed(history) if tenant in e.view.tenants), None)
    return {
        "epoch": epoch.number,
        "at_s": epoch.at_s,
        "price_policy": loop.policy_name,
        "clusters": _clusters(epoch),
        "me": _me(epoch, tenant, before, loop.weight_beside(tenant)),
    }


def shared_slots(loop: PriceLoop) -> dict[str, float]:
    """Of the clusters that are shared now, what each tenant has, by its name: a whole one counts 1."""
    epoch = loop.snapshot_epochs()[0]
    if epoch is None:
        return {}
    cores = np.array([cluster.cores for cluster in epoch.view.present.clusters], float)
    return {
        tenant: float((shares / cores).sum())
        for tenant, shares in zip(epoch.view.tenants, epoch.decision.shares, strict=True)
    }


def history_answer(loop: PriceLoop, tenant: str, after: int = -1, limit: int = HISTORY) -> dict[str, Any]:
    """Epochs that have ended, in which a tenant had work: the latest `limit` of those numbered above `after`.

    Raises:
        UnknownCursor: No epoch has had that number yet: it is of another market.
    """
    now, history = loop.snapshot_epochs()
    numbered = [epoch.number for epoch in (*history, *(() if now is None else (now,)))]
    if after > max(numbered, default=-1):
        message = f"There was no epoch {after} here: ask without `after`, which answers what is kept."
        raise UnknownCursor(message, field="after", asked=after)
    mine = [epoch for epoch in history if epoch.number > after and tenant in epoch.view.tenants][-limit:]
    return {
        "epochs": [
            {
                "epoch": epoch.number,
                "at_s": epoch.at_s,
                "ended_s": epoch.ended_s,
                "price_policy": epoch.policy,
                "clusters": _clusters(epoch),
                "me": _me(epoch, tenant, epoch, 1.0),
            }
            for epoch in mine
        ]
    }


def _clusters(epoch: Epoch) -> list[dict[str, Any]]:
    return [
        {"slot": cluster.slot, "module": cluster.module, "cores": cluster.cores, "price": float(price)}
        for cluster, price in zip(epoch.view.present.clusters, epoch.decision.prices, strict=True)
    ]


def _me(epoch: Epoch, tenant: str, before: Epoch | None, weight: float) -> dict[str, Any]:
    if tenant not in epoch.view.tenants:
        return _nothing(weight)
    row, here = epoch.view.tenants.index(tenant), epoch.view.present
    fraction, throughput = here.parallel_fraction[row], here.throughput[row]
    shares, prices = epoch.decision.shares[row], epoch.decision.prices
    part = entitled(epoch.view)[row]
    weights = shares if shares.sum() > 0 else part
    delivered = _delivered(epoch, before, tenant)
    # F is averaged over shares: it is counted if it was counted wherever it weighs.
    sure = bool(epoch.measured[row][weights * throughput > 0].all())
    return {
        "weight": float(epoch.view.weights[row]),
        "entitlement": speedup_worth(fraction, throughput, part),
        "promised_speedup": speedup_worth(fraction, throughput, shares),
        "modelled_speedup": None if before is None else _modelled(before, tenant),
        "delivered_over_promised": None if before is None else _kept(before, tenant),
        "measured_speedup": None if before is None else _measured(before, tenant),
        "parallel_fraction": float(np.average(fraction, weights=weights)),
        "parallel_fraction_from": "counters" if sure else "assumed",
        **_of_progress(before, tenant),
        "shares": [
            {
                "slot": cluster.slot,
                "pes": float(shares[column]),
                "core_seconds": float(delivered[column]),
                "bid": float(shares[column] * prices[column]),
                "parallel_fraction": float(fraction[column]),
                "throughput": float(throughput[column]),
                "assumed": not epoch.measured[row, column],
            }
            for column, cluster in enumerate(here.clusters)
        ],
    }


def _nothing(weight: float) -> dict[str, Any]:
    """What a tenant without work is told."""
    return {
        "weight": weight,
        "entitlement": 0.0,
        "promised_speedup": 0.0,
        "modelled_speedup": None,
        "delivered_over_promised": None,
        "measured_speedup": None,
        "parallel_fraction": None,
        "parallel_fraction_from": "nothing ran",
        **_of_progress(None, ""),
        "shares": [],
    }


def _of_progress(epoch: Epoch | None, tenant: str) -> dict[str, Any]:
    """What an epoch's counters say of a tenant's progress beside others; nothing where they were not read."""
    found = None if epoch is None else progress_in(epoch, tenant)
    if epoch is None or found is None:
        return {"predicted_progress": None, "promised_progress": None, "memory_share": None}
    row = epoch.view.tenants.index(tenant)
    promised = epoch.view.least_progress[row] if epoch.view.least_progress else 0.0
    return {"predicted_progress": found.progress, "promised_progress": promised, "memory_share": found.memory_share}


def _length_s(epoch: Epoch) -> float:
    return max((epoch.ended_s or epoch.at_s) - epoch.at_s, 1e-12)


def _delivered(epoch: Epoch, before: Epoch | None, tenant: str) -> Floats:
    """Core-seconds on the clusters of an epoch in the last one that ended, (m,)."""
    found = np.zeros(len(epoch.view.present.clusters))
    if before is not None:
        had = before.delivered_s[before.view.tenants.index(tenant)]
        by_slot = {c.slot: float(s) for c, s in zip(before.view.present.clusters, had, strict=True)}
        found[:] = [by_slot.get(cluster.slot, 0.0) for cluster in epoch.view.present.clusters]
    return found


def _modelled(epoch: Epoch, tenant: str) -> float:
    row, here = epoch.view.tenants.index(tenant), epoch.view.present
    shares = epoch.delivered_s[row] / _length_s(epoch)
    return speedup_worth(here.parallel_fraction[row], here.throughput[row], shares)


def _kept(epoch: Epoch, tenant: str) -> float | None:
    """Utility of what was delivered over that of what was promised; None where nothing was, or nobody waited for it.

    A tenant stays in the view for an epoch after its last kernel.
    """
    row, here = epoch.view.tenants.index(tenant), epoch.view.present
    if not epoch.view.waiting_s[row] and not epoch.delivered_s[row].any():
        return None
    promised = speedup_worth(here.parallel_fraction[row], here.throughput[row], epoch.decision.shares[row])
    return _modelled(epoch, tenant) / promised if promised > 0 else None


def _measured(epoch: Epoch, tenant: str) -> float:
    return float(epoch.work_s[epoch.view.tenants.index(tenant)]) / _length_s(epoch)
