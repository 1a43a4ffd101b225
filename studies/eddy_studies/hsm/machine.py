# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the fast cluster model is made of: cores, shared cache, DRAM; and kernels as groups of requests."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

TICKS = 16
"""Of a cycle of the cores: the model's unit of time."""


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """DRAM behind the shared cache; times in cycles of the cores.

    Attributes:
        channels: Each with a data bus and banks of its own.
        row_lines: Cache lines of a row.
        interleave_lines: Neighbouring lines that stay in one channel.
        hashed: Whether channel and bank follow all bits of the row's number, as the map of [001] does, or its lowest.
        queue: Requests a channel chooses from.
        cap: Row hits in a row after which the oldest goes; 0: no bound.
        starvation: Requests that may overtake one; 0: no bound.
        rcd, rp, cl, ras, faw, rrd: From activate to column, precharge to activate, column to data, activate to
            precharge, over four activates, between two.
        burst: The data bus takes for a line.
        turnaround: The data bus loses where its direction changes.
        refresh_every, refresh: Between refreshes, and for one; 0: none.
        masks: For each bit of a bank's number, the bits of the row's whose parity is added to it: the map of the
            simulated board, where `hashed` has another.
        wtr, rtw: From a write's last data to a read's column command, and from a read's last data to a write's first;
            beside `turnaround`.
        overtakes: Row hits in a row that may overtake an older request, to whatever row; 0: no bound.
        least_first: Serve the tenant of least bandwidth first, halving what counts every so many cycles (BW-App of
            [001] 6.4); 0: row hits first, then age.
    """

    channels: int = 4
    banks: int = 16
    row_lines: int = 32
    interleave_lines: int = 8
    hashed: bool = True
    queue: int = 64
    cap: int = 5
    starvation: int = 0
    rcd: float = 28
    rp: float = 28
    cl: float = 28
    ras: float = 68
    faw: float = 80
    rrd: float = 16
    burst: float = 8
    turnaround: float = 16
    refresh_every: float = 0
    refresh: float = 0
    least_first: float = 0
    masks: tuple[int, ...] = (0, 0, 0, 0, 0)
    wtr: float = 0
    rtw: float = 0
    overtakes: int = 0


@dataclass(frozen=True, slots=True)
class ClusterModel:
    """Cores that share a cache and memory; times in cycles of the cores.

    Attributes:
        cores: Of all clusters.
        warps: Of a core.
        fills: Lines a core may wait for at once.
        way: From a core to the shared cache, and back.
        port: One transfer on the port that all lines pass; 0: it bounds nothing.
        lookup: Between look-ups of the shared cache.
        hit: From look-up to data where the line is there.
        change: A core needs from one tenant to the next.
        sets, ways: Of the shared cache; no sets: none.
        plain_sets: Whether a line's set is its number's lowest bits; else all its bits decide.
        sends: The shared cache looks nothing up for so long while it sends a line that it has.
        writes: Stores between it and memory at once, those of a core served in order; others wait in their core, where
            those to one line become one, and a line is not read while a store to it waits. 0: no bound, in any order.
        forgets: A launch drops the tenant's lines from the shared cache, which looks nothing up for reads for so long;
            0: lines stay.
        ordered: Whether reads are looked up one after the other, the first holding up all behind it while its line is
            on its way or is stored to; a core's lines come in the order in which it asked, an older store that is
            offered takes no more in, and ways are replaced in turns.
        spacing: Lines from one tenant's memory to the next one's.
        shadow_every: One in so many sets has tags for each tenant alone (auxiliary tags, [001] 4.1); 0: none.
        memory: Behind it.
    """

    cores: int = 16
    warps: int = 8
    fills: int = 48
    way: float = 20
    port: float = 0
    lookup: float = 1
    hit: float = 20
    change: float = 2000
    sets: int = 256
    ways: int = 8
    plain_sets: bool = False
    sends: float = 0
    writes: int = 0
    forgets: float = 0
    ordered: bool = False
    spacing: int = 1 << 31
    shadow_every: int = 8
    memory: MemoryModel = MemoryModel()

    @property
    def peak_lines_per_cycle(self) -> float:
        """What the data buses of all channels could move."""
        return self.memory.channels / self.memory.burst


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """One kernel's work.

    Attributes:
        gaps: Instructions of a warp before each request; (records,).
        lines: Line each asks for, the highest bit marking a write, and the three below how many eighths of the line it
            leaves out, or 1 where a read is of instructions; (records,).
        first: First record of each work-group, and one past the last; (groups + 1,).
        issue: Cycles of a core for an instruction of a warp.
        latency: Cycles from one instruction of a warp to its next, at least.
        window: Lines a warp may wait for at once.
        stores: Stores of a core under way while its warps go on; 0: stores are waited for as reads are.
        moving: Lines below this are others each time the kernel runs again.
        launch: Work-groups of a launch, the next of which begins when all have ended; 0: groups begin by themselves.
        waits: In place of the window, of each record: lines of data (lowest 4 bits) and of instructions (next 4)
            that may be on their way when it is sent, and ticks of work from the answer that made it so, and 1 more; 0
            ticks where it waits for no answer; (records,).
    """

    name: str
    gaps: npt.NDArray[np.int32]
    lines: npt.NDArray[np.uint32]
    first: npt.NDArray[np.int32]
    issue: float = 1.0
    latency: float = 2.0
    window: int = 4
    stores: int = 0
    moving: int = 0
    launch: int = 0
    waits: npt.NDArray[np.uint32] | None = None

    @property
    def groups(self) -> int:
        """Work-groups of one run."""
        return len(self.first) - 1

    @property
    def requests_per_instruction(self) -> float:
        """Requests that leave a core, over instructions."""
        return len(self.gaps) / float(self.gaps.sum() + len(self.gaps))


def with_memory(machine: ClusterModel, **changes: float) -> ClusterModel:
    """The machine with other settings of its memory."""
    return replace(machine, memory=replace(machine.memory, **changes))  # type: ignore[arg-type]
