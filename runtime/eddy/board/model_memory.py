"""Memory of the `model` board: an arena whose buffers hold bytes, or are only booked."""

from __future__ import annotations

from collections.abc import Iterable

from eddy.board.port import Access, Buffer, Cause, Grant
from eddy.core.errors import Conflict, InvalidRequest, MemoryExhausted, ModuleFault, NotFound

PAGE = 4096


class ModelMemory:
    """First-fit allocation in whole pages.

    Args:
        base: Physical address of the first byte.
        size: Bytes of the arena.
        real: Whether buffers hold bytes; booked ones read as zeros.
    """

    def __init__(self, base: int, size: int, real: bool) -> None:
        self._base, self._size, self._real = base, size // PAGE * PAGE, real
        self._buffers: dict[int, Buffer] = {}
        self._bytes: dict[int, bytearray] = {}
        self._next = 1

    def buffers(self) -> tuple[Buffer, ...]:
        """Every buffer handed out, by id."""
        return tuple(self._buffers.values())

    def buffer(self, number: int) -> Buffer:
        """Look a buffer up.

        Raises:
            NotFound: There is none of that id.
        """
        if number not in self._buffers:
            raise NotFound(f"no buffer {number}; it was never allocated, or is freed", field="buffer", asked=number)
        return self._buffers[number]

    def allocate(self, size: int, owner: str) -> Buffer:
        """Reserve a buffer of zeros.

        Raises:
            InvalidRequest: Not a positive size.
            MemoryExhausted: No gap is large enough; says what is free.
        """
        if size <= 0:
            raise InvalidRequest(f"a buffer has at least one byte, not {size}", field="bytes", allowed=">= 1")
        start, free = self._gap(_pages(size))
        if start is None:
            message = (
                f"no room for {size} bytes: {free} of {self._size} are free; free buffers or submit smaller batches"
            )
            raise MemoryExhausted(message, cause="arena", asked=size, free=free)
        buffer = Buffer(self._next, self._base + start, size, owner)
        self._next += 1
        self._buffers[buffer.id] = buffer
        if self._real:
            self._bytes[buffer.id] = bytearray(size)
        return buffer

    def _gap(self, need: int) -> tuple[int | None, int]:
        """Where the first gap of at least `need` bytes begins, and how many bytes are free in all."""
        found, here, free = None, 0, 0
        taken = sorted((b.address - self._base, _pages(b.bytes)) for b in self._buffers.values())
        for start, size in [*taken, (self._size, 0)]:
            free += start - here
            if found is None and start - here >= need:
                found = here
            here = start + size
        return found, free

    def free(self, number: int) -> None:
        """Give a buffer back.

        Raises:
            NotFound: There is none of that id.
        """
        self.buffer(number)
        del self._buffers[number]
        self._bytes.pop(number, None)

    def write(self, number: int, offset: int, data: bytes) -> None:
        """Copy bytes into a buffer.

        Raises:
            InvalidRequest: They do not lie within it.
        """
        self._check(number, offset, len(data))
        if self._real:
            self._bytes[number][offset : offset + len(data)] = data

    def read(self, number: int, offset: int, size: int) -> bytes:
        """Copy bytes out of a buffer.

        Raises:
            InvalidRequest: They do not lie within it.
        """
        self._check(number, offset, size)
        return bytes(self._bytes[number][offset : offset + size]) if self._real else bytes(size)

    def _check(self, number: int, offset: int, size: int) -> None:
        buffer = self.buffer(number)
        if offset < 0 or size < 0 or offset + size > buffer.bytes:
            raise InvalidRequest(
                f"bytes {offset} to {offset + size} are not in buffer {number}, which has {buffer.bytes}",
                field="offset",
                allowed=f"0..{buffer.bytes}",
            )

    def window(self, grants: Iterable[Grant]) -> Window:
        """The memory a launch may touch."""
        if not self._real:
            raise Conflict("behaviours need a board with real memory (real_memory=True)")
        return Window(self, tuple((self.buffer(grant.buffer), grant.access) for grant in grants))


class Window:
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
        raise ModuleFault(f"{size} bytes at {address:#x} are outside its windows", cause=cause.value, address=address)


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE
