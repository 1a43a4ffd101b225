# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A GPU cluster in a slot of the simulated board: through the shell, behind the firewall, on a clock of its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest
from eddy_drivers.regs import window
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.design import build
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.elf import ElfProgram
from system.board.board_rig import CAUSE, bank, load, module, open_slot, page, run_for, tiny

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_board")]

SLOT = 1
STATUS, LAUNCH, IRQ, START, ARGUMENT, BASE2, FAULT = 0x08, 0x20, 0x04, 0x100, 0x104, 0x118, 0x120
INTERRUPTS, INTERRUPT_ENABLE, MASTER_ENABLE = window.INTC.offset, 0x08, 0x1C
CODE, DATA = 0x80000000, 0x8000_4000
WINDOW_BYTES = 0x8000
END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"


@lru_cache(maxsize=8)
def assembly(text: str) -> ElfProgram:
    return program(".section .text.init\n.globl _start\n_start:\n" + text)


@pytest.fixture
def board() -> Iterator[SimBoard]:
    with SimBoard(tiny()) as board:
        path, _ = build.build_module("gpu_1c4w4t")
        assert load(board, SLOT, path) == StopReason.CONFIG
        base = page(board, SLOT)
        open_slot(board, SLOT, base, base + WINDOW_BYTES - 1, timeout=5000)
        board.write32(module(SLOT, BASE2), base >> 12)
        yield board


def launch(board: SimBoard, text: str, argument: int = 0) -> None:
    data = assembly(text).segments[0].data
    at = page(board, SLOT) - board.dram_base
    board.device_dram[at : at + len(data)] = list(data)
    board.write32(module(SLOT, START), CODE)
    board.write32(module(SLOT, ARGUMENT), argument)
    board.write32(module(SLOT, LAUNCH), 1)


def word(board: SimBoard, address: int) -> int:
    at = page(board, SLOT) - board.dram_base + address - CODE
    return int.from_bytes(board.device_dram[at : at + 4].tobytes(), "little")


def test_the_shell_reads_its_identity(board: SimBoard) -> None:
    _, build_hash = build.build_module("gpu_1c4w4t")
    identity = [board.read32(module(SLOT, 0xF000 + 4 * k)) for k in range(4)]
    assert identity == [0x45444459, 2 << 16 | 0x0100, build_hash & 0xFFFFFFFF, build_hash >> 32]


def test_a_kernel_runs_behind_the_firewall_and_interrupts(board: SimBoard) -> None:
    board.write32(INTERRUPTS + INTERRUPT_ENABLE, 1 << SLOT)
    board.write32(INTERRUPTS + MASTER_ENABLE, 3)
    launch(board, f"csrr a0, mscratch\nslli a0, a0, 1\nli a1, {DATA:#x}\nsw a0, 0(a1)\n" + END, argument=21)
    run_for(board, 3000)
    assert board.read32(module(SLOT, STATUS)) == 0
    assert word(board, DATA) == 42
    assert board.irq, "the interrupt reached the processor"
    assert board.read32(INTERRUPTS) >> SLOT & 1
    assert board.read32(bank(SLOT, CAUSE)) == 0
    assert board.read32(module(SLOT, FAULT)) == 0
    board.write32(module(SLOT, IRQ), 0)


@pytest.mark.parametrize(("access", "cause", "firewall"), [("lw a1, 0(a0)", 5, 3), ("sw a1, 0(a0)", 7, 4)])
def test_an_access_outside_the_window_stops_the_kernel_and_the_firewall_says_so(
    board: SimBoard, access: str, cause: int, firewall: int
) -> None:
    launch(board, f"li a0, {CODE + WINDOW_BYTES:#x}\n{access}\nfence\n1: j 1b\n")
    run_for(board, 20_000)
    assert board.read32(bank(SLOT, CAUSE)) == 1 << firewall
    at = page(board, SLOT) - board.dram_base + WINDOW_BYTES
    assert not board.device_dram[at : at + 64].any()
    assert board.read32(module(SLOT, FAULT)) == 1 << 31 | cause
