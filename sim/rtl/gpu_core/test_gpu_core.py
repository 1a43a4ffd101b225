# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The GPU's cores against the model of their instruction set, instruction by instruction and lane by lane.

Longer runs of the same: `python -m eddy_sim.gpu.check --programs 1000`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import FILELIST, Shape, build_cluster
from eddy_sim.gpu.compare import Comparison, compare
from eddy_sim.gpu.conformance import families
from eddy_sim.gpu.random_programs import DATA, SHARED, Options, random_program
from eddy_sim.gpu.run import run_program
from eddy_sim.gpu.stack_model import RESULT, expected, structured_program
from eddy_sim.tools.filelist import read_filelist

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]

SOURCES = lru_cache(maxsize=1)(families)
PLAIN = Shape()
ODD = Shape(2, 3, 3, fpu=False, icache_bytes=64, dcache_bytes=128, local_bytes=4096, starve_bound=17)
REGIONS = ((DATA, 0x4000), (SHARED, 0x20000))


def random_comparison(seed: int, shape: Shape, library: Path | None = None) -> Comparison:
    elf = random_program(seed, Options(shape.threads, shape.warps, shape.fpu))
    stall, latency = seed % 3 * 40, 1 + seed % 7 * 5
    return compare(
        elf, shape, all_cores=True, stall=stall, latency=latency, seed=seed + 1, regions=REGIONS, library=library
    )


@pytest.mark.parametrize("family", list(SOURCES()))
def test_conformance(family: str) -> None:
    result = run_program(program(SOURCES()[family]), PLAIN, latency=5)
    assert (result.ended_by, result.exit_code) == ("tohost", 0), f"test {result.exit_code}"


@pytest.mark.parametrize("shape", [PLAIN, ODD], ids=Shape.name)
def test_random_programs_agree_lane_by_lane(shape: Shape) -> None:
    lanes = 0
    for seed in range(16):
        outcome = random_comparison(seed, shape)
        assert not outcome.difference, f"seed {seed}: {outcome.difference}"
        lanes += outcome.lane_records
    assert lanes > 50_000


def test_structured_programs_agree_with_a_stack_of_masks() -> None:
    for seed in range(16):
        elf, words = structured_program(seed, PLAIN.threads)
        cluster = SimulatedCluster(PLAIN, trace=True)
        cluster.load(elf)
        cluster.start(elf.entry)
        assert cluster.run(1_000_000) is Stop.IDLE
        assert cluster.read(RESULT, 32 * PLAIN.threads) == expected(words, PLAIN.threads), f"seed {seed}"


CYCLES: dict[str, float] = {
    "add a4, a4, a2": 2,
    "jal a4, 9f\n9:": 4,
    "auipc a4, 0\njalr x0, 8(a4)": 2 + 5,
    "beqz x0, 9f\n9:": 4,
    "bnez x0, 9f\n9:": 2,
    "csrr a4, 0xcc0": 3,
    "sw a4, 0(a1)": 2,
    "lw a4, 0(a1)\nadd a5, a4, a4": 3 + 2,
    "lw a4, 0(a1)\nadd a5, a5, a5": 3 + 2,
    "lw a4, 0(a3)\nadd a5, a4, a4": 6 + 2,
    "lw a4, 0(a6)\nadd a5, a4, a4": 3 + 2,
    "mul a4, a2, a2\nadd a5, a4, a4": 3 + 2,
    "mul a4, a2, a2\nadd a5, a5, a5\nadd a5, a5, a5": 3 + 2 + 2,
    "div a4, a2, a2": 26,
    "divu a4, a1, a2": 74,
    "fmadd.s fa2, fa2, fa0, fa0": 6,
    "fmadd.s fa2, fa0, fa0, fa0\nfmadd.s fa3, fa0, fa0, fa0\nfmadd.s fa4, fa0, fa0, fa0": 7.5,
    "fdiv.s fa2, fa0, fa0": 21,
    "bnez t1, 9f\naddi a4, a4, 1\n9: addi a5, a5, 1": 6 + 6 + 2,
}
"""Cycles until the warp's next instruction, as docs/explanations/gpu-cluster.md states them."""
LATENCY_PROGRAM = f"""
.section .text.init
.globl _start
_start:
  li t0, 15
  .insn r 0x0b, 0, 0, x0, t0, x0
  csrr t1, 0xcc0
  li a1, {DATA:#x}
  slli t2, t1, 6
  add a3, a1, t2
  slli t2, t1, 4
  add a6, a1, t2
  slli t2, t1, 2
  add a1, a1, t2
  li a2, 7
  fcvt.s.w fa0, a2
  li s0, 20
1: BODY
  addi s0, s0, -1
  bnez s0, 1b
  .insn r 0x0b, 0, 0, x0, x0, x0
"""


def cycles_of(text: str, copies: int) -> int:
    """Cycles of a loop of twenty turns over copies of some instructions."""
    elf = program(LATENCY_PROGRAM.replace("BODY", "\n".join([text] * copies)))
    cluster = SimulatedCluster(PLAIN, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(100_000) is Stop.IDLE
    return cluster.counters()["cycles"]


@pytest.mark.parametrize("text", list(CYCLES))
def test_instructions_take_the_stated_cycles(text: str) -> None:
    each = (cycles_of(text, 20) - cycles_of(text, 4)) / (20 * 16)
    assert CYCLES[text] <= each < CYCLES[text] + 0.5, "fetching the longer loop takes a part of a cycle"


CSRS = {
    *(0x300, 0x301, 0x304, 0x305, 0x340, 0x341, 0x342, 0x343, 0x344),
    *(0x7C0, 0x7C1, 0x7C2, 0xF11, 0xF12, 0xF13, 0xF14, 0xF15),
    *(0xC00, 0xC02, 0xC80, 0xC82, 0xCC0, 0xCC1, 0xCC2, 0xCC3, 0xCC4, 0xFC0, 0xFC1, 0xFC2, 0xFC3, 0xFD0),
    *(half + n for half in (0xB00, 0xB80) for n in range(32) if n != 1),
}
"""Registers that docs/reference/gpu-csrs.md lists; with floating point three more."""
CSR_PROGRAM = f"""
.section .text.init
.globl _start
_start:
  la t0, trapped
  csrw mtvec, t0
  li a1, {DATA:#x}
  li a2, 1
  li a3, 0
BODY
  .insn r 0x0b, 0, 0, x0, x0, x0
.align 2
trapped:
  sb a2, 0(a1)
  csrr a4, mepc
  addi a4, a4, 4
  csrw mepc, a4
  mret
"""


@pytest.mark.parametrize("shape", [PLAIN, ODD], ids=Shape.name)
@pytest.mark.parametrize("writes", [False, True])
def test_every_number_of_a_register_is_legal_or_traps(shape: Shape, *, writes: bool) -> None:
    """Sets no bits: of x0, which is a read, or of a register that holds zero, which is a write."""
    source = 13 if writes else 0
    body = "\n".join(f".word {n << 20 | source << 15 | 0x2073:#x}\naddi a1, a1, 1" for n in range(4096))
    cluster = SimulatedCluster(shape, trace=True)
    elf = program(CSR_PROGRAM.replace("BODY", body))
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(2_000_000) is Stop.IDLE
    found = cluster.read(DATA, 4096)
    legal = CSRS | ({1, 2, 3} if shape.fpu else set())
    assert {n for n in range(4096) if not found[n]} == {n for n in legal if not (writes and n >> 10 == 3)}


LOAD_THEN_STORE = "\n".join(
    f"lw a4, {64 * k}(a1)\nsw s0, {64 * k}(a1)\nlw a5, {64 * k + 4}(a1)\nadd a5, a5, a4\nsw a5, {64 * k + 4}(a1)"
    for k in range(8)
)
"""A load that misses, a store to the same word behind it, and so on, line by line."""


@pytest.mark.parametrize("stall", [0, 80])
def test_a_load_under_way_does_not_see_the_store_behind_it(stall: int) -> None:
    body = f"{LOAD_THEN_STORE}\nfence\naddi a1, a1, 4"
    outcome = compare(
        program(LATENCY_PROGRAM.replace("BODY", body)), PLAIN, latency=30, stall=stall, regions=((DATA, 0x1000),)
    )
    assert not outcome.difference, outcome.difference


MUTATIONS = [
    ("gpu_lanes.sv", "wide >>> by", "wide >> by"),
    ("gpu_dcache.sv", ".way_i(hit1), .words_o(words)", ".way_i(1'b0), .words_o(words)"),
    ("gpu_group.sv", "if (expired_i) favour = favour & ~group_i;", ""),
    ("gpu_scoreboard.sv", "operation.rd == needs.reads.rs2 ||", ""),
    ("gpu_scoreboard.sv", "executing = look_warp == push_warp && execute_i;", "executing = 1'b0;"),
    ("gpu_core.sv", "|| long_waits || csr)", "|| long_waits)"),
    ("gpu_flow.sv", "if (trap_i[t]) place[t] = There;", "place[t] = There;"),
]


@pytest.mark.mutant
@pytest.mark.parametrize(("file", "old", "new"), MUTATIONS, ids=[f"{f}-{i}" for i, (f, _, _) in enumerate(MUTATIONS)])
def test_mutations_are_found(file: str, old: str, new: str, tmp_path: Path) -> None:
    sources = []
    for path in read_filelist(FILELIST):
        text = path.read_text(encoding="utf-8")
        if path.name == file:
            assert text.count(old) == 1
            text = text.replace(old, new)
        sources.append(tmp_path / path.name)
        sources[-1].write_text(text, encoding="utf-8")
    shape = Shape(1, 2, 3, fpu=False, dcache_bytes=256, local_bytes=4096, starve_bound=17)
    mutant = build_cluster(shape, trace=True, files=tuple(sources), optimise=False)
    assert any(differs(seed, shape, mutant) for seed in range(12))


def differs(seed: int, shape: Shape, mutant: Path) -> bool:
    """Whether the traces do, or an assertion of the RTL fails."""
    try:
        return bool(random_comparison(seed, shape, mutant).difference)
    except AssertionError:
        return True
