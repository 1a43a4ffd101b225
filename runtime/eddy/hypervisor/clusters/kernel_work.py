# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What kernels on shared clusters still have to do: in slices by cluster, and in seconds by tenant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from eddy.hypervisor.clusters.kernel_queues import KernelQueues
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.cores.progress_watch import RunningKernels
from eddy.hypervisor.jobs.bound_kernel import BoundKernel
from eddy.hypervisor.jobs.job import Job

MIN_OF_LIMIT = 0.25
"""Part of its time limit that a slice should take at most."""


class KernelWork:
    """Work left, in slices of the size that a quantum takes.

    Args:
        queues: Kernels that have not ended.
        loop: Knows what slices were measured to take.
    """

    def __init__(self, jobs: Mapping[int, Job], queues: KernelQueues, loop: PriceLoop) -> None:
        self._jobs, self._queues, self._loop = jobs, queues, loop

    def size(self, job: Job, progress: BoundKernel) -> int:
        """Work-groups of the next slice: what should take a quantum, in whole waves; one wave of what never ran.

        Of a kernel whose slices may take little longer than a quantum, less: a slice must not come near its limit.
        """
        assert job.spec.spread is not None
        wave = progress.variant.wave
        wanted = self._loop.estimates.learned.peek(job.spec.spread.kernel, progress.module).slice_groups
        limit_s, quantum_s = progress.variant.application.tasks[0].time_limit_s, self._loop.settings.quantum_s
        wanted *= min(1.0, MIN_OF_LIMIT * limit_s / quantum_s)
        return max(int(wanted) // wave * wave, wave)

    def slices(self, number: int) -> int:
        """Slices a kernel that is bound to a cluster has left."""
        progress = self._queues.progress[number]
        return -(-progress.groups_left // self.size(self._jobs[number], progress))

    def slices_left(self, slot: int, tenant: str) -> int:
        """Slices a tenant's kernels have left on a cluster."""
        return sum(self.slices(number) for number in self._queues.open_on(slot, tenant))

    def startable_slices(self, slot: int) -> dict[str, int]:
        """By tenant: slices it could start on a cluster now, if cores were free."""
        most, wants = len(self._loop.accounts[slot].cores), {}
        for tenant in sorted(self._queues.tenants_with_work(slot)):
            count = 0
            for job in self._queues.ready(slot, tenant):
                count += self.slices(job.spec.id)
                if count >= most:
                    break
            if count:
                wants[tenant] = min(count, most)
        return wants

    def overflows(self, module: str, slot: int) -> bool:
        """Whether kernels bound to clusters of a kind have more slices left than these have cores, and may run on the
        cluster of a slot as well."""
        left = Counter[int]()
        for number, progress in self._queues.progress.items():
            if progress.module == module and progress.groups_left and self._queues.area(number, slot, 0) is not None:
                left[progress.slot] += self.slices(number)
        return any(count > self._loop.kinds[module].cores for count in left.values())

    def waiting_s(self) -> dict[str, float]:
        """Core-seconds of work by tenant: infinite where some of it was never measured."""
        waiting: dict[str, float] = {}
        for number, progress in self._queues.progress.items():
            job = self._jobs[number]
            groups = progress.variant.groups - progress.done
            waiting[job.spec.tenant] = waiting.get(job.spec.tenant, 0.0) + self._takes_s(job, progress.module, groups)
        for job in self._queues.unbound_kernels():
            assert job.spec.spread is not None
            module, variant = next(iter(job.spec.spread.variants.items()))
            tenant = job.spec.tenant
            waiting[tenant] = waiting.get(tenant, 0.0) + self._takes_s(job, module, variant.groups)
        return waiting

    def running(self) -> dict[str, RunningKernels]:
        """What each tenant has bound to clusters."""
        kernels: dict[str, set[str]] = {}
        groups: Counter[str] = Counter()
        least: dict[str, float] = {}
        for number, progress in self._queues.progress.items():
            spec = self._jobs[number].spec
            if spec.spread is None:
                continue
            kernels.setdefault(spec.tenant, set()).add(spec.spread.kernel)
            groups[spec.tenant] += progress.variant.groups
            asked = spec.asked.min_progress
            wanted = self._loop.least_of(spec.tenant) if asked is None else asked
            least[spec.tenant] = max(least.get(spec.tenant, 0.0), wanted)
        return {t: RunningKernels(tuple(sorted(names)), groups[t], least[t]) for t, names in kernels.items()}

    def _takes_s(self, job: Job, module: str, groups: int) -> float:
        """Core-seconds of so many work-groups, as measured."""
        assert job.spec.spread is not None
        group_s = self._loop.estimates.learned.peek(job.spec.spread.kernel, module).group_s
        return math.inf if group_s is None else groups * group_s
