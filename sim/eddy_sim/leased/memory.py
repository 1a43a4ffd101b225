# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Buffers of a leased slot: the lease's memory on the board, with a copy here that `flush` and `invalidate` move."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy.core.errors import InvalidRequest
from pynq import MMIO

from eddy_sim.leased.holder import LeaseHolder
from eddy_sim.processor.buffers import PAGE, Allocation, PageAllocator, SimBuffer


class LeasedMemory:
    """The memory of a lease, as `pynq.allocate` and an overlay's `mem_dict` know it.

    Args:
        device: The device it belongs to.
        holder: Reads and writes it.
    """

    def __init__(self, device: Any, holder: LeaseHolder) -> None:
        self.device, self._holder = device, holder
        self.base_address = holder.lease["memory_address"]
        self.size = holder.lease["memory_bytes"] // PAGE * PAGE
        self.pages = PageAllocator(self.base_address, self.size)
        self._copy: npt.NDArray[np.uint8] = np.zeros(self.size, np.uint8)
        self._used = 0
        """Bytes from the beginning that some buffer had: the rest was never written."""

    @property
    def desc(self) -> dict[str, Any]:
        """Its entry in an overlay's `mem_dict`."""
        sizes = {"base_address": self.base_address, "size": self.size}
        return {"raw_type": 1, "used": 1, **sizes, "type": "DDR4", "streaming": False, "idx": 0, "tag": "PSDDR"}

    def allocate(self, shape: Any, dtype: Any, cacheable: bool | None = None, **options: Any) -> SimBuffer:
        """A zeroed buffer of that shape.

        Raises:
            MemoryExhausted: No room; ask for a lease with more memory.
            InvalidRequest: An option that is not supported, or a shape or type no buffer has.
        """
        if options or (cacheable is not None and not cacheable):
            name = min(options, default="cacheable")
            message = (
                f"a leased slot's allocate takes no {name}: buffers are copies here, to be flushed and invalidated"
            )
            raise InvalidRequest(message, field=name, allowed=["shape", "dtype", "target"])
        kind = np.dtype(dtype)
        try:
            sizes = tuple(map(operator.index, shape if np.iterable(shape) else (shape,)))
        except TypeError:
            sizes = (-1,)
        if kind.hasobject or min(sizes, default=0) < 0:
            raise InvalidRequest(f"{shape!r} of {kind} is no buffer: numbers, from 0", field="shape")
        size = int(np.prod(sizes, dtype=object)) * kind.itemsize
        allocation = Allocation(self.pages, size)
        start = allocation.address - self.base_address
        local = self._copy[start : start + size]
        local[:] = 0
        if start < self._used:
            self._holder.write_memory(start, bytes(size))
        self._used = max(self._used, start + size)
        buffer = SimBuffer(
            sizes, kind, buffer=local, device=self.device, device_address=allocation.address, coherent=False
        )
        buffer.memory, buffer.allocation = self, allocation
        return buffer

    def flush(self, pointer: int, size: int) -> None:
        """Bring bytes that were written here to the board."""
        start = pointer - int(self._copy.ctypes.data)
        self._holder.write_memory(start, self._copy[start : start + size].tobytes())

    def invalidate(self, pointer: int, size: int) -> None:
        """Fetch bytes as the board has them."""
        start = pointer - int(self._copy.ctypes.data)
        self._copy[start : start + size] = np.frombuffer(self._holder.read_memory(start, size), np.uint8)

    def read_word(self, offset: int) -> int:
        """A word of it, as the board has it."""
        return int.from_bytes(self._holder.read_memory(offset, 4), "little")

    def write_word(self, offset: int, value: int) -> None:
        """Put a word into it."""
        self._holder.write_memory(offset, value.to_bytes(4, "little"))

    @property
    def mmio(self) -> Any:
        """Accesses of 32-bit words, uncached, as `pynq.MMIO` has them."""
        return MMIO(self.base_address, self.size, device=self.device)

    @property
    def mem_used(self) -> int:
        """Bytes in buffers."""
        return self.pages.used

    @property
    def num_buffers(self) -> int:
        """Buffers there are."""
        return self.pages.count
