# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A GPU cluster that lies: a core says it has stopped, and reads and writes on in what is somebody else's by then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from contract.gpu_harness import CLUSTER, GpuHarness, opened
from contract.kernels import CORES, MODULE, kernel
from contract.lies import AFTER_S, BYTES, MODES, SECRET, PatternCounter
from eddy.board.port.port import BoardEvent, Buffer, Cause, EventKind, SlotPhase
from eddy.board.remote.socket import SocketBoard
from eddy_sim.boards.faults import LIE, DoneClaim, Liar, LoadFault

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("lies")]


@pytest.fixture(scope="module", params=["rtl", "socket-rtl"])
def gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuHarness]:
    with (
        pytest.MonkeyPatch.context() as patch,
        opened(request.param, tmp_path_factory.mktemp("board"), patch) as harness,
    ):
        yield harness


@pytest.fixture(scope="module")
def beside(gpu: GpuHarness) -> bool:
    """Whether another kernel runs on the cluster: in process always, over the socket never, which halves the tests."""
    return not isinstance(gpu.board, SocketBoard)


@pytest.fixture(scope="module")
def eyes() -> PatternCounter:
    return PatternCounter()


def begin(gpu: GpuHarness, lie: Liar, beside: bool) -> Buffer:
    """Load a cluster that lies, and start it on a region; with an honest kernel beside it, on the other core."""
    gpu.inner.misload(CLUSTER, LoadFault(liar=replace(lie, cores=CORES)))
    assert gpu.load(CLUSTER, MODULE).kind is EventKind.CONFIGURED
    if beside:
        other = gpu.board.allocate(BYTES, "beside")
        gpu.board.launch(CLUSTER, kernel(other, item="honest", cores=(1,), limit_s=1.0))
    mine = gpu.board.allocate(BYTES, "liar")
    gpu.board.launch(CLUSTER, kernel(mine, item="lie", cores=(0,), limit_s=5e-4))
    return mine


def hand_on(gpu: GpuHarness, mine: Buffer, eyes: PatternCounter) -> tuple[int, int]:
    """Free a region and give it to somebody else at once; how many words of it the liar then read, and wrote."""
    board = gpu.board
    board.free(mine.id)
    victim = board.allocate(BYTES, "victim")
    assert victim.address == mine.address
    eyes.watch()
    board.write(victim.id, 0, SECRET * (BYTES // 8))
    board.wait(board.now_s() + AFTER_S)
    found = board.read(victim.id, 0, BYTES)
    board.free(victim.id)
    return eyes.seen(), sum(found[at : at + 8] != SECRET for at in range(0, BYTES, 8))


@pytest.fixture(autouse=True)
def leave(gpu: GpuHarness) -> Iterator[None]:
    """Leave nothing to the next test, however this one ended: no kernel, no event, no buffer."""
    yield
    gpu.board.close(CLUSTER)
    for event in gpu.board.wait(gpu.board.now_s() + 1e-4):
        gpu.board.wait(0.0, event.seq)
    for buffer in gpu.board.state().buffers:
        gpu.board.free(buffer.id)
    assert gpu.board.state().buffers == ()


def end_of(gpu: GpuHarness, item: str) -> BoardEvent:
    """How an item ended, whatever ended before it."""
    return next(event for event in iter(gpu.next_event, None) if event.item == item)


@pytest.mark.parametrize("mode", MODES)
def test_a_core_that_lies_reaches_nobody_elses_memory(
    gpu: GpuHarness, eyes: PatternCounter, mode: str, beside: bool
) -> None:
    mine = begin(gpu, MODES[mode], beside)
    end_of(gpu, "lie")
    assert hand_on(gpu, mine, eyes) == (0, 0)


def test_the_lie_is_one(gpu: GpuHarness) -> None:
    """What it writes before the end was reported is there, so it does write; it would not stop by itself."""
    mine = begin(gpu, MODES["write-short-many"], beside=False)
    end_of(gpu, "lie")
    assert LIE in gpu.board.read(mine.id, 0, BYTES)


@pytest.mark.parametrize("mode", ["read-long", "write-long", "write-held-long", "write-stuck", "both-held"])
def test_a_core_that_says_it_was_halted_reaches_nobody_elses_memory(
    gpu: GpuHarness, eyes: PatternCounter, mode: str
) -> None:
    """Its time is over, and it is told to stop: it says so, and goes on."""
    mine = begin(gpu, replace(MODES[mode], when=DoneClaim.NEVER), beside=True)
    end = end_of(gpu, "lie")
    assert end.cause in (Cause.TIME_LIMIT, Cause.WRITE_STALLED, Cause.RESPONSE_STALLED), end.detail
    assert hand_on(gpu, mine, eyes) == (0, 0)


def test_a_cluster_whose_stores_do_not_end_is_closed_and_says_why(gpu: GpuHarness) -> None:
    begin(gpu, MODES["write-held-near-the-bound"], beside=False)
    end = end_of(gpu, "lie")
    assert (end.kind, end.cause) == (EventKind.ITEM_FAILED, Cause.MODULE_ERROR)
    assert "did not end within" in end.detail
    assert gpu.board.state().slots[CLUSTER].phase is SlotPhase.FAULTED
