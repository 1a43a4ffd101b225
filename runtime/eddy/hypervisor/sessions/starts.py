# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images that a client built itself, started in a session: machine code in a buffer, run as it is.

Such an image reaches what a kernel reaches, the session's memory and nothing else, and is cut into slices as a kernel
is: a slice is some of the cores that the image thinks there are, one after the other on a core that is free. mscratch
of a slice points to four words: the address that the client gave, its first core, the core behind its last, and how
many there are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping

from eddy.board.port.port import Access, BoardEvent, Grant, KernelLaunch
from eddy.board.port.port import Launch as BoardLaunch
from eddy.core.applications import Application, TaskSpec
from eddy.core.errors import InvalidRequest, NotFound
from eddy.core.units import format_bytes
from eddy.gpu.programs.layout import LINE_BYTES, REGION_BASE
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import Content
from eddy.hypervisor.jobs.work import Fetch, JobMemory
from eddy.hypervisor.sessions.commands import StartCommand
from eddy.hypervisor.sessions.heap import Heap
from eddy.hypervisor.sessions.launches import ESTIMATE_S, REGION, LaunchTarget, SessionRegion, learned_as
from eddy.hypervisor.sessions.moves import find_buffer

IMAGE = "image"


class ImageStart:
    """A started image as the engine has it; see `EngineLaunch`.

    Args:
        heap: Room in it; see `room`.
        start: As it was asked for.
        buffers: Offset and bytes of each buffer.
        offers: Kinds of clusters there are.
        time_limit_s: Of one slice.
        room: Takes bytes of the heap, making room where need be.

    Attributes:
        variants: By module, for the state machine.

    Raises:
        InvalidRequest: An offset is outside its buffer, or is no place for an instruction.
        NotFound: There is no such buffer, or no such cluster.
        MemoryExhausted: The session has no room for what slices are told.
    """

    kernel, code = IMAGE, ""

    def __init__(
        self,
        region: SessionRegion,
        heap: Heap,
        start: StartCommand,
        buffers: Mapping[int, tuple[int, int]],
        offers: Mapping[str, LaunchTarget],
        family: str,
        time_limit_s: float,
        room: Callable[[int], int],
    ) -> None:
        self._region, self._heap, self._start = region, heap, start
        self._family, self._limit_s = family, time_limit_s
        if start.module not in offers:
            kinds = ", ".join(sorted(offers)) or "none"
            raise NotFound(f"there is no cluster {start.module}; there are: {kinds}", field="module")
        self._entry = REGION_BASE + _place(buffers, start.buffer, start.offset, "offset")
        if self._entry % 4:
            raise InvalidRequest("an image begins at a multiple of 4", field="offset", asked=start.offset)
        self._argument = REGION_BASE + _place(buffers, start.argument.buffer, start.argument.offset, "argument.offset")
        task = TaskSpec(0, IMAGE, start.module, (), ESTIMATE_S, time_limit_s)
        application = Application(f"kernel:{IMAGE}", (task,), ())
        self.variants: Mapping[str, m.KernelVariant] = {start.module: m.KernelVariant(application, start.cores, 1)}
        self._words = room(LINE_BYTES * offers[start.module].shape.cores)

    def learned_as(self, tenant: str) -> str:
        """Under what the times of its slices are learned: of the tenant's own, and of what begins there."""
        return learned_as(tenant, IMAGE, f"{self._family}:{self._entry:x}")

    def contents(self, fetch: Fetch) -> Content:
        """Nothing: its memory is the session's."""
        return lambda _spec, _item: ()

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> BoardLaunch:
        """Some of its cores on one core of a cluster."""
        assert isinstance(launch, m.LaunchSlice)
        at = self._words + LINE_BYTES * launch.area
        end = launch.first + launch.count
        self._region.memory.write(REGION, at, struct.pack("<4I", self._argument, launch.first, end, self._start.cores))
        region = self._region.memory.find(REGION).id
        place = REGION_BASE + at, (launch.core,)
        kernel = KernelLaunch(region, self._entry, *place, family=self._family, groups=launch.count)
        grants = (Grant(region, Access.READ_WRITE),)
        task = f"kernel:{IMAGE}"
        return BoardLaunch(launch.name, (), grants, self._limit_s, kernel=kernel, task=task, account=launch.account)

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        """Nothing: what it wrote stays where it is."""
        return ()

    def log(self, memory: JobMemory) -> bytes:
        """Nothing: what an image prints is between it and its client."""
        return b""

    def explain(self, event: BoardEvent, module: str) -> str:
        """Nothing that the board does not say: nobody here knows the image's functions."""
        return ""

    def end(self) -> None:
        """It has ended: nobody reads what its slices were told."""
        self._heap.free(self._words)


def _place(buffers: Mapping[int, tuple[int, int]], buffer: int, offset: int, field: str) -> int:
    """Where a byte of a buffer is in the region."""
    begin, size = find_buffer(buffers, buffer)
    if offset >= size:
        message = f"buffer {buffer} has {format_bytes(size)}, and byte {offset} of it is named"
        raise InvalidRequest(message, field=field, allowed=f"0..{size - 1}")
    return begin + offset
