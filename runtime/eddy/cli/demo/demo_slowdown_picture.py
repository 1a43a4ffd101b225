# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The picture of `eddy demo --slowdown`: measured progress under each policy, and what was said of it meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.client.calls.pictures import COLOURS
from eddy.model.slowdown import average_turnaround, fairness, system_throughput


@dataclass(frozen=True, slots=True)
class SharedPhase:
    """One way to share the cluster.

    Attributes:
        progress: Measured normalised progress, by tenant.
        epochs: What each tenant was shown of the epochs meanwhile, by tenant.
    """

    policy: str
    progress: Mapping[str, float]
    epochs: Mapping[str, Sequence[Mapping[str, Any]]]

    def to_json(self) -> dict[str, Any]:
        """One entry of ``policies``."""
        reached = list(self.progress.values())
        return {
            "policy": self.policy,
            "progress": dict(self.progress),
            "fairness": fairness(reached),
            "stp": system_throughput(reached),
            "antt": average_turnaround(reached),
            "predicted": {
                name: [epoch["me"]["predicted_progress"] for epoch in epochs] for name, epochs in self.epochs.items()
            },
        }


def draw(phases: Sequence[SharedPhase], does: Mapping[str, str], promised: Mapping[str, float], path: Path) -> None:
    """Draw it; the format is that of the path's suffix.

    Args:
        phases: In the order they are shown.
        does: What each tenant's kernel does.
        promised: Progress each was promised; 0 for none.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.5), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(2, 1, height_ratios=(3, 2))
    colours = dict(zip(does, COLOURS, strict=False))
    _measured(upper, phases, does, promised, colours)
    _predicted(lower, phases, colours)
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
        axes.grid(axis="y", color="#E4E4E4", linewidth=0.6)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _measured(
    axes: Any, phases: Sequence[SharedPhase], does: Mapping[str, str], promised: Mapping[str, float], colours: Any
) -> None:
    width = 0.8 / len(does)
    for rank, (name, what) in enumerate(does.items()):
        at = [place - 0.4 + width * (rank + 0.5) for place in range(len(phases))]
        reached = [phase.progress[name] for phase in phases]
        axes.bar(at, reached, width * 0.92, color=colours[name], label=f"{name}: {what}")
        for x, value in zip(at, reached, strict=True):
            label = axes.text(x, value + 0.008, f"{value:.2f}", ha="center", va="bottom", fontsize=8, zorder=4)
            label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.8})
        if promised[name]:
            last = len(phases) - 1
            for place in (place for place, phase in enumerate(phases) if phase.policy.endswith("_qos")):
                axes.hlines(promised[name], place - 0.45, place + 0.45, colors=colours[name], linestyles="dashed")
            axes.text(last + 0.46, promised[name], f"promised\nto {name}", va="center", fontsize=8)
    names = [f"{phase.policy}\nfairness {fairness(list(phase.progress.values())):.2f}" for phase in phases]
    axes.set_xticks(range(len(phases)), names)
    axes.set_ylabel("measured progress")
    axes.set_title("Speed beside the others over speed alone on all cores, measured", loc="left", fontsize=11)
    axes.set_xlim(-0.6, len(phases) - 0.2)
    axes.legend(loc="upper left", fontsize=8, frameon=False, ncols=len(does))
    axes.set_ylim(0, 1.25 * max(max(phase.progress.values()) for phase in phases))


def _predicted(axes: Any, phases: Sequence[SharedPhase], colours: Any) -> None:
    begins = 0.0
    for phase in phases:
        times = [epoch["at_s"] for epochs in phase.epochs.values() for epoch in epochs]
        if not times:
            continue
        start = min(times)
        for name, epochs in phase.epochs.items():
            shown = [e for e in epochs if e["me"]["predicted_progress"] is not None]
            at = [1e3 * (begins + e["at_s"] - start) for e in shown]
            axes.plot(at, [e["me"]["predicted_progress"] for e in shown], ".-", color=colours[name], linewidth=1)
        length = max(times) - start
        axes.axvline(1e3 * begins, color="#999999", linewidth=0.8)
        axes.text(1e3 * begins, 1.02, f" {phase.policy}", transform=axes.get_xaxis_transform(), fontsize=9)
        begins += length + 1e-3
    axes.set_xlabel("board time (ms), phases side by side")
    axes.set_ylabel("progress by epoch,\nas a job is told")
    axes.set_ylim(bottom=0)
