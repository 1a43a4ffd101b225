# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Packing beside a packing that looks at the whole table in every round."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.model.placement.instance import Floats, Ints
from eddy.policy.place.packing import groups_of, pack


def plainly(time_s: Floats, price: Floats, room_s: Floats, size: Floats) -> tuple[Ints, list[int]]:
    """Every bid of every waiting job, accelerator by accelerator."""
    host = np.full(len(time_s), -1, np.int64)
    order = np.argsort(-size, kind="stable")
    without: list[int] = []
    for group in groups_of(*time_s.shape):
        waiting = [int(i) for i in order[group]]
        while waiting:
            able = {i: [j for j in range(len(room_s)) if time_s[i, j] <= room_s[j]] for i in waiting}
            without += [i for i in waiting if not able[i]]
            waiting = [i for i in waiting if able[i]]
            choice = {i: min(able[i], key=lambda j: (time_s[i, j] * price[j], j)) for i in waiting}
            left, full = room_s.copy(), np.zeros(len(room_s), bool)
            again = []
            for i in waiting:
                j = choice[i]
                if full[j] or time_s[i, j] > left[j] * (1 + 1e-9):
                    full[j] = True
                    again.append(i)
                else:
                    host[i] = j
                    left[j] -= time_s[i, j]
            room_s[:] = left
            waiting = again
    return host, without


@pytest.mark.parametrize("seed", range(12))
def test_the_same_jobs_go_to_the_same_places(seed: int) -> None:
    chance = np.random.default_rng(seed)
    jobs, accelerators = int(chance.integers(1, 60)), int(chance.integers(1, 12))
    time_s = chance.uniform(0.5, 1.5, (jobs, accelerators)) * chance.exponential(1.0, (jobs, 1))
    time_s[chance.random(time_s.shape) < 0.2] = np.inf
    price, size = chance.uniform(0.5, 1.5, accelerators), chance.uniform(0, 1, jobs)
    room = np.full(accelerators, 0.8 * jobs / accelerators)
    ours, theirs = room.copy(), room.copy()
    host, without = pack(time_s, price, ours, size)
    expected, left = plainly(time_s, price, theirs, size)
    assert host.tolist() == expected.tolist()
    assert sorted(without.tolist()) == sorted(left)
    assert ours == pytest.approx(theirs)
