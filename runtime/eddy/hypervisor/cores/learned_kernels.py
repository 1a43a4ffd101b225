# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is known of tenants' kernels, from what their slices were measured to do: nothing that anybody says counts.

For each kernel and kind of cluster: core-seconds a work-group takes, and what the cores counted, which gives the
parallel fraction F ([000] chapter 4). Both fade with the core-seconds that followed, because inputs change.

A work-group takes longer the more cores its tenant has: by (3.2) it takes a (k (1 - F) + F) core-seconds on k of them,
and a is what the throughput f of one PE says. So f is not what was measured, but that over what k cores cost each. How
the measured times grow with k says F too, and better than what one core counts of its lanes: it is fitted, and the
counters count like some slices' worth of such evidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from eddy.core.counters import CoreCounters
from eddy.model.parallel_fraction import Activity

UNKNOWN_FRACTION = 0.8
"""F of work that has never run ([000] 5.2.3)."""
FADE_S = 20.0
"""Core-seconds after which what was measured counts for 1/e."""
COUNTED_AS = 20.0
"""Slices that the counters' F weighs against slices on different numbers of cores."""
STEP = 4.0
"""Most by which a slice grows or shrinks at once: what the first ones take is mostly their start."""
KNOWN = 4096
"""Kernels of which something is known; beyond it, the tenant with most of them loses the one of longest ago."""
ALONE_SLICES = 8
"""Slices alone from which on a kernel's speed alone is known: the first ones are mostly their start."""
ALONE_KEPT_S = 1000.0
"""Core-seconds beside others after which a speed alone is forgotten, where the kernel was not alone again."""
_MIN_FRACTION = 1e-3
MIN_S = 1e-9
"""Of a slice, where a clock is too coarse."""


@dataclass
class LearnedKernel:
    """One kernel on one kind of cluster.

    Attributes:
        seconds, groups, slices: Core-seconds that slices took, work-groups they did, and their number, fading.
        beside, squares, products: Cores the tenant had meanwhile, their squares, both by work-groups, and cores times
            core-seconds, fading.
        lanes: CYCLE_THREAD_X, fading.
        slice_groups: Work-groups the next slice should have; 0 before the first has ended.
        alone: What it did while nothing else ran.
    """

    seconds: float = 0.0
    groups: float = 0.0
    slices: float = 0.0
    beside: float = 0.0
    squares: float = 0.0
    products: float = 0.0
    lanes: tuple[float, ...] = ()
    slice_groups: float = 0.0
    alone: SoloRuns = field(default_factory=lambda: SoloRuns())

    def add_slice(
        self, groups: int, seconds: float, counters: CoreCounters | None, quantum_s: float, cores: float = 1.0
    ) -> None:
        """A slice ended well.

        Args:
            groups: Work-groups it did.
            counters: What its core counted, if anything.
            quantum_s: A slice should take.
            cores: Its tenant had on this cluster meanwhile, on average: 1 or more.
        """
        # A clock that is too coarse for a slice does not make it free.
        seconds = max(seconds, MIN_S)
        fade = math.exp(-seconds / FADE_S)
        self.seconds, self.groups = self.seconds * fade + seconds, self.groups * fade + groups
        self.slices, self.beside = self.slices * fade + 1, self.beside * fade + groups * cores
        self.squares = self.squares * fade + groups * cores * cores
        self.products = self.products * fade + seconds * cores
        wanted = groups * quantum_s / seconds
        self.slice_groups = min(max(wanted, groups / STEP), groups * STEP)
        if counters is not None and any(counters.cycle_thread):
            before = self.lanes or (0.0,) * len(counters.cycle_thread)
            self.lanes = tuple(a * fade + b for a, b in zip(before, counters.cycle_thread, strict=True))

    @property
    def group_s(self) -> float | None:
        """Core-seconds of a work-group, as it was; None where none was measured."""
        return self.seconds / self.groups if self.groups else None

    def alone_s(self, fraction: float) -> float | None:
        """Core-seconds of a work-group on one core alone, were this F; None where none was measured."""
        paid = self.beside * (1 - fraction) + self.groups * fraction
        return self.seconds / paid if paid else None

    def fit_fraction(self, counted: float) -> float:
        """F by how core-seconds of a work-group grow with the tenant's cores, given what the counters say.

        Least squares for g(k) = p + q k, F being p / (p + q), with `COUNTED_AS` slices that say `counted`.
        """
        if not self.slices:
            return counted
        weight, serial = COUNTED_AS * self.groups / self.slices, 1 - counted
        a, d = self.groups + weight * serial * serial, self.squares + weight * counted * counted
        b = self.beside - weight * serial * counted
        p, q = self.seconds * d - self.products * b, self.products * a - self.seconds * b
        return min(max(p / (p + q), _MIN_FRACTION), 1.0) if p + q > 0 else counted

    @property
    def fraction(self) -> float | None:
        """F among the lanes of a core, from (4.3); None where nothing was counted."""
        if len(self.lanes) < 2 or not any(self.lanes):
            return None
        return Activity((tuple(round(count) for count in self.lanes),)).fraction


@dataclass
class SoloRuns:
    """A kernel while nothing else ran on the board, with as many cores as it could use: what progress is compared with.

    Attributes:
        seconds, groups: Time that passed (not core-seconds), and work-groups done in it, fading.
        slices: Since it was last forgotten.
        beside_s: Core-seconds it ran beside others since it was last alone.
    """

    seconds: float = 0.0
    groups: float = 0.0
    slices: int = 0
    beside_s: float = 0.0

    def add_solo_slice(self, groups: int, seconds: float, cores: float) -> None:
        """A slice ended that was alone.

        Args:
            groups: Work-groups it did.
            cores: Its tenant had meanwhile, on average: so much of the time that passed is not this slice's.
        """
        fade = math.exp(-seconds / FADE_S)
        self.seconds, self.groups = self.seconds * fade + seconds / cores, self.groups * fade + groups
        self.slices, self.beside_s = self.slices + 1, 0.0

    def add_shared_slice(self, seconds: float) -> None:
        """A slice ended that was not; forgets what is too old."""
        self.beside_s += seconds
        if self.beside_s > ALONE_KEPT_S:
            self.seconds, self.groups, self.slices = 0.0, 0.0, 0

    @property
    def group_s(self) -> float | None:
        """Seconds a work-group takes alone on all cores; None where that is not known."""
        return self.seconds / self.groups if self.slices >= ALONE_SLICES and self.groups else None


class LearnedKernels:
    """What is known, by kernel (as `CorePartition.kernel` names it) and module; of at most `KNOWN` kernels."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, LearnedKernel]] = {}
        self._tenants: dict[str, dict[str, None]] = {}
        """Kernels by tenant, the one of longest ago first."""

    def get_or_add(self, tenant: str, kernel: str, module: str) -> LearnedKernel:
        """What is known of a tenant's kernel on a kind of cluster, to be added to."""
        mine = self._tenants.setdefault(tenant, {})
        mine.pop(kernel, None)
        mine[kernel] = None
        modules = self._known.setdefault(kernel, {})
        if len(self._known) > KNOWN:
            self._forget_one()
        return modules.setdefault(module, LearnedKernel())

    def _forget_one(self) -> None:
        """Nobody's flood of kernels takes away what is known of others'."""
        tenant = max(self._tenants, key=lambda each: len(self._tenants[each]))
        kernel = next(iter(self._tenants[tenant]))
        del self._tenants[tenant][kernel]
        self._known.pop(kernel, None)
        if not self._tenants[tenant]:
            del self._tenants[tenant]

    def peek(self, kernel: str, module: str) -> LearnedKernel:
        """The same, for whoever only asks."""
        return self._known.get(kernel, {}).get(module) or LearnedKernel()

    def all_kernels(self) -> list[LearnedKernel]:
        """All that is known."""
        return [known for modules in self._known.values() for known in modules.values()]

    def fraction(self, kernel: str, module: str) -> tuple[float, bool]:
        """F, and whether it was counted on that kind of cluster; of another kind, or `UNKNOWN_FRACTION`, where not."""
        here = self.peek(kernel, module)
        counted, sure = self._counted(kernel, here)
        return here.fit_fraction(counted), sure

    def _counted(self, kernel: str, here: LearnedKernel) -> tuple[float, bool]:
        if (counted := here.fraction) is not None:
            return counted, True
        others = (known.fraction for known in self._known.get(kernel, {}).values())
        return next((found for found in others if found is not None), UNKNOWN_FRACTION), False
