# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every workload leaves what its reference says, on clusters of several shapes, with and without an FPU."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.workloads import WORKLOADS, WrongResult, run
from eddy.gpu.workloads.basic import divergent, sgemm, vecadd
from eddy.gpu.workloads.learning import kmeans, mlp
from eddy.gpu.workloads.networks import alexnet, resnet50, yolo
from unit.gpu_kit import cluster, compiler

INTEGER = ("resnet50", "yolo", "alexnet", "divergent", "reduction")


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("shape", [ClusterShape(2, 4, 4), ClusterShape(1, 4, 8, fpu=False)], ids=lambda s: s.name)
def test_results_are_right(name: str, shape: ClusterShape) -> None:
    if name in INTEGER and not shape.fpu:
        shape = dataclasses.replace(shape, fpu=True)
    runs = run(WORKLOADS[name](), cluster(shape), compiler())
    assert sum(core.instructions for step in runs for core in step.result.counters) > 1000


@pytest.mark.parametrize("name", WORKLOADS)
def test_references_say_something(name: str) -> None:
    for wanted in WORKLOADS[name]().expected.values():
        assert np.isfinite(wanted).all()
        assert np.unique(wanted).size >= min(3, wanted.size)


def test_a_wrong_result_is_found() -> None:
    workload = vecadd(64)
    wanted = workload.expected["c"].copy()
    wanted[17] += 1
    with pytest.raises(WrongResult, match=r"1 of 64 values of 'c' are wrong; at \(17,\)"):
        run(dataclasses.replace(workload, expected={"c": wanted}), cluster(), compiler())
    near = {name: array * np.float32(1.01) for name, array in mlp().expected.items()}
    with pytest.raises(WrongResult):
        run(dataclasses.replace(mlp(), expected=near), cluster(), compiler())


def test_both_variants_leave_the_same_bits() -> None:
    """The training of the perceptron, whose reference allows a tolerance, bit for bit with and without an FPU."""
    left = []
    for fpu in (True, False):
        workload = mlp(samples=32, batch=16)
        program = compiler().compile(workload.text(), fpu=fpu)
        buffers = {name: array.copy() for name, array in workload.buffers.items()}
        from eddy.gpu.launches.launch import launch

        for step in workload.steps:
            arguments = [buffers[a] if isinstance(a, str) else a for a in step.arguments]
            launch(cluster(ClusterShape(2, 2, 8, fpu)), program, step.kernel, step.global_size, arguments)
        left.append(buffers)
    for name in ("w", "v", "h", "gap", "delta"):
        np.testing.assert_array_equal(left[0][name].view("u4"), left[1][name].view("u4"))


@pytest.mark.parametrize("make", [alexnet, resnet50, yolo])
def test_networks_are_deterministic_and_take_batches(make) -> None:  # type: ignore[no-untyped-def]
    one, same, other = make(), make(), make(seed=2)
    last = next(iter(one.expected))
    np.testing.assert_array_equal(one.expected[last], same.expected[last])
    assert not np.array_equal(one.expected[last], other.expected[last])
    run(make(batch=2, channels=64), cluster(), compiler())


def test_layer_counts_are_the_published_ones() -> None:
    def kernels(workload, name: str) -> int:  # type: ignore[no-untyped-def]
        return sum(step.kernel == name for step in workload.steps)

    assert (kernels(alexnet(), "convolution"), kernels(alexnet(), "dense")) == (5, 3)
    assert kernels(yolo(), "convolution") == 9
    assert (kernels(resnet50(), "convolution"), kernels(resnet50(), "residual")) == (17, 4)
    assert kmeans().defines["K"] == 7


def test_odd_sizes() -> None:
    run(vecadd(37), cluster(), compiler())
    run(divergent(13, 5), cluster(ClusterShape(3, 2, 5)), compiler())
    run(sgemm(5, 7, 9), cluster(ClusterShape(1, 2, 16)), compiler())
    run(sgemm(16, 8, 8, tile=4), cluster(ClusterShape(2, 5, 3 + 1)), compiler())
