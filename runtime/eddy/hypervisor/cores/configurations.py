# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the slots hold, could hold, and are wanted to: configurations that a price policy chooses from."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from eddy.hypervisor.cores.tenant_estimates import ClusterKind, TenantEstimates
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.policy.price.view import ClusterView, Configuration

MAX_CONFIGURATIONS = 32
"""Alternatives a policy is shown; with more, those that change one slot."""


class ConfigurationOffers:
    """Configurations of the slots of the `gpu` pool.

    Args:
        kinds: Clusters there are, by module, the preferred one first.
        named: What the slots may hold together, by name: modules by slot; empty where any cluster that has an image for
            a slot may be in it.
        estimates: What each tenant could do on each.
        every_s: Board seconds between two looks at alternatives.

    Attributes:
        named: See above.
        wanted: By slot: the module the configuration in force has there.
    """

    def __init__(
        self,
        kinds: Mapping[str, ClusterKind],
        named: Mapping[str, Mapping[int, str]],
        estimates: TenantEstimates,
        every_s: float,
    ) -> None:
        self._kinds, self.named, self._estimates, self._every_s = kinds, named, estimates, every_s
        self.wanted: dict[int, str] = {}
        self._looked_s = 0.0

    def begin(self, slots: Iterable[MachineSlot], fits: Mapping[str, Mapping[int, str]]) -> None:
        """Where configurations are named and none is in force yet, the one that takes the fewest loads is; of those the
        first that is named. Slot by slot the preferred clusters might be none that the fabric may hold together."""
        if self.wanted or not self.named:
            return
        held = {slot.index: slot.module for slot in slots}
        whole = self._complete(held, fits)
        if whole:
            self.wanted = min(whole, key=lambda each: sum(held[slot] != module for slot, module in each.items()))

    def module_of(self, slot: MachineSlot, fits: Mapping[str, Mapping[int, str]]) -> str:
        """What a slot holds, or is going to hold."""
        wanted = slot.module or self.wanted.get(slot.index, "")
        if wanted in self._kinds and slot.index in fits.get(wanted, {}):
            return wanted
        return next((module for module in self._kinds if slot.index in fits.get(module, {})), "")

    def configuration(self, tenants: Iterable[str], modules: Mapping[int, str], change_s: float = 0.0) -> Configuration:
        """A configuration as a policy sees it: modules by slot, and what each tenant could do there."""
        names = list(tenants)
        clusters = tuple(ClusterView(slot, modules[slot], self._kinds[modules[slot]].cores) for slot in sorted(modules))
        shape = len(names), len(clusters)
        fraction = np.array([[self._estimates.fraction(t, c.module) for c in clusters] for t in names]).reshape(shape)
        throughput = np.array([[self._estimates.throughput(t, c.module) for c in clusters] for t in names]).reshape(
            shape
        )
        known = (each for each, held in self.named.items() if held == modules)
        name = next(known, ", ".join(f"{cluster.slot}: {cluster.module}" for cluster in clusters))
        return Configuration(name, clusters, fraction, throughput, change_s)

    def alternatives(
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
        if under_way or now_s < self._looked_s or not offered:
            return ()
        self._looked_s = now_s + self._every_s
        load_s = {slot.index: slot.load_s for slot in slots}
        found = []
        for picked in offered:
            change_s = sum(load_s[slot] for slot, module in picked.items() if module != modules[slot])
            found.append(self.configuration(tenants, picked, change_s))
        return tuple(sorted(found, key=lambda each: (each.change_s, each.name)))

    def _offered(
        self, slots: tuple[MachineSlot, ...], modules: Mapping[int, str], fits: Mapping[str, Mapping[int, str]]
    ) -> list[dict[int, str]]:
        """What else the slots could hold: named configurations with all their images, or what images there are."""
        if self.named:
            return [each for each in self._complete([slot.index for slot in slots], fits) if each != modules]
        return _combinations({s.index: [m for m in self._kinds if s.index in fits.get(m, {})] for s in slots}, modules)

    def _complete(self, slots: Collection[int], fits: Mapping[str, Mapping[int, str]]) -> list[dict[int, str]]:
        """Named configurations of these slots that have all their images."""
        named = (dict(each) for each in self.named.values() if set(each) == set(slots))
        return [h for h in named if all(m in self._kinds and s in fits.get(m, {}) for s, m in h.items())]


def reachable_configuration(
    whole: Configuration, tenants: Iterable[str], reach: Mapping[str, Collection[int]]
) -> Configuration:
    """A configuration whose throughput is 0 where none of a tenant's kernels can run.

    Args:
        whole: The configuration, could every tenant's kernels run on every cluster.
        reach: Slots a tenant's kernels can run on; any, of tenants that are not named or reach none of these.
    """
    slots = [cluster.slot for cluster in whole.clusters]
    rows = [
        [float(slot in reached) for slot in slots] for reached in (_reached(reach.get(t, ()), slots) for t in tenants)
    ]
    return replace(whole, throughput=whole.throughput * np.array(rows).reshape(whole.throughput.shape))


def _reached(reach: Collection[int], slots: Collection[int]) -> Collection[int]:
    return set(reach).intersection(slots) or slots


def _combinations(choices: Mapping[int, list[str]], now: Mapping[int, str]) -> list[dict[int, str]]:
    """Modules by slot, other than now: all combinations where they are few, else changes of one slot."""
    count = 1
    for modules in choices.values():
        count *= max(len(modules), 1)
    if count <= MAX_CONFIGURATIONS:
        every = itertools.product(*([(slot, m) for m in modules] for slot, modules in choices.items() if modules))
        return [dict(picked) for picked in every if dict(picked) != now]
    single = [{**now, slot: m} for slot, modules in choices.items() for m in modules if m != now.get(slot)]
    return single[:MAX_CONFIGURATIONS]
