# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce vayalapra`: the figures of [000], chapter 5.

Figures 5.1 and 5.2 run the workloads on the RTL of the clusters of 5.2.1. Figures 5.3 to 5.10 share the clusters of
Table 5.3 for windows of board time, calibrated by runs on their RTL that are kept (`clusters.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from eddy.core.errors import InvalidRequest
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.executor import Executor
from eddy.gpu.programs.shape import ClusterShape

from eddy_studies import pictures
from eddy_studies.report import Row, write_csv
from eddy_studies.vayalapra import live_figures, sharing
from eddy_studies.vayalapra.clusters import core_scaling
from eddy_studies.vayalapra.scaling import (
    BENCHMARKS,
    CONFIGURATIONS,
    QUICK,
    SIZES,
    Point,
    Prediction,
    measure,
    predictions,
)

HEADLINES = "headlines.json"
LIVE = "live"
QUICK_NOTE = "quick: small workloads, where cold caches count most"


def reproduce(out: Path, seed: int, quick: bool, say: Callable[[str], None], figure: str | None = None) -> list[Row]:
    """Write the figures' data and pictures under `out`.

    Args:
        out: Folder, made if need be.
        quick: Small workloads on the two smallest clusters, and short windows.
        say: Told what is being done.
        figure: "5.1" to "5.10", or "live" for the user sets on the hypervisor itself; None for all.

    Raises:
        InvalidRequest: There is no such figure.
    """
    every = (*FIGURES, *sharing.FIGURES, LIVE)
    if figure is not None and figure not in every:
        has = ", ".join(every)
        raise InvalidRequest(f"There is no figure {figure}; there are {has}.", field="figure", allowed=has)
    rows: list[Row] = []
    if alone := {name: make for name, make in FIGURES.items() if figure in (None, name)}:
        points = _points(seed, quick, say)
        for make in alone.values():
            rows += make(out, points)
        rows = [replace(row, note=f"{row.note}; {QUICK_NOTE}".lstrip("; ")) for row in rows] if quick else rows
    if together := {name: share for name, share in sharing.FIGURES.items() if figure in (None, name)}:
        found = sharing.results(sharing.QUICK_S if quick else sharing.WINDOW_S, say)
        (out / HEADLINES).write_text(json.dumps(sharing.headlines(found)), encoding="utf-8")
        for share in together.values():
            rows += share(out, found)
    if figure in (None, LIVE):
        rows += live_figures.rows(out, quick, say)
    return [replace(row, published=row.published or sharing.UNSTATED) for row in rows]


def headlines(out: Path) -> dict[str, object]:
    """What the last run into this folder found, as one object; empty where it shared no clusters."""
    path = out / HEADLINES
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _points(seed: int, quick: bool, say: Callable[[str], None]) -> list[Point]:
    sizes = QUICK if quick else SIZES
    clusters = CONFIGURATIONS[:2] if quick else CONFIGURATIONS
    return measure(list(sizes), sizes, clusters, seed, _rtl, Compiler(), say)


def _rtl(shape: ClusterShape) -> Executor:
    """The RTL; only needed, and built, when the study runs."""
    from eddy_sim.gpu.executors import RtlExecutor

    return RtlExecutor(shape)


def _figure_5_1(out: Path, points: Sequence[Point]) -> list[Row]:
    write_csv(out / "figure_5_1.csv", [_record(point) for point in points])
    pictures.fractions(out / "figure_5_1.png", points)
    rows = []
    for name in dict.fromkeys(point.workload for point in points):
        own = [point for point in points if point.workload == name]
        text = ", ".join(f"{point.configuration} {point.profile.fraction:.3f}" for point in own)
        rows.append(Row("5.1", f"F of {name}", "", text, f"(4.2) to the letter: {mean(p.published for p in own):.3f}"))
    return rows


def _figure_5_2(out: Path, points: Sequence[Point]) -> list[Row]:
    found = predictions(points)
    write_csv(
        out / "figure_5_2.csv",
        [
            {
                **_record(p.point),
                **{"predicted_cycles": round(p.cycles), "error": round(p.error, 4)},
                **{"by_level_cycles": round(p.cycles_by_level), "by_level_error": round(p.error_by_level, 4)},
                **{"with_memory_cycles": round(p.cycles_with_memory)},
                **{"with_memory_error": round(p.error_with_memory, 4)},
                "memory_bound": p.memory_bound,
            }
            for p in found
        ],
    )
    pictures.times(out / "figure_5_2.png", found)
    rows = [_errors(name, [p for p in found if p.point.workload == name]) for name in _names(found)]
    foretold = _foretold(found)
    chosen = {
        "compute-bound workloads": [p for p in foretold if not p.memory_bound],
        "workloads of [000] 5.1.1": [p for p in foretold if p.point.workload in BENCHMARKS],
        "all workloads": foretold,
    }
    for what, some in chosen.items():
        rows += [_claim(f"{what}, one F", [abs(p.error) for p in some])] if some else []
        rows += [_claim(f"{what}, F of cores and of lanes", [abs(p.error_by_level) for p in some])] if some else []
        rows += [_claim(f"{what}, memory apart", [abs(p.error_with_memory) for p in some])] if some else []
    return rows + _by_cores(out)


def _by_cores(out: Path) -> list[Row]:
    """F among the cores of one cluster, by counters and by times, from the runs that are kept (small inputs)."""
    scaling = core_scaling()
    write_csv(
        out / "by_cores.csv",
        [
            {
                **{"workload": one.workload, "of": one.of, "threads": one.threads, "fpu": one.fpu, "cores": cores},
                **{
                    "cycles": one.cycles[at],
                    "by_counters": one.by_counters[at],
                    "by_times": round(one.by_times[at], 5),
                },
            }
            for one in scaling
            for at, cores in enumerate(one.cores)
        ],
    )
    return [
        Row(
            "5.2",
            f"F of {one.workload} on 2, 4 and 8 of 8 cores (small input): by counters (4.3), by times (4.1)",
            "",
            ", ".join(f"{a:.3f} {b:.3f}" for a, b in zip(one.by_counters[1:], one.by_times[1:], strict=True)),
            f"8 cores from 4: {one.error(4, 8):+.1%}",
        )
        for one in scaling
        if one.of == 8
    ]


def _claim(what: str, errors: Sequence[float]) -> Row:
    note = "holds" if mean(errors) <= 0.05 and max(errors) <= 0.10 else "does not hold"
    ours = f"{mean(errors):.1%} mean, {max(errors):.1%} worst"
    return Row("5.2", f"error of predicted time, {what}", "within 5 %", ours, note)


def _names(found: Sequence[Prediction]) -> list[str]:
    return list(dict.fromkeys(p.point.workload for p in found))


def _foretold(found: Sequence[Prediction]) -> list[Prediction]:
    """Without the points everything is foretold from."""
    first = {p.point.workload: p.point.configuration for p in reversed(found)}
    return [p for p in found if first[p.point.workload] != p.point.configuration]


def _errors(name: str, own: Sequence[Prediction]) -> Row:
    parts = (
        f"{p.point.configuration} {p.point.profile.time:.0f}"
        f" ({p.error:+.1%}, {p.error_by_level:+.1%}, {p.error_with_memory:+.1%})"
        for p in own
    )
    note = "memory-bound: reported apart" if own[0].memory_bound else ""
    return Row("5.2", f"cycles of {name} (errors with one F, with two, memory apart)", "", ", ".join(parts), note)


def _record(point: Point) -> dict[str, object]:
    return {
        **{"workload": point.workload, "cores": point.cores, "threads": point.threads},
        **{"cycles": round(point.profile.time), "fraction": round(point.profile.fraction, 5)},
        **{"fraction_published": round(point.published, 5), "waiting_for_memory": round(point.waiting, 4)},
    }


FIGURES: Mapping[str, Callable[[Path, Sequence[Point]], list[Row]]] = {"5.1": _figure_5_1, "5.2": _figure_5_2}
