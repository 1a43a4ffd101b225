"""What is known of tenants' kernels, from what their slices were measured to do: nothing that anybody says counts.

For each kernel and kind of cluster: core-seconds a work-group takes, and what the cores counted, which gives the
parallel fraction F ([000] chapter 4). Both fade with the core-seconds that followed, because inputs change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from eddy.core.counters import CoreCounters
from eddy.model.parallel_fraction import Activity

UNKNOWN_FRACTION = 0.8
"""F of work that has never run ([000] 5.2.3)."""
FADE_S = 20.0
"""Core-seconds after which what was measured counts for 1/e."""
STEP = 4.0
"""Most by which a slice grows or shrinks at once: what the first ones take is mostly their start."""


@dataclass
class LearnedKernel:
    """One kernel on one kind of cluster.

    Attributes:
        seconds, groups: Core-seconds that slices took and work-groups they did, fading.
        lanes: CYCLE_THREAD_X, fading.
        slice_groups: Work-groups the next slice should have; 0 before the first has ended.
    """

    seconds: float = 0.0
    groups: float = 0.0
    lanes: tuple[float, ...] = ()
    slice_groups: float = 0.0

    def take(self, groups: int, seconds: float, counters: CoreCounters | None, quantum_s: float) -> None:
        """A slice ended well."""
        fade = math.exp(-seconds / FADE_S)
        self.seconds, self.groups = self.seconds * fade + seconds, self.groups * fade + groups
        wanted = groups * quantum_s / max(seconds, 1e-9)
        self.slice_groups = min(max(wanted, groups / STEP), groups * STEP)
        if counters is not None and any(counters.cycle_thread):
            before = self.lanes or (0.0,) * len(counters.cycle_thread)
            self.lanes = tuple(a * fade + b for a, b in zip(before, counters.cycle_thread, strict=True))

    @property
    def group_s(self) -> float | None:
        """Core-seconds of a work-group; None where none was measured."""
        return self.seconds / self.groups if self.groups else None

    @property
    def fraction(self) -> float | None:
        """F among the lanes of a core, from (4.3); None where nothing was counted."""
        if len(self.lanes) < 2 or not any(self.lanes):
            return None
        return Activity((tuple(round(count) for count in self.lanes),)).fraction


@dataclass
class Learned:
    """What is known, by kernel (as `Spread.kernel` names it) and module."""

    known: dict[tuple[str, str], LearnedKernel] = field(default_factory=dict)

    def of(self, kernel: str, module: str) -> LearnedKernel:
        """What is known of a kernel on a kind of cluster."""
        return self.known.setdefault((kernel, module), LearnedKernel())

    def look(self, kernel: str, module: str) -> LearnedKernel:
        """The same, for whoever only asks."""
        return self.known.get((kernel, module)) or LearnedKernel()

    def fraction(self, kernel: str, module: str) -> tuple[float, bool]:
        """F, and whether it was measured on that kind of cluster; of another kind, or `UNKNOWN_FRACTION`, where not."""
        here = self.look(kernel, module).fraction
        if here is not None:
            return here, True
        others = [k.fraction for (name, _), k in self.known.items() if name == kernel and k.fraction is not None]
        return (others[0], False) if others else (UNKNOWN_FRACTION, False)
