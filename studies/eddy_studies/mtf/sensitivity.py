# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the document leaves open, swept; and the goals Eddy sets itself, measured on held-out seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from eddy_studies.mtf.results import STRIDE_SHARE, Runs
from eddy_studies.mtf.workload import EQUAL, HALVES, QUARTERS_4, QUARTERS_8, Experiment
from eddy_studies.pictures import label
from eddy_studies.report import Row, write_csv

STEADY = Experiment(QUARTERS_4, load=0.6, deadline=5)
"""The document's weights of figure 5.13, a middle load, jobs that are dropped after five rounds."""

BURSTY = replace(STEADY, bursts=8.0, burst_rounds=3.0, quiet=0.2)
"""The same with bursts of eight times the mean for three rounds, and a fifth of the mean between them."""

MECHANISMS = ("mtf", "mtf_hedge", "mtf_urgent", "deadline_prices")

VARIANTS: dict[str, Experiment] = {
    "steady, deadline 5, load 60 %, weights 1/1/2/4": STEADY,
    "equal weights": replace(STEADY, weights=EQUAL),
    "weights 1/2": replace(STEADY, weights=HALVES),
    "weights 1/1/2/8": replace(STEADY, weights=QUARTERS_8),
    "load 40 %": replace(STEADY, load=0.4),
    "load 80 %": replace(STEADY, load=0.8),
    "utility in inferences": replace(STEADY, units="inferences"),
    "one queue an agent": replace(STEADY, scope="agent"),
    "convolutions alone": replace(STEADY, applications=(0, 2)),
    "one application": replace(STEADY, applications=(0,)),
    "bursts of 8, 3 rounds": BURSTY,
    "bursts of 8, equal weights": replace(BURSTY, weights=EQUAL),
    "bursts of 8, load 80 %": replace(BURSTY, load=0.8),
    "bursts of 8, nothing between": replace(BURSTY, quiet=0.0),
    "bursts of 8, 1.5 rounds": replace(BURSTY, burst_rounds=1.5),
    "bursts of 4, 5 rounds": replace(BURSTY, bursts=4.0, burst_rounds=5.0),
    "bursts of 4, 5 rounds, equal weights": replace(BURSTY, bursts=4.0, burst_rounds=5.0, weights=EQUAL),
    "bursts of 4, 10 rounds": replace(BURSTY, bursts=4.0, burst_rounds=10.0),
    "bursts of 20, 2 rounds": replace(BURSTY, bursts=20.0, burst_rounds=2.0),
}

TOKENS = (5, 20, 50, 100, 200, 1000)


def sweep(out: Path, runs: Runs, quick: bool) -> list[Row]:
    """Every variant under every policy; then the number of tokens."""
    variants = dict(list(VARIANTS.items())[:: 6 if quick else 1])
    runs.need(variants.values(), [*MECHANISMS, "gandiva", "themis", "max_weight", STRIDE_SHARE])
    records = [_record(runs, what, s, name) for what, s in variants.items() for name in MECHANISMS]
    tokens = [f"mtf, {count} tokens" for count in (TOKENS[2:4] if quick else TOKENS)]
    runs.need((STEADY, BURSTY), [*tokens, "gandiva", "themis", "max_weight", STRIDE_SHARE])
    for what, s in (("steady", STEADY), ("bursty", BURSTY)):
        records += [_record(runs, f"{what}, {name.split()[1]} tokens an agent", s, name) for name in tokens]
    write_csv(out / "sensitivity.csv", records)
    rows = []
    for what, s in variants.items():
        ours = [f"{name} {runs.ratio(s, name, 'gandiva').mean:.2f}" for name in MECHANISMS]
        rows.append(Row("open", f"welfare over Gandiva-fair: {what}", "", ", ".join(ours)))
    for what, s in (("steady", STEADY), ("bursty", BURSTY)):
        each = [
            f"{name.split()[1]}: {runs.ratio(s, name, 'gandiva').mean:.2f} (phi>=1 {runs.satisfied(s, name).mean:.0%})"
            for name in tokens
        ]
        rows.append(Row("open", f"welfare over Gandiva-fair by tokens an agent, {what}", "", ", ".join(each)))
    return rows


def _record(runs: Runs, what: str, setting: Experiment, name: str) -> dict[str, object]:
    record: dict[str, object] = {"variant": what, "policy": name}
    for rival in ("gandiva", "themis", "max_weight"):
        ratio = runs.ratio(setting, name, rival)
        record[f"over_{rival}"] = round(ratio.mean, 4)
        record[f"half_95_{rival}"] = round(ratio.half, 4)
    record["phi_at_least_1"] = round(runs.satisfied(setting, name).mean, 4)
    return record


def goals(out: Path, runs: Runs, quick: bool) -> list[Row]:
    """The goals: welfare against both baselines and the unconstrained maximum, phi against a stride share."""
    by_deadline = {d: replace(STEADY, deadline=d) for d in ((2, 5, 20) if quick else (1, 2, 3, 4, 5, 20, 30, 40))}
    everything = [*by_deadline.values(), BURSTY]
    runs.need(everything, [*MECHANISMS, "gandiva", "themis", "max_weight", STRIDE_SHARE])
    rows: list[Row] = []
    for name in MECHANISMS:
        for deadline, setting in by_deadline.items():
            goal = 1.10 if deadline <= 5 else 0.98
            ratio = runs.ratio(setting, name, "gandiva")
            rows.append(_goal(f"{name} over Gandiva-fair, deadline {deadline}", goal, ratio.mean, ratio.half))
        for rival, goal in (("gandiva", 1.4), ("themis", 1.05), ("max_weight", 0.85)):
            ratio = runs.ratio(BURSTY, name, rival)
            rows.append(_goal(f"{name} over {label(rival)}, bursty, deadline 5", goal, ratio.mean, ratio.half))
        for what, setting in (("steady", by_deadline[5]), ("bursty", BURSTY)):
            part = runs.satisfied(setting, name)
            least = runs.phi(setting, name).min()
            rows.append(
                _goal(
                    f"agents with phi >= 1, {name}, {what}, deadline 5 (least {least:.2f})", 0.95, part.mean, part.half
                )
            )
    write_csv(out / "goals.csv", [{"what": r.what, "goal": r.published, "ours": r.ours, "met": r.note} for r in rows])
    return rows


def _goal(what: str, goal: float, mean: float, half: float) -> Row:
    note = "met" if mean >= goal else f"missed by {goal - mean:.3f}"
    return Row("goal", what, f">= {goal:g}", f"{mean:.3f} ± {0.0 if np.isnan(half) else half:.3f}", note)
