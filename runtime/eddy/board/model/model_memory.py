# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Memory of the `model` board: an arena whose buffers hold bytes, or are only booked."""

from __future__ import annotations

from collections.abc import Iterable

from eddy.board.port.pages import PageBook
from eddy.board.port.port import Access, Buffer, Cause, Grant
from eddy.core.errors import Conflict, ModuleFault
from eddy.core.units import format_bytes


class ModelMemory:
    """Buffers that hold bytes, or are only booked. One takes memory of this machine once something is written to it.

    Args:
        base: Physical address of the first byte.
        size: Bytes of the arena.
        real: Whether buffers hold bytes; booked ones read as zeros.
    """

    def __init__(self, base: int, size: int, real: bool) -> None:
        self._book, self._real = PageBook(base, size), real
        self._bytes: dict[int, bytearray] = {}
        self.buffers, self.buffer = self._book.buffers, self._book.get

    def allocate(self, size: int, owner: str) -> Buffer:
        """Reserve a buffer of zeros; see `PageBook`."""
        return self._book.allocate(size, owner)

    def free(self, number: int) -> None:
        """Give a buffer back.

        Raises:
            NotFound: There is none of that id.
        """
        self._book.remove(number)
        self._bytes.pop(number, None)

    def write(self, number: int, offset: int, data: bytes) -> None:
        """Copy bytes into a buffer.

        Raises:
            InvalidRequest: They do not lie within it.
        """
        self._book.check_range(number, offset, len(data))
        if self._real:
            self.bytes_of(number)[offset : offset + len(data)] = data

    def read(self, number: int, offset: int, size: int) -> bytes:
        """Copy bytes out of a buffer.

        Raises:
            InvalidRequest: They do not lie within it.
        """
        self._book.check_range(number, offset, size)
        held = self._bytes.get(number)
        return bytes(size) if held is None else bytes(held[offset : offset + size])

    def bytes_of(self, number: int) -> bytearray:
        """A buffer's bytes themselves, for what works in its place.

        Raises:
            Conflict: They are only booked.
            NotFound: There is none of that id.
        """
        if not self._real:
            raise Conflict("kernels compute on a board with real memory (real_memory=True)")
        if number not in self._bytes:
            self._bytes[number] = bytearray(self.buffer(number).bytes)
        return self._bytes[number]

    def window(self, grants: Iterable[Grant]) -> GrantedMemory:
        """The memory a launch may touch."""
        if not self._real:
            raise Conflict("behaviours need a board with real memory (real_memory=True)")
        return GrantedMemory(self, tuple((self.buffer(grant.buffer), grant.access) for grant in grants))


class GrantedMemory:
    """What a module sees of memory: the buffers it was granted, by physical address."""

    def __init__(self, memory: ModelMemory, granted: tuple[tuple[Buffer, Access], ...]) -> None:
        self._memory, self._granted = memory, granted

    def close(self) -> None:
        """The item has ended: whoever keeps this reaches nothing any more."""
        self._granted = ()

    def read(self, address: int, size: int) -> bytes:
        """Read as the module would.

        Raises:
            ModuleFault: Outside what it may read.
        """
        buffer = self._find(address, size, Access.WRITE, Cause.READ_OUTSIDE_WINDOW)
        return self._memory.read(buffer.id, address - buffer.address, size)

    def write(self, address: int, data: bytes) -> None:
        """Write as the module would.

        Raises:
            ModuleFault: Outside what it may write.
        """
        buffer = self._find(address, len(data), Access.READ, Cause.WRITE_OUTSIDE_WINDOW)
        self._memory.write(buffer.id, address - buffer.address, data)

    def size(self, address: int) -> int:
        """Bytes of the granted buffer that begins at an address.

        Raises:
            ModuleFault: None does.
        """
        return self._find(address, 1, None, Cause.READ_OUTSIDE_WINDOW).bytes

    def _find(self, address: int, size: int, forbidden: Access | None, cause: Cause) -> Buffer:
        for buffer, access in self._granted:
            inside = buffer.address <= address and address + size <= buffer.address + buffer.bytes
            if inside and access is not forbidden:
                return buffer
        raise ModuleFault(
            f"{format_bytes(size)} at {address:#x} are outside its windows", cause=cause.value, address=address
        )
