# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernel jobs as the engine sees them, and kernels on whole clusters.

On a whole cluster the slices of a kernel run one after the other on one region of memory. `spread` has the works whose
slices run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from eddy.board.port.port import BoardEvent, Launch
from eddy.core.applications import Application
from eddy.core.errors import NotFound
from eddy.core.records import KERNEL, JobRecord, JobRequest, KernelRecord
from eddy.core.slots import Pool
from eddy.hypervisor.intake.application_jobs import Admission
from eddy.hypervisor.intake.kernels import KernelPlanner, available
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import EVERY_ITEM, Content
from eddy.hypervisor.jobs.plan import Plan
from eddy.hypervisor.jobs.work import BoardOffer, Fetch, JobMemory, Work
from eddy.hypervisor.machine.translate import item_name
from eddy.packages.modules import ModuleManifest
from eddy.store import Store
from eddy.store.db.rows import StoredJob
from eddy.store.job_tables.submissions import Submission


@dataclass(frozen=True, slots=True)
class KernelWork:
    """A kernel over its ND-range; see `Work`.

    Slices update one region in place, so they count only as long as the region is there.
    """

    request: JobRequest
    plan: Plan

    @property
    def application(self) -> Application:
        """One task, whose items are the slices."""
        return self.plan.application

    @property
    def region(self) -> str:
        """Name of its one buffer."""
        return self.application.buffers[0].name

    def submission(self) -> Submission:
        """What it was compiled to is kept with it."""
        kernel, program = self.plan.record, self.plan.program.to_json()
        blobs = self.plan.request.digests
        return Submission(self.request, KERNEL, f"kernel:{kernel.name}", kernel.slices, kernel, program, blobs=blobs)

    def spec(self, record: JobRecord) -> m.JobSpec:
        """In the `gpu` pool; the arrays are read after the last slice."""
        collects = m.OutputCollection.LAST_ITEM
        return m.JobSpec.of(record, self.application, pool=Pool.GPU, collects=collects, in_place=True)

    def contents(self, fetch: Fetch) -> Content:
        """Program, arguments and arrays."""
        return lambda _spec, _item: self.plan.parts(lambda sha256: fetch(sha256).read_verified())

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> Launch:
        """Its launch block is put in first."""
        memory.write(self.region, *self.plan.block(launch.item))
        return self.plan.launch(item_name(launch.job, launch.task, launch.item), memory.find(self.region))

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        """The arrays it may have written."""
        return self.plan.outputs(self._reader(memory))

    def log(self, memory: JobMemory) -> bytes:
        """What it printed, as long as its region is there."""
        return self.plan.log(self._reader(memory)) if memory.holds(self.region) else b""

    def explain(self, event: BoardEvent, module: str) -> str:
        """What the cores say of a fault."""
        return self.plan.explain(event)

    def _reader(self, memory: JobMemory) -> Callable[[int, int], bytes]:
        """Reads from the region: offset and size to bytes."""
        return lambda offset, size: memory.read(self.region, EVERY_ITEM, offset, size)


class KernelPlans(Protocol):
    """How kernels become works: whole clusters for each (`WholeClusterPlans`), or core by core
    (`spread.SharedClusterPlans`)."""

    def prepare(self, request: JobRequest, store: Store) -> Work:
        """Compile a request; takes up to seconds.

        Raises:
            InvalidRequest: A field is wrong.
            CompilationFailed: The source was refused.
            QuotaExceeded: Compiling took too much.
        """

    def restore(self, request: JobRequest, record: KernelRecord, program: str) -> Work:
        """The work of a kernel that was compiled in an earlier life.

        Raises:
            NotFound: The board has no image of such a cluster any more.
        """


class WholeClusterPlans:
    """Each kernel has a whole cluster; see `KernelPlans`."""

    def __init__(self, kernels: KernelPlanner) -> None:
        self._kernels = kernels

    def prepare(self, request: JobRequest, store: Store) -> KernelWork:
        """Compile a request for the cluster with most lanes."""
        return KernelWork(request, self._kernels.prepare(request, store))

    def restore(self, request: JobRequest, record: KernelRecord, program: str) -> KernelWork:
        """On the cluster it was compiled for."""
        return KernelWork(request, self._kernels.restore(request, record, program))


class KernelJobs:
    """Makes works of requests for kernels; see `JobKind`.

    Args:
        kernels: Told what the board has.
        admission: Checks what they have like any other job.
        modules: Manifests by name.
    """

    kind = KERNEL
    prepares_quickly = False

    def __init__(
        self, kernels: KernelPlanner, plans: KernelPlans, admission: Admission, modules: Mapping[str, ModuleManifest]
    ) -> None:
        self._kernels, self._plans, self._admission, self._modules = kernels, plans, admission, modules

    def set_offer(self, offer: BoardOffer) -> None:
        """Its clusters are those of the `gpu` pool."""
        self._kernels.arena, self._kernels.available = offer.arena_bytes, available(offer.gpu, self._modules)
        self._kernels.slots, self._kernels.unchecked = offer.gpu_slots, available(offer.unchecked, self._modules)
        self._kernels.why = offer.why

    def prepare(self, request: JobRequest, store: Store) -> Work:
        """Check a request and compile it; takes up to seconds.

        Raises:
            InvalidRequest: A field is wrong.
            CompilationFailed: The source was refused.
            QuotaExceeded: The tenant has too many jobs, or compiling took too much.
        """
        self._admission.check_kernel(request, store)
        return self._plans.prepare(request, store)

    def restore(self, stored: StoredJob, store: Store) -> Work:
        """The work of a job that was compiled in an earlier life.

        Raises:
            NotFound: The board has no image of its cluster any more.
        """
        if stored.record.kernel is None:
            raise NotFound("what kernel it runs is not on record", field="kernel")
        return self._plans.restore(stored.request, stored.record.kernel, store.jobs.program(stored.record.id))
