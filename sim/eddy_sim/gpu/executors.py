# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels on simulated clusters: the executor port of `eddy.gpu` over the model of the instruction set and over RTL."""

from __future__ import annotations

from eddy.gpu.launches.executor import CAUSES, CoreCounters, Execution, Fault
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.shape import ClusterShape

from eddy_sim.gpu import cluster, isa_model
from eddy_sim.gpu.cluster_build import Shape


class IsaExecutor:
    """Executes instructions without a clock: every cycle count is zero, and a cycle of Table 4.1 is an instruction."""

    def __init__(self, shape: ClusterShape | None = None, *, random_choice: bool = False, seed: int = 1) -> None:
        """A cluster.

        Args:
            shape: What it is made of.
            random_choice: Choose lanes and warps at random, to see that results do not depend on it.
            seed: Of random choices.
        """
        self.shape = shape or ClusterShape()
        made = self.shape
        self._config = isa_model.Config(
            made.cores, made.warps, made.threads, made.fpu, random_choice=random_choice, seed=seed
        )

    def execute(self, region: bytearray, entry: int, argument: int, limit: int) -> Execution:
        """See `eddy.gpu.launches.executor.Executor`; `limit` counts instructions."""
        model = isa_model.IsaModel(self._config)
        model.map(REGION_BASE, region)  # a session's region is far larger than what a launch of it reaches
        model.start(entry, argument, range(self.shape.cores))
        outcome = model.run(limit)
        counters = tuple(
            CoreCounters(0, instructions, sum(lanes[1:]), tuple(lanes[1:]))
            for instructions, lanes in zip(outcome.instructions, outcome.by_lanes, strict=True)
        )
        faults = tuple(Fault(f.core, CAUSES.get(f.cause, str(f.cause)), f.pc, f.value) for f in outcome.faults)
        return Execution(outcome.stop is isa_model.Stop.IDLE, 0, counters, faults)


class RtlExecutor:
    """The cluster's RTL in its harness, with a memory of fixed latency that refuses what is outside the region."""

    def __init__(
        self, shape: ClusterShape | None = None, *, latency: int = cluster.LATENCY, of: int | None = None
    ) -> None:
        """A cluster, built where need be.

        Args:
            shape: What it is made of, or the part of it that runs.
            latency: Cycles between a request to memory and its answer.
            of: Cores the cluster has; the shape's, which come first, run and the others are idle. None: no others.
        """
        self.shape = shape or ClusterShape()
        made = self.shape
        self._rtl = Shape(of or made.cores, made.warps, made.threads, made.fpu, local_bytes=made.local_bytes)
        self._latency = latency

    def execute(self, region: bytearray, entry: int, argument: int, limit: int) -> Execution:
        """See `eddy.gpu.launches.executor.Executor`; `limit` counts clock cycles."""
        rtl = cluster.SimulatedCluster(self._rtl, latency=self._latency)
        rtl.window(REGION_BASE, REGION_BASE + len(region) - 1)
        rtl.write(REGION_BASE, bytes(region))
        rtl.start(entry, argument, range(self.shape.cores))
        before = rtl.cycles
        stop = rtl.run(limit)
        cycles = rtl.cycles - before
        region[:] = rtl.read(REGION_BASE, len(region))
        counters = tuple(CoreCounters.of(rtl.counters(core)) for core in range(self.shape.cores))
        faults = tuple(Fault(f.core, CAUSES.get(f.cause, str(f.cause)), f.pc, f.value) for f in rtl.faults())
        return Execution(stop is cluster.Stop.IDLE, cycles, counters, faults)
