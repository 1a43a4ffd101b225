# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether a placement can be carried out, checked from the instance and the answer alone.

Nothing here is shared with the policies: no port profile, no bound, no order of theirs. It replays the answer as a
referee would: every job somewhere, every bit sent, no port above its rate at any instant, what earlier batches send
included, no accelerator with two jobs. A job that computes for no time keeps no accelerator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.model.placement.instance import Floats, Instance, Ints

TOLERANCE = 1e-6
"""Relative slack for sums of floats."""


def problems_of(instance: Instance, answer: Mapping[str, Any]) -> list[str]:
    """What is wrong with an answer (`host`, `makespan_s`, and `start_s`, `lower_bound_s`, `rates`); [] for nothing."""
    host = np.asarray(answer["host"], np.int64)
    if host.shape != (instance.jobs,) or (host < 0).any() or (host >= instance.accelerators).any():
        return [f"host must give an accelerator from 0 to {instance.accelerators - 1} for each job"]
    time_s = instance.time_s[np.arange(instance.jobs), host].astype(np.float64)
    if not np.isfinite(time_s).all():
        return [f"job {int(np.flatnonzero(~np.isfinite(time_s))[0])} is on a host that cannot run it"]
    found: list[str] = []
    arrived = np.zeros(instance.jobs)
    if instance.size_bits is not None:
        rates = answer.get("rates", ())
        arrived, found = _transmission(instance, host, rates)
    start = answer.get("start_s")
    start_s = np.asarray(start, np.float64) if start is not None else _starts(instance, host, time_s, arrived)
    found += _computation(instance, host, time_s, arrived, start_s)
    makespan, end = float(answer["makespan_s"]), float((start_s + time_s).max())
    if end > makespan * (1 + TOLERANCE):
        found.append(f"the last job ends at {end:.9g} s, later than makespan_s {makespan:.9g}")
    if float(answer.get("lower_bound_s", 0.0)) > makespan * (1 + TOLERANCE):
        found.append("lower_bound_s is above makespan_s")
    return found


def _transmission(instance: Instance, host: Ints, rates: Sequence[Mapping[str, Any]]) -> tuple[Floats, list[str]]:
    """When each job's last bit arrives, and which jobs or ports are wrong."""
    assert instance.size_bits is not None
    assert instance.requester is not None
    assert instance.egress_bps is not None
    assert instance.ingress_bps is not None
    job = np.array([r["job"] for r in rates], np.int64)
    begin, end, bps = (np.array([r[key] for r in rates], np.float64) for key in ("from_s", "to_s", "bps"))
    if ((job < 0) | (job >= instance.jobs)).any():
        return np.zeros(instance.jobs), ["rates name a job that does not exist"]
    found = []
    if (begin < 0).any() or (end < begin).any() or (bps < 0).any():
        found.append("a rate runs backward, begins before 0, or is negative")
    sent = np.bincount(job, weights=(end - begin) * bps, minlength=instance.jobs)
    # What a float64 clock cannot tell apart, at these rates and this late, is nobody's mistake.
    blur = 1e-14 * np.bincount(job, weights=end * bps, minlength=instance.jobs)
    wrong = np.abs(sent - instance.size_bits) > TOLERANCE * np.maximum(instance.size_bits, 1.0) + blur
    found += [f"job {i}: {sent[i]:.9g} of {instance.size_bits[i]:.9g} bits are sent" for i in np.flatnonzero(wrong)[:5]]
    arrived = np.zeros(instance.jobs)
    np.maximum.at(arrived, job, np.where(bps > 0, end, 0.0))
    busy = instance.busy
    begin, end, bps = (np.r_[new, busy[:, k]] for new, k in ((begin, 2), (end, 3), (bps, 4)))
    ports = (
        ("requester", np.r_[instance.requester[job], busy[:, 0].astype(np.int64)], instance.egress_bps),
        ("host", np.r_[instance.host_of[host[job]], busy[:, 1].astype(np.int64)], instance.ingress_bps),
    )
    for name, port, limit in ports:
        found += _overruns(name, port, limit, begin, end, bps)
    return arrived, found


def _overruns(name: str, port: Ints, limit: Floats, begin: Floats, end: Floats, bps: Floats) -> list[str]:
    """Ports whose rates sum to more than their limit at some instant: one sweep over begins and ends by time."""
    at = np.concatenate([end, begin])
    change = np.concatenate([-bps, bps])
    both = np.concatenate([port, port])
    order = np.lexsort((np.arange(len(at)), at, both))  # of one instant, ends come before begins
    at, change, both = at[order], change[order], both[order]
    total = np.cumsum(change)
    first = np.flatnonzero(np.r_[True, both[1:] != both[:-1]]) if len(both) else np.zeros(0, np.int64)
    before = np.repeat(total[first] - change[first], np.diff(np.r_[first, len(both)]))
    # An overrun that lasts no time is rounding of equal instants, by a clock that counts to the last of them.
    least = np.maximum(1e-12 * at[1:], 1e-14 * at.max(initial=0.0))
    lasts = np.r_[(at[1:] - at[:-1] > least) | (both[1:] != both[:-1]), True] if len(at) else at > 0
    over = lasts & (total - before > limit[both] * (1 + TOLERANCE))
    return [f"{name} {p} is above its rate" for p in np.unique(both[over])[:5].tolist()]


def _starts(instance: Instance, host: Ints, time_s: Floats, arrived: Floats) -> Floats:
    """Starts where the answer gives none: each accelerator takes its jobs as they arrive."""
    start = np.zeros(instance.jobs)
    free = instance.ready_s.astype(np.float64).copy()
    for i in np.lexsort((np.arange(instance.jobs), arrived)):
        if not time_s[i]:
            start[i] = arrived[i]
            continue
        start[i] = max(free[host[i]], arrived[i])
        free[host[i]] = start[i] + time_s[i]
    return start


def _computation(instance: Instance, host: Ints, time_s: Floats, arrived: Floats, start_s: Floats) -> list[str]:
    """Jobs that start before their data, before the accelerator is ready, or on top of each other."""
    slack = TOLERANCE * max(float((start_s + time_s).max()), 1e-300)
    computes = time_s > 0
    early = start_s < np.maximum(arrived, instance.ready_s[host] * computes) - slack
    found = [f"job {i} starts before its data, or its accelerator, is available" for i in np.flatnonzero(early)[:5]]
    order = np.lexsort((start_s + time_s, start_s, host))
    order = order[computes[order]]
    same = host[order][1:] == host[order][:-1]
    clash = same & (start_s[order][1:] < (start_s + time_s)[order][:-1] - slack)
    found += [
        f"jobs {order[k]} and {order[k + 1]} overlap on accelerator {host[order[k]]}" for k in np.flatnonzero(clash)[:5]
    ]
    return found
