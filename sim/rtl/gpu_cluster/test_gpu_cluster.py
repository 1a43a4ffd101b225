# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A GPU cluster at its slot's boundary: registers, starts, ends, counters, contexts, and what a bad kernel can do."""

from __future__ import annotations

import itertools

import pytest
from eddy_sim.gpu import registers as regs
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.elf import ElfProgram
from eddy_sim.gpu.programs import OUT, A, C, c_program
from eddy_sim.gpu.registers import CORE, CORE_STRIDE

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]

ONE = Shape()
TWO = Shape(2, 3, 3, fpu=False, icache_bytes=64, dcache_bytes=128, local_bytes=4096, starve_bound=17)
ENABLE, IRQ, STATUS, START, CONFIG, SIZES, ARGUMENT = 0x00, 0x04, 0x08, 0x0C, 0x18, 0x1C, 0x24
CONTEXT, PLACE, BASE2, DONE, IRQ_ENABLE = 0x08, 0x0C, 0x18, 0x2C, 0x30
CODE_LAST = 0x8000FFFF
END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"


def assembly(text: str) -> ElfProgram:
    return program(".section .text.init\n.globl _start\n_start:\n" + text)


def core(number: int, register: int) -> int:
    return CORE + CORE_STRIDE * number + register


def word(cluster: SimulatedCluster, address: int) -> int:
    return int.from_bytes(cluster.read(address, 4), "little")


STORE_ARGUMENT = f"csrr a0, mscratch\nli a1, {OUT:#x}\nsw a0, 0(a1)\n" + END


def test_the_module_says_what_it_is() -> None:
    cluster = SimulatedCluster(TWO, trace=True)
    assert cluster.peek(0xF000) == 0x45444459
    assert cluster.peek(0xF004) == 2 << 16 | 0x0100
    assert cluster.peek(CONFIG) == 2 | 3 << 8 | 3 << 16
    assert cluster.peek(SIZES) == 6 | 7 << 8 | 12 << 16
    assert SimulatedCluster(ONE, trace=True).peek(CONFIG) == 1 | 4 << 8 | 4 << 16 | 1 << 24


def test_the_registers_of_table_4_2_run_a_kernel() -> None:
    cluster = SimulatedCluster(TWO, trace=True)
    elf = assembly(STORE_ARGUMENT)
    cluster.load(elf)
    cluster.poke(START, elf.entry)
    cluster.poke(ARGUMENT, 0x1234567)
    assert not cluster.interrupt
    cluster.poke(ENABLE, 1)
    assert cluster.peek(STATUS) == 3, "both cores run"
    assert cluster.peek(ENABLE) == 1
    assert cluster.run(20_000) is Stop.IDLE
    assert cluster.peek(STATUS) == 0
    assert cluster.peek(DONE) == 3
    assert cluster.peek(IRQ) == 1
    assert word(cluster, OUT) == 0x1234567
    cluster.poke(IRQ, 0)
    cluster.peek(STATUS)
    assert not cluster.interrupt
    cluster.poke(DONE, 1)
    assert cluster.peek(DONE) == 2


def test_an_interrupt_for_each_core() -> None:
    cluster = SimulatedCluster(TWO, trace=True)
    short, long = assembly(END), assembly("li a0, 3000\n1: addi a0, a0, -1\nbnez a0, 1b\n" + END)
    cluster.load(short)
    cluster.write(0x90000000, long.segments[0].data)
    cluster.poke(IRQ_ENABLE, 1)
    cluster.poke(core(0, regs.CORE_START), short.entry)
    cluster.poke(core(1, regs.CORE_START), 0x90000000)
    cluster.poke(regs.LAUNCH, 3)
    assert cluster.run(3000) is Stop.IDLE
    assert cluster.peek(STATUS) == 2, "core 1 still runs"
    cluster.poke(IRQ, 0)
    assert cluster.run(40_000) is Stop.LIMIT, "the end of core 1 was not asked for"
    assert cluster.peek(STATUS) == 0


@pytest.mark.parametrize("latency", [1, 300])
def test_all_stores_have_landed_before_the_cluster_idles(latency: int) -> None:
    elf = c_program(
        f"""void kernel(u32 hart) {{
  for (u32 i = 0; i < 40; i++) ((volatile u32 *){OUT:#x}u)[i * 16 + hart] = hart * 64 + i;
}}"""
    )
    cluster = SimulatedCluster(ONE, latency=latency, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(100_000) is Stop.IDLE
    assert cluster.memory_quiet
    for hart in range(16):
        assert [word(cluster, OUT + 4 * (16 * i + hart)) for i in range(40)] == [hart * 64 + i for i in range(40)]


def test_counters_are_consistent_while_running_and_start_from_zero() -> None:
    elf = c_program(
        f"""void kernel(u32 hart) {{
  u32 sum = 0;
  for (u32 i = 0; i < 30 + 10 * (hart & 3); i++) sum = sum * 3 + i;
  ((volatile u32 *){OUT:#x}u)[hart] = sum;
}}"""
    )
    cluster = SimulatedCluster(ONE, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry)
    snapshots = []
    while cluster.run(37) is Stop.LIMIT:
        snapshots.append(cluster.counters())
    snapshots.append(cluster.counters())
    assert len(snapshots) > 10
    for before, after in itertools.pairwise(snapshots):
        lanes = [after[f"cycle_thread_{x}"] for x in range(1, 5)]
        assert sum(lanes) == after["total_active_cycles"] == after["instructions"] <= after["cycles"]
        assert all(after[name] >= before[name] for name in before)
        stalls = sum(after[name] for name in after if name.startswith("stall_"))
        assert stalls <= after["cycles"]
    final = snapshots[-1]
    assert all(final[f"cycle_thread_{x}"] > 0 for x in range(1, 5)), "lanes left the loop one by one"
    cluster.start(elf.entry)
    assert cluster.run(100_000) is Stop.IDLE
    assert cluster.counters()["instructions"] == final["instructions"]
    cluster.poke(IRQ, 0)
    cluster.poke(regs.LAUNCH, 1 | 1 << 31)
    assert cluster.run(100_000) is Stop.IDLE
    assert cluster.counters()["instructions"] == 2 * final["instructions"], "counters kept on request"


@pytest.mark.parametrize("stride", [1, 16])
def test_every_cycle_of_a_core_is_counted_once(stride: int) -> None:
    """Issues, waits by cause and replays are all there is, but for the start and the last stores: also where the lanes
    of a load are in rows of their own, and the cache is busy."""
    elf = c_program(
        f"""void kernel(u32 hart) {{
  u32 sum = 0;
  const volatile u32 *from = (const volatile u32 *){A:#x}u + hart * {stride};
  for (u32 i = 0; i < 60; i++) {{
    u32 a = from[0], b = from[1], c = from[2], d = from[3];
    sum += a ^ b ^ c ^ d;
  }}
  ((volatile u32 *){OUT:#x}u)[hart] = sum;
}}"""
    )
    cluster = SimulatedCluster(ONE, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(100_000) is Stop.IDLE
    counted = cluster.counters()
    causes = [name for name in counted if name.startswith("stall_")]
    known = counted["total_active_cycles"] + counted["replays"] + sum(counted[name] for name in causes)
    assert 0 <= counted["cycles"] - known < 100
    assert counted["cycles"] > 1000
    if stride > 1:
        assert counted["replays"] > counted["cycles"] / 10


def test_a_kernel_leaves_nothing_behind() -> None:
    dirty = "".join(f"li x{k}, -1\nfmv.w.x f{k}, x{k}\n" for k in range(1, 32))
    dirty += "csrw mtvec, x1\ncsrw mepc, x1\nli a0, 0xffff0000\nsw x1, 64(a0)\nfence\n" + END
    check = "li a0, 0xffff0000\nlw a1, 64(a0)\nor x31, x31, a1\ncsrr a1, mtvec\nor x31, x31, a1\n"
    check += "csrr a1, mepc\nor x31, x31, a1\n"
    check += "".join(f"or x31, x31, x{k}\n" for k in range(12, 31))
    check += "".join(f"fmv.x.w a1, f{k}\nor x31, x31, a1\n" for k in range(32))
    cluster = SimulatedCluster(ONE, trace=True)
    for text in (dirty, check + f"li a0, {OUT:#x}\naddi x31, x31, 1\nsw x31, 0(a0)\n" + END):
        elf = assembly(text)
        cluster.load(elf)
        cluster.start(elf.entry)
        assert cluster.run(20_000) is Stop.IDLE
        assert not cluster.faults()
    assert word(cluster, OUT) == 1


def test_caches_do_not_survive_a_kernel() -> None:
    """The host changes memory between two kernels, and the second sees it."""
    elf = assembly(f"li a0, {A:#x}\nlw a1, 0(a0)\nli a2, {OUT:#x}\nsw a1, 0(a2)\n" + END)
    cluster = SimulatedCluster(ONE, trace=True)
    cluster.load(elf)
    for value in (5, 7):
        cluster.write(A, value.to_bytes(4, "little"))
        cluster.start(elf.entry)
        assert cluster.run(20_000) is Stop.IDLE
        assert word(cluster, OUT) == value


BAD_KERNELS = {
    "load outside": (f"li a0, {A:#x}\nlw a1, 8(a0)\n", 5, A),
    "store outside": (f"li a0, {A:#x}\nsw a0, 8(a0)\nfence\n", 7, A),
    "fetch outside": (f"li a0, {A:#x}\njr a0\n", 1, A),
    "illegal instruction": (".word 0xffffffff\n", 2, 0xFFFFFFFF),
    "floating point without a unit": ("fadd.s fa0, fa0, fa0, rne\n", 2, 0x00A50553),
    "unknown CSR": ("csrr a0, 0x123\n", 2, 0x12302573),
    "misaligned load": (f"li a0, {OUT:#x}\nlh a1, 1(a0)\n", 4, OUT + 1),
    "misaligned store": (f"li a0, {OUT:#x}\nsw a1, 2(a0)\n", 6, OUT + 2),
    "misaligned jump": ("la a0, _start+2\njr a0\n", 0, 0x80000002),
    "environment call": ("ecall\n", 11, 0),
    "breakpoint": ("ebreak\n", 3, 0),
}
GOOD = f"li a0, 2000\n1: addi a0, a0, -1\nbnez a0, 1b\nli a1, {C:#x}\nli a2, 77\nsw a2, 0(a1)\n" + END


def two_tenants(bad: str) -> tuple[SimulatedCluster, ElfProgram, ElfProgram]:
    """Core 0 with a bad kernel in context 1, core 1 with a good one in context 2, each in its own windows."""
    cluster = SimulatedCluster(TWO, trace=True)
    wrong, right = assembly(bad + "1: j 1b\n"), assembly(GOOD)
    cluster.load(wrong)
    cluster.write(0x90000000, right.segments[0].data)
    for first, last, context in (
        (0x80000000, CODE_LAST, 1),
        (OUT, OUT + 0xFFF, 1),
        (0x90000000, 0x90000FFF, 2),
        (C, C + 4095, 2),
    ):
        cluster.window(first, last, 1 << context)
    for number, entry in ((0, wrong.entry), (1, 0x90000000)):
        cluster.poke(core(number, regs.CORE_START), entry)
        cluster.poke(core(number, CONTEXT), number + 1)
        cluster.poke(core(number, PLACE), 1 << 8)
    cluster.poke(regs.LAUNCH, 3)
    return cluster, wrong, right


@pytest.mark.parametrize("name", list(BAD_KERNELS))
def test_a_bad_kernel_ends_with_its_cause_and_harms_nobody(name: str) -> None:
    text, cause, value = BAD_KERNELS[name]
    cluster, _, _ = two_tenants(text)
    assert cluster.run(60_000) is Stop.IDLE
    (fault,) = cluster.faults()
    assert (fault.core, fault.cause, fault.value) == (0, cause, value)
    assert word(cluster, C) == 77
    assert not any(cluster.read(A, 64)), "what was refused did not land"


def test_an_endless_loop_is_halted_and_its_neighbour_is_not() -> None:
    cluster, _, _ = two_tenants("")
    assert cluster.run(3_000) is Stop.LIMIT
    cluster.poke(regs.HALT, 1)
    assert cluster.run(200) is Stop.LIMIT
    assert cluster.peek(STATUS) == 2, "core 0 has stopped, core 1 runs"
    assert cluster.run(60_000) is Stop.IDLE
    assert not cluster.faults()
    assert word(cluster, C) == 77


def test_a_core_is_halted_before_it_has_begun() -> None:
    cluster, _, _ = two_tenants("")
    cluster.poke(regs.HALT, 3)
    assert cluster.run(1_000) is Stop.IDLE, "both were still being cleared"
    assert cluster.counters(0)["instructions"] == 0
    assert word(cluster, C) == 0


def test_a_core_that_was_halted_runs_again() -> None:
    cluster, _, _ = two_tenants("")
    cluster.run(1_000)
    cluster.poke(ENABLE, 2)
    assert cluster.run(5_000) is Stop.IDLE
    assert cluster.peek(STATUS) == 0
    cluster.poke(IRQ, 0)
    cluster.poke(regs.LAUNCH, 2)
    assert cluster.run(60_000) is Stop.IDLE
    assert word(cluster, C) == 77


def test_a_base_page_moves_a_quarter_of_the_address_space() -> None:
    cluster = SimulatedCluster(ONE, trace=True)
    elf = assembly(STORE_ARGUMENT)
    cluster.write(0x12345000, elf.segments[0].data)
    cluster.poke(core(0, BASE2), 0x12345)
    cluster.start(0x80000000, argument=99)
    assert cluster.run(20_000) is Stop.IDLE
    assert word(cluster, 0x12345000 + OUT - 0x80000000) == 99


def test_registers_of_a_running_core_cannot_be_written() -> None:
    cluster, wrong, _ = two_tenants("")
    cluster.poke(core(0, CONTEXT), 5)
    cluster.poke(core(0, regs.CORE_START), 0x1000)
    assert cluster.peek(core(0, CONTEXT)) == 1
    assert cluster.peek(core(0, regs.CORE_START)) == wrong.entry


def test_what_is_not_there_reads_zero() -> None:
    cluster = SimulatedCluster(ONE, trace=True)
    for offset in (0x38, 0xFC, CORE + CORE_STRIDE, 0x3FC, 0x800, 0xEFFC, 0xF010):
        cluster.poke(offset, 0xFFFFFFFF)
        assert cluster.peek(offset) == 0
