# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernel jobs whose slices are granted cores: one kernel over many cores, each slice on one of them.

To the state machine such a job is an application of one task and one item, the whole kernel; `clusters` cuts it into
slices when it hands out cores. Slices run side by side on one region, each with its core's part of the stacks and its
own launch block. Which kind of cluster it runs on is decided when it is given memory: for each kind there is a variant
with a layout of its own, and the region's name says which one it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from eddy.board.port.port import Access, BoardEvent, Grant, KernelLaunch, Launch
from eddy.core.applications import Application, BufferSpec
from eddy.core.records import KERNEL, JobRecord, JobRequest, KernelRecord
from eddy.core.slots import Pool
from eddy.gpu.programs.layout import REGION_BASE
from eddy.hypervisor.cores.market_loop import ClusterKind
from eddy.hypervisor.intake.kernels import KernelPlanner, cluster_shape
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import EVERY_ITEM, Content, Pieces
from eddy.hypervisor.jobs.plan import Plan
from eddy.hypervisor.jobs.work import Fetch, JobMemory
from eddy.packages.modules import ModuleKind, ModuleManifest
from eddy.store import Store
from eddy.store.job_tables.submissions import Submission

REGION = "region:"
"""Begins the name of a kernel's one buffer; the module it is laid out for follows."""


@dataclass(frozen=True, slots=True)
class PartitionedKernelWork:
    """A kernel over its ND-range, in slices of one core each; see `Work`.

    Attributes:
        plans: What it became on each kind of cluster, the one on record first.
    """

    request: JobRequest
    plans: Mapping[str, Plan]

    @property
    def first(self) -> Plan:
        """The plan on record."""
        return next(iter(self.plans.values()))

    @property
    def application(self) -> Application:
        """As the plan on record has it, until it is placed."""
        return self.first.application

    def submission(self) -> Submission:
        """What it was compiled to is kept with it."""
        kernel, program = self.first.record, self.first.program.to_json()
        return Submission(
            self.request, KERNEL, f"kernel:{kernel.name}", 1, kernel, program, blobs=self.first.request.digests
        )

    def spec(self, record: JobRecord) -> m.JobSpec:
        """In the `gpu` pool; the arrays are read after the last slice."""
        spread = m.CorePartition(
            self._name(record), {module: make_variant(plan) for module, plan in self.plans.items()}
        )
        collects = m.OutputCollection.LAST_ITEM
        return m.JobSpec.of(record, self.application, pool=Pool.GPU, collects=collects, in_place=True, spread=spread)

    def _name(self, record: JobRecord) -> str:
        """Of the tenant's own: nobody learns from another's kernels how long they take."""
        plan = self.first
        body = f"{record.tenant}\0{plan.record.name}\0".encode() + plan.program.elf
        return hashlib.sha256(body).hexdigest()[:16]

    def contents(self, fetch: Fetch) -> Content:
        """Program, arguments and arrays, laid out for the module the region is named for."""

        def content(spec: BufferSpec, _item: int) -> Pieces:
            plan = self.plans[spec.name.removeprefix(REGION)]
            return plan.parts(lambda sha256: fetch(sha256).read_verified())

        return content

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> Launch:
        """A slice on one core; its launch block is put in first."""
        assert isinstance(launch, m.LaunchSlice)
        plan = self.plans[launch.module]
        at, block = plan.packing.core_block(launch.area, launch.first, launch.count)
        memory.write(REGION + launch.module, at, block)
        region = memory.find(REGION + launch.module).id
        kernel = KernelLaunch(
            region,
            REGION_BASE,
            REGION_BASE + at,
            (launch.core,),
            family=str(launch.job),
            groups=launch.count,
        )
        limit_s = plan.application.tasks[0].time_limit_s
        grants = (Grant(region, Access.READ_WRITE),)
        task = f"kernel:{plan.record.name}"
        return Launch(launch.name, (), grants, limit_s, kernel=kernel, task=task, account=launch.account)

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        """The arrays it may have written."""
        plan, read = self._placed(memory)
        return plan.outputs(read)

    def log(self, memory: JobMemory) -> bytes:
        """What it printed, as long as its region is there."""
        if not any(memory.holds(REGION + module) for module in self.plans):
            return b""
        plan, read = self._placed(memory)
        return plan.log(read)

    def explain(self, event: BoardEvent, module: str) -> str:
        """What the cores say of a fault, in the program that they ran."""
        return self.plans.get(module, self.first).explain(event)

    def _placed(self, memory: JobMemory) -> tuple[Plan, Callable[[int, int], bytes]]:
        """The plan whose region there is, and what reads from it: offset and size to bytes."""
        module = next(module for module in self.plans if memory.holds(REGION + module))
        return self.plans[module], lambda at, size: memory.read(REGION + module, EVERY_ITEM, at, size)


def make_variant(plan: Plan) -> m.KernelVariant:
    """What the state machine needs of a plan."""
    arrangement = plan.packing.arrangement
    sizes = arrangement.groups, arrangement.core_groups
    return m.KernelVariant(plan.application, *sizes, plan.soft, plan.clusters, plan.record.shape)


def cluster_kinds(modules: Mapping[str, ModuleManifest]) -> dict[str, ClusterKind]:
    """The GPU clusters among modules, the one with most lanes first."""
    found = {}
    for name, manifest in modules.items():
        if manifest.kind is ModuleKind.GPU:
            shape = cluster_shape(manifest)
            found[name] = ClusterKind(shape.cores, shape.threads, manifest.clk_hz)
    return dict(sorted(found.items(), key=lambda each: (-each[1].cores * each[1].lanes, each[0])))


class SharedClusterPlans:
    """Kernels share clusters core by core; see `KernelPlans`."""

    def __init__(self, kernels: KernelPlanner) -> None:
        self._kernels = kernels

    def prepare(self, request: JobRequest, store: Store) -> PartitionedKernelWork:
        """Compile a request, for clusters with and without floating point where it needs that."""
        return PartitionedKernelWork(request, self._kernels.prepare_spread(request, store, REGION))

    def restore(self, request: JobRequest, record: KernelRecord, program: str) -> PartitionedKernelWork:
        """On the clusters its program runs on."""
        return PartitionedKernelWork(request, self._kernels.restore_spread(request, record, program, REGION))
