# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What each tenant did on each cluster since an epoch began."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from eddy.core.counters import CoreCounters
from eddy.hypervisor.cores.core_accounts import CoreAccount
from eddy.model.parallel_fraction import Activity
from eddy.policy.price.view import ClusterView, Floats

MOSTLY = 0.5
"""Part of its core-seconds that must be of kernels whose speed alone is known; the rest is taken to be like that."""


@dataclass
class _Ended:
    core_s: float = 0.0
    known_core_s: float = 0.0
    alone_s: float = 0.0


@dataclass
class EpochWork:
    """Slices that ended since an epoch began."""

    _ended: dict[tuple[str, int], _Ended] = field(default_factory=dict)

    def clear(self) -> None:
        """An epoch begins."""
        self._ended.clear()

    def add_slice(self, tenant: str, slot: int, groups: int, took_s: float, group_s: float | None) -> None:
        """A slice ended.

        Args:
            slot: The cluster it ran on.
            groups: Work-groups it did.
            took_s: Core-seconds it took.
            group_s: Seconds one of them takes alone on all cores; None where that is not known.
        """
        found = self._ended.setdefault((tenant, slot), _Ended())
        found.core_s += took_s
        if group_s is not None:
            found.known_core_s += took_s
            found.alone_s += groups * group_s

    def done_s(self, tenant: str, slot: int, held_s: float) -> float:
        """Seconds that what a tenant did on a cluster takes alone; 0 where that is not known of most of it.

        Slices that run over the ends of an epoch count by their time in it, at the pace of those that ended.

        Args:
            tenant, slot: Whose work, and where.
            held_s: Core-seconds it had in the epoch, those of slices that run included.
        """
        found = self._ended.get((tenant, slot), _Ended())
        if found.known_core_s <= 0 or found.known_core_s < MOSTLY * found.core_s:
            return 0.0
        return found.alone_s / found.known_core_s * held_s


Accounts = Mapping[int, CoreAccount]
"""By cluster's slot."""


@dataclass(frozen=True, slots=True)
class SliceMeasurement:
    """What a slice was measured to do.

    Attributes:
        slot, module: The cluster it ran on, and what that is.
        groups: Work-groups it did.
        took_s: Board seconds.
        cores: Its tenant had on that cluster meanwhile, on average, this one included.
        counters: What its core counted, if anything.
        alone: Nothing else ran on the board meanwhile.
    """

    slot: int
    module: str
    groups: int
    took_s: float
    cores: float = 1.0
    counters: CoreCounters | None = None
    alone: bool = False


class EpochTotals:
    """Sums over one epoch; the next one starts from zero."""

    def __init__(self) -> None:
        self._before: dict[int, dict[str, float]] = {}
        """Core-seconds delivered when the epoch began, by cluster and tenant."""
        self._under_way: dict[int, dict[str, float]] = {}
        """The same, those of slices that ran then included."""
        self._alone = EpochWork()
        self._work_s: dict[str, float] = {}
        self._counted: dict[tuple[str, int], tuple[int, ...]] = {}

    def begin(self, accounts: Accounts, tenants: Sequence[str], now_s: float) -> None:
        """An epoch begins."""
        self._before = {slot: dict(account.delivered_s) for slot, account in accounts.items()}
        self._under_way = {
            slot: {tenant: account.held_s(tenant, now_s) for tenant in tenants} for slot, account in accounts.items()
        }
        self._alone.clear()
        self._work_s.clear()
        self._counted.clear()

    def add_slice(self, tenant: str, of: SliceMeasurement, group_s: float | None, work_s: float) -> None:
        """A slice of a tenant's kernel ended well.

        Args:
            group_s: Seconds one of its work-groups takes alone on all cores; None where that is not known.
            work_s: Seconds that what it did takes on a base PE.
        """
        self._alone.add_slice(tenant, of.slot, of.groups, of.took_s, group_s)
        self._work_s[tenant] = self._work_s.get(tenant, 0.0) + work_s
        if of.counters is not None and any(of.counters.cycle_thread):
            before = self._counted.get((tenant, of.slot), (0,) * len(of.counters.cycle_thread))
            self._counted[tenant, of.slot] = tuple(map(operator.add, before, of.counters.cycle_thread))

    def activity(self, tenant: str, slot: int) -> Activity | None:
        """What was counted for a tenant on a cluster."""
        lanes = self._counted.get((tenant, slot))
        return None if lanes is None else Activity((lanes,))

    def work_s(self, tenants: Iterable[str]) -> Floats:
        """Seconds that what tenants did takes on a base PE, (n,)."""
        return np.array([self._work_s.get(tenant, 0.0) for tenant in tenants])

    def delivered_s(self, accounts: Accounts, tenants: Iterable[str], clusters: Iterable[ClusterView]) -> Floats:
        """Core-seconds of slices that ended, (n, m)."""
        slots = [cluster.slot for cluster in clusters]
        return np.array(
            [[self._delivered_since(accounts.get(slot), slot, tenant) for slot in slots] for tenant in tenants]
        )

    def alone_s(
        self, accounts: Accounts, tenants: Iterable[str], clusters: Sequence[ClusterView], now_s: float
    ) -> dict[tuple[str, int], float]:
        """Seconds that what tenants did takes alone, by tenant and cluster, where that is known."""
        found = {}
        for slot in (cluster.slot for cluster in clusters):
            account, before = accounts.get(slot), self._under_way.get(slot, {})
            for tenant in tenants:
                held_s = 0.0 if account is None else account.held_s(tenant, now_s) - before.get(tenant, 0.0)
                found[tenant, slot] = self._alone.done_s(tenant, slot, held_s)
        return {which: done_s for which, done_s in found.items() if done_s}

    def _delivered_since(self, account: CoreAccount | None, slot: int, tenant: str) -> float:
        if account is None:
            return 0.0
        return account.delivered_s.get(tenant, 0.0) - self._before.get(slot, {}).get(tenant, 0.0)
