# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce makespan`: figures 2 to 9 of [002], and what its open parameters change."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from eddy_studies.makespan.errors import figure_8
from eddy_studies.makespan.loads import figure_3, figure_4
from eddy_studies.makespan.mixture import figure_6
from eddy_studies.makespan.online import figure_5
from eddy_studies.makespan.sensitivity import sensitivity
from eddy_studies.makespan.testbed import figure_2
from eddy_studies.makespan.timing import figure_9
from eddy_studies.makespan.tradeoff import figure_7
from eddy_studies.report import Row, write_rows

FIGURES: dict[str, Callable[[Path, int, bool], list[Row]]] = {
    "figure 2": figure_2,
    "figure 3": figure_3,
    "figure 4": figure_4,
    "figure 5": figure_5,
    "figure 6": figure_6,
    "figure 7": figure_7,
    "figure 8": figure_8,
    "figure 9": figure_9,
    "sensitivity": sensitivity,
}
"""What is made, in order: a function of the folder, the seed and whether to be quick."""

PROCESSES = 2


def reproduce(out: Path, seed: int, quick: bool, say: Callable[[str], None]) -> list[Row]:
    """Write every figure's data and picture and `makespan.md` under `out`.

    Args:
        out: Folder, made if need be.
        seed: First seed; the others follow it.
        quick: One seed and few points.
    """
    rows: list[Row] = []
    # Two processes, as a figure is made by one thread; a figure's rows do not depend on the others.
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        making = {name: pool.submit(figure, out, seed, quick) for name, figure in FIGURES.items()}
        for name, figure in making.items():
            rows += figure.result()
            say(name)
            write_rows(out / "makespan.md", rows, "Makespan placement [002]: published and ours")
    return rows
