"""What price decides on a live board: an epoch's view, the policy's decision, and what came of it.

An epoch begins after `epoch_s` of board time, or when a tenant comes or goes. What was delivered in the one before is
added to the history with what had been promised; the policy sees it and shares the clusters out again.
"""

from __future__ import annotations

import itertools
import logging
import operator
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from eddy.core.counters import CoreCounters
from eddy.hypervisor.core_accounts import CoreAccount
from eddy.hypervisor.market_history import Epoch, EpochHistory
from eddy.hypervisor.messages import Spread
from eddy.hypervisor.progress_watch import EARLY, EpochProgress, ProgressWatch, TenantRunning, of_present
from eddy.hypervisor.slot import MachineSlot
from eddy.hypervisor.tenant_estimates import ClusterKind, TenantEstimates
from eddy.model.parallel_fraction import Activity
from eddy.policy.price.view import (
    ClusterView,
    Configuration,
    Floats,
    PriceDecision,
    PricePolicy,
    PriceView,
    entitled,
    unpriced,
)

_log = logging.getLogger(__name__)
LEAST_PART = 0.05
"""PEs of a cluster by weight below which a kernel goes to one that stands idle instead, however slow."""
MOST_CONFIGURATIONS = 32
"""Alternatives a policy is shown; with more, those that change one slot."""


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


@dataclass(frozen=True, slots=True)
class SliceMeasured:
    """What a slice was measured to do.

    Attributes:
        slot, module: The cluster it ran on, and what that is.
        groups: Work-groups it did.
        took_s: Board seconds.
        cores: Its tenant had on that cluster meanwhile, on average, this one included.
        counters: What its core counted, if anything.
    """

    slot: int
    module: str
    groups: int
    took_s: float
    cores: float = 1.0
    counters: CoreCounters | None = None


@dataclass
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

    policy: PricePolicy
    kinds: Mapping[str, ClusterKind]
    weight_of: Callable[[str], float] = lambda _: 1.0
    settings: PriceSettings = field(default_factory=PriceSettings)
    configurations: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    watch: ProgressWatch = field(default_factory=ProgressWatch)
    least_of: Callable[[str], float] = lambda _: 0.0

    def __post_init__(self) -> None:
        self.accounts: dict[int, CoreAccount] = {}
        self.estimates = TenantEstimates(self.kinds)
        self.weights: dict[str, float] = {}
        self.wanted: dict[int, str] = {}
        """By slot: the module the configuration in force has there."""
        self.history = EpochHistory()
        self.now: Epoch | None = None
        self.next_s = 0.0
        self.life = 0
        """How often the hypervisor has recovered: tells its slices from those of earlier lives."""
        self._memory = self.policy.initial()
        self._absent_s: dict[str, float] = {}
        self._waiting_s: Mapping[str, float] = {}
        self._reach: Mapping[str, frozenset[int]] = {}
        self._running: dict[str, TenantRunning] = {}
        self._progress: EpochProgress | None = None
        self._prices: dict[int, float] = {}
        self._work_s: dict[str, float] = {}
        self._before: dict[int, dict[str, float]] = {}
        self._counted: dict[tuple[str, int], tuple[int, ...]] = {}
        self._next_policy: PricePolicy | None = None
        self._switching = threading.Lock()
        self._configured_s = 0.0
        self._number = 0

    def attach(self, accounts: dict[int, CoreAccount]) -> None:
        """The machine begins: nothing runs."""
        self.accounts, self.now, self._absent_s = accounts, None, {}
        self._before, self.next_s = {}, 0.0
        self.watch.forget()

    def switch(self, policy: PricePolicy) -> None:
        """Another policy, from the next epoch on, which is due at once; from any thread."""
        with self._switching:
            self._next_policy = policy
        self.next_s = 0.0

    def _exchange(self) -> None:
        """Put the policy in force that was asked for meanwhile, if any."""
        with self._switching:
            asked, self._next_policy = self._next_policy, None
        if asked is not None:
            self.policy, self._memory = asked, asked.initial()

    @property
    def policy_name(self) -> str:
        """Of the policy in force, or about to be."""
        return (self._next_policy or self.policy).name

    def shown(self) -> tuple[Epoch | None, tuple[Epoch, ...]]:
        """The epoch that lasts, and those that ended, oldest first; from any thread."""
        return self.now, self.history.ended()

    def restore(self, epochs: Iterable[str]) -> None:
        """Go on after the epochs an earlier life wrote (`EpochHistory.write`), oldest first."""
        self._number = max(self._number, self.history.restore(epochs))

    # What happens -------------------------------------------------------------------------------------------------

    def arrived(self, tenant: str, spread: Spread, now_s: float) -> None:
        """A tenant submitted a kernel."""
        self.estimates.arrived(tenant, spread)

    def measured(self, tenant: str, spread: Spread, of: SliceMeasured) -> None:
        """A slice of a tenant's kernel ended well."""
        known, counters, slot = self.estimates.learned.of(spread.kernel, of.module), of.counters, of.slot
        known.take(of.groups, of.took_s, counters, self.settings.quantum_s, of.cores)
        done = of.groups / spread.variants[of.module].groups
        self._work_s[tenant] = self._work_s.get(tenant, 0.0) + done * self.estimates.base_s(spread)
        if counters is not None and any(counters.cycle_thread):
            before = self._counted.get((tenant, slot), (0,) * len(counters.cycle_thread))
            self._counted[tenant, slot] = tuple(map(operator.add, before, counters.cycle_thread))

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
        self._exchange()
        self.weights = {tenant: self.weight_of(tenant) for tenant in tenants}
        modules = {slot.index: self._module(slot, fits) for slot in slots}
        whole = self._configuration(tenants, {slot: module for slot, module in modules.items() if module})
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
            counters=tuple(tuple(self._activity(t, c.slot) for c in here.clusters) for t in tenants),
            alternatives=self._alternatives(now_s, tenants, slots, modules, fits),
            memory=self._memory,
            whole=whole,
            **self._of_progress(tenants, here),
        )
        name, decision = self._decide(view)
        slots_now = [cluster.slot for cluster in here.clusters]
        self._prices = dict(zip(slots_now, map(float, decision.prices), strict=True))
        for column, cluster in enumerate(here.clusters):
            shares = {t: float(x) for t, x in zip(tenants, decision.shares[:, column], strict=True) if x > 0}
            self.accounts[cluster.slot].shares = shares
        if decision.configuration:
            chosen = next(c for c in view.alternatives if c.name == decision.configuration)
            self.wanted = {cluster.slot: cluster.module for cluster in chosen.clusters}
        nothing = np.zeros(here.throughput.shape)
        sure = np.array([[self.estimates.sure(t, c.module) for c in here.clusters] for t in tenants], np.float64)
        view = replace(view, memory=None)
        work = np.zeros(len(tenants))
        self.now = Epoch(self._number, now_s, None, name, view, decision, sure, nothing, work)
        self._before = {slot: dict(account.delivered_s) for slot, account in self.accounts.items()}
        self._work_s.clear()
        self._counted.clear()
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

    def _decide(self, view: PriceView) -> tuple[str, PriceDecision]:
        """The policy's decision; of one that fails, or whose shares cannot be given, the entitlement for this epoch.

        What tenants run shapes what a policy is told; none of it may keep the others' kernels from running.
        """
        try:
            decision = self.policy.decide(view)
        except Exception:
            _log.exception("price policy %s failed; epoch %d is shared by entitlement", self.policy.name, view.epoch)
            return self._entitled(view)
        if not _can_be_given(decision, view):
            _log.error("price policy %s: shares that cannot be given in epoch %d", self.policy.name, view.epoch)
            return self._entitled(view)
        self._memory = decision.memory
        return self.policy.name, decision

    def _entitled(self, view: PriceView) -> tuple[str, PriceDecision]:
        self._memory = self.policy.initial()
        return "entitlement", PriceDecision(entitled(view), unpriced(view))

    def _end(self, now_s: float) -> None:
        """Close the epoch that lasts: what was delivered in it is history."""
        epoch = self.now
        if epoch is None or now_s <= epoch.at_s:
            return
        clusters, tenants = epoch.view.present.clusters, epoch.view.tenants
        had = np.array([[self._had(c.slot, tenant) for c in clusters] for tenant in tenants])
        work = np.array([self._work_s.get(tenant, 0.0) for tenant in tenants])
        groups = {tenant: each.groups for tenant, each in self._running.items() if each.groups}
        self._progress = found = self.watch.end(tenants, clusters, groups)
        ended = replace(epoch, ended_s=now_s, delivered_s=had, work_s=work)
        if found is not None:
            ended = replace(ended, progress=found.progress, traffic_bytes=found.traffic_bytes)
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

    def _activity(self, tenant: str, slot: int) -> Activity | None:
        """What was counted for a tenant on a cluster since the last epoch began."""
        lanes = self._counted.get((tenant, slot))
        return None if lanes is None else Activity((lanes,))

    def _had(self, slot: int, tenant: str) -> float:
        account = self.accounts.get(slot)
        if account is None:
            return 0.0
        return account.delivered_s.get(tenant, 0.0) - self._before.get(slot, {}).get(tenant, 0.0)

    # What is known ------------------------------------------------------------------------------------------------

    def _module(self, slot: MachineSlot, fits: Mapping[str, Mapping[int, str]]) -> str:
        """What a slot holds, or is going to hold."""
        wanted = slot.module or self.wanted.get(slot.index, "")
        if wanted in self.kinds and slot.index in fits.get(wanted, {}):
            return wanted
        return next((module for module in self.kinds if slot.index in fits.get(module, {})), "")

    def _clusters_changed(self, slots: tuple[MachineSlot, ...], fits: Mapping[str, Mapping[int, str]]) -> bool:
        if self.now is None:
            return True
        known = {cluster.slot: cluster.module for cluster in self.now.view.present.clusters}
        return known != {slot.index: m for slot in slots if (m := self._module(slot, fits))}

    def _configuration(
        self, tenants: Iterable[str], modules: Mapping[int, str], change_s: float = 0.0
    ) -> Configuration:
        names = list(tenants)
        clusters = tuple(ClusterView(slot, modules[slot], self.kinds[modules[slot]].cores) for slot in sorted(modules))
        shape = len(names), len(clusters)
        fraction = np.array([[self.estimates.fraction(t, c.module) for c in clusters] for t in names]).reshape(shape)
        throughput = np.array([[self.estimates.throughput(t, c.module) for c in clusters] for t in names]).reshape(
            shape
        )
        known = (each for each, held in self.configurations.items() if held == modules)
        name = next(known, ", ".join(f"{cluster.slot}: {cluster.module}" for cluster in clusters))
        return Configuration(name, clusters, fraction, throughput, change_s)

    def _alternatives(
        self,
        now_s: float,
        tenants: list[str],
        slots: tuple[MachineSlot, ...],
        modules: Mapping[int, str],
        fits: Mapping[str, Mapping[int, str]],
    ) -> tuple[Configuration, ...]:
        """What else the slots could hold, now and then; nothing while a change is under way."""
        wanted = {slot: self.wanted.get(slot, module) for slot, module in modules.items()}
        # What no image is left for never comes: it is not waited for.
        under_way = any(wanted[s] != module and s in fits.get(wanted[s], {}) for s, module in modules.items())
        offered = self._offered(slots, modules, fits)
        if under_way or now_s < self._configured_s or not offered:
            return ()
        self._configured_s = now_s + self.settings.configure_s
        load_s = {slot.index: slot.load_s for slot in slots}
        found = []
        for picked in offered:
            change_s = sum(load_s[slot] for slot, module in picked.items() if module != modules[slot])
            found.append(self._configuration(tenants, picked, change_s))
        return tuple(sorted(found, key=lambda each: (each.change_s, each.name)))

    def _offered(
        self, slots: tuple[MachineSlot, ...], modules: Mapping[int, str], fits: Mapping[str, Mapping[int, str]]
    ) -> list[dict[int, str]]:
        """What else the slots could hold: named configurations with all their images, or what images there are."""
        if self.configurations:
            indices = {slot.index for slot in slots}
            named = (dict(held) for held in self.configurations.values() if set(held) == indices and held != modules)
            return [h for h in named if all(m in self.kinds and s in fits.get(m, {}) for s, m in h.items())]
        return _combinations({s.index: [m for m in self.kinds if s.index in fits.get(m, {})] for s in slots}, modules)


def _can_be_given(decision: PriceDecision, view: PriceView) -> bool:
    """Whether shares and prices are numbers, and nobody is promised what is not there."""
    shares, capacity = decision.shares, view.present.capacity
    if shares.shape != view.present.throughput.shape or decision.prices.shape != capacity.shape:
        return False
    whole = np.isfinite(shares).all() and np.isfinite(decision.prices).all()
    return bool(whole and (shares >= 0).all() and (shares.sum(axis=0) <= capacity * (1 + 1e-6)).all())


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


def _combinations(choices: Mapping[int, list[str]], now: Mapping[int, str]) -> list[dict[int, str]]:
    """Modules by slot, other than now: all combinations where they are few, else changes of one slot."""
    count = 1
    for modules in choices.values():
        count *= max(len(modules), 1)
    if count <= MOST_CONFIGURATIONS:
        every = itertools.product(*([(slot, m) for m in modules] for slot, modules in choices.items() if modules))
        return [dict(picked) for picked in every if dict(picked) != now]
    single = [{**now, slot: m} for slot, modules in choices.items() for m in modules if m != now.get(slot)]
    return single[:MOST_CONFIGURATIONS]


__all__ = ["ClusterKind", "Epoch", "PriceLoop", "PriceSettings", "entitled"]
