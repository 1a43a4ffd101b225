"""Kernel jobs as the engine sees them: slices of one kernel, one after the other on one region of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from eddy.board.port import BoardEvent, Launch
from eddy.core.applications import Application
from eddy.core.errors import NotFound
from eddy.core.records import KERNEL, JobRecord, JobRequest
from eddy.core.slots import Pool
from eddy.hypervisor import messages as m
from eddy.hypervisor.admission import Admission
from eddy.hypervisor.buffers import EVERY_ITEM, Content
from eddy.hypervisor.kernels import REGION, KernelPlanner, Plan, available
from eddy.hypervisor.translate import item_name
from eddy.hypervisor.work import Fetch, JobMemory, Offer
from eddy.packages.modules import ModuleManifest
from eddy.store import Store
from eddy.store.rows import StoredJob
from eddy.store.submissions import Submission


@dataclass(frozen=True, slots=True)
class KernelWork:
    """A kernel over its ND-range; see `Work`.

    Slices update one region in place, so they count only as long as the region is there.

    Attributes:
        request: What was asked for.
        plan: What it became.
    """

    request: JobRequest
    plan: Plan

    @property
    def application(self) -> Application:
        """One task, whose items are the slices."""
        return self.plan.application

    def submission(self) -> Submission:
        """What it was compiled to is kept with it."""
        kernel, program = self.plan.record, self.plan.program.to_json()
        return Submission(self.request, KERNEL, f"kernel:{kernel.name}", kernel.slices, kernel, program)

    def spec(self, record: JobRecord) -> m.JobSpec:
        """In the `gpu` pool; the arrays are read after the last slice."""
        collects = m.Collects.LAST_ITEM
        return m.JobSpec.of(record, self.application, pool=Pool.GPU, collects=collects, in_place=True)

    def contents(self, fetch: Fetch) -> Content:
        """Program, arguments and arrays."""
        return lambda _spec, _item: self.plan.parts(lambda sha256: fetch(sha256).verified())

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> Launch:
        """Its launch block is put in first."""
        memory.write(REGION, *self.plan.block(launch.item))
        return self.plan.launch(item_name(launch.job, launch.task, launch.item), memory.find(REGION))

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        """The arrays it may have written."""
        return self.plan.outputs(_reader(memory))

    def log(self, memory: JobMemory) -> bytes:
        """What it printed, as long as its region is there."""
        return self.plan.log(_reader(memory)) if memory.holds(REGION) else b""

    def explain(self, event: BoardEvent) -> str:
        """What the cores say of a fault."""
        return self.plan.explain(event)


def _reader(memory: JobMemory) -> Callable[[int, int], bytes]:
    """Reads from the region: offset and size to bytes."""
    return lambda offset, size: memory.read(REGION, EVERY_ITEM, offset, size)


class KernelJobs:
    """Makes works of requests for kernels; see `JobKind`.

    Args:
        kernels: Compiles them.
        admission: Checks what they have like any other job.
        modules: Manifests by name.
    """

    quick = False

    def __init__(self, kernels: KernelPlanner, admission: Admission, modules: Mapping[str, ModuleManifest]) -> None:
        self._kernels, self._admission, self._modules = kernels, admission, modules

    def takes(self, request: JobRequest) -> bool:
        """Whatever has a kernel."""
        return request.kind == KERNEL

    def offered(self, offer: Offer) -> None:
        """Its clusters are those of the `gpu` pool."""
        self._kernels.arena, self._kernels.available = offer.arena_bytes, available(offer.gpu, self._modules)

    def prepare(self, request: JobRequest, store: Store) -> KernelWork:
        """Check a request and compile it; takes up to seconds.

        Raises:
            InvalidRequest: A field is wrong.
            CompilationFailed: The source was refused.
            QuotaExceeded: The tenant has too many jobs, or compiling took too much.
        """
        self._admission.check_kernel(request, store)
        return KernelWork(request, self._kernels.prepare(request, store))

    def restore(self, stored: StoredJob, store: Store) -> KernelWork:
        """The work of a job that was compiled in an earlier life.

        Raises:
            NotFound: The board has no image of its cluster any more.
        """
        if stored.record.kernel is None:
            raise NotFound("what kernel it runs is not on record", field="kernel")
        program = store.program(stored.record.id)
        return KernelWork(stored.request, self._kernels.restore(stored.request, stored.record.kernel, program))
