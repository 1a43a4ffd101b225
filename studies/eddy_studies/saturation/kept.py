# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Saturation points on disk, by what they follow from, so that an application is solved once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from eddy_studies.saturation.graph import LoadedGraph
from eddy_studies.saturation.points import Points
from eddy_studies.saturation.program import Makespan

FORM = 1
"""Changes with the program or with what is kept of it."""


def key(graph: LoadedGraph, slots: int, batches: Sequence[int], budget_s: float) -> str:
    """A name for everything the points follow from: the manifest's graph and estimates, the board, the effort."""
    parts = [FORM, graph.latency_s, graph.edges, graph.load_s, slots, sorted(batches), budget_s]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def load_points(folder: Path, name: str) -> Points | None:
    """What was kept under a name; None where there is nothing, or nothing that can be read."""
    try:
        raw = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        return Points(
            {int(batch): tuple(Makespan(**found) for found in row) for batch, row in raw["makespans"].items()},
            {int(batch): int(goal) for batch, goal in raw["goals"].items()},
            (float(raw["rule"][0]), float(raw["rule"][1])),
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def save_points(folder: Path, name: str, points: Points) -> None:
    """Keep points under a name, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    raw = {
        "makespans": {batch: [asdict(found) for found in row] for batch, row in points.makespans.items()},
        "goals": dict(points.goals),
        "rule": list(points.rule),
    }
    draft = folder / f"{name}.draft"
    draft.write_text(json.dumps(raw) + "\n", encoding="utf-8")
    draft.replace(folder / f"{name}.json")
