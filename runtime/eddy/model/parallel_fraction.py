# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The parallel fraction F of a workload ([000] chapters 3 and 4): from counters, from speedups, and what it predicts.

A *processing element* (PE) is one lane of one core here: a cluster of C cores with T lanes each is P = C T PEs, and a
cycle in which X lanes execute is a cycle with X PEs at work, as Table 4.1 counts. The page
docs/explanations/parallel-fraction.md says why, and where the law stops holding.

Two readings of equation (4.2) are kept apart. The thesis calls F^(X) "the fraction of instructions that are executed
with exactly X threads" but computes it as a share of *cycles*. Amdahl's law weighs by work, and a cycle with X lanes
does the work of X one-lane cycles; so `fraction` weighs by work, and `published_fraction` is (4.2) to the letter. They
agree where all cycles have one X.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Activity:
    """What the cores of a cluster counted while they ran one kernel.

    Attributes:
        cycle_thread: Of each core, CYCLE_THREAD_X for X = 1 .. lanes ([000] Table 4.1).
        time: What the kernel took, in any unit: seconds, or clock cycles.
        overhead: The part of it in which no core ran: starting and clearing, which more PEs do not shorten.
        waiting: Share of the cores' cycles that waited for memory, or found a data cache busy.
        port_time: What the memory port needed for the lines that were read, in the same unit as `time`.
    """

    cycle_thread: tuple[tuple[int, ...], ...]
    time: float = 0.0
    overhead: float = 0.0
    waiting: float = 0.0
    port_time: float = 0.0

    def __post_init__(self) -> None:
        widths = {len(core) for core in self.cycle_thread}
        if len(widths) != 1 or 0 in widths:
            raise ValueError("every core counts CYCLE_THREAD_X for the same lanes, one at least")
        if any(count < 0 for core in self.cycle_thread for count in core):
            raise ValueError("counters are not negative")

    @property
    def elements(self) -> int:
        """P: lanes of all cores."""
        return len(self.cycle_thread) * len(self.cycle_thread[0])

    @property
    def work(self) -> int:
        """Instructions of single lanes: cycles one PE would be active."""
        return sum(lanes * count for core in self.cycle_thread for lanes, count in enumerate(core, 1))

    @property
    def span(self) -> int:
        """Active cycles of the core that has most: the others' idleness is lost parallelism."""
        return max(sum(core) for core in self.cycle_thread)

    @property
    def speedup(self) -> float:
        """Over one PE: the work by the span; 1 where nothing ran."""
        return self.work / self.span if self.span else 1.0

    @property
    def fraction(self) -> float:
        """F by (4.3), which is (4.1) of this speedup; 0 on a cluster of one PE, which shows no parallelism."""
        return karp_flatt_fraction(self.speedup, self.elements) if self.elements > 1 else 0.0

    @property
    def cores(self) -> int:
        """Cores of the cluster."""
        return len(self.cycle_thread)

    @property
    def lanes(self) -> int:
        """Lanes of one core."""
        return len(self.cycle_thread[0])

    @property
    def core_fraction(self) -> float:
        """F among the cores alone: how evenly their active cycles are spread; 0 on one core."""
        active = sum(sum(core) for core in self.cycle_thread)
        return karp_flatt_fraction(active / self.span, self.cores) if self.cores > 1 and self.span else 0.0

    @property
    def lane_fraction(self) -> float:
        """F among the lanes of a core alone: how full the active cycles are; 0 with one lane."""
        active = sum(sum(core) for core in self.cycle_thread)
        return karp_flatt_fraction(self.work / active, self.lanes) if self.lanes > 1 and active else 0.0

    def predict(self, cores: int, lanes: int) -> float:
        """Time on a cluster of another shape, the law applied to cores and to lanes, each with its own F."""
        scaled = predict(self.time - self.overhead, self.core_fraction, self.cores, cores)
        return self.overhead + predict(scaled, self.lane_fraction, self.lanes, lanes)

    def predict_with_memory(self, cores: int, lanes: int) -> float:
        """As `predict`, but cores wait for memory as long with more lanes, and the port takes what it took: the law
        with the share of memory in it."""
        alone = predict(self.time - self.overhead, self.core_fraction, self.cores, cores)
        computed = predict((1.0 - self.waiting) * alone, self.lane_fraction, self.lanes, lanes)
        return self.overhead + max(computed + self.waiting * alone, min(self.port_time, self.time - self.overhead))

    @property
    def single_time(self) -> float:
        """What one PE would take, by the law: the time times the speedup, and the overhead as it is."""
        return (self.time - self.overhead) * self.speedup + self.overhead

    @property
    def parallel_time(self) -> float:
        """The part of `single_time` that P PEs do in a P-th of it."""
        return (self.time - self.overhead) * self.speedup * self.fraction


def published_fraction(cycle_thread: Sequence[int]) -> float:
    """F of one core by (4.2) and (4.3) to the letter: F^(X) as shares of active cycles.

    Args:
        cycle_thread: CYCLE_THREAD_X for X = 1 .. P, P at least 2.

    Raises:
        ValueError: Fewer than two lanes.
    """
    lanes, active = len(cycle_thread), sum(cycle_thread)
    if lanes < 2:
        raise ValueError("a parallel fraction needs two lanes at least")
    if not active:
        return 0.0
    shares = sum(count / active / x for x, count in enumerate(cycle_thread, 1))
    return lanes / (lanes - 1) * (1.0 - shares)


def karp_flatt_fraction(speedup: float, elements: float) -> float:
    """F from a speedup measured on P PEs, (4.1).

    Args:
        speedup: Over one PE; positive.
        elements: P, more than 1.

    Raises:
        ValueError: The speedup is not positive, or P is not more than 1.
    """
    if speedup <= 0 or elements <= 1:
        raise ValueError("a speedup is positive, and measured on more than one PE")
    return (1.0 - 1.0 / speedup) / (1.0 - 1.0 / elements)


def speedup(fraction: float, share: float, throughput: float = 1.0) -> float:
    """What a share of a cluster gives, (3.1) and (3.2).

    Args:
        fraction: F in [0, 1].
        share: x, in PEs: P for the whole cluster.
        throughput: Average parallel frequency over the base PE's, f/f_base.

    Raises:
        ValueError: F is outside [0, 1], or the share negative.
    """
    if not 0.0 <= fraction <= 1.0:
        raise ValueError("a parallel fraction is between 0 and 1")
    if share < 0:
        raise ValueError("a share is not negative")
    if share == 0:
        return 0.0
    return throughput * share / (share * (1.0 - fraction) + fraction)


def predict(time: float, fraction: float, measured_on: float, asked_for: float, throughput: float = 1.0) -> float:
    """Time on another number of PEs, by (3.1).

    Args:
        time: Measured, in any unit.
        fraction: F.
        measured_on: PEs of the measurement.
        asked_for: PEs asked for.
        throughput: Of a PE asked for, over one of the measurement: clocks and operations it has units for.
    """
    return time * speedup(fraction, measured_on) / speedup(fraction, asked_for, throughput)


@dataclass(frozen=True, slots=True)
class JobProfile:
    """A job of several kernels, one after the other.

    Attributes:
        kernels: What each counted and took, on one cluster.
    """

    kernels: tuple[Activity, ...]

    def __post_init__(self) -> None:
        if len({kernel.elements for kernel in self.kernels}) != 1:
            raise ValueError("a job's kernels are measured on one cluster")

    @property
    def elements(self) -> int:
        """P of the measurement."""
        return self.kernels[0].elements

    @property
    def time(self) -> float:
        """Of all kernels."""
        return sum(kernel.time for kernel in self.kernels)

    @property
    def fraction(self) -> float:
        """F of the job: the kernels' F, each weighted by what it would take on one PE.

        This is the F with which (3.1) gives the sum of the kernels' own predictions.
        """
        whole = sum(kernel.single_time for kernel in self.kernels)
        return sum(kernel.parallel_time for kernel in self.kernels) / whole if whole > 0 else 0.0

    def predict(self, elements: float, throughput: float = 1.0) -> float:
        """Time of the job on another number of PEs, in the unit of the measurement."""
        return predict(self.time, self.fraction, self.elements, elements, throughput)

    def predict_shape(self, cores: int, lanes: int) -> float:
        """Time of the job on a cluster of another shape, kernel by kernel, with an F for cores and one for lanes.

        It differs from `predict` where lanes diverge (which more cores do not make worse) and where a kernel has work
        for few cores (which more lanes still help).
        """
        return sum(kernel.predict(cores, lanes) for kernel in self.kernels)

    def predict_with_memory(self, cores: int, lanes: int) -> float:
        """Time of the job on a cluster of another shape, kernel by kernel, what waits for memory apart."""
        return sum(kernel.predict_with_memory(cores, lanes) for kernel in self.kernels)
