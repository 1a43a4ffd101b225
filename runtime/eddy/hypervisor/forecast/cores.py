# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels whose cores prices share out: their queue as a picture, and what becomes of it at the shares of now."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from eddy.core.slots import Pool
from eddy.hypervisor.clusters.clusters import SharedClusters
from eddy.hypervisor.forecast.queue import QueuePicture, tenant_places
from eddy.hypervisor.forecast.simulate import JobForecast, QueueForecast
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.job_spec import JobSpec
from eddy.hypervisor.jobs.slot import Phase
from eddy.model.estimates.sharing import CoreWork, fluid_times
from eddy.policy.dispatch.no_decision import NoDecision
from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.view import DispatchView, SlotView


@dataclass(frozen=True, slots=True)
class CoresPicture:
    """Kernels on shared clusters at one instant.

    Attributes:
        queue: As estimates see a queue: a slot for each core, the price policy's name.
        work: What each kernel has left, oldest first.
        shares: Cores by tenant, over all clusters.
        load_s: Seconds until the first cluster is there.
    """

    queue: QueuePicture
    work: tuple[CoreWork, ...]
    shares: dict[str, float]
    load_s: float

    def forecast(self) -> QueueForecast:
        """What becomes of them if nothing more comes and shares stay."""
        now_s = self.queue.view.now_s
        times = fluid_times(self.work, self.shares, float(len(self.queue.view.slots)))
        begun = {each.id for each in self.work if each.begun}
        found = {
            number: JobForecast(
                now_s + (0.0 if number in begun else start_s + self.load_s), now_s + end_s + self.load_s
            )
            for number, (start_s, end_s) in times.items()
        }
        waiting = sorted((found[n].start_s, n) if n in found else (math.inf, n) for n in self._ids() if n not in begun)
        order = tuple(number for _, number in waiting)
        return QueueForecast(now_s, found, order, tenant_places(order, self.queue.view.jobs), 0)

    def with_kernel(self, spec: JobSpec, work_s: float | None, width: float) -> CoresPicture:
        """With a kernel more, the youngest."""
        more = CoreWork(spec.id, spec.tenant, math.inf if work_s is None else work_s, width)
        known = (self.queue.known or frozenset()) | (frozenset() if work_s is None else {spec.id})
        queue = replace(self.queue.with_job(_view(spec, begun=False)), known=known)
        return replace(self, queue=queue, work=(*self.work, more))

    def _ids(self) -> Iterator[int]:
        return (each.id for each in self.work)


def picture_cores(clusters: SharedClusters, now_s: float) -> CoresPicture:
    """The kernels of shared clusters as they are now; for the thread that steps the machine."""
    state, loop, queues = clusters.state, clusters.loop, clusters.queues
    usable = [slot for slot in clusters.slots if not slot.withheld]
    cores = sum(
        loop.kinds[module].cores for slot in usable if (module := clusters.loads.target_module(slot)) in loop.kinds
    )
    shares: dict[str, float] = {}
    for slot in usable:
        for tenant, share in loop.accounts[slot.index].shares.items():
            shares[tenant] = shares.get(tenant, 0.0) + share
    numbers = {*queues.progress, *(job.spec.id for job in queues.unbound_kernels())}
    waiting = [state.jobs[number] for number in sorted(numbers)]
    # When one that waits for memory is given some is not known.
    jobs = [job for job in waiting if job.ending is None and not job.lacks_memory]
    there = any(slot.phase is not Phase.LOADING and slot.module in loop.kinds for slot in usable)
    work = tuple(_work(clusters, job) for job in jobs)
    view = DispatchView(
        now_s,
        Jobs([_view(job.spec, each.begun) for job, each in zip(jobs, work, strict=True)]),
        tuple(SlotView(core, "", "", None, None, False, False, 0.0) for core in range(cores)),
        port_busy=False,
        observations=(),
        memory=None,
    )
    known = frozenset(each.id for each in work if not math.isinf(each.work_s))
    queue = QueuePicture(Pool.GPU, NoDecision(name=loop.policy_name), view, known=known)
    return CoresPicture(queue, work, shares, 0.0 if there else min((slot.load_s for slot in usable), default=0.0))


def _work(clusters: SharedClusters, job: Job) -> CoreWork:
    """What a kernel has left, by what its tenant's runs of it took."""
    spread, progress = job.spec.spread, clusters.queues.progress.get(job.spec.id)
    assert spread is not None
    learned = clusters.loop.estimates.learned
    if progress is not None:
        group_s, groups = learned.peek(spread.kernel, progress.module).group_s, progress.variant.groups - progress.done
        wave = progress.variant.wave
    else:
        known = [(learned.peek(spread.kernel, m).group_s, v.groups, v.wave) for m, v in spread.variants.items()]
        group_s, groups, wave = next((each for each in known if each[0] is not None), known[0])
    work_s = math.inf if group_s is None else groups * group_s
    return CoreWork(job.spec.id, job.spec.tenant, work_s, max(groups / max(wave, 1), 1.0), job.started_s is not None)


def _view(spec: JobSpec, begun: bool) -> JobView:
    """A kernel as estimates see a job."""
    task = TaskView(0, "", 0.0, 0, 0 if begun else None, ())
    return JobView(
        spec.id, spec.application.name, spec.tenant, 1, spec.priority, spec.arrival_s, spec.deadline_s, 1, (task,)
    )
