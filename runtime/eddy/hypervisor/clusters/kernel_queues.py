# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels on shared clusters: which wait for a cluster, which are bound to one, and which may run where."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from eddy.hypervisor.cores.market_loop import ClusterKind
from eddy.hypervisor.jobs.bound_kernel import BoundKernel
from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.slot import MachineSlot

Line = tuple[str, tuple[str, ...]]
"""A tenant, and the modules its kernels run on: one whose clusters are taken holds up none that runs on others."""


class KernelQueues:
    """Every kernel that has not ended, in order of arrival for each tenant and the modules it runs on.

    Args:
        shared: Indices of the `gpu` pool's.
        kinds: Clusters there are, by module.
        fits: Modules, and the slots there are images of each for.

    Attributes:
        progress: Of kernels that are bound to a cluster.
        hosts: Slots whose clusters may run slices of kernels bound to others.
    """

    def __init__(
        self,
        jobs: Mapping[int, Job],
        slots: Mapping[int, MachineSlot],
        shared: Iterable[int],
        kinds: Mapping[str, ClusterKind],
        fits: Mapping[str, Iterable[int]],
    ) -> None:
        self._jobs, self._slots, self._kinds = jobs, slots, kinds
        self._places = {module: sorted(held) for module, held in fits.items()}
        """Slots that may hold a module, as they were when all was laid out."""
        self.hosts: frozenset[int] = frozenset()
        self.progress: dict[int, BoundKernel] = {}
        self._bound: dict[int, dict[str, deque[int]]] = {index: {} for index in shared}
        """By slot and tenant: jobs with work-groups to give out, oldest first."""
        self._unbound: dict[Line, deque[int]] = {}

    def enqueue(self, job: Job) -> None:
        """A kernel waits for a cluster."""
        self._unbound.setdefault(_line(job), deque()).append(job.spec.id)

    def requeue(self, job: Job) -> None:
        """A kernel that was bound to a cluster waits for one again, before its tenant's others."""
        self.forget(job)
        self.progress.pop(job.spec.id, None)
        self._unbound.setdefault(_line(job), deque()).appendleft(job.spec.id)

    def bind(self, job: Job, progress: BoundKernel) -> None:
        """A kernel is bound to a cluster."""
        _remove(self._unbound, _line(job), job.spec.id)
        self.progress[job.spec.id] = progress
        self.has_more(progress.slot, job)

    def has_more(self, slot: int, job: Job) -> None:
        """A kernel has work-groups to give out on a cluster."""
        line = self._bound[slot].setdefault(job.spec.tenant, deque())
        if job.spec.id not in line:
            line.append(job.spec.id)

    def forget(self, job: Job) -> None:
        """A kernel has nothing to give out any more."""
        _remove(self._unbound, _line(job), job.spec.id)
        for lines in self._bound.values():
            _remove(lines, job.spec.tenant, job.spec.id)

    def remove_kernel(self, job: Job) -> None:
        """A kernel has ended."""
        self.forget(job)
        self.progress.pop(job.spec.id, None)

    def tenants(self) -> set[str]:
        """Those with kernels that have not ended."""
        return {self._jobs[number].spec.tenant for number in self.progress}.union(tenant for tenant, _ in self._unbound)

    def reachable_slots(self) -> dict[str, frozenset[int]]:
        """By tenant: slots whose clusters its kernels may run on before another is bound; of those with none to bind.

        A kernel runs on the cluster it is bound to, and on others of that kind where it has room for their cores.
        """
        open_ = {tenant for tenant, _ in self._unbound}
        found: dict[str, set[int]] = {}
        for number, progress in self.progress.items():
            tenant = self._jobs[number].spec.tenant
            if tenant in open_ or progress.trial:
                continue
            slots = found.setdefault(tenant, set())
            slots.add(progress.slot)
            slots.update(
                slot
                for slot in self.hosts
                if self._slots[slot].module == progress.module and self.area(number, slot, 0) is not None
            )
        return {tenant: frozenset(slots) for tenant, slots in found.items()}

    def is_claimed(self, slot: int, tenant: str) -> bool:
        """Whether somebody else has a kernel bound to a cluster."""
        owners = (self._jobs[number].spec.tenant for number, each in self.progress.items() if each.slot == slot)
        return any(owner != tenant for owner in owners)

    def has_no_bound_kernel(self, tenant: str) -> bool:
        """Whether a tenant has no kernel that is bound to a cluster, other than on trial."""
        bound = (number for number, progress in self.progress.items() if not progress.trial)
        return all(self._jobs[number].spec.tenant != tenant for number in bound)

    def has_trial(self, tenant: str) -> bool:
        """Whether a tenant has a kernel on trial."""
        return any(each.trial and self._jobs[number].spec.tenant == tenant for number, each in self.progress.items())

    def trial_kernels(self, slot: int) -> Iterator[Job]:
        """Kernels that can give out a slice on trial on a cluster, oldest first."""
        bound = [number for number in self.bound_kernels(slot) if self.progress[number].trial]
        return (self._jobs[number] for number in sorted(bound) if self._ready(number))

    def starved_kernels(self, now_s: float, at_least_s: float) -> list[Job]:
        """Kernels that could run where they are bound and have had no core for so long, oldest first.

        Of those that have begun, the ones that have waited for longer than they ever ran: to begin again costs less.
        """
        found = []
        for number in sorted(self.progress):
            job, progress = self._jobs[number], self.progress[number]
            waited_s = now_s - progress.rests_s
            waits = not (progress.running or progress.will_restart) and waited_s >= max(at_least_s, job.core_seconds)
            if waits and job.ending is None and self._ready(number):
                found.append(job)
        return found

    def heads(self) -> list[Line]:
        """Lines of kernels that wait for a cluster: by tenant, and of a tenant by the first one's age."""
        return sorted(self._unbound, key=lambda line: (line[0], self._unbound[line][0]))

    def head(self, at: Line) -> Job | None:
        """The kernel of a line that is to be bound to a cluster next."""
        line = self._unbound.get(at)
        return self._jobs[line[0]] if line else None

    def unbound_kernels(self) -> Iterator[Job]:
        """Kernels that wait for a cluster."""
        return (self._jobs[number] for line in self._unbound.values() for number in line)

    def bound_kernels(self, slot: int) -> Iterator[int]:
        """Numbers of the kernels with work-groups to give out on a cluster."""
        return (number for line in self._bound[slot].values() for number in line)

    def ready(self, slot: int, tenant: str) -> Iterator[Job]:
        """A tenant's kernels that can give out a slice on a cluster, oldest first, those bound to it before others."""
        own = (self._jobs[number] for number in self._bound[slot].get(tenant, ()) if self._ready(number))
        return itertools.chain(own, self._guests(slot, tenant))

    def _guests(self, slot: int, tenant: str) -> Iterator[Job]:
        """A tenant's kernels bound to other clusters of the kind a slot holds, which may run on this one as well."""
        if slot not in self.hosts:
            return
        module = self._slots[slot].module
        for other, lines in self._bound.items():
            for number in lines.get(tenant, ()) if other != slot else ():
                progress = self.progress[number]
                if progress.module == module and self.area(number, slot, 0) is not None and self._ready(number):
                    yield self._jobs[number]

    def area(self, number: int, slot: int, core: int) -> int | None:
        """Which part of a kernel's region a core of a slot has for itself; None where there is none for it.

        Clusters that the kernel may run on are numbered as their slots are, those of one kind. One that is bound to a
        cluster for which there is no number runs there alone.
        """
        progress = self.progress[number]
        several = self._places.get(progress.module, [])[: progress.variant.clusters]
        if progress.variant.clusters == 1 or progress.slot not in several:
            return core if slot == progress.slot else None
        cores = self._kinds[progress.module].cores
        return several.index(slot) * cores + core if slot in several else None

    def tenants_with_work(self, slot: int) -> set[str]:
        """Tenants with work-groups to give out that a cluster may run, now or when it is ready for them."""
        return set(self._bound[slot]) if slot not in self.hosts else set().union(*self._bound.values())

    def open_on(self, slot: int, tenant: str) -> Iterable[int]:
        """Numbers of a tenant's kernels with work-groups to give out that are bound to a cluster, oldest first."""
        return self._bound[slot].get(tenant, ())

    def _ready(self, number: int) -> bool:
        """Whether a kernel has its memory, work-groups to give out, and its cluster in its slot: one that waits for
        the configuration port still holds the cluster before it."""
        progress = self.progress[number]
        there = self._slots[progress.slot].module == progress.module
        return there and self._jobs[number].memory is BufferState.HELD and progress.groups_left > 0


def _line(job: Job) -> Line:
    spread = job.spec.spread
    assert spread is not None
    return job.spec.tenant, tuple(spread.variants)


_KeyT = TypeVar("_KeyT")


def _remove(lines: dict[_KeyT, deque[int]], key: _KeyT, number: int) -> None:
    """Take a number out of a line, and the line away with its last one."""
    line = lines.get(key)
    if line is not None and number in line:
        line.remove(number)
        if not line:
            del lines[key]
