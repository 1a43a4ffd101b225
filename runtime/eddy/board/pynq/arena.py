# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The memory arena: page-aligned buffers out of one reserved range, scrubbed, and kept in step with the CPU's cache.

The range is one allocation that `boardd` holds for as long as it lives, so that no memory a module may still write to
ever goes back to the operating system. The fabric is not coherent with the CPU (DESIGN.md, "Fabric"): what the CPU
writes must be flushed before a module reads it, and cached lines must be dropped before the CPU reads what a module
wrote. Buffers never share a cache line, because they are whole pages.

A module gets at a buffer by a loan (`lend`), and only a loan says where the buffer's pages are. Pages on loan are
handed to nobody else, freed or not, until the loan has ended, and it ends by proof alone
(`eddy.board.pynq.memory_gate`).
"""

from __future__ import annotations

from collections.abc import Iterable

from eddy.board.port.pages import PAGE, PageBook, whole_pages
from eddy.board.port.port import Buffer
from eddy.board.pynq.fabric import ArenaMemory
from eddy.board.pynq.memory_gate import Loan, Pages, QuiescenceProof

LINE = 64
"""Bytes of a cache line of the Cortex-A53 (and of x86)."""


class Arena:
    """Buffers of whole pages, lent to modules, and copies that respect the cache."""

    def __init__(self, memory: ArenaMemory) -> None:
        self._memory = memory
        self._book = PageBook(memory.address, len(memory.bytes))
        self._loans: list[Loan] = []
        self._withheld: dict[int, Buffer] = {}
        """Freed while on loan: nobody's, and not to be handed out."""
        self.buffers, self.get = self._book.buffers, self._book.get

    @property
    def size(self) -> int:
        """Bytes of the arena."""
        return self._book.size

    def allocate(self, size: int, owner: str) -> Buffer:
        """Reserve and zero a buffer.

        Raises:
            InvalidRequest: Not a positive size.
            MemoryExhausted: No gap is large enough; says what is free.
        """
        buffer = self._book.allocate(size, owner, self._withheld.values())
        start = buffer.address - self._memory.address
        self._scrub(start, start + whole_pages(size))
        return buffer

    def free(self, buffer: int) -> None:
        """Give a buffer back; it is zeroed when its pages are next handed out, and nobody can read them before.

        Pages still on loan are handed out only once the loan has ended.
        """
        found = self._book.remove(buffer)
        if self._on_loan(buffer):
            self._withheld[buffer] = found

    def lend(self, buffers: Iterable[int]) -> Loan:
        """Let a module reach buffers from now on, until `end`.

        Raises:
            NotFound: There is none of that id.
        """
        loan = Loan({buffer: _page_numbers(self.get(buffer)) for buffer in buffers})
        self._loans.append(loan)
        return loan

    def end(self, proof: QuiescenceProof) -> None:
        """End a loan: nothing it let through is outstanding, and nothing more can come."""
        self._loans.remove(proof.loan)
        self._withheld = {number: found for number, found in self._withheld.items() if self._on_loan(number)}

    def _on_loan(self, buffer: int) -> bool:
        return any(buffer in loan.buffers for loan in self._loans)

    def write(self, buffer: int, offset: int, data: bytes) -> None:
        """Copy bytes into a buffer and out of the cache."""
        start, end = self._range(buffer, offset, len(data))
        low, high = _lines(start, end)
        # The first and last line may hold bytes a module wrote; a stale copy of them must not be written back.
        self._memory.invalidate(low, high)
        self._memory.bytes[start:end] = memoryview(data)
        self._memory.flush(low, high)

    def read(self, buffer: int, offset: int, size: int) -> bytes:
        """Copy bytes out of a buffer, as memory has them."""
        start, end = self._range(buffer, offset, size)
        self._memory.invalidate(*_lines(start, end))
        return self._memory.bytes[start:end].tobytes()

    def _range(self, buffer: int, offset: int, size: int) -> tuple[int, int]:
        found = self._book.check_range(buffer, offset, size)
        start = found.address - self._memory.address + offset
        return start, start + size

    def _scrub(self, start: int, end: int) -> None:
        # Stale lines of the last owner go first, so that none of them can be taken for the zeros.
        self._memory.invalidate(start, end)
        self._memory.bytes[start:end] = 0
        self._memory.flush(start, end)


def _page_numbers(buffer: Buffer) -> Pages:
    return buffer.address // PAGE, (buffer.address + whole_pages(buffer.bytes) - 1) // PAGE


def _lines(start: int, end: int) -> tuple[int, int]:
    return start // LINE * LINE, -(-end // LINE) * LINE
