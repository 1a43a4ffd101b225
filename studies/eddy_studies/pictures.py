# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Pictures of all studies as PNG: lines and groups of bars in panels, and the few figures that are neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eddy_studies.hsm.mixes import KINDS, PARTS, TARGET, TRUSTING, kind
from eddy_studies.hsm.mixes import Outcome as MixOutcome
from eddy_studies.nimblock.sequences import SCALES, SHARING, SequenceOutcome
from eddy_studies.vayalapra.scaling import Point, Prediction
from eddy_studies.vayalapra.users import MECHANISMS, Outcome

BLUE, RED, GREEN, PINK, ORANGE, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#999999"
COLOURS = (BLUE, RED, GREEN, PINK)
"""Told apart also without colour vision.  Source: Okabe and Ito, Color Universal Design, 2008."""
LOOKS = {
    **{"default": ("Eddy's default", BLUE), "published": ("[002]", RED), "waves": ("[002] in waves", RED)},
    **{"sjf": ("SJF", GREEN), "ljf": ("LJF", PINK), "lower bound": ("lower bound", "black")},
    **{"mtf": ("MTF, actor-critic", BLUE), "mtf, scheduler": ("MTF, scheduler alone", "black")},
    **{"mtf_hedge": ("MTF, Hedge", "#56b4e9"), "mtf_urgent": ("MTF, by urgency", GREEN)},
    **{"deadline_prices": ("deadline prices", PINK), "gandiva": ("Gandiva-fair", RED), "themis": ("Themis", ORANGE)},
    **{"max_weight": ("max weight", GREY), "start": ("starts", BLUE), "end": ("ends", RED)},
    **{"fcfs": ("FCFS", GREEN), "round_robin": ("RR", PINK), "prema": ("PREMA", BLUE), "nimblock": ("Nimblock", RED)},
    **{"market": ("Fisher market", BLUE), "entitlement": ("entitlement", RED)},
    "equal_speedup": ("weighted equal speedup", GREEN),
}
"""Label and colour of what has a name of its own."""
BY_MODEL = {
    **{"hsm": BLUE, "dase": RED, "themis_nn": PINK, "eddy_slowdown": GREEN, "bw_app": ORANGE},
    **{"even": GREY, "proportional": GREY, "all_but_one": "#333333"},
}
"""Of models of progress, and of the policies that rest on them."""
DASHED = ("max_weight", "lower bound", "in proportion")
CYCLE = 7
"""Lines without a colour of their own are dashed from this one on."""
Curve = Sequence[Any]
"""x, y, and maybe half the width of an interval about y."""
Found = Mapping[tuple[str, str, str], Outcome]
"""By user set, configuration and mechanism."""


def label(name: str) -> str:
    """As legends and tables have it."""
    return LOOKS[name][0] if name in LOOKS else name


def colour(name: str) -> str | None:
    """Of a name; None for one that has none."""
    model = name.split("_qos")[0].removesuffix("_fair")
    return LOOKS[name][1] if name in LOOKS else BY_MODEL.get(model)


@contextmanager
def panels(path: Path, columns: int = 1, rows: int = 1, each: tuple[float, float] = (4.4, 3.5)) -> Iterator[Any]:
    """Axes, (rows, columns), of a picture that is written at the end; `each` is a panel's width and height."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    size = (each[0] * columns, each[1] * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    yield axes
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def lines(
    path: Path,
    found: Mapping[str, Mapping[str, Curve]],
    labels: tuple[str, str],
    title: str = "",
    each: tuple[float, float] = (4.4, 3.5),
    style: str = "o",
    **limits: Any,
) -> None:
    """In every panel, a line for each name.

    Args:
        found: By panel, by name.
        labels: Of x and y.
        each: Width and height of a panel.
        style: "o" marks points, "steps" draws stairs, "" neither.
        limits: Of the axes, as matplotlib has them.
    """
    with panels(path, len(found), each=each) as axes:
        for axis, (panel, curves) in zip(axes[0], found.items(), strict=True):
            for number, (name, curve) in enumerate(curves.items()):
                axis.errorbar(
                    *(curve[0], curve[1], curve[2] if len(curve) > 2 else None),
                    **{"marker": "o" if style == "o" else "", "ms": 3, "capsize": 2},
                    drawstyle="steps-post" if style == "steps" else "default",
                    ls="--" if name in DASHED or (colour(name) is None and number >= CYCLE) else "-",
                    # The default's line is the broadest, so that it can be seen where another covers it.
                    lw=3.2 if name == "default" else 1.5,
                    **{"label": label(name), "color": colour(name)},
                )
            axis.set(title=panel, xlabel=labels[0], **limits)
            axis.grid(alpha=0.3)
            if curves:
                axis.legend(fontsize=7)
        axes[0][0].set(ylabel=labels[1])
        axes[0][0].figure.suptitle(title, fontsize=9)


def bars(
    path: Path,
    found: Mapping[str, Mapping[str, Sequence[float]]],
    groups: Sequence[str],
    ylabel: str,
    title: str = "",
    each: tuple[float, float] | None = None,
    values: str = "",
) -> None:
    """In every panel, for every group of bars, one for each name.

    Args:
        found: By panel, by name; a value for each group.
        ylabel: Of all panels.
        each: Width and height of a panel; else by what is in it.
        values: How values are written above bars; "" for not.
    """
    most = max(len(series) for series in found.values())
    with panels(path, len(found), each=each or (max(4.4, 0.22 * most * len(groups) + 1.2), 3.6)) as axes:
        for axis, (panel, series) in zip(axes[0], found.items(), strict=True):
            _grouped(axis, series, groups, values)
            axis.set_title(panel, fontsize=9)
        axes[0][0].set(ylabel=ylabel)
        handles, names = axes[0][0].get_legend_handles_labels()
        figure = axes[0][0].figure
        figure.legend(handles, names, fontsize=8, loc="outside lower center", ncols=min(len(names), 3 * len(found)))
        figure.suptitle(title, fontsize=9)


def _grouped(axis: Any, series: Mapping[str, Sequence[float]], groups: Sequence[str], values: str = "") -> None:
    width = 0.8 / len(series)
    for number, (name, heights) in enumerate(series.items()):
        at = np.arange(len(groups)) + (number - (len(series) - 1) / 2) * width
        hatch = "//" if name in TRUSTING else ".." if name in PARTS else ""
        drawn = axis.bar(at, heights, width, label=label(name), color=colour(name), hatch=hatch, edgecolor="white")
        if values:
            axis.bar_label(drawn, fmt=values, fontsize=6, rotation=90, padding=2)
    axis.set_xticks(range(len(groups)), groups, fontsize=8)
    axis.margins(y=0.18)
    axis.grid(alpha=0.3, axis="y")


def chart(
    path: Path,
    records: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    panel: str,
    labels: tuple[str, str],
    title: str,
    bound: bool = False,
) -> None:
    """Of a study's records: a panel for each value of `panel`, a line for each scheme, and the lower bound if asked."""
    found: dict[str, dict[str, Curve]] = {}
    for name in dict.fromkeys(r[panel] for r in records):
        here = [r for r in records if r[panel] == name]
        schemes = list(dict.fromkeys(r["scheme"] for r in here))
        curves: dict[str, Curve] = {
            s: list(zip(*((r[x], r[y]) for r in here if r["scheme"] == s), strict=True)) for s in schemes
        }
        if bound:
            own = [r for r in here if r["scheme"] == schemes[0]]
            curves["lower bound"] = [[r[x] for r in own], [r["lower_bound_s"] for r in own]]
        found[str(name)] = curves
    lines(path, found, labels, title, ylim=(0, None))


def scheme_bars(path: Path, records: Sequence[Mapping[str, Any]], x: str, y: str, ylabel: str, title: str) -> None:
    """Of a study's records: a group of bars for each value of `x`, a bar for each scheme."""
    places = list(dict.fromkeys(r[x] for r in records))
    by = {(r["scheme"], r[x]): r[y] for r in records}
    series = {scheme: [by[scheme, place] for place in places] for scheme in dict.fromkeys(r["scheme"] for r in records)}
    bars(path, {"": series}, [str(place).replace(", ", ",\n") for place in places], ylabel, title)


def reliability(path: Path, curves: Mapping[str, Sequence[tuple[float, float]]], jobs: int) -> None:
    """How often quantiles held, over how often they were to; by what was estimated."""
    with panels(path, each=(4.8, 4.6)) as ((axis,),):
        axis.plot([0, 1], [0, 1], color="grey", lw=1, ls="--", label="as promised")
        for what, points in curves.items():
            axis.plot(*zip(*points, strict=True), marker="o", color=colour(what), label=label(what))
        axis.axhspan(0.85, 0.95, color="grey", alpha=0.15, lw=0)
        axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="level of the quantile", ylabel="part of jobs for which it held")
        axis.set_title(f"{jobs} jobs, told when they arrived")
        axis.legend(loc="lower right")


def distributions(path: Path, found: Mapping[str, Mapping[str, NDArray[np.float64]]], xlabel: str) -> None:
    """In every panel, for each policy the part of agents at or below each value."""
    curves = {
        panel: {name: (np.sort(each, axis=None), np.arange(1, each.size + 1) / each.size) for name, each in own.items()}
        for panel, own in found.items()
    }
    lines(path, curves, (xlabel, "part of the agents"), each=(3.2, 3.4), style="steps", ylim=(0, 1))


def law(path: Path, points: Mapping[str, tuple[float, float]], c1: float, c2: float, source: str) -> None:
    """Utilisation by hit rate."""
    with panels(path, each=(4.8, 4)) as ((axis,),):
        for name, (x, y) in points.items():
            axis.plot(x, y, "o", color=BLUE)
            axis.annotate(name, (x, y), fontsize=7, textcoords="offset points", xytext=(4, -9))
        axis.plot([0, 1], [c2, c1 + c2], color=RED, label=f"{c1:.2f} RBH + {c2:.2f}")
        axis.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="row-buffer hit rate", ylabel="part of the peak bandwidth")
        axis.set_title(f"kernels alone ({source})")
        axis.legend(loc="upper left")


def hit_rates(path: Path, alone: Mapping[str, float], beside: Mapping[str, Sequence[float]], source: str) -> None:
    """Hit rate alone; mean and range next to others."""
    with panels(path, each=(6.5, 3.6)) as ((axis,),):
        names = [name for name in alone if name in beside]
        means = [float(np.mean(beside[name])) for name in names]
        _grouped(axis, {"alone": [alone[name] for name in names], "next to others": means}, names)
        ends = [
            [mean - min(beside[name]) for name, mean in zip(names, means, strict=True)],
            [max(beside[name]) - mean for name, mean in zip(names, means, strict=True)],
        ]
        axis.errorbar(np.arange(len(names)) + 0.2, means, yerr=ends, fmt="none", ecolor="black", capsize=2)
        axis.tick_params(axis="x", rotation=45)
        axis.set(ylabel="row-buffer hit rate", ylim=(0, 1), title=f"range over all neighbours ({source})")
        axis.legend()


def accuracy(path: Path, ranked: Mapping[str, Sequence[float]], source: str) -> None:
    """Sorted errors, and their means."""
    with panels(path, 2, each=(4.5, 3.8)) as ((axis, means),):
        for name, found in ranked.items():
            axis.plot(np.linspace(0, 100, len(found)), 100 * np.array(found), label=name, color=colour(name))
        top = min(100.0, 110 * max(max(found) for found in ranked.values()))
        axis.set(xlabel="predictions, sorted, in %", ylabel="error of progress, %", ylim=(0, top), title=source)
        axis.legend()
        _grouped(means, {name: [100 * float(np.mean(found))] for name, found in ranked.items()}, ["means"], "%.1f")
        means.set(ylabel="mean error, %")


def quality(path: Path, found: Mapping[str, Sequence[MixOutcome]]) -> None:
    """Progress of the tenant with priority, sorted; STP by kind of mix."""
    with panels(path, 2, each=(4.5, 3.8)) as ((axis, stp),):
        for policy, outcomes in found.items():
            values = sorted(outcome.settled[outcome.task.high] for outcome in outcomes)
            style = "--" if policy in TRUSTING else ":" if policy in PARTS else "-"
            axis.plot(np.linspace(0, 100, len(values)), values, style, label=policy, color=colour(policy))
        axis.axhline(TARGET, color="black", lw=0.8, ls="--")
        axis.set(xlabel="mixes, sorted, in %", ylabel="progress of the tenant with priority", ylim=(0, 1.05))
        axis.legend(fontsize=7, loc="lower right")
        kinds = [each for each in KINDS if any(kind(o.task.mix) == each for o in next(iter(found.values())))]
        means = {
            policy: [float(np.mean([sum(o.settled) for o in outcomes if kind(o.task.mix) == each])) for each in kinds]
            for policy, outcomes in found.items()
        }
        _grouped(stp, means, kinds, "%.2f")
        stp.set(title="STP")


def boxes(path: Path, outcomes: Mapping[str, SequenceOutcome], title: str) -> None:
    """Relative responses: quartiles, median as an orange line, mean as a green triangle; whiskers from 5 to 95 %."""
    with panels(path, len(outcomes), each=(4.6, 3.7)) as (axes,):
        for axis, (name, outcome) in zip(axes, outcomes.items(), strict=True):
            found = [outcome.relative(policy) for policy in SHARING]
            axis.boxplot(found, showmeans=True, showfliers=False, whis=(5, 95))
            axis.set_xticks(range(1, len(SHARING) + 1), [label(policy) for policy in SHARING])
            axis.axhline(1, color="grey", lw=0.8, ls=":")
            axis.set(ylabel="response over no sharing", ylim=(0, None))
            axis.set_title(f"{title}:\n{name}", fontsize=9)


def tails(path: Path, outcomes: Mapping[str, Mapping[str, SequenceOutcome]]) -> None:
    """95th and 99th percentile of relative responses, by arrivals."""
    kinds = list(next(iter(outcomes.values())))
    found = {
        name: {p: [float(np.percentile(of[k].relative(p), n)) for k in kinds for n in (95, 99)] for p in SHARING}
        for name, of in outcomes.items()
    }
    groups = [f"{k}\n{n}th" for k in kinds for n in (95, 99)]
    bars(path, found, groups, "tail response over no sharing", "Tail response time")


def deadlines(path: Path, outcomes: Mapping[str, SequenceOutcome], title: str) -> None:
    """Failure rate of high-priority events over the deadline scaling factor."""
    found = {name: {p: (SCALES, one.failures(p)) for p in SHARING} for name, one in outcomes.items()}
    labels = ("deadline scaling factor $D_s$", "failure rate, priority 9")
    lines(path, found, labels, title, style="", ylim=(0, 1), xlim=(1, 20))


def convergence(path: Path, prices: NDArray[np.float64], epsilon: NDArray[np.float64]) -> None:
    """Prices and the largest change of one, by iteration (Figure 5.3 of [000])."""
    with panels(path, 2, each=(4.2, 3.2)) as ((left, right),):
        count = min(len(epsilon), 200)
        for c in range(prices.shape[1]):
            style = "--" if c == 1 else "-"
            left.plot(prices[:count, c], style, label=f"cluster {c + 1}", color=COLOURS[c % 4], lw=1.6)
        left.set(xlabel="iteration", ylabel="price of a PE", xscale="symlog")
        left.legend(fontsize=8)
        right.semilogy(epsilon[:count], color=BLUE)
        for limit in (1e-4, 1e-5):
            right.axhline(limit, color=GREY, lw=0.8)
        right.set(xlabel="iteration", ylabel="epsilon: largest change of a price")


def speedups_and_shares(path: Path, found: Mapping[str, Outcome]) -> None:
    """Speedups, and every cluster's PEs by user, for each configuration (Figures 5.4 to 5.6 of [000])."""
    with panels(path, len(found), 2, each=(3.4, 2.5)) as (above, below):
        for speeds, shares, (name, one) in zip(above, below, found.items(), strict=True):
            users = [f"user {i + 1}" for i in range(len(one.speedup))]
            speeds.bar(users, one.speedup, color=COLOURS[: len(users)])
            speeds.set_title(name, fontsize=10)
            bottom = np.zeros(one.shares.shape[1])
            for i, own in enumerate(one.shares):
                shares.bar([str(c + 1) for c in range(len(own))], own, bottom=bottom, color=COLOURS[i], label=users[i])
                bottom += own
            shares.set_xlabel("cluster")
        above[0].set_ylabel("speedup, measured")
        below[0].set_ylabel("PEs")
        below[0].legend(fontsize=7)


def beside_the_market(path: Path, found: Found, mechanism: str) -> None:
    """Another mechanism's speedups, and in red the market's over them (Figures 5.8 and 5.9 of [000])."""
    sets, names = list(dict.fromkeys(k[0] for k in found)), list(dict.fromkeys(k[1] for k in found))
    with panels(path, len(sets), each=(3.8, 2.9)) as (axes,):
        for axis, user_set in zip(axes, sets, strict=True):
            own = {n: found[user_set, n, mechanism].speedup for n in names}
            market = {n: found[user_set, n, "market"].speedup for n in names}
            _grouped(axis, {f"user {i + 1}": [float(own[n][i]) for n in names] for i in range(3)}, names)
            for i in range(3):
                for x, n in enumerate(names):
                    at = (x + (i - 1) * 0.8 / 3, own[n][i])
                    text = f"{market[n][i] / own[n][i]:.2f}"
                    axis.annotate(text, at, ha="center", va="bottom", fontsize=7, color="red")
            axis.set_title(f"user set {user_set}", fontsize=10)
        axes[0].set_ylabel(f"speedup, {label(mechanism)}")
        axes[0].legend(fontsize=7)


def utilisation(path: Path, found: Found, mechanisms: tuple[str, ...] = MECHANISMS) -> None:
    """Utilisation for each user set and configuration (Figures 5.7 and 5.10 of [000])."""
    sets, names = list(dict.fromkeys(k[0] for k in found)), list(dict.fromkeys(k[1] for k in found))
    shown = {
        f"user set {each}": {m: [100 * found[each, name, m].utilisation for name in names] for m in mechanisms}
        for each in sets
    }
    bars(path, shown, names, "utilisation, %")


def fractions(path: Path, points: Sequence[Point]) -> None:
    """F of every workload, one bar for each cluster (Figure 5.1 of [000])."""
    by = {(point.configuration, point.workload): point.profile.fraction for point in points}
    names = list(dict.fromkeys(point.workload for point in points))
    series = {c: [by[c, name] for name in names] for c in dict.fromkeys(point.configuration for point in points)}
    bars(path, {"": series}, [name.replace("_", "\n") for name in names], "parallel fraction F")


def times(path: Path, found: Sequence[Prediction]) -> None:
    """Measured and predicted times over the clusters, relative to the first (Figure 5.2 of [000])."""
    names = list(dict.fromkeys(p.point.workload for p in found))
    columns = min(4, len(names))
    with panels(path, columns, -(-len(names) // columns), each=(2.9, 2.4)) as axes:
        for axis in axes.flat[len(names) :]:
            axis.axis("off")
        for axis, name in zip(axes.flat, names, strict=False):
            own = [p for p in found if p.point.workload == name]
            labels = [p.point.configuration for p in own]
            axis.bar(labels, [p.point.profile.time / 1e3 for p in own], color="#9ecae1", label="measured")
            axis.plot(labels, [p.cycles / 1e3 for p in own], "o-", color=RED, ms=4, label="predicted, one F")
            by_level = [p.cycles_by_level / 1e3 for p in own]
            axis.plot(labels, by_level, "s--", color=GREEN, ms=3, label="F of cores, F of lanes")
            for place, p in enumerate(own[1:], 1):
                axis.annotate(f"{p.error:+.1%}", (place, p.cycles / 1e3), ha="center", va="bottom", fontsize=7)
            axis.set_title(name + (" (memory-bound)" if own[0].memory_bound else ""), fontsize=9)
            axis.set(ylim=(0, None))
            axis.tick_params(labelsize=7)
        axes[0][0].set_ylabel("thousand cycles", fontsize=8)
        axes[0][0].legend(fontsize=7)
