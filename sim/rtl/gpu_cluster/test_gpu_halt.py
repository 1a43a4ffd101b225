# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel that was stopped, by the host or by a fault, has stopped: its core does nothing until the next start."""

from __future__ import annotations

import pytest
from eddy_sim.gpu import registers as regs
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.programs import OUT

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]

SHAPE = Shape()
TWO = Shape(2, 3, 3, fpu=False, icache_bytes=64, dcache_bytes=128, local_bytes=4096, starve_bound=17)
STATUS, IRQ, DONE = 0x08, 0x04, 0x2C
END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"
COUNT = f"li a1, {OUT:#x}\n1: addi a0, a0, 1\nsw a0, 0(a1)\nfence\nj 1b\n"
ENDINGS = {
    "halted": COUNT,
    "illegal instruction": f"li a1, {OUT:#x}\nsw a1, 0(a1)\n.word 0xffffffff\n" + COUNT,
    "environment call": "ecall\n" + COUNT,
    "load outside": "li a0, 0x40000000\nlw a1, 0(a0)\n" + COUNT,
}


def text(source: str) -> str:
    return ".section .text.init\n.globl _start\n_start:\n" + source


def word(cluster: SimulatedCluster) -> int:
    return int.from_bytes(cluster.read(OUT, 4), "little")


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_happens_after_the_end(ending: str) -> None:
    cluster = SimulatedCluster(SHAPE, trace=True)
    bad = program(text(ENDINGS[ending]))
    cluster.load(bad)
    cluster.window(0x80000000, 0x8000FFFF)
    cluster.window(OUT, OUT + 0xFFF)
    cluster.start(bad.entry)
    if cluster.run(2000) is Stop.LIMIT:
        cluster.poke(regs.HALT, 1)
        assert cluster.run(2000) is Stop.IDLE
    assert cluster.peek(STATUS) == 0
    cluster.poke(IRQ, 0)
    written, counted = word(cluster), cluster.counters()
    assert cluster.run(3000) is Stop.LIMIT, "no core ends, because none runs"
    assert word(cluster) == written
    assert cluster.counters() == counted, "neither instructions nor accesses to memory"
    good = program(text(f"li a1, {OUT:#x}\nli a0, 77\nsw a0, 0(a1)\n" + END))
    cluster.load(good)
    cluster.start(good.entry)
    assert cluster.run(3000) is Stop.IDLE
    assert word(cluster) == 77
    assert not cluster.faults()
    assert cluster.counters()["fetch_misses"] == cluster.counters()["line_reads"] == 1, "no line of the last kernel's"


def test_an_end_is_seen_whatever_starts_or_is_acknowledged_at_that_moment() -> None:
    """Core 0 ends while core 1 is started, or its own old end cleared, at every distance that can meet."""
    cluster = SimulatedCluster(TWO, trace=True)
    short = program(text("li a0, 20\n1: addi a0, a0, -1\nbnez a0, 1b\n" + END))
    cluster.load(short)
    for core in (0, 1):
        cluster.poke(regs.CORE + core * regs.CORE_STRIDE, short.entry)
    cluster.poke(regs.LAUNCH, 3)
    run_out(cluster)
    cluster.poke(regs.LAUNCH, 1)
    begin = cluster.cycles
    assert cluster.run(5000) is Stop.IDLE
    length = cluster.cycles - begin
    cluster.poke(IRQ, 0)
    for register, value in ((regs.LAUNCH, 2), (DONE, 2)):
        # An access takes a few cycles on the bus, so it is begun before the end comes.
        for wait in range(length - 12, length + 2):
            cluster.poke(DONE, 3)
            cluster.poke(regs.LAUNCH, 1)
            cluster.run(wait)
            cluster.poke(register, value)
            run_out(cluster)
            assert cluster.peek(DONE) & 1, f"the end of core 0 got lost, {wait} cycles after its start"


def run_out(cluster: SimulatedCluster) -> None:
    """Run until no core does, and take the interrupt away."""
    while cluster.peek(STATUS):
        cluster.poke(IRQ, 0)
        cluster.run(1000)
    cluster.poke(IRQ, 0)
