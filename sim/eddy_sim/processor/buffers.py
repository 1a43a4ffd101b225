# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""PYNQ buffers in the simulated board's memory, and the allocator behind `pynq.allocate`.

A buffer's bytes are the board's own DRAM where that is coherent with the CPU; otherwise they are the CPU's cached
copy, and `flush` and `invalidate` move them. Either way `device_address` is a physical address that modules can use.
"""

from __future__ import annotations

import operator
import weakref
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from eddy.board.port.profile import Profile
from eddy.core.errors import InvalidRequest, MemoryExhausted
from pynq import MMIO
from pynq.buffer import PynqBuffer

from eddy_sim.boards.board import SimBoard

PAGE = 4096
_SCRUB_BYTES = 1 << 16


class PageAllocator:
    """First-fit allocation of whole pages out of one range of physical memory.

    Args:
        base: Physical address of the range, page aligned.
        size: Its bytes.
    """

    def __init__(self, base: int, size: int) -> None:
        self._base, self._size = base, size
        self._taken: dict[int, int] = {}

    def allocate(self, size: int) -> int:
        """Reserve `size` bytes; answer their physical address.

        Raises:
            MemoryExhausted: No gap is large enough; says what is free.
        """
        need = max(PAGE, -(-size // PAGE) * PAGE)
        at = self._base
        for start in sorted(self._taken):
            if start - at >= need:
                break
            at = start + self._taken[start]
        if at + need > self._base + self._size:
            free = self._size - sum(self._taken.values())
            raise MemoryExhausted(
                f"no room for {size} bytes: {free} of {self._size} bytes for buffers are free, not in one piece of that"
                " size; free buffers first",
                cause="allocate",
                asked=size,
                free=free,
            )
        self._taken[at] = need
        return at

    def free(self, address: int) -> None:
        """Free what `allocate` answered with; a second time does nothing."""
        self._taken.pop(address, None)

    @property
    def used(self) -> int:
        """Bytes that are taken."""
        return sum(self._taken.values())

    @property
    def count(self) -> int:
        """Number of buffers that are taken."""
        return len(self._taken)


class Allocation:
    """Pages of one buffer; given back when the buffer is freed, or when nothing refers to it any more."""

    def __init__(self, pages: PageAllocator, size: int) -> None:
        self.address = pages.allocate(size)
        self.size = size
        self._finalizer = weakref.finalize(self, pages.free, self.address)
        # Nothing is left to give back to when the interpreter ends.
        self._finalizer.atexit = False

    def free(self) -> None:
        """Give the pages back now."""
        self._finalizer()


class SimBuffer(PynqBuffer):  # type: ignore[misc]
    """A PYNQ buffer that gives its pages back to the simulated board.

    `PynqBuffer` frees what it is in by unmapping it; this memory is not the process's to unmap. Views hold on to the
    pages of the buffer they are views of.
    """

    allocation: Allocation | None

    def __array_finalize__(self, obj: Any) -> None:
        super().__array_finalize__(obj)
        self.allocation = getattr(obj, "allocation", None)

    def __del__(self) -> None:
        """Nothing: the pages are freed with the last reference to their `Allocation`."""

    def freebuffer(self) -> None:
        """Free the pages now; views of this buffer must not be used any more."""
        if self.allocation is not None:
            self.allocation.free()
            self.allocation = None
        self.freed = True


def _sizes(shape: Any) -> tuple[int, ...]:
    """A shape as numbers.

    Raises:
        InvalidRequest: It is none.
    """
    try:
        sizes = tuple(map(operator.index, shape if np.iterable(shape) else (shape,)))
    except TypeError:
        sizes = (-1,)
    if min(sizes, default=0) < 0:
        raise InvalidRequest(f"{shape!r} is no shape: a number, or a tuple of numbers, from 0", field="shape")
    return sizes


class MemoryDevice(Protocol):
    """What a memory needs of the device it belongs to."""

    pages: PageAllocator

    @property
    def sim(self) -> SimBoard:
        """The simulated board."""

    @property
    def profile(self) -> Profile:
        """What the board is."""

    def mmap(self, base_addr: int, length: int) -> Any:
        """An array over a physical range."""


class SimMemory:
    """A memory of the board, as PYNQ's `Device.default_memory` and `Overlay.mem_dict` name them.

    Args:
        device: The device it belongs to.
        desc: Its entry in the overlay's `mem_dict`.
    """

    def __init__(self, device: MemoryDevice, desc: dict[str, Any]) -> None:
        self.device, self.desc = device, desc
        self.idx, self.size, self.base_address = desc["idx"], desc["size"], desc["base_address"]

    def allocate(self, shape: Any, dtype: Any, cacheable: bool | None = None, **options: Any) -> SimBuffer:
        """A zeroed buffer of that shape.

        Args:
            shape: As numpy.
            dtype: As numpy; no Python objects.
            cacheable: False for memory that the CPU does not cache: `flush` and `invalidate` have nothing to do. None
                is as True: a missing flush shows.
            options: None that PYNQ has beside these is supported.

        Raises:
            MemoryExhausted: No room.
            InvalidRequest: An option that is not supported, or a shape or type no buffer has.
        """
        if options:
            names = ", ".join(sorted(options))
            raise InvalidRequest(
                f"the simulated board's allocate has no {names}; it takes shape, dtype, target and cacheable",
                field=min(options),
                allowed=["shape", "dtype", "target", "cacheable"],
            )
        kind = np.dtype(dtype)
        if kind.hasobject:
            raise InvalidRequest(f"a buffer holds numbers, not Python objects ({kind})", field="dtype")
        sizes = _sizes(shape)
        size = int(np.prod(sizes, dtype=object)) * kind.itemsize
        allocation = Allocation(self.device.pages, size)
        uncached = cacheable is not None and not cacheable
        buffer = SimBuffer(
            sizes,
            kind,
            buffer=self._scrubbed(allocation.address, size, uncached),
            device=self.device,
            device_address=allocation.address,
            coherent=uncached,
        )
        buffer.memory = self
        buffer.allocation = allocation
        return buffer

    def _scrubbed(self, address: int, size: int, uncached: bool) -> npt.NDArray[np.uint8]:
        """The bytes of a range, as the CPU sees them or as memory has them, zeroed in the cache and in memory.

        Where they are zero already they are not touched.
        """
        sim, start = self.device.sim, address - self.device.profile.dram.base
        for at in range(start, start + size, _SCRUB_BYTES):
            part = slice(at, min(at + _SCRUB_BYTES, start + size))
            if not (sim.dram[part].any() or sim.device_dram[part].any()):
                continue
            # Lines the cache holds from an earlier buffer would hide what a module wrote since.
            place, length = part.start - start + address, part.stop - part.start
            sim.invalidate(place, length)
            sim.dram[part] = 0
            sim.flush(place, length)
        return (sim.device_dram if uncached else sim.dram)[start : start + size]

    def read(self, address: int) -> int:
        """Read the 32-bit word at a byte offset of this memory, uncached."""
        return int(self._words[address >> 2])

    def write(self, address: int, value: int) -> None:
        """Write the 32-bit word at a byte offset of this memory, uncached."""
        self._words[address >> 2] = value

    @property
    def mmio(self) -> Any:
        """Accesses of 32-bit words, uncached, as `pynq.MMIO` has them."""
        return MMIO(self.base_address, self.size, device=self.device)

    @property
    def _words(self) -> npt.NDArray[np.uint32]:
        words: npt.NDArray[np.uint32] = self.device.mmap(self.base_address, self.size)
        return words

    @property
    def mem_used(self) -> int:
        """Bytes in buffers."""
        return self.device.pages.used

    @property
    def num_buffers(self) -> int:
        """Buffers there are."""
        return self.device.pages.count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SimMemory) and (self.device, self.idx) == (other.device, other.idx)

    def __hash__(self) -> int:
        return hash((id(self.device), self.idx))
