# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""From context to context of one GPU cluster: a core that reads lines or nothing, and another that reads and looks at
its counter of cycles.

The cluster is RTL in front of the model of the memory; each core has a context and a region of its own. Kernels are
written in assembly, as short as they get.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from channels.decoder import ListenerAccesses
from eddy.board.port.profile import Dram
from eddy.gpu.programs.layout import REGION_BASE
from eddy_sim.boards.dram import dram_parameters
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.dram_cluster import DramCluster, build_dram_cluster

SHAPE = Shape(2, 2, 2, fpu=False, icache_bytes=1024, dcache_bytes=1024, local_bytes=4096, l2_bytes=4096)
"""Two of the six cores of bitstreams/slowdown/gpu_6c2w2tx, with its caches."""
L1_WAY_BYTES, L2_WAY_BYTES = SHAPE.dcache_bytes // 2, SHAPE.l2_bytes // 2
LISTENER, SENDER = 0, 1
REGION_BYTES = 0x40_0000
APART_BYTES = REGION_BYTES + 5 * 8192
"""From one region to the other: they do not begin in the same bank."""
MESSAGE, LINES, TRACE = 0x200, 0x1_0000, 0x10_0000
"""Where in a region bits lie, lines that are read, and what the listener kept."""
LATEST_CYCLE = 2_000
"""Cycles of the listener in which the message has begun."""
SET = 20
"""Set of the second-level cache that is looked at; kernels and bits lie in others."""

_CONTENTION_LISTENER = """
.section .text.init
.globl _start
_start:
  li s0, {trace}
  li s1, {lines}
  li s2, 0
  li s3, 0x7000
  li s4, 0x1000
1: add a0, s1, s2
  lw a1, 0(a0)
  add s2, s2, s4
  and s2, s2, s3
  add s2, s2, a1
  csrr a2, 0xc00
  sw a2, 0(s0)
  addi s0, s0, 4
  j 1b
"""
"""Reads a line that no cache holds, one after the other, and keeps when each had come."""

_CONTENTION_SENDER = """
.section .text.init
.globl _start
_start:
  csrr t0, 0xfc1
  la t1, 1f
  .insn r 0x0b, 1, 0, x0, t0, t1
1: li t0, -1
  .insn r 0x0b, 0, 0, x0, t0, x0
  csrr a0, 0xcc1
  csrr a1, 0xfc0
  mul a0, a0, a1
  csrr a1, 0xcc0
  add a0, a0, a1
  slli a0, a0, 6
  li s6, {lines}
  add s6, s6, a0
  li s0, {message}
  li s1, 0
  li s2, {symbol}
  li s3, {symbol}
  li s4, {bits}
  li s5, 0
  li s7, 0x7000
  li s8, 0x1000
2: srli a0, s1, 5
  slli a0, a0, 2
  add a0, a0, s0
  lw a0, 0(a0)
  srl a0, a0, s1
  andi a0, a0, 1
  beqz a0, 4f
3: add a1, s6, s5
  lw a2, 0(a1)
  add s5, s5, s8
  and s5, s5, s7
  csrr a3, 0xc00
  bltu a3, s2, 3b
  j 5f
4: csrr a3, 0xc00
  bltu a3, s2, 4b
5: add s2, s2, s3
  addi s1, s1, 1
  bltu s1, s4, 2b
  .insn r 0x0b, 0, 0, x0, x0, x0
"""
"""While a bit is 1, every lane reads lines that no cache holds; while it is 0, all wait."""

_PROBE_LISTENER = """
.section .text.init
.globl _start
_start:
  li s0, {trace}
  li s1, {lines}
  li s2, {way}
  add s2, s2, s1
  addi s3, s1, {other}
  addi s4, s3, {other}
  li s5, {symbol}
  li s6, {probe}
1: csrr a2, 0xc00
  bltu a2, s6, 1b
  lw a0, 0(s1)
  add a0, a0, s2
  lw a0, 0(a0)
  add a0, a0, s3
  csrr a3, 0xc00
  sub a4, a3, a2
  sw a3, 0(s0)
  sw a4, 4(s0)
  addi s0, s0, 8
  lw a0, 0(a0)
  add a0, a0, s4
  lw a0, 0(a0)
  add s1, s1, a0
  add s6, s6, s5
  j 1b
"""
"""Once a symbol reads two lines that fill a set of the second level, and keeps how long that took; then two others that
put them out of the first level."""

_PROBE_SENDER = """
.section .text.init
.globl _start
_start:
  li s0, {message}
  li s1, 0
  li s2, {symbol}
  li s3, {symbol}
  li s4, {bits}
  li s6, {lines}
  li s7, {way}
2: srli a0, s1, 5
  slli a0, a0, 2
  add a0, a0, s0
  lw a0, 0(a0)
  srl a0, a0, s1
  andi a0, a0, 1
  beqz a0, 4f
  mv a1, s6
  .rept 4
  lw a2, 0(a1)
  add a1, a1, s7
  .endr
4: csrr a3, 0xc00
  bltu a3, s2, 4b
  add s2, s2, s3
  addi s1, s1, 1
  bltu s1, s4, 2b
  .insn r 0x0b, 0, 0, x0, x0, x0
"""
"""Where a bit is 1, reads four lines of a set of the second level as its symbol begins; else it rests."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two kernels.

    Attributes:
        listener: Assembly; keeps the cycle in which each access had ended.
        sender: Assembly.
        keeps_took: Whether the listener keeps with each cycle how long the access took; otherwise one began where the
            last had ended.
    """

    listener: str
    sender: str
    keeps_took: bool = False


CONTENTION = Pair(_CONTENTION_LISTENER, _CONTENTION_SENDER)
"""Both want memory: lines that lie in no cache."""
PRIME_AND_PROBE = Pair(_PROBE_LISTENER, _PROBE_SENDER, keeps_took=True)
"""The sender throws the listener's lines out of a set of the second-level cache, and rests when the listener looks."""


def transmit(
    pair: Pair,
    dram: Dram,
    sent: npt.NDArray[np.uint8],
    symbol_cycles: int,
    *,
    probe_cycle: int = 0,
    sender_set: int = SET,
    library: Path | None = None,
) -> ListenerAccesses:
    """Send a message from core 1 in context 1, and listen on core 0 in context 0.

    Args:
        pair: What both do.
        dram: The memory.
        sent: Bits.
        symbol_cycles: Cycles of each.
        probe_cycle: Cycle of the listener in each symbol at which it looks, where it looks once.
        sender_set: Set of the second-level cache that the sender's lines lie in, where it keeps to one.
        library: A build of the cluster to use; None: one that is built where missing.

    Returns:
        The listener's accesses, by cycles of its core.
    """
    machine = DramCluster(SHAPE, dram_parameters(dram), library=library or build_dram_cluster(SHAPE))
    numbers = {"trace": REGION_BASE + TRACE, "message": REGION_BASE + MESSAGE, "symbol": symbol_cycles}
    numbers |= {"bits": sent.size, "way": L2_WAY_BYTES, "other": L1_WAY_BYTES, "probe": probe_cycle}
    lines = REGION_BASE + LINES
    words = np.packbits(np.pad(sent, (0, -sent.size % 32)), bitorder="little")
    for core, text, at in ((LISTENER, pair.listener, SET), (SENDER, pair.sender, sender_set)):
        base = core * APART_BYTES
        code = program(text.format(lines=lines + 64 * at, **numbers)).segments[0].data
        machine.memory[base : base + len(code)] = np.frombuffer(code, np.uint8)
        machine.memory[base + MESSAGE : base + MESSAGE + words.size] = words
        machine.assign_cores((core,), core, base)
    machine.start(REGION_BASE, 0, (LISTENER,))
    machine.start(REGION_BASE, 0, (SENDER,))
    machine.run(symbol_cycles * sent.size + LATEST_CYCLE)
    machine.run(symbol_cycles)
    assert not machine.faults(), machine.faults()
    kept = machine.memory[TRACE:REGION_BYTES].view("<u4").astype(np.int64)
    if not pair.keeps_took:
        return ListenerAccesses.of_ends(kept[: np.argmin(kept)])
    pairs = kept[: np.argmin(kept[::2]) * 2].reshape(-1, 2)
    return ListenerAccesses(pairs[:, 0], pairs[:, 1])
