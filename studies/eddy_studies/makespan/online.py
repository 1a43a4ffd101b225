# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figure 5 of [002]: throughput of batches that arrive one after another, over what the earlier ones still use.

The document does not say how many jobs a batch has. 150 accelerators complete at most 940 jobs a second (0.2 s each, at
the best of +-20 %), and its system saturates at four batches a second: about 200 jobs a batch, which is used here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from eddy.model.placement.instance import Instance, Kind, as_document
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS
from eddy.policy.place.successive_batches import pool_after, shift_pool

from eddy_studies.makespan.sweep import KINDS, SCHEMES, Record, method_of
from eddy_studies.makespan.workload import BatchShape, batch
from eddy_studies.pictures import chart
from eddy_studies.report import Row, write_csv

PUBLISHED = {
    "computation": ("22.88-35.64 %", "32.88-40.08 %"),
    "network": ("20.17-36.05 %", "36.23-45.47 %"),
    "joint": ("16.47-27.57 %", "27.06-36.38 %"),
}
SHAPE = BatchShape(jobs=200)


def throughput(kind: Kind, scheme: str, per_s: float, batches: int, seed: int) -> float:
    """Jobs completed a second, from the first arrival to the last completion."""
    gap = 1 / per_s
    pool: Instance | None = None
    end = 0.0
    method = METHODS[method_of(kind, scheme)]
    first = batch(SHAPE, kind, seed)
    for k in range(batches):
        now = batch(SHAPE, kind, seed + 1000 * k)
        # The pool is one and the same: its bandwidths, and each accelerator's own times for new jobs.
        now = replace(now, egress_bps=first.egress_bps, ingress_bps=first.ingress_bps)
        if pool is not None:
            idle = shift_pool(pool, gap)
            now = replace(now, ready_s=idle.ready_s, busy=idle.busy)
        placed = method(now)
        if problems := problems_of(now, as_document(placed)):
            raise RuntimeError(f"{scheme} on batch {k} of kind {kind}: {problems[0]}")
        end = max(end, k * gap + placed.makespan_s)
        pool = pool_after(now, placed)
    return batches * SHAPE.jobs / end


def figure_5(out: Path, seed: int, quick: bool) -> list[Row]:
    """Throughput over the rate of arrivals."""
    rates = (2.0, 6.0) if quick else (1.0, 2.0, 3.0, 4.0, 6.0)
    batches = 5 if quick else 12
    records: list[Record] = []
    for kind in KINDS:
        for rate in rates:
            made = {scheme: throughput(kind, scheme, rate, batches, seed) for scheme in SCHEMES}
            records += [
                {
                    "kind": kind,
                    "batches_per_s": rate,
                    "scheme": scheme,
                    "jobs_per_s": round(value, 3),
                    "more_than_sjf": round(value / made["sjf"] - 1, 5),
                    "more_than_ljf": round(value / made["ljf"] - 1, 5),
                }
                for scheme, value in made.items()
            ]
    write_csv(out / "figure_5.csv", records)
    published = (
        "[002] figure 5: more jobs a second than SJF by 22.88 to 35.64 % (computation), 20.17 to 36.05 % (network), "
        "16.47 to 27.57 % (joint)"
    )
    labels = ("batches a second", "jobs a second")
    chart(out / "figure_5.png", records, "batches_per_s", "jobs_per_s", "kind", labels, published)
    return [row for kind in KINDS for row in _rows(records, kind)]


def _rows(records: list[Record], kind: str) -> list[Row]:
    rows = []
    for rival, published in zip(("sjf", "ljf"), PUBLISHED[kind], strict=True):
        ours = []
        for scheme in ("published", "default"):
            gains = [float(str(r[f"more_than_{rival}"])) for r in records if (r["kind"], r["scheme"]) == (kind, scheme)]
            ours.append(f"{min(gains):.1%} to {max(gains):.1%}")
        text = f"[002] {ours[0]}; default {ours[1]}"
        rows.append(Row("5", f"{kind}: more jobs a second than {rival.upper()}", published, text))
    return rows
