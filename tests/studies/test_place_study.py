# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The study of [002]: its batches are what the document says, and its figures are made of checked answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.policy.place.schedule import makespan_of
from eddy.policy.place.sjf_ljf_computing import longest_first, shortest_first
from eddy_studies.makespan.errors import dispatched
from eddy_studies.makespan.online import throughput
from eddy_studies.makespan.run import FIGURES
from eddy_studies.makespan.sensitivity import SHAPES
from eddy_studies.makespan.testbed import figure_2
from eddy_studies.makespan.workload import BatchShape, batch, mixed


def test_batches_are_what_5_2_says() -> None:
    it = batch(BatchShape(jobs=20_000), "joint", 1)
    assert it.size_bits is not None
    assert it.egress_bps is not None
    assert it.ingress_bps is not None
    assert it.size_bits.mean() == pytest.approx(200e6, rel=0.03)
    ratio = it.time_s / it.size_bits[:, None]
    assert 0.8e-9 <= ratio.min() < 0.81e-9 < 1.19e-9 < ratio.max() <= 1.2e-9
    for rates, usual in ((it.egress_bps, 1e9), (it.ingress_bps, 5e9)):
        assert (abs(rates / usual - 1) <= 0.2).all()
    assert np.bincount(it.host_of).tolist() == [5] * 30


@pytest.mark.parametrize(("mapping", "most"), [("even", 5), ("random", 20), ("skewed", 400)])
def test_jobs_are_dealt_to_requesters(mapping: str, most: int) -> None:
    it = batch(BatchShape(mapping=mapping), "joint", 1)
    assert it.requester is not None
    largest = np.bincount(it.requester).max()
    assert most / 3 < largest <= most


def test_mixed_batches_have_the_shares_asked_for() -> None:
    it = mixed(BatchShape(jobs=3000), (0.5, 0.3, 0.2), 1)
    assert it.size_bits is not None
    sends, computes = it.size_bits > 0, it.time_s.any(axis=1)
    assert (computes & ~sends).mean() == pytest.approx(0.5, abs=0.05)
    assert (sends & ~computes).mean() == pytest.approx(0.3, abs=0.05)
    assert (sends & computes).mean() == pytest.approx(0.2, abs=0.05)


def test_without_errors_dispatching_is_sjf_and_ljf() -> None:
    time_s = batch(BatchShape(responders=4, jobs=80), "computation", 3).time_s
    zeros = np.zeros(20)
    for longest, rule in ((False, shortest_first), (True, longest_first)):
        host = rule(time_s, zeros)
        assert host is not None
        assert dispatched(time_s, time_s, longest) == pytest.approx(makespan_of(time_s, host, zeros))


def test_figure_2_holds_where_the_text_suffices(tmp_path: Path) -> None:
    rows = figure_2(tmp_path, 0, True)
    # Each published value appears, with one of the two orders of responders: SJF's with the fast one first.
    assert [row.note == "holds" for row in rows] == [True, False, False, True, True, True]
    assert (tmp_path / "figure_2.png").stat().st_size > 1000
    assert len((tmp_path / "figure_2.csv").read_text().splitlines()) == 13


def test_throughput_cannot_exceed_what_arrives_or_what_150_accelerators_do() -> None:
    assert throughput("computation", "default", 1.0, 2, 0) < 2 * 200 / 1.5
    assert 400 < throughput("computation", "default", 50.0, 4, 0) < 940


def test_every_figure_from_2_to_9_is_made() -> None:
    assert [name for name in FIGURES if name != "sensitivity"] == [f"figure {n}" for n in range(2, 10)]
    assert len(SHAPES) >= 10
