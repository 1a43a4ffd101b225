# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Batches over a busy system, mixed batches in waves, groups of sizes, reconfiguration ([002] 3.4 and 3.5)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.model.placement import bounds
from eddy.model.placement.instance import Instance, as_document, instance_from
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS
from eddy.policy.place.joint import joint_bound
from eddy.policy.place.successive_batches import (
    grouped,
    mean_completion_s,
    pool_after,
    shift_pool,
    waves,
    with_reconfiguration,
)

SENDING = ("default", "network", "joint", "sjf", "ljf", "waves")


def pool(seed: int, jobs: int = 60, requesters: int = 8, hosts: int = 3, kinds: bool = False) -> Instance:
    """Two accelerators a host; with `kinds` every third job only computes, every third only sends."""
    random = np.random.default_rng(seed)
    size = random.exponential(200e6, jobs)
    time_s = size[:, None] * 1e-9 * random.uniform(0.8, 1.2, (jobs, hosts * 2))
    if kinds:
        size[::3] = 0
        time_s[1::3] = 0
    egress, ingress = 1e9 * random.uniform(0.8, 1.2, requesters), 2e9 * random.uniform(0.8, 1.2, hosts)
    return Instance(time_s, size, random.integers(0, requesters, jobs), egress, ingress, np.repeat(np.arange(hosts), 2))


def over_earlier(seed: int, computing: bool = True) -> Instance:
    """A second batch that finds a first one half done."""
    first, second = (pool(s) if computing else pool(s).without_computation() for s in (seed, seed + 100))
    answer = METHODS["joint" if computing else "network"](first)
    state = shift_pool(pool_after(first, answer), answer.makespan_s / 2)
    second = replace(second, egress_bps=first.egress_bps, ingress_bps=first.ingress_bps)
    return replace(second, ready_s=state.ready_s, busy=state.busy)


@pytest.mark.parametrize("method", SENDING)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_sent_over_what_earlier_batches_send(method: str, seed: int) -> None:
    it = over_earlier(seed, computing=method != "network")
    assert len(it.busy)
    answer = METHODS[method](it)
    assert not problems_of(it, as_document(answer))
    assert answer.makespan_s >= joint_bound(it) * (1 - 1e-9)
    if method == "default":
        assert answer.makespan_s <= min(METHODS[m](it).makespan_s for m in ("sjf", "ljf", "joint"))


def test_the_referee_counts_what_earlier_batches_send() -> None:
    it = over_earlier(0)
    idle = replace(it, busy=it.busy[:0], ready_s=np.zeros(it.accelerators))
    assert any("above its rate" in problem for problem in problems_of(it, as_document(METHODS["default"](idle))))


def test_algorithm_3_waits_or_uses_what_is_left() -> None:
    batch = {"size_bits": [8e6], "requester": [0], "egress_bps": [10e6], "ingress_bps": [10e6]}
    # Until 1 s half of the port is used: at 5 Mb/s the batch ends at 1.6 s, after waiting at 1.8 s.
    soon = instance_from({**batch, "busy": [[0, 0, 0.0, 1.0, 5e6]]})
    assert METHODS["network"](soon).makespan_s == pytest.approx(1.6)
    # Nine tenths are used: 8 s at what is left, 1.8 s after waiting.
    late = instance_from({**batch, "busy": [[0, 0, 0.0, 1.0, 9e6]]})
    assert METHODS["network"](late).makespan_s == pytest.approx(1.8)
    # The default may do both: 1 Mb in the first second, the rest at the full rate, as the bound says.
    assert METHODS["default"](late).makespan_s == pytest.approx(1.7)
    assert bounds.network(late) == pytest.approx(1.7)


def test_earlier_batches_raise_the_bounds_by_what_they_use() -> None:
    # Free is 1 Mb/s until 2 s, then 4 Mb/s: 6 Mb are sent at 3 s; the last computes 1 s more.
    it = instance_from(
        {
            "time_s": [[1.0], [2.0]],
            "size_bits": [4e6, 2e6],
            "requester": [0, 0],
            "egress_bps": [4e6],
            "ingress_bps": [9e6],
            "busy": [[0, 0, 0.0, 2.0, 3e6]],
        }
    )
    assert bounds.network(it) == pytest.approx(3.0)
    assert bounds.tails(it) == pytest.approx(4.0)
    assert METHODS["default"](it).makespan_s >= 4.0


def test_later_forgets_what_is_over() -> None:
    it = Instance(np.ones((1, 2)), ready_s=np.array([3.0, 1.0]))
    assert shift_pool(it, 2.0).ready_s.tolist() == [1.0, 0.0]
    busy = np.array([[0, 0, 0.0, 1.0, 5.0], [0, 0, 1.0, 4.0, 5.0]])
    one = np.ones(1)
    it = Instance(np.ones((1, 1)), one, np.zeros(1, np.int64), one * 9, one * 9, busy=busy)
    assert shift_pool(it, 2.0).busy.tolist() == [[0, 0, 0.0, 2.0, 5.0]]


def test_a_job_that_only_sends_keeps_no_accelerator() -> None:
    it = instance_from(
        {
            "time_s": [[2.0], [0.0]],
            "size_bits": [0.0, 1e6],
            "requester": [0, 0],
            "egress_bps": [1e6],
            "ingress_bps": [1e6],
        }
    )
    for method in ("default", "waves"):
        answer = METHODS[method](it)
        assert not problems_of(it, as_document(answer))
        assert answer.makespan_s == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(3))
def test_waves_and_default_place_mixed_batches(seed: int) -> None:
    it = pool(seed, jobs=120, kinds=True)
    default = METHODS["default"](it)
    for answer in (default, METHODS["waves"](it), METHODS["sjf"](it)):
        assert not problems_of(it, as_document(answer))
        assert default.makespan_s <= answer.makespan_s


def test_waves_schedule_computation_first_and_sending_last() -> None:
    it = pool(1, jobs=30, kinds=True)
    seen: list[tuple[bool, bool]] = []

    def note(part: Instance) -> object:
        assert part.size_bits is not None
        seen.append((bool(part.time_s.any()), bool(part.size_bits.any())))
        return METHODS["joint" if part.time_s.any() else "network"](part)

    waves(it, (note, note, note), 0.0)  # type: ignore[arg-type]
    assert seen == [(True, False), (True, True), (False, True)]


def test_small_jobs_first_lowers_the_average_and_costs_little() -> None:
    it = pool(4, jobs=200, requesters=40).without_computation()
    bound = bounds.network(it)
    one, six = (grouped(it, groups, METHODS["network"], bound) for groups in (1, 6))
    for answer in (one, six):
        assert not problems_of(it, as_document(answer))
    assert mean_completion_s(it, six) < 0.8 * mean_completion_s(it, one)
    assert six.makespan_s < 1.3 * one.makespan_s


def test_figure_1_the_small_job_ends_early() -> None:
    it = instance_from(
        {"size_bits": [10e6, 1e6, 9e6], "requester": [0, 0, 1], "egress_bps": [11e6, 9e6], "ingress_bps": [10e6, 10e6]}
    )
    answer = grouped(it, 3, METHODS["network"], bounds.network(it))
    assert answer.start_s[1] == pytest.approx(0.1)


def test_reconfiguration_is_part_of_every_computation() -> None:
    it = with_reconfiguration(Instance(np.array([[1.0, 2.0], [0.0, 0.0]])), 0.5)
    assert it.time_s.tolist() == [[1.5, 2.5], [0.0, 0.0]]


@pytest.mark.parametrize(
    "busy", [[[0, 0, 0, 1]], [[0, 9, 0, 1, 5]], [[9, 0, 0, 1, 5]], [[0, 0, -1, 1, 5]], [[0, 0, 0, 1, float("nan")]]]
)
def test_what_earlier_batches_send_is_checked(busy: list[list[float]]) -> None:
    batch = {"size_bits": [8e6], "requester": [0], "egress_bps": [10e6], "ingress_bps": [10e6], "busy": busy}
    with pytest.raises(InvalidRequest):
        instance_from(batch)
