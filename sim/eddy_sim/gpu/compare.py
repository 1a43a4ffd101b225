# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs a program on the RTL and on the model of the instruction set, and compares what every instruction did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eddy_sim.gpu import isa_model
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.elf import ElfProgram
from eddy_sim.gpu.isa_model import Config, IsaModel, Records, describe
from eddy_sim.gpu.registers import CORE, CORE_BASE, CORE_CONTEXT, CORE_START, CORE_STRIDE, LAUNCH

CONTEXT = 6


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came out.

    Attributes:
        records: Instructions and traps compared.
        lane_records: The same, lane by lane.
        cycles: Cycles the RTL took.
        difference: The first difference in words; empty where there is none.
    """

    records: int
    lane_records: int
    cycles: int
    difference: str


def config_of(shape: Shape, seed: int = 1) -> Config:
    """The model's configuration for a shape, with a trace."""
    return Config(
        shape.cores, shape.warps, shape.threads, shape.fpu, starve_bound=shape.starve_bound, seed=seed, trace=True
    )


def compare(
    program: ElfProgram,
    shape: Shape,
    *,
    all_cores: bool = False,
    latency: int = 20,
    stall: int = 0,
    seed: int = 1,
    regions: tuple[tuple[int, int], ...] = (),
    max_cycles: int = 2_000_000,
    library: Path | None = None,
) -> Comparison:
    """Compare traces warp by warp, then memory.

    Args:
        program: Its traces must not depend on how warps interleave.
        shape: The cluster.
        all_cores: Start every core.
        latency: Of memory, in cycles.
        stall: Chance in 256 that a handshake of the memory port fails.
        seed: Of those chances.
        regions: Address and size of memory to compare at the end.
        max_cycles: Bound of the run.
        library: A build to use instead of the source tree's; it must trace.
    """
    cores = tuple(range(shape.cores)) if all_cores else (0,)
    model = IsaModel(config_of(shape))
    model.load(program)
    model.start(program.entry, cores=cores)
    expected = model.run(4_000_000)
    cluster = SimulatedCluster(shape, latency=latency, trace=True, library=library)
    cluster.stall(stall, seed)
    cluster.load(program)
    cluster.start(program.entry, cores=cores)
    stop = cluster.run(max_cycles)
    got, want = cluster.trace(), model.trace()
    difference = _first_difference(got, want, shape) or _ends(stop, expected.stop) or _memory(cluster, model, regions)
    lanes = int(np.unpackbits(np.ascontiguousarray(want["mask"]).view(np.uint8)).sum())
    return Comparison(len(want), lanes, cluster.cycles, difference)


def _ends(got: Stop, want: isa_model.Stop) -> str:
    return "" if got.name == want.name else f"the RTL ended by {got.name}, the model by {want.name}"


def _memory(cluster: SimulatedCluster, model: IsaModel, regions: tuple[tuple[int, int], ...]) -> str:
    for address, size in regions:
        got, want = cluster.read(address, size), model.read(address, size)
        if got != want:
            at = next(k for k in range(size) if got[k] != want[k])
            return f"memory differs at {address + at:#010x}: {got[at]:02x}, the model has {want[at]:02x}"
    return ""


def _first_difference(got: Records, want: Records, shape: Shape) -> str:
    for core in range(shape.cores):
        for warp in range(shape.warps):
            mine = [r[(r["core"] == core) & (r["warp"] == warp)] for r in (got, want)]
            text = _difference(mine[0], mine[1], shape.threads)
            if text:
                return text
    return ""


def _difference(got: Records, want: Records, threads: int) -> str:
    count = min(len(got), len(want))
    apart = np.flatnonzero(got[:count] != want[:count])
    if len(apart) == 0 and len(got) == len(want):
        return ""
    at = int(apart[0]) if len(apart) else count
    lines = [f"  same   {describe(want[k], threads)}" for k in range(max(0, at - CONTEXT), at)]
    for name, records in (("RTL", got), ("model", want)):
        lines.append(f"  {name:6} {describe(records[at], threads) if at < len(records) else 'ended'}")
    return f"instruction {at} of {len(want)}:\n" + "\n".join(lines)


@dataclass(frozen=True, slots=True)
class CoreTenant:
    """A program on a core of its own, in a memory context of its own.

    Attributes:
        program: What runs.
        core: Where.
        context: Its memory context.
    """

    program: ElfProgram
    core: int
    context: int

    @property
    def offset(self) -> int:
        """Where its address space begins in memory."""
        return self.core * 0x1000_0000


def compare_tenants(
    tenants: Sequence[CoreTenant],
    shape: Shape,
    *,
    latency: int = 20,
    stall: int = 0,
    seed: int = 1,
    regions: tuple[tuple[int, int], ...] = (),
    max_cycles: int = 2_000_000,
) -> str:
    """Run programs at the same time on cores of one cluster, and each by itself on the model.

    Every tenant has its own base pages and may touch nothing else; `regions` are in its own address space.

    Returns:
        The first difference in words; empty where there is none.
    """
    cluster = SimulatedCluster(shape, latency=latency, trace=True)
    cluster.stall(stall, seed)
    for tenant in tenants:
        registers = CORE + CORE_STRIDE * tenant.core
        for quarter in range(4):
            first = (quarter << 30) + tenant.offset
            cluster.poke(registers + CORE_BASE + 4 * quarter, first >> 12)
            cluster.window(first, first + 0x0FFF_FFFF, 1 << tenant.context)
        for segment in tenant.program.segments:
            data = segment.data + bytes(segment.size - len(segment.data))
            cluster.write(segment.address + tenant.offset, data)
        cluster.poke(registers + CORE_CONTEXT, tenant.context)
        cluster.poke(registers + CORE_START, tenant.program.entry)
    cluster.poke(LAUNCH, sum(1 << tenant.core for tenant in tenants))
    stop = cluster.run(max_cycles)
    if stop is not Stop.IDLE:
        return f"the cluster ended by {stop.name}"
    return next(filter(None, (_tenant(tenant, cluster, shape, regions) for tenant in tenants)), "")


def _tenant(tenant: CoreTenant, cluster: SimulatedCluster, shape: Shape, regions: tuple[tuple[int, int], ...]) -> str:
    model = IsaModel(config_of(shape))
    model.load(tenant.program)
    model.start(tenant.program.entry, cores=(tenant.core,))
    model.run(4_000_000)
    got, want = cluster.trace(), model.trace()
    text = _first_difference(got[got["core"] == tenant.core], want, shape)
    for address, size in regions:
        if cluster.read(address + tenant.offset, size) != model.read(address, size):
            text = text or f"memory differs within {size} bytes from {address:#x}"
    return f"core {tenant.core}: {text}" if text else ""
