# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figures 3.1 to 3.5 of [004]: data, picture, and rows beside the published values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from eddy_studies import pictures
from eddy_studies.nimblock import published
from eddy_studies.nimblock.sequences import SCALES, SHARING, SequenceOutcome
from eddy_studies.report import Row, write_csv

Outcomes = Mapping[str, Mapping[str, SequenceOutcome]]
"""By whose schedulers they are, then by arrivals."""
Measure = Callable[[SequenceOutcome, str], float]
"""Of an outcome, for a policy."""

BOXES = {"standard": "3.1", "stress": "3.2", "realtime": "3.2 realtime"}
LINES = {"standard": "3.4", "stress": "3.5", "realtime": "3.5 realtime"}


def median(outcome: SequenceOutcome, policy: str) -> float:
    """Median response, times lower than without sharing."""
    return float(1 / np.median(outcome.relative(policy)))


def mean(outcome: SequenceOutcome, policy: str) -> float:
    """Mean relative response, as times lower."""
    return float(1 / outcome.relative(policy).mean())


def spread(outcome: SequenceOutcome, policy: str) -> float:
    """Interquartile range of relative responses."""
    low, high = np.percentile(outcome.relative(policy), (25, 75))
    return float(high - low)


def tail(percentile: int) -> Measure:
    """Nimblock's percentile of relative responses, times lower than a rival's."""

    def measure(outcome: SequenceOutcome, policy: str) -> float:
        theirs, ours = (np.percentile(outcome.relative(name), percentile) for name in (policy, "nimblock"))
        return float(theirs / ours)

    return measure


def ten_percent(outcome: SequenceOutcome, policy: str) -> float:
    """See `SequenceOutcome.ten_percent`."""
    return outcome.ten_percent(policy)


def fewer(outcome: SequenceOutcome, policy: str) -> float:
    """Nimblock's fewer failures at tight deadlines, in per cent of deadlines, the most at any."""
    difference = outcome.failures(policy) - outcome.failures("nimblock")
    return float(100 * difference[SCALES <= published.TIGHT].max())


def relative(out: Path, outcomes: Outcomes) -> list[Row]:
    """Figures 3.1 and 3.2, and the same for realtime arrivals."""
    rows = []
    for arrivals, figure in BOXES.items():
        ours, name = _of(outcomes, arrivals), _name(figure)
        pictures.boxes(out / f"{name}.png", ours, f"Relative response, {arrivals}")
        records = [
            {"way": way, "policy": policy, "event": event, "relative_response": round(float(value), 6)}
            for way, outcome in ours.items()
            for policy in SHARING
            for event, value in enumerate(outcome.relative(policy))
        ]
        write_csv(out / f"{name}.csv", records)
        for policy in SHARING:
            who = f"{arrivals}, {pictures.label(policy)}"
            rows += [
                _row(figure, f"{who}: median response, times lower", published.MEDIANS, ours, arrivals, policy, median),
                _row(figure, f"{who}: mean, times lower", published.MEANS, ours, arrivals, policy, mean),
                _row(figure, f"{who}: interquartile range", published.SPREADS, ours, arrivals, policy, spread),
            ]
    return rows


def tails(out: Path, outcomes: Outcomes) -> list[Row]:
    """Figure 3.3."""
    pictures.tails(out / "figure_3_3.png", outcomes)
    records = [
        {"way": way, "arrivals": arrivals, "policy": policy, "percentile": p, "relative_response": round(value, 6)}
        for way, by_arrivals in outcomes.items()
        for arrivals, outcome in by_arrivals.items()
        for policy in SHARING
        for p in (95, 99)
        for value in [float(np.percentile(outcome.relative(policy), p))]
    ]
    write_csv(out / "figure_3_3.csv", records)
    return [
        Row(
            "3.3",
            f"{arrivals}: Nimblock's {p}th percentile, times lower than {pictures.label(rival)}'s",
            theirs,
            _ours(_of(outcomes, arrivals), rival, tail(p)),
        )
        for arrivals, by_percentile in published.TAILS.items()
        for p, rivals in by_percentile.items()
        for rival, theirs in rivals.items()
    ]


def deadlines(out: Path, outcomes: Outcomes) -> list[Row]:
    """Figures 3.4 and 3.5, and the same for realtime arrivals."""
    rows = []
    for arrivals, figure in LINES.items():
        # Deadlines are measured against single-slot times, not against a baseline.
        ours = {way: one for way, one in _of(outcomes, arrivals).items() if "baseline" not in way}
        name = _name(figure)
        pictures.deadlines(out / f"{name}.png", ours, f"Deadline failures, {arrivals}")
        records = [
            {"way": way, "policy": policy, "d_s": float(scale), "failure_rate": round(float(rate), 6)}
            for way, outcome in ours.items()
            for policy in SHARING
            for scale, rate in zip(SCALES, outcome.failures(policy), strict=True)
        ]
        write_csv(out / f"{name}.csv", records)
        for policy in SHARING:
            what = f"{arrivals}, {pictures.label(policy)}: D_s with one failure in ten"
            rows.append(_row(figure, what, published.TEN_PERCENT, ours, arrivals, policy, ten_percent))
        for policy in ("prema", "round_robin"):
            what = f"{arrivals}: Nimblock's fewer failures at tight deadlines than {pictures.label(policy)}, per cent"
            rows.append(_row(figure, what, published.FEWER, ours, arrivals, policy, fewer))
    return rows


def _row(
    figure: str,
    what: str,
    theirs: Mapping[str, published.ByPolicy],
    ours: Mapping[str, SequenceOutcome],
    arrivals: str,
    policy: str,
    measure: Measure,
) -> Row:
    return Row(figure, what, theirs.get(arrivals, {}).get(policy, ""), _ours(ours, policy, measure))


def _ours(ours: Mapping[str, SequenceOutcome], policy: str, measure: Measure) -> str:
    return "; ".join(f"{way} {measure(outcome, policy):.2f}" for way, outcome in ours.items())


def _of(outcomes: Outcomes, arrivals: str) -> dict[str, SequenceOutcome]:
    return {way: by_arrivals[arrivals] for way, by_arrivals in outcomes.items()}


def _name(figure: str) -> str:
    return f"figure_{figure.replace('.', '_').replace(' ', '_')}"
