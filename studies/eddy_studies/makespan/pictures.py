"""Line charts of the study's records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

LABELS = {
    "default": "Eddy's default",
    "published": "[002]",
    "waves": "[002] in waves",
    "sjf": "SJF",
    "ljf": "LJF",
}
COLOURS = {
    "default": "#0072b2",
    "published": "#d55e00",
    "waves": "#d55e00",
    "sjf": "#009e73",
    "ljf": "#cc79a7",
}


def chart(
    path: Path,
    records: Sequence[dict[str, Any]],
    x: str,
    y: str,
    panel: str,
    labels: tuple[str, str],
    published: str,
    bound: bool = False,
) -> None:
    """A panel for each value of `panel`, a line for each scheme, dashed where it is the lower bound.

    `published` says above the panels what the document's figure shows. The default's line is the broadest, so that it
    can be seen where another covers it.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    panels = list(dict.fromkeys(r[panel] for r in records))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(max(4.2 * len(panels), 5.5), 3.5), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], panels, strict=True):
        here = [r for r in records if r[panel] == name]
        for scheme in dict.fromkeys(r["scheme"] for r in here):
            line = [(r[x], r[y]) for r in here if r["scheme"] == scheme]
            axis.plot(
                *zip(*line, strict=True),
                marker="o",
                ms=3,
                lw=3.2 if scheme == "default" else 1.5,
                zorder=1.5 if scheme == "default" else 2,
                label=LABELS.get(scheme, scheme),
                color=COLOURS.get(scheme),
            )
        if bound:
            line = [(r[x], r["lower_bound_s"]) for r in here if r["scheme"] == here[0]["scheme"]]
            axis.plot(*zip(*line, strict=True), "k--", lw=1, label="lower bound")
        axis.set(title=str(name), xlabel=labels[0], ylabel=labels[1], ylim=(0, None))
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=8)
    figure.suptitle(published, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def bars(path: Path, records: Sequence[dict[str, Any]], x: str, y: str, label: str, published: str) -> None:
    """A group of bars for each value of `x`, a bar for each scheme; `published` as for `chart`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    places = list(dict.fromkeys(r[x] for r in records))
    schemes = list(dict.fromkeys(r["scheme"] for r in records))
    width = 0.8 / len(schemes)
    figure, axis = plt.subplots(figsize=(max(2.0 * len(places), 6.5), 3.6), layout="constrained")
    for k, scheme in enumerate(schemes):
        height = [next(r[y] for r in records if r[x] == place and r["scheme"] == scheme) for place in places]
        at = [n + (k - (len(schemes) - 1) / 2) * width for n in range(len(places))]
        axis.bar(at, height, width, label=LABELS.get(scheme, scheme), color=COLOURS.get(scheme))
    axis.set_xticks(range(len(places)), [str(place).replace(", ", ",\n") for place in places], fontsize=8)
    axis.set(ylabel=label, ylim=(0, 1.25 * max(r[y] for r in records)))
    axis.legend(fontsize=8, ncols=3, loc="upper left")
    axis.grid(axis="y", alpha=0.3)
    figure.suptitle(published, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
