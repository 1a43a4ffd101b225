# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every batch of the testbed as a point: improvements live beside planned, and how late each batch was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

COLOURS = {"default": "#0072b2", "sjf": "#009e73", "ljf": "#cc79a7"}
NAMES = {"default": "Eddy's default", "sjf": "SJF", "ljf": "LJF"}


class Run(Protocol):
    """What is drawn of a batch under a policy."""

    @property
    def what(self) -> str:
        """The batch."""

    @property
    def scheme(self) -> str:
        """The policy."""

    @property
    def planned_s(self) -> float:
        """Makespan as planned."""

    @property
    def live_s(self) -> float:
        """Makespan as it was."""


def draw(runs: Sequence[Run], published: Mapping[str, float], path: Path) -> None:
    """Draw the batches that have seeds.

    Args:
        published: Improvement over each rival, as [002] has it.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.9), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    by_seed = {(run.what, run.scheme): run for run in runs if run.what.startswith("seed")}
    seeds = list(dict.fromkeys(what for what, _ in by_seed))
    ends = [0.0]
    for rival, value in published.items():
        pairs = [(by_seed[s, "default"], by_seed[s, rival]) for s in seeds]
        planned = [100 * (1 - ours.planned_s / other.planned_s) for ours, other in pairs]
        live = [100 * (1 - ours.live_s / other.live_s) for ours, other in pairs]
        mean = sum(live) / len(live)
        label = f"over {NAMES[rival]}: mean {mean:.1f} %, [002] {100 * value:.2f} %"
        left.plot(planned, live, "o", ms=4, color=COLOURS[rival], label=label)
        ends += [*planned, *live]
    span = [min(ends) - 2, max(ends) + 2]
    left.plot(span, span, "k--", lw=0.8)
    left.set(xlabel="less makespan as planned, %", ylabel="less makespan live, %", xlim=span, ylim=span)
    left.set_title("improvement of the default, by seed", fontsize=10)
    left.legend(fontsize=8, loc="upper left")
    for scheme, colour in COLOURS.items():
        late = sorted(100 * (run.live_s / run.planned_s - 1) for (_, s), run in by_seed.items() if s == scheme)
        right.plot([(n + 0.5) / len(late) for n in range(len(late))], late, "o-", ms=3, lw=1, color=colour,
                   label=NAMES[scheme])  # fmt: skip
    right.axhline(10, color="k", ls="--", lw=0.8)
    right.set(xlabel="share of batches", ylabel="live makespan over planned, %", ylim=(min(0, right.get_ylim()[0]), 12))
    right.set_title("how late batches ended; dashed: the goal", fontsize=10)
    right.legend(fontsize=8, loc="center left")
    for axis in (left, right):
        axis.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
