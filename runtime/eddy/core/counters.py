"""What the cores of a GPU cluster count while they run a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CoreCounters:
    """What one core counted while it ran a kernel.

    Attributes:
        cycles: Clock cycles from its start to its end; 0 where the executor has no clock.
        instructions: Instructions of warps.
        total_active_cycles: TOTAL_ACTIVE_CYCLES of [000] Table 4.1.
        cycle_thread: CYCLE_THREAD_X for X = 1, 2, ..., lanes of a warp.
        others: Whatever else it counts, by name.
    """

    cycles: int
    instructions: int
    total_active_cycles: int
    cycle_thread: tuple[int, ...]
    others: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: CoreCounters) -> CoreCounters:
        """Both runs of this core, one after the other."""
        return CoreCounters(
            self.cycles + other.cycles,
            self.instructions + other.instructions,
            self.total_active_cycles + other.total_active_cycles,
            tuple(a + b for a, b in zip(self.cycle_thread, other.cycle_thread, strict=True)),
            {name: self.others.get(name, 0) + other.others.get(name, 0) for name in {**self.others, **other.others}},
        )


def added(before: tuple[CoreCounters, ...], run: tuple[CoreCounters, ...]) -> tuple[CoreCounters, ...]:
    """The counters of a cluster after one more run of its cores; `before` is empty before the first."""
    return tuple(a.plus(b) for a, b in zip(before, run, strict=True)) if before else run
