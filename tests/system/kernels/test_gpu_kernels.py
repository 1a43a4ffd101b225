# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""OpenCL C kernels on the RTL of a cluster: results, faults, and what the counters say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from eddy.core.errors import ModuleFault, QuotaExceeded
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.workloads import WORKLOADS, Workload, run
from eddy.gpu.workloads.base import KERNELS
from eddy.gpu.workloads.basic import reduction, sgemm, vecadd
from eddy.gpu.workloads.learning import kmeans, mlp
from eddy.gpu.workloads.networks import yolo
from eddy_sim.gpu.executors import IsaExecutor, RtlExecutor
from unit.fiber_programs import random_program
from unit.gpu.launches.test_foreign_rodinia import program
from unit.gpu_kit import compiled, compiler
from unit.many_arguments import arrays, functions

pytestmark = pytest.mark.rtl

SHAPE = ClusterShape(1, 4, 4)


@pytest.fixture(scope="module")
def cluster() -> RtlExecutor:
    return RtlExecutor(SHAPE)


SMALL: dict[str, Callable[[], Workload]] = {
    **{name: make for name, make in WORKLOADS.items() if name in ("divergent", "transpose", "saxpy", "sgemm_tiled")},
    **{"vecadd": lambda: vecadd(500), "sgemm": lambda: sgemm(8, 8, 8), "reduction": lambda: reduction(256)},
    **{"k-means": lambda: kmeans(256, 4, 64, 1), "mlp": lambda: mlp(16, 8)},
    "yolo": lambda: yolo(1, 64, 13),
}


@pytest.mark.parametrize("name", SMALL)
def test_workloads_leave_their_references_and_count_as_the_model_does(name: str, cluster: RtlExecutor) -> None:
    runs, model = run(SMALL[name](), cluster, compiler()), run(SMALL[name](), IsaExecutor(SHAPE), compiler())
    for step, same in zip(runs, model, strict=True):
        core, other = step.result.counters[0], same.result.counters[0]
        assert sum(core.cycle_thread) == core.total_active_cycles == core.instructions
        assert core.cycles > core.instructions
        work, others = (sum(x * n for x, n in enumerate(c.cycle_thread, 1)) for c in (core, other))
        # The order of warps is the machine's own; what the lanes execute is not.
        assert work == others


def test_a_kernel_that_leaves_its_region_harms_only_itself(cluster: RtlExecutor) -> None:
    program = compiled("kernel void f(global int *a, uint far) { a[far] = 1; }")
    with pytest.raises(ModuleFault) as caught:
        launch(cluster, program, "f", (4,), [np.zeros(4, "i4"), 1 << 26])
    assert caught.value.details["cause"] == "store_fault"
    with pytest.raises(ModuleFault) as caught:
        launch(cluster, compiled("kernel void f(global int *a, uint far) { a[0] = a[far]; }"), "f", (4,),
               [np.zeros(4, "i4"), 1 << 26])  # fmt: skip
    assert caught.value.details["cause"] == "load_fault"
    run(vecadd(64), cluster, compiler())


def test_a_kernel_that_spins_is_stopped(cluster: RtlExecutor) -> None:
    program = compiled("kernel void f(global volatile int *a) { while (!a[0]) {} }")
    with pytest.raises(QuotaExceeded, match="did not end"):
        launch(cluster, program, "f", (1,), [np.zeros(1, "i4")], limit=20_000)


def test_slices_and_barriers(cluster: RtlExecutor) -> None:
    source = """
    kernel void turn(global const int *x, global int *y, local int *t) {
      uint l = get_local_id(0), n = get_local_size(0);
      t[l] = x[get_global_id(0)];
      barrier(CLK_LOCAL_MEM_FENCE);
      y[get_global_id(0)] = t[n - 1 - l] + get_group_id(0);
    }
    """
    x = np.arange(96, dtype="i4")
    for group in (6, 16):
        y = np.zeros_like(x)
        done = launch(cluster, compiled(source), "turn", (96,), [x, y, Local(64)], local_size=(group,), slice_groups=3)
        rows = x.reshape(-1, group)
        np.testing.assert_array_equal(y.reshape(-1, group), rows[:, ::-1] + np.arange(len(rows))[:, None])
        assert done.slices == -(-len(rows) // 3)
        assert done.cycles > 0


@pytest.mark.parametrize(
    ("seed", "early", "loops"), [(1, False, False), (2, True, False), (5, False, True), (9, False, True)]
)
def test_groups_larger_than_the_core_are_right_on_rtl(
    seed: int, early: bool, loops: bool, cluster: RtlExecutor
) -> None:
    drawn = random_program(seed, early, calls=not loops)
    made = compiled(drawn.source())
    assert bool(made.kernel("f").loop_stub) == loops
    for group in (16, 40, 256):
        data = np.random.default_rng(group).integers(0, 1 << 32, group * 2, dtype="u4")
        out = np.zeros_like(data)
        launch(cluster, made, "f", data.shape, [data, out, Local(4 * group), 2], local_size=(group,))
        np.testing.assert_array_equal(out, drawn.expected(data, group, 2))


def test_tiles_of_items_are_right_on_rtl(cluster: RtlExecutor) -> None:
    source = (KERNELS / "sgemm.cl").read_text()
    program, side = compiler().compile(source, defines={"TILE": 16}), 32
    rng = np.random.default_rng(3)
    left, right = (rng.random((side, side), dtype="f4") for _ in range(2))
    out, wanted = np.zeros((side, side), "f4"), np.zeros((side, side), "f4")
    done = launch(cluster, program, "sgemm_tiled", (side, side), [left, right, out, side, side], local_size=(16, 16))
    assert done.arrangement.tile == 16
    for k in range(side):
        wanted = wanted + left[:, k : k + 1] * right[k : k + 1, :]
    np.testing.assert_array_equal(out, wanted)


def test_foreign_programs_on_rtl(cluster: RtlExecutor) -> None:
    made, cols, rounds = program("pathfinder.cl"), 500, 2
    wall, start = np.arange(2 * cols, dtype="i4").reshape(rounds, cols) * 7 % 10, np.arange(cols, dtype="i4") * 5 % 13
    out, groups, tile = np.zeros(cols, "i4"), -(-cols // (256 - 2 * rounds)), Local(1024)
    arguments = [rounds, wall, start, out, cols, rounds, 0, rounds, tile, tile]
    launch(cluster, made, "walk", (256 * groups,), arguments, local_size=(256,))
    now = start
    for row in wall:
        wide = np.pad(now, 1, mode="edge")
        now = row + np.minimum(np.minimum(wide[:-2], wide[1:-1]), wide[2:])
    np.testing.assert_array_equal(out, now)


ARGUMENTS = {
    name: function
    for name, function in functions().items()
    if name in ("11 ints", "12 ints", "31 ints", "three of uchar16", "many of pair", "with a barrier")
    or "all, from" in name
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_functions_get_more_arguments_than_registers_hold(name: str, cluster: RtlExecutor) -> None:
    x, y = arrays(7)
    wanted = ARGUMENTS[name].wanted(x, y)
    size = (4,) if ARGUMENTS[name].waits else None
    launch(cluster, compiled(ARGUMENTS[name].source()), "f", x.shape, [x, y], local_size=size)
    np.testing.assert_array_equal(y, wanted)
