"""What price decides on a live board: an epoch's view, the policy's decision, and what came of it.

An epoch begins after `epoch_s` of board time, or when a tenant comes or goes. What was delivered in the one before is
added to the history with what had been promised; the policy sees it and shares the clusters out again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eddy.hypervisor.configurations import ConfigurationOffers
from eddy.hypervisor.core_accounts import CoreAccount
from eddy.hypervisor.epoch_totals import EpochTotals, SliceMeasured
from eddy.hypervisor.guarded_policy import GuardedPolicy
from eddy.hypervisor.learning import LEAST_S, LearnedKernel
from eddy.hypervisor.market_history import Epoch, EpochHistory
from eddy.hypervisor.messages import Spread
from eddy.hypervisor.progress_watch import EARLY, EpochProgress, ProgressWatch, TenantRunning, of_present
from eddy.hypervisor.slot import MachineSlot
from eddy.hypervisor.tenant_estimates import ClusterKind, TenantEstimates
from eddy.policy.price.view import (
    Configuration,
    Floats,
    PricePolicy,
    PriceView,
    entitled,
)

_log = logging.getLogger(__name__)
LEAST_PART = 0.05
"""PEs of a cluster by weight below which a kernel goes to one that stands idle instead, however slow."""


@dataclass(frozen=True, slots=True)
class PriceSettings:
    """How often, and how finely.

    Attributes:
        quantum_s: Board seconds a slice of a kernel should take.
        epoch_s: Board seconds of an epoch.
        configure_s: Board seconds between two looks at other configurations.
    """

    quantum_s: float = 1e-3
    epoch_s: float = 50e-3
    configure_s: float = 1.0


class PriceLoop:
    """The live side of a price policy.

    Args:
        policy: In force; may be exchanged (`switch`).
        kinds: Clusters there are, by module, the preferred one first.
        weight_of: What a tenant is entitled to, relative to the others.
        settings: See there.
        configurations: What the slots may hold together, by name: modules by slot; empty where any cluster that has an
            image for a slot may be in it.
        watch: Reads what is counted of each tenant, for policies that go by progress.
        least_of: Normalised progress a tenant was promised; 0 for none.
    """

    def __init__(
        self,
        policy: PricePolicy,
        kinds: Mapping[str, ClusterKind],
        weight_of: Callable[[str], float] = lambda _: 1.0,
        settings: PriceSettings | None = None,
        configurations: Mapping[str, Mapping[int, str]] | None = None,
        watch: ProgressWatch | None = None,
        least_of: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        self.kinds, self.weight_of, self.least_of = kinds, weight_of, least_of
        self.settings, self.watch = settings or PriceSettings(), watch or ProgressWatch()
        self.decider = GuardedPolicy(policy)
        self.accounts: dict[int, CoreAccount] = {}
        self.estimates = TenantEstimates(self.kinds)
        self.offers = ConfigurationOffers(self.kinds, configurations or {}, self.estimates, self.settings.configure_s)
        self.weights: dict[str, float] = {}
        self.history = EpochHistory()
        self.now: Epoch | None = None
        self.next_s = 0.0
        self.life = 0
        """How often the hypervisor has recovered: tells its slices from those of earlier lives."""
        self._lags: dict[int, Mapping[str, float]] = {}
        """What was owed on each cluster when the machine began."""
        self._absent_s: dict[str, float] = {}
        self._waiting_s: Mapping[str, float] = {}
        self._reach: Mapping[str, frozenset[int]] = {}
        self._running: dict[str, TenantRunning] = {}
        self._progress: EpochProgress | None = None
        self._prices: dict[int, float] = {}
        self._totals = EpochTotals()
        self._number = 0

    def attach(self, accounts: dict[int, CoreAccount]) -> None:
        """The machine begins: nothing runs. What tenants owe and are owed stays."""
        self._lags.update(self.lags())
        for slot, account in accounts.items():
            account.lags = dict(self._lags.get(slot, {}))
        self.accounts, self.now, self._absent_s, self.next_s = accounts, None, {}, 0.0
        self.watch.forget()

    def switch(self, policy: PricePolicy) -> None:
        """Another policy, from the next epoch on, which is due at once; other threads ask the engine's intake."""
        self.decider.switch(policy)
        self.next_s = 0.0

    @property
    def policy_name(self) -> str:
        """Of the policy in force."""
        return self.decider.policy.name

    def shown(self) -> tuple[Epoch | None, tuple[Epoch, ...]]:
        """The epoch that lasts, and those that ended, oldest first; from any thread."""
        return self.now, self.history.ended()

    def lags(self) -> dict[int, Mapping[str, float]]:
        """Core-seconds each tenant is due less those it had, by cluster."""
        return {slot: dict(account.lags) for slot, account in self.accounts.items()}

    def restore(self, epochs: Iterable[str], lags: Mapping[int, Mapping[str, float]]) -> None:
        """Go on after the epochs an earlier life wrote (`EpochHistory.write`), oldest first, and what was owed."""
        self._number = max(self._number, self.history.restore(epochs))
        self._lags.update(lags)

    # What happens -------------------------------------------------------------------------------------------------

    def arrived(self, tenant: str, spread: Spread, now_s: float) -> None:
        """A tenant submitted a kernel."""
        self.estimates.arrived(tenant, spread)

    def measured(self, tenant: str, spread: Spread, of: SliceMeasured) -> None:
        """A slice of a tenant's kernel ended well."""
        known = self.estimates.learned.of(spread.kernel, of.module)
        known.take(of.groups, of.took_s, of.counters, self.settings.quantum_s, of.cores)
        work_s = of.groups / spread.variants[of.module].groups * self.estimates.base_s(spread)
        self._totals.ended(tenant, of, self._alone_s(known, of), work_s)

    def _alone_s(self, known: LearnedKernel, of: SliceMeasured) -> float | None:
        """Seconds a work-group of a kernel takes alone, after one more slice of it."""
        if of.alone:
            known.alone.take(of.groups, max(of.took_s, LEAST_S), of.cores)
        else:
            known.alone.passed(of.took_s)
        return known.alone.group_s

    def price(self, slot: int) -> float:
        """Of a PE of a cluster in the epoch that lasts; 0 under policies without prices."""
        return self._prices.get(slot, 0.0)

    def refresh(
        self,
        now_s: float,
        slots: Iterable[MachineSlot],
        fits: Mapping[str, Mapping[int, str]],
        tenants: Collection[str],
        waiting: Callable[[], Mapping[str, float]] = dict,
        running: Callable[[], Mapping[str, TenantRunning]] = dict,
        reach: Callable[[], Mapping[str, frozenset[int]]] = dict,
    ) -> None:
        """Begin an epoch, where one is due: its time has come, or a tenant came or has been away for an epoch.

        Args:
            now_s: Board time.
            slots: Of the `gpu` pool.
            fits: Module to slot to image.
            tenants: Those with work.
            waiting: Gives core-seconds of it by tenant, as far as is known; asked where an epoch begins.
            running: Gives what each tenant has running; asked where progress is measured.
            reach: Gives slots a tenant's kernels can run on; any, of tenants that are not named. Asked where an epoch
                begins: shares are of what is reached, and what a tenant does not reach goes to the others.
        """
        if not tenants:
            self._end(now_s)
            self.now = None
            self.watch.forget()
            return
        for tenant in tenants:
            self._absent_s.pop(tenant, None)
        known = set(self.now.view.tenants) if self.now is not None else set()
        for tenant in known.difference(tenants):
            self._absent_s.setdefault(tenant, now_s + self.settings.epoch_s)
        gone = {tenant for tenant, at_s in self._absent_s.items() if at_s <= now_s}
        present = sorted((known | set(tenants)) - gone)
        held = tuple(slot for slot in slots if slot.index in self.accounts)
        self.offers.begin(held, fits)
        changed = set(present) != known or self._clusters_changed(held, fits)
        changed = self._kernels_changed(running, now_s) or changed
        if not (changed or now_s >= self.next_s):
            return
        self._end(now_s)
        self._waiting_s, self._reach = waiting(), reach()
        self._begin(now_s, present, held, fits)

    @property
    def wake_s(self) -> float | None:
        """Board time at which the next epoch is due; None while nobody has work."""
        return self.next_s if self.now is not None else None

    # An epoch -----------------------------------------------------------------------------------------------------

    def _begin(
        self, now_s: float, tenants: list[str], slots: tuple[MachineSlot, ...], fits: Mapping[str, Mapping[int, str]]
    ) -> None:
        self.weights = {tenant: self.weight_of(tenant) for tenant in tenants}
        modules = {slot.index: self.offers.module_of(slot, fits) for slot in slots}
        whole = self.offers.configuration(tenants, {slot: module for slot, module in modules.items() if module})
        if not whole.clusters:
            return
        here = replace(whole, throughput=whole.throughput * self._reached(tenants, whole))
        last = self.history.last
        view = PriceView(
            now_s=now_s,
            epoch=self._number,
            tenants=tuple(tenants),
            weights=np.array([self.weights[tenant] for tenant in tenants]),
            present=here,
            waiting_s=np.array([self._waiting_s.get(tenant, 0.0) for tenant in tenants]),
            delivered_s=_of_last(last, tenants, here),
            counters=tuple(tuple(self._totals.activity(t, c.slot) for c in here.clusters) for t in tenants),
            alternatives=self.offers.alternatives(now_s, tenants, slots, modules, fits),
            memory=self.decider.memory,
            whole=whole,
            **self._of_progress(tenants, here),
        )
        name, decision = self.decider.decide(view)
        slots_now = [cluster.slot for cluster in here.clusters]
        self._prices = dict(zip(slots_now, map(float, decision.prices), strict=True))
        for column, cluster in enumerate(here.clusters):
            shares = {t: float(x) for t, x in zip(tenants, decision.shares[:, column], strict=True) if x > 0}
            self.accounts[cluster.slot].shares = shares
        if decision.configuration:
            chosen = next(c for c in view.alternatives if c.name == decision.configuration)
            self.offers.wanted = {cluster.slot: cluster.module for cluster in chosen.clusters}
        nothing = np.zeros(here.throughput.shape)
        sure = np.array([[self.estimates.sure(t, c.module) for c in here.clusters] for t in tenants], np.float64)
        view = replace(view, memory=None)
        work = np.zeros(len(tenants))
        self.now = Epoch(self._number, now_s, None, name, view, decision, sure, nothing, work)
        self._totals.begin(self.accounts, tenants, now_s)
        self._number += 1
        self.next_s = now_s + self.settings.epoch_s
        self.watch.begin(slots_now)

    def _reached(self, tenants: Iterable[str], here: Configuration) -> Floats:
        """1 where a tenant's kernels can run, 0 elsewhere; (n, m)."""
        slots = [cluster.slot for cluster in here.clusters]
        rows = [[float(self._reaches(tenant, slots, slot)) for slot in slots] for tenant in tenants]
        return np.array(rows).reshape(here.throughput.shape)

    def _reaches(self, tenant: str, slots: Collection[int], slot: int) -> bool:
        reach = self._reach.get(tenant, frozenset()).intersection(slots)
        return not reach or slot in reach

    def entitled_speed(self, tenant: str, spread: Spread, module: str, idle: bool) -> float:
        """What a tenant's part by weight of one cluster of a kind would do of a kernel, over one base PE.

        A part of less than `LEAST_PART` is nothing to wait for: where a cluster stands idle, it is all of that.
        """
        cores, total = self.kinds[module].cores, sum(self.weights.values()) or 1.0
        part = self.weights.get(tenant, 0.0) / total * cores
        return self.speed_on(spread, module, float(cores) if idle and part < LEAST_PART else part)

    def speed_on(self, spread: Spread, module: str, cores: float) -> float:
        """What so many cores of a cluster of a kind would do of a kernel, over one base PE."""
        fraction, _ = self.estimates.learned.fraction(spread.kernel, module)
        return self.estimates.speed_of(spread, module) * cores / max(cores * (1 - fraction) + fraction, 1.0)

    def _end(self, now_s: float) -> None:
        """Close the epoch that lasts: what was delivered in it is history."""
        epoch = self.now
        if epoch is None or now_s <= epoch.at_s:
            return
        clusters, tenants = epoch.view.present.clusters, epoch.view.tenants
        had = self._totals.delivered_s(self.accounts, tenants, clusters)
        work = self._totals.work_s(tenants)
        groups = {tenant: each.groups for tenant, each in self._running.items() if each.groups}
        alone_s = self._totals.alone_s(self.accounts, tenants, clusters, now_s)
        self._progress = found = self.watch.end(tenants, clusters, groups, alone_s)
        ended = replace(epoch, ended_s=now_s, delivered_s=had, work_s=work)
        if found is not None:
            ended = replace(
                ended, progress=found.progress, traffic_bytes=found.traffic_bytes, progress_measured=found.measured
            )
        self.history.add(ended)

    def _kernels_changed(self, running: Callable[[], Mapping[str, TenantRunning]], now_s: float) -> bool:
        """Whether other kernels run than when the epoch began, and it has lasted long enough to end for that.

        A tenant between two kernels has the last one's.
        """
        if not self.watch.on:
            return False
        self._running.update({tenant: each for tenant, each in running().items() if each.kernels})
        if self.now is None or now_s < self.now.at_s + EARLY * self.settings.epoch_s:
            return False
        return self._kernels(self.now.view.tenants) != self.now.view.kernels

    def _kernels(self, tenants: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        return tuple(self._running.get(tenant, TenantRunning()).kernels for tenant in tenants)

    def _of_progress(self, tenants: list[str], here: Configuration) -> dict[str, Any]:
        """What the view has for predictors of progress; nothing where it is not measured."""
        if not self.watch.on:
            return {}
        last, ended = self.history.last, self._progress
        was = ((), ()) if last is None else (last.view.tenants, last.view.present.clusters)
        self._running = {tenant: self._running[tenant] for tenant in tenants if tenant in self._running}
        return {
            "sharing": of_present(ended, was, tenants, here.clusters),
            "machines": tuple(self.watch.machines.get(cluster.module) for cluster in here.clusters),
            "kernels": self._kernels(tenants),
            "least_progress": tuple(self._running.get(t, TenantRunning()).least_progress for t in tenants),
        }

    # What is known ------------------------------------------------------------------------------------------------

    def _clusters_changed(self, slots: tuple[MachineSlot, ...], fits: Mapping[str, Mapping[int, str]]) -> bool:
        if self.now is None:
            return True
        known = {cluster.slot: cluster.module for cluster in self.now.view.present.clusters}
        return known != {slot.index: m for slot in slots if (m := self.offers.module_of(slot, fits))}


def _of_last(last: Epoch | None, tenants: list[str], here: Configuration) -> Floats:
    """What each tenant had on each cluster in the last epoch, (n, m); 0 where it or the cluster was not there."""
    found = np.zeros(here.throughput.shape)
    if last is not None:
        row_of = {tenant: row for row, tenant in enumerate(last.view.tenants)}
        column_of = {cluster.slot: column for column, cluster in enumerate(last.view.present.clusters)}
        for row, tenant in enumerate(tenants):
            for column, cluster in enumerate(here.clusters):
                if tenant in row_of and cluster.slot in column_of:
                    found[row, column] = last.delivered_s[row_of[tenant], column_of[cluster.slot]]
    return found


__all__ = ["ClusterKind", "Epoch", "PriceLoop", "PriceSettings", "entitled"]
