# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Weighted fair queueing between tenants, over the time of slots: who is to have the next one.

Each tenant has a virtual time: the slot-seconds it was served, over its weight. A slot is held from the begin of its
load on, so loads are charged to whom they are for. Who comes, or comes back, starts where those are who want more: it
is owed nothing for the time it was away, and what it had too much stays on its account until the others are as far.
Who is given as many slots as it wants is owed nothing either. So of tenants that all want more than they have, each is
served by its weight, but for a bound: the time of a quantum and of an item that cannot be interrupted, on each slot.

It is start-time fair queueing (Goyal, Vin and Cheng, 1996) for several slots: a slot that is held counts a quantum in
advance, so that slots that are given at once go round, and a slot changes hands only where that is worth its load.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FairQueue:
    """Virtual times; a value.

    Attributes:
        level_s: Where those who come begin; never falls while anybody is there.
        served_s: By tenant: slot-seconds it was served, over its weight. Of those who are away only who is ahead.
    """

    level_s: float = 0.0
    served_s: Mapping[str, float] = field(default_factory=dict)

    def charge(self, used_s: Mapping[str, float], weights: Mapping[str, float]) -> FairQueue:
        """After slots were held.

        Args:
            used_s: Slot-seconds by tenant.
            weights: By tenant; 1 where there is none.
        """
        found = dict(self.served_s)
        for tenant, held_s in used_s.items():
            if held_s > 0:
                found[tenant] = found.get(tenant, self.level_s) + held_s / weights.get(tenant, 1.0)
        return FairQueue(self.level_s, found)

    def enter(self, present: Collection[str]) -> FairQueue:
        """With those who are there now; who comes begins at the level, or where it left if that is ahead."""
        if not present:
            return FairQueue()
        away = {tenant: at_s for tenant, at_s in self.served_s.items() if tenant not in present}
        there = {tenant: max(self.served_s.get(tenant, self.level_s), self.level_s) for tenant in present}
        return FairQueue(self.level_s, {**{t: at_s for t, at_s in away.items() if at_s > self.level_s}, **there})

    def raise_level(self, present: Collection[str], wanting: Collection[str]) -> FairQueue:
        """With the level at who is least served of those who want more, and nobody who wants no more behind it.

        Args:
            present: Those who are there.
            wanting: Those of them who would take one slot more.
        """
        last = [self.served_s[tenant] for tenant in wanting or present]
        level_s = max(self.level_s, min(last, default=self.level_s))
        lifted = {tenant: max(self.served_s[tenant], level_s) for tenant in present if tenant not in wanting}
        return FairQueue(level_s, {**self.served_s, **lifted})

    def place(self, tenant: str, slots: int, quantum_s: float, weight: float) -> float:
        """Where a tenant stands that holds so many slots, each counted for a quantum in advance: the least is next."""
        return self.served_s.get(tenant, self.level_s) + slots * quantum_s / weight
