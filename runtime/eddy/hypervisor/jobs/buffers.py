# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A job's buffers on the board: which there are, how they are found again, and what a launch is told of them.

Inputs, outputs and what lies between tasks exist once an item, constants once a job, each in a buffer of its own, so
that a launch is granted one item's memory and nothing else. The owner's name a buffer carries on the board says job,
buffer and item: a restarted hypervisor reads the whole map from the board.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from eddy.board.port.port import Access, BoardPort, Buffer, Grant, Launch, Result, Stream
from eddy.core.applications import Application, BufferRole, BufferSpec
from eddy.core.errors import Conflict, MemoryExhausted, NotFound
from eddy.hypervisor.jobs.messages import item_name
from eddy.packages.modules import ModuleManifest, RegisterKind

EVERY_ITEM = -1
"""Stands for the item of a constant."""

Key = tuple[str, int]
"""Buffer name and item."""
Pieces = Iterable[tuple[int, bytes]]
"""Offsets and the bytes there."""
Content = Callable[[BufferSpec, int], Pieces]
"""What a buffer holds at first, in pieces; the rest is zero."""


@dataclass(frozen=True, slots=True)
class BufferNeed:
    """One buffer a job needs."""

    spec: BufferSpec
    item: int

    @property
    def key(self) -> Key:
        """How the job's map names it."""
        return self.spec.name, self.item


def needed(application: Application, batch: int) -> tuple[BufferNeed, ...]:
    """Every buffer of a job, constants first, then item by item."""
    constants = [BufferNeed(spec, EVERY_ITEM) for spec in application.buffers if spec.role is BufferRole.CONSTANT]
    others = [spec for spec in application.buffers if spec.role is not BufferRole.CONSTANT]
    return (*constants, *(BufferNeed(spec, item) for item in range(batch) for spec in others))


def owner_name(job: int, key: Key) -> str:
    """The owner a buffer is allocated for."""
    return f"{job}/{key[0]}/{key[1]}"


def parse_owner(owner: str) -> tuple[int, Key] | None:
    """The inverse of `owner_name`; None for a buffer that is not a job's."""
    parts = owner.split("/")
    if len(parts) != 3 or not parts[0].isdigit() or not parts[2].lstrip("-").isdigit():
        return None
    return int(parts[0]), (parts[1], int(parts[2]))


class JobBuffers:
    """The buffers of every job on one board."""

    def __init__(self, board: BoardPort) -> None:
        self._board = board
        self._maps: dict[int, dict[Key, Buffer]] = {}
        self._orphans: list[int] = []

    def adopt(self, buffers: Iterable[Buffer]) -> None:
        """Take the map from what the board holds; what is not a job's is left alone."""
        self._maps.clear()
        self._orphans.clear()
        for buffer in buffers:
            found = parse_owner(buffer.owner)
            if found is not None:
                self._maps.setdefault(found[0], {})[found[1]] = buffer

    def jobs(self) -> tuple[int, ...]:
        """Jobs that have buffers."""
        return tuple(self._maps)

    def complete(self, job: int, needs: Iterable[BufferNeed]) -> bool:
        """Whether a job has all its buffers."""
        held = self._maps.get(job, {})
        return all(need.key in held and held[need.key].bytes == need.spec.bytes for need in needs)

    def allocate(self, job: int, needs: Iterable[BufferNeed], content: Content) -> None:
        """Reserve and fill every buffer of a job, or none.

        Raises:
            MemoryExhausted: They do not all fit now.
        """
        held = self._maps[job] = {}
        try:
            for need in needs:
                held[need.key] = self._board.allocate(need.spec.bytes, owner_name(job, need.key))
                for offset, data in content(need.spec, need.item):
                    self._board.write(held[need.key].id, offset, data)
        except MemoryExhausted:
            self.free(job)
            raise

    def free(self, job: int) -> None:
        """Give back all a job has; what a stopping item may still touch is given back by `sweep`."""
        self._orphans += [buffer.id for buffer in self._maps.pop(job, {}).values()]
        self.sweep()

    def sweep(self) -> bool:
        """Try again to give back what could not be; answers whether nothing is left."""
        left = []
        for buffer in self._orphans:
            try:
                self._board.free(buffer)
            except NotFound:
                continue
            except Conflict:
                left.append(buffer)
        self._orphans = left
        return not left

    def read(self, job: int, name: str, item: int, offset: int = 0, size: int | None = None) -> bytes:
        """The bytes of one of a job's buffers, or `size` of them from `offset` on."""
        buffer = self._maps[job][name, item]
        return self._board.read(buffer.id, offset, buffer.bytes if size is None else size)

    def write(self, job: int, name: str, offset: int, data: bytes) -> None:
        """Put bytes into the buffer of that name that every item of a job shares."""
        self._board.write(self._maps[job][name, EVERY_ITEM].id, offset, data)

    def holds(self, job: int, name: str) -> bool:
        """Whether a job has the buffer of that name that every item shares."""
        return (name, EVERY_ITEM) in self._maps.get(job, {})

    def launch(
        self,
        job: int,
        application: Application,
        task: int,
        item: int,
        manifests: Mapping[str, ModuleManifest],
        streams: Iterable[tuple[str, int]] = (),
    ) -> Launch:
        """The launch of one item: addresses and scalars in registers, grants for exactly the buffers it points to.

        A scalar that names a buffer has its bytes; a result goes into the buffer that it names. Of `streams`, buffers
        by name, the other end is in another slot.

        Raises:
            InvalidRequest: The task's arguments do not fit its module's manifest.
        """
        spec = application.tasks[task]
        manifest = manifests[spec.module]
        values: dict[str, int] = {}
        grants: dict[int, Access] = {}
        results: list[Result] = []
        for name, value in spec.arguments:
            if isinstance(value, int):
                values[name] = value
                continue
            buffer, register = self.find(job, value, item), manifest.register(name)
            if register.kind is RegisterKind.RESULT:
                results.append(Result(register.offset, min(buffer.bytes, 4 * register.word_count), buffer.id))
            elif register.kind is RegisterKind.SCALAR:
                values[name] = int.from_bytes(self._board.read(buffer.id, 0, buffer.bytes), "little")
            elif register.access is not None:
                values[name] = buffer.address
                known = grants.get(buffer.id, register.access)
                grants[buffer.id] = register.access if known is register.access else Access.READ_WRITE
        return Launch(
            item=item_name(job, task, item),
            registers=manifest.writes(values),
            grants=tuple(Grant(buffer, access) for buffer, access in grants.items()),
            # What streams is as slow as the slowest of its chain.
            time_limit_s=sum(each.time_limit_s for each in application.tasks) if streams else spec.time_limit_s,
            status=-1 if manifest.status is None else manifest.status.offset,
            task=application.task_name(task),
            results=tuple(results),
            causes=() if manifest.status is None else manifest.status.causes,
            streams=tuple(Stream(self.find(job, name, item).id, slot) for name, slot in streams),
        )

    def find(self, job: int, name: str, item: int = EVERY_ITEM) -> Buffer:
        """The buffer of that name: the item's, or the one that every item shares.

        Raises:
            KeyError: The job has none.
        """
        held = self._maps[job]
        return held.get((name, item)) or held[name, EVERY_ITEM]
