"""The study's figures as PNG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from eddy_studies.hsm.mixes import KINDS, PARTS, TARGET, TRUSTING, Outcome, kind

COLOURS = {
    "hsm": "#0072b2", "dase": "#d55e00", "themis_nn": "#cc79a7", "eddy_slowdown": "#009e73",
    "even": "#999999", "proportional": "#999999", "all_but_one": "#333333", "bw_app": "#e69f00",
}  # fmt: skip
MEASURES = {"fairness": "fairness", "stp": "STP", "antt": "ANTT"}


def colour(name: str) -> str:
    """Of a model, or of the policy that rests on it."""
    return COLOURS[name.split("_qos")[0].removesuffix("_fair")]


@contextmanager
def _figure(path: Path, wide: int, size: tuple[float, float]) -> Iterator[Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, wide, figsize=size, layout="constrained", squeeze=False)
    yield axes[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def scaling(path: Path, curves: Mapping[str, Mapping[int, float]], memory_bound: Sequence[str], source: str) -> None:
    """Speed by cores over the speed on all: compute-bound left, memory-bound right."""
    with _figure(path, 2, (9, 4)) as axes:
        sides = ([n for n in curves if n not in memory_bound], [n for n in curves if n in memory_bound])
        for axis, names, what in zip(axes, sides, ("compute-bound", "memory-bound"), strict=True):
            for index, name in enumerate(names):
                style = "-" if index < 7 else "--"
                axis.plot(
                    list(curves[name]), list(curves[name].values()), marker="o", markersize=3, label=name, ls=style
                )
            most = max((max(curve) for curve in curves.values()), default=1)
            axis.plot([0, most], [0, 1], color="grey", linewidth=0.8, linestyle=":")
            axis.set(title=f"{what} ({source})", xlabel="cores", ylabel="speed over that on all")
            axis.set_ylim(bottom=0)
            if names:
                axis.legend(fontsize=7, ncols=2, loc="lower right")


def law(path: Path, points: Mapping[str, tuple[float, float]], c1: float, c2: float, source: str) -> None:
    """Utilisation by hit rate."""
    with _figure(path, 1, (4.8, 4)) as (axis,):
        for name, (x, y) in points.items():
            axis.plot(x, y, "o", color="#0072b2")
            axis.annotate(name, (x, y), fontsize=7, textcoords="offset points", xytext=(4, -9))
        axis.plot([0, 1], [c2, c1 + c2], color="#d55e00", label=f"{c1:.2f} RBH + {c2:.2f}")
        axis.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="row-buffer hit rate", ylabel="part of the peak bandwidth")
        axis.set_title(f"kernels alone ({source})")
        axis.legend(loc="upper left")


def hit_rates(path: Path, alone: Mapping[str, float], beside: Mapping[str, Sequence[float]], source: str) -> None:
    """Hit rate alone; mean and range beside others."""
    with _figure(path, 1, (6.5, 3.6)) as (axis,):
        names = [name for name in alone if name in beside]
        where = np.arange(len(names))
        means = np.array([np.mean(beside[name]) for name in names])
        ends = np.array([[min(beside[name]), max(beside[name])] for name in names]).T
        axis.bar(where - 0.2, [alone[name] for name in names], 0.4, label="alone", color="#999999")
        axis.bar(where + 0.2, means, 0.4, label="beside others", color="#0072b2")
        axis.errorbar(where + 0.2, means, yerr=np.abs(ends - means), fmt="none", ecolor="black", capsize=2)
        axis.set_xticks(where, names, rotation=45, ha="right", fontsize=8)
        axis.set(ylabel="row-buffer hit rate", ylim=(0, 1), title=f"range over all neighbours ({source})")
        axis.legend()


def accuracy(path: Path, ranked: Mapping[str, Sequence[float]], source: str) -> None:
    """Sorted errors; beside it their means."""
    with _figure(path, 2, (9, 3.8)) as (axis, bars):
        for name, found in ranked.items():
            axis.plot(np.linspace(0, 100, len(found)), 100 * np.array(found), label=name, color=colour(name))
        top = min(100.0, 110 * max(max(found) for found in ranked.values()))
        axis.set(xlabel="predictions, sorted, in %", ylabel="error of progress, %", ylim=(0, top), title=source)
        axis.legend()
        means = [100 * float(np.mean(found)) for found in ranked.values()]
        drawn = bars.bar(list(ranked), means, color=[colour(name) for name in ranked])
        bars.bar_label(drawn, fmt="%.1f")
        bars.tick_params(axis="x", labelsize=8)
        bars.margins(y=0.1)
        bars.set(ylabel="mean error, %", title="means")


def bars(
    path: Path,
    found: Mapping[str, Mapping[str, Mapping[str, float]]],
    policies: Sequence[str],
    title: str,
    kinds: Sequence[str] = (*KINDS, "all"),
) -> None:
    """One panel a measure, one group a kind of mix, one bar a policy."""
    with _figure(path, len(found), (4.6 * len(found), 3.8)) as axes:
        for axis, (measure, values) in zip(axes, found.items(), strict=True):
            width = 0.8 / len(policies)
            for index, policy in enumerate(policies):
                where = np.arange(len(kinds)) + (index - (len(policies) - 1) / 2) * width
                heights = [values[policy].get(which, 0.0) for which in kinds]
                drawn = axis.bar(where, heights, width, label=policy, color=colour(policy))
                axis.bar_label(drawn, fmt="%.2f", fontsize=6, rotation=90, padding=2)
            axis.set_xticks(range(len(kinds)), kinds, fontsize=8)
            axis.set(title=f"{MEASURES[measure]}, {title}")
            axis.margins(y=0.18)
        axes[-1].legend(fontsize=7, loc="upper right")


def quality(path: Path, found: Mapping[str, Sequence[Outcome]]) -> None:
    """Progress of the tenant with priority, sorted; STP by kind of mix."""
    with _figure(path, 2, (9, 3.8)) as (axis, stp):
        for policy, outcomes in found.items():
            values = sorted(outcome.settled[outcome.task.high] for outcome in outcomes)
            style = "--" if policy in TRUSTING else ":" if policy in PARTS else "-"
            axis.plot(np.linspace(0, 100, len(values)), values, style, label=policy, color=colour(policy))
        axis.axhline(TARGET, color="black", linewidth=0.8, linestyle="--")
        axis.set(xlabel="mixes, sorted, in %", ylabel="progress of the tenant with priority", ylim=(0, 1.05))
        axis.legend(fontsize=7, loc="lower right")
        names = [which for which in KINDS if any(kind(o.task.mix) == which for o in next(iter(found.values())))]
        width = 0.8 / len(found)
        for index, (policy, outcomes) in enumerate(found.items()):
            means = [np.mean([sum(o.settled) for o in outcomes if kind(o.task.mix) == which]) for which in names]
            where = np.arange(len(names)) + (index - (len(found) - 1) / 2) * width
            hatch = "//" if policy in TRUSTING else ".." if policy in PARTS else ""
            drawn = stp.bar(where, means, width, label=policy, color=colour(policy), hatch=hatch, edgecolor="white")
            stp.bar_label(drawn, fmt="%.2f", fontsize=6, rotation=90, padding=2)
        stp.set_xticks(range(len(names)), names)
        stp.set(title="STP")
        stp.margins(y=0.15)


def controller(path: Path, means: Mapping[str, Mapping[str, float]]) -> None:
    """Mean errors by setting of the memory's controller."""
    with _figure(path, 1, (7, 3.8)) as (axis,):
        settings = list(means)
        names = list(next(iter(means.values())))
        for index, name in enumerate(names):
            where = np.arange(len(settings)) + (index - (len(names) - 1) / 2) * 0.2
            axis.bar(where, [100 * means[s][name] for s in settings], 0.2, label=name, color=colour(name))
        axis.set_xticks(range(len(settings)), settings, fontsize=8, rotation=15)
        axis.set(ylabel="mean error of progress, %", title="settings of the memory's controller")
        axis.legend(fontsize=7)
