"""Nothing of one tenant's kernel is left for the next on the same cores: registers, local memory, caches, memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.gpu_harness import CLUSTER, GpuHarness, opened
from contract.kernels import END, LEAVE, REGION_BYTES, RESULT, kernel
from eddy.board.port import Buffer, EventKind, SlotPhase
from eddy.gpu.layout import LOCAL_BASE, REGION_BASE
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


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GpuHarness]:
    with opened("rtl", tmp_path, monkeypatch) as harness:
        yield harness


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
