# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Fairness in [003]: the tables of chapter 3, figure 5.18, Table 5.2."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from eddy.policy.price.rounds import Floats

from eddy_studies import pictures
from eddy_studies.mtf import envy, example, metrics, workload
from eddy_studies.mtf.figures import LOADS
from eddy_studies.mtf.results import STRIDE_SHARE, TIME_SHARE, Runs
from eddy_studies.mtf.workload import QUARTERS_4, Experiment
from eddy_studies.policies import ROUNDS
from eddy_studies.report import Row, write_csv


def chapter_3(out: Path, runs: Runs, quick: bool) -> list[Row]:
    """Tables 3.1 to 3.3, phi, envy and Pareto efficiency of the worked example."""
    del runs, quick
    published = {
        "time-equal": ("3.35, 3.05", "1, 1"),
        "dynamic-fair": ("4.6, 3.2", "1.36, 1.04"),
        "fixed-fair": ("2.8, 3.1", "0.82, 1.02"),
        "mtf": ("5.3, 3.3", "1.58, 1.08"),
    }
    rows = []
    for name, (utilities, incentive) in published.items():
        total = example.totals(name)
        phi = metrics.sharing_incentive(total, example.totals("time-equal"))
        rows.append(_exactly("T 3.3", f"utilities, {name}", utilities, total))
        rows.append(_exactly("3.2", f"phi, {name}", incentive, phi))
    write_csv(out / "table_3_3.csv", [{"mechanism": r.what, "published": r.published, "ours": r.ours} for r in rows])
    same = example.algorithm_1().tolist() == example.OWNERS["mtf"].tolist()
    near = min(
        (pair for total in (2.0, 4.0, 6.0, 8.0) for pair in example.reachable(total)),
        key=lambda pair: abs(pair[0] - 5.3) + abs(pair[1] - 3.3),
    )
    rows.append(
        Row(
            "T 3.2",
            "Algorithm 1 gives the MTF row",
            "yes",
            f"{'yes' if same else 'no'}, from budgets {example.BUDGETS}",
            f"not from equal budgets with tokens returned in equal parts: nearest is {near[0]:g}, {near[1]:g}",
        )
    )
    fixed, mtf = example.swapped("fixed-fair"), example.swapped("mtf")
    rows.append(_exactly("3.3", "u_1(X_2), u_2(X_1), fixed-fair", "3.9, 3.0", fixed[(0, 1), (1, 0)]))
    rows.append(_exactly("3.3", "u_1(X_2), u_2(X_1), MTF", "1.4, 2.8", mtf[(0, 1), (1, 0)]))
    return rows


def _exactly(figure: str, what: str, published: str, ours: Floats) -> Row:
    """Whether ours, rounded as the published values are, are those."""
    digits = [len(text.partition(".")[2]) for text in published.split(", ")]
    rounded = ", ".join(f"{value + 1e-9:.{d}f}" for value, d in zip(ours, digits, strict=True))
    return Row(figure, what, published, rounded, "exact" if rounded == published else "differs by rounding or a slip")


def sharing(out: Path, runs: Runs, quick: bool) -> list[Row]:
    """Figure 5.18, and what phi compares with."""
    loads = LOADS[1:4] if quick else LOADS
    settings = [Experiment(QUARTERS_4, load=load) for load in loads]
    names = ("mtf", "mtf_urgent", "deadline_prices", "gandiva", "themis")
    references = (STRIDE_SHARE, TIME_SHARE, "gandiva")
    runs.need(settings, [*names, *references])
    panels = {f"load {s.load:.0%}": {n: runs.phi(s, n) for n in names} for s in settings}
    pictures.distributions(out / "figure_5.18.png", panels, "phi against a stride share")
    records: list[dict[str, object]] = []
    rows: list[Row] = []
    for reference in references:
        for s in settings:
            for n in names:
                phi = runs.phi(s, n, reference)
                records.append(
                    {
                        "reference": reference,
                        "load": s.load,
                        "policy": n,
                        "phi_at_least_1": round(float((phi >= 1).mean()), 4),
                        "least": round(float(phi.min()), 4),
                        "median": round(float(np.median(phi)), 4),
                    }
                )
        parts = {n: float(np.mean([runs.satisfied(s, n, reference).mean for s in settings])) for n in names}
        ours = ", ".join(f"{n} {p:.0%}" for n, p in parts.items())
        rows.append(
            Row(
                "5.18",
                f"agents with phi >= 1 against {pictures.label(reference)}, mean over loads",
                "most",
                ours,
                "",
            )
        )
    write_csv(out / "figure_5.18.csv", records)
    return rows


def _envy_note(most: float) -> str:
    if most < 1e-9:
        return "holds"
    return "holds within 1 %" if most < 0.01 else "does not hold"


def table_5_2(out: Path, runs: Runs, quick: bool) -> list[Row]:
    """Table 5.2, for one application as its figures suggest, and for the four of Table 5.1."""
    del quick
    rows: list[Row] = []
    for what, setting in (
        ("one application", envy.TABLE_5_2),
        ("four applications", replace(envy.TABLE_5_2, applications=(0, 1, 2, 3))),
    ):
        weights = workload.weights(setting)
        for name in ("mtf", "mtf_urgent", "deadline_prices", "gandiva"):
            table = envy.swapped(setting, ROUNDS[name](), runs.seeds) / setting.rounds
            left = metrics.envy(table, weights)
            if name == "mtf":
                write_csv(
                    out / f"table_5.2_{what.split()[0]}.csv",
                    [
                        {"agent": i + 1, **{f"A{j + 1}": round(float(v), 4) for j, v in enumerate(r)}}
                        for i, r in enumerate(table)
                    ],
                )
            most = float((left / np.diag(table)[:, None]).max())
            ours = f"largest envy {most:.1%} of one's own utility"
            rows.append(Row("T 5.2", f"envy, {name}, {what}", "none", ours, _envy_note(most)))
    return rows
