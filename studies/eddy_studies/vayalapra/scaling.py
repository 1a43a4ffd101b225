# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Workloads on clusters of several sizes: what they take, their F, and what F predicts ([000] 5.2.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.executor import Executor
from eddy.gpu.launches.launch import LaunchResult
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.workloads import Workload, run
from eddy.gpu.workloads.basic import black_scholes, divergent, reduction, saxpy, sgemm, transpose, vecadd
from eddy.gpu.workloads.learning import kmeans, mlp
from eddy.gpu.workloads.networks import alexnet, resnet50, yolo
from eddy.model.parallel_fraction import Activity, JobProfile, published_fraction

CONFIGURATIONS: tuple[tuple[int, int], ...] = ((4, 4), (4, 8), (8, 4), (8, 8))
"""Cores and threads of [000] 5.2.1. The thesis does not say how many warps; ours have four."""
WARPS = 4
LINE_CYCLES = 8
"""Cycles in which the port, of 8 bytes a cycle, brings a line of 64."""
MEMORY_BOUND = 0.1
"""A workload counts as memory-bound where the share of cycles its cores wait for memory grows by more than this from
the smallest cluster to the largest: the port, which all PEs share, carries no more. (Waiting for a core's own local
memory or cache does not grow.)"""

BENCHMARKS: tuple[str, ...] = ("resnet50", "yolo", "alexnet", "k-means", "mlp")
"""The workloads of [000] 5.1.1, in the order of its figures."""

SIZES: Mapping[str, Callable[[int], Workload]] = {
    "resnet50": lambda seed: resnet50(8, 16, 8, seed),
    "yolo": lambda seed: yolo(4, 16, 6, seed),
    "alexnet": lambda seed: alexnet(4, 16, 4, seed),
    "k-means": lambda seed: kmeans(16384, 4, 1024, 1, seed),
    "mlp": lambda seed: mlp(64, 32, seed=seed),
    "sgemm": lambda seed: sgemm(512, 32, 32, seed=seed),
    "black_scholes": lambda seed: black_scholes(4096, seed),
    "divergent": lambda seed: divergent(4096, 8, seed),
    "vecadd": lambda seed: vecadd(8192, seed),
    "saxpy": lambda seed: saxpy(8192, seed),
    "reduction": lambda seed: reduction(8192, 16, seed),
    "transpose": lambda seed: transpose(128, 128, 4, seed),
}
QUICK: Mapping[str, Callable[[int], Workload]] = {
    "yolo": lambda seed: yolo(1, 64, 13, seed),
    "k-means": lambda seed: kmeans(1024, 4, 128, 1, seed),
    "mlp": lambda seed: mlp(32, 32, seed=seed),
    "vecadd": lambda seed: vecadd(2048, seed),
}


@dataclass(frozen=True, slots=True)
class Point:
    """One workload on one cluster.

    Attributes:
        workload: Its name.
        cores, threads: Of the cluster.
        profile: Its kernels' counters and cycles.
        published: F by (4.2) and (4.3) to the letter, cores weighted by their active cycles.
        waiting: Share of the cores' cycles in which they waited for memory.
    """

    workload: str
    cores: int
    threads: int
    profile: JobProfile
    published: float
    waiting: float

    @property
    def elements(self) -> int:
        """PEs: lanes of all cores."""
        return self.cores * self.threads

    @property
    def configuration(self) -> str:
        """As [000] writes it."""
        return f"{self.cores}C{self.threads}T"


def measure(
    names: Sequence[str],
    sizes: Mapping[str, Callable[[int], Workload]],
    configurations: Sequence[tuple[int, int]],
    seed: int,
    cluster: Callable[[ClusterShape], Executor],
    compiler: Compiler,
    say: Callable[[str], None],
) -> list[Point]:
    """Run workloads on clusters; every result is compared with its reference.

    Args:
        names: Workloads, keys of `sizes`.
        sizes: Makes them, from a seed.
        configurations: Cores and threads.
        say: Told what is being done.
    """
    points = []
    for cores, threads in configurations:
        executor = cluster(ClusterShape(cores, WARPS, threads))
        for name in names:
            point = point_of(sizes[name](seed), executor, compiler)
            say(f"{point.configuration} {name}: {point.profile.time:.0f} cycles, F {point.profile.fraction:.3f}")
            points.append(point)
    return points


def point_of(workload: Workload, executor: Executor, compiler: Compiler) -> Point:
    """Run a workload, compare its results with its reference, and keep its counters."""
    runs = run(workload, executor, compiler)
    kernels = tuple(_activity(step.result) for step in runs)
    cores = [core for step in runs for core in step.result.counters]
    active = sum(core.total_active_cycles for core in cores)
    published = sum(published_fraction(core.cycle_thread) * core.total_active_cycles for core in cores) / active
    waiting = sum(core.other("stall_memory") for core in cores) / max(1, sum(core.cycles for core in cores))
    shape = executor.shape
    return Point(workload.name, shape.cores, shape.threads, JobProfile(kernels), published, waiting)


def _activity(done: LaunchResult) -> Activity:
    """A launch's counters; what no core's own count of cycles covers is overhead."""
    running = max(core.cycles for core in done.counters)
    overhead = done.cycles - running if running else 0
    waited = sum(core.other("stall_memory") + core.other("replays") for core in done.counters)
    waiting = waited / max(1, sum(core.cycles for core in done.counters))
    port_cycles = sum(core.other("line_reads") for core in done.counters) * LINE_CYCLES
    return Activity(tuple(core.cycle_thread for core in done.counters), done.cycles, overhead, waiting, port_cycles)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A time foretold and measured.

    Attributes:
        point: The measurement.
        cycles: What the law says from the base cluster's counters and time, with one F.
        error: Relative, of that prediction.
        cycles_by_level: The same with an F for cores and one for lanes.
        error_by_level: Relative, of that.
        cycles_with_memory: The same with what waits for memory apart.
        error_with_memory: Relative, of that.
        memory_bound: Whether the workload counts as such.
    """

    point: Point
    cycles: float
    error: float
    cycles_by_level: float
    error_by_level: float
    cycles_with_memory: float
    error_with_memory: float
    memory_bound: bool


def predictions(points: Sequence[Point]) -> list[Prediction]:
    """Each workload's times from its first point: F and time there, nothing else."""
    found = []
    for name in dict.fromkeys(point.workload for point in points):
        own = [point for point in points if point.workload == name]
        base, largest = own[0], max(own, key=lambda point: point.elements)
        for point in own:
            cycles = base.profile.predict(point.elements)
            by_level = base.profile.predict_shape(point.cores, point.threads)
            with_memory = base.profile.predict_with_memory(point.cores, point.threads)
            foretold = [(each, each / point.profile.time - 1) for each in (cycles, by_level, with_memory)]
            bound = largest.waiting - base.waiting > MEMORY_BOUND
            found.append(Prediction(point, *foretold[0], *foretold[1], *foretold[2], memory_bound=bound))
    return found
