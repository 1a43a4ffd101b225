# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Saturation points: the program against every schedule there is, bounds, goals, the cache, the command."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from eddy.cli.main import app
from eddy.core.applications import Application, TaskSpec
from eddy.packages.applications import load_application
from eddy_studies.saturation.graph import LoadedGraph, list_schedule_s, lower_bound_s, single_slot_s
from eddy_studies.saturation.kept import key, load_points, save_points
from eddy_studies.saturation.points import saturation_point, sweep
from eddy_studies.saturation.program import Makespan, solve
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

CHAIN = LoadedGraph((3.0, 2.0, 4.0), ((0, 1), (1, 2)), 1.0)


@st.composite
def graphs(draw: st.DrawFn) -> LoadedGraph:
    count = draw(st.integers(1, 4))
    pairs = list(itertools.combinations(range(count), 2))
    edges = tuple(sorted(draw(st.sets(st.sampled_from(pairs))))) if pairs else ()
    latencies = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0, 7.0]), min_size=count, max_size=count))
    return LoadedGraph(tuple(latencies), edges, draw(st.sampled_from([0.1, 1.0, 4.0])))


def every_schedule_s(graph: LoadedGraph, batch: int, slots: int) -> float:
    """The least makespan over every order of loads and every choice of slots."""
    count = len(graph.latency_s)
    best_s = float("inf")
    for order in itertools.permutations(range(count)):
        for places in itertools.product(range(slots), repeat=count):
            best_s = min(best_s, _play(graph, batch, slots, order, places))
    return best_s


def _play(graph: LoadedGraph, batch: int, slots: int, order: tuple[int, ...], places: tuple[int, ...]) -> float:
    free, port = [0.0] * slots, 0.0
    begins: dict[int, float] = {}
    holder: list[int | None] = [None] * slots
    ends: dict[int, list[float]] = {}
    for task in order:
        slot = places[task]
        before = holder[slot]
        if before is not None and not _finish(graph, batch, before, begins, ends):
            return float("inf")
        free_s = ends[before][-1] if before is not None else free[slot]
        port = max(port, free_s) + graph.load_s
        begins[task], holder[slot] = port, task
        _finish(graph, batch, task, begins, ends)
    if not all(_finish(graph, batch, task, begins, ends) for task in range(len(graph.latency_s))):
        return float("inf")
    return max(end[-1] for end in ends.values())


def _finish(graph: LoadedGraph, batch: int, task: int, begins: dict[int, float], ends: dict[int, list[float]]) -> bool:
    """Work out when a loaded task's items end; False where something before it is not loaded yet."""
    if task in ends:
        return True
    if task not in begins or not all(_finish(graph, batch, p, begins, ends) for p in graph.before[task]):
        return False
    at_s, done = begins[task], []
    for item in range(batch):
        at_s = max([at_s, *(ends[p][item] for p in graph.before[task])]) + graph.latency_s[task]
        done.append(at_s)
    ends[task] = done
    return True


@settings(max_examples=40, deadline=None, derandomize=True)
@given(graphs(), st.integers(1, 3), st.integers(1, 3))
def test_the_program_finds_the_best_of_all_schedules(graph: LoadedGraph, batch: int, slots: int) -> None:
    best_s = every_schedule_s(graph, batch, slots)
    found = solve(graph, batch, slots, limit_s=30)
    assert found.makespan_s == pytest.approx(best_s, rel=1e-3)
    assert found.bound_s <= best_s * (1 + 1e-6)
    assert lower_bound_s(graph, batch, slots) <= best_s * (1 + 1e-9)
    assert list_schedule_s(graph, batch, slots) >= best_s * (1 - 1e-9)


def test_one_slot_does_one_task_after_another() -> None:
    assert single_slot_s(CHAIN, 2) == 3 * 1.0 + 2 * 9.0
    assert solve(CHAIN, 2, 1, limit_s=10).makespan_s == pytest.approx(21.0)


def test_a_known_make_span_is_never_given_up() -> None:
    assert solve(CHAIN, 2, 2, limit_s=0, known_s=1.0).makespan_s == 1.0


def test_without_time_the_gap_is_told() -> None:
    wide = LoadedGraph((3.0, 5.0, 7.0, 2.0, 4.0), (), 1.0)
    found = solve(wide, 1, 2, limit_s=0)
    assert found.spent_s == 0
    assert found.bound_s <= found.makespan_s
    assert found.gap == pytest.approx(1 - found.bound_s / found.makespan_s)


@pytest.mark.parametrize(
    ("makespans_s", "point"), [([10, 5, 4.9, 4.8], 2), ([10, 10, 10], 1), ([10, 9.9, 5], 3), ([1], 1)]
)
def test_the_point_is_where_the_rest_saves_little(makespans_s: list[float], point: int) -> None:
    assert saturation_point(makespans_s) == point


def test_a_sweep_has_a_goal_for_every_batch_and_a_rule_beyond() -> None:
    points = sweep(CHAIN, 5, (1, 2, 8), budget_s=20)
    assert [len(row) for row in points.makespans.values()] == [5, 5, 5]
    for row in points.makespans.values():
        spans = [found.makespan_s for found in row]
        assert spans == sorted(spans, reverse=True), "a further slot does no harm"
    assert points.goal(8) == points.goals[8] >= 2
    assert 1 <= points.goal(1000) <= 5
    assert points.goal(1000) >= points.goal(1)


def test_points_are_kept_by_what_they_follow_from(tmp_path: Path) -> None:
    points = sweep(CHAIN, 2, (1, 2), budget_s=10)
    name = key(CHAIN, 2, (1, 2), 10)
    assert load_points(tmp_path, name) is None
    save_points(tmp_path, name, points)
    assert load_points(tmp_path, name) == points
    assert key(CHAIN, 2, (2, 1), 10) == name
    assert key(LoadedGraph(CHAIN.latency_s, CHAIN.edges, 2.0), 2, (1, 2), 10) != name
    (tmp_path / f"{name}.json").write_text("{}")
    assert load_points(tmp_path, name) is None


def test_goals_by_batch() -> None:
    task = TaskSpec(0, "t", "m", (), 1.0, 1.0)
    one = Application("a", (task,), (), goals=((2, 4), (8, 5)))
    assert [one.goal(batch) for batch in (1, 2, 7, 8, 30)] == [3, 4, 4, 5, 5]


def test_the_command_solves_once_and_writes_the_package(tmp_path: Path) -> None:
    package = tmp_path / "two.yaml"
    package.write_text(
        "application: two\nmax_batch: 2\ngoal_slots: 3\nbuffers: {}\n"
        "tasks:\n  - {name: a, estimate_us: 90000, time_limit_ms: 1000}\n"
        "  - {name: b, estimate_us: 90000, time_limit_ms: 1000}\nedges: [[a, b]]\n"
    )
    call = ["saturate", str(package), "--slots", "3", "--cache", str(tmp_path / "cache"), "--json"]
    first = CliRunner().invoke(app, [*call, "--write"])
    assert first.exit_code == 0, first.output
    answer = json.loads(first.stdout)["two"]
    assert answer["goals"] == {"1": 2, "2": 2}
    assert answer["makespans_s"]["1"] == pytest.approx([0.36, 0.27, 0.27])
    assert load_application(package).goals == ((1, 2),)
    assert load_application(package).goal(2) == 2
    again = CliRunner().invoke(app, call)
    assert json.loads(again.stdout) == json.loads(first.stdout)
    assert "batch" not in again.stderr, "nothing was solved"
    assert len(list((tmp_path / "cache").glob("*.json"))) == 1


def test_a_make_span_of_nothing_has_no_gap() -> None:
    assert Makespan(0.0, 0.0, 0.0).gap == 0.0
