"""Figures 5.1 and 5.2 of [000]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eddy_studies.vayalapra.scaling import Point, Prediction

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def fractions(path: Path, points: Sequence[Point]) -> None:
    """F of every workload, one bar for each cluster (Figure 5.1)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(point.workload for point in points))
    clusters = list(dict.fromkeys(point.configuration for point in points))
    figure, axis = plt.subplots(figsize=(1.2 + 0.8 * len(names), 3.2), layout="constrained")
    width = 0.8 / len(clusters)
    for k, cluster in enumerate(clusters):
        here = {point.workload: point.profile.fraction for point in points if point.configuration == cluster}
        places = [x + (k - (len(clusters) - 1) / 2) * width for x in range(len(names))]
        axis.bar(places, [here[name] for name in names], width, label=cluster, color=COLOURS[k % len(COLOURS)])
    axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axis.set(ylabel="parallel fraction F", ylim=(0, 1.05))
    axis.legend(fontsize=8, ncols=len(clusters))
    _save(figure, path)


def times(path: Path, found: Sequence[Prediction]) -> None:
    """Measured and predicted times over the clusters, relative to the first (Figure 5.2)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(p.point.workload for p in found))
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.9 * columns, 2.4 * rows), squeeze=False, layout="constrained")
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for axis, name in zip(axes.flat, names, strict=False):
        own = [p for p in found if p.point.workload == name]
        labels = [p.point.configuration for p in own]
        axis.bar(labels, [p.point.profile.time / 1e3 for p in own], color="#9ecae1", label="measured")
        axis.plot(labels, [p.cycles / 1e3 for p in own], "o-", color="#d55e00", ms=4, label="predicted, one F")
        by_level = [p.cycles_by_level / 1e3 for p in own]
        axis.plot(labels, by_level, "s--", color="#009e73", ms=3, label="F of cores, F of lanes")
        for place, p in enumerate(own[1:], 1):
            axis.annotate(f"{p.error:+.1%}", (place, p.cycles / 1e3), ha="center", va="bottom", fontsize=7)
        title = name + (" (memory-bound)" if own[0].memory_bound else "")
        axis.set_title(title, fontsize=9)
        axis.set(ylim=(0, None))
        axis.tick_params(labelsize=7)
    axes[0][0].set_ylabel("thousand cycles", fontsize=8)
    axes[0][0].legend(fontsize=7)
    _save(figure, path)


def _save(figure: object, path: Path) -> None:
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)  # type: ignore[attr-defined]
    plt.close(figure)
