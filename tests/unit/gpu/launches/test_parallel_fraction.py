# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The parallel fraction: the equations of [000], how its readings relate, and the laws it must obey."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eddy.model.parallel_fraction import (
    Activity,
    JobProfile,
    karp_flatt_fraction,
    predict,
    published_fraction,
    speedup,
)
from hypothesis import given
from hypothesis import strategies as st

FRACTIONS = st.floats(0.0, 1.0)
ELEMENTS = st.integers(2, 128)
COUNTS = st.integers(0, 10**9)


@st.composite
def activities(draw: st.DrawFn) -> Activity:
    cores, lanes = draw(st.integers(1, 8)), draw(st.integers(1, 16))
    row = st.lists(COUNTS, min_size=lanes, max_size=lanes).map(tuple)
    rows = draw(st.lists(row, min_size=cores, max_size=cores))
    return Activity(tuple(rows), draw(st.floats(1.0, 1e9)))


def test_equation_4_3_on_an_example() -> None:
    # Half of the active cycles with one lane, half with four: 1 - (1/2 + 1/8) = 3/8, times 4/3.
    assert published_fraction([100, 0, 0, 100]) == pytest.approx(0.5)
    # By work, 4/5 of it is done by four lanes: a speedup of 500/200 = 2.5 on four.
    assert Activity(((100, 0, 0, 100),)).fraction == pytest.approx((1 - 1 / 2.5) / (1 - 1 / 4))


def test_equation_3_1_is_equation_4_1_turned_round() -> None:
    assert karp_flatt_fraction(speedup(0.9, 16), 16) == pytest.approx(0.9)
    assert speedup(1.0, 64) == 64
    assert speedup(0.0, 64) == 1
    assert speedup(0.5, 4, throughput=1.5) == pytest.approx(1.5 * 4 / (4 * 0.5 + 0.5))


@given(FRACTIONS, ELEMENTS)
def test_karp_flatt_inverts_amdahl(fraction: float, elements: int) -> None:
    assert karp_flatt_fraction(speedup(fraction, elements), elements) == pytest.approx(fraction, abs=1e-9)


@given(FRACTIONS, st.floats(1.0, 256.0), st.floats(1.0, 256.0))
def test_more_is_never_worse_and_never_better_than_linear(fraction: float, few: float, more: float) -> None:
    few, more = sorted((few, more))
    assert speedup(fraction, few) <= speedup(fraction, more) * (1 + 1e-12)
    assert speedup(fraction, more) / speedup(fraction, few) <= more / few * (1 + 1e-9)


@given(FRACTIONS, st.floats(0.01, 1e6), st.integers(1, 64), st.integers(1, 64))
def test_predictions_lead_back(fraction: float, time: float, here: int, there: int) -> None:
    onward = predict(time, fraction, here, there)
    assert predict(onward, fraction, there, here) == pytest.approx(time)
    assert predict(time, fraction, here, here) == pytest.approx(time)
    assert predict(time, fraction, here, there, throughput=2.0) == pytest.approx(onward / 2)


@given(activities())
def test_a_fraction_is_one(activity: Activity) -> None:
    assert 0.0 <= activity.fraction <= 1.0 + 1e-12
    assert 0 <= activity.speedup <= activity.elements + 1e-9


@given(st.integers(1, 8), st.integers(1, 16), st.integers(1, 10**9), st.data())
def test_only_full_cores_are_fully_parallel(cores: int, lanes: int, count: int, data: st.DataObject) -> None:
    full = tuple((*(0,) * (lanes - 1), count) for _ in range(cores))
    if cores * lanes == 1:
        assert Activity(full).fraction == 0.0
        return
    assert Activity(full).fraction == pytest.approx(1.0)
    lone = data.draw(st.integers(0, cores - 1))
    serial = tuple((count if core == lone else 0, *(0,) * (lanes - 1)) for core in range(cores))
    assert Activity(serial).fraction == pytest.approx(0.0)


@given(st.integers(2, 16), st.integers(1, 10**6))
def test_both_readings_agree_where_all_cycles_are_alike(lanes: int, count: int) -> None:
    for used in range(1, lanes + 1):
        counters = [0] * lanes
        counters[used - 1] = count
        assert published_fraction(counters) == pytest.approx(Activity((tuple(counters),)).fraction)


@given(st.lists(COUNTS, min_size=2, max_size=16).filter(any))
def test_the_published_reading_never_says_more(counters: list[int]) -> None:
    # The mean of 1/X over cycles is at least one over the mean of X.
    assert published_fraction(counters) <= Activity((tuple(counters),)).fraction + 1e-12


@given(FRACTIONS, ELEMENTS, st.integers(1, 10**6))
def test_amdahls_own_machine_is_measured_exactly(fraction: float, lanes: int, scale: int) -> None:
    """A core that runs the serial part on one lane and the rest on all: F comes back, whatever its width."""
    serial, parallel = round(scale * (1 - fraction) * lanes), round(scale * fraction)
    if serial + parallel == 0:
        return
    counters = (serial, *(0,) * (lanes - 2), parallel)
    work = serial + lanes * parallel
    assert Activity((counters,)).fraction == pytest.approx(lanes * parallel / work, abs=1e-9)


@given(st.lists(st.tuples(FRACTIONS, st.floats(1.0, 1e6)), min_size=1, max_size=6), ELEMENTS)
def test_a_jobs_fraction_predicts_what_its_kernels_predict(parts: list[tuple[float, float]], there: int) -> None:
    lanes = 8
    kernels = []
    for fraction, time in parts:
        serial, parallel = round(10**6 * (1 - fraction)), round(10**6 * fraction / lanes)
        kernels.append(Activity(((serial, *(0,) * (lanes - 2), parallel),), time))
    job = JobProfile(tuple(kernels))
    alone = sum(predict(kernel.time, min(1.0, kernel.fraction), lanes, there) for kernel in kernels)
    assert job.predict(there) == pytest.approx(alone, rel=1e-9)
    assert 0 <= job.fraction <= 1 + 1e-12


@given(activities(), st.floats(0.0, 0.9), ELEMENTS)
def test_overhead_stays_and_the_rest_scales(activity: Activity, part: float, there: int) -> None:
    overhead = part * activity.time
    whole = Activity(activity.cycle_thread, activity.time, overhead)
    rest = Activity(activity.cycle_thread, activity.time - overhead)
    job = JobProfile((whole,))
    assert job.predict(whole.elements) == pytest.approx(activity.time)
    assert job.predict(there) == pytest.approx(JobProfile((rest,)).predict(there) + overhead, rel=1e-6)


@given(activities())
def test_cores_and_lanes_multiply_to_the_speedup(activity: Activity) -> None:
    by_cores = speedup(min(1.0, activity.core_fraction), activity.cores) if activity.cores > 1 else 1.0
    by_lanes = speedup(min(1.0, activity.lane_fraction), activity.lanes) if activity.lanes > 1 else 1.0
    assert by_cores * by_lanes == pytest.approx(activity.speedup)
    assert activity.predict(activity.cores, activity.lanes) == pytest.approx(activity.time)


@given(activities(), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.integers(1, 4), st.integers(1, 4))
def test_what_waits_for_memory_gains_from_cores_alone_and_the_port_from_nothing(
    activity: Activity, waiting: float, port: float, cores: int, lanes: int
) -> None:
    there = (cores * activity.cores, lanes * activity.lanes)
    assert activity.predict_with_memory(*there) == pytest.approx(activity.predict(*there))
    waits = replace(activity, waiting=waiting)
    between = (activity.predict(*there), activity.predict(there[0], activity.lanes))
    assert min(between) * (1 - 1e-9) <= waits.predict_with_memory(*there) <= max(between) * (1 + 1e-9)
    assert waits.predict_with_memory(there[0], activity.lanes) == pytest.approx(between[1])
    busy = replace(waits, port_time=port * activity.time)
    assert busy.predict_with_memory(*there) == pytest.approx(
        max(waits.predict_with_memory(*there), port * activity.time)
    )
    all_of_it = replace(activity, waiting=1.0, port_time=2 * activity.time)
    assert all_of_it.predict_with_memory(*there) == pytest.approx(activity.time), "never more than it took"


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(2, 8), st.integers(2, 16))
def test_divergence_does_not_hurt_more_cores(half: int, full: int, cores: int, lanes: int) -> None:
    """Evenly loaded cores whose lanes part: twice the cores take half the time, whatever the lanes do."""
    row = (half, *(0,) * (lanes - 2), full)
    job = JobProfile((Activity(tuple(row for _ in range(cores)), 1000.0),))
    assert job.predict_shape(2 * cores, lanes) == pytest.approx(500.0)
    assert job.predict(2 * cores * lanes) >= 500.0 - 1e-9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: karp_flatt_fraction(0.0, 4),
        lambda: karp_flatt_fraction(2.0, 1),
        lambda: speedup(1.1, 4),
        lambda: speedup(0.5, -1),
        lambda: published_fraction([5]),
        lambda: Activity(()),
        lambda: Activity(((1, 2), (3,))),
        lambda: Activity(((-1, 2),)),
        lambda: JobProfile((Activity(((1,),)), Activity(((1, 2),)))),
    ],
)
def test_nonsense_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r"\w"):
        wrong()


def test_idle_clusters_show_nothing() -> None:
    assert Activity(((0, 0), (0, 0)), 5.0).fraction == 0.0
    assert published_fraction([0, 0]) == 0.0
    assert JobProfile((Activity(((0, 0),)),)).fraction == 0.0
    assert speedup(0.7, 0) == 0.0
