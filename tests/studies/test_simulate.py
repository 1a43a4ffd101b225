# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Studies in virtual time: invariants on any input, clear errors, the same trace for the same input."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from eddy.cli.main import app
from eddy.core.errors import InvalidRequest
from eddy.policy.dispatch import POLICIES
from eddy_studies.nimblock.policies import VARIANTS, make_player
from eddy_studies.nimblock.run import BoardSetting, report, run
from eddy_studies.nimblock.workload import parse_events, parse_workload
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner
from unit.trace_checks import problems_of

DIAMOND = {
    "tasks": [{"id": i, "name": f"t{i}", "estimate_us": 1000.0 * (i + 1), "measured_us": 3000.0} for i in range(4)],
    "edges": [[0, 1], [0, 2], [1, 3], [2, 3]],
}
SINGLE = {"tasks": [{"id": 7, "name": "only", "estimate_us": 500.0}], "edges": []}
DOCUMENT: dict[str, Any] = {
    "apps": {"diamond": DIAMOND, "single": SINGLE},
    "hardware": {"slots": 3, "reconfiguration_ms_measured_per_slot": [2.0, 2.5, 3.0]},
}


def simulate(
    document: dict[str, Any], events: list[dict[str, Any]], policy: str, variant: str, setting: BoardSetting
) -> dict[str, Any]:
    workload = parse_workload(document)
    sequence = parse_events(events, workload)
    result = run(workload, sequence, make_player(policy, variant), setting)
    return report(workload, sequence, result, setting.measured)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 6))
    # Ids in any order, and not the positions: the file's order need not be topological.
    ids = draw(st.permutations(range(10, 10 + count)))
    pairs = list(itertools.combinations(range(count), 2))
    edges = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    times = st.floats(0, 50_000, allow_nan=False)
    rows = [{"id": i, "name": f"t{i}", "estimate_us": draw(times), "measured_us": draw(times)} for i in ids]
    return {"tasks": draw(st.permutations(rows)), "edges": [[ids[a], ids[b]] for a, b in sorted(edges)]}


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    slots = draw(st.integers(1, 5))
    loads = draw(st.lists(st.floats(0, 20), min_size=slots, max_size=slots))
    document = {
        "apps": {name: draw(graphs()) for name in names},
        "hardware": {"slots": slots, "reconfiguration_ms_measured_per_slot": loads},
    }
    event = st.fixed_dictionaries(
        {
            "app": st.sampled_from(names),
            "batch": st.integers(1, 5),
            "priority": st.sampled_from([1, 3, 9]),
            "arrival_ms": st.sampled_from([0.0, 1.0, 10.0, 55.5]),
        }
    )
    return document, draw(st.lists(event, min_size=1, max_size=8))


@settings(max_examples=120, deadline=None)
@given(cases(), st.sampled_from(sorted(POLICIES)), st.sampled_from(VARIANTS), st.booleans(), st.booleans())
def test_invariants_hold_on_any_input(
    case: tuple[dict[str, Any], list[dict[str, Any]]], policy: str, variant: str, measured: bool, blocking: bool
) -> None:
    document, events = case
    answer = simulate(document, events, policy, variant, BoardSetting(measured, blocking))
    bulk = not make_player(policy, variant).policy.pipelined
    assert not problems_of(document["apps"], events, answer, bulk)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_same_input_gives_the_same_trace(policy: str, variant: str) -> None:
    events = [{"app": "diamond", "batch": 3, "priority": p, "arrival_ms": 0.0} for p in (1, 9, 3, 9)] + [
        {"app": "single", "batch": 1, "priority": 1, "arrival_ms": 4.0}
    ]
    first = simulate(DOCUMENT, events, policy, variant, BoardSetting())
    assert first == simulate(DOCUMENT, events, policy, variant, BoardSetting())
    assert {row["task"] for row in first["trace"] if row["event"] == 4} == {7}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_one_slot_does_everything_one_task_after_another(policy: str) -> None:
    document = {**DOCUMENT, "hardware": {"reconfiguration_ms_measured_per_slot": [2.0]}}
    events = [{"app": "diamond", "batch": 2, "priority": 3, "arrival_ms": 1.0}]
    for variant in VARIANTS:
        answer = simulate(document, events, policy, variant, BoardSetting())
        assert not problems_of(document["apps"], events, answer, bulk=False)
        assert answer["events"][0]["response_ms"] >= answer["events"][0]["single_slot_ms"] - 1e-6


def test_single_slot_time_is_a_load_a_task_and_the_batch_in_a_row() -> None:
    answer = simulate(
        DOCUMENT, [{"app": "diamond", "batch": 2, "priority": 1, "arrival_ms": 0}], "fcfs", "thesis", BoardSetting()
    )
    assert answer["events"][0]["single_slot_ms"] == pytest.approx(4 * 2.5 + 2 * 4 * 3.0)


def test_slots_do_not_change_hands_for_ever_where_a_load_takes_no_time() -> None:
    """A task that would wait in its slot must not ask for one as if it worked there."""
    tasks = [{"id": i, "estimate_us": estimate_us} for i, estimate_us in enumerate((20_000, 30_000, 20_000))]
    document: dict[str, Any] = {
        "apps": {"chain": {"tasks": tasks, "edges": [[0, 1], [0, 2], [1, 2]]}},
        "hardware": {"reconfiguration_ms_measured_per_slot": [0.0] * 5},
    }
    events = [{"app": "chain", "batch": batch, "priority": 3, "arrival_ms": 0.0} for batch in (2, 5)]
    answer = simulate(document, events, "eddy", "thesis", BoardSetting(blocking=False))
    assert not problems_of(document["apps"], events, answer, bulk=False)
    items = sum(row["what"] == "item_done" for row in answer["trace"])
    assert sum(row["what"] == "configured" for row in answer["trace"]) < items


@pytest.mark.parametrize("measured", [True, False])
def test_alone_in_one_slot_a_job_takes_its_single_slot_time(measured: bool) -> None:
    document = {**DOCUMENT, "hardware": {"reconfiguration_ms_measured_per_slot": [2.0]}}
    event = {"app": "diamond", "batch": 3, "priority": 1, "arrival_ms": 7.0}
    row = simulate(document, [event], "exclusive", "thesis", BoardSetting(measured))["events"][0]
    assert row["response_ms"] == pytest.approx(row["single_slot_ms"])


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"app": "diamond", "batch": 1, "priority": 2, "arrival_ms": 0}, "priority"),
        ({"app": "diamond", "batch": 0, "priority": 1, "arrival_ms": 0}, "batch"),
        ({"app": "diamond", "batch": 1, "priority": 1, "arrival_ms": -1}, "arrival_ms"),
        ({"app": "nothing", "batch": 1, "priority": 1, "arrival_ms": 0}, "app"),
        ({"app": ["diamond"], "batch": 1, "priority": 1, "arrival_ms": 0}, "app"),
    ],
)
def test_a_wrong_event_is_named(event: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_events([event], parse_workload(DOCUMENT))
    assert caught.value.details["field"] == f"events[0].{field}"


def test_wrong_applications_are_named() -> None:
    circle = {"tasks": SINGLE["tasks"], "edges": [[7, 7]]}
    unknown = {"tasks": SINGLE["tasks"], "edges": [[7, 8]]}
    unhashable = {"tasks": SINGLE["tasks"], "edges": [[[7], 7]]}
    no_id = {"tasks": [{"id": [7], "estimate_us": 1.0}]}
    wrong: list[dict[str, Any]] = [
        {"x": circle},
        {"x": unknown},
        {"x": unhashable},
        {"x": no_id},
        {"x": {"tasks": []}},
        {},
    ]
    for apps in wrong:
        with pytest.raises(InvalidRequest) as caught:
            parse_workload({"apps": apps})
        assert str(caught.value.details["field"]).startswith("apps")


def test_the_command_writes_events_and_trace(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(DOCUMENT))
    rows = [{"app": "diamond", "batch": 2, "priority": 9, "arrival_ms": 5.0}]
    (tmp_path / "e.json").write_text(json.dumps(rows))
    out = tmp_path / "r.json"
    files = ["--apps", str(tmp_path / "a.json"), "--events", str(tmp_path / "e.json"), "--out", str(out)]
    done = CliRunner().invoke(app, ["simulate", *files, "--policy", "nimblock", "--slots", "2", "--loads", "async"])
    assert done.exit_code == 0, done.output
    answer = json.loads(out.read_text())
    assert not problems_of(DOCUMENT["apps"], rows, answer, bulk=False)
    assert {row["slot"] for row in answer["trace"]} == {0, 1}
    (tmp_path / "e.json").write_text(json.dumps([{**rows[0], "priority": 5}]))
    refused = CliRunner().invoke(app, ["simulate", *files, "--policy", "nimblock"])
    assert refused.exit_code == 2
    assert "events[0].priority" in refused.output


def test_a_part_of_a_slot_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_workload({**DOCUMENT, "hardware": {"slots": 2.5}})
    assert caught.value.details["field"] == "hardware.slots"


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "e.json").write_text("[]")
    files = ["--apps", str(tmp_path / "a.json"), "--events", str(tmp_path / "e.json"), "--out", str(tmp_path)]
    refused = CliRunner().invoke(app, ["simulate", *files, "--policy", "fcfs"])
    assert refused.exit_code == 2
    assert "cannot be written" in refused.output
