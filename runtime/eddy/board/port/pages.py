# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which pages of an arena are whose: first-fit, whole pages, handles that are never used twice."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from eddy.board.port.port import Buffer
from eddy.core.errors import InvalidRequest, MemoryExhausted, NotFound
from eddy.core.units import format_bytes

PAGE = 4096


def whole_pages(size: int) -> int:
    """A size rounded up to whole pages."""
    return -(-size // PAGE) * PAGE


class PageBook:
    """The buffers of one range of memory.

    Args:
        base: Physical address of its first byte.
        size: Bytes; what is beyond the last whole page is left over.
    """

    def __init__(self, base: int, size: int) -> None:
        self.base, self.size = base, size // PAGE * PAGE
        self._buffers: dict[int, Buffer] = {}
        self._spans: list[tuple[int, int]] = []
        """Pages of each buffer from the first byte of all, in order: with hundreds of jobs they are many."""
        self._next_id = 1

    def buffers(self) -> tuple[Buffer, ...]:
        """Every buffer handed out, by id."""
        return tuple(self._buffers.values())

    def allocate(self, size: int, owner: str, withheld: Iterable[Buffer] = ()) -> Buffer:
        """Reserve a buffer in the first gap that takes it, `withheld` pages being nobody's.

        Raises:
            InvalidRequest: Not a positive size.
            MemoryExhausted: No gap is large enough; says what is free.
        """
        if size <= 0:
            raise InvalidRequest(f"a buffer has at least one byte, not {size}", field="bytes", allowed=">= 1")
        wanted, withheld = whole_pages(size), tuple(withheld)
        start = next((begin for begin, end in self._gaps(withheld) if end - begin >= wanted), None)
        if start is None:
            gaps = [*self._gaps(withheld)]
            free, largest = sum(e - b for b, e in gaps), max((e - b for b, e in gaps), default=0)
            raise MemoryExhausted(
                f"no room for {format_bytes(size)}: {format_bytes(free)} of {format_bytes(self.size)} are free,"
                f" the largest gap has {format_bytes(largest)};"
                " free buffers or submit smaller batches",
                cause="arena",
                asked=size,
                free=free,
                largest=largest,
            )
        buffer = Buffer(self._next_id, self.base + start, size, owner)
        self._next_id += 1
        self._buffers[buffer.id] = buffer
        insort(self._spans, self._span(buffer))
        return buffer

    def get(self, buffer: int) -> Buffer:
        """Look a buffer up.

        Raises:
            NotFound: There is none of that id.
        """
        if buffer not in self._buffers:
            raise NotFound(f"no buffer {buffer}; it was never allocated, or is freed", field="buffer", asked=buffer)
        return self._buffers[buffer]

    def remove(self, buffer: int) -> Buffer:
        """Take a buffer out.

        Raises:
            NotFound: There is none of that id.
        """
        found = self.get(buffer)
        del self._buffers[buffer]
        del self._spans[bisect_left(self._spans, self._span(found))]
        return found

    def check_range(self, buffer: int, offset: int, size: int) -> Buffer:
        """The buffer, if bytes lie within it.

        Raises:
            NotFound: There is none of that id.
            InvalidRequest: They do not.
        """
        found = self.get(buffer)
        if offset < 0 or size < 0 or offset + size > found.bytes:
            raise InvalidRequest(
                f"bytes {offset} to {offset + size} are outside buffer {buffer}, which has {found.bytes}",
                field="offset",
                allowed=f"0..{found.bytes}",
            )
        return found

    def _span(self, buffer: Buffer) -> tuple[int, int]:
        start = buffer.address - self.base
        return start, start + whole_pages(buffer.bytes)

    def _gaps(self, withheld: Iterable[Buffer]) -> Iterator[tuple[int, int]]:
        more, at = [self._span(buffer) for buffer in withheld], 0
        for start, end in sorted([*self._spans, *more]) if more else self._spans:
            if start > at:
                yield at, start
            at = end
        if at < self.size:
            yield at, self.size
