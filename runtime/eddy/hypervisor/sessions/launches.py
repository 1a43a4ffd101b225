# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Launches of a session: kernels laid out around buffers that are there already, as work of the engine.

A session's region begins with room for one program; behind it lie buffers, and for each launch what it needs beside
them: arguments, launch blocks, stacks and logs. A launch that is like one before it finds that as it was left.
"""

from __future__ import annotations

import functools
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from eddy.board.port.port import Access, BoardEvent, Grant, KernelLaunch
from eddy.board.port.port import Launch as BoardLaunch
from eddy.core.applications import Application, TaskSpec
from eddy.core.errors import InvalidRequest, MemoryExhausted, NotFound, QuotaExceeded
from eddy.core.units import format_bytes
from eddy.gpu.launches.executor import Fault
from eddy.gpu.launches.launch import describe
from eddy.gpu.launches.packed_arguments import Extent
from eddy.gpu.launches.packing import Packing
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.ndrange import Arrangement, Local, arrange_ndrange
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import EVERY_ITEM, Content
from eddy.hypervisor.jobs.work import BoardWork, Fetch, JobMemory
from eddy.hypervisor.sessions.commands import BufferArgument, LaunchCommand
from eddy.hypervisor.sessions.heap import Heap

REGION, DIRECTORY = "region", "directory"
"""Names of a session's two buffers on the board; kernels reach the first alone."""
CODE_BYTES = 256 << 10
"""Room for a program at the beginning of a region."""
MAX_LAYOUTS = 64
"""Launches whose place in the region is remembered."""
MAX_BLOCKS = 32
"""Launch blocks that a layout remembers."""
ESTIMATE_S = 1e-3
ZEROS = bytes(1 << 20)


@dataclass(frozen=True, slots=True)
class LaunchTarget:
    """A kind of cluster that launches may run on.

    Attributes:
        shape: What it is made of.
        slots: How many clusters of the kind there may be at once.
    """

    shape: ClusterShape
    slots: int


@dataclass(frozen=True, slots=True)
class ProgramTraits:
    """What launches ask of a program's code, found out once.

    Attributes:
        soft: Whether it computes floating point in software.
        atomics: Whether it may have instructions that read and write memory at once.
        image: As it lies in memory.
    """

    soft: bool
    atomics: bool
    image: bytes = field(repr=False)

    @classmethod
    def of(cls, program: Program) -> ProgramTraits:
        """Those of a program."""
        return cls(program.soft, program.uses_global_atomics, program.image())


@dataclass(frozen=True, slots=True)
class BuiltProgram:
    """A program of a session.

    Attributes:
        id: Names source and options.
        by_module: What it was compiled to for each kind of cluster, the preferred one first.
    """

    id: str
    by_module: Mapping[str, Program]
    traits: Mapping[str, ProgramTraits] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "traits", {name: ProgramTraits.of(each) for name, each in self.by_module.items()})

    @property
    def first(self) -> Program:
        """For the preferred kind."""
        return next(iter(self.by_module.values()))

    @property
    def is_one(self) -> bool:
        """Whether it is the same on every kind of cluster."""
        return len({program.digest for program in self.by_module.values()}) == 1


@dataclass(slots=True)
class Layout:
    """Where one launch has what it needs.

    Attributes:
        begin: Its offset in the region.
        fresh: Whether nothing of it has been written yet.
        users: Launches that have it now.
    """

    packing: Packing
    begin: int
    fresh: bool = True
    users: int = 0
    _blocks: dict[tuple[int, int, int], tuple[int, bytes]] = field(default_factory=dict)

    def block(self, area: int, first: int, count: int) -> tuple[int, bytes]:
        """The launch block of a slice, see `Packing.core_block`: launches that are alike are often cut alike."""
        cut = area, first, count
        if cut not in self._blocks:
            if len(self._blocks) >= MAX_BLOCKS:
                self._blocks.clear()
            self._blocks[cut] = self.packing.core_block(*cut)
        return self._blocks[cut]


class Layouts:
    """The layouts of a session's launches, those that were used last remembered.

    Args:
        heap: Room in the region.
        buffers: Offset and bytes of each buffer.
    """

    def __init__(self, heap: Heap, buffers: Mapping[int, tuple[int, int]]) -> None:
        self._heap, self._buffers = heap, buffers
        self._known: OrderedDict[object, Layout] = OrderedDict()
        self._offers: Mapping[str, LaunchTarget] = {}
        self._variants: dict[object, dict[str, m.KernelVariant]] = {}

    def find(self, module: str, offer: LaunchTarget, program: Program, launch: LaunchCommand, clusters: int) -> Layout:
        """The layout of a launch on a kind of cluster, made where there is none.

        Raises:
            InvalidRequest: An argument does not fit.
            MemoryExhausted: The session has no room for it.
        """
        key = module, program.digest, launch.kernel, clusters, *_sizes(launch), *map(_key, launch.arguments)
        found = None if program.prints else self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
            return found
        arrangement = self.arrange(offer.shape, program, launch)
        make = partial(self._make, offer.shape, program, launch, arrangement, clusters)
        while True:
            try:
                made = make()
                break
            except MemoryExhausted:
                if not self.forget_oldest():
                    raise
        self._known[(key, len(self._known), id(made)) if program.prints else key] = made
        while len(self._known) > MAX_LAYOUTS and self.forget_oldest():
            pass
        return made

    def variants(
        self,
        program: BuiltProgram,
        launch: LaunchCommand,
        offers: Mapping[str, LaunchTarget],
        make: Callable[[], dict[str, m.KernelVariant]],
    ) -> dict[str, m.KernelVariant]:
        """How a launch fills each kind of cluster, as `make` has it; of one like another the same."""
        if offers is not self._offers:
            self._offers = offers
            self._variants.clear()
        local = tuple((n, each.bytes) for n, each in enumerate(launch.arguments) if isinstance(each, Local))
        key = program.id, launch.kernel, *_sizes(launch), local
        if key not in self._variants:
            if len(self._variants) >= MAX_LAYOUTS:
                self._variants.clear()
            self._variants[key] = make()
        return self._variants[key]

    def arrange(self, shape: ClusterShape, program: Program, launch: LaunchCommand) -> Arrangement:
        """How a launch fills a cluster.

        Raises:
            InvalidRequest: A size is not possible.
        """
        values, sizes = self._values(launch), {"local_size": launch.local_size, "offset": launch.offset}
        return arrange_ndrange(shape, program, launch.kernel, launch.global_size, values, **sizes)

    def forget_oldest(self) -> bool:
        """Give back the room of the layout that has not been used for longest; answers whether there was one."""
        oldest = next((key for key, layout in self._known.items() if not layout.users), None)
        if oldest is None:
            return False
        self._heap.free(self._known.pop(oldest).begin)
        return True

    def forget_all(self) -> None:
        """Give back the room of every layout nobody has."""
        while self.forget_oldest():
            pass

    def _make(
        self, shape: ClusterShape, program: Program, launch: LaunchCommand, arrangement: Arrangement, clusters: int
    ) -> Layout:
        begin, values = self._heap.widest(), self._values(launch)
        packing = Packing(shape, program, launch.kernel, arrangement, values, sliced_on=clusters, begin=begin)
        self._heap.place(begin, packing.bytes - begin)
        return Layout(packing, begin)

    def _values(self, launch: LaunchCommand) -> list[object]:
        return [self._value(each, place) for place, each in enumerate(launch.arguments)]

    def _value(self, argument: object, place: int) -> object:
        if not isinstance(argument, BufferArgument):
            return argument
        if argument.buffer not in self._buffers:
            raise NotFound(f"the session has no buffer {argument.buffer}", field=f"arguments[{place}]")
        offset, size = self._buffers[argument.buffer]
        if argument.offset >= size:
            message = f"buffer {argument.buffer} has {format_bytes(size)}; its argument begins at {argument.offset}"
            raise InvalidRequest(message, field=f"arguments[{place}]", allowed=f"0..{size - 1}")
        texels, room = argument.texels, size - argument.offset
        if texels is not None and texels.size_bytes > room:
            message = f"the texels take {format_bytes(texels.size_bytes)}; the buffer has {format_bytes(room)} for them"
            raise InvalidRequest(message, field=f"arguments[{place}]", allowed=f"at most {format_bytes(room)}")
        element = texels.element if texels else ""
        return Extent(argument, room, element, texels=texels, at=offset + argument.offset)


def _sizes(launch: LaunchCommand) -> tuple[object, ...]:
    return launch.global_size, launch.local_size, launch.offset


def _key(argument: object) -> object:
    """What tells arguments apart: 0.0 and -0.0, or 1 and 1.0, are equal, and not the same."""
    return repr(argument) if isinstance(argument, (int, float, tuple)) else argument


@functools.lru_cache(maxsize=1024)
def learned_as(tenant: str, kernel: str, program: str) -> str:
    """Names a kernel of a tenant's program: what was learned of one run holds for the next."""
    return hashlib.sha256(f"{tenant}\0{kernel}\0{program}".encode()).hexdigest()[:16]


class SessionRegion:
    """The memory of a session on the board, as its launches have it.

    Args:
        layouts: Where launches lie in its region.
    """

    def __init__(self, memory: JobMemory, layouts: Layouts) -> None:
        self.memory, self.layouts = memory, layouts
        self.code = ""
        """Digest of the program that is at the region's beginning; "" where that is not known."""

    def load(self, digest: str, image: bytes) -> None:
        """Have a program at the region's beginning; no launch of another one runs."""
        if self.code != digest:
            self.memory.write(REGION, 0, image)
            self.code = digest

    def fill(self, layout: Layout) -> None:
        """Put in what a layout needs before its first slice."""
        if layout.fresh:
            at, end = layout.begin, layout.packing.bytes
            for begin in range(at, end, len(ZEROS)):
                self.memory.write(REGION, begin, ZEROS[: min(len(ZEROS), end - begin)])
            for begin, data in layout.packing.arguments():
                self.memory.write(REGION, begin, data)
            layout.fresh = False

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the region."""
        return self.memory.read(REGION, EVERY_ITEM, offset, size)


class EngineLaunch(BoardWork, Protocol):
    """What runs for a session's command, as the engine has it."""

    @property
    def kernel(self) -> str:
        """What it is called."""

    @property
    def code(self) -> str:
        """Id of the program that it has at the region's beginning; "" where it has none there."""

    @property
    def variants(self) -> Mapping[str, m.KernelVariant]:
        """By module, for the state machine."""

    def learned_as(self, tenant: str) -> str:
        """Under what the times of its slices are learned."""

    def end(self) -> None:
        """It has ended: what it had of the region is free."""


class SessionLaunch:
    """A launch of a session as the engine has it; see `BoardWork`.

    Args:
        launch: As it was asked for.
        offers: Kinds of clusters there are.
        family: Names the session: its launches work on one region, side by side where their order lets them.
        time_limit_s: Of one slice.

    Attributes:
        variants: By module, for the state machine.

    Raises:
        InvalidRequest: Sizes or arguments do not fit.
        NotFound: There is no such kernel or buffer.
        QuotaExceeded: The program is too large.
        MemoryExhausted: The session has no room for its stacks.
    """

    def __init__(
        self,
        region: SessionRegion,
        program: BuiltProgram,
        launch: LaunchCommand,
        offers: Mapping[str, LaunchTarget],
        family: str,
        time_limit_s: float,
    ) -> None:
        self._region, self.program, self._launch, self._offers = region, program, launch, offers
        self._family, self._limit_s = family, time_limit_s
        self._layouts: dict[str, Layout] = {}
        self.variants = region.layouts.variants(program, launch, offers, self._make_variants)
        if not self.variants:
            raise NotFound("there is no cluster any more that the program was built for", field="program")
        most = max(len(traits.image) for traits in program.traits.values())
        if most > CODE_BYTES:
            message = f"the program has {format_bytes(most)}; one of a session has {CODE_BYTES} at most"
            raise QuotaExceeded(message, limit=CODE_BYTES, asked=most)
        self._layout(next(iter(self.variants)))  # what does not fit is refused before a core is asked for

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        return self._launch.kernel

    @property
    def code(self) -> str:
        """Id of its program."""
        return self.program.id

    def learned_as(self, tenant: str) -> str:
        """Under what the times of its slices are learned: of the tenant's own, and of this kernel."""
        return learned_as(tenant, self.kernel, self.program.id)

    def _make_variants(self) -> dict[str, m.KernelVariant]:
        return {module: self._variant(module) for module in self.program.by_module if module in self._offers}

    def _variant(self, module: str) -> m.KernelVariant:
        program, offer, traits = self.program.by_module[module], self._offers[module], self.program.traits[module]
        arrangement = self._region.layouts.arrange(offer.shape, program, self._launch)
        task = TaskSpec(0, self.kernel, module, (), ESTIMATE_S, self._limit_s)
        application = Application(f"kernel:{self.kernel}", (task,), ())
        clusters = 1 if traits.atomics else offer.slots
        lanes = arrangement.launch_shape(offer.shape.threads)
        sizes = arrangement.groups, arrangement.core_groups
        return m.KernelVariant(application, *sizes, traits.soft, clusters, lanes)

    def _layout(self, module: str) -> Layout:
        found = self._layouts.get(module)
        if found is None:
            program, clusters = self.program.by_module[module], self.variants[module].clusters
            found = self._region.layouts.find(module, self._offers[module], program, self._launch, clusters)
            found.users += 1
            self._layouts[module] = found
        return found

    def contents(self, fetch: Fetch) -> Content:
        """Nothing: its memory is the session's."""
        return lambda _spec, _item: ()

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> BoardLaunch:
        """A slice on one core of a cluster."""
        assert isinstance(launch, m.LaunchSlice)
        layout = self._layout(launch.module)
        self._region.load(self.program.by_module[launch.module].digest, self.program.traits[launch.module].image)
        self._region.fill(layout)
        at, block = layout.block(launch.area, launch.first, launch.count)
        self._region.memory.write(REGION, at, block)
        region = self._region.memory.find(REGION).id
        cores = (launch.core,)
        kernel = KernelLaunch(region, REGION_BASE, REGION_BASE + at, cores, family=self._family, groups=launch.count)
        grants = (Grant(region, Access.READ_WRITE),)
        task = f"kernel:{self.kernel}"
        return BoardLaunch(launch.name, (), grants, self._limit_s, kernel=kernel, task=task, account=launch.account)

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        """Nothing: what it wrote stays where it is."""
        return ()

    def log(self, memory: JobMemory) -> bytes:
        """What it printed."""
        used = [layout for layout in self._layouts.values() if not layout.fresh and layout.packing.prints]
        return "".join(layout.packing.log(self._region.read) for layout in used).encode()

    def explain(self, event: BoardEvent, module: str) -> str:
        """What the cores say of a fault."""
        program = self.program.by_module.get(module, self.program.first)
        for core in event.cores:
            if core.fault:
                return describe(Fault(core.core, core.fault, core.fault_pc, core.fault_value), program)
        return ""

    def end(self) -> None:
        """It has ended: its layouts are free for others like it."""
        for layout in self._layouts.values():
            layout.users -= 1
            # What a launch printed is read once; the next one like it has logs of its own.
        self._layouts.clear()
