"""The four clusters of CFG1 ([000] Table 5.3) on the RTL of the whole board: sixteen cores at work at once.

Every core counts in its own registers and stores where it was told to; clusters have their own clocks (80, 80, 120 and
110 MHz), so that they end one after the other.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from eddy.board.profile import load_profile
from eddy.studies.vayalapra.clusters import CONFIGURATIONS, Cluster
from eddy_sim import build
from eddy_sim.board import SimBoard, StopReason
from eddy_sim.filelist import read_filelist
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster_build import FILELIST, TOP, Shape
from system.board_rig import CAUSE, bank, load, module, open_slot, page

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_board")]

STATUS, LAUNCH, CORE, CORE_STRIDE, START, ARGUMENT, BASE2 = 0x08, 0x20, 0x100, 0x40, 0x00, 0x04, 0x18
CODE, TURNS = 0x80000000, 2000
WINDOW_BYTES, RESULTS = 0x2000, 0x1000
KERNEL = f"""
.section .text.init
.globl _start
_start:
  csrr a0, mscratch
  li t0, {TURNS}
  li t1, 7
1: mul t1, t1, t1
  addi t1, t1, 3
  addi t0, t0, -1
  bnez t0, 1b
  sw t1, 0(a0)
  .insn r 0x0b, 0, 0, x0, x0, x0
"""


def counted() -> int:
    value = 7
    for _ in range(TURNS):
        value = (value * value + 3) & 0xFFFFFFFF
    return value


def built(cluster: Cluster) -> Path:
    """The cluster's RTL as a module for a slot."""
    made = cluster.shape
    shape = Shape(made.cores, made.warps, made.threads, made.fpu)
    return build.build_rtl_module(TOP, read_filelist(FILELIST), shape.parameters())[0]


def test_sixteen_cores_work_at_once() -> None:
    clusters = CONFIGURATIONS["CFG1"]
    profile = load_profile("de10pro")
    assert len(profile.slots) == len(clusters)
    assert sum(cluster.cores for cluster in clusters) == 16
    clocked = zip(profile.slots, clusters, strict=True)
    profile = replace(profile, slots=tuple(replace(slot, clk_hz=cluster.mhz * 1e6) for slot, cluster in clocked))
    with SimBoard(profile) as board:
        for slot, cluster in enumerate(clusters):
            assert load(board, slot, built(cluster)) == StopReason.CONFIG
            base = page(board, slot)
            open_slot(board, slot, base, base + WINDOW_BYTES - 1, timeout=50_000)
            code = program(KERNEL).segments[0].data
            memory = board.device_dram[base - board.dram_base :]
            memory[: len(code)] = list(code)
            memory[RESULTS : RESULTS + 4 * cluster.cores] = 0
            for core in range(cluster.cores):
                at = CORE + core * CORE_STRIDE
                board.write32(module(slot, at + BASE2), base >> 12)
                board.write32(module(slot, at + START), CODE)
                board.write32(module(slot, at + ARGUMENT), CODE + RESULTS + 4 * core)
        for slot, cluster in enumerate(clusters):
            board.write32(module(slot, LAUNCH), (1 << cluster.cores) - 1)
        running = [board.read32(module(slot, STATUS)) for slot in range(4)]
        assert [bin(each).count("1") for each in running] == [cluster.cores for cluster in clusters]
        ends: dict[int, int] = {}
        began = board.now_fs
        while len(ends) < 4 and board.now_fs < began + 10**12:
            board.step_until_fs(board.now_fs + 5 * 10**9)
            for slot in range(4):
                if slot not in ends and board.read32(module(slot, STATUS)) == 0:
                    ends[slot] = board.now_fs - began
        assert len(ends) == 4
        for slot, cluster in enumerate(clusters):
            assert board.read32(bank(slot, CAUSE)) == 0
            start = page(board, slot) - board.dram_base + RESULTS
            words = board.device_dram[start : start + 4 * cluster.cores].view("u4").tolist()
            assert words == [counted()] * cluster.cores
        # The same instructions on every core: the faster the clock, the sooner the end.
        assert ends[2] < ends[3] < ends[0]
        assert ends[0] / ends[2] == pytest.approx(120 / 80, rel=0.1)
