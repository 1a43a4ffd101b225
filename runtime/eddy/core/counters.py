"""What the cores of a GPU cluster count while they run a kernel: one type, from the register bank to the job record.

Who reads a bank has numbers by name; `CoreCounters.of` makes them a value, which nobody takes apart again before it is
stored or answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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

    def plus(self, other: CoreCounters) -> CoreCounters:
        """Both runs of this core, one after the other."""
        return CoreCounters(
            self.cycles + other.cycles,
            self.instructions + other.instructions,
            self.total_active_cycles + other.total_active_cycles,
            tuple(a + b for a, b in zip(self.cycle_thread, other.cycle_thread, strict=True)),
            tuple((name, self.other(name) + other.other(name)) for name in dict((*self.others, *other.others))),
        )


def added(before: tuple[CoreCounters, ...], run: tuple[CoreCounters, ...]) -> tuple[CoreCounters, ...]:
    """The counters of a cluster after one more run of its cores; `before` is empty before the first."""
    return tuple(a.plus(b) for a, b in zip(before, run, strict=True)) if before else run
