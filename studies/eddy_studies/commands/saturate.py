# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy saturate`: how many slots an application can use."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from eddy.cli.support.options import AsJson
from eddy.cli.support.output import errors_in_one_line, print_json, print_status

if TYPE_CHECKING:
    from eddy.core.applications import Application

    from eddy_studies.saturation.points import Points


def saturate(
    package: Annotated[Path, typer.Argument(help="An application package (YAML), or task graphs as simulate takes.")],
    slots: Annotated[int, typer.Option(min=1, max=64, help="Of the system.")] = 10,
    load_ms: Annotated[float, typer.Option(min=0, help="What a load takes.")] = 90.0,
    budget_s: Annotated[float, typer.Option(min=0, help="Seconds of solving for each application.")] = 50.0,
    cache: Annotated[Path | None, typer.Option(help="Folder of what was solved before; else the user's.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the goals into the package.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find an application's saturation points: slots beyond which more bring little."""
    with errors_in_one_line(as_json):
        applications = _applications(package)
        folder = cache or _user_cache()
        found = {each.name: _points(each, slots, load_ms * 1e-3, budget_s, folder) for each in applications}
        if write:
            _write_goals(package, found)
    if as_json:
        print_json({name: _document(points) for name, points in found.items()})
        return
    for name, points in found.items():
        print(f"{name}: goals by batch {_line(points)}, at most {points.worst_gap:.1%} from the best there can be")
        a, b = points.rule
        print(f"  otherwise {a:.2f} + {b:.2f} * log2(batch)")
        for batch, row in points.makespans.items():
            print(f"  batch {batch:<3}" + "".join(f" {found.makespan_s:9.4g}" for found in row) + " s")


def _points(application: Application, slots: int, load_s: float, budget_s: float, folder: Path) -> Points:
    """What was solved before, or is solved now."""
    from eddy_studies.saturation.graph import LoadedGraph
    from eddy_studies.saturation.kept import key, load_points, save_points
    from eddy_studies.saturation.points import BATCHES, sweep

    graph = LoadedGraph.of(application, load_s)
    batches = [batch for batch in BATCHES if batch <= application.max_batch]
    name = key(graph, slots, batches, budget_s)
    points = load_points(folder, name)
    if points is None:
        points = sweep(graph, slots, batches, budget_s, lambda line: print_status(f"{application.name}: {line}"))
        save_points(folder, name, points)
    return points


def _applications(path: Path) -> list[Application]:
    from dataclasses import replace

    from eddy.packages.applications import load_application

    from eddy_studies.nimblock.workload import parse_workload, read_json

    if path.suffix != ".json":
        return [load_application(path)]
    document = read_json(path)
    apps = parse_workload(document).apps
    most = {name: int(document["apps"][name].get("max_batch", 30)) for name in apps}
    return [replace(app.application, max_batch=most[name]) for name, app in apps.items()]


def _write_goals(path: Path, found: dict[str, Points]) -> None:
    """Put the goals into a package, in the line they have or after `goal_slots`."""
    from eddy.core.errors import InvalidRequest

    if path.suffix == ".json" or len(found) != 1:
        raise InvalidRequest("--write needs an application package", field="write")
    text = path.read_text(encoding="utf-8")
    line = f"goals: {_line(next(iter(found.values())))}\n"
    text, count = re.subn(r"^goals:.*\n", line, text, count=1, flags=re.MULTILINE)
    if not count:
        text, count = re.subn(r"^(goal_slots:.*\n)", rf"\g<1>{line}", text, count=1, flags=re.MULTILINE)
    path.write_text(text if count else text + line, encoding="utf-8")


def _line(points: Points) -> str:
    """Goals as a package has them: a batch is left out that says the same as the one before."""
    kept: list[tuple[int, int]] = []
    for batch, goal in sorted(points.goals.items()):
        if not kept or kept[-1][1] != goal:
            kept.append((batch, goal))
    return "{" + ", ".join(f"{batch}: {goal}" for batch, goal in kept) + "}"


def _document(points: Points) -> dict[str, Any]:
    return {
        "goals": dict(points.goals),
        "rule": list(points.rule),
        "worst_gap": points.worst_gap,
        "makespans_s": {batch: [found.makespan_s for found in row] for batch, row in points.makespans.items()},
        "gaps": {batch: [found.gap for found in row] for batch, row in points.makespans.items()},
    }


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eddy" / "saturation"
