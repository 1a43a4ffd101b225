# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The goal numbers in the shipped packages are those their task graphs give, as `eddy saturate` finds them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from eddy.packages.applications import load_application
from eddy_studies.saturation.graph import LoadedGraph
from eddy_studies.saturation.points import BATCHES, sweep

SLOTS, LOAD_S, BUDGET_S = 3, 7.9e-3, 50.0
"""The pipeline slots of the `kv260` profile, what loading one of them takes, and the least `eddy saturate` is given."""
PACKAGES = sorted((Path(__file__).parents[2] / "bitstreams/applications").glob("*.yaml"))
SOLVED = [path for path in PACKAGES if "goals" in yaml.safe_load(path.read_text(encoding="utf-8"))]


def test_the_small_applications_say_their_goals() -> None:
    names = {path.stem for path in SOLVED}
    assert names >= {"image_compression", "digit_recognition", "rendering"}


@pytest.mark.parametrize("path", SOLVED, ids=lambda path: path.stem)
def test_goals_follow_from_the_graph(path: Path) -> None:
    application = load_application(path)
    batches = [batch for batch in BATCHES if batch <= application.max_batch]
    points = sweep(LoadedGraph.of(application, LOAD_S), SLOTS, batches, BUDGET_S, lambda line: None)
    assert points.worst_gap < 1e-3
    found = {batch: application.goal(batch) for batch in batches}
    refresh = f"eddy saturate {path.name} --slots {SLOTS} --load-ms {LOAD_S * 1e3:g} --write"
    assert found == dict(points.goals), f"{path.name} has other goals than its graph: {refresh}"
