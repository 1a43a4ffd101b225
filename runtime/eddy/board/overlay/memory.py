"""Contiguous memory that slots reach: where it comes from, and how it stays the same on both sides of the caches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pynq
from eddy_drivers.shell import Shell

from eddy.board.overlay.device_calls import DeviceCalls
from eddy.board.port.pages import PAGE
from eddy.board.port.profile import Profile
from eddy.core.errors import BoardNotReady


def reserve_arena(device: Any, profile: Profile) -> Any:
    """The arena, where the slots' ports reach it.

    Raises:
        BoardNotReady: The kernel has no room of that size, or gave memory that the profile does not know.
    """
    buffer = contiguous(device, profile.arena.bytes)
    first, last = int(buffer.device_address), int(buffer.device_address) + profile.arena.bytes
    dram = profile.dram
    if first % PAGE or not dram.base <= first <= last <= dram.base + dram.bytes:
        raise BoardNotReady(
            f"the arena was placed at {first:#x} to {last:#x}, the profile's memory is {dram.base:#x} to"
            f" {dram.base + dram.bytes:#x}; use the profile of this board, or reserve memory inside of it (cma=)",
            cause="memory-address",
        )
    return buffer


def contiguous(device: Any, size: int) -> Any:
    """A buffer that is contiguous in memory.

    Raises:
        BoardNotReady: The kernel has no room of that size.
    """
    try:
        return pynq.allocate((size,), dtype="u1", target=device)
    except RuntimeError as error:
        raise BoardNotReady(
            f"the kernel has no {size} bytes of contiguous memory ({error}); raise cma= on its command"
            " line, or lower the arena of the profile",
            cause="memory",
        ) from error


class FabricMemory:
    """The arena: one PYNQ buffer. What leaves the CPU's cache must leave the one that the slots share, too."""

    def __init__(self, buffer: Any, shell: Shell, calls: DeviceCalls) -> None:
        self._buffer, self._calls = buffer, calls
        self._shell = shell
        self.address = int(buffer.device_address)
        self.bytes: npt.NDArray[np.uint8] = np.asarray(buffer)

    def flush(self, start: int, end: int) -> None:
        """Write what the CPU wrote in a range back to memory, and drop it from the cache that slots share."""
        if end > start:
            self._calls.flush(self._buffer, start, end)
            self._shell.flush(self.address + start, end - start)

    def invalidate(self, start: int, end: int) -> None:
        """Drop a range from the CPU's cache, after what slots wrote has reached memory."""
        if end > start:
            self._calls.invalidate(self._buffer, start, end)
