# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figure 8 of [002]: placing by estimated times, running by true ones."""

from __future__ import annotations

import heapq
from pathlib import Path

import numpy as np
from eddy.model.placement.instance import Floats, Instance
from eddy.policy.place import METHODS
from eddy.policy.place.schedule import makespan_of

from eddy_studies.makespan.sweep import Record
from eddy_studies.makespan.workload import BatchShape, batch
from eddy_studies.pictures import chart
from eddy_studies.report import Row, write_csv

SHAPE = BatchShape(responders=40)


def dispatched(estimate_s: Floats, true_s: Floats, longest: bool) -> float:
    """Makespan of SJF or LJF, which choose by the estimate and are idle again when the job truly ends."""
    jobs, accelerators = true_s.shape
    falling = np.argsort(-estimate_s.mean(axis=1), kind="stable").tolist()
    rows = estimate_s.T.copy()
    idle = [(0.0, j) for j in range(accelerators)]
    last = 0.0
    for k in range(jobs):
        now, j = idle[0]
        i = falling[k] if longest else int(rows[j].argmin())
        rows[:, i] = np.inf
        end = now + float(true_s[i, j])
        last = max(last, end)
        heapq.heapreplace(idle, (end, j))
    return last


def figure_8(out: Path, seed: int, quick: bool) -> list[Row]:
    """Makespan over the largest relative error of a job's estimate."""
    seeds = range(seed, seed + (2 if quick else 6))
    errors = (0.0, 0.3) if quick else (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    records: list[Record] = []
    for error in errors:
        found = np.array([_makespans(s, error) for s in seeds]).mean(axis=0)
        for scheme, value in zip(("default", "published", "sjf", "ljf"), found, strict=True):
            records.append({"what": "makespan", "error": error, "scheme": scheme, "makespan_s": round(float(value), 6)})
    write_csv(out / "figure_8.csv", records)
    published = "[002] figure 8: errors of estimation change the makespan little"
    labels = ("largest relative error", "makespan, s")
    chart(out / "figure_8.png", records, "error", "makespan_s", "what", labels, published)
    at = {(r["scheme"], r["error"]): float(str(r["makespan_s"])) for r in records}
    ours = "; ".join(
        f"{name} {at[scheme, 0.3] / at[scheme, 0.0] - 1:+.1%}"
        for scheme, name in (("published", "[002]"), ("default", "default"), ("sjf", "SJF"))
    )
    ahead = 1 - at["published", 0.3] / at["sjf", 0.3], 1 - at["default", 0.3] / at["sjf", 0.3]
    note = f"at 30 % still ahead of SJF by {ahead[0]:.1%}, default {ahead[1]:.1%}"
    return [Row("8", "makespan at errors up to 30 %, over none", "close to no error", ours, note)]


def _makespans(seed: int, error: float) -> tuple[float, float, float, float]:
    true_s = batch(SHAPE, "computation", seed).time_s
    wrong = np.random.default_rng(seed + 7919).uniform(1 - error, 1 + error, (len(true_s), 1))
    estimate = true_s * wrong
    zeros = np.zeros(true_s.shape[1])
    default, published = (
        makespan_of(true_s, METHODS[method](Instance(estimate)).host, zeros) for method in ("default", "computation")
    )
    return default, published, dispatched(estimate, true_s, False), dispatched(estimate, true_s, True)
