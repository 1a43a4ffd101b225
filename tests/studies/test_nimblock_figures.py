# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figures of [004]: the measures by hand, and files that say where they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy_studies.judge.sequences import ARRIVALS, workload
from eddy_studies.nimblock import figures
from eddy_studies.nimblock.reproduce import DEPARTURES, _circumstances
from eddy_studies.nimblock.run import BoardSetting
from eddy_studies.nimblock.sequences import SCALES, SHARING, SequenceOutcome
from eddy_studies.nimblock.validation import agreement, document, recorded

PRIORITY = np.array([9, 9, 1, 9])
SINGLE = np.array([1.0, 2.0, 1.0, 4.0])
BASE = np.array([10.0, 10.0, 10.0, 10.0])


def outcome(nimblock: list[float], rival: list[float]) -> SequenceOutcome:
    responses = {policy: np.array(rival) for policy in SHARING}
    return SequenceOutcome(PRIORITY, SINGLE, {**responses, "exclusive": BASE, "nimblock": np.array(nimblock)})


def test_measures() -> None:
    one = outcome([1.0, 2.0, 5.0, 40.0], [2.0, 4.0, 5.0, 44.0])
    assert figures.median(one, "nimblock") == pytest.approx(10 / 3.5)
    assert figures.mean(one, "nimblock") == pytest.approx(10 / 12)
    assert figures.spread(one, "nimblock") == pytest.approx((13.75 - 1.75) / 10)
    # High-priority slowdowns are 1, 1 and 10: a deadline of exactly D_s times the latency is met.
    failures = one.failures("nimblock")
    assert len(SCALES) == len(failures) == 77
    assert failures[0] == pytest.approx(1 / 3)
    assert one.ten_percent("nimblock") == 10.0
    assert one.ten_percent("prema") == 11.0
    assert figures.fewer(one, "prema") == pytest.approx(100 * 2 / 3)
    assert figures.tail(100)(one, "prema") == pytest.approx(1.1)


def test_no_factor_is_enough() -> None:
    assert outcome([100.0, 200.0, 1.0, 400.0], [1.0, 2.0, 1.0, 4.0]).ten_percent("nimblock") == float("inf")
    assert outcome([1.0, 2.0, 900.0, 4.0], [1.0, 2.0, 1.0, 4.0]).ten_percent("nimblock") == 1.0


def test_every_figure_has_data_a_picture_and_its_circumstances(tmp_path: Path) -> None:
    one = outcome([1.0, 2.0, 5.0, 40.0], [2.0, 4.0, 5.0, 44.0])
    outcomes = {"the text": dict.fromkeys(ARRIVALS, one), "the artefact": dict.fromkeys(ARRIVALS, one)}
    rows = [*figures.relative(tmp_path, outcomes), *figures.tails(tmp_path, outcomes)]
    rows += figures.deadlines(tmp_path, outcomes)
    assert {row.figure.split()[0] for row in rows} == {"3.1", "3.2", "3.3", "3.4", "3.5"}
    pictures = sorted(tmp_path.glob("*.png"))
    assert len(pictures) == 7
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.with_suffix(".csv").stat().st_size > 100
        _circumstances(picture, "eddy reproduce nimblock --out x --seed 7", 7, 2)
        said = picture.with_suffix(".md").read_text()
        assert "--seed 7" in said
        assert "commit: " in said
        assert "leaves open" in said


@pytest.mark.parametrize("name", sorted(DEPARTURES["nimblock"]))
def test_departures_matter(name: str) -> None:
    runs = recorded(document(), "nimblock", workload())[:1]
    with_it, without = (
        agreement(workload(), runs, player, BoardSetting())
        for player in (DEPARTURES["nimblock"][name], DEPARTURES["nimblock"]["waiting counted once"])
    )
    assert (with_it != without) == (name != "waiting counted once")
