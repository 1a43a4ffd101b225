# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The memory of a kernel that is ended while its stores are under way, beside another one, on every adapter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.gpu_harness import GpuHarness, opened
from contract.kernels import REGION_BYTES
from eddy.board.port.port import Cause, EventKind

RTL = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]
PATTERN = bytes(range(256)) * (REGION_BYTES // 256)


@pytest.fixture(
    params=[
        "fake",
        "model",
        pytest.param("rtl", marks=RTL),
        pytest.param("socket-rtl", marks=RTL),
    ]
)
def gpu(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GpuHarness]:
    with opened(request.param, tmp_path, monkeypatch) as harness:
        yield harness


def test_a_stopped_kernels_region_can_be_handed_on_at_once(gpu: GpuHarness) -> None:
    board = gpu.board
    stores, counts = gpu.region("flood" if gpu.executes else "spin"), gpu.region("count")
    for turn in range(5):
        gpu.launch(stores, item=f"stores-{turn}", cores=(0,), limit_s=1.0)
        gpu.launch(counts, item=f"slow-{turn}", cores=(1,), argument=turn + 7)
        # Another moment of its loop every time.
        board.wait(board.now_s() + 1e-6 * (3 + turn))
        board.stop(1, f"stores-{turn}")
        stopped = gpu.next_event()
        assert (stopped.item, stopped.cause) == (f"stores-{turn}", Cause.STOPPED)
        board.free(stores.id)
        other = board.allocate(REGION_BYTES, "other")
        assert other.address == stores.address
        board.write(other.id, 0, PATTERN)
        done = gpu.next_event()
        assert (done.item, done.kind) == (f"slow-{turn}", EventKind.ITEM_DONE)
        assert gpu.results(counts)[0] == turn + 7
        assert board.read(other.id, 0, REGION_BYTES) == PATTERN
        board.free(other.id)
        stores = gpu.region("flood" if gpu.executes else "spin")
