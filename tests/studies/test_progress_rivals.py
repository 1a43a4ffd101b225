# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""DASE, Themis-NN and `eddy_slowdown` as predictors: bounds, directions, and kept training."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from eddy.model import eddy_slowdown
from eddy.model.eddy_slowdown import EddySlowdown
from eddy.model.progress import ClusterEpoch, HsmPredictor, ProgressPredictor
from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters
from eddy_studies.hsm import train
from eddy_studies.policies import PREDICTORS, themis_nn
from eddy_studies.policies.dase import Dase
from eddy_studies.policies.themis_nn import ThemisNn

MACHINE = ClusterParameters(16, 1.0, 100e6, 64)
LAW = MemoryLaw(0.6, 0.35, 3.2e9)
COMPUTE = SharedRunCounters(1e5, 8, 8e5, 800, 300, cache_hits=2000, cache_misses=700, read_cycles=2.5e5)
HUNGRY = SharedRunCounters(
    cycles=1e5,
    cores=8,
    instructions=1.2e5,
    requests=3e4,
    row_hits=1.8e4,
    cache_hits=500,
    cache_misses=2.6e4,
    memory_stall_cycles=6.8e5,
    held_cycles=4e4,
    own_row_hits=2e4,
    own_cache_hits=700,
    read_cycles=1.2e7,
)
WAITS = SharedRunCounters(1e5, 8, 2e5, 4e3, 1e3, cache_misses=4e3, memory_stall_cycles=6e5, read_cycles=6e5)
"""Waits for memory, one read at a time, and uses little of it."""


def epoch(*tenants: SharedRunCounters | None) -> ClusterEpoch:
    return ClusterEpoch(MACHINE, LAW, tenants)


IMPOSSIBLE = [
    {field: value}
    for field in ("cycles", "cores", "instructions", "requests", "row_hits", "cache_hits", "memory_stall_cycles")
    for value in (float("nan"), float("inf"), -1.0)
]


@pytest.mark.parametrize("name", PREDICTORS)
@pytest.mark.parametrize("fields", IMPOSSIBLE, ids=str)
def test_of_counters_that_cannot_be_nothing_is_predicted(name: str, fields: dict[str, float]) -> None:
    found = PREDICTORS[name]().predict(epoch(COMPUTE, replace(HUNGRY, **fields)))  # type: ignore[arg-type]
    assert found[1] is None
    assert found[0] is not None
    assert 0 < found[0].progress <= 1


@pytest.mark.parametrize("name", PREDICTORS)
def test_curves_begin_with_nothing_never_fall_and_end_at_one_at_most(name: str) -> None:
    predictor: ProgressPredictor = PREDICTORS[name]()
    assert predictor.name == name
    found = predictor.predict(epoch(COMPUTE, None, HUNGRY, WAITS))
    assert [curve is None for curve in found] == [False, True, False, False]
    for curve in found:
        if curve is not None:
            assert 0 < curve.progress <= 1
            assert len(curve.by_cores) == 17
            assert curve.by_cores[0] == 0
            assert list(curve.by_cores) == sorted(curve.by_cores)
            assert curve.by_cores[-1] <= 1
    assert predictor.predict(epoch(COMPUTE, None, HUNGRY, WAITS)) == found


def test_all_agree_on_a_kernel_that_nothing_slows() -> None:
    for make in PREDICTORS.values():
        curve = make().predict(epoch(COMPUTE))[0]
        assert curve is not None
        assert curve.progress == pytest.approx(0.5, abs=0.06), make


def test_dase_takes_off_what_others_cost() -> None:
    held = replace(WAITS, held_cycles=5e4)
    free, disturbed = (Dase().predict(epoch(each))[0] for each in (WAITS, held))
    assert free is not None
    assert disturbed is not None
    assert disturbed.progress < free.progress
    alone = Dase().predict(epoch(HUNGRY, replace(HUNGRY, requests=1e4)))[0]
    assert alone is not None
    assert alone.memory_bound
    assert alone.progress == pytest.approx(3e4 / 4e4), "alone it gets what all get"
    cut = Dase(cut=True).predict(epoch(replace(HUNGRY, requests=5e3), replace(HUNGRY, requests=4e4)))[0]
    assert cut is not None
    assert cut.progress == 0.5


def test_eddy_slowdown_sees_a_compute_bound_kernel_that_is_slowed_which_hsm_does_not() -> None:
    slowed = replace(COMPUTE, instructions=4e5, memory_stall_cycles=4e5, read_cycles=2e6)
    hsm, eddy = (predictor.predict(epoch(slowed))[0] for predictor in (HsmPredictor(), EddySlowdown()))
    assert hsm is not None
    assert eddy is not None
    assert hsm.progress == 0.5
    assert eddy.progress < 0.35


def test_eddy_slowdown_works_with_fewer_counters() -> None:
    bare = replace(HUNGRY, read_cycles=0.0, own_cache_hits=0.0, own_row_hits=0.0, held_cycles=0.0)
    less, more = (EddySlowdown().predict(epoch(each, COMPUTE))[0] for each in (bare, HUNGRY))
    assert less is not None
    assert more is not None
    assert less.progress == pytest.approx(more.progress, abs=0.2)
    nothing = replace(COMPUTE, requests=0, row_hits=0, cache_hits=0, cache_misses=0)
    curve = EddySlowdown().predict(epoch(nothing))[0]
    assert curve is not None
    assert curve.progress == pytest.approx(0.5)


def test_the_network_is_what_the_kept_examples_and_seed_make() -> None:
    found = train.load()
    assert len(found) == train.PAIRS
    assert json.loads(train.KEPT.read_text())["seed"] == train.SEED
    again = train.train_network(found[:60], train.SEED, rounds=120)
    same = train.train_network(found[:60], train.SEED, rounds=120)
    told = np.array([[0.5] * len(themis_nn.INPUTS)])
    assert again.progress(told) == same.progress(told)
    assert np.mean(train.errors(ThemisNn(), found)) < 0.05
    assert np.mean(train.errors(ThemisNn(net=again), found[:60])) < 0.3


def test_slopes_are_those_of_the_loss() -> None:
    draw = np.random.default_rng(0)
    told, wanted = draw.random((6, 3)), np.log(draw.random((6, 1)))
    shapes = ((3, 4), (4, 4), (4, 1), (4,), (4,), (1,))
    values = [draw.normal(0, 0.5, shape) for shape in shapes]

    def loss() -> float:
        return float(((np.log(themis_nn._network(values).layers(told)[2]) - wanted) ** 2).mean())

    slopes = themis_nn._slopes(themis_nn._network(values), told, wanted)
    for value, slope in zip(values, slopes, strict=True):
        at = tuple(0 for _ in value.shape)
        before, step = loss(), 1e-6
        value[at] += step
        assert slope[at] == pytest.approx((loss() - before) / step, rel=1e-3, abs=1e-6)
        value[at] -= step


def test_constants_are_fitted_by_what_lowers_the_error() -> None:
    found = train.load()[::40]
    start = eddy_slowdown.QueueConstants(wait_cycles=90.0)
    better = train.fit(found, start, lambda _: None)
    errors = [np.mean(train.errors(EddySlowdown(constants=c), found)) for c in (better, start)]
    assert errors[0] < errors[1]
    assert np.mean(train.errors(EddySlowdown(), train.load())) < 0.04
    assert all(path.is_file() for path in (train.NETWORK, train.CONSTANTS))
