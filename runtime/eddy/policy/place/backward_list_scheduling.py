# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The default where sending and computing both count: a list schedule built from the end toward the beginning.

Seen backward, a job computes first and is sent afterwards, and all accelerators are free at once. So the jobs whose
requester has most to send can be put first, shortest computation first, and their requester's port is busy from the
first moment it can be: the schedule that meets the transmission-plus-tail bound where that bound decides. Where
computation decides, nothing waits for data at the end of the backward schedule that computation would have to wait for
at its begin. A job goes to the cheapest accelerator (at the prices of `dual_prices`) on which it keeps within the
makespan aimed at; the aim rises from the bound until it is met.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.model.placement.instance import Floats, Instance, Ints, Placement
from eddy.policy.place.joint import Network, finish_placement, mirror_network
from eddy.policy.place.network import parts
from eddy.policy.place.ports import Segment, send_earliest, take_segments

AIMS = (1.002, 1.01, 1.02, 1.035, 1.05, 1.08, 1.12)
"""Makespans aimed at, over the bound."""

LATE = (1.2, 1.35, 1.6, 2.0)
"""More of them, where earlier batches send and an aim must be met."""

LOOK = 4
"""Accelerators whose ports are looked at exactly before a job is placed."""


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """In which order jobs are placed, and what is behind each.

    Attributes:
        jobs: First to be placed first.
        tail_s: (jobs,) what its requester still has to send from this job on, in seconds at full egress.
    """

    jobs: Ints
    tail_s: Floats


def heaviest_requester_first(instance: Instance) -> TaskOrder:
    """Of a requester the job with the shortest computation first; over all, the longest way to the end first."""
    shortest = instance.time_s.min(axis=1).astype(np.float64)
    tail = _tails(instance, np.argsort(shortest, kind="stable"))
    return TaskOrder(np.lexsort((-shortest, -tail)), tail)


def as_in_a_flow_shop(instance: Instance) -> TaskOrder:
    """Johnson's rule, seen backward, where sending is the first machine and computing the second.

    The best order for one port and one accelerator: a job that is sent in less time than it computes goes early, the
    quickly sent first of all; the others late, the quickly computed last of all.
    """
    size, requester, egress, ingress = parts(instance)
    shortest = instance.time_s.min(axis=1).astype(np.float64)
    send = size / np.minimum(egress[requester], ingress[instance.host_of].max())
    late = send >= shortest
    jobs = np.lexsort((np.where(late, shortest, -send), ~late))
    return TaskOrder(jobs, _tails(instance, jobs))


def _tails(instance: Instance, jobs: Ints) -> Floats:
    """What each job's requester has still to send from this job on, where jobs are placed in the order given."""
    size, requester, egress, _ = parts(instance)
    behind = jobs[::-1]
    order = behind[np.argsort(requester[behind], kind="stable")]
    send = (size / egress[requester])[order]
    owner = requester[order]
    sums = np.cumsum(send)
    first = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    before = np.repeat(sums[first] - send[first], np.diff(np.r_[first, len(owner)]))
    tail = np.empty(instance.jobs)
    tail[order] = sums - before
    return tail


ORDERS = (heaviest_requester_first, as_in_a_flow_shop)
"""What is tried, better ones for many accelerators first."""


class BackwardSchedule:
    """One backward schedule for one aim.

    Args:
        price: (accelerators,) per second.
        order: See `heaviest_requester_first`.
        aim_s: The makespan to keep within.
        fixed: (jobs,) the accelerators, where they are decided.
    """

    def __init__(
        self, instance: Instance, price: Floats, order: TaskOrder, aim_s: float, fixed: Ints | None = None
    ) -> None:
        self.fixed = fixed
        self.it, self.order, self.aim = instance, order, aim_s
        self.size, self.requester, self.egress, self.ingress = parts(instance)
        self.cost = instance.time_s * price
        self.rate_in = self.ingress[instance.host_of]
        self.net = mirror_network(instance, aim_s)
        self.through = instance.ready_s.astype(np.float64).copy()
        self.received = np.zeros(len(self.ingress))
        self.host: Ints = np.zeros(instance.jobs, np.int64)
        own = instance.time_s.min(axis=1) if fixed is None else instance.time_s[np.arange(instance.jobs), fixed]
        self.computes = own > 0
        self.end: Floats = np.zeros(instance.jobs)

    def run(self) -> Placement | None:
        """Place every job, then turn time around; None where an aim must be met and is not.

        It must be where earlier batches send: what is free depends on when the end is.
        """
        last, bound_to_aim = 0.0, bool(len(self.it.busy))
        for i in self.order.jobs.tolist():
            last = max(last, self._place(i))
            if bound_to_aim and last > self.aim * (1 + 1e-9):
                return None
        total = max(last, float(self.through[np.unique(self.host[self.computes])].max(initial=0.0)))
        if bound_to_aim:
            if total > self.aim * (1 + 1e-9):
                return None
            total = self.aim
        net = Network([], [], {i: [(total - b, total - a, r) for a, b, r in s] for i, s in self.net.sent.items()})
        return finish_placement(self.it, self.host, total - self.end, net, 0.0, "default")

    def _place(self, i: int) -> float:
        time_s = self.it.time_s[i]
        # A job that computes for no time waits for no accelerator, and goes where it does so.
        computed = self.through + time_s if self.computes[i] else np.where(time_s > 0, np.inf, self.it.ready_s)
        nearest = self._nearest(i, computed) if self.fixed is None else self.fixed[i : i + 1]
        behind = self.order.tail_s[i] - self.size[i] / self.egress[self.requester[i]]
        best: tuple[float, int, list[Segment]] | None = None
        for j in nearest.tolist():
            done, segments = self._send(i, j, float(computed[j] - self.it.ready_s[j]))
            if best is None or done < best[0]:
                best = done, j, segments
            if done + behind <= self.aim:
                best = done, j, segments
                break
        assert best is not None
        done, j, segments = best
        take_segments(self.net.egress[self.requester[i]], self.net.ingress[self.it.host_of[j]], segments)
        self.net.sent[i] = segments
        self.host[i] = j
        if self.computes[i]:
            self.through[j] = computed[j]
        self.end[i] = computed[j] - self.it.ready_s[j]
        self.received[self.it.host_of[j]] += self.size[i]
        return done

    def _nearest(self, i: int, computed: Floats) -> Ints:
        """The accelerators to look at: the cheapest of those that keep within the aim, else the earliest."""
        ports = (self.received[self.it.host_of] + self.size[i]) / self.rate_in
        late = np.maximum(computed + self.order.tail_s[i], ports)
        fits = late <= self.aim
        if fits.any():
            key = np.where(fits, self.cost[i] if self.computes[i] else ports, np.inf)
            look = min(LOOK, int(fits.sum()))
        else:
            key, look = late, min(LOOK, len(late))
        nearest = np.argpartition(key, look - 1)[:look]
        sorted_: Ints = nearest[np.argsort(key[nearest], kind="stable")]
        return sorted_

    def _send(self, i: int, j: int, begin: float) -> tuple[float, list[Segment]]:
        one, other = self.net.egress[self.requester[i]], self.net.ingress[self.it.host_of[j]]
        return send_earliest(one, other, float(self.size[i]), begin)


def backward(
    instance: Instance, price: Floats, bound_s: float, order: TaskOrder, limit_s: float = np.inf
) -> Placement | None:
    """The best backward schedule over the aims; stops at the first that meets its aim.

    None where earlier batches send and no aim could be met.

    Args:
        price: (accelerators,) per second.
        bound_s: Lower bound on the makespan.
        order: In which jobs are placed.
        limit_s: A makespan already found; aims beyond it are not tried.
    """
    best: Placement | None = None
    for aim in (*AIMS, *LATE) if len(instance.busy) else AIMS:
        if bound_s * aim >= min(limit_s if best is None else best.makespan_s, limit_s):
            break
        found = BackwardSchedule(instance, price, order, bound_s * aim).run()
        if found is not None and (best is None or found.makespan_s < best.makespan_s):
            best = found
    return best
