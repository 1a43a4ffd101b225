# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lanes that part come together again, barriers count warps and not lanes, and nobody waits for ever."""

from __future__ import annotations

import numpy as np
import pytest
from eddy_sim.gpu.assemble import C_FLAGS, program
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.programs import OUT, c_program

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]

ONE = Shape()
ODD = Shape(2, 3, 3, fpu=False, icache_bytes=64, dcache_bytes=128, local_bytes=4096, starve_bound=17)
LEVELS = ("-O1", "-O2", "-O3", "-Os")
AFTER = 40
"""Instructions of the marked stretch that all lanes execute behind each construct."""

MARKED = '__asm__ volatile(".globl after\\nafter: .rept 40\\n nop\\n .endr" ::: "memory");'
OUTPUT = f"volatile u32 *const out = (volatile u32 *){OUT:#x}u;"

CONSTRUCTS = {
    "if_else": "u32 x = hart; if (hart & 1) x = x * 5 + out[64]; else x = x / 3 + out[65];",
    "trip_counts": "u32 x = 1; for (u32 i = 0; i < 5 + 3 * (hart & 3); i++) x = x * 3 + out[64];",
    "calls": "u32 x = hart & 1 ? first(hart) : second(hart);",
    "early_return": "u32 x = early(hart);",
    "switch": "u32 x; switch (hart & 3) { case 0: x = out[64]; break; case 1: x = out[65] * 7; break; "
    "case 2: x = out[66] / 3; break; default: x = hart ^ out[67]; }",
    "nested": "u32 x = 0; for (u32 i = 0; i < (hart & 3) + 1; i++) { if (i & 1) x += out[64 + i]; else "
    "{ for (u32 k = 0; k < hart % 3; k++) x = x * 5 + out[k + 64]; } }",
}
HELPERS = f"""
__attribute__((noinline)) static u32 first(u32 x) {{ {OUTPUT} for (u32 i = 0; i < 3; i++) x += out[64 + i]; return x; }}
__attribute__((noinline)) static u32 second(u32 x) {{ {OUTPUT} return x * out[65] + 3; }}
__attribute__((noinline)) static u32 early(u32 x) {{
  {OUTPUT}
  if (x & 1) return out[66];
  if (x & 2) return x * 3;
  return out[64] + 2;
}}
u32 use(u32 x) {{ return first(x) + second(x) + early(x); }}
"""


def run(source: str, level: str, shape: Shape = ONE, label: str = "after") -> tuple[SimulatedCluster, int]:
    """A program of a C source that ran to its end, and the address of a label of it."""
    elf = c_program(source, (level, *C_FLAGS[1:]))
    cluster = SimulatedCluster(shape, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(400_000) is Stop.IDLE
    assert not cluster.faults()
    return cluster, elf.symbols.get(label, 0)


def words(cluster: SimulatedCluster, count: int) -> list[int]:
    """The first results."""
    return [int(x) for x in np.frombuffer(cluster.read(OUT, 4 * count), np.uint32)]


COPIED = {("switch", "-O3")}
"""Here the compiler copies what follows into every branch: the next common instruction is the caller's."""


@pytest.mark.parametrize(("name", "level"), [(n, o) for n in CONSTRUCTS for o in LEVELS if (n, o) not in COPIED])
def test_the_full_mask_executes_the_next_common_instruction(name: str, level: str) -> None:
    cluster, after = run(
        f"{HELPERS} void kernel(u32 hart) {{ {OUTPUT} {CONSTRUCTS[name]} {MARKED} out[hart] = x; }}", level
    )
    trace = cluster.trace()
    masks = trace["mask"][trace["pc"] == after]
    assert masks.tolist() == [15] * ONE.warps, "every warp executes it once, with every lane"
    counters = cluster.counters()
    assert counters["cycle_thread_4"] >= AFTER * ONE.warps
    parted = sum(counters[f"cycle_thread_{x}"] for x in (2, 3)) + counters["cycle_thread_1"]
    assert parted > 5 * ONE.warps, "and the lanes had parted before"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", list(CONSTRUCTS))
def test_lanes_are_together_in_the_caller_whatever_the_compiler_copied(name: str, level: str) -> None:
    cluster, after = run(
        f"{HELPERS} void kernel(u32 hart) {{ {OUTPUT} {CONSTRUCTS[name]} out[hart] = x; }}", level, label="finished"
    )
    trace = cluster.trace()
    assert trace["mask"][trace["pc"] == after].tolist() == [15] * ONE.warps


BARRIERS = {
    "plain": "work(hart);",
    "unlikely block behind the return": "if (__builtin_expect(hart & 1, 0)) { work(hart * 3); work(hart); } "
    "else work(hart);",
    "different trip counts": "for (u32 i = 0; i < (hart & 3) * 4; i++) work(i);",
}


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
@pytest.mark.parametrize("name", list(BARRIERS))
def test_no_lane_passes_a_barrier_before_all_have_come(name: str, level: str) -> None:
    """Before each of eight barriers every lane stores its round; behind it, it reads every other lane's."""
    cluster, _ = run(
        f"""
__attribute__((noinline)) static void work(u32 x) {{ {OUTPUT} for (u32 i = 0; i < (x & 7); i++) out[64 + x]; }}
void kernel(u32 hart) {{
  {OUTPUT}
  u32 bad = 0;
  for (u32 round = 1; round <= 8; round++) {{
    {BARRIERS[name]}
    out[16 + hart] = round;
    barrier(round & 3, 4);
    for (u32 k = 0; k < 16; k++) bad += out[16 + k] != round;
    barrier(4 + (round & 3), 4);
  }}
  out[hart] = 100 + bad;
}}""",
        level,
    )
    assert words(cluster, 16) == [100] * 16


def test_a_barrier_counts_a_warp_when_all_its_live_lanes_have_come() -> None:
    """One lane of each warp ends before the barrier, in one block; another comes late."""
    text = f"""
.section .text.init
.globl _start
_start:
  li t0, 4
  la t1, 1f
  .insn r 0x0b, 1, 0, x0, t0, t1
1: li t0, 15
  .insn r 0x0b, 0, 0, x0, t0, x0
  csrr a0, mhartid
  andi a1, a0, 3
  li a2, {OUT:#x}
  slli a3, a0, 2
  add a3, a2, a3
  li a4, 2
  beq a1, a4, late
  li a4, 1
  beq a1, a4, ends
arrive:
  li a5, 1
  sw a5, 0(a3)
  fence
  li t0, 7
  li t1, 4
  .insn r 0x0b, 4, 0, x0, t0, t1
  lw a5, 8(a2)
  lw a6, 24(a2)
  add a5, a5, a6
  sw a5, 256(a3)
  .insn r 0x0b, 0, 0, x0, x0, x0
late:
  li a6, 50
2: addi a6, a6, -1
  bnez a6, 2b
  j arrive
ends:
  .insn r 0x0b, 0, 0, x0, x0, x0
"""
    elf = program(text)
    cluster = SimulatedCluster(ONE, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(20_000) is Stop.IDLE
    behind = np.frombuffer(cluster.read(OUT + 256, 64), np.uint32).tolist()
    assert behind == [0 if k % 4 == 1 else 2 for k in range(16)], "who passed saw the late lanes of warps 0 and 1"


def test_lanes_that_spin_for_others_of_their_warp_do_not_starve_them() -> None:
    """The spinning lanes have the lower program counter; without a bound they would go first for ever."""
    cluster, _ = run(
        f"""void kernel(u32 hart) {{
  {OUTPUT}
  if (hart % 3) while (!out[32 + hart / 3]) {{ }}
  else {{ out[32 + hart / 3] = 1; __asm__ volatile("fence" ::: "memory"); }}
  out[hart] = 9;
}}""",
        "-O1",
        ODD,
    )
    assert words(cluster, 9) == [9] * 9


def test_a_lock_taken_lane_by_lane_does_not_hang() -> None:
    """Each lane waits for its turn, in the order that is worst for the lowest program counter first."""
    cluster, _ = run(
        f"""void kernel(u32 hart) {{
  {OUTPUT}
  const u32 lane = hart % 3;
  while (out[32] != 2 - lane && hart < 3) {{ }}
  if (hart < 3) {{ out[33] = out[33] * 10 + lane + 1; out[32] = out[32] + 1; }}
  out[hart] = 4;
}}""",
        "-O2",
        ODD,
    )
    assert words(cluster, 9) == [4] * 9
    assert int.from_bytes(cluster.read(OUT + 132, 4), "little") == 321


def test_locks_pass_from_lane_to_lane_long_before_the_bound() -> None:
    """Eight atomic accesses of those that spin, not 4,096 instructions, let the lane with the lock go on."""
    cluster, _ = run(
        f"""static u32 swap(volatile u32 *at, u32 value) {{
  u32 old;
  __asm__ volatile(".insn r 0x2f, 2, 4, %0, %1, %2" : "=r"(old) : "r"(at), "r"(value) : "memory");
  return old;
}}
void kernel(u32 hart) {{
  {OUTPUT}
  for (u32 k = 0; k < 3; k++) {{
    while (swap(&out[32 + (k & 1)], 1)) {{ }}
    __asm__ volatile("fence" ::: "memory");
    out[40 + (k & 1)] += hart;
    __asm__ volatile("fence" ::: "memory");
    swap(&out[32 + (k & 1)], 0);
  }}
}}""",
        "-O2",
    )
    assert np.frombuffer(cluster.read(OUT + 160, 8), np.uint32).tolist() == [240, 120]
    assert cluster.cycles < 100_000


def test_barriers_across_cores() -> None:
    """Bit 31 of the id: both cores' warps meet, eight times, at uneven speeds."""
    elf = c_program(
        f"""void kernel(u32 hart) {{
  {OUTPUT}
  u32 bad = 0;
  for (u32 round = 1; round <= 8; round++) {{
    for (u32 i = 0; i < (hart / 9 ? 20 : 1) * (round & 3); i++) out[100 + hart];
    out[32 + hart] = round;
    __asm__ volatile("fence" ::: "memory");
    barrier(0x80000000u | (round & 1), 6);
    for (u32 k = 0; k < 18; k++) bad += out[32 + k] < round;
    __asm__ volatile("fence" ::: "memory");
    barrier(0x80000002u | (round & 1), 6);
  }}
  out[hart] = 100 + bad;
}}"""
    )
    cluster = SimulatedCluster(ODD, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry, cores=(0, 1))
    assert cluster.run(400_000) is Stop.IDLE
    assert words(cluster, 18) == [100] * 18


def test_warps_are_started_again_when_they_have_ended() -> None:
    text = f"""
.section .text.init
.globl _start
_start:
  li s0, 3
1: li t0, 4
  la t1, other
  .insn r 0x0b, 1, 0, x0, t0, t1
  addi s0, s0, -1
  bnez s0, 1b
  .insn r 0x0b, 0, 0, x0, x0, x0
other:
  csrr a0, 0xcc1
  slli a0, a0, 2
  li a1, {OUT:#x}
  add a1, a1, a0
  lw a2, 0(a1)
  addi a2, a2, 1
  sw a2, 0(a1)
  csrr a3, mscratch
  sw a3, 64(a1)
  .insn r 0x0b, 0, 0, x0, x0, x0
"""
    elf = program(text)
    cluster = SimulatedCluster(ONE, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry, argument=0x777)
    assert cluster.run(20_000) is Stop.IDLE
    assert words(cluster, 4) == [0, 3, 3, 3]
    assert [int.from_bytes(cluster.read(OUT + 64 + 4 * k, 4), "little") for k in (1, 2, 3)] == [0x777] * 3


def test_every_byte_stored_to_the_console_arrives() -> None:
    hello = "".join(f"li a0, {ord(c)}\nsb a0, 0(a1)\n" for c in "hello, hello")
    elf = program(
        ".section .text.init\n.globl _start\n_start:\nli a1, 0x40\n"
        + hello
        + "li a0, 3\nli a1, 0x88\nsw a0, 0(a1)\n1: j 1b\n"
    )
    cluster = SimulatedCluster(ONE, trace=True)
    cluster.load(elf)
    cluster.start(elf.entry)
    assert cluster.run(20_000) is Stop.EXIT
    assert (cluster.console(), cluster.exit_code) == ("hello, hello", 3)
