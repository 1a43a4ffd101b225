# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figures 5.2 to 5.17 of [003]: data, pictures, and rows beside the published values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from eddy.policy.price.mtf import MostTokenFirst
from eddy.policy.price.thresholds import Fixed

from eddy_studies import pictures
from eddy_studies.mtf import workload
from eddy_studies.mtf.overhead import microseconds
from eddy_studies.mtf.results import STRIDE_SHARE, THEMIS_AS_WRITTEN, Estimate, Runs, estimate
from eddy_studies.mtf.workload import EQUAL, HALVES, QUARTERS_4, QUARTERS_8, Experiment
from eddy_studies.policies import ROUNDS
from eddy_studies.report import Row, write_csv

CONTEST = ("mtf", "mtf_urgent", "deadline_prices", "gandiva", "themis", "max_weight")
LOADS = (0.4, 0.5, 0.6, 0.7, 0.8)
DEADLINES = (1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 40)


@dataclass(frozen=True, slots=True)
class Setup:
    """A pattern of weights, the figures that show it, and what the text claims of it.

    Attributes:
        weights: The pattern.
        welfare: Figure of the weighted welfare.
        throughput: Figure of the mean throughput.
        by_weight: Figure of the throughput by weight; "" where all are equal.
        over_themis: Load, and published ratio to Themis there.
        over_both: Published mean ratio to both baselines.
    """

    weights: tuple[float, ...]
    welfare: str
    throughput: str
    by_weight: str
    over_themis: tuple[float, float]
    over_both: float


SETUPS = (
    Setup(EQUAL, "5.2", "5.3", "", (0.6, 2.52), 1.39),
    Setup(HALVES, "5.4", "5.5", "5.6", (0.6, 2.83), 1.43),
    Setup(QUARTERS_4, "5.7", "5.8", "5.9", (0.7, 1.73), 1.25),
    Setup(QUARTERS_8, "5.10", "5.11", "5.12", (0.5, 1.62), 1.14),
)


def welfare_by_load(out: Path, runs: Runs, quick: bool) -> list[Row]:
    """Figures 5.2 to 5.12."""
    loads = LOADS[1:4] if quick else LOADS
    rows: list[Row] = []
    for setup in SETUPS:
        settings = [Experiment(setup.weights, load=load) for load in loads]
        runs.need(settings, CONTEST)
        records: list[dict[str, object]] = []
        series: dict[str, list[tuple[float, float]]] = {name: [] for name in CONTEST}
        for setting in settings:
            for name in CONTEST:
                found = estimate(runs.welfare(setting, name))
                series[name].append((found.mean, found.half))
                per_agent = runs.throughput(setting, name)
                kinds = workload.weights(setting)
                by_weight = {
                    f"throughput_w{w:g}": round(float(per_agent[kinds == w].mean()), 5) for w in np.unique(kinds)
                }
                records.append(
                    {
                        "load": setting.load,
                        "policy": name,
                        "welfare": round(found.mean, 5),
                        "half_95": round(found.half, 5),
                        "throughput": round(float(per_agent.mean()), 5),
                        **by_weight,
                    }
                )
        write_csv(out / f"figure_{setup.welfare}.csv", records)
        labels = ("queue utility", "weighted welfare, accelerators busy")
        _lines(out / f"figure_{setup.welfare}.png", loads, series, labels)
        _throughput_pictures(out, setup, records)
        rows += _welfare_rows(runs, setup, settings)
    return rows


def _lines(
    path: Path, x: Sequence[float], series: Mapping[str, Sequence[tuple[float, float]]], labels: tuple[str, str]
) -> None:
    """One line for each policy, with intervals: (mean, half width) at every x."""
    curves = {name: (x, *zip(*points, strict=True)) for name, points in series.items()}
    pictures.lines(path, {"": curves}, labels, each=(5.6, 3.4), ylim=(0, None))


def _throughput_pictures(out: Path, setup: Setup, records: list[dict[str, object]]) -> None:
    loads = list(dict.fromkeys(str(r["load"]) for r in records))

    def of(key: str, load: str) -> dict[str, list[float]]:
        return {str(r["policy"]): [float(str(r[key]))] for r in records if str(r["load"]) == load}

    everyone: dict[str, list[float]] = {name: [] for name in CONTEST}
    for load in loads:
        for name, (value,) in of("throughput", load).items():
            everyone[name].append(value)
    label = "throughput, accelerators busy"
    pictures.bars(out / f"figure_{setup.throughput}.png", {"all agents": everyone}, loads, label)
    if setup.by_weight:
        keys = [key for key in records[0] if key.startswith("throughput_w")]
        panels = {f"load {load}": {n: [of(key, load)[n][0] for key in keys] for n in CONTEST} for load in loads}
        groups = [k.removeprefix("throughput_") for k in keys]
        pictures.bars(out / f"figure_{setup.by_weight}.png", panels, groups, label)


def _welfare_rows(runs: Runs, setup: Setup, settings: list[Experiment]) -> list[Row]:
    load, published = setup.over_themis
    there = next(s for s in settings if s.load == load)
    both = np.mean([runs.ratio(s, "mtf", rival).mean for s in settings for rival in ("gandiva", "themis")])
    over_themis = runs.ratio(there, "mtf", "themis")
    weights = "/".join(f"{w:g}" for w in setup.weights)
    as_written = runs.ratio(there, "mtf", THEMIS_AS_WRITTEN)
    return [
        Row(
            setup.welfare,
            f"MTF over Themis, weights {weights}, load {load:.0%}, deadline 5",
            f"{published:.2f}",
            str(over_themis),
            _against(over_themis, published),
        ),
        Row(
            setup.welfare,
            f"MTF over Themis with shares of 1/n, as 5.1 has it, weights {weights}, load {load:.0%}",
            f"{published:.2f}",
            str(as_written),
            _against(as_written, published),
        ),
        Row(
            setup.welfare,
            f"MTF over both, mean over loads, weights {weights}",
            f"{setup.over_both:.2f}",
            f"{both:.3f} (Gandiva-fair at {load:.0%}: {runs.ratio(there, 'mtf', 'gandiva')})",
            _above_one(float(both)),
        ),
    ]


def _against(ours: Estimate, published: float) -> str:
    if abs(ours.mean - published) <= ours.half:
        return "holds"
    return "direction holds, size does not" if ours.mean - ours.half > 1 else "does not hold"


def deadlines(out: Path, runs: Runs, quick: bool) -> list[Row]:
    """Figure 5.13, for the document's weights and for equal ones."""
    chosen = (2, 5, 20, 40) if quick else DEADLINES
    rows: list[Row] = []
    for weights, suffix in ((QUARTERS_4, ""), (EQUAL, "_equal")):
        settings = [Experiment(weights, deadline=d) for d in chosen]
        runs.need(settings, [*CONTEST, STRIDE_SHARE])
        series = {n: [(e.mean, e.half) for e in (estimate(runs.welfare(s, n)) for s in settings)] for n in CONTEST}
        _lines(out / f"figure_5.13{suffix}.png", chosen, series, ("deadline, rounds", "weighted welfare"))
        records: list[dict[str, object]] = []
        for s in settings:
            for n in CONTEST:
                over = runs.ratio(s, n, "gandiva")
                records.append(
                    {
                        "deadline": s.deadline,
                        "policy": n,
                        "welfare": round(float(runs.welfare(s, n).mean()), 5),
                        "over_gandiva": round(over.mean, 4),
                        "half_95": round(over.half, 4),
                        "phi_at_least_1": round(runs.satisfied(s, n).mean, 4),
                    }
                )
        write_csv(out / f"figure_5.13{suffix}.csv", records)
        if suffix:
            continue
        over_gandiva = float(np.mean([runs.ratio(s, "mtf", "gandiva").mean for s in settings]))
        over_both = float(np.mean([runs.ratio(s, "mtf", r).mean for s in settings for r in ("gandiva", "themis")]))
        rows.append(
            Row(
                "5.13",
                "MTF over Gandiva-fair, mean over deadlines",
                "1.08",
                f"{over_gandiva:.3f}",
                _above_one(over_gandiva),
            )
        )
        rows.append(
            Row("5.13", "MTF over both, mean over deadlines", "1.13", f"{over_both:.3f}", _above_one(over_both))
        )
        late = [s for s in settings if s.deadline >= 20]
        flat = np.mean([runs.ratio(s, "gandiva", "deadline_prices").mean for s in late])
        rows.append(
            Row(
                "5.13",
                "Gandiva-fair over the best, deadline 20 and more",
                "1",
                f"{flat:.3f}",
                "holds" if flat > 0.98 else "does not hold",
            )
        )
    return rows


def _above_one(ratio: float) -> str:
    return "direction holds" if ratio > 1 else "does not hold"


def mixed_loads(out: Path, runs: Runs, quick: bool) -> list[Row]:
    """Figures 5.14 and 5.15: a queue utility for each weight. (The captions say w = 8, the text w = 4: w = 4 here.)"""
    del quick
    rows: list[Row] = []
    for figure, load in (("5.14", (0.7, 0.7, 0.5, 0.4)), ("5.15", (0.4, 0.4, 0.5, 0.7))):
        setting = Experiment(QUARTERS_4, load=load)
        runs.need([setting], CONTEST)
        kinds = workload.weights(setting)
        values = {n: runs.throughput(setting, n) for n in CONTEST}
        groups = {"all": kinds > 0, **{f"w={w:g}": kinds == w for w in np.unique(kinds)}}
        series = {n: [float(v[mask].mean()) for mask in groups.values()] for n, v in values.items()}
        pictures.bars(out / f"figure_{figure}.png", {"mixed loads": series}, list(groups), "throughput")
        write_csv(
            out / f"figure_{figure}.csv",
            [{"policy": n, **{g: round(x, 5) for g, x in zip(groups, v, strict=True)}} for n, v in series.items()],
        )
        best = all(series["mtf"][0] >= series[r][0] for r in ("gandiva", "themis"))
        ratio = series["mtf"][0] / max(series["gandiva"][0], series["themis"][0])
        rows.append(
            Row(
                figure,
                "mean throughput, MTF over the better baseline",
                "above 1",
                f"{ratio:.3f}",
                "holds" if best else "does not hold",
            )
        )
    return rows


def overhead(out: Path, runs: Runs, quick: bool) -> list[Row]:
    """Figures 5.16 and 5.17."""
    del runs
    rounds = 5 if quick else 20
    names = ("mtf, scheduler", "mtf", "mtf_urgent", "deadline_prices", "gandiva", "themis")
    counts = (20, 60) if quick else (20, 30, 40, 50, 60)
    found: dict[str, dict[int, dict[str, float]]] = {}
    for figure, sizes in (("5.16", [(n, 40) for n in counts]), ("5.17", [(20, m) for m in counts])):
        found[figure] = {}
        for count, (agents, accelerators) in zip(counts, sizes, strict=True):
            contest = {n: MostTokenFirst(Fixed(0.2)) if n == names[0] else ROUNDS[n]() for n in names}
            found[figure][count] = microseconds(contest, agents, accelerators, rounds)
        series = {n: [(found[figure][c][n], 0.0) for c in counts] for n in names}
        axis = "agents" if figure == "5.16" else "accelerators"
        _lines(out / f"figure_{figure}.png", counts, series, (axis, "a round, microseconds"))
        write_csv(
            out / f"figure_{figure}.csv",
            [{axis: c, "policy": n, "microseconds": round(found[figure][c][n], 2)} for c in counts for n in names],
        )
    at = found["5.16"][60]
    ours = f"MTF {at[names[0]]:.0f} us, Gandiva-fair {at['gandiva']:.0f} us, Themis {at['themis']:.0f} us"
    slower = at[names[0]] > at["gandiva"]
    note = "does not hold against a vectorised Gandiva-fair and a Themis without ILP" if slower else "holds"
    return [
        Row("5.16", "60 agents, 40 accelerators: who is fastest", "MTF, then Gandiva-fair, then Themis", ours, note)
    ]
