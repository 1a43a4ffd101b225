# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figure 7 of [002]: average completion time against makespan, by the number of groups of sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from eddy.model.placement import bounds
from eddy.model.placement.instance import Instance, as_document
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS
from eddy.policy.place.successive_batches import grouped, mean_completion_s

from eddy_studies.makespan.sweep import Record
from eddy_studies.makespan.workload import BatchShape, batch
from eddy_studies.pictures import chart
from eddy_studies.report import Row, write_csv


def measured(it: Instance, scheme: str, groups: int) -> tuple[float, float]:
    """Makespan and average completion of one scheme."""
    if scheme == "sjf":
        placed = METHODS["sjf"](it)
    else:
        method = METHODS["network" if scheme == "published" else "default"]
        placed = grouped(it, groups, method, bounds.network(it))
    if problems := problems_of(it, as_document(placed)):
        raise RuntimeError(f"{scheme} in {groups} groups: {problems[0]}")
    return placed.makespan_s, mean_completion_s(it, placed)


def figure_7(out: Path, seed: int, quick: bool) -> list[Row]:
    """1,000 network-intensive jobs; with 200 requesters their ports decide, with 350 the responders' too."""
    groups = (1, 6) if quick else (1, 2, 3, 4, 5, 6, 8, 10)
    seeds = range(seed, seed + (1 if quick else 3))
    records: list[Record] = []
    rows = []
    for requesters in (200, 350):
        batches = [batch(BatchShape(requesters=requesters), "network", s) for s in seeds]
        made: dict[tuple[str, int], tuple[float, float]] = {}
        for scheme in ("published", "default", "sjf"):
            for n in groups:
                if scheme == "sjf" and n > groups[0]:
                    made[scheme, n] = made[scheme, groups[0]]
                else:
                    span, mean = np.mean([measured(it, scheme, n) for it in batches], axis=0)
                    made[scheme, n] = float(span), float(mean)
        records += [
            {
                "requesters": requesters,
                "groups": n,
                "scheme": scheme,
                "makespan_s": round(span, 6),
                "mean_s": round(m, 6),
            }
            for (scheme, n), (span, m) in made.items()
        ]
        rows.append(_row(requesters, made, groups))
    write_csv(out / "figure_7.csv", records)
    panels = [
        {
            "what": f"{r['requesters']} requesters: {name}",
            "groups": r["groups"],
            "scheme": r["scheme"],
            "seconds": r[key],
        }
        for key, name in (("makespan_s", "makespan"), ("mean_s", "average completion"))
        for r in records
    ]
    published = "[002] figure 7: with six groups SJF's average completion, at a makespan 7.2 % shorter than SJF's"
    chart(out / "figure_7.png", panels, "groups", "seconds", "what", ("groups", "seconds"), published)
    return rows


def _row(requesters: int, made: dict[tuple[str, int], tuple[float, float]], groups: tuple[int, ...]) -> Row:
    sjf_span, sjf_mean = made["sjf", groups[0]]
    ours = []
    for scheme in ("published", "default"):
        span, mean = made[scheme, 6]
        ours.append(f"average {mean / sjf_mean - 1:+.1%} of SJF's, makespan {span / sjf_span - 1:+.1%}")
    span, mean = made["published", 6]
    holds = mean < 1.05 * sjf_mean and span < sjf_span
    return Row(
        "7",
        f"six groups, {requesters} requesters",
        "SJF's average, makespan -7.2 %",
        f"[002] {ours[0]}; default {ours[1]}",
        "holds" if holds else "does not hold",
    )
