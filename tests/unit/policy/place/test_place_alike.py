# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Accelerators of a few kinds: found exactly, priced and packed by kind, no worse than one by one."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.model.highs import make_solver
from eddy.model.placement.instance import Floats, Ints
from eddy.policy.place import price_and_pack
from eddy.policy.place.accelerator_kinds import Kinds, group_accelerators, pack_alike
from eddy.policy.place.dual_prices import search
from eddy.policy.place.schedule import makespan_of


def drawn(rng: np.random.Generator, jobs: int, accelerators: int, kinds: int) -> tuple[Floats, Floats, Ints]:
    """Times, ready times and kinds; some jobs cannot run on some kinds."""
    kind_of = rng.permutation(np.arange(accelerators) % kinds)
    of_kind = rng.uniform(0.2, 4.0, (jobs, kinds))
    of_kind[:, 1:][rng.random((jobs, kinds - 1)) < 0.2] = np.inf
    ready = rng.uniform(0.0, 6.0, accelerators) if rng.random() < 0.7 else np.zeros(accelerators)
    return of_kind[:, kind_of], ready, kind_of


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kinds_are_columns_that_are_the_same_in_every_row(dtype: type) -> None:
    rng = np.random.default_rng(1)
    time_s, _, kind_of = drawn(rng, 90, 60, 4)
    found = group_accelerators(time_s.astype(dtype))
    assert found is not None
    assert len(np.unique(found.kind_of)) == 4
    assert ((found.kind_of[:, None] == found.kind_of) == (kind_of[:, None] == kind_of)).all()
    assert (found.time_s[:, found.kind_of] == time_s.astype(dtype)).all()
    assert sorted(np.concatenate(found.members).tolist()) == list(range(60))
    assert group_accelerators(rng.random((30, 40)).astype(dtype)) is None
    for row in range(90):
        odd: Floats = time_s.astype(dtype)
        odd[row, 7] = 9.0
        other = group_accelerators(odd)
        assert other is None or (other.time_s[:, other.kind_of] == odd).all()


def least_divided(time_s: Floats, ready_s: Floats) -> float:
    """The least makespan where jobs may be divided, by bisection over linear programs of every accelerator."""
    jobs, accelerators = time_s.shape
    low, high = 0.0, float(ready_s.max() + np.nanmax(np.where(np.isfinite(time_s), time_s, np.nan)) * jobs)
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        solver = make_solver()
        share = [
            [solver.addVariable(0, 1 if np.isfinite(time_s[i, j]) else 0) for j in range(accelerators)]
            for i in range(jobs)
        ]
        for i in range(jobs):
            solver.addConstr(sum(share[i]) == 1)
        for j in range(accelerators):
            able = [i for i in range(jobs) if np.isfinite(time_s[i, j])]
            if able:
                solver.addConstr(sum(float(time_s[i, j]) * share[i][j] for i in able) <= max(middle - ready_s[j], 0.0))
        solver.run()
        feasible = "Optimal" in solver.modelStatusToString(solver.getModelStatus())
        low, high = (low, middle) if feasible else (middle, high)
    return high


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_by_kinds_is_one_and_as_close_as_that_by_accelerators(seed: int) -> None:
    rng = np.random.default_rng(seed)
    time_s, ready_s, _ = drawn(rng, 14, 12, 3)
    kinds, exact_s = group_accelerators(time_s), least_divided(time_s, ready_s)
    assert kinds is not None
    bound_s = search(kinds.time_s, ready_s, kinds=kinds).bound_s
    assert bound_s <= exact_s * (1 + 1e-6)
    assert bound_s >= 0.97 * exact_s


@pytest.mark.parametrize("seed", range(20))
def test_work_fills_a_kind_like_water(seed: int) -> None:
    rng = np.random.default_rng(seed)
    time_s, ready_s, _ = drawn(rng, 8, 24, 3)
    kinds = group_accelerators(time_s)
    assert kinds is not None
    work_s = rng.uniform(0.0, 30.0, 3) * (rng.random(3) < 0.8)
    for members, work, level in zip(kinds.members, work_s, kinds.levels(ready_s)(work_s), strict=True):
        assert np.maximum(level - ready_s[members], 0.0).sum() == pytest.approx(work, abs=1e-9)
        assert level >= ready_s[members].min() - 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_packing_keeps_to_the_room_and_leaves_only_what_has_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    time_s, _, _ = drawn(rng, 60, 20, 3)
    kinds = group_accelerators(time_s)
    assert kinds is not None
    before = rng.uniform(0.0, 8.0, 20)
    room = before.copy()
    host, left = pack_alike(kinds, rng.uniform(0.5, 2.0, 3), room, kinds.time_s.min(axis=1))
    assert sorted(left.tolist()) == np.flatnonzero(host < 0).tolist()
    taken = np.zeros(20)
    for i in np.flatnonzero(host >= 0).tolist():
        taken[host[i]] += time_s[i, host[i]]
    assert room == pytest.approx(before - taken)
    assert (room >= 0).all()
    for i in left.tolist():
        assert (time_s[i] > room).all()


def test_placing_by_kinds_is_as_good_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, ratios = np.random.default_rng(5), []
    for _ in range(40):
        time_s, ready_s, _ = drawn(rng, int(rng.integers(5, 120)), int(rng.integers(12, 80)), 3)
        found = []
        for way in (group_accelerators, lambda _: None):
            monkeypatch.setattr(price_and_pack, "group_accelerators", way)
            host, bound_s = price_and_pack.balance(time_s, ready_s)
            makespan_s = makespan_of(time_s, host, ready_s)
            assert np.isfinite(makespan_s)
            assert makespan_s >= bound_s * (1 - 1e-9)
            found.append(makespan_s)
        ratios.append(found[0] / found[1])
    assert np.mean(ratios) <= 1.003
    assert max(ratios) <= 1.05


def test_kinds_tell_how_many_there_are() -> None:
    kinds = Kinds(np.array([[1.0, 2.0]]), np.array([0, 1, 1, 0]))
    assert kinds.counted[1] == 4
    assert kinds.of_each(np.array([1.0, 3.0])).tolist() == [0.125, 0.375, 0.375, 0.125]
    assert kinds.first_ready_s(np.array([5.0, 2.0, 1.0, 4.0])).tolist() == [4.0, 1.0]
