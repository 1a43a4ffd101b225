# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Curves of predicted progress: through the origin and what was seen, and HSM's for kernels of known private speed."""

from __future__ import annotations

import itertools
import math

import pytest
from eddy.model.progress import ClusterEpoch, HsmPredictor, ProgressCurve, linear_curve
from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters
from hypothesis import given
from hypothesis import strategies as st

MACHINE = ClusterParameters(cores=4, instructions_per_cycle=1.0, clock_hz=100e6, request_bytes=64)
LAW = MemoryLaw(c1=0.5, c2=0.3, peak_bytes_per_s=800e6)
CYCLES = 100_000


def compute(cores: float, groups: int | None = None) -> SharedRunCounters:
    """A kernel that asks memory for next to nothing."""
    return SharedRunCounters(CYCLES, cores, 0.9 * cores * CYCLES, 10, 5, groups)


def memory(cores: float, part: float, hit_rate: float = 0.6) -> SharedRunCounters:
    """A kernel that has a part of what its hit rate could get of the memory, and waits for it."""
    bytes_per_s = part * LAW.supply_bytes_per_s(hit_rate)
    requests = bytes_per_s / MACHINE.request_bytes * CYCLES / MACHINE.clock_hz
    return SharedRunCounters(CYCLES, cores, 0.05 * cores * CYCLES, requests, requests * hit_rate)


@given(st.floats(0.01, 1), st.floats(0.1, 16), st.integers(1, 16), st.floats(1, 20) | st.just(math.inf))
def test_a_line_passes_through_the_origin_and_what_was_seen(
    progress: float, cores: float, whole: int, most: float
) -> None:
    cores = min(cores, whole)
    curve = linear_curve(progress, cores, whole, most)
    assert curve.by_cores[0] == 0
    assert len(curve.by_cores) == whole + 1
    assert all(a <= b <= 1 for a, b in itertools.pairwise(curve.by_cores))
    if cores == round(cores):
        assert curve.at(cores) == pytest.approx(progress)


def test_curves_are_read_between_whole_cores_and_hold_at_their_ends() -> None:
    curve = ProgressCurve(0.5, (0.0, 0.25, 0.5, 0.7, 0.7))
    assert [curve.at(x) for x in (-1, 0, 1.5, 2.5, 4, 9)] == pytest.approx([0, 0, 0.375, 0.6, 0.7, 0.7])
    assert curve.needed(0.5) == 2
    assert curve.needed(0.51) == 3
    assert curve.needed(0.9) == 4, "no number of cores reaches it"
    assert curve.most_cores == 3


def test_a_kernel_bound_by_cores_progresses_with_them() -> None:
    (curve,) = HsmPredictor().predict(ClusterEpoch(MACHINE, LAW, (compute(1),)))
    assert curve is not None
    assert not curve.memory_bound
    assert curve.by_cores == pytest.approx((0, 0.25, 0.5, 0.75, 1.0))


def test_a_kernel_of_few_groups_gains_nothing_from_more_cores_than_groups() -> None:
    """Section 2.3.1 of the document."""
    (curve,) = HsmPredictor().predict(ClusterEpoch(MACHINE, LAW, (compute(1, groups=2),)))
    assert curve is not None
    assert curve.by_cores == pytest.approx((0, 0.5, 1.0, 1.0, 1.0))
    assert curve.most_cores == 2


def test_a_kernel_bound_by_memory_progresses_with_its_bandwidth_until_it_saturates() -> None:
    """Two cores of four get 0.8 of what the hit rate allows: with three it would be more than all."""
    (curve,) = HsmPredictor().predict(ClusterEpoch(MACHINE, LAW, (memory(2, 0.8),)))
    assert curve is not None
    assert curve.memory_bound
    assert curve.progress == pytest.approx(0.8)
    assert curve.by_cores == pytest.approx((0, 0.4, 0.8, 1.0, 1.0))
    assert curve.most_cores == 3


def test_what_was_not_counted_is_not_predicted() -> None:
    idle = SharedRunCounters(CYCLES, 0.0, 0.0, 0.0, 0.0)
    found = HsmPredictor().predict(ClusterEpoch(MACHINE, LAW, (None, idle, compute(2))))
    assert found[0] is None
    assert found[1] is None
    assert found[2] is not None
    assert found[2].progress == pytest.approx(0.5)
