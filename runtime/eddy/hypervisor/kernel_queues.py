"""Kernels on shared clusters: which wait for a cluster, which are bound to one, and what each still has to do."""

from __future__ import annotations

import itertools
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from eddy.hypervisor.job import BufferState, Job
from eddy.hypervisor.market_loop import PriceLoop
from eddy.hypervisor.messages import Variant
from eddy.hypervisor.progress_watch import TenantRunning
from eddy.hypervisor.slot import MachineSlot

LEAST_OF_LIMIT = 0.25
"""Part of its time limit that a slice should take at most."""


@dataclass(slots=True)
class Progress:
    """A kernel that is bound to a cluster.

    Attributes:
        slot: Which.
        module: What the cluster is.
        variant: The kernel on it.
        issued, done: Work-groups given out, and done; those given out come in order.
        back: Ranges that were given out and did not start: first and count.
        slices: Given out so far.
        running: Slices that run.
        trial: It runs a slice of about a quantum here, to be measured, and begins again elsewhere (`cluster_trials`).
        tried_s: Core-seconds its slices on trial took.
        again: Its slot failed: once none of its slices runs, it begins again.
        rests_s: Board time since which none of its slices runs, or it is bound.
    """

    slot: int
    module: str
    variant: Variant
    issued: int = 0
    done: int = 0
    back: list[tuple[int, int]] = field(default_factory=list)
    slices: int = 0
    running: int = 0
    trial: bool = False
    tried_s: float = 0.0
    again: bool = False
    rests_s: float = 0.0

    @property
    def left(self) -> int:
        """Work-groups to give out."""
        return self.variant.groups - self.issued + sum(count for _, count in self.back)

    def take(self, count: int) -> tuple[int, int]:
        """The next range of at most so many work-groups."""
        if self.back:
            first, back = self.back.pop()
            if back > count:
                self.back.append((first + count, back - count))
            return first, min(back, count)
        first, self.issued = self.issued, min(self.variant.groups, self.issued + count)
        return first, self.issued - first


Line = tuple[str, tuple[str, ...]]
"""A tenant, and the modules its kernels run on: one whose clusters are taken holds up none that runs on others."""


class KernelQueues:
    """Every kernel that has not ended, in order of arrival for each tenant and the modules it runs on.

    Args:
        jobs: The machine's, by number.
        slots: The machine's, by index.
        shared: Indices of the `gpu` pool's.
        loop: Knows what slices were measured to take.
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
        loop: PriceLoop,
        fits: Mapping[str, Iterable[int]],
    ) -> None:
        self._jobs, self._slots, self._loop = jobs, slots, loop
        self._places = {module: sorted(held) for module, held in fits.items()}
        """Slots that may hold a module, as they were when all was laid out."""
        self.hosts: frozenset[int] = frozenset()
        self.progress: dict[int, Progress] = {}
        self._bound: dict[int, dict[str, deque[int]]] = {index: {} for index in shared}
        """By slot and tenant: jobs with work-groups to give out, oldest first."""
        self._unbound: dict[Line, deque[int]] = {}

    # Who waits where ----------------------------------------------------------------------------------------------

    def arrived(self, job: Job) -> None:
        """A kernel waits for a cluster."""
        self._unbound.setdefault(_line(job), deque()).append(job.spec.id)

    def returned(self, job: Job) -> None:
        """A kernel that was bound to a cluster waits for one again, before its tenant's others."""
        self.forget(job)
        self.progress.pop(job.spec.id, None)
        self._unbound.setdefault(_line(job), deque()).appendleft(job.spec.id)

    def bind(self, job: Job, progress: Progress) -> None:
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

    def leave(self, job: Job) -> None:
        """A kernel has ended."""
        self.forget(job)
        self.progress.pop(job.spec.id, None)

    def tenants(self) -> set[str]:
        """Those with kernels that have not ended."""
        return {self._jobs[number].spec.tenant for number in self.progress}.union(tenant for tenant, _ in self._unbound)

    def reach(self) -> dict[str, frozenset[int]]:
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

    def claimed(self, slot: int, tenant: str) -> bool:
        """Whether somebody else has a kernel bound to a cluster."""
        owners = (self._jobs[number].spec.tenant for number, each in self.progress.items() if each.slot == slot)
        return any(owner != tenant for owner in owners)

    def idle(self, tenant: str) -> bool:
        """Whether a tenant has no kernel that is bound to a cluster, other than on trial."""
        bound = (number for number, progress in self.progress.items() if not progress.trial)
        return all(self._jobs[number].spec.tenant != tenant for number in bound)

    def tries(self, tenant: str) -> bool:
        """Whether a tenant has a kernel on trial."""
        return any(each.trial and self._jobs[number].spec.tenant == tenant for number, each in self.progress.items())

    def on_trial(self, slot: int) -> Iterator[Job]:
        """Kernels that can give out a slice on trial on a cluster, oldest first."""
        bound = [number for number in self.bound(slot) if self.progress[number].trial]
        return (self._jobs[number] for number in sorted(bound) if self._ready(number))

    def held_up(self, now_s: float, at_least_s: float) -> list[Job]:
        """Kernels that could run where they are bound and have had no core for so long, oldest first.

        Of those that have begun, the ones that have waited for longer than they ever ran: to begin again costs less.
        """
        found = []
        for number in sorted(self.progress):
            job, progress = self._jobs[number], self.progress[number]
            waited_s = now_s - progress.rests_s
            waits = not (progress.running or progress.again) and waited_s >= max(at_least_s, job.core_seconds)
            if waits and job.ending is None and self._ready(number):
                found.append(job)
        return found

    def running(self) -> dict[str, TenantRunning]:
        """What each tenant has bound to clusters."""
        kernels: dict[str, set[str]] = {}
        groups: Counter[str] = Counter()
        least: dict[str, float] = {}
        for number, progress in self.progress.items():
            spec = self._jobs[number].spec
            if spec.spread is None:
                continue
            kernels.setdefault(spec.tenant, set()).add(spec.spread.kernel)
            groups[spec.tenant] += progress.variant.groups
            asked = spec.asked.min_progress
            wanted = self._loop.least_of(spec.tenant) if asked is None else asked
            least[spec.tenant] = max(least.get(spec.tenant, 0.0), wanted)
        return {t: TenantRunning(tuple(sorted(names)), groups[t], least[t]) for t, names in kernels.items()}

    def heads(self) -> list[Line]:
        """Lines of kernels that wait for a cluster: by tenant, and of a tenant by the first one's age."""
        return sorted(self._unbound, key=lambda line: (line[0], self._unbound[line][0]))

    def head(self, at: Line) -> Job | None:
        """The kernel of a line that is to be bound to a cluster next."""
        line = self._unbound.get(at)
        return self._jobs[line[0]] if line else None

    def unbound(self) -> Iterator[Job]:
        """Kernels that wait for a cluster."""
        return (self._jobs[number] for line in self._unbound.values() for number in line)

    def bound(self, slot: int) -> Iterator[int]:
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

    def overflows(self, module: str, slot: int) -> bool:
        """Whether kernels bound to clusters of a kind have more slices left than these have cores, and may run on the
        cluster of a slot as well."""
        left = Counter[int]()
        for number, progress in self.progress.items():
            if progress.module == module and progress.left and self.area(number, slot, 0) is not None:
                left[progress.slot] += self._slices(number)
        return any(count > self._loop.kinds[module].cores for count in left.values())

    def area(self, number: int, slot: int, core: int) -> int | None:
        """Which part of a kernel's region a core of a slot has for itself; None where there is none for it.

        Clusters that the kernel may run on are numbered as their slots are, those of one kind. One that is bound to a
        cluster for which there is no number runs there alone.
        """
        progress = self.progress[number]
        several = self._places.get(progress.module, [])[: progress.variant.clusters]
        if progress.variant.clusters == 1 or progress.slot not in several:
            return core if slot == progress.slot else None
        cores = self._loop.kinds[progress.module].cores
        return several.index(slot) * cores + core if slot in several else None

    # What there is to do ------------------------------------------------------------------------------------------

    def waiting_s(self) -> dict[str, float]:
        """Core-seconds of work by tenant: infinite where some of it was never measured."""
        waiting: dict[str, float] = {}
        for number, progress in self.progress.items():
            job = self._jobs[number]
            groups = progress.variant.groups - progress.done
            waiting[job.spec.tenant] = waiting.get(job.spec.tenant, 0.0) + self._takes_s(job, progress.module, groups)
        for job in self.unbound():
            assert job.spec.spread is not None
            module, variant = next(iter(job.spec.spread.variants.items()))
            tenant = job.spec.tenant
            waiting[tenant] = waiting.get(tenant, 0.0) + self._takes_s(job, module, variant.groups)
        return waiting

    def size(self, job: Job, progress: Progress) -> int:
        """Work-groups of the next slice: what should take a quantum, in whole waves; one wave of what never ran.

        Of a kernel whose slices may take little longer than a quantum, less: a slice must not come near its limit.
        """
        assert job.spec.spread is not None
        wave = progress.variant.wave
        wanted = self._loop.estimates.learned.look(job.spec.spread.kernel, progress.module).slice_groups
        limit_s, quantum_s = progress.variant.application.tasks[0].time_limit_s, self._loop.settings.quantum_s
        wanted *= min(1.0, LEAST_OF_LIMIT * limit_s / quantum_s)
        return max(int(wanted) // wave * wave, wave)

    def left(self, slot: int, tenant: str) -> int:
        """Slices a tenant's kernels have left on a cluster."""
        return sum(self._slices(number) for number in self._bound[slot].get(tenant, ()))

    def having_work(self, slot: int) -> set[str]:
        """Tenants with work-groups to give out that a cluster may run, now or when it is ready for them."""
        return set(self._bound[slot]) if slot not in self.hosts else set().union(*self._bound.values())

    def wants(self, slot: int) -> dict[str, int]:
        """By tenant: slices it could start on a cluster now, if cores were free."""
        most, wants = len(self._loop.accounts[slot].cores), {}
        for tenant in sorted(self.having_work(slot)):
            count = 0
            for job in self.ready(slot, tenant):
                count += self._slices(job.spec.id)
                if count >= most:
                    break
            if count:
                wants[tenant] = min(count, most)
        return wants

    def _ready(self, number: int) -> bool:
        """Whether a kernel has its memory, work-groups to give out, and its cluster in its slot: one that waits for
        the configuration port still holds the cluster before it."""
        progress = self.progress[number]
        there = self._slots[progress.slot].module == progress.module
        return there and self._jobs[number].memory is BufferState.HELD and progress.left > 0

    def _slices(self, number: int) -> int:
        progress = self.progress[number]
        return -(-progress.left // self.size(self._jobs[number], progress))

    def _takes_s(self, job: Job, module: str, groups: int) -> float:
        """Core-seconds of so many work-groups, as measured."""
        assert job.spec.spread is not None
        group_s = self._loop.estimates.learned.look(job.spec.spread.kernel, module).group_s
        return math.inf if group_s is None else groups * group_s


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
