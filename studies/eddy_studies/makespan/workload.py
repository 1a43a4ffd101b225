# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Batches as [002] 5.2 makes them: exponential sizes, and +-20 % on every time and bandwidth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from eddy.model.placement.instance import Floats, Instance, Ints, Kind

ACCELERATORS = 5
"""Accelerators a responder carries."""


@dataclass(frozen=True, slots=True)
class BatchShape:
    """How large a pool and a batch are.

    Attributes:
        requesters, responders: Hosts that send, hosts that compute.
        deviation: Largest relative deviation of times and bandwidths (0.2 in the document).
        mapping: Which requester a job comes from, which the document leaves open: `random`; `even`, in turn; `skewed`,
            the k-th requester with a probability as 1/k.
        per: What a deviation of times belongs to: every `pair` of job and accelerator, or each `accelerator`.
        time_s_bit: Computation for each bit sent.
    """

    requesters: int = 200
    responders: int = 30
    jobs: int = 1000
    deviation: float = 0.2
    mapping: str = "random"
    per: str = "pair"
    time_s_bit: float = 1e-9


def batch(shape: BatchShape, kind: Kind, seed: int) -> Instance:
    """One batch: sizes exponential with mean 200 Mb, 0.001 s a Mb, 1 Gb/s a requester, 5 Gb/s a responder."""
    random = np.random.default_rng(seed)
    size = random.exponential(200e6, shape.jobs)

    def deviate(*dimensions: int) -> Floats:
        return random.uniform(1 - shape.deviation, 1 + shape.deviation, dimensions)

    accelerators = shape.responders * ACCELERATORS
    rows = shape.jobs if shape.per == "pair" else 1
    time_s = size[:, None] * shape.time_s_bit * deviate(rows, accelerators)
    egress = 1e9 * deviate(shape.requesters)
    ingress = 5e9 * deviate(shape.responders)
    requester = _requesters(shape, random)
    if kind == "computation":
        return Instance(time_s)
    host_of = np.repeat(np.arange(shape.responders), ACCELERATORS)
    if kind == "network":
        time_s = np.zeros_like(time_s)
    return Instance(time_s, size, requester, egress, ingress, host_of)


def _requesters(shape: BatchShape, random: np.random.Generator) -> Ints:
    if shape.mapping == "even":
        return np.arange(shape.jobs) % shape.requesters
    if shape.mapping == "skewed":
        chance = 1 / np.arange(1, shape.requesters + 1)
        return random.choice(shape.requesters, shape.jobs, p=chance / chance.sum())
    return random.integers(0, shape.requesters, shape.jobs)


def mixed(shape: BatchShape, shares: tuple[float, float, float], seed: int) -> Instance:
    """A batch of which the shares given only compute, only send, and do both."""
    whole = batch(shape, "joint", seed)
    assert whole.size_bits is not None
    kinds = np.random.default_rng(seed + 1_000_003).choice(3, shape.jobs, p=shares)
    time_s, size = whole.time_s.copy(), whole.size_bits.copy()
    size[kinds == 0] = 0.0
    time_s[kinds == 1] = 0.0
    return replace(whole, time_s=time_s, size_bits=size)
