# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A stack pointer that leaves its lane's stack ends the core before anything is stored through it."""

from __future__ import annotations

import pytest
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.compare import config_of
from eddy_sim.gpu.elf import ElfProgram
from eddy_sim.gpu.isa_model import IsaModel
from eddy_sim.gpu.programs import OUT

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]

TWO = Shape(2, 3, 3, fpu=False, icache_bytes=64, dcache_bytes=128, local_bytes=4096, starve_bound=17)
OVERFLOW, BYTES, TOP = 25, 1024, 0x9000_0000
END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"
LANES = f"""
  csrr t0, 0xfc1
  la t1, 1f
  .insn r 0x0b, 1, 0, x0, t0, t1
1: li t0, -1
  .insn r 0x0b, 0, 0, x0, t0, x0
  csrr s0, mhartid
  slli t0, s0, 10
  li sp, {TOP:#x}
  sub sp, sp, t0
  addi t0, sp, -{BYTES}
  csrw 0x7c1, t0
  li t0, {BYTES}
  csrw 0x7c2, t0
  li s1, 5
"""
"""Every lane of every warp with a stack of 1 KiB; lane n's ends at TOP - 1024 n."""
ONE_LANE = "bne s0, s1, 2f\n"

GOOD = {
    "to the last byte": f"addi sp, sp, -{BYTES}\nsw s0, 0(sp)\naddi sp, sp, {BYTES}\n",
    "loaded": "addi sp, sp, -16\nsw sp, 0(sp)\nlw sp, 0(sp)\n",
}
BAD = {
    "too deep": f"at: addi sp, sp, -{BYTES + 16}\n",
    "recursion": "f: addi t2, sp, 0\nat: addi sp, sp, -48\nsw t2, 0(sp)\nj f\n",
    "half a gibibyte": "li t0, 0x20000000\nat: sub sp, sp, t0\n",
    "three gibibytes": "li t0, 0xc0000000\nat: sub sp, sp, t0\n",
    "above": "at: addi sp, sp, 16\n",
    "multiplied": "li t0, 3\nmv t1, sp\nat: mul sp, t1, t0\n",
}


def assembly(text: str) -> ElfProgram:
    return program(".section .text.init\n.globl _start\n.globl at\n_start:\n" + text)


def run(elf: ElfProgram) -> tuple[SimulatedCluster, IsaModel]:
    cluster, model = SimulatedCluster(TWO, trace=True), IsaModel(config_of(TWO))
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(20_000) is Stop.IDLE
    model.load(elf)
    model.start(elf.entry)
    model.run(20_000)
    return cluster, model


@pytest.mark.parametrize("name", GOOD)
def test_within_its_stack_a_pointer_moves_as_it_likes(name: str) -> None:
    cluster, model = run(assembly(f"{LANES}{GOOD[name]}{END}"))
    assert not cluster.faults()
    assert not model.run(1).faults


@pytest.mark.parametrize("name", BAD)
def test_outside_it_ends_the_core_and_nothing_is_stored(name: str) -> None:
    elf = assembly(f"{LANES}{ONE_LANE}{BAD[name]}sw s1, 0(sp)\n2: {END}")
    cluster, model = run(elf)
    (fault,) = cluster.faults()
    (wanted,) = model.run(1).faults
    assert (fault.cause, fault.value) == (wanted.cause, wanted.value)
    assert fault.cause == OVERFLOW
    assert fault.pc == wanted.pc == elf.symbols["at"]
    bottom = TOP - 5 * BYTES - BYTES
    assert cluster.read(bottom - 4096, 4096) == bytes(4096), "nothing below the stack"
    assert cluster.read(fault.value & ~63, 64) == bytes(64)


def test_the_next_kernel_has_no_bounds() -> None:
    cluster, _ = run(assembly(f"{LANES}{END}"))
    elf = assembly(f"li sp, 0x100\nli t0, {OUT:#x}\nsw sp, 0(t0)\n{END}")
    cluster.poke(0x04, 0)
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(3000) is Stop.IDLE
    assert not cluster.faults()
    assert cluster.read(OUT, 4) == (0x100).to_bytes(4, "little")
