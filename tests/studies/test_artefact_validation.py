# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The artefact variants against the published board runs, and what the machine that polls does."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from eddy_studies.judge.sequences import workload
from eddy_studies.nimblock.console import ADMISSION_S, CHARACTER_S, FIFO, LAUNCH_S, Console
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import BoardSetting, report, run
from eddy_studies.nimblock.validation import POLICIES, Agreement, agreement, document, rank_correlation, recorded
from eddy_studies.nimblock.workload import parse_events, parse_workload

BOARD = BoardSetting(measured=True, blocking=True)


@cache
def agreed(policy: str, variant: str) -> Agreement:
    """How a policy's variant agrees with the board's runs; a run takes two seconds, so that tests share it."""
    return agreement(workload(), recorded(document(), policy, workload()), make_player(policy, variant), BOARD)


@pytest.mark.parametrize("policy", POLICIES)
def test_responses_agree_with_the_board(policy: str) -> None:
    found = agreed(policy, "artefact")
    assert found.mean == pytest.approx(1.0, abs=0.05)
    assert found.correlation >= 0.97
    assert found.means == pytest.approx([1.0] * 5, abs=0.05)
    assert min(found.correlations) >= 0.95


@pytest.mark.parametrize(("card_s", "contention", "factor"), [(4.4e-3, 0.0015, 0.9), (5.5e-3, 0.0025, 1.1)])
def test_the_agreement_hangs_on_no_constant(
    monkeypatch: pytest.MonkeyPatch, card_s: float, contention: float, factor: float
) -> None:
    """Round robin, which is the most sensitive, with every constant at an end of what single sequences show."""
    monkeypatch.setattr("eddy_studies.nimblock.run.CARD_S", {"rendering_3d": card_s})
    monkeypatch.setattr("eddy_studies.nimblock.console.CONTENTION", contention)
    times = {name: takes_s * factor for name, takes_s in ADMISSION_S.items()}
    monkeypatch.setattr("eddy_studies.nimblock.console.ADMISSION_S", times)
    runs = recorded(document(), "round_robin", workload())
    found = agreement(workload(), runs, make_player("round_robin", "artefact"), BOARD)
    assert found.mean == pytest.approx(1.0, abs=0.05)
    assert found.correlation >= 0.97


@pytest.mark.parametrize("policy", ["prema", "nimblock"])
def test_the_text_does_not_agree_so_well(policy: str) -> None:
    text, artefact = (agreed(policy, variant) for variant in ("thesis", "artefact"))
    assert abs(text.mean - 1) > abs(artefact.mean - 1)
    assert text.correlation < artefact.correlation


def test_rank_correlation_is_spearmans() -> None:
    assert rank_correlation(np.array([1.0, 5.0, 3.0]), np.array([10.0, 1e9, 11.0])) == pytest.approx(1.0)
    # By hand: ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4.
    tied = rank_correlation(np.array([0.0, 7.0, 7.0, 9.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    assert tied == pytest.approx(4.5 / np.sqrt(4.5 * 5.0))


def test_the_console_blocks_only_beyond_its_fifo() -> None:
    console = Console()
    assert console.write(1.0, FIFO) == pytest.approx(1.0)
    assert console.write(1.0, 10) == pytest.approx(1.0 + 10 * CHARACTER_S)
    assert console.write(9.0, FIFO + 5) == pytest.approx(9.0 + 5 * CHARACTER_S)
    done_s = console.admit(20.0, "lenet")
    assert console.write(done_s, 3) == pytest.approx(done_s + 3 * CHARACTER_S)


def test_an_item_that_ends_during_a_load_waits_for_it() -> None:
    apps = {"apps": {"a": {"tasks": [{"id": 0, "name": "t", "estimate_us": 10000.0}], "edges": []}}}
    board = parse_workload({**apps, "hardware": {"slots": 2}}, load_ms=50.0)
    events = [
        {"app": "a", "batch": 2, "priority": 1, "arrival_ms": 0.0},
        {"app": "a", "batch": 1, "priority": 1, "arrival_ms": 10.0},
    ]
    sequence = parse_events(events, board)
    trace = report(board, sequence, run(board, sequence, make_player("fcfs", "artefact"), BOARD))["trace"]
    loads = [row["t_ms"] for row in trace if row["what"] == "configured"]
    first = [row for row in trace if row["event"] == 0 and row["what"] in ("launch", "item_done")]
    # Its first item takes 10 ms, but the second load begins before the loop comes by again.
    assert first[0]["t_ms"] == pytest.approx(loads[0])
    assert first[1]["t_ms"] >= loads[1]
    assert first[2]["t_ms"] >= first[1]["t_ms"]
    assert first[2]["t_ms"] - first[1]["t_ms"] <= 2 * LAUNCH_S * 1e3


def test_a_task_without_an_estimate_is_not_forgotten() -> None:
    apps = {"apps": {"a": {"tasks": [{"id": 0, "name": "t", "estimate_us": 0.0, "measured_us": 9.0}], "edges": []}}}
    board = parse_workload(apps)
    for policy in POLICIES:
        events = parse_events([{"app": "a", "batch": 1, "priority": 1, "arrival_ms": 0.0}], board)
        assert run(board, events, make_player(policy, "artefact"), BOARD).jobs[0].ended_s
