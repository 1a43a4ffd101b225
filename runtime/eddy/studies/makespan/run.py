"""`eddy reproduce makespan`: figures 2 to 9 of [002]."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from eddy.model.placement.instance import Kind
from eddy.studies.makespan.pictures import chart
from eddy.studies.makespan.sweep import Record, sweep
from eddy.studies.makespan.testbed import figure_2
from eddy.studies.makespan.workload import Shape
from eddy.studies.report import Row, write_csv, write_rows

KINDS: tuple[Kind, ...] = ("computation", "network", "joint")


def reproduce(out: Path, seed: int, quick: bool, say: Callable[[str], None]) -> list[Row]:
    """Write every figure's data and picture and `makespan.md` under `out`.

    Args:
        out: Folder, made if need be.
        seed: First seed; the others follow it.
        quick: One seed and few points.
        say: Told what is being done.
    """
    rows: list[Row] = []
    for name, figure in FIGURES.items():
        say(f"figure {name}")
        rows += figure(out, seed, quick)
        write_rows(out / "makespan.md", rows, "Make-span placement [002]: published and ours")
    return rows


def _figure_2(out: Path, seed: int, quick: bool) -> list[Row]:
    del seed, quick
    records, rows = figure_2()
    write_csv(out / "figure_2.csv", records)
    return rows


def _figure_3(out: Path, seed: int, quick: bool) -> list[Row]:
    seeds = range(seed, seed + (1 if quick else 3))
    responders = [Shape(responders=n) for n in ((20, 40) if quick else (10, 20, 30, 40, 50, 60))]
    requesters = [Shape(requesters=n) for n in ((200, 350) if quick else (50, 100, 150, 200, 250, 300, 350))]
    left = sweep(KINDS, responders, seeds, "responders")
    right = sweep(KINDS, requesters, seeds, "requesters")
    for records, axis in ((left, "responders"), (right, "requesters")):
        write_csv(out / f"figure_3_{axis}.csv", records)
        chart(out / f"figure_3_{axis}.png", records, axis, "makespan_s", "kind", (axis, "make-span, s"), bound=True)
    rows = [
        _improvement(left, "3a", {"kind": "computation", "responders": 40}, "sjf", "27.81 %"),
        _improvement(right, "3c", {"kind": "joint", "requesters": 350}, "sjf", "36.25 %"),
        _improvement(right, "3c", {"kind": "joint", "requesters": 350}, "ljf", "46.81 %"),
    ]
    return rows


def _improvement(records: list[Record], figure: str, where: dict[str, object], rival: str, published: str) -> Row:
    here = {r["scheme"]: r for r in records if all(r[k] == v for k, v in where.items())}
    conditions = ", ".join(f"{value} {key}" if key != "kind" else str(value) for key, value in where.items())
    ours = [f"{here[s][f'improvement_over_{rival}']:.2%}" for s in ("published", "default")]
    return Row(figure, f"improvement over {rival.upper()}: {conditions}", published, f"{ours[0]}; default {ours[1]}")


FIGURES: dict[str, Callable[[Path, int, bool], list[Row]]] = {"2": _figure_2, "3": _figure_3}
