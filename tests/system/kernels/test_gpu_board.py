# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""OpenCL C on a GPU cluster behind the board port: profile kv260, the RTL of shell and cluster, results verified."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest
from board_executor import BoardExecutor
from eddy.board.images.signing import Trust
from eddy.board.port.port import BoardPort, Cause, EventKind, SlotPhase
from eddy.board.port.profile import load_profile
from eddy.board.remote.factory import open_device
from eddy.board.selftest.known_answers import KnownKernel, find_mismatch, known_answers
from eddy.core.errors import ModuleFault, QuotaExceeded
from eddy.core.slots import Pool
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.workloads import Workload, run
from eddy.gpu.workloads.basic import divergent, reduction, saxpy, sgemm, vecadd
from eddy.packages.manifests import load_module_manifest
from eddy_sim.design import bitstreams, build
from eddy_sim.device import SimClock, SimDevice
from unit.gpu.compilation.test_gpu_fibers import ONE_WAITS
from unit.gpu.compilation.test_gpu_opencl_atomics import HISTOGRAM
from unit.gpu_kit import compiled, compiler

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_board")]

MODULE = "gpu_1c4w4t"
SHAPE = ClusterShape(1, 4, 4)
SLOT = 3


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardPort]:
    profile = dataclasses.replace(load_profile("kv260"), name="kv260-gpu")
    assert profile.slots[SLOT].pool is Pool.GPU
    files = bitstreams.list_or_build(profile, found=[load_module_manifest(build.manifest_path(MODULE))])
    folder = tmp_path_factory.mktemp("board") / "images"
    shutil.copytree(files.overlay.parent, folder)
    # The worst memory there is: what the processor forgot to flush, or to forget, shows.
    device = SimDevice(profile, coherent=False)
    opened = open_device(files.overlay, device, SimClock(device), profile, folder, Trust(False))
    yield opened
    opened.release()


def cluster(board: BoardPort) -> BoardExecutor:
    """The cluster, loaded if it is not."""
    if board.state().slots[SLOT].phase is not SlotPhase.IDLE:
        board.load(SLOT, next(image.sha256 for image in board.images() if image.module == MODULE))
        (event,) = board.wait(board.now_s() + 1.0)
        board.wait(0.0, event.seq)
        assert event.kind is EventKind.CONFIGURED, event.detail
    return BoardExecutor(board, SLOT, SHAPE)


SMALL: dict[str, Callable[[], Workload]] = {
    "vecadd": lambda: vecadd(300),
    "saxpy": lambda: saxpy(300),
    "sgemm": lambda: sgemm(8, 8, 8),
    "reduction": lambda: reduction(256),
    "divergent": divergent,
}


@pytest.mark.parametrize("name", SMALL)
def test_workloads_leave_their_references_and_their_counters_add_up(name: str, board: BoardPort) -> None:
    executor = cluster(board)
    for step in run(SMALL[name](), executor, compiler()):
        (core,) = step.result.counters
        assert sum(core.cycle_thread) == core.total_active_cycles == core.instructions > 0
        assert core.cycles > core.instructions
    for event in executor.events:
        assert event.kind is EventKind.ITEM_DONE
        (report,) = event.cores
        # The cluster's own clock and the board's time agree, but for the way to the registers and back.
        ran_s = report.counters.cycles / board.describe().slots[SLOT].clk_hz
        assert ran_s < event.at_s - event.started_s < ran_s + 20e-6
    moved = board.counters(SLOT, 0)
    assert moved.read_bytes >= 64 * dict(executor.events[-1].cores[0].counters.others)["line_reads"]
    assert board.state().buffers == ()


def test_a_kernel_that_leaves_its_region_or_spins_says_so_and_the_cluster_serves_again(board: BoardPort) -> None:
    program = compiled("kernel void f(global int *a, uint far) { a[far] = 1; }")
    executor = cluster(board)
    with pytest.raises(ModuleFault) as caught:
        launch(executor, program, "f", (4,), [np.zeros(4, "i4"), 1 << 26])
    assert caught.value.details["cause"] == "store_fault"
    assert executor.events[-1].cause is Cause.WRITE_OUTSIDE_WINDOW
    assert board.state().slots[SLOT].phase is SlotPhase.FAULTED
    spin = compiled("kernel void f(global volatile int *a) { while (!a[0]) {} }")
    executor = cluster(board)
    with pytest.raises(QuotaExceeded, match="did not end"):
        launch(executor, spin, "f", (1,), [np.zeros(1, "i4")], limit=20_000)
    event = executor.events[-1]
    assert event.cause is Cause.TIME_LIMIT
    assert event.cores[0].counters.instructions > 1000, "it did spin"
    run(vecadd(64), cluster(board), compiler())


def test_atomics_are_right_on_the_way_to_the_boards_memory(board: BoardPort) -> None:
    data = np.random.default_rng(7).integers(0, 256, 96, dtype="u1")
    bins, ticket, order = np.zeros(16, "u4"), np.zeros(1, "u4"), np.zeros(96, "u4")
    arguments = [data, bins, ticket, order, Local(64)]
    launch(cluster(board), compiled(HISTOGRAM), "f", (96,), arguments, local_size=(8,), slice_groups=5)
    counts = np.where(data & 1, 1, data & 3)
    assert bins.tolist() == np.bincount(data & 15, counts, 16).astype(int).tolist()
    assert sorted(order.tolist()) == list(range(96))


def test_a_barrier_nobody_opens_is_told_long_before_the_time_limit(board: BoardPort) -> None:
    executor = cluster(board)
    with pytest.raises(ModuleFault, match="barrier_deadlock"):
        launch(executor, compiled(ONE_WAITS), "f", (16,), [np.zeros(16, "u4")], local_size=(16,))
    event = executor.events[-1]
    assert event.cause is Cause.BARRIER_DEADLOCK
    assert event.at_s - event.started_s < 2e-4


def test_kernels_of_known_results_tell_a_clock_that_is_too_high(board: BoardPort) -> None:
    cluster(board)
    trials = known_answers()[MODULE]
    assert [find_mismatch(board, SLOT, trial) for trial in trials] == ["", ""]
    assert isinstance(trials[1], KnownKernel)
    ((offset, data),) = trials[1].outputs.items()
    other = dataclasses.replace(trials[1], outputs={offset: bytes(4) + data[4:]})
    assert f"of the region at {offset:#x} are wrong" in find_mismatch(board, SLOT, other)
    sim = cast(Any, board)._fabric._overlay.device.sim
    sim.faults.limit_clock(SLOT, 90e6)
    assert find_mismatch(board, SLOT, trials[1]) != ""
    sim.faults.limit_clock(SLOT, float("inf"))
    cluster(board)
    assert find_mismatch(board, SLOT, trials[1]) == ""
