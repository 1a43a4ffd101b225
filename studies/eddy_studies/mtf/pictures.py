"""The study's pictures: lines, groups of bars, distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eddy.policy.price.rounds import Floats

LABELS = {
    "mtf": "MTF, actor-critic",
    "mtf, scheduler": "MTF, scheduler alone",
    "mtf_hedge": "MTF, Hedge",
    "mtf_urgent": "MTF, by urgency",
    "deadline_prices": "deadline prices",
    "gandiva": "Gandiva-fair",
    "themis": "Themis",
    "max_weight": "max weight",
}
COLOURS = {
    "mtf": "#0072b2",
    "mtf, scheduler": "#000000",
    "mtf_hedge": "#56b4e9",
    "mtf_urgent": "#009e73",
    "deadline_prices": "#cc79a7",
    "gandiva": "#d55e00",
    "themis": "#e69f00",
    "max_weight": "#777777",
}


def _figure(panels: int, width: float = 4.4) -> tuple[Any, Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, panels, figsize=(width * panels, 3.4), squeeze=False, layout="constrained")
    return plt, figure, axes[0]


def _save(plt: Any, figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def lines(
    path: Path, x: Sequence[float], series: Mapping[str, Sequence[tuple[float, float]]], labels: tuple[str, str]
) -> None:
    """One line for each policy, with intervals: (mean, half width) at every x."""
    plt, figure, (axis,) = _figure(1, 5.6)
    for name, points in series.items():
        means, halves = zip(*points, strict=True)
        style = {"ls": "--"} if name == "max_weight" else {}
        axis.errorbar(
            x,
            means,
            yerr=halves,
            marker="o",
            ms=3,
            capsize=2,
            label=LABELS.get(name, name),
            color=COLOURS.get(name),
            **style,
        )
    axis.set(xlabel=labels[0], ylabel=labels[1], ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    _save(plt, figure, path)


def bars(path: Path, groups: Sequence[str], panels: Mapping[str, Mapping[str, Sequence[float]]], label: str) -> None:
    """In every panel, for every group of bars, one for each policy."""
    plt, figure, axes = _figure(len(panels), 5.6 if len(panels) == 1 else max(2.6, 0.55 * len(groups) + 1.6))
    for axis, (title, series) in zip(axes, panels.items(), strict=True):
        width = 0.8 / len(series)
        for k, (name, values) in enumerate(series.items()):
            places = [g - 0.4 + (k + 0.5) * width for g in range(len(groups))]
            axis.bar(places, values, width, label=LABELS.get(name, name), color=COLOURS.get(name))
        axis.set(title=title, xticks=range(len(groups)), xticklabels=groups)
        axis.grid(alpha=0.3, axis="y")
    axes[0].set(ylabel=label)
    figure.legend(
        *axes[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=6 if len(panels) > 2 else 3
    )
    _save(plt, figure, path)


def distributions(path: Path, panels: Mapping[str, Mapping[str, Floats]], label: str) -> None:
    """In every panel, for each policy the part of agents at or below each value."""
    plt, figure, axes = _figure(len(panels), 3.2)
    for axis, (title, series) in zip(axes, panels.items(), strict=True):
        for name, values in series.items():
            ordered = sorted(values.reshape(-1).tolist())
            axis.step(
                ordered,
                [(k + 1) / len(ordered) for k in range(len(ordered))],
                where="post",
                label=LABELS.get(name, name),
                color=COLOURS.get(name),
            )
        axis.axvline(1.0, color="k", lw=0.8, ls=":")
        axis.set(title=title, xlabel=label, ylim=(0, 1))
        axis.grid(alpha=0.3)
    axes[0].set(ylabel="part of the agents")
    axes[0].legend(fontsize=7)
    _save(plt, figure, path)
