# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Atomic accesses of many lanes, warps and cores to few words: nothing is lost, done twice or torn, nobody starves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from eddy_sim.gpu import registers as regs
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.programs import OUT, A, c_program
from eddy_sim.gpu.registers import CORE, CORE_STRIDE

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]

TWO = Shape(2, 3, 3, fpu=False, icache_bytes=64, dcache_bytes=128, local_bytes=4096, starve_bound=17)
LARGE = Shape(2, 8, 8, fpu=False, l2_bytes=1024, starve_bound=100)
PLACE = 0x0C
TURNS = 4
AMO = """
#define AMO(op, at, x) ({ u32 o_; \\
  __asm__ volatile(".insn r 0x2f, 2, " #op " << 2, %0, %1, %2" : "=r"(o_) : "r"(at), "r"(x) : "memory"); o_; })
__attribute__((unused)) static inline u32 cas(u32 at, u32 old, u32 new) {
  __asm__ volatile(".insn r 0x2f, 2, 5 << 2, %0, %1, %2" : "+r"(old) : "r"(at), "r"(new) : "memory");
  return old;
}
"""
CONTENDED = f"""
void kernel(u32 hart) {{
  u32 *const out = (u32 *)({OUT:#x}u + {16 * TURNS}u * hart);
  for (u32 i = 0; i < {TURNS}; i++) {{
    out[4 * i] = AMO(0, {A:#x}u, 1);
    out[4 * i + 1] = *(volatile u32 *){A:#x}u;
    out[4 * i + 2] = AMO(1, {A + 8:#x}u, {TURNS} * hart + i + 1);
    if (hart + i & 1) {{
      AMO(20, {A + 12:#x}u, hart * 7 + i);
      u32 seen = *(volatile u32 *){A + 16:#x}u;
      for (;;) {{
        const u32 old = cas({A + 16:#x}u, seen, seen + 3);
        if (old == seen) break;
        seen = old;
      }}
    }} else {{
      AMO(8, {A + 0x1000:#x}u + 64 * (hart & 3), 1u << (hart >> 2 & 31));
    }}
    out[4 * i + 3] = AMO(0, {A + 0x2000:#x}u + 4 * (hart % 5) + 512 * (hart % 3), 1);
  }}
}}
"""


def start(cluster: SimulatedCluster, entry: int, cores: Iterable[int]) -> None:
    """A launch on cores that know of each other."""
    count = len(tuple(cores))
    for place, core in enumerate(cores):
        cluster.poke(CORE + CORE_STRIDE * core + PLACE, place | count << 8)
    cluster.start(entry, cores=cores)


def words(cluster: SimulatedCluster, address: int, count: int) -> list[int]:
    return [int(x) for x in np.frombuffer(cluster.read(address, 4 * count), np.uint32)]


@pytest.mark.parametrize(("shape", "latency", "stall"), [(TWO, 5, 60), (TWO, 40, 0), (LARGE, 20, 30)])
def test_every_access_counts_once_among_cores(shape: Shape, latency: int, stall: int) -> None:
    elf = c_program(AMO + CONTENDED)
    cluster = SimulatedCluster(shape, latency=latency, trace=True)
    cluster.stall(stall, 3)
    cluster.load(elf)
    start(cluster, elf.entry, (0, 1))
    assert cluster.run(8_000_000) is Stop.IDLE
    assert not cluster.faults()
    harts = 2 * shape.warps * shape.threads
    got = np.array(words(cluster, OUT, 4 * TURNS * harts)).reshape(harts, TURNS, 4)
    tickets, seen, swapped = (got[:, :, k].ravel().tolist() for k in range(3))
    assert sorted(tickets) == list(range(TURNS * harts)), "every ticket is given once"
    assert all(now > mine for now, mine in zip(seen, tickets, strict=True)), "a load sees the core's own access"
    assert all(list(row) == sorted(row) for row in got[:, :, 0].tolist())
    ids = [TURNS * hart + i + 1 for hart in range(harts) for i in range(TURNS)]
    last = words(cluster, A + 8, 1)
    assert Counter(swapped + last) == Counter([0, *ids]), "what was swapped in comes out once"
    odd = [(hart, i) for hart in range(harts) for i in range(TURNS) if (hart + i) & 1]
    assert words(cluster, A + 12, 2) == [max(hart * 7 + i for hart, i in odd), 3 * len(odd)]
    for line in range(4):
        bits = {hart >> 2 & 31 for hart in range(harts) if hart & 3 == line}
        assert words(cluster, A + 0x1000 + 64 * line, 1) == [sum(1 << bit for bit in bits)]
    scattered = Counter((hart % 5, hart % 3) for hart in range(harts))
    for (word, line), count in scattered.items():
        assert words(cluster, A + 0x2000 + 4 * word + 512 * line, 1) == [TURNS * count]


LOCAL = f"""
void kernel(u32 hart) {{
  const u32 core = CSR(0xcc2), base = 0xffff0000u;
  u32 *const out = (u32 *){OUT:#x}u;
  for (u32 i = 0; i < 5; i++) out[5 * hart + i] = AMO(0, base + 4 * (i & 1), 1);
  AMO(4, base + 64 + 4 * (hart % 7), 1u << (hart & 31));
  barrier(1, CSR(0xfc1));
  if (CSR(0xcc1) == 0) ((u32 *){A:#x}u)[8 * core + CSR(0xcc0)] = *(volatile u32 *)(base + 4 * CSR(0xcc0));
}}
"""


def test_local_memory_of_a_core_is_its_own() -> None:
    elf = c_program(AMO + LOCAL)
    cluster = SimulatedCluster(TWO, trace=True)
    cluster.load(elf)
    start(cluster, elf.entry, (0, 1))
    assert cluster.run(400_000) is Stop.IDLE
    got = np.array(words(cluster, OUT, 5 * 18)).reshape(2, 9, 5)
    for core in range(2):
        assert sorted(got[core][:, ::2].ravel().tolist()) == list(range(27))
        assert sorted(got[core][:, 1::2].ravel().tolist()) == list(range(18))
        assert words(cluster, A + 32 * core, 3) == [27, 18, 0]


LAST_ONE_SUMS = f"""
void kernel(u32 hart) {{
  volatile u32 *const parts = (volatile u32 *){OUT:#x}u, *const sum = (volatile u32 *){A + 64:#x}u;
  const u32 harts = CSR(0xfc0) * CSR(0xfc1) * CSR(0xfc2);
  u32 before = 0;
  for (u32 k = 0; k < harts; k++) before += parts[k];
  parts[hart] = hart + 1;
  __asm__ volatile("fence" ::: "memory");
  if (AMO(0, {A:#x}u, 1) != harts - 1) return;
  __asm__ volatile("fence" ::: "memory");
  u32 total = 0;
  for (u32 k = 0; k < harts; k++) total += parts[k];
  sum[0] = total;
  sum[1] = before;
}}
"""


@pytest.mark.parametrize("shape", [TWO, LARGE], ids=["no second level", "second level"])
def test_fences_around_a_counter_show_what_others_stored(shape: Shape) -> None:
    elf = c_program(AMO + LAST_ONE_SUMS)
    cluster = SimulatedCluster(shape, trace=True)
    cluster.load(elf)
    start(cluster, elf.entry, (0, 1))
    assert cluster.run(2_000_000) is Stop.IDLE
    harts = 2 * shape.warps * shape.threads
    assert words(cluster, A + 64, 1) == [harts * (harts + 1) // 2]


def assembly(text: str) -> str:
    return ".section .text.init\n.globl _start\n_start:\n" + text


END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"
ADD = ".insn r 0x2f, 2, 0, a0, a1, a2\n"
FAULTS = {
    "misaligned": (f"li a1, {A + 2:#x}\n{ADD}{END}", 6, A + 2),
    "refused": (f"li a1, 0x40000044\n{ADD}{END}", 7, 0x40000040),
    "load-reserved": (
        f"li a1, {A:#x}\n.insn r 0x2f, 2, 8, a0, a1, x0\n{END}",
        2,
        2 << 27 | 11 << 15 | 2 << 12 | 10 << 7 | 0x2F,
    ),
    "double words": (
        f"li a1, {A:#x}\n.insn r 0x2f, 3, 0, a0, a1, a2\n{END}",
        2,
        12 << 20 | 11 << 15 | 3 << 12 | 10 << 7 | 0x2F,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_may_not_be_faults_with_its_cause(name: str) -> None:
    text, cause, value = FAULTS[name]
    cluster = SimulatedCluster(TWO, trace=True)
    cluster.window(0x80000000, 0x8000FFFF)
    cluster.window(A, A + 0xFFF)
    elf = program(assembly(text))
    cluster.load(elf)
    cluster.write(0x40000040, bytes(range(64)))
    cluster.start(elf.entry)
    assert cluster.run(20_000) is Stop.IDLE
    (fault,) = cluster.faults()
    assert (fault.cause, fault.value) == (cause, value)
    assert cluster.read(0x40000040, 64) == bytes(range(64))


FOR_EVER = f"li a1, {A:#x}\nli a2, 1\n1: {ADD}addi a3, a3, 1\nj 1b\n"


@pytest.mark.parametrize("cycles", range(1100, 1160, 7))
def test_a_core_that_is_stopped_gives_its_lock_back(cycles: int) -> None:
    """Whenever it is stopped, what it had begun is whole, and the other core goes on."""
    cluster = SimulatedCluster(TWO, trace=True, latency=30)
    forever = program(assembly(FOR_EVER))
    cluster.load(forever)
    start(cluster, forever.entry, (0, 1))
    cluster.run(cycles)
    cluster.poke(regs.HALT, 1)
    while cluster.peek(0x08) & 1:
        cluster.poke(0x04, 0)
        cluster.run(500)
    before = words(cluster, A, 1)[0]
    cluster.poke(0x04, 0)
    cluster.run(1000)
    after = words(cluster, A, 1)[0]
    assert 0 < before < after
    assert not cluster.faults()
