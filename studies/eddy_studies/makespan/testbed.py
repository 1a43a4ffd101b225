# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figure 2 of [002]: four jobs, four requesters, two responders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from eddy.model.placement.instance import Instance

from eddy_studies.makespan.sweep import SCHEMES, Record, run
from eddy_studies.pictures import scheme_bars
from eddy_studies.report import Row, write_csv

MEGABYTE = 8e6


def word_counting(slow_first: bool) -> Instance:
    """5.1: 300, 300, 300 and 900 MB; every port 1 Gb/s but one responder's, 500 Mb/s.

    Both responders are idle at first. Which of them SJF and LJF then serve first the text does not say; here it is the
    one listed first.
    """
    size = np.array([300.0, 300.0, 300.0, 900.0]) * MEGABYTE
    ingress = np.array([0.5e9, 1e9] if slow_first else [1e9, 0.5e9])
    return Instance(np.zeros((4, 2)), size, np.arange(4), np.full(4, 1e9), ingress)


def photographs() -> Instance:
    """5.1: 6,000, 6,000, 6,000 and 18,000 photographs on two equal accelerators, 6,000 a second (section 1)."""
    return Instance(np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [3.0, 3.0]]))


FAST, SLOW, DNN = "2a, fast responder first", "2a, slow responder first", "2b"
PUBLISHED = {FAST: (0.1956, 0.3372), SLOW: (0.1956, 0.3372), DNN: (0.2580, 0.0)}
"""Improvements over SJF and LJF."""


def figure_2(out: Path, seed: int, quick: bool) -> list[Row]:
    """Makespans of the four schemes; nothing is random here."""
    del seed, quick
    records: list[Record] = []
    rows = []
    for name, instance in ((FAST, word_counting(False)), (SLOW, word_counting(True)), (DNN, photographs())):
        found = {scheme: run(instance, scheme) for scheme in SCHEMES}
        made = {scheme: span for scheme, (span, _, _) in found.items()}
        bound = max(bound for _, bound, _ in found.values())
        records += [
            {"figure": name, "scheme": scheme, "makespan_s": round(value, 6), "lower_bound_s": round(bound, 6)}
            for scheme, value in made.items()
        ]
        for rival, value in zip(("sjf", "ljf"), PUBLISHED[name], strict=True):
            gain, best = (1 - made[scheme] / made[rival] for scheme in ("published", "default"))
            note = "holds" if abs(gain - value) < 0.01 else "with the other order only"
            ours = f"[002] {gain:.2%}; default {best:.2%}"
            rows.append(Row(name, f"improvement over {rival.upper()}", f"{value:.2%}", ours, note))
    write_csv(out / "figure_2.csv", records)
    published = "[002] figure 2, under SJF and LJF: by 19.56 and 33.72 % (2a), by 25.80 and 0 % (2b)"
    scheme_bars(out / "figure_2.png", records, "figure", "makespan_s", "makespan, s", published)
    return rows
