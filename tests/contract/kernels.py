# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels for the tests of the board port: a few instructions each, and what they do to whoever runs them."""

from __future__ import annotations

from functools import lru_cache

from eddy.board.port.port import Access, Buffer, Cause, Grant, KernelLaunch, Launch
from eddy.gpu.programs.layout import REGION_BASE
from eddy_sim.gpu.assemble import program

MODULE = "gpu_2c2w2tx"
"""The cluster of the tests: two cores of two warps of two lanes, without floating point (tests/modules)."""
CORES, THREADS = 2, 2
REGION_BYTES = 0x2000
RESULT = 0x1000
"""Where in its region a kernel leaves its results: one word a core."""
LIMIT_S = 5e-3
END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"
LEAVE = f"""
  csrr a1, 0xcc2
  slli a1, a1, 2
  li a2, {REGION_BASE + RESULT:#x}
  add a2, a2, a1
  sw a0, 0(a2)
"""
"""Store a0 where this core's result goes."""

SOURCES = {
    "mark": "csrr a0, mscratch\n" + LEAVE + END,
    "count": "li a3, 3000\n1: addi a3, a3, -1\nbnez a3, 1b\ncsrr a0, mscratch\n" + LEAVE + END,
    "spin": "1: j 1b\n",
    "illegal": "nop\n.word 0xffffffff\n" + END,
    "unknown-csr": "nop\ncsrr a0, 0x123\n" + END,
    "misaligned": f"li a0, {REGION_BASE + RESULT + 1:#x}\nlw a1, 0(a0)\n" + END,
    "ecall": "nop\necall\n" + END,
    "waits": "li a0, 1\nli a1, 2\n.insn r 0x0b, 4, 0, x0, a0, a1\n" + END,
    "deep": "li a0, 64\ncsrw 0x7c2, a0\nlui sp, 1\n1: j 1b\n",
    "store-outside": f"li a0, {REGION_BASE + REGION_BYTES:#x}\nsw a0, 0(a0)\nfence\n1: j 1b\n",
    "load-outside": f"li a0, {REGION_BASE + REGION_BYTES:#x}\nlw a1, 0(a0)\n1: j 1b\n",
    "load-low": "nop\nlw a1, 16(zero)\n1: j 1b\n",
    "jump-outside": "jr zero\n",
    "flood": f"""
  li a2, 0x11e511e5
  li a3, {REGION_BASE + RESULT:#x}
  li a4, {REGION_BASE + REGION_BYTES:#x}
1: mv a0, a3
2: sw a2, 0(a0)
  addi a0, a0, 4
  bne a0, a4, 2b
  j 1b
""",
}
"""Programs by name. `mark` and `count` leave their argument, `count` after some thousand cycles; `flood`
stores without end all over the second page of its region."""

BAD = {
    "illegal": (Cause.ILLEGAL_INSTRUCTION, "illegal"),
    "unknown-csr": (Cause.ILLEGAL_INSTRUCTION, "illegal"),
    "misaligned": (Cause.MISALIGNED_ACCESS, "load_misaligned"),
    "ecall": (Cause.KERNEL_TRAP, "ecall"),
    "waits": (Cause.BARRIER_DEADLOCK, "barrier_deadlock"),
    "deep": (Cause.STACK_OVERFLOW, "stack_overflow"),
    "store-outside": (Cause.WRITE_OUTSIDE_WINDOW, "store_fault"),
    "load-outside": (Cause.READ_OUTSIDE_WINDOW, "load_fault"),
    "load-low": (Cause.READ_OUTSIDE_WINDOW, "load_fault"),
    "jump-outside": (Cause.READ_OUTSIDE_WINDOW, "fetch_fault"),
    "spin": (Cause.TIME_LIMIT, ""),
}
"""What ends the others: the event's cause, and the core's own."""


@lru_cache(maxsize=32)
def code(name: str) -> bytes:
    """The bytes of a program."""
    text = ".section .text.init\n.globl _start\n_start:\n" + SOURCES[name]
    return program(text).segments[0].data


def name_of(data: bytes) -> str:
    """Which program begins some memory; "" where none does."""
    return next((name for name in SOURCES if data.startswith(code(name))), "")


def kernel(
    region: Buffer, item: str = "kernel", argument: int = 7, cores: tuple[int, ...] = (), limit_s: float = LIMIT_S
) -> Launch:
    """The launch of a program that lies at the start of its region."""
    asked = KernelLaunch(region.id, REGION_BASE, argument, cores)
    return Launch(item, (), (Grant(region.id, Access.READ_WRITE),), limit_s, kernel=asked)
