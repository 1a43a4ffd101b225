# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What [002] leaves open, swept: under which conditions its 36.25 % over SJF appears."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from eddy.model.placement.instance import Instance
from eddy.policy.place.default import place_sjf_ljf
from eddy.policy.place.joint import finish_placement, just_in_time, network_of
from eddy.policy.place.price_and_pack import balance

from eddy_studies.makespan.sweep import Record, checked
from eddy_studies.makespan.workload import BatchShape, batch
from eddy_studies.report import Row, write_csv

CLAIM = 0.3625

SHAPES: dict[str, BatchShape] = {
    "350 requesters, jobs dealt at random": BatchShape(requesters=350),
    "350 requesters, jobs dealt in turn": BatchShape(requesters=350, mapping="even"),
    "350 requesters, few with most jobs": BatchShape(requesters=350, mapping="skewed"),
    "200 requesters, jobs dealt at random": BatchShape(),
    "200 requesters, jobs dealt in turn": BatchShape(mapping="even"),
    "350 requesters, a deviation for each accelerator": BatchShape(requesters=350, per="accelerator"),
    "350 requesters, no deviation": BatchShape(requesters=350, deviation=0.0),
    "350 requesters, deviations of 40 %": BatchShape(requesters=350, deviation=0.4),
    "350 requesters, computation half as long": BatchShape(requesters=350, time_s_bit=0.5e-9),
    "350 requesters, computation twice as long": BatchShape(requesters=350, time_s_bit=2e-9),
    "350 requesters, 2,000 jobs": BatchShape(requesters=350, jobs=2000),
    "350 requesters, 20 responders": BatchShape(requesters=350, responders=20),
}


def balanced_just_in_time(it: Instance) -> float:
    """Algorithm 4 with lines 3 to 15 as published, after a better placement than Algorithm 2's."""
    host, _ = balance(it.time_s, it.ready_s)
    net = network_of(it)
    return finish_placement(it, host, just_in_time(it, host, net), net, 0.0, "joint").makespan_s


SCHEMES: dict[str, Callable[[Instance], float]] = {
    "sjf": lambda it: checked(it, "sjf").makespan_s,
    "sjf_no_prefetch": lambda it: place_sjf_ljf(it, "sjf", 0.0, prefetch=False).makespan_s,
    "ljf": lambda it: checked(it, "ljf").makespan_s,
    "published": lambda it: checked(it, "joint").makespan_s,
    "published_balanced": balanced_just_in_time,
    "default": lambda it: checked(it, "default").makespan_s,
}


def sensitivity(out: Path, seed: int, quick: bool) -> list[Row]:
    """Improvement over SJF with and without prefetching, for every shape and scheme."""
    seeds = range(seed, seed + (1 if quick else 3))
    records: list[Record] = []
    for name, shape in list(SHAPES.items())[: 2 if quick else None]:
        spans = np.array([[run(batch(shape, "joint", s)) for run in SCHEMES.values()] for s in seeds]).mean(axis=0)
        made = dict(zip(SCHEMES, (float(span) for span in spans), strict=True))
        record: Record = {"conditions": name} | {f"{scheme}_s": round(span, 5) for scheme, span in made.items()}
        for scheme in ("published", "published_balanced", "default"):
            for rival in ("sjf", "sjf_no_prefetch"):
                record[f"{scheme}_over_{rival}"] = round(1 - made[scheme] / made[rival], 5)
        records.append(record)
    write_csv(out / "sensitivity.csv", records)
    return [*(_row(record) for record in records), _found(records)]


def _row(record: Record) -> Row:
    def gain(scheme: str) -> str:
        with_, without = (float(str(record[f"{scheme}_over_{rival}"])) for rival in ("sjf", "sjf_no_prefetch"))
        return f"{with_:.1%} ({without:.1%})"

    parts = (
        ("published", "[002]"),
        ("published_balanced", "[002] after the default's placement"),
        ("default", "default"),
    )
    ours = "; ".join(f"{name} {gain(scheme)}" for scheme, name in parts)
    return Row("3c", f"{record['conditions']}: improvement over SJF (over SJF that sends no data ahead)", "", ours)


def _found(records: list[Record]) -> Row:
    near = [
        f"{scheme}: {', '.join(list(_reached(records, scheme)) or ['nowhere'])}" for scheme in ("published", "default")
    ]
    return Row("3c", "conditions that reach 36.25 % over SJF", f"{CLAIM:.2%}", "; ".join(near))


def _reached(records: list[Record], scheme: str) -> Iterable[str]:
    for record in records:
        for rival, words in (("sjf", "SJF"), ("sjf_no_prefetch", "SJF without data sent ahead")):
            if float(str(record[f"{scheme}_over_{rival}"])) >= CLAIM:
                yield f"{record['conditions']} ({words})"
                break
