# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tenants in one cluster at the same time, and one after the other on the same core; without and with an L2 cache."""

from __future__ import annotations

import pytest
from eddy_sim.gpu import registers as regs
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.compare import CoreTenant, compare, compare_tenants
from eddy_sim.gpu.conformance import families
from eddy_sim.gpu.elf import ElfProgram
from eddy_sim.gpu.programs import OUT, A
from eddy_sim.gpu.random_programs import DATA, SHARED, Options, random_program
from eddy_sim.gpu.registers import CORE, CORE_STRIDE

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]

TWO = Shape(2, 3, 3, fpu=False, icache_bytes=64, dcache_bytes=128, local_bytes=4096, starve_bound=17)
LARGE = Shape(2, 8, 8, fpu=False, l2_bytes=1024, starve_bound=100)
"""With a small second-level cache, so that lines are thrown out of it."""
REGIONS = ((DATA, 0x4000), (SHARED, 0x20000))
CONTEXT, L2_BASE, L2_BYTES, L2_FLUSH, L2_HITS, L2_MISSES, LIMITS = 0x08, 0x38, 0x40, 0x44, 0x48, 0x4C, 0x1C
END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"


def assembly(text: str) -> ElfProgram:
    return program(".section .text.init\n.globl _start\n_start:\n" + text)


def run(cluster: SimulatedCluster, elf: ElfProgram, context: int) -> None:
    """A kernel on core 0, in a context, to its end."""
    cluster.load(elf)
    cluster.poke(CORE + CONTEXT, context)
    cluster.start(elf.entry)
    assert cluster.run(50_000) is Stop.IDLE


def word(cluster: SimulatedCluster, address: int) -> int:
    return int.from_bytes(cluster.read(address, 4), "little")


@pytest.mark.parametrize(("shape", "seeds"), [(TWO, range(6)), (LARGE, range(1))], ids=["2c3w3tx", "large"])
def test_two_tenants_at_once_agree_with_the_model(shape: Shape, seeds: range) -> None:
    options = Options(shape.threads, shape.warps, shape.fpu)
    for seed in seeds:
        tenants = [CoreTenant(random_program(100 * seed + core, options), core, core + 1) for core in range(2)]
        difference = compare_tenants(tenants, shape, stall=seed % 3 * 40, seed=seed + 1, regions=REGIONS)
        assert not difference, f"seed {seed}: {difference}"


@pytest.mark.parametrize("family", ["ui_memory", "ui_branch", "um_mul", "csr", "trap"])
def test_conformance_of_a_large_shape(family: str) -> None:
    cluster = SimulatedCluster(LARGE, latency=5, trace=True)
    elf = program(families()[family])
    cluster.load(elf)
    cluster.start(elf.entry)
    assert (cluster.run(400_000), cluster.exit_code) == (Stop.TOHOST, 0)


def test_random_programs_on_a_large_shape() -> None:
    lane_records = 0
    for seed in range(4):
        elf = random_program(seed, Options(LARGE.threads, LARGE.warps, LARGE.fpu))
        outcome = compare(elf, LARGE, all_cores=True, stall=40 * seed, seed=seed + 1, regions=REGIONS)
        assert not outcome.difference, f"seed {seed}: {outcome.difference}"
        lane_records += outcome.lane_records
    assert lane_records > 100_000


@pytest.mark.parametrize("shape", [TWO, LARGE], ids=["2c3w3tx", "large"])
def test_the_next_tenant_of_a_core_finds_no_line_of_the_last(shape: Shape) -> None:
    """The secret was in every cache; the next context may not read it, and is not given it."""
    read = assembly(f"li a0, {A:#x}\nlw a1, 0(a0)\nli a2, {OUT:#x}\nsw a1, 0(a2)\n" + END)
    cluster = SimulatedCluster(shape, trace=True)
    cluster.window(A, A + 0xFFF, 1 << 1)
    cluster.window(0x80000000, 0x8000FFFF)
    cluster.window(OUT, OUT + 0xFFF)
    cluster.write(A, (0x5EC2E7).to_bytes(4, "little"))
    run(cluster, read, context=1)
    assert word(cluster, OUT) == 0x5EC2E7
    cluster.write(OUT, bytes(4))
    run(cluster, read, context=2)
    (fault,) = cluster.faults()
    assert (fault.cause, fault.value) == (5, A)
    assert word(cluster, OUT) == 0, "the kernel stopped before it could tell"
    # The same number of context again, another owner: memory has changed, and nothing old is seen.
    cluster.write(A, (77).to_bytes(4, "little"))
    run(cluster, read, context=1)
    assert word(cluster, OUT) == 77


def test_a_flush_by_range_shows_what_the_host_wrote() -> None:
    poll = assembly(f"li a0, {A:#x}\n1: fence\nlw a1, 0(a0)\nbeqz a1, 1b\n" + END)
    cluster = SimulatedCluster(LARGE, trace=True)
    assert cluster.peek(LIMITS) >> 24 == 10
    cluster.load(poll)
    cluster.start(poll.entry)
    assert cluster.run(2000) is Stop.LIMIT
    cluster.write(A, b"\1\0\0\0")
    assert cluster.run(2000) is Stop.LIMIT, "a fence drops what the core keeps, not what the cluster does"
    hits, misses = cluster.peek(L2_HITS), cluster.peek(L2_MISSES)
    assert hits > misses > 1
    for first, size, ends in ((A + 64, 4096, False), (A - 64, 64, False), (A - 100, 101, True)):
        cluster.poke(L2_BASE, first)
        cluster.poke(L2_BYTES, size)
        cluster.poke(L2_FLUSH, 1)
        while cluster.peek(L2_FLUSH):
            pass
        assert (cluster.run(2000) is Stop.IDLE) == ends, hex(first)
    assert cluster.peek(regs.STATUS) == 0


def test_cores_share_the_lines_of_their_kernel() -> None:
    elf = assembly("nop\n" * 64 + END)
    cluster = SimulatedCluster(LARGE, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry, cores=(0,))
    assert cluster.run(20_000) is Stop.IDLE
    alone = cluster.peek(L2_MISSES)
    cluster.start(elf.entry, cores=(0, 1))
    assert cluster.run(20_000) is Stop.IDLE
    assert cluster.peek(L2_MISSES) == 2 * alone, "the second start found the cache empty, and its cores shared"
    assert cluster.peek(L2_HITS) == alone
    assert CORE_STRIDE == 0x40
