# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figure 9 of [002]: how long the algorithms take, by the number of requesters."""

from __future__ import annotations

from pathlib import Path
from time import process_time

from eddy.policy.place import METHODS

from eddy_studies.makespan.sweep import KINDS, Record, method_of
from eddy_studies.makespan.workload import BatchShape, batch
from eddy_studies.pictures import chart
from eddy_studies.report import Row, write_csv

RUNS = 3


def figure_9(out: Path, seed: int, quick: bool) -> list[Row]:
    """Seconds of processor time, the least of a few runs, for 1,000 jobs on 30 responders."""
    records: list[Record] = []
    for requesters in (50, 200) if quick else (50, 100, 200, 300, 400):
        for kind in KINDS:
            it = batch(BatchShape(requesters=requesters), kind, seed)
            for scheme in ("default", "published"):
                method = METHODS[method_of(kind, scheme)]
                took = []
                for _ in range(RUNS):
                    begin = process_time()
                    method(it)
                    took.append(process_time() - begin)
                records.append(
                    {
                        "kind": kind,
                        "requesters": requesters,
                        "scheme": scheme,
                        "milliseconds": round(min(took) * 1e3, 3),
                    }
                )
    write_csv(out / "figure_9.csv", records)
    labels, published = ("requesters", "ms of processor time"), "[002] figure 9: microseconds, whatever the requesters"
    chart(out / "figure_9.png", records, "requesters", "milliseconds", "kind", labels, published)
    rows = []
    for kind in KINDS:
        spans = []
        for scheme in ("published", "default"):
            took = [float(str(r["milliseconds"])) for r in records if (r["kind"], r["scheme"]) == (kind, scheme)]
            spans.append(f"{min(took):.1f} to {max(took):.1f} ms")
        note = "microseconds do not hold; independence of the requesters does for computation"
        rows.append(Row("9", f"{kind}: running time", "microseconds", f"[002] {spans[0]}; default {spans[1]}", note))
    return rows
