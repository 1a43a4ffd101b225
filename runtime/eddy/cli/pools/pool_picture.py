# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every board of a pool did, over wall time, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
"""One a tenant, told apart also without colour vision.  Source: Okabe and Ito, Color Universal Design, 2008."""


CHARACTER = 0.0065
"""Width of a label's character, as a part of the whole width."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened to a board.

    Attributes:
        at_s: When, in seconds from the beginning.
    """

    board: str
    at_s: float
    text: str


def lanes(parts: Sequence[Mapping[str, Any]]) -> list[int]:
    """A lane for each part, so that no two of one lane overlap; a job stays in its lane where it can."""
    ends: list[float] = []
    jobs: dict[int, int] = {}
    found = [0] * len(parts)
    for i in sorted(range(len(parts)), key=lambda i: (parts[i]["start_s"], parts[i]["job"])):
        part = parts[i]
        free = [lane for lane, end_s in enumerate(ends) if end_s <= part["start_s"]]
        own = jobs.get(part["job"], -1)
        lane = own if own in free else free[0] if free else len(ends)
        if lane == len(ends):
            ends.append(0.0)
        ends[lane], jobs[part["job"]], found[i] = part["end_s"], lane, lane
    return found


def draw(
    parts: Sequence[Mapping[str, Any]],
    boards: Sequence[str],
    marks: Sequence[Mark],
    path: Path,
    says: str = "wall time after the first part (s); a bar is a committed part, with its job's number",
    labels: Mapping[int, str] | None = None,
) -> None:
    """Draw parts as bars, boards downwards, wall time to the right.

    Args:
        parts: `job`, `tenant`, `board`, `start_s`, `end_s` of each.
        boards: Names, from above.
        marks: What happened to boards.
        path: Where to; the format is that of its suffix.
        says: What times and bars are.
        labels: What jobs are called in their bars, where that is not their number. A bar that is too narrow has none.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    tenants = sorted({part["tenant"] for part in parts})
    colours = {name: _COLOURS[rank % len(_COLOURS)] for rank, name in enumerate(tenants)}
    figure = Figure(figsize=(11, 1.6 + 1.1 * len(boards)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    end_s = max((*(part["end_s"] for part in parts), *(mark.at_s for mark in marks)), default=1.0)
    for row, board in enumerate(boards):
        own = [part for part in parts if part["board"] == board]
        placed = lanes(own)
        height = 0.8 / (max(placed, default=0) + 1)
        for part, lane in zip(own, placed, strict=True):
            left, width, middle = part["start_s"], part["end_s"] - part["start_s"], row - 0.4 + (lane + 0.5) * height
            colour = colours[part["tenant"]]
            axes.barh(middle, width, height * 0.9, left, color=colour, edgecolor="white", linewidth=0.6)
            label = (labels or {}).get(part["job"], str(part["job"]))
            if width > CHARACTER * (len(label) + 1) * end_s:
                centre: dict[str, Any] = {"ha": "center", "va": "center"}
                axes.text(left + width / 2, middle, label, color="white", fontsize=7, **centre)
    for mark in marks:
        row = boards.index(mark.board)
        axes.plot([mark.at_s] * 2, [row - 0.48, row + 0.48], color="red", linewidth=2)
        axes.text(mark.at_s, row, f" {mark.text}", color="red", va="center", fontsize=9)
    axes.set_yticks(range(len(boards)), boards)
    axes.set_ylim(len(boards) - 0.45, -0.55)
    axes.set_xlim(0, end_s * 1.02)
    axes.set_xlabel(says)
    axes.legend(
        handles=[Patch(color=colours[name], label=name) for name in tenants],
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=3,
    )
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
