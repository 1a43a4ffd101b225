# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a run leaves that its job could tell, apart from when: results, memory, what was asked of memory, its end."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_sim.modcheck.model import OutputTrace
from eddy_sim.modcheck.work import RUN_CYCLES

_ASKED = ("addr", "len", "size", "burst")
_WRITTEN = ("m_axi_wdata", "m_axi_wstrb", "m_axi_wlast")


@dataclass(frozen=True, eq=False)
class RunOutcome:
    """One run.

    Attributes:
        trace: Every output in every cycle.
        pages: Memory afterwards, by page number: the pages that were touched.
    """

    trace: OutputTrace
    pages: Mapping[int, bytes]

    def is_right(self, alone: RunOutcome, slower: RunOutcome) -> bool:
        """Whether it is the run that the module does when nothing ran before, if maybe at another time.

        A run that has not ended is compared by what it wrote so far: nobody reads results of it. What differs on a
        module alone, too, where only memory takes longer, measures time; it may differ where this run's time does.

        Args:
            alone: The same job, when nothing ran before.
            slower: The same, with memory that takes longer.
        """
        if self.end is None and alone.end is None:
            return _agree(self._written, alone._written)
        if self.end is None or alone.end is None:
            # One ended in the grace that the other did not come to.
            return (self.end or alone.end or 0) > RUN_CYCLES
        if self._asked != alone._asked:
            return False
        differs = self._left(alone)
        return not differs or (self.end != alone.end and differs <= slower._left(alone))

    @functools.cached_property
    def end(self) -> int | None:
        """The cycle of its interrupt; None where it did not come."""
        found = np.flatnonzero(self.trace.cycles["irq"])
        return int(found[0]) if len(found) else None

    @functools.cached_property
    def _asked(self) -> frozenset[tuple[Any, ...]]:
        """Bursts, in whatever order."""
        cycles = self.trace.cycles
        return frozenset(
            (way, *burst)
            for way in ("ar", "aw")
            for burst in cycles[[f"m_axi_{way}{field}" for field in _ASKED]][cycles[f"m_axi_{way}valid"] != 0].tolist()
        )

    @functools.cached_property
    def _written(self) -> list[tuple[Any, ...]]:
        """Beats of write data; one that is held, or comes again at once, counts once."""
        cycles = self.trace.cycles
        beats = cycles[list(_WRITTEN)][cycles["m_axi_wvalid"] != 0].tolist()
        return [beat for at, beat in enumerate(beats) if not at or beat != beats[at - 1]]

    @functools.cached_property
    def _answers(self) -> npt.NDArray[Any]:
        """What registers read after its end, in order."""
        cycles = self.trace.cycles[self.end or 0 :]
        answers: npt.NDArray[Any] = cycles["s_axil_rdata"][cycles["s_axil_rvalid"] != 0]
        return answers

    def _left(self, other: RunOutcome) -> set[tuple[str, int]]:
        """Where two runs that ended differ: registers read, and bytes of memory."""
        count = min(len(self._answers), len(other._answers))
        found = {("register", int(at)) for at in np.flatnonzero(self._answers[:count] != other._answers[:count])}
        if len(self._answers) != len(other._answers):
            found.add(("register", count))
        for number in self.pages.keys() | other.pages.keys():
            mine, theirs = self.pages.get(number), other.pages.get(number)
            if mine is None or theirs is None:
                found.add(("page", number))
            elif mine != theirs:
                places = np.flatnonzero(np.frombuffer(mine, "u1") != np.frombuffer(theirs, "u1"))
                found |= {("byte", 4096 * number + int(at)) for at in places}
        return found


def _agree(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether one sequence goes on where the other ends."""
    count = min(len(first), len(second))
    return first[:count] == second[:count]
