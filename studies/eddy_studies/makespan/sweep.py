# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Running the methods over shapes and seeds, and what is kept of each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter

import numpy as np
from eddy.model.placement.instance import Instance, Kind, Placement, as_document
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS

from eddy_studies.makespan.workload import BatchShape, batch

SCHEMES = ("default", "published", "sjf", "ljf")
KINDS: tuple[Kind, ...] = ("computation", "network", "joint")

Record = dict[str, object]


def method_of(kind: str, scheme: str) -> str:
    """The method of a scheme; `published` is the document's for the kind, which has the same name."""
    return kind if scheme == "published" else scheme


def checked(instance: Instance, method: str) -> Placement:
    """The answer of a method, replayed by the referee.

    Raises:
        RuntimeError: the referee found the answer wrong.
    """
    placement = METHODS[method](instance)
    problems = problems_of(instance, as_document(placement))
    if problems:
        raise RuntimeError(f"{method} on a batch of kind {instance.kind}: {problems[0]}")
    return placement


def run(instance: Instance, scheme: str) -> tuple[float, float, float]:
    """Makespan, lower bound and seconds of one scheme, the referee's included; the answer is checked."""
    began = perf_counter()
    placement = checked(instance, method_of(instance.kind, scheme))
    return placement.makespan_s, placement.lower_bound_s, perf_counter() - began


def sweep(kinds: Iterable[Kind], shapes: Sequence[BatchShape], seeds: Sequence[int], axis: str) -> list[Record]:
    """One record for each kind, shape and scheme: means over the seeds.

    Args:
        shapes: Along the axis.
        axis: Attribute of `BatchShape` that varies; its name in the records.
    """
    records: list[Record] = []
    for kind in kinds:
        for shape in shapes:
            found = np.array([[run(batch(shape, kind, seed), scheme) for scheme in SCHEMES] for seed in seeds])
            bound = found[:, :, 1].max(axis=1).mean()
            for k, scheme in enumerate(SCHEMES):
                made = found[:, k, 0]
                records.append(
                    {
                        "kind": kind,
                        axis: getattr(shape, axis),
                        "scheme": scheme,
                        "makespan_s": round(float(made.mean()), 6),
                        "lower_bound_s": round(float(bound), 6),
                        "over_bound": round(float(made.mean() / bound - 1), 5),
                        "improvement_over_sjf": round(float(1 - made.mean() / found[:, 2, 0].mean()), 5),
                        "improvement_over_ljf": round(float(1 - made.mean() / found[:, 3, 0].mean()), 5),
                        "seconds": round(float(found[:, k, 2].mean()), 5),
                    }
                )
    return records
