# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Barriers nobody can open end the core at once and say which; those that open late do not."""

from __future__ import annotations

import pytest
from eddy_sim.gpu import registers as regs
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.compare import config_of
from eddy_sim.gpu.elf import ElfProgram
from eddy_sim.gpu.isa_model import IsaModel
from eddy_sim.gpu.programs import OUT
from eddy_sim.gpu.registers import CORE, CORE_STRIDE

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]

TWO = Shape(2, 3, 3, fpu=False, icache_bytes=64, dcache_bytes=128, local_bytes=4096, starve_bound=17)
DEADLOCK = 24
END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"
BAR = "bar: .insn r 0x0b, 4, 0, x0, a0, a1\n"
SPAWN = "csrr t0, 0xfc1\nla t1, 1f\n.insn r 0x0b, 1, 0, x0, t0, t1\n1: csrr s0, 0xcc1\ncsrr s1, 0xcc2\n"
LANES = "li t0, -1\n.insn r 0x0b, 0, 0, x0, t0, x0\n"

STUCK = {
    "too few warps": (f"li a0, 1\nli a1, 2\n{BAR}{END}", 1),
    "different barriers": (f"{SPAWN}mv a0, s0\nli a1, 2\n{BAR}{END}", 7),
    "one ended": (f"{SPAWN}li a0, 1\nli a1, 3\nbeqz s0, 2f\n{BAR}2: {END}", 6),
    "one waits for others to end": (
        f"{SPAWN}li a0, 1\nli a1, 3\nbnez s0, bar\n.insn r 0x0b, 1, 0, x0, t0, t1\n{BAR}{END}",
        6,
    ),
    "a lane apart": (f"{LANES}csrr t0, 0xcc0\nli a0, 1\nli a1, 2\nbnez t0, 2f\n{BAR}2: {END}", 1),
    "within and across": (f"{SPAWN}lui a0, 0x80000\nli a1, 2\nbnez s0, bar\nli a0, 3\n{BAR}{END}", 7),
}
"""Programs of one core, and the warps that wait at a barrier in the end."""


def assembly(text: str) -> ElfProgram:
    return program(".section .text.init\n.globl _start\n.globl bar\n_start:\n" + text)


def found(elf: ElfProgram, cores: tuple[int, ...]) -> tuple[SimulatedCluster, list[tuple[int, int, int, int]]]:
    """A run on the RTL, and the faults, which are the model's."""
    cluster = SimulatedCluster(TWO, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry, cores=cores)
    assert cluster.run(2000) is Stop.IDLE, "a deadlock ends it, within little time"
    model = IsaModel(config_of(TWO))
    model.load(elf)
    model.start(elf.entry, cores=cores)
    assert model.run(10_000).stop.name == "IDLE"
    faults = [(f.core, f.cause, f.pc, f.value) for f in cluster.faults()]
    assert faults == [(f.core, f.cause, f.pc, f.value) for f in model.run(1).faults]
    return cluster, faults


@pytest.mark.parametrize("name", STUCK)
def test_a_core_whose_warps_all_wait_ends_at_once(name: str) -> None:
    text, waiting = STUCK[name]
    elf = assembly(text)
    cluster, faults = found(elf, (0,))
    assert faults == [(0, DEADLOCK, elf.symbols["bar"], waiting)]
    # The core is as good as any other afterwards.
    store = f"li t0, {OUT:#x}\nslli s0, s0, 2\nadd t0, t0, s0\nsw a1, 0(t0)\n"
    good = assembly(f"{SPAWN}li a0, 1\nli a1, 3\n{BAR}{store}{END}")
    cluster.poke(0x04, 0)
    cluster.load(good)
    cluster.start(good.entry)
    assert cluster.run(2000) is Stop.IDLE
    assert not cluster.faults()
    assert cluster.read(OUT, 12) == bytes((3, 0, 0, 0)) * 3


ACROSS = f"{SPAWN}lui a0, 0x80000\nli a1, 2\n"


def test_cores_that_wait_for_each_other_at_different_barriers_end_both() -> None:
    elf = assembly(f"{ACROSS}add a0, a0, s1\n{BAR}{END}")
    _, faults = found(elf, (0, 1))
    assert faults == [(core, DEADLOCK, elf.symbols["bar"], 7) for core in (0, 1)]


def test_a_barrier_waits_for_a_core_that_begins_late_and_for_one_that_is_slow() -> None:
    cluster = SimulatedCluster(TWO, trace=True)
    elf = assembly(f"{ACROSS}li a1, 4\nbeqz s1, bar\nli t0, 700\n2: addi t0, t0, -1\nbnez t0, 2b\n{BAR}{END}")
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(3000) is Stop.LIMIT
    cluster.poke(CORE + CORE_STRIDE + regs.CORE_START, elf.entry)
    cluster.poke(regs.LAUNCH, 2)
    while cluster.peek(0x08):
        cluster.poke(0x04, 0)
        assert cluster.run(20_000) is Stop.IDLE
    assert not cluster.faults()


def test_a_core_that_ended_at_a_barrier_counts_at_no_other_kernels_barrier() -> None:
    elf = assembly(f"{ACROSS}add a0, a0, s1\n{BAR}{END}")
    cluster, faults = found(elf, (0, 1))
    assert len(faults) == 2
    # Core 1 still stands at the barrier that core 0 comes to now.
    cluster.poke(0x04, 0)
    alone = assembly(f"{ACROSS}addi a0, a0, 1\nli a1, 4\n{BAR}{END}")
    cluster.load(alone)
    cluster.start(alone.entry, cores=(0,))
    assert cluster.run(2000) is Stop.LIMIT
