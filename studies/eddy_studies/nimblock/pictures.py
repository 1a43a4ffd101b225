"""Figures 3.1 to 3.5 of [004] as pictures: a panel for the thesis' text, one or two for its published artefact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eddy_studies.nimblock.sequences import SCALES, SHARING, SequenceOutcome

NAMES = {"fcfs": "FCFS", "round_robin": "RR", "prema": "PREMA", "nimblock": "Nimblock"}
COLOURS = {"fcfs": "#009e73", "round_robin": "#cc79a7", "prema": "#0072b2", "nimblock": "#d55e00"}


def boxes(path: Path, outcomes: Mapping[str, SequenceOutcome], title: str) -> None:
    """Relative responses: quartiles, median as an orange line, mean as a green triangle; whiskers from 5 to 95 %."""

    def draw(axis: Any, outcome: SequenceOutcome) -> None:
        axis.boxplot(
            [outcome.relative(policy) for policy in SHARING],
            showmeans=True,
            showfliers=False,
            whis=(5, 95),
        )
        axis.set_xticks(range(1, len(SHARING) + 1), [NAMES[policy] for policy in SHARING])
        axis.axhline(1, color="grey", lw=0.8, ls=":")
        axis.set(ylabel="response over no sharing", ylim=(0, None))

    _panels(path, outcomes, title, draw)


def tails(path: Path, outcomes: Mapping[str, Mapping[str, SequenceOutcome]]) -> None:
    """95th and 99th percentile of relative responses, by arrivals."""
    kinds = list(next(iter(outcomes.values())))

    def draw(axis: Any, by_arrivals: Mapping[str, SequenceOutcome]) -> None:
        for number, policy in enumerate(SHARING):
            values = [np.percentile(by_arrivals[k].relative(policy), p) for k in kinds for p in (95, 99)]
            places = np.arange(len(values)) + (number - 1.5) * 0.2
            axis.bar(places, values, 0.2, label=NAMES[policy], color=COLOURS[policy])
        axis.set_xticks(range(2 * len(kinds)), [f"{k}\n{p}th" for k in kinds for p in (95, 99)], fontsize=7)
        axis.set(ylabel="tail response over no sharing")

    _panels(path, outcomes, "Tail response time", draw, legend=True)


def deadlines(path: Path, outcomes: Mapping[str, SequenceOutcome], title: str) -> None:
    """Failure rate of high-priority events over the deadline scaling factor."""

    def draw(axis: Any, outcome: SequenceOutcome) -> None:
        for policy in SHARING:
            axis.plot(SCALES, outcome.failures(policy), label=NAMES[policy], color=COLOURS[policy])
        axis.axhline(0.1, color="grey", lw=0.8, ls=":")
        axis.set(xlabel="deadline scaling factor $D_s$", ylabel="failure rate, priority 9", ylim=(0, 1), xlim=(1, 20))

    _panels(path, outcomes, title, draw, legend=True)


def _panels(
    path: Path, data: Mapping[str, Any], title: str, draw: Callable[[Any, Any], None], legend: bool = False
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(data), figsize=(4.6 * len(data), 3.7), squeeze=False, layout="constrained")
    for axis, (name, one) in zip(axes[0], data.items(), strict=True):
        draw(axis, one)
        axis.set_title(f"{title}:\n{name}", fontsize=9)
        axis.grid(alpha=0.3)
    if legend:
        axes[0][0].legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
