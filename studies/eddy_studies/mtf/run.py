# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce mtf`: figures 5.2 to 5.18 and Tables 3.1 to 3.3 and 5.2 of [003]."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from eddy_studies.mtf import fairness, figures, sensitivity
from eddy_studies.mtf.results import Runs
from eddy_studies.mtf.train import HELD_OUT
from eddy_studies.report import Row, write_rows

SEEDS = 8
"""Worlds of every setting: intervals are over these."""

PARTS: dict[str, Callable[[Path, Runs, bool], list[Row]]] = {
    "tables 3.1 to 3.3": fairness.chapter_3,
    "figures 5.16, 5.17": figures.overhead,
    "goals": sensitivity.goals,
    "figure 5.13": figures.deadlines,
    "figure 5.18": fairness.sharing,
    "table 5.2": fairness.table_5_2,
    "figures 5.14, 5.15": figures.mixed_loads,
    "figures 5.2 to 5.12": figures.welfare_by_load,
    "what is open": sensitivity.sweep,
}


def reproduce(out: Path, seed: int, quick: bool, say: Callable[[str], None]) -> list[Row]:
    """Write every figure's data and picture and `mtf.md` under `out`.

    Args:
        out: Folder, made if need be.
        seed: Counted from the first seed kept from training; eight follow.
        quick: Two seeds and few points.
        say: Told what is being done.
    """
    first = HELD_OUT[0] + seed
    runs = Runs(range(first, first + (2 if quick else SEEDS)))
    rows: list[Row] = []
    for name, part in PARTS.items():
        say(name)
        rows += part(out, runs, quick)
        write_rows(out / "mtf.md", rows, "Most token first [003]: published and ours")
    return rows
