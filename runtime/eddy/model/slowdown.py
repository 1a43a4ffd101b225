# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""HSM, the hybrid slowdown model of [001]: how much of its private speed a kernel reaches beside others.

What is counted of each kernel while all run together (instructions, cores, requests, row-buffer hits, bytes) tells
whether cores or memory bound it, and how fast it would run alone on every core. Two constants of the board's memory,
c1 and c2, are learned once from kernels that run alone; everything else follows.

*Normalised progress* (NP) is speed beside others over speed alone; a slowdown is its reciprocal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class MemoryLaw:
    """How much of its peak bandwidth a memory gives, by row-buffer hit rate; [001] insight 4.

    Attributes:
        c1: Rise of the utilisation from a hit rate of 0 to one of 1.
        c2: Utilisation where every request misses.
        peak_bytes_per_s: Bandwidth of the memory's data bus.
    """

    c1: float
    c2: float
    peak_bytes_per_s: float

    def utilisation(self, hit_rate: float) -> float:
        """The part of the peak bandwidth that a kernel of that hit rate can get when it has the memory to itself."""
        return self.c1 * hit_rate + self.c2

    def supply_bytes_per_s(self, hit_rate: float) -> float:
        """Bandwidth potential, (3) of [001]."""
        return self.peak_bytes_per_s * self.utilisation(hit_rate)


def fit_memory_law(hit_rates: Sequence[float], utilisations: Sequence[float], peak_bytes_per_s: float) -> MemoryLaw:
    """The law of a board by least squares, from kernels that ran alone and saturated the memory; [001] 2.3.2.

    Args:
        hit_rates: Row-buffer hit rate of each, in [0, 1].
        utilisations: Part of the peak bandwidth each reached, in (0, 1].
        peak_bytes_per_s: Bandwidth of the memory's data bus.

    Raises:
        ValueError: Fewer than two different hit rates, lengths that differ, or numbers out of range.
    """
    rates, reached = np.asarray(hit_rates, np.float64), np.asarray(utilisations, np.float64)
    if rates.ndim != 1 or rates.shape != reached.shape:
        raise ValueError(f"hit_rates has shape {rates.shape} and utilisations {reached.shape}: one of each a kernel")
    if not (np.all((rates >= 0) & (rates <= 1)) and np.all((reached > 0) & (reached <= 1))):
        raise ValueError("hit rates must lie in [0, 1] and utilisations in (0, 1]")
    if len(rates) < 2 or np.ptp(rates) == 0:
        raise ValueError("two kernels of different hit rate are needed: one number cannot give a line")
    if not peak_bytes_per_s > 0:
        raise ValueError("peak_bytes_per_s must be positive")
    c1, c2 = np.polyfit(rates, reached, 1)
    return MemoryLaw(float(c1), float(c2), float(peak_bytes_per_s))


@dataclass(frozen=True, slots=True)
class ClusterParameters:
    """What the model must know of the cores.

    Attributes:
        cores: Cores a kernel has when it runs alone.
        instructions_per_cycle: The most a core can execute, instructions of warps.
        clock_hz: Clock of the cores.
        request_bytes: Bytes of a request to memory: a cache line.
    """

    cores: int
    instructions_per_cycle: float
    clock_hz: float
    request_bytes: int


@dataclass(frozen=True, slots=True)
class SharedRunCounters:
    """What was counted of one kernel over an epoch beside others.

    Attributes:
        cycles: Length of the epoch, in cycles of the cores.
        cores: Cores it had.
        instructions: Instructions of warps it executed.
        requests: Requests that reached the memory.
        row_hits: Those among them that found their row open.
        groups: Work-groups it had left to run, where that may be fewer than cores; None where it never is.
        cache_hits, cache_misses: Of its requests at the shared cache; 0 where that is not counted.
        memory_stall_cycles: Core-cycles in which its cores waited for memory; 0 where that is not counted.
        held_cycles: Cycles in which the memory served another while something of it waited there, summed over
            channels; 0 where that is not counted.
        own_row_hits: Row hits it would have had with nobody else there; 0 where that is not counted.
        own_cache_hits: Hits in the shared cache it would have had with nobody else there, from auxiliary tags ([001]
            4.1); 0 where there are none.
        read_cycles: From asking to data, summed over its reads; 0 where that is not counted.
        alone_cycles: That the work-groups it finished take alone on all cores, by earlier runs alone; 0 where some of
            them were never seen alone.
    """

    cycles: float
    cores: float
    instructions: float
    requests: float
    row_hits: float
    groups: int | None = None
    cache_hits: float = 0.0
    cache_misses: float = 0.0
    memory_stall_cycles: float = 0.0
    held_cycles: float = 0.0
    own_row_hits: float = 0.0
    own_cache_hits: float = 0.0
    read_cycles: float = 0.0
    alone_cycles: float = 0.0

    @property
    def hit_rate(self) -> float:
        """Row-buffer hit rate; 0 where nothing was requested."""
        return self.row_hits / self.requests if self.requests else 0.0


@dataclass(frozen=True, slots=True)
class SlowdownPrediction:
    """What the model says of one kernel.

    Attributes:
        memory_bound: Whether memory bounds it, however many cores it gets.
        progress: Normalised progress, in [0, 1].
        gradient: Progress a further core brings, away from saturation; [001] 4.2.
    """

    memory_bound: bool
    progress: float
    gradient: float


def bandwidth_bytes_per_s(sharing: SharedRunCounters, machine: ClusterParameters) -> float:
    """Bandwidth the kernel had in the epoch."""
    return sharing.requests * machine.request_bytes * machine.clock_hz / sharing.cycles if sharing.cycles else 0.0


def demand_bytes_per_s(sharing: SharedRunCounters, machine: ClusterParameters) -> float:
    """Bandwidth the kernel would ask for if nothing held its instructions up, (2) of [001]: on every core."""
    if sharing.instructions <= 0:
        return 0.0
    most = machine.instructions_per_cycle * machine.cores * sharing.cycles
    return most / sharing.instructions * bandwidth_bytes_per_s(sharing, machine)


def predict(sharing: SharedRunCounters, machine: ClusterParameters, law: MemoryLaw) -> SlowdownPrediction:
    """Normalised progress of a kernel from what was counted beside others.

    Compute-bound kernels progress with their cores, (4) of [001]; those with fewer work-groups than cores alone with
    their work-groups (2.3.1). Memory-bound ones progress with their bandwidth, (5).
    """
    supply = law.supply_bytes_per_s(sharing.hit_rate)
    bound = demand_bytes_per_s(sharing, machine) > max(supply, 0.0)
    if bound:
        progress = bandwidth_bytes_per_s(sharing, machine) / supply if supply > 0 else 0.0
    else:
        alone = machine.cores if sharing.groups is None else max(min(machine.cores, sharing.groups), 1)
        progress = sharing.cores / alone
    progress = min(max(progress, 0.0), 1.0)
    return SlowdownPrediction(bound, progress, progress / sharing.cores if sharing.cores > 0 else 0.0)


def fairness(progress: Sequence[float]) -> float:
    """Smallest over largest progress; 1 is fair, and so are kernels of which none progresses."""
    return min(progress) / max(progress) if progress and max(progress) > 0 else 1.0


def system_throughput(progress: Sequence[float]) -> float:
    """STP: the sum of progress; what is done at once, in kernels that run alone."""
    return float(sum(progress))


def average_turnaround(progress: Sequence[float]) -> float:
    """ANTT: the mean slowdown; infinite where a kernel does not progress.

    One over the harmonic mean of progress, which [001] 4 says for short (its [24] has the mean of slowdowns).
    """
    return float("inf") if min(progress) <= 0 else float(np.mean([1.0 / each for each in progress]))
