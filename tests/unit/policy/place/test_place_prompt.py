# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The head's policy: short sending is done first, within every rate; where sending counts, the default decides."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from eddy.model.placement.instance import Instance
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS


def made(size_bits: float, seed: int = 3) -> Instance:
    rng = np.random.default_rng(seed)
    return Instance(
        time_s=rng.uniform(1.0, 9.0, (40, 6)),
        size_bits=rng.uniform(0.5, 1.0, 40) * size_bits,
        requester=np.zeros(40, np.int64),
        egress_bps=np.array([1e9]),
        ingress_bps=np.full(6, 3e8),
    )


def test_short_sending_is_done_first_and_keeps_to_every_rate() -> None:
    it = made(1e5)
    answer = METHODS["prompt"](it)
    assert problems_of(it, asdict(answer)) == []
    assert answer.method == "prompt"
    assert len(answer.rates) == it.jobs
    assert answer.makespan_s <= 1.02 * METHODS["default"](it).makespan_s
    assert answer.start_s.min() >= max(rate.to_s for rate in answer.rates) > 0


def test_where_sending_counts_the_default_decides() -> None:
    it = made(2e8)
    answer = METHODS["prompt"](it)
    assert problems_of(it, asdict(answer)) == []
    assert answer.makespan_s == pytest.approx(METHODS["default"](it).makespan_s)
