# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a session's command does to its buffers, piece by piece, so that a command of many pieces holds nobody up.

A move is a generator: between two pieces it says what the last one cost, and it may rest there for as long as others
have their turn. What it returns are the bytes that were read. Where it does not fit, it is refused before anything is
moved.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping

from eddy.core.errors import InvalidRequest, NotFound
from eddy.hypervisor.sessions.commands import Box, Copy, Fill, Read, Write
from eddy.hypervisor.sessions.launches import REGION, SessionRegion

PIECE_BYTES = 4 << 20
"""Bytes that are copied at a time."""
RUN_BYTES = 4096
"""What a piece costs besides its bytes, in bytes: a box of many short rows takes as long as a large one of few."""
Move = Generator[int, None, bytes]


def move_bytes(region: SessionRegion, buffers: Mapping[int, tuple[int, int]], body: Write | Read | Copy | Fill) -> Move:
    """A command on the memory of a session, to be carried on as long as it yields.

    Args:
        buffers: Offset and size of each buffer.

    Raises:
        NotFound: There is no such buffer.
        InvalidRequest: A box is not within its buffer, or is of another shape than the one it is copied to.
    """
    if isinstance(body, Read):
        return _read(region, _spans(buffers, body.box), body.box.bytes)
    if isinstance(body, Write):
        return _write(region, _spans(buffers, body.box), body.data)
    if isinstance(body, Fill):
        return _fill(region, _spans(buffers, body.box), body.pattern)
    if body.source.shape != body.target.shape:
        raise InvalidRequest("source and target of a copy have the same shape", field="shape")
    source, target = _spans(buffers, body.source), _spans(buffers, body.target)
    return _copy(region, source, target, body.source.bytes)


def find_buffer(buffers: Mapping[int, tuple[int, int]], buffer: int) -> tuple[int, int]:
    """Offset and size of a buffer.

    Raises:
        NotFound: There is no such buffer.
    """
    if buffer not in buffers:
        raise NotFound(f"the session has no buffer {buffer}; it was never made, or is released", field="buffer")
    return buffers[buffer]


def _spans(buffers: Mapping[int, tuple[int, int]], box: Box) -> Iterator[tuple[int, int]]:
    """Offset in the region and size of each piece of a box."""
    offset, size = find_buffer(buffers, box.buffer)
    if box.end > size:
        message = f"bytes up to {box.end} of buffer {box.buffer} are named, which has {size}"
        raise InvalidRequest(message, field="offset", allowed=f"0..{size}")
    return (
        (offset + at, min(PIECE_BYTES, begin + length - at))
        for begin, length in box.spans()
        for at in range(begin, begin + length, PIECE_BYTES)
    )


def _read(region: SessionRegion, spans: Iterator[tuple[int, int]], size: int) -> Move:
    found, at = bytearray(size), 0
    for offset, length in spans:
        found[at : at + length] = region.read(offset, length)
        at += length
        yield length + RUN_BYTES
    return bytes(found)


def _write(region: SessionRegion, spans: Iterator[tuple[int, int]], data: bytes) -> Move:
    at = 0
    for offset, length in spans:
        region.memory.write(REGION, offset, data[at : at + length])
        at += length
        yield length + RUN_BYTES
    return b""


def _fill(region: SessionRegion, spans: Iterator[tuple[int, int]], pattern: bytes) -> Move:
    at = 0
    for offset, length in spans:
        phase = at % len(pattern)
        region.memory.write(REGION, offset, (pattern * (length // len(pattern) + 2))[phase : phase + length])
        at += length
        yield length + RUN_BYTES
    return b""


def _copy(
    region: SessionRegion, source: Iterator[tuple[int, int]], target: Iterator[tuple[int, int]], size: int
) -> Move:
    data = yield from _read(region, source, size)
    yield from _write(region, target, data)
    return b""
