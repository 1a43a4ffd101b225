# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Memory shared with the simulated board, and what the CPU's cache makes of it.

On a board the fabric does not see the processor's caches: what the CPU wrote reaches memory when its line is flushed,
and what a module wrote reaches the CPU when the line is invalidated. The view here is the worst cache there is: it
holds every line, and neither writes back nor fetches by itself, so that a forgotten call always shows.

Stores of the CPU are found by what they changed. So that one which repeats the old value is found too, the memory model
(`cpp/dram.cpp`) overwrites the CPU's clean copy of every byte a module writes: the CPU sees neither the old value nor
the new until it invalidates (a lone byte is missed by chance once in 256 times). Not found is a store that repeats the
value *before* a module overwrites it; the module's bytes then stay, where a cache would have put the CPU's over them.
"""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt
from eddy.core.errors import InvalidRequest

LINE_BYTES = 64
"""A cache line of the Cortex-A53."""

Bytes = npt.NDArray[np.uint8]


def _pages(length: int) -> Bytes:
    # Pages cost memory when they are first written, so a board may have more memory than the machine.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    return np.frombuffer(mmap.mmap(-1, length, flags=flags), dtype=np.uint8)


class CacheView:
    """The CPU's view of memory.

    Args:
        base: Physical address of the first byte.
        length: Bytes; a multiple of a line.
        coherent: One array for both sides, and nothing to flush.
        cpu: Memory for the CPU's view, `length` zeros, where other processes see it too.
    """

    def __init__(self, base: int, length: int, coherent: bool, cpu: Bytes | None = None) -> None:
        self._base = base
        self._length = length
        self.device = _pages(length)
        self.cpu = self.device if coherent else _pages(length) if cpu is None else cpu
        # Lines as they were when CPU and memory last agreed: a line is dirty where the CPU's differs from this.
        self._agreed = self.device if coherent else _pages(length)
        self.coherent = coherent

    @property
    def addresses(self) -> tuple[int, int]:
        """Where the CPU's view lies, and the same as it was when it last agreed with memory."""
        return int(self.cpu.ctypes.data), int(self._agreed.ctypes.data)

    def _lines(self, address: int, length: int) -> slice:
        first, last = address - self._base, address - self._base + length
        if not 0 <= first <= last <= self._length:
            raise InvalidRequest(
                f"{length} bytes at {address:#x} are not inside memory",
                field="address",
                allowed=f"{self._base:#x}..{self._base + self._length:#x}",
            )
        return slice(first // LINE_BYTES * LINE_BYTES, -(-last // LINE_BYTES) * LINE_BYTES)

    def flush(self, address: int, length: int) -> None:
        """Write dirty lines of a range back; clean lines are left as modules left them."""
        lines = self._lines(address, length)
        if self.coherent:
            return
        cpu, agreed, device = (array[lines].reshape(-1, LINE_BYTES) for array in (self.cpu, self._agreed, self.device))
        dirty = (cpu != agreed).any(axis=1)
        device[dirty] = cpu[dirty]
        agreed[dirty] = cpu[dirty]

    def invalidate(self, address: int, length: int) -> None:
        """Drop the lines of a range, dirty or not: the CPU sees memory again."""
        lines = self._lines(address, length)
        if self.coherent:
            return
        self._agreed[lines] = self.device[lines]
        self.cpu[lines] = self.device[lines]
