# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernel jobs: a request becomes a plan when it is accepted (`plan`).

To the state machine a kernel job is an application of one task, whose items are slices of the ND-range, and of one
buffer, the kernel's region of memory. Every slice works on that region in place, so a slice that has ended is never
run again while the region is there; where it is lost, the kernel restarts from the arrays as they were submitted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from eddy.core.applications import Application, BufferRole, BufferSpec, TaskSpec
from eddy.core.errors import CompilationFailed, Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.profiles import ClusterBounds
from eddy.core.records import JobRequest, KernelOutput, KernelRecord
from eddy.core.units import format_bytes
from eddy.gpu.compilation import library
from eddy.gpu.compilation.build import build
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.compilation.toolchain import CompilerMissing
from eddy.gpu.launches.packed_arguments import Extent
from eddy.gpu.launches.packing import Packing
from eddy.gpu.launches.request import Buffer as ArrayArgument
from eddy.gpu.launches.request import KernelRequest, RepeatedArray
from eddy.gpu.programs.layout import LINE_BYTES
from eddy.gpu.programs.log import MAX_LOG_BYTES as MAX_LOG_BYTES
from eddy.gpu.programs.ndrange import arrange_ndrange
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from eddy.hypervisor.jobs.plan import Plan
from eddy.packages.modules import ModuleKind, ModuleManifest, no_check
from eddy.store import Store

PROGRAMS = 16
"""Programs remembered; a few tens of kilobytes each."""


def load_program(text: str) -> Program | None:
    """A program as it was kept; None where it was made with another compiler or library, or cannot be read.

    Where there is no compiler now, nothing can be made again, and any that can be read will do.
    """
    program = _read(text)
    if program is None:
        return None
    try:
        return program if program.made_by == library.digest(program.fpu) else None
    except CompilerMissing:
        return program


@functools.lru_cache(maxsize=PROGRAMS)
def _read(text: str) -> Program | None:
    """The same text gives the same program while it is remembered: thousands of jobs may run one kernel."""
    try:
        return Program.from_json(text)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None


REGION = "region"
"""Name of a kernel job's one buffer."""
MAX_SPREAD = 0.125
"""Part of the arena that a kernel may take to run on several clusters at the same time; else it stays on one."""
ESTIMATE_S = 1e-3
"""What policies are told a slice takes: no tool says, and nothing that is promised rests on it."""


@dataclass(frozen=True, slots=True)
class KernelLimits:
    """Bounds of kernel jobs.

    Attributes:
        slices: Most slices a kernel is cut into.
        time_limit_s: Most board seconds one slice may take.
        waves: Times a slice fills every place for work-groups of the cluster, at least: starting it costs some 25 us.
    """

    slices: int = 16
    time_limit_s: float = 1.0
    waves: int = 64


class KernelPlanner:
    """Makes plans of requests.

    Args:
        modules: Manifests by name.
        compiler: With which kernels are compiled.

    Attributes:
        available: Modules with an image for some slot of the `gpu` pool.
        arena: Bytes of the board's arena.
        slots: How many slots of the `gpu` pool have an image of a module, by module; 1 where nothing is said.
        unchecked: Clusters that no job is given, because their builds have no check on record.
        why: Why not, as it is when it is asked; "" where one was let in meanwhile.
    """

    def __init__(
        self,
        modules: Mapping[str, ModuleManifest],
        compiler: Compiler | None = None,
        limits: KernelLimits | None = None,
    ) -> None:
        self._modules, self._compiler = modules, compiler or Compiler()
        self.limits = limits or KernelLimits()
        self.available: frozenset[str] = frozenset()
        self.arena = 0
        self.slots: Mapping[str, int] = {}
        self.unchecked: frozenset[str] = frozenset()
        self.why: Callable[[str], str] = no_check

    def clusters(self) -> dict[str, ClusterShape]:
        """The GPU clusters the board can hold, by module, the one with most lanes first."""
        found = [m for name in self.available if (m := self._modules.get(name)) and m.kind is ModuleKind.GPU]
        shapes = {manifest.module: cluster_shape(manifest) for manifest in found}
        return dict(sorted(shapes.items(), key=lambda entry: (-entry[1].harts, entry[0])))

    def bounds(self, module: str, memory_bytes_per_s: float) -> ClusterBounds:
        """What a kind of cluster can do at most.

        Args:
            memory_bytes_per_s: Of the board's memory; 0 where that is not known.

        Raises:
            NotFound: The board has no such cluster.
        """
        manifest = self._modules.get(module)
        if manifest is None or manifest.kind is not ModuleKind.GPU:
            raise NotFound(f"The board has no cluster {module} any more: its bounds are not known.", field="module")
        shape = cluster_shape(manifest)
        lanes = shape.cores, shape.warps, shape.threads
        return ClusterBounds(*lanes, manifest.clk_hz, LINE_BYTES, memory_bytes_per_s)

    def prepare(self, request: JobRequest, store: Store) -> Plan:
        """Check a request and compile it; nothing is kept. Takes up to seconds: not for the board's thread.

        Raises:
            InvalidRequest: A field is wrong, or the kernel needs more memory than the board has.
            CompilationFailed: The source was refused; the message is the compiler's.
            QuotaExceeded: Compiling took too much.
        """
        kernel = KernelRequest.from_json(request.body or {})
        limit_s = self._limit_s(request)
        module, shape = self._cluster()
        _check_arrays(kernel, request.tenant, store)
        with _named_as_asked():
            program = self._built(request.tenant, kernel, shape.fpu)
            _check_kernel(kernel, program)
            packing = self._lay_out(kernel, program, shape)
        groups = packing.arrangement.groups
        size = slice_groups(groups, packing.places, self.limits)
        lanes = packing.arrangement.launch_shape(shape.threads)
        record = KernelRecord(kernel.kernel, module, groups, size, _outputs(kernel, program), shape=lanes)
        return Plan(kernel, program, packing, record, _application(record, packing.bytes, limit_s))

    def prepare_spread(self, request: JobRequest, store: Store, region: str) -> dict[str, Plan]:
        """Plans for slices of one core each, on every kind of cluster that can run the kernel, the preferred one first.

        It is compiled twice where there are clusters without units for floating point.

        Args:
            region: Begins the name of each plan's one buffer.

        Raises:
            InvalidRequest: A field is wrong, or the kernel needs more memory than the board has.
            CompilationFailed: The source was refused; the message is the compiler's.
            QuotaExceeded: Compiling took too much.
        """
        kernel = KernelRequest.from_json(request.body or {})
        self._cluster()
        _check_arrays(kernel, request.tenant, store)
        return self._spread_all(request, kernel, region)

    def _spread_all(self, request: JobRequest, kernel: KernelRequest, region: str) -> dict[str, Plan]:
        programs: dict[bool, Program] = {}
        plans: dict[str, Plan] = {}
        for module, shape in self.clusters().items():
            with _named_as_asked():
                program = self._program(request.tenant, kernel, shape.fpu, programs)
            plans[module] = self._spread(request, kernel, program, module, region)
        return plans

    def restore_spread(self, request: JobRequest, record: KernelRecord, program: str, region: str) -> dict[str, Plan]:
        """The plans of a job that was accepted in an earlier life, on the kinds of clusters that run its program.

        What another version of Eddy compiled is compiled again, on every kind of cluster there is.

        Raises:
            NotFound: The board has no image of such a cluster any more.
            EddyError: As `prepare_spread`, where it is compiled again.
        """
        kernel, compiled = KernelRequest.from_json(request.body or {}), load_program(program)
        if compiled is None:
            self._cluster()
            return self._spread_all(request, kernel, region)
        found = [module for module, shape in self.clusters().items() if shape.fpu or not compiled.fpu]
        if not found:
            raise NotFound("there is no bitstream of a cluster that runs it for a slot of the gpu pool", field="module")
        found.sort(key=lambda module: module != record.module)
        return {module: self._spread(request, kernel, compiled, module, region) for module in found}

    def build_for_all(self, tenant: str, request: KernelRequest) -> dict[str, Program]:
        """The program of a source for every kind of cluster the board can hold, the preferred one first; compiled
        twice where there are clusters without units for floating point, and it needs that. Takes up to seconds.

        Args:
            request: Of which only the source, and how it is built, matter.

        Raises:
            InvalidRequest: The board has no cluster, or an option is not possible.
            CompilationFailed: The source was refused; the message is the compiler's.
            QuotaExceeded: Compiling took too much.
        """
        self._cluster()
        made = self._built(tenant, request, True)
        plain = self._built(tenant, request, False) if made.fpu and not all_have_fpu(self.clusters()) else made
        return {module: made if shape.fpu else plain for module, shape in self.clusters().items()}

    def _program(self, tenant: str, kernel: KernelRequest, fpu: bool, programs: dict[bool, Program]) -> Program:
        """The program for clusters with or without floating point, compiled at most twice."""
        if True not in programs:
            programs[True] = self._built(tenant, kernel, True)
            _check_kernel(kernel, programs[True])
        if fpu or not programs[True].fpu:
            return programs[True]
        if False not in programs:
            programs[False] = self._built(tenant, kernel, False)
        return programs[False]

    def _built(self, tenant: str, kernel: KernelRequest, fpu: bool) -> Program:
        return build(self._compiler, kernel.source, fpu=fpu, owner=tenant, **kernel.build_arguments())

    def _spread(self, request: JobRequest, kernel: KernelRequest, program: Program, module: str, region: str) -> Plan:
        shape = cluster_shape(self._modules[module])
        clusters = 1 if program.uses_global_atomics else self.slots.get(module, 1)
        with _named_as_asked():
            packing, clusters = self._fitting(kernel, program, shape, clusters)
        groups = packing.arrangement.groups
        lanes = packing.arrangement.launch_shape(shape.threads)
        record = KernelRecord(kernel.kernel, module, groups, groups, _outputs(kernel, program), shape=lanes)
        application = _application(record, packing.bytes, self._limit_s(request), region + module)
        return Plan(kernel, program, packing, record, application, program.soft, clusters)

    def restore(self, request: JobRequest, record: KernelRecord, program: str) -> Plan:
        """The plan of a job that was accepted in an earlier life.

        What another version of Eddy compiled is compiled again. Its region has another name then: what an older program
        left in memory is not gone on with.

        Raises:
            NotFound: The board has no image of its cluster any more.
            Conflict: Compiled again, it has other work-groups, so that the slices on record mean nothing.
            EddyError: As `prepare`, where it is compiled again.
        """
        if record.module not in self.available:
            raise NotFound(f"there is no bitstream of {record.module} for a slot of the gpu pool", field="module")
        shape, name = cluster_shape(self._modules[record.module]), REGION
        kernel, compiled = KernelRequest.from_json(request.body or {}), load_program(program)
        with _named_as_asked():
            if compiled is None:
                compiled = self._built(request.tenant, kernel, shape.fpu)
                name = f"{REGION}-{compiled.made_by[:12]}"
            packing = self._lay_out(kernel, compiled, shape)
        if packing.arrangement.groups != record.groups:
            raise Conflict("it was compiled by another version of Eddy; submit it again", field="kernel")
        application = _application(record, packing.bytes, self._limit_s(request), name)
        return Plan(kernel, compiled, packing, record, application)

    def require_cluster(self) -> None:
        """Check that the board has a cluster.

        Raises:
            InvalidRequest: It has none; says why.
        """
        self._cluster()

    def _cluster(self) -> tuple[str, ClusterShape]:
        for module, shape in self.clusters().items():
            return module, shape
        refused = [self.why(name) for name in sorted(self.unchecked)]
        if "" in refused and self.clusters():  # its check is on record by now
            return self._cluster()
        why = refused[0] if refused else "no slot of the gpu pool has an image of one."
        message = f"This board has no GPU cluster: {why}"
        raise InvalidRequest(message, field="kernel", allowed="application jobs")

    def _limit_s(self, request: JobRequest) -> float:
        asked_s, most_s = request.time_limit_s, self.limits.time_limit_s
        if asked_s is None:
            return most_s
        if not 0 < asked_s <= most_s:
            message = f"time_limit_s is {asked_s:g}; a slice of a kernel may take up to {most_s:g} board seconds."
            raise InvalidRequest(message, field="time_limit_s", allowed=f"up to {most_s:g}")
        return asked_s

    def _fitting(
        self, kernel: KernelRequest, program: Program, shape: ClusterShape, clusters: int
    ) -> tuple[Packing, int]:
        """Laid out for slices on so many clusters, or on one, where stacks for all would take too much memory."""
        if clusters > 1:
            with suppress(InvalidRequest, QuotaExceeded):
                packing = self._lay_out(kernel, program, shape, clusters)
                if packing.bytes <= MAX_SPREAD * self.arena:
                    return packing, clusters
        return self._lay_out(kernel, program, shape, 1), 1

    def _lay_out(self, kernel: KernelRequest, program: Program, shape: ClusterShape, sliced_on: int = 0) -> Packing:
        """From a program to its arrangement on the cluster, and from that to its packing in memory: for slices of one
        core each on so many clusters, or for one launch on a whole one."""
        values = [_extent(kernel, place) for place in range(len(kernel.arguments))]
        arrangement = arrange_ndrange(
            shape,
            program,
            kernel.kernel,
            kernel.global_size,
            values,
            local_size=kernel.local_size,
            offset=kernel.offset,
        )
        packing = Packing(shape, program, kernel.kernel, arrangement, values, sliced_on=sliced_on)
        if packing.bytes > self.arena:
            needed = (
                f"The kernel needs {format_bytes(packing.bytes)} of board memory, and there are"
                f" {format_bytes(self.arena)}"
            )
            message = f"{needed}; {packing.stacks}."
            raise InvalidRequest(message, field="arguments", asked=packing.bytes, allowed=self.arena)
        return packing


def all_have_fpu(clusters: Mapping[str, ClusterShape]) -> bool:
    """Whether every kind of cluster has units for floating point."""
    return all(shape.fpu for shape in clusters.values())


@contextmanager
def _named_as_asked() -> Iterator[None]:
    """Name fields that are refused as the request has them, below ``kernel``."""
    try:
        yield
    except CompilationFailed:
        raise
    except InvalidRequest as error:
        details = {**error.details, "field": f"kernel.{error.details.get('field', 'arguments')}"}
        raise InvalidRequest(error.message, **details) from error


def _check_kernel(kernel: KernelRequest, program: Program) -> None:
    if kernel.kernel not in program.kernels:
        allowed = sorted(program.kernels)
        message = f"The source has no kernel {kernel.kernel!r}; it has: {', '.join(allowed)}."
        raise InvalidRequest(message, field="kernel", allowed=allowed)


def cluster_shape(manifest: ModuleManifest) -> ClusterShape:
    """What a GPU cluster is made of, as its manifest's parameters say; what they leave out is as in the RTL."""
    given = {name: int(value, 0) for name, value in manifest.parameters}
    return ClusterShape(
        cores=given.get("Cores", 1),
        warps=given.get("Warps", 4),
        threads=given.get("Threads", 4),
        fpu=bool(given.get("Fpu", 0)),
        local_bytes=given.get("LocalBytes", 16384),
    )


def slice_groups(groups: int, places: int, limits: KernelLimits) -> int:
    """Work-groups of a slice: as few as the bounds allow, whole waves.

    Args:
        groups: Work-groups in all.
        places: How many the cluster runs side by side.
    """
    least = max(-(-groups // limits.slices), limits.waves * places)
    return min(groups, -(-least // places) * places)


def _application(record: KernelRecord, region_bytes: int, limit_s: float, name: str = REGION) -> Application:
    """A kernel as the state machine sees it."""
    region = BufferSpec(name, BufferRole.CONSTANT, region_bytes, "u1", (region_bytes,))
    task = TaskSpec(0, record.name, record.module, (), ESTIMATE_S, limit_s)
    count = -(-record.groups // record.slice_groups)
    return Application(f"kernel:{record.name}", (task,), (), (region,), max_batch=count, goal_slots=1)


def _outputs(kernel: KernelRequest, program: Program) -> tuple[KernelOutput, ...]:
    """The arrays a kernel may write."""
    named = enumerate(program.kernel(kernel.kernel).arguments)
    arrays = [(place, argument, kernel.array(place)) for place, argument in named if not argument.const]
    return tuple(
        KernelOutput(argument.name, place, array.dtype, array.shape)
        for place, argument, array in arrays
        if array is not None
    )


def _extent(kernel: KernelRequest, place: int) -> object:
    """An argument as packing sees it; every array has memory of its own, whatever it holds."""
    value, array = kernel.arguments[place], kernel.array(place)
    if array is None:
        return value
    key = value.argument if isinstance(value, RepeatedArray) else place
    return Extent(key, array.bytes, array.dtype.lstrip("<|="), texels=array.texels)


def _check_arrays(kernel: KernelRequest, tenant: str, store: Store) -> None:
    """See that the blobs of a kernel's arrays are there.

    Raises:
        InvalidRequest: One is not, or has another size.
    """
    for place, value in enumerate(kernel.arguments):
        if isinstance(value, ArrayArgument):
            _check_blob(store, tenant, value, f"kernel.arguments[{place}]")


def _check_blob(store: Store, tenant: str, value: ArrayArgument, place: str) -> None:
    actual = store.blobs.size_bytes(tenant, value.digest)
    if actual is None:
        message = f"{place}: no blob {value.digest} of yours; upload it first, then submit"
        raise InvalidRequest(message, field=place, allowed="sha256 of an uploaded blob")
    if actual != value.bytes:
        wanted = f"{value.dtype} of shape {list(value.shape)} takes {format_bytes(value.bytes)}"
        message = f"{place}: the blob has {format_bytes(actual)}; {wanted}"
        raise InvalidRequest(message, field=place, allowed=value.bytes)


def available(usable: Iterable[str], modules: Mapping[str, ModuleManifest]) -> frozenset[str]:
    """The GPU clusters among the modules there are images of."""
    return frozenset(name for name in usable if name in modules and modules[name].kind is ModuleKind.GPU)
