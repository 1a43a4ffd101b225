# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs a program on a simulated cluster of any shape: what `eddy gpu run` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eddy_sim.gpu.cluster import LATENCY, Fault, SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.elf import ElfProgram
from eddy_sim.tools.products import Progress, ignore_progress

TIMED_OUT = 124
"""Exit code of a program that did not end within its cycles, as of the command `timeout`."""
FAULTED = 128
"""Exit code of a program whose core was stopped by a fault: this and the cause."""
MAX_CYCLES = 50_000_000
LOOK_CYCLES = 8
"""After which, again and again, it is looked whether the cores, which are cleared first, have begun to count."""
SETTLE_CYCLES = 64
"""In which a program that has ended within its cycles has said so."""

CAUSES = {
    0: "jump to a misaligned address",
    1: "instructions could not be fetched",
    2: "illegal instruction or unknown CSR",
    3: "ebreak",
    4: "misaligned load",
    5: "load refused by memory",
    6: "misaligned store",
    7: "store refused by memory",
    11: "ecall",
    24: "barrier deadlock: every live warp waits and none can continue",
    25: "stack overflow",
}
"""What stopped a core, by cause (as mcause); all of them without a handler (mtvec is zero) or from memory."""


@dataclass(frozen=True, slots=True)
class CoreResult:
    """What one core did: its counters by name (`eddy_sim.gpu.cluster.COUNTERS`)."""

    core: int
    counters: dict[str, int]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a program ended, and the counters of all cores that were started.

    Attributes:
        exit_code: 0 is success. What the program said; 0 if it just ended; 128 + cause after a fault; 124 after
            `max_cycles`.
        cycles: From the start to the end, the longest of all cores.
        instructions: Instructions executed by warps, all cores.
        cycle_thread: CYCLE_THREAD_X, X = 1 .. threads: cycles in which X lanes executed, all cores.
        total_active_cycles: Cycles in which any lane executed, all cores: the sum of `cycle_thread`.
        ended_by: "idle", "exit", "tohost", "fault" or "max-cycles".
        faults: Cores that were stopped.
        console: What the program wrote to the console.
        cores: Each core's counters.
    """

    exit_code: int
    cycles: int
    instructions: int
    cycle_thread: tuple[int, ...]
    total_active_cycles: int
    ended_by: str
    faults: tuple[Fault, ...]
    console: str
    cores: tuple[CoreResult, ...]


def run_program(
    program: ElfProgram,
    shape: Shape,
    *,
    max_cycles: int = MAX_CYCLES,
    all_cores: bool = False,
    latency: int = LATENCY,
    progress: Progress = ignore_progress,
) -> RunResult:
    """Load a program, start it on core 0 or on every core, run it to its end.

    Raises:
        InvalidRequest: No such cluster can be built.
        BuildFailed: A tool refused its input.
    """
    started = tuple(range(shape.cores)) if all_cores else (0,)

    def launched() -> SimulatedCluster:
        cluster = SimulatedCluster(shape, latency=latency, progress=progress)
        cluster.load(program)
        cluster.start(program.entry, cores=started)
        return cluster

    cluster = launched()
    stop = cluster.run(LOOK_CYCLES)
    before = None
    while stop is Stop.LIMIT and before is None:
        before = _uncounted(cluster, started)
        stop = cluster.run(LOOK_CYCLES if before is None else max(0, before + max_cycles - cluster.cycles))
    result = collect(cluster, stop, started)
    if before is None:  # it ended before it was looked at
        before = _uncounted(cluster, started)
    if result.cycles > max_cycles and before is not None:
        cluster = launched()
        result = collect(cluster, cluster.run(max(0, before + max_cycles - cluster.cycles)), started)
    if result.ended_by != "max-cycles":
        return result
    stop = cluster.run(SETTLE_CYCLES)
    late = collect(cluster, stop, started)
    return late if stop is not Stop.LIMIT and late.cycles <= max_cycles else result


def _uncounted(cluster: SimulatedCluster, started: Sequence[int]) -> int | None:
    """Cycles of the cluster that its running cores do not count: those before they were cleared; None before that."""
    found = []
    for core in started:
        at = cluster.cycles
        counted = cluster.counted_cycles(core)
        if counted:
            found.append(at - counted)
    return min(found, default=None)


def collect(cluster: SimulatedCluster, stop: Stop, started: tuple[int, ...]) -> RunResult:
    """The result of a run that stopped."""
    cores = tuple(CoreResult(core, dict(cluster.counters(core))) for core in started)
    faults = cluster.faults()
    threads = range(1, cluster.shape.threads + 1)
    lanes = tuple(sum(c.counters[f"cycle_thread_{x}"] for c in cores) for x in threads)
    exit_code, ended_by = _verdict(cluster, stop, faults)
    return RunResult(
        exit_code=exit_code,
        cycles=max(c.counters["cycles"] for c in cores),
        instructions=sum(c.counters["instructions"] for c in cores),
        cycle_thread=lanes,
        total_active_cycles=sum(c.counters["total_active_cycles"] for c in cores),
        ended_by=ended_by,
        faults=faults,
        console=cluster.console(),
        cores=cores,
    )


def _verdict(cluster: SimulatedCluster, stop: Stop, faults: tuple[Fault, ...]) -> tuple[int, str]:
    if stop in (Stop.EXIT, Stop.TOHOST):
        return cluster.exit_code, stop.name.lower()
    if faults:
        return FAULTED + faults[0].cause, "fault"
    return (0, "idle") if stop is Stop.IDLE else (TIMED_OUT, "max-cycles")
