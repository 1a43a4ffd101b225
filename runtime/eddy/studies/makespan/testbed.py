"""Figure 2 of [002]: four jobs, four requesters, two responders."""

from __future__ import annotations

import numpy as np

from eddy.model.placement.instance import Instance
from eddy.studies.makespan.sweep import Record, run
from eddy.studies.report import Row

MEGABYTE = 8e6


def word_counting() -> Instance:
    """5.1: 300, 300, 300 and 900 MB; every port 1 Gb/s but one responder's, 500 Mb/s."""
    size = np.array([300.0, 300.0, 300.0, 900.0]) * MEGABYTE
    return Instance(np.zeros((4, 2)), size, np.arange(4), np.full(4, 1e9), np.array([1e9, 0.5e9]))


def photographs() -> Instance:
    """5.1: 6,000, 6,000, 6,000 and 18,000 photographs on two equal accelerators, 6,000 a second (section 1)."""
    return Instance(np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [3.0, 3.0]]))


def figure_2() -> tuple[list[Record], list[Row]]:
    """Make-spans of the four schemes on both, and the published improvements."""
    records: list[Record] = []
    rows = []
    published = {"2a": ("19.56 %", "33.72 %"), "2b": ("25.80 %", "0 %")}
    for name, instance in (("2a", word_counting()), ("2b", photographs())):
        made = {scheme: run(instance, scheme)[0] for scheme in ("default", "published", "sjf", "ljf")}
        bound = run(instance, "default")[1]
        records += [
            {"figure": name, "scheme": scheme, "makespan_s": round(value, 6), "lower_bound_s": round(bound, 6)}
            for scheme, value in made.items()
        ]
        for rival, value in zip(("sjf", "ljf"), published[name], strict=True):
            ours = f"{1 - made['published'] / made[rival]:.2%}; default {1 - made['default'] / made[rival]:.2%}"
            rows.append(Row(name, f"improvement over {rival.upper()}", value, ours))
    return records, rows
