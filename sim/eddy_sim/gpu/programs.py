# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Small programs in C for tests and benchmarks: every lane of every warp calls `kernel(hart)`, then all end."""

from __future__ import annotations

from collections.abc import Sequence

from eddy_sim.gpu.assemble import C_FLAGS, program
from eddy_sim.gpu.elf import ElfProgram

EVERY_LANE = """
.section .text.init
.globl _start
_start:
  csrr t0, 0xfc1
  la t1, 1f
  .insn r 0x0b, 1, 0, x0, t0, t1
1: li t0, -1
  .insn r 0x0b, 0, 0, x0, t0, x0
"""
"""The beginning: warp 0 starts all others, and every warp all its lanes."""

START = (
    EVERY_LANE
    + """  csrr a0, mhartid
  slli t0, a0, 10
  li sp, 0xf0000000
  sub sp, sp, t0
  call kernel
.globl finished
finished:
  .insn r 0x0b, 0, 0, x0, x0, x0
"""
)
"""All warps, all lanes, a stack of 1 KiB each below 0xf0000000."""

PRELUDE = """
typedef unsigned u32;
#define CSR(n) ({ u32 v; __asm__ volatile("csrr %0, " #n : "=r"(v)); v; })
__attribute__((unused)) static inline void barrier(u32 id, u32 warps) {
  __asm__ volatile(".insn r 0x0b, 4, 0, x0, %0, %1" :: "r"(id), "r"(warps) : "memory");
}
#define MARK(name) __asm__ volatile(".globl " #name "\\n" #name ":" ::: "memory")
"""

OUT, A, B, C = 0x81000000, 0x82000000, 0x83000000, 0x84000000
"""Where programs find their data, by convention."""

FLOAT_LOOP = (
    EVERY_LANE
    + """  csrr t1, mhartid
  fcvt.s.w fa0, t1
  li t2, 1000000
  li t3, 0x3f000000
  fmv.w.x fa1, t3
  fmv.w.x fa2, t3
2: fmadd.s fa0, fa0, fa1, fa2
  fmul.s fa3, fa0, fa1
  fadd.s fa4, fa3, fa2
  fmadd.s fa5, fa4, fa1, fa0
  addi t2, t2, -1
  bnez t2, 2b
  .insn r 0x0b, 0, 0, x0, x0, x0
"""
)
"""Four dependent floating-point operations, a decrement and a branch, a million times in every lane."""

VECADD = """
void kernel(u32 hart) {
  const float *a = (const float *)0x82000000u, *b = (const float *)0x83000000u;
  float *c = (float *)0x84000000u;
  const u32 lanes = CSR(0xfc0) * CSR(0xfc1) * CSR(0xfc2), n = *(const u32 *)0x81000000u;
  for (u32 i = hart; i < n; i += lanes) c[i] = a[i] + b[i];
}
"""
"""c = a + b, n elements; n at OUT."""

SGEMM = """
void kernel(u32 hart) {
  const float *a = (const float *)0x82000000u, *b = (const float *)0x83000000u;
  float *c = (float *)0x84000000u;
  const u32 lanes = CSR(0xfc0) * CSR(0xfc1) * CSR(0xfc2), n = *(const u32 *)0x81000000u;
  for (u32 i = hart; i < n * n; i += lanes) {
    const float *x = a + i / n * n, *y = b + i % n, *const end = x + n;
    float sum = 0;
#pragma clang loop unroll_count(4)
    for (; x != end; x++, y += n) __asm__("fmadd.s %0, %1, %2, %0" : "+f"(sum) : "f"(*x), "f"(*y));
    c[i] = sum;
  }
}
"""
"""c = a b, n by n, a lane an element; n at OUT."""


def c_program(source: str, flags: Sequence[str] = C_FLAGS) -> ElfProgram:
    """A program whose lanes call the `kernel` of a C source."""
    return program(START, PRELUDE + source, flags)
