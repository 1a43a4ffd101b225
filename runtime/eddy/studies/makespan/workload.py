"""Batches as [002] 5.2 makes them: exponential sizes, and +-20 % on every time and bandwidth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.model.placement.instance import Instance, Kind

ACCELERATORS = 5
"""Accelerators a responder carries."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a pool and a batch are.

    Attributes:
        requesters, responders: Hosts that send, hosts that compute.
        jobs: In the batch.
        deviation: Largest relative deviation of times and bandwidths (0.2 in the document).
        mapping: Which requester a job comes from, which the document leaves open: `random`, or `even` (in turn).
    """

    requesters: int = 200
    responders: int = 30
    jobs: int = 1000
    deviation: float = 0.2
    mapping: str = "random"


def batch(shape: Shape, kind: Kind, seed: int) -> Instance:
    """One batch: sizes exponential with mean 200 Mb, 0.001 s a Mb, 1 Gb/s a requester, 5 Gb/s a responder."""
    random = np.random.default_rng(seed)
    size = random.exponential(200e6, shape.jobs)

    def deviate(*dimensions: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return random.uniform(1 - shape.deviation, 1 + shape.deviation, dimensions)

    accelerators = shape.responders * ACCELERATORS
    time_s = size[:, None] * 1e-9 * deviate(shape.jobs, accelerators)
    egress = 1e9 * deviate(shape.requesters)
    ingress = 5e9 * deviate(shape.responders)
    in_turn = np.arange(shape.jobs) % shape.requesters
    requester = random.integers(0, shape.requesters, shape.jobs) if shape.mapping == "random" else in_turn
    if kind == "computation":
        return Instance(time_s)
    host_of = np.repeat(np.arange(shape.responders), ACCELERATORS)
    if kind == "network":
        time_s = np.zeros_like(time_s)
    return Instance(time_s, size, requester, egress, ingress, host_of)
