# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Room in a session's region: for its buffers, and for what launches need beside them."""

from __future__ import annotations

from bisect import bisect_left, insort

from eddy.core.errors import MemoryExhausted
from eddy.core.units import format_bytes
from eddy.gpu.programs.layout import align

ALIGNMENT = 128
"""Bytes: the largest type of OpenCL C, `double16`, lies at a multiple of its size."""


class Heap:
    """First fit in a range, each piece at a multiple of `ALIGNMENT`.

    Args:
        begin: First offset.
        end: One past the last.
    """

    def __init__(self, begin: int, end: int) -> None:
        self._end = end
        self._begin = align(begin, ALIGNMENT)
        self._taken: list[tuple[int, int]] = []
        """Beginning and end of each piece, in order."""

    def allocate(self, size: int) -> int:
        """The offset of so many bytes that nobody else has.

        Raises:
            MemoryExhausted: No gap is large enough; says what is free.
        """
        wanted = align(max(size, 1), ALIGNMENT)
        for begin, end in self.gaps():
            if end - begin >= wanted:
                insort(self._taken, (begin, begin + wanted))
                return begin
        gaps = [end - begin for begin, end in self.gaps()]
        free, largest = sum(gaps), max(gaps, default=0)
        raise MemoryExhausted(
            f"no room for {format_bytes(size)} in the session: {free} are free, the largest gap has {largest};"
            " release buffers, or open it with more memory_bytes",
            cause="session",
            asked=size,
            free=free,
            largest=largest,
        )

    def place(self, begin: int, size: int) -> None:
        """Take a piece that was allocated in an earlier life, or whose beginning `widest` told.

        Raises:
            MemoryExhausted: It is not free, or outside the range.
        """
        end = begin + align(max(size, 1), ALIGNMENT)
        if not any(first <= begin and end <= last for first, last in self.gaps()):
            what = f"no room for {format_bytes(size)} at {begin} in the session"
            message = f"{what}; release buffers, or open it with more memory_bytes"
            raise MemoryExhausted(message, cause="session", asked=size)
        insort(self._taken, (begin, end))

    def widest(self) -> int:
        """Where the largest gap begins."""
        return max(self.gaps(), key=lambda gap: gap[1] - gap[0], default=(self._begin, 0))[0]

    def free(self, begin: int) -> None:
        """Give a piece back."""
        at = bisect_left(self._taken, (begin, 0))
        assert self._taken[at][0] == begin, "it was allocated"
        del self._taken[at]

    def pieces(self) -> tuple[tuple[int, int], ...]:
        """Beginning and end of what is taken, in order."""
        return tuple(self._taken)

    def gaps(self) -> list[tuple[int, int]]:
        """Beginning and end of what is free, in order."""
        found, at = [], self._begin
        for begin, end in self._taken:
            if begin > at:
                found.append((at, begin))
            at = end
        if at < self._end:
            found.append((at, self._end))
        return found
