# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A batch with `rtl` boards among its responders; what their accelerators take is learned, as a head learns it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from eddy.model.placement.instance import Instance
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.records.records import JobPart, PoolJob

from live_testbed.rtl_responder import KIND, MODULE
from live_testbed.scales import Scales

MEAN_ITEMS = 4
"""Items of real work that a job of mean size is."""
INGRESS_BPS = 5e9
"""Of their ports: a responder's, without deviation."""


class LearnedTimes:
    """What an item takes on `rtl` boards; see `eddy.pool.mirror.estimates`."""

    def __init__(self) -> None:
        self._estimates, self._jobs = Estimates(), 0

    def take(self, items_s: Mapping[int, Sequence[float]]) -> None:
        """Take in what items took, wall seconds by host."""
        for host, took in items_s.items():
            if took:
                self._jobs += 1
                parts = tuple(JobPart(i, 1, {}, str(host), 1, 0.0, each) for i, each in enumerate(took))
                job = PoolJob(self._jobs, "", {"application": MODULE, "batch": len(took)}, 0.0, parts=parts)
                self._estimates.learn(job, {str(host): KIND})

    @property
    def item_s(self) -> float:
        """Mean, wall seconds."""
        return self._estimates.item_s(MODULE, KIND)[0]


def items_of(instance: Instance) -> list[int]:
    """What each job is as real work: items in proportion to its size, one at least."""
    assert instance.size_bits is not None
    return [max(round(MEAN_ITEMS * float(bits)), 1) for bits in instance.size_bits / instance.size_bits.mean()]


def with_rtl(instance: Instance, boards: int, items: Sequence[int], item_s: float, scales: Scales) -> Instance:
    """The same batch, with so many boards of one accelerator more, on which each item takes `item_s` wall seconds."""
    assert instance.ingress_bps is not None
    time_s = np.repeat(np.array(items)[:, None] * item_s / scales.wall_s, boards, axis=1)
    hosts = int(instance.host_of.max()) + 1 + np.arange(boards)
    return replace(
        instance,
        time_s=np.hstack([instance.time_s, time_s]),
        ingress_bps=np.concatenate([instance.ingress_bps, np.full(boards, INGRESS_BPS)]),
        host_of=np.concatenate([instance.host_of, hosts]),
        ready_s=np.concatenate([instance.ready_s, np.zeros(boards)]),
    )
