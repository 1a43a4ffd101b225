# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The shell's own registers: what was built, the cycle counter, the configuration port, the shared cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eddy_drivers.bank import Bank
from eddy_drivers.regs import shell as regs
from eddy_drivers.regs import window

PAGE = 4096
"""What is flushed is whole pages."""
LINE = 64
"""Bytes of a line of the shared cache."""
_CACHE_MINOR = 1
"""Minor version of the register map from which on it knows of a cache."""
_ANSWERS = 4096
"""Cycles within which memory has answered the writes it had taken; far more than it takes."""


class FlushFailed(RuntimeError):
    """The shared cache did not end a flush within its bound: memory does not answer, or the shell is broken."""


@dataclass(frozen=True)
class CacheCounts:
    """What the reads of one slot met: lines found in the shared cache, and lines fetched from memory."""

    hits: int
    misses: int


class Shell(Bank):
    """Driver of the shell's bank (hw/regs/shell.rdl)."""

    bindto = ["eddy:ip:shell:1.0"]  # noqa: RUF012 - the form PYNQ reads
    block = 0xED01

    def __init__(self, description: dict[str, Any]) -> None:
        super().__init__(description=description)
        self.cache_bytes = self._cache_bytes()
        """Size of the cache that the slots share; 0 where there is none."""

    def _cache_bytes(self) -> int:
        if self._fields(regs.ID)["minor"] < _CACHE_MINOR:
            return 0
        log2_bytes = self._fields(regs.CACHE)["log2_bytes"]
        return 1 << log2_bytes if log2_bytes else 0

    @property
    def slots(self) -> int:
        """How many slots this shell has."""
        return self._fields(regs.CONFIG)["slots"]

    def module_address(self, slot: int) -> int:
        """Physical address of the registers of the module in a slot.

        Raises:
            IndexError: No shell has that many slots.
        """
        return int(self.mmio.base_addr) - window.SHELL.offset + window.MODULE.at(slot)

    def build(self) -> str:
        """Hash of the shell's sources and toolchain: 16 hex digits."""
        return f"{self._get(regs.BUILD_HI.offset):08x}{self._get(regs.BUILD_LO.offset):08x}"

    def cycles(self) -> int:
        """Shell-clock cycles since reset. Reading the low word latches the high one, so the order counts."""
        low = self._get(regs.CYCLES_LO.offset)
        return self._get(regs.CYCLES_HI.offset) << 32 | low

    def clear_configuration_status(self) -> None:
        """Forget the sticky events of the configuration port."""
        self._put(regs.CFG_STATUS.offset, regs.CFG_STATUS.encode(done_seen=1, error_seen=1))

    def configuration_error(self) -> bool:
        """Whether the port reported an error since the status was cleared."""
        return bool(self._fields(regs.CFG_STATUS)["error_seen"])

    def bad_access(self) -> int | None:
        """Byte offset of the first access nothing answered since this was last asked; None where all were fine."""
        if not self._fields(regs.BAD_ACCESS)["seen"]:
            return None
        offset = self._get(regs.BAD_ADDRESS.offset)
        self._put(regs.BAD_ACCESS.offset, regs.BAD_ACCESS.encode(seen=1))
        return offset

    def flush(self, base: int, length: int) -> None:
        """Make the shared cache forget a range of memory that the CPU changed; nothing where there is no cache.

        Afterwards every read that a slot starts finds what memory holds. Whole pages are forgotten. Takes two cycles a
        set of the cache at most, whatever the length, and what memory takes to answer the writes it was given before.

        Args:
            base: Physical address of the first byte.
            length: Bytes.

        Raises:
            FlushFailed: It did not end.
        """
        if not self.cache_bytes or length <= 0:
            return
        self._put(regs.CACHE_FLUSH_FIRST.offset, base // PAGE)
        self._put(regs.CACHE_FLUSH_LAST.offset, (base + length - 1) // PAGE)
        self._put(regs.CACHE_FLUSH.offset, regs.CACHE_FLUSH.encode(start=1))
        # An access takes a cycle at least.
        for _ in range(2 * self.cache_bytes // LINE + _ANSWERS):
            if not self._fields(regs.CACHE_FLUSH)["busy"]:
                return
        raise FlushFailed(f"the shared cache still flushes {length} bytes from {base:#x}; reset the shell")

    def set_retained_readers(self, slots: int) -> None:
        """Say whose reads are kept although their AxCACHE does not ask for it: bit k is slot k; all after reset."""
        self._put(regs.CACHE_FORCE.offset, regs.CACHE_FORCE.encode(slots=slots))

    def cache_counts(self, slot: int) -> CacheCounts:
        """Lines that the reads of a slot found, and lines that were fetched for them, since reset."""
        self._put(regs.CACHE_COUNT.offset, regs.CACHE_COUNT.encode(slot=slot))
        # Reading a low word latches its high one, so the order counts.
        hits = self._get(regs.CACHE_HITS_LO.offset) | self._get(regs.CACHE_HITS_HI.offset) << 32
        misses = self._get(regs.CACHE_MISSES_LO.offset) | self._get(regs.CACHE_MISSES_HI.offset) << 32
        return CacheCounts(hits, misses)
