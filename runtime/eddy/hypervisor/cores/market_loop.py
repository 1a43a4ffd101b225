# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What price decides on a live board: an epoch's view, the policy's decision, and what came of it.

An epoch begins after `epoch_s` of board time, or when a tenant comes or goes. What was delivered in the one before is
added to the history with what had been promised; the policy sees it and shares the clusters out again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eddy.core.projects import WeightsOf, equal_weights
from eddy.hypervisor.cores.configurations import ConfigurationOffers, reachable_configuration
from eddy.hypervisor.cores.core_accounts import CoreAccount
from eddy.hypervisor.cores.epoch_totals import EpochTotals, SliceMeasurement
from eddy.hypervisor.cores.market_history import Epoch, EpochHistory
from eddy.hypervisor.cores.progress_watch import EARLY, EpochProgress, ProgressWatch, RunningKernels, select_present
from eddy.hypervisor.cores.tenant_estimates import ClusterKind, TenantEstimates
from eddy.hypervisor.jobs.messages import CorePartition
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.policy.price.view import ClusterView, PriceDecision, PricePolicy, PriceView, entitled, zero_prices

_NOTHING = RunningKernels()


class PredictorInputs:
    """What tenants run, and what the last epoch says of it. A tenant between two kernels has the last one's.

    Args:
        watch: Reads what is counted of each tenant.
    """

    def __init__(self, watch: ProgressWatch) -> None:
        self._watch = watch
        self._running: dict[str, RunningKernels] = {}
        self._counted: EpochProgress | None = None

    def read_running(self, running: Callable[[], Mapping[str, RunningKernels]]) -> None:
        """Ask what each tenant has running."""
        if self._watch.on:
            self._running.update({tenant: each for tenant, each in running().items() if each.kernels})

    def has_changed(self, view: PriceView) -> bool:
        """Whether the tenants of an epoch run other kernels than when it began."""
        return self._watch.on and self._kernels(view.tenants) != view.kernels

    def end_epoch(
        self,
        tenants: Sequence[str],
        clusters: Sequence[ClusterView],
        alone_s: Mapping[tuple[str, int], float],
    ) -> EpochProgress | None:
        """An epoch ends; answers what was counted in it, None where nothing is.

        Args:
            alone_s: By tenant and slot, seconds that what it did takes alone, where that is known.
        """
        groups = {tenant: each.groups for tenant, each in self._running.items() if each.groups}
        self._counted = self._watch.end(tenants, clusters, groups, alone_s)
        return self._counted

    def of_view(self, last: Epoch | None, tenants: Sequence[str], clusters: Sequence[ClusterView]) -> dict[str, Any]:
        """The fields of `PriceView` that are for predictors; tenants that are gone are forgotten.

        Args:
            last: The epoch that ended last.
            tenants: Of the one that begins.
            clusters: Of the one that begins.
        """
        if not self._watch.on:
            return {}
        was = ((), ()) if last is None else (last.view.tenants, last.view.present.clusters)
        self._running = {tenant: self._running[tenant] for tenant in tenants if tenant in self._running}
        return {
            "sharing": select_present(self._counted, was, tenants, clusters),
            "machines": tuple(self._watch.machines.get(cluster.module) for cluster in clusters),
            "kernels": self._kernels(tenants),
            "least_progress": tuple(self._running.get(tenant, _NOTHING).least_progress for tenant in tenants),
        }

    def _kernels(self, tenants: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        return tuple(self._running.get(tenant, _NOTHING).kernels for tenant in tenants)


_log = logging.getLogger(__name__)


class GuardedPolicy:
    """A policy, and what it remembers.

    Args:
        policy: In force at first.

    Attributes:
        memory: What it is shown of what it answered before.
    """

    def __init__(self, policy: PricePolicy) -> None:
        self._policy = policy
        self.memory: Any = policy.initial()

    @property
    def policy(self) -> PricePolicy:
        """In force."""
        return self._policy

    def switch(self, policy: PricePolicy) -> None:
        """Put another policy in force, which remembers nothing; the one that is in force goes on as it was."""
        if policy is not self._policy:
            self._policy, self.memory = policy, policy.initial()

    def decide(self, view: PriceView) -> tuple[str, PriceDecision]:
        """The policy's decision; of one that fails, or whose shares cannot be given, the entitlement for this epoch.

        What tenants run shapes what a policy is told; none of it may keep the others' kernels from running.
        """
        try:
            decision = self._policy.decide(view)
        except Exception:
            _log.exception("price policy %s failed; epoch %d is shared by entitlement", self._policy.name, view.epoch)
            return self._entitled(view)
        if not _can_be_given(decision, view):
            _log.error("price policy %s: shares that cannot be given in epoch %d", self._policy.name, view.epoch)
            return self._entitled(view)
        self.memory = decision.memory
        return self._policy.name, decision

    def _entitled(self, view: PriceView) -> tuple[str, PriceDecision]:
        self.memory = self._policy.initial()
        return "entitlement", PriceDecision(entitled(view), zero_prices(view))


def _can_be_given(decision: PriceDecision, view: PriceView) -> bool:
    """Whether shares and prices are numbers, and nobody is promised what is not there."""
    shares, capacity = decision.shares, view.present.capacity
    if shares.shape != view.present.throughput.shape or decision.prices.shape != capacity.shape:
        return False
    whole = np.isfinite(shares).all() and np.isfinite(decision.prices).all()
    return bool(whole and (shares >= 0).all() and (shares.sum(axis=0) <= capacity * (1 + 1e-6)).all())


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
        weights_of: What tenants are entitled to that have work, relative to each other.
        configurations: What the slots may hold together, by name: modules by slot; empty where any cluster that has an
            image for a slot may be in it.
        watch: Reads what is counted of each tenant, for policies that go by progress.
        least_of: Normalised progress a tenant was promised; 0 for none.
    """

    def __init__(
        self,
        policy: PricePolicy,
        kinds: Mapping[str, ClusterKind],
        weights_of: WeightsOf = equal_weights,
        settings: PriceSettings | None = None,
        configurations: Mapping[str, Mapping[int, str]] | None = None,
        watch: ProgressWatch | None = None,
        least_of: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        self.kinds, self.weights_of, self.least_of = kinds, weights_of, least_of
        self.settings, self.watch = settings or PriceSettings(), watch or ProgressWatch()
        self.decider = GuardedPolicy(policy)
        self.accounts: dict[int, CoreAccount] = {}
        self.estimates = TenantEstimates(self.kinds)
        self.offers = ConfigurationOffers(self.kinds, configurations or {}, self.estimates, self.settings.configure_s)
        self.weights: Mapping[str, float] = {}
        self.history = EpochHistory()
        self.now: Epoch | None = None
        self.next_s = 0.0
        self.life = 0
        """How often the hypervisor has recovered: tells its slices from those of earlier lives."""
        self._lags: dict[int, Mapping[str, float]] = {}
        """What was owed on each cluster when the machine began."""
        self._absent_s: dict[str, float] = {}
        self._inputs = PredictorInputs(self.watch)
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

    def snapshot_epochs(self) -> tuple[Epoch | None, tuple[Epoch, ...]]:
        """The epoch that lasts, and those that ended, oldest first; from any thread."""
        return self.now, self.history.list_epochs()

    def lags(self) -> dict[int, Mapping[str, float]]:
        """Core-seconds each tenant is due less those it had, by cluster."""
        return {slot: dict(account.lags) for slot, account in self.accounts.items()}

    def restore(self, epochs: Iterable[str], lags: Mapping[int, Mapping[str, float]]) -> None:
        """Go on after the epochs an earlier life wrote (`EpochHistory.write`), oldest first, and what was owed."""
        self._number = max(self._number, self.history.restore(epochs))
        self._lags.update(lags)

    # What happens -------------------------------------------------------------------------------------------------

    def add_arrival(self, tenant: str, spread: CorePartition, now_s: float) -> None:
        """A tenant submitted a kernel."""
        self.estimates.arrived(tenant, spread)

    def record_slice(self, tenant: str, spread: CorePartition, of: SliceMeasurement) -> None:
        """A slice of a tenant's kernel ended well."""
        self.estimates.measured(tenant, spread, of, self.settings.quantum_s)
        alone_s, work_s = self.estimates.alone_s(spread, of.module), self.estimates.work_s(spread, of)
        self._totals.add_slice(tenant, of, alone_s, work_s)

    def weight_beside(self, tenant: str) -> float:
        """What a tenant is entitled to, relative to those of the epoch that lasts; from any thread."""
        now = self.now
        return self.weights_of({*(now.view.tenants if now is not None else ()), tenant})[tenant]

    def weight_fraction(self, tenant: str) -> float:
        """Of all weights of the epoch that lasts, a tenant's, 0 to 1; 0 of one that is not in it."""
        return self.weights.get(tenant, 0.0) / (sum(self.weights.values()) or 1.0)

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
        running: Callable[[], Mapping[str, RunningKernels]] = dict,
        reach: Callable[[], Mapping[str, frozenset[int]]] = dict,
    ) -> None:
        """Begin an epoch, where one is due: its time has come, or a tenant came or has been away for an epoch.

        Args:
            now_s: Board time.
            slots: Of the `gpu` pool.
            fits: Module to slot to image.
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
        known = set(self.now.view.tenants) if self.now is not None else set()
        present = self._present(known, tenants, now_s)
        held = tuple(slot for slot in slots if slot.index in self.accounts)
        self.offers.begin(held, fits)
        changed = set(present) != known or self._clusters_changed(held, fits)
        changed = self._kernels_changed(running, now_s) or changed
        if not (changed or now_s >= self.next_s):
            return
        self._end(now_s)
        waiting_s, reached = waiting(), reach()
        self.weights = self.weights_of(present)
        view = self._view(now_s, present, held, fits, waiting_s, reached)
        if view is None:  # no cluster is left to share
            self.now = None
            self.watch.forget()
            return
        self._begin(view)

    @property
    def wake_s(self) -> float | None:
        """Board time at which the next epoch is due; None while nobody has work."""
        return self.next_s if self.now is not None else None

    # An epoch -----------------------------------------------------------------------------------------------------

    def _present(self, known: set[str], tenants: Collection[str], now_s: float) -> list[str]:
        """Tenants of the epoch: those with work, and of those it had before the ones away for less than an epoch."""
        for tenant in tenants:
            self._absent_s.pop(tenant, None)
        for tenant in known.difference(tenants):
            self._absent_s.setdefault(tenant, now_s + self.settings.epoch_s)
        gone = {tenant for tenant, at_s in self._absent_s.items() if at_s <= now_s}
        return sorted((known | set(tenants)) - gone)

    def _begin(self, view: PriceView) -> None:
        """Have the policy decide, and put in force what it says."""
        name, decision = self.decider.decide(view)
        clusters = view.present.clusters
        slots = [cluster.slot for cluster in clusters]
        self._prices = dict(zip(slots, map(float, decision.prices), strict=True))
        for column, slot in enumerate(slots):
            shares = zip(view.tenants, decision.shares[:, column], strict=True)
            self.accounts[slot].shares = {tenant: float(share) for tenant, share in shares if share > 0}
        if decision.configuration:
            chosen = next(c for c in view.alternatives if c.name == decision.configuration)
            self.offers.wanted = {cluster.slot: cluster.module for cluster in chosen.clusters}
        nothing, work = np.zeros(view.present.throughput.shape), np.zeros(len(view.tenants))
        sure = np.array([[self.estimates.is_measured(t, c.module) for c in clusters] for t in view.tenants], np.float64)
        kept = replace(view, memory=None)
        self.now = Epoch(self._number, view.now_s, None, name, kept, decision, sure, nothing, work)
        self._totals.begin(self.accounts, view.tenants, view.now_s)
        self._number += 1
        self.next_s = view.now_s + self.settings.epoch_s
        self.watch.begin(slots)

    def _view(
        self,
        now_s: float,
        tenants: list[str],
        slots: tuple[MachineSlot, ...],
        fits: Mapping[str, Mapping[int, str]],
        waiting_s: Mapping[str, float],
        reach: Mapping[str, frozenset[int]],
    ) -> PriceView | None:
        """What the policy is shown; None where there is no cluster. Arguments as `refresh` has them."""
        modules = {slot.index: module for slot in slots if (module := self.offers.module_of(slot, fits))}
        whole = self.offers.configuration(tenants, modules)
        clusters = whole.clusters
        if not clusters:
            return None
        return PriceView(
            now_s=now_s,
            epoch=self._number,
            tenants=tuple(tenants),
            weights=np.array([self.weights[tenant] for tenant in tenants]),
            present=reachable_configuration(whole, tenants, reach),
            waiting_s=np.array([waiting_s.get(tenant, 0.0) for tenant in tenants]),
            delivered_s=self.history.last_delivered(tenants, clusters),
            counters=tuple(tuple(self._totals.activity(t, c.slot) for c in clusters) for t in tenants),
            alternatives=self.offers.alternatives(now_s, tenants, slots, modules, fits),
            memory=self.decider.memory,
            whole=whole,
            **self._inputs.of_view(self.history.last, tenants, clusters),
        )

    def _end(self, now_s: float) -> None:
        """Close the epoch that lasts: what was delivered in it is history."""
        epoch = self.now
        if epoch is None or now_s <= epoch.at_s:
            return
        clusters, tenants = epoch.view.present.clusters, epoch.view.tenants
        had = self._totals.delivered_s(self.accounts, tenants, clusters)
        work = self._totals.work_s(tenants)
        found = self._inputs.end_epoch(tenants, clusters, self._totals.alone_s(self.accounts, tenants, clusters, now_s))
        ended = replace(epoch, ended_s=now_s, delivered_s=had, work_s=work)
        if found is not None:
            ended = replace(
                ended, progress=found.progress, traffic_bytes=found.traffic_bytes, progress_measured=found.measured
            )
        self.history.add(ended)

    def _kernels_changed(self, running: Callable[[], Mapping[str, RunningKernels]], now_s: float) -> bool:
        """Whether other kernels run than when the epoch began, and it has lasted long enough to end for that."""
        self._inputs.read_running(running)
        if self.now is None or now_s < self.now.at_s + EARLY * self.settings.epoch_s:
            return False
        return self._inputs.has_changed(self.now.view)

    def _clusters_changed(self, slots: tuple[MachineSlot, ...], fits: Mapping[str, Mapping[int, str]]) -> bool:
        if self.now is None:
            return True
        known = {cluster.slot: cluster.module for cluster in self.now.view.present.clusters}
        return known != {slot.index: m for slot in slots if (m := self.offers.module_of(slot, fits))}


__all__ = ["ClusterKind", "PriceLoop", "PriceSettings"]
