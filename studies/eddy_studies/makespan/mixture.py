# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figure 6 of [002]: batches of mixed kinds, in waves or all at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eddy_studies.makespan.sweep import Record, checked
from eddy_studies.makespan.workload import BatchShape, mixed
from eddy_studies.pictures import scheme_bars
from eddy_studies.report import Row, write_csv

PATTERNS = {
    "even": (1 / 3, 1 / 3, 1 / 3),
    "computation 60 %": (0.6, 0.2, 0.2),
    "computation 40 %, network 40 %": (0.4, 0.4, 0.2),
    "network 60 %": (0.2, 0.6, 0.2),
    "both 60 %": (0.2, 0.2, 0.6),
}
"""Shares of jobs that only compute, only send, do both; the document does not give its patterns."""

SCHEMES = ("default", "waves", "sjf", "ljf")


def figure_6(out: Path, seed: int, quick: bool) -> list[Row]:
    """Makespans by mixture and scheme."""
    seeds = range(seed, seed + (1 if quick else 3))
    records: list[Record] = []
    for name, shares in PATTERNS.items():
        found = np.array(
            [[checked(mixed(BatchShape(), shares, s), m).makespan_s for m in SCHEMES] for s in seeds]
        ).mean(0)
        sjf = found[SCHEMES.index("sjf")]
        records += [
            {
                "mixture": name,
                "scheme": scheme,
                "makespan_s": round(float(value), 6),
                "improvement_over_sjf": round(float(1 - value / sjf), 5),
            }
            for scheme, value in zip(SCHEMES, found, strict=True)
        ]
    write_csv(out / "figure_6.csv", records)
    published = "[002] figure 6: waves end earlier than SJF and LJF, the more so the more jobs compute"
    scheme_bars(out / "figure_6.png", records, "mixture", "makespan_s", "makespan, s", published)
    gains = {(r["mixture"], r["scheme"]): float(str(r["improvement_over_sjf"])) for r in records}
    ours = "; ".join(
        f"{name}: waves {gains[name, 'waves']:.1%}, default {gains[name, 'default']:.1%}" for name in PATTERNS
    )
    most, least = gains["computation 60 %", "waves"], gains["network 60 %", "waves"]
    note = "more computation, more gain: " + ("holds" if most > least else "does not hold")
    return [Row("6", "improvement of waves over SJF, by mixture", "in a picture only", ours, note)]
