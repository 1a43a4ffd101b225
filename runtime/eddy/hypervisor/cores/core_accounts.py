# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The account of one cluster's cores: who runs on which, what each tenant was promised, was due, and had."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from eddy.policy.price.turns import Claim, charge_lags, settle_lags, shares_in_force


@dataclass(slots=True)
class Slice:
    """Work-groups of a kernel on one core.

    Attributes:
        number: Which slice of its job, from 0.
        name: What it is called on the board; no other slice is or was called so.
        first, count: Its work-groups.
        started_s: Board time of its start.
        stopping: It was told to stop.
        before_s: Core-seconds its tenant had had on the cluster when it began, up to then (`CoreAccount.held_s`).
        kernel: Its name, as what is learned of it is kept under.
        alone: Nothing but this kernel ran meanwhile, on any cluster, and that only on this one.
    """

    job: int
    tenant: str
    core: int
    number: int
    name: str
    first: int
    count: int
    started_s: float
    stopping: bool = False
    before_s: float = 0.0
    kernel: str = ""
    alone: bool = True


@dataclass
class CoreAccount:
    """One cluster.

    Attributes:
        cores: What each core runs, None for nothing; empty while nothing is loaded.
        shares: Cores promised, by tenant.
        lags: Core-seconds due less those had, by tenant.
        delivered_s: Core-seconds had, by tenant, since ever, of slices that have ended.
        came: Of tenants that run or have work here: board time since which, and `delivered_s` then.
    """

    cores: list[Slice | None] = field(default_factory=list)
    shares: Mapping[str, float] = field(default_factory=dict)
    lags: dict[str, float] = field(default_factory=dict)
    delivered_s: dict[str, float] = field(default_factory=dict)
    came: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def running(self) -> list[Slice]:
        """What runs, by core."""
        return [each for each in self.cores if each is not None]

    @property
    def free(self) -> list[int]:
        """Cores that run nothing."""
        return [core for core, each in enumerate(self.cores) if each is None]

    @property
    def is_closing(self) -> bool:
        """Whether all that runs was told to stop: the board closes the slot with the last of it."""
        running = self.running
        return bool(running) and all(each.stopping for each in running)

    def claims(self, now_s: float, wants: Mapping[str, int], weights: Mapping[str, float]) -> list[Claim]:
        """Everybody's claim at a time, slices that run counted up to then.

        Args:
            now_s: Board time.
            wants: By tenant: slices it could start.
            weights: By tenant.
        """
        running = self.running
        held: dict[str, list[float]] = {}
        for each in running:
            held.setdefault(each.tenant, []).append(now_s - each.started_s)
        plain = [
            Claim(tenant, self.shares.get(tenant, 0.0), weights.get(tenant, 1.0), len(held.get(tenant, ())), wanted)
            for tenant, wanted in _tenant_wants(held, wants)
        ]
        shares = shares_in_force(plain, len(self.cores))
        lags = self.lags
        for each in running:
            lags = charge_lags(lags, shares, each.tenant, now_s - each.started_s, self._there_s(now_s))
        return [replace(claim, lag_s=lags.get(claim.tenant, 0.0)) for claim in plain]

    def update_claimants(self, now_s: float, having_work: Collection[str]) -> None:
        """Take down who runs or has work here; who has left is owed no more than it used.

        Args:
            now_s: Board time.
            having_work: Tenants with work-groups that this cluster may run.
        """
        there = {*having_work, *(each.tenant for each in self.running)}
        for tenant in there - self.came.keys():
            self.came[tenant] = (now_s, self.delivered_s.get(tenant, 0.0))
        for tenant in sorted(self.came.keys() - there):
            _, before_s = self.came.pop(tenant)
            self.lags = settle_lags(self.lags, tenant, self.delivered_s.get(tenant, 0.0) - before_s)

    def _there_s(self, now_s: float) -> dict[str, float]:
        """By tenant: since it came."""
        return {tenant: max(now_s - since_s, 0.0) for tenant, (since_s, _) in self.came.items()}

    def held_s(self, tenant: str, now_s: float) -> float:
        """Core-seconds a tenant had, those of slices that run up to a time included."""
        under_way_s = sum(max(now_s - each.started_s, 0.0) for each in self.running if each.tenant == tenant)
        return self.delivered_s.get(tenant, 0.0) + under_way_s

    def start(self, started: Slice) -> None:
        """A core was given."""
        started.before_s = self.held_s(started.tenant, started.started_s)
        self.cores[started.core] = started

    def average_cores(self, core: int, took_s: float) -> float:
        """Cores the tenant of a slice that ends had while it ran, on average, itself included: 1 or more."""
        ended = self.cores[core]
        assert ended is not None
        if took_s <= 0:
            return 1.0
        had_s = self.held_s(ended.tenant, ended.started_s + took_s) - ended.before_s
        return min(max(had_s / took_s, 1.0), float(len(self.cores)))

    def finish_slice(self, core: int, took_s: float, wants: Mapping[str, int], weights: Mapping[str, float]) -> Slice:
        """A core is free again; its tenant is charged what the slice took and others wanted."""
        ended = self.cores[core]
        assert ended is not None
        held: dict[str, int] = {}
        for each in self.running:
            held[each.tenant] = held.get(each.tenant, 0) + 1
        claims = [
            Claim(tenant, self.shares.get(tenant, 0.0), weights.get(tenant, 1.0), held.get(tenant, 0), wanted)
            for tenant, wanted in _tenant_wants(held, wants)
        ]
        there_s = self._there_s(ended.started_s + took_s)
        self.lags = charge_lags(self.lags, shares_in_force(claims, len(self.cores)), ended.tenant, took_s, there_s)
        self.delivered_s[ended.tenant] = self.delivered_s.get(ended.tenant, 0.0) + took_s
        self.cores[core] = None
        return ended


def note_corunners(started: Slice, here: CoreAccount, every: Iterable[CoreAccount]) -> None:
    """A slice begins: it and those of other kernels, and of its own elsewhere, are alone no more."""
    for account in every:
        for other in account.running:
            if other.kernel != started.kernel or account is not here:
                other.alone = started.alone = False


def _tenant_wants(held: Mapping[str, object], wants: Mapping[str, int]) -> list[tuple[str, int]]:
    """Tenants that run or want to, in order of their names, and what each wants."""
    return [(tenant, wants.get(tenant, 0)) for tenant in sorted({*held, *wants})]
