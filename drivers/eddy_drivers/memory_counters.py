# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Counters of a memory controller that shows what it does (hw/regs/memory_counters.rdl); a Zynq's own does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eddy_drivers.bank import Bank
from eddy_drivers.regs import memory_counters as regs

COUNTERS = ("read_requests", "write_requests", "read_bytes", "write_bytes", "row_hits", "row_misses")
"""Names of a user's counters, in the order of COUNTER."""


class MemoryCounters(Bank):
    """Driver of the counters' registers."""

    bindto = ["eddy:ip:memory_counters:1.0"]  # noqa: RUF012 - the form PYNQ reads
    block = 0xED03

    def capture(self) -> None:
        """Keep every user's counters as they are in one cycle; `read_captured` reads them."""
        self._put(regs.SNAPSHOT.offset, regs.SNAPSHOT.encode(take=1))

    def read_captured(self, slot: int, contexts: Sequence[int]) -> Mapping[int, Mapping[str, int]]:
        """The counters of a slot's contexts as `capture` kept them, by name."""
        return {context: self._user(slot, context) for context in contexts}

    def _user(self, slot: int, context: int) -> Mapping[str, int]:
        self._put(regs.USER.offset, regs.USER.encode(slot=slot, memory_context=context))
        # Most counters fit their low words, and no request is larger than its bytes.
        wide = any(self._get(regs.COUNTER_HI.at(COUNTERS.index(name))) for name in ("read_bytes", "write_bytes"))
        return {name: self._counter(index, wide) for index, name in enumerate(COUNTERS)}

    def _counter(self, index: int, wide: bool) -> int:
        high = self._get(regs.COUNTER_HI.at(index)) if wide else 0
        return high << 32 | self._get(regs.COUNTER_LO.at(index))
