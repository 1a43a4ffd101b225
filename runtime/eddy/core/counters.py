# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the cores of a GPU cluster count while they run a kernel: one type, from the register bank to the job record.

Who reads a bank has numbers by name; `CoreCounters.of` makes them a value, which nobody takes apart again before it is
stored or answered.

`ContextCounters` are what [001] measures of one tenant beside others (4.1): what its cores executed, and what became of
it in shared caches and memory. They are totals that grow; an epoch is the difference of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

LANES = "cycle_thread_"


@dataclass(frozen=True, slots=True)
class CoreCounters:
    """What one core counted while it ran a kernel.

    Attributes:
        cycles: Clock cycles from its start to its end; 0 where the executor has no clock.
        instructions: Instructions of warps.
        total_active_cycles: TOTAL_ACTIVE_CYCLES of [000] Table 4.1.
        cycle_thread: CYCLE_THREAD_X for X = 1, 2, ..., lanes of a warp.
        others: Whatever else it counts, as (name, count): stalls by cause, cache hits, memory requests.
    """

    cycles: int
    instructions: int
    total_active_cycles: int
    cycle_thread: tuple[int, ...]
    others: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, counted: Mapping[str, int]) -> CoreCounters:
        """The counters a bank shows, by the names of hw/regs/gpu_cluster.rdl; ``cycle_thread_1`` and so on the lanes.

        Raises:
            KeyError: A name every core has is missing.
        """
        others = dict(counted)
        cycles, instructions, active = (others.pop(name) for name in ("cycles", "instructions", "total_active_cycles"))
        lanes = sum(name.startswith(LANES) for name in others)
        by_lanes = tuple(others.pop(f"{LANES}{x}") for x in range(1, lanes + 1))
        return cls(cycles, instructions, active, by_lanes, tuple(others.items()))

    def other(self, name: str) -> int:
        """One of the other counters; 0 where it is not counted."""
        return dict(self.others).get(name, 0)

    def add_counters(self, other: CoreCounters) -> CoreCounters:
        """Both runs of this core, one after the other."""
        return CoreCounters(
            self.cycles + other.cycles,
            self.instructions + other.instructions,
            self.total_active_cycles + other.total_active_cycles,
            tuple(a + b for a, b in zip(self.cycle_thread, other.cycle_thread, strict=True)),
            tuple((name, self.other(name) + other.other(name)) for name in dict((*self.others, *other.others))),
        )


def add_run(before: tuple[CoreCounters, ...], run: tuple[CoreCounters, ...]) -> tuple[CoreCounters, ...]:
    """The counters of a cluster after one more run of its cores; `before` is empty before the first."""
    return tuple(a.add_counters(b) for a, b in zip(before, run, strict=True)) if before else run


@dataclass(frozen=True, slots=True)
class ContextCounters:
    """What one tenant's kernels did on one cluster: totals, or the difference of two.

    Attributes:
        instructions: Instructions of warps that its cores executed.
        core_cycles: Cycles of the slot's clock in which a core ran one of its kernels, summed over the cores.
        stall_cycles: Those among them in which the core executed nothing, because every warp waited for memory.
        requests: Bursts that reached the memory controller, behind every shared cache; reads and writes.
        bytes: What those bursts moved.
        row_hits: Those bursts that found their row open.
        cache_hits: Lines its cores asked for and found in a shared cache; 0 where none is shared.
        cache_misses: Lines its cores asked for and memory brought; 0 where no cache is shared.
    """

    instructions: int = 0
    core_cycles: int = 0
    stall_cycles: int = 0
    requests: int = 0
    bytes: int = 0
    row_hits: int = 0
    cache_hits: int = 0
    cache_misses: int = 0

    @property
    def row_hit_rate(self) -> float:
        """Row-buffer hit rate, in [0, 1]; 0 where nothing was requested."""
        return self.row_hits / self.requests if self.requests else 0.0

    def add_counters(self, other: ContextCounters) -> ContextCounters:
        """Both together."""
        return ContextCounters(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def subtract_counters(self, before: ContextCounters) -> ContextCounters:
        """What was counted since `before`."""
        return ContextCounters(*(getattr(self, f.name) - getattr(before, f.name) for f in fields(self)))

    @classmethod
    def of_core(cls, run: CoreCounters, caches: bool = False) -> ContextCounters:
        """What one core's counters say; nothing of what lies beyond the core.

        Args:
            caches: A cache is shared beyond the core. The lines it asked for count as found there, until those that
                were read from memory are taken off (`read_from_memory`).
        """
        lines = run.other("line_reads") if caches else 0
        return cls(run.instructions, run.cycles, run.other("stall_memory"), cache_hits=lines)

    def read_from_memory(self, lines: int) -> ContextCounters:
        """With the lines that shared caches had to fetch for it, which it did not find there."""
        return replace(self, cache_hits=self.cache_hits - lines, cache_misses=self.cache_misses + lines)


@dataclass(frozen=True, slots=True)
class SharingCounters:
    """What was counted on one slot by account, read as one block while everything runs.

    Attributes:
        slot: Its number.
        at_s: Board time of the reading.
        clk_hz: Clock of what the slot holds, which `core_cycles` are counted in; 0 where it holds nothing.
        accounts: (account, totals since the board started), by account; accounts that never had anything are left out.
    """

    slot: int
    at_s: float
    clk_hz: float
    accounts: tuple[tuple[str, ContextCounters], ...]

    @property
    def cycles(self) -> int:
        """Cycles of the slot's clock since the board started, were it always what it is: the difference of two readings
        is the epoch's length."""
        return round(self.at_s * self.clk_hz)

    def of(self, account: str) -> ContextCounters:
        """An account's totals; zeros where it never had anything."""
        return dict(self.accounts).get(account, ContextCounters())


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What one memory context asked of memory, behind every shared cache: reads, all requests, bytes, row hits."""

    reads: int = 0
    requests: int = 0
    bytes: int = 0
    row_hits: int = 0

    def subtract(self, before: MemoryUse, caches: bool) -> ContextCounters:
        """What was asked after `before`; with `caches`, its reads are lines that shared caches did not hold."""
        used = ContextCounters(
            requests=self.requests - before.requests,
            bytes=self.bytes - before.bytes,
            row_hits=self.row_hits - before.row_hits,
        )
        return used.read_from_memory(self.reads - before.reads) if caches else used
