"""Running the methods over shapes and seeds, and what is kept of each run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter

import numpy as np

from eddy.model.placement.instance import Instance, Kind, as_document
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS
from eddy.studies.makespan.workload import Shape, batch

SCHEMES = ("default", "published", "sjf", "ljf")
PUBLISHED: dict[Kind, str] = {"computation": "computation", "network": "network", "joint": "joint"}

Record = dict[str, object]


def run(instance: Instance, scheme: str) -> tuple[float, float, float]:
    """Make-span, lower bound and seconds of one scheme; the answer is checked.

    Raises:
        RuntimeError: the referee found the answer wrong.
    """
    method = PUBLISHED[instance.kind] if scheme == "published" else scheme
    began = perf_counter()
    placement = METHODS[method](instance)
    took = perf_counter() - began
    problems = problems_of(instance, as_document(placement))
    if problems:
        raise RuntimeError(f"{scheme} on a batch of kind {instance.kind}: {problems[0]}")
    return placement.makespan_s, placement.lower_bound_s, took


def sweep(kinds: Iterable[Kind], shapes: Sequence[Shape], seeds: Sequence[int], axis: str) -> list[Record]:
    """One record for each kind, shape and scheme: means over the seeds.

    Args:
        kinds: Of batches.
        shapes: Along the axis.
        seeds: Of the batches.
        axis: Attribute of `Shape` that varies; its name in the records.
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
