# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figures 3 and 4 of [002]: makespans by the size of the pool, and by the size of the batch."""

from __future__ import annotations

from pathlib import Path

from eddy_studies.makespan.sweep import KINDS, Record, sweep
from eddy_studies.makespan.workload import BatchShape
from eddy_studies.pictures import chart
from eddy_studies.report import Row, write_csv

PUBLISHED_3 = {
    "responders": "[002] figure 3: computation at 40 responders 27.81 % under SJF; LJF worst everywhere",
    "requesters": "[002] figure 3: joint at 350 requesters 36.25 % under SJF, 46.81 % under LJF; LJF worst everywhere",
}
"""What the document says of its figures."""


def figure_3(out: Path, seed: int, quick: bool) -> list[Row]:
    """1,000 jobs; responders at 200 requesters, then requesters at 30 responders."""
    seeds = range(seed, seed + (1 if quick else 3))
    responders = [BatchShape(responders=n) for n in ((20, 40) if quick else (10, 20, 30, 40, 50, 60))]
    requesters = [BatchShape(requesters=n) for n in ((200, 350) if quick else (50, 100, 150, 200, 250, 300, 350))]
    left = sweep(KINDS, responders, seeds, "responders")
    right = sweep(KINDS, requesters, seeds, "requesters")
    for records, axis in ((left, "responders"), (right, "requesters")):
        write_csv(out / f"figure_3_{axis}.csv", records)
        path, labels = out / f"figure_3_{axis}.png", (axis, "makespan, s")
        chart(path, records, axis, "makespan_s", "kind", labels, PUBLISHED_3[axis], bound=True)
    return [
        _improvement(left, "3a", {"kind": "computation", "responders": 40}, "sjf", 0.2781),
        _improvement(right, "3c", {"kind": "joint", "requesters": 350}, "sjf", 0.3625),
        _improvement(right, "3c", {"kind": "joint", "requesters": 350}, "ljf", 0.4681),
        _worst(left + right),
        _close(left + right),
    ]


def _improvement(records: list[Record], figure: str, where: dict[str, object], rival: str, published: float) -> Row:
    here = {r["scheme"]: r for r in records if all(r[k] == v for k, v in where.items())}
    conditions = ", ".join(f"{value} {key}" if key != "kind" else str(value) for key, value in where.items())
    ours = [float(str(here[s][f"improvement_over_{rival}"])) for s in ("published", "default")]
    holds = [value >= published - 0.02 for value in ours]
    note = "holds" if holds[0] else "by the default only" if holds[1] else "not under these conditions"
    what = f"improvement over {rival.upper()}: {conditions}"
    return Row(figure, what, f"{published:.2%}", f"[002] {ours[0]:.2%}; default {ours[1]:.2%}", note)


def _worst(records: list[Record]) -> Row:
    points: dict[tuple[str, ...], dict[object, float]] = {}
    for r in records:
        where = tuple(str(r.get(k, "")) for k in ("kind", "responders", "requesters"))
        points.setdefault(where, {})[r["scheme"]] = float(str(r["makespan_s"]))
    last = sum(p["ljf"] >= max(p["sjf"], p["published"]) * (1 - 1e-9) for p in points.values())
    ahead = sum(p["published"] > p["ljf"] * (1 + 1e-9) for p in points.values())
    ours = f"LJF is last at {last} of {len(points)} points, and ahead of [002]'s method at {ahead}"
    return Row("3", "LJF performs worst", "everywhere", ours, "holds" if last == len(points) else "does not hold")


def _close(records: list[Record]) -> Row:
    ours = []
    for scheme, name in (("published", "[002]"), ("default", "default")):
        gaps = [float(str(r["over_bound"])) for r in records if r["scheme"] == scheme]
        ours.append(f"{name} {sum(gaps) / len(gaps):.1%}, at most {max(gaps):.1%}")
    return Row("3", "over the lower bound, mean and most", "very close", "; ".join(ours))


def figure_4(out: Path, seed: int, quick: bool) -> list[Row]:
    """2,000 requesters, 300 responders with 1,500 accelerators; one seed, as the batches are large."""
    jobs = (1000, 2000) if quick else (1000, 2000, 3000, 4000, 5000)
    records = sweep(KINDS, [BatchShape(2000, 300, n) for n in jobs], (seed,), "jobs")
    write_csv(out / "figure_4.csv", records)
    published = "[002] figure 4: makespans grow almost linearly with the jobs (here one seed for each point)"
    labels = ("jobs", "makespan, s")
    chart(out / "figure_4.png", records, "jobs", "makespan_s", "kind", labels, published, bound=True)
    rows = []
    for kind in KINDS:
        ours = []
        for scheme in ("published", "default", "sjf"):
            span = {
                r["jobs"]: float(str(r["makespan_s"])) for r in records if (r["kind"], r["scheme"]) == (kind, scheme)
            }
            ours.append(f"{scheme} {span[jobs[-1]] / span[jobs[0]]:.2f}x")
        text = f"{kind}: makespan of {jobs[-1]} jobs over that of {jobs[0]}"
        note = "the longest job, and the fullest requester, decide while there is an accelerator for every few jobs"
        rows.append(Row("4", text, "almost linear", ", ".join(ours), note))
    return rows
