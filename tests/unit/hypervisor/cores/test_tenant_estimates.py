# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What estimates say of kernels: speed on so many cores, and what slices measured."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.hypervisor.cores.configurations import reachable_configuration
from eddy.hypervisor.cores.epoch_totals import SliceMeasurement
from eddy.hypervisor.cores.learned_kernels import ALONE_SLICES, UNKNOWN_FRACTION
from eddy.hypervisor.cores.tenant_estimates import ClusterKind, TenantEstimates
from eddy.hypervisor.jobs.messages import CorePartition, KernelVariant
from eddy.policy.price.view import ClusterView, Configuration, Floats
from hypervisor_kit import CHAIN

KINDS = {"wide": ClusterKind(4, 8, 1e8), "narrow": ClusterKind(4, 4, 1e8)}
WORK = CorePartition("k", {module: KernelVariant(CHAIN, 100, 4) for module in KINDS})
QUANTUM_S = 1e-3


def test_cores_add_up_as_far_as_the_kernel_is_parallel() -> None:
    estimates = TenantEstimates(KINDS)
    one = estimates.speed_on(WORK, "wide", 1.0)
    assert one == pytest.approx(2.0), "twice the lanes of a base PE"
    assert estimates.speed_on(WORK, "wide", 0.25) == pytest.approx(one / 4), "a part of a core is that part of its time"
    assert estimates.speed_on(WORK, "wide", 4.0) == pytest.approx(
        one * 4 / (4 * (1 - UNKNOWN_FRACTION) + UNKNOWN_FRACTION)
    )
    assert estimates.speed_on(WORK, "narrow", 4.0) == pytest.approx(estimates.speed_on(WORK, "wide", 4.0) / 2)


def test_a_slice_tells_what_the_next_one_should_have_and_what_it_was_worth() -> None:
    estimates = TenantEstimates(KINDS)
    of = SliceMeasurement(1, "wide", 10, 0.5e-3)
    assert estimates.work_s(WORK, of) == 0.0, "nothing was measured"
    estimates.measured("a", WORK, of, QUANTUM_S)
    assert estimates.learned.peek("k", "wide").slice_groups == pytest.approx(20)
    assert estimates.work_s(WORK, of) == pytest.approx(1e-3), "a base PE takes twice as long as one of these"


def test_speed_alone_is_known_of_slices_alone_only() -> None:
    estimates = TenantEstimates(KINDS)
    for _ in range(ALONE_SLICES):
        estimates.measured("a", WORK, SliceMeasurement(1, "wide", 10, 0.02, cores=2.0), QUANTUM_S)
        assert estimates.alone_s(WORK, "wide") is None
    for _ in range(ALONE_SLICES):
        assert estimates.alone_s(WORK, "wide") is None
        estimates.measured("a", WORK, SliceMeasurement(1, "wide", 10, 0.02, cores=2.0, alone=True), QUANTUM_S)
    assert estimates.alone_s(WORK, "wide") == pytest.approx(1e-3), "of 2 ms, half is the other core's"
    assert estimates.alone_s(WORK, "narrow") is None


@pytest.mark.parametrize(
    ("reach", "expected"),
    [
        ({}, [[1.0, 2.0], [3.0, 4.0]]),
        ({"a": {5}}, [[0.0, 2.0], [3.0, 4.0]]),
        ({"a": {5}, "b": {1, 9}}, [[0.0, 2.0], [3.0, 0.0]]),
        ({"a": {9}}, [[1.0, 2.0], [3.0, 4.0]]),
    ],
    ids=["nobody named", "one cluster", "each its own", "none that is there"],
)
def test_throughput_is_zero_where_nothing_of_a_tenant_can_run(
    reach: dict[str, set[int]], expected: list[list[float]]
) -> None:
    clusters = (ClusterView(1, "wide", 4), ClusterView(5, "narrow", 4))
    throughput: Floats = np.array([[1.0, 2.0], [3.0, 4.0]])
    whole = Configuration("CFG", clusters, throughput / 4, throughput)
    here = reachable_configuration(whole, ["a", "b"], reach)
    assert here.throughput.tolist() == expected
    assert here.parallel_fraction is whole.parallel_fraction
    assert whole.throughput is throughput
