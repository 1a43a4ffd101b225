"""The reliability diagram: how often quantiles held, over how often they were to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

COLOURS = {"start": "#0072b2", "end": "#d55e00"}


def reliability_diagram(path: Path, curves: Mapping[str, Sequence[tuple[float, float]]], jobs: int) -> None:
    """Draw it.

    Args:
        path: Of the PNG.
        curves: By what was estimated: level asked for, part of jobs for which the quantile held.
        jobs: How many were judged.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(4.8, 4.6), layout="constrained")
    axis.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle="--", label="as promised")
    for what, points in curves.items():
        axis.plot(*zip(*points, strict=True), marker="o", color=COLOURS.get(what), label=f"{what}s")
    axis.axhspan(0.85, 0.95, color="grey", alpha=0.15, linewidth=0)
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="level of the quantile", ylabel="part of jobs for which it held")
    axis.set_title(f"{jobs} jobs, told when they arrived")
    axis.legend(loc="lower right")
    figure.savefig(path, dpi=110)
    plt.close(figure)
