# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A context: its session, buffers and programs, and commands on them as the session's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eddy.gpu.programs.image import KINDS, ORDERS
from eddy.gpu.programs.shape import ClusterShape
from eddy.opencl.geometry import Geometry, packed, pieces
from eddy.opencl.session_port import BufferPart, CommandEvent, ImageView, LocalBytes, Session
from eddy.opencl.standard import number
from eddy.opencl.wire import Operation, Reader

PIECE_BYTES = 4 << 20
"""Of a region of several rows that travels as one command."""


@dataclass(slots=True)
class StartedCommand:
    """A command that was given to the session.

    Attributes:
        id: The library's.
        events: Of the session, all of which have to end.
        landing: Where bytes that are read go in the arena; empty for none.
    """

    id: int
    events: Sequence[CommandEvent]
    landing: Sequence[ReadTarget] = ()


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """Where what one event reads goes.

    Attributes:
        event: Reads.
        place: In the arena.
    """

    event: CommandEvent
    place: int


@dataclass(slots=True)
class HostContext:
    """What a context has.

    Attributes:
        session: Its session.
        shape: Of the clusters.
        arena: Memory shared with the library.
        buffers: Of the session, by the library's numbers.
        programs: Likewise.
        under_way: Events of commands that have not ended, by the command's number.
    """

    session: Session
    shape: ClusterShape
    arena: memoryview
    buffers: dict[int, Any] = field(default_factory=dict)
    programs: dict[int, Any] = field(default_factory=dict)
    under_way: dict[int, Sequence[CommandEvent]] = field(default_factory=dict)

    def create(self, reader: Reader) -> None:
        """A buffer, with its first bytes from the arena where the host gave some."""
        id, size, filled, block = reader.numbers("QQBQ")
        buffer = self.session.buffer(size)
        if filled:
            event = self.session.write(buffer, self.arena[block : block + size])
            self.session.flush()
            event.wait()
            if event.error:
                buffer.release()
                raise MemoryError(event.error[1])
        self.buffers[id] = buffer

    def free(self, id: int) -> None:
        """Give up a buffer."""
        buffer = self.buffers.pop(id, None)
        if buffer is not None:
            buffer.release()

    def start(self, operation: Operation, id: int, reader: Reader) -> StartedCommand:
        """A command; the session does it when what it waits for has ended."""
        ids = reader.bytes()
        waits = [int.from_bytes(ids[at : at + 8], "little") for at in range(0, len(ids), 8)]
        after = [event for before in waits for event in self.under_way.get(before, ())]
        command = _COMMANDS[operation](self, id, reader, after)
        self.under_way[id] = command.events
        return command

    def _place(self, reader: Reader) -> tuple[Any, Geometry]:
        buffer = self.buffers[reader.u64()]
        return buffer, Geometry.read(reader)

    def write(self, id: int, reader: Reader, after: Sequence[CommandEvent]) -> StartedCommand:
        """Rows from the arena to a buffer."""
        (buffer, region), block = self._place(reader), reader.u64()
        events = []
        for to, come in pieces(PIECE_BYTES, region, packed(region)):
            data = self.arena[block + come.offset : block + come.offset + come.bytes]
            if to.is_run:
                events.append(self.session.write(buffer, data, to.offset, after))
            else:
                events.append(self.session.write_box(buffer, data, to.shape, to.pitch, to.offset, after))
        return StartedCommand(id, events)

    def read(self, id: int, reader: Reader, after: Sequence[CommandEvent]) -> StartedCommand:
        """Rows of a buffer to the arena."""
        (buffer, region), block = self._place(reader), reader.u64()
        landings = []
        for come, to in pieces(PIECE_BYTES, region, packed(region)):
            if come.is_run:
                event = self.session.read(buffer, come.offset, come.width, after)
            else:
                event = self.session.read_box(buffer, come.shape, come.pitch, come.offset, after)
            landings.append(ReadTarget(event, block + to.offset))
        return StartedCommand(id, [landing.event for landing in landings], landings)

    def copy(self, id: int, reader: Reader, after: Sequence[CommandEvent]) -> StartedCommand:
        """Rows from buffer to buffer."""
        (source, here), (target, there) = self._place(reader), self._place(reader)
        ((come, go),) = pieces(max(here.bytes, 1), here, there)  # nothing travels: one piece
        if come.is_run:
            event = self.session.copy(source, target, come.offset, go.offset, come.width, after)
        else:
            event = self.session.copy_box(
                source, target, come.shape, come.pitch, go.pitch, come.offset, go.offset, after
            )
        return StartedCommand(id, [event])

    def fill(self, id: int, reader: Reader, after: Sequence[CommandEvent]) -> StartedCommand:
        """A pattern over rows of a buffer."""
        (buffer, region), pattern = self._place(reader), reader.bytes()
        ((go,),) = pieces(max(region.bytes, 1), region)
        if go.is_run:
            event = self.session.fill(buffer, pattern, go.offset, go.width, after)
        else:
            event = self.session.fill_box(buffer, pattern, go.shape, go.pitch, go.offset, after)
        return StartedCommand(id, [event])

    def launch(self, id: int, reader: Reader, after: Sequence[CommandEvent]) -> StartedCommand:
        """A kernel over an ND-range."""
        program, name, dimensions = self.programs[reader.u64()], reader.text(), reader.u32()
        offset, size = reader.numbers("3Q")[:dimensions], reader.numbers("3Q")[:dimensions]
        grouped, group = reader.u8(), reader.numbers("3Q")[:dimensions]
        arguments = [self._argument(reader) for _ in range(reader.u32())]
        event = self.session.launch(
            program.kernel(name),
            size,
            arguments,
            local_size=group if grouped else None,
            global_offset=offset if any(offset) else None,
            after=after,
        )
        return StartedCommand(id, [event])

    def _argument(self, reader: Reader) -> object:
        tag = reader.u8()
        if tag == 0:
            return reader.bytes()
        if tag == 2:
            return None
        if tag == 3:
            return LocalBytes(reader.u64())
        if tag == 5:
            return reader.u32().to_bytes(4, "little")
        buffer, offset, size = self.buffers[reader.u64()], reader.u64(), reader.u64()
        return BufferPart(buffer, offset, size) if tag == 1 else _image(buffer, offset, reader)


_COMMANDS = {
    Operation.WRITE: HostContext.write,
    Operation.READ: HostContext.read,
    Operation.COPY: HostContext.copy,
    Operation.FILL: HostContext.fill,
    Operation.LAUNCH: HostContext.launch,
}


def _name(table: Mapping[str, tuple[int, Any]], value: int) -> str:
    return next(name for name, (known, _) in table.items() if known == value)


def _image(buffer: Any, offset: int, reader: Reader) -> ImageView:
    """Texels of a buffer: width, height or layers, and depth or layers, as far as the image's type has them."""
    kind, width, height, depth, order, channel = reader.numbers("IQQQII")
    one = (number("CL_MEM_OBJECT_IMAGE1D"), number("CL_MEM_OBJECT_IMAGE1D_BUFFER"))
    three = (number("CL_MEM_OBJECT_IMAGE3D"), number("CL_MEM_OBJECT_IMAGE2D_ARRAY"))
    sides = (width,) if kind in one else (depth, height, width) if kind in three else (height, width)
    order_name = _name(ORDERS, order)
    return ImageView(buffer, offset, (*sides, ORDERS[order_name][1]), order_name, _name(KINDS, channel))
