# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Nothing of one tenant's kernel is left for the next on the same cores: registers, local memory, caches, memory."""

from __future__ import annotations

import numpy as np
import pytest
from contract.gpu_harness import CLUSTER, GpuHarness
from contract.kernels import END, LEAVE, REGION_BYTES, RESULT, kernel
from eddy.board.port.port import Buffer, EventKind, SlotPhase
from eddy.gpu.programs.layout import LOCAL_BASE, REGION_BASE
from eddy_sim.gpu.assemble import program

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

LOCAL_BYTES = 4096
DATA = RESULT + 0x100
"""Where a tenant's secret lies in its region."""
SECRET = 0x5EC2E7

DIRTY = (
    f"li t0, {LOCAL_BASE:#x}\nli t1, {LOCAL_BASE + LOCAL_BYTES - 4:#x}\nli t2, {SECRET:#x}\n"
    "1: sw t2, 0(t0)\naddi t0, t0, 4\nbleu t0, t1, 1b\n"
    f"li t0, {REGION_BASE + DATA:#x}\nlw a0, 0(t0)\nsw t2, 64(t0)\nfence\n"
    + LEAVE
    + "".join(f"mv x{k}, t2\n" for k in range(1, 32) if k != 7)
    + "csrw mscratch, x7\ncsrw mepc, x7\n"
    + END
)
"""Fills registers, local memory and memory with the secret; leaves what it read of its data."""
LOOK = (
    "".join(f"or x31, x31, x{k}\n" for k in range(1, 31))
    + "csrr t0, mepc\nor x31, x31, t0\ncsrr t0, mtvec\nor x31, x31, t0\ncsrr t0, mscratch\nor x31, x31, t0\n"
    + f"li t0, {LOCAL_BASE:#x}\nli t1, {LOCAL_BASE + LOCAL_BYTES - 4:#x}\n"
    + "1: lw t2, 0(t0)\nor x31, x31, t2\naddi t0, t0, 4\nbleu t0, t1, 1b\n"
    + f"li t0, {REGION_BASE + RESULT:#x}\nli t1, {REGION_BASE + REGION_BYTES - 4:#x}\n"
    + "1: lw t2, 0(t0)\nor x31, x31, t2\naddi t0, t0, 4\nbleu t0, t1, 1b\n"
    + "mv a0, x31\n"
    + LEAVE
    + END
)
"""Leaves whatever it finds before it writes anything: registers, local memory, its region behind the program."""
READ = f"li t0, {REGION_BASE + DATA:#x}\nlw a0, 0(t0)\n" + LEAVE + END


def code(source: str) -> bytes:
    return program(".section .text.init\n.globl _start\n_start:\n" + source).segments[0].data


def region(gpu: GpuHarness, source: str, owner: str, data: int | None = None) -> Buffer:
    buffer = gpu.board.allocate(REGION_BYTES, owner)
    gpu.board.write(buffer.id, 0, code(source))
    if data is not None:
        gpu.board.write(buffer.id, DATA, data.to_bytes(4, "little"))
    return buffer


def run(gpu: GpuHarness, buffer: Buffer, item: str) -> list[int]:
    gpu.board.launch(CLUSTER, kernel(buffer, item=item, argument=0))
    event = gpu.next_event()
    assert (event.item, event.kind) == (item, EventKind.ITEM_DONE), event.detail
    return gpu.results(buffer)


def test_the_next_tenant_finds_zeros_without_a_reload(gpu: GpuHarness) -> None:
    mine = region(gpu, DIRTY, "ada", data=SECRET)
    assert run(gpu, mine, "dirty") == [SECRET, SECRET]
    # It goes back with its secrets, and the next tenant gets the very same pages.
    gpu.board.free(mine.id)
    theirs = region(gpu, LOOK, "grace")
    assert theirs.address == mine.address
    assert run(gpu, theirs, "look") == [0, 0]
    assert gpu.board.state().slots[CLUSTER].phase is SlotPhase.IDLE, "it is still the same module"


DUMP = RESULT + 0x1000
LANES = 8
LANE_WORDS = 128
WIDE_BYTES = 0x4000
ALL = (
    "csrr {a}, 0xfc1\nla {b}, 1f\n.insn r 0x0b, 1, 0, x0, {a}, {b}\n1: li {a}, -1\n.insn r 0x0b, 0, 0, x0, {a}, x0\n"
    f"csrr {{b}}, mhartid\nslli {{b}}, {{b}}, 9\nli {{a}}, {REGION_BASE + DUMP:#x}\nadd {{a}}, {{a}}, {{b}}\n"
)
"""Every lane of every warp, with a place of its own in register a."""
CLASS = 0x7C0
CSRS = (0x305, 0x340, 0x341, 0x342, 0x343, CLASS)
DIRTY_LANES = (
    ALL.format(a="x31", b="x30")
    + f"li x5, {SECRET:#x}\n"
    + "".join(f"csrw {csr:#x}, x5\n" for csr in (0x340, 0x341, 0x342, 0x343, CLASS))
    + "".join(f"mv x{k}, x5\n" for k in range(1, 32) if k != 5)
    + END
)
"""Leaves the secret in every register of every lane."""


def dump(a: str, b: str) -> str:
    """Stores every register and CSR a lane finds but the two named, then local memory's first word."""
    own = {int(a[1:]), int(b[1:])}
    text = ALL.format(a=a, b=b) + "".join(f"sw x{k}, {4 * k}({a})\n" for k in range(1, 32) if k not in own)
    text += "".join(f"csrr {b}, {csr:#x}\nsw {b}, {256 + 4 * k}({a})\n" for k, csr in enumerate(CSRS))
    return text + END


def wide(gpu: GpuHarness, source: str, owner: str) -> Buffer:
    buffer = gpu.board.allocate(WIDE_BYTES, owner)
    gpu.board.write(buffer.id, 0, code(source))
    return buffer


def check_clean(gpu: GpuHarness, pair: tuple[str, str]) -> None:
    """A kernel that dumps what every lane finds at its start finds what every kernel begins with."""
    theirs = wide(gpu, dump(*pair), "grace")
    run_wide(gpu, theirs, "dump")
    words = np.frombuffer(gpu.board.read(theirs.id, DUMP, 4 * LANES * LANE_WORDS), "<u4").reshape(LANES, -1).copy()
    column = 64 + CSRS.index(CLASS)
    assert (words[:, column] == 1).all(), "what every kernel begins with"
    words[:, column] = 0
    assert not words.any(), f"{np.count_nonzero(words)} words left, {words[words != 0][:4]}"
    look = region(gpu, LOOK, "grace")
    assert run(gpu, look, "look") == [0, 0]


def run_wide(gpu: GpuHarness, buffer: Buffer, item: str) -> None:
    gpu.board.launch(CLUSTER, kernel(buffer, item=item, argument=0))
    event = gpu.next_event()
    assert (event.item, event.kind) == (item, EventKind.ITEM_DONE), event.detail


def leave_secrets(gpu: GpuHarness) -> None:
    """In every register of every lane, local memory, caches and memory."""
    mine, local = wide(gpu, DIRTY_LANES, "ada"), region(gpu, DIRTY, "ada", data=SECRET)
    assert run(gpu, local, "dirty") == [SECRET, SECRET]
    run_wide(gpu, mine, "lanes")
    gpu.board.free(mine.id)
    gpu.board.free(local.id)


@pytest.mark.parametrize("pair", [("x31", "x30"), ("x1", "x2")])
def test_after_a_scrub_every_lane_finds_zeros(gpu: GpuHarness, pair: tuple[str, str]) -> None:
    leave_secrets(gpu)
    held = gpu.board.state().slots[CLUSTER].image
    gpu.board.scrub(CLUSTER)
    event = gpu.next_event()
    assert (event.kind, event.image) == (EventKind.CONFIGURED, held)
    check_clean(gpu, pair)


@pytest.mark.parametrize("pair", [("x31", "x30"), ("x1", "x2")])
def test_every_lane_finds_zeros_at_the_start_of_a_kernel_on_cores_that_changed_hands(
    gpu: GpuHarness, pair: tuple[str, str]
) -> None:
    leave_secrets(gpu)
    check_clean(gpu, pair)


def test_a_dump_finds_what_there_is_to_find(gpu: GpuHarness) -> None:
    """The test above could not fail if the dump stored nothing: here registers hold the secret."""
    buffer = gpu.board.allocate(WIDE_BYTES, "ada")
    filled = f"li x5, {SECRET:#x}\n" + "".join(f"mv x{k}, x5\n" for k in range(1, 32) if k != 5)
    gpu.board.write(buffer.id, 0, code(filled + dump("x31", "x30")))
    gpu.board.launch(CLUSTER, kernel(buffer, argument=0))
    assert gpu.next_event().kind is EventKind.ITEM_DONE
    words = np.frombuffer(gpu.board.read(buffer.id, DUMP, 4 * LANES * LANE_WORDS), "<u4").reshape(LANES, LANE_WORDS)
    assert (words[0] == SECRET).sum() == 29, "lane 0 of the first warp ran through both"


def test_a_look_finds_what_there_is_to_find(gpu: GpuHarness) -> None:
    """The test above could not fail if the look saw nothing."""
    theirs = region(gpu, LOOK, "grace", data=SECRET)
    assert run(gpu, theirs, "look") == [SECRET, SECRET]


def test_cached_lines_of_the_last_kernel_are_not_hit(gpu: GpuHarness) -> None:
    for turn, data in enumerate((1, 2)):
        buffer = region(gpu, READ, f"tenant {turn}", data=data)
        assert run(gpu, buffer, f"first {turn}") == [data, data]
        # The processor changes memory under the caches, in the same pages.
        gpu.board.write(buffer.id, DATA, (data + 10).to_bytes(4, "little"))
        assert run(gpu, buffer, f"second {turn}") == [data + 10, data + 10]
        gpu.board.free(buffer.id)
