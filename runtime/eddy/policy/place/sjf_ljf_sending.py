# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""SJF and LJF where sending counts ([002] section 5): who is served when an accelerator becomes available.

An accelerator becomes available when its last job starts to compute, so that its next job's data can be on the way
("a job can be transmitted as soon as there is remaining bandwidth, even though it cannot start execution before the
transmission is completed"); with `prefetch` false, when its last job has ended. The job taken gets all that is free on
its two ports, from then until it is sent ("schedule as many resources as possible to this job").
"""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np

from eddy.model.placement.instance import Floats, Instance, Ints
from eddy.policy.place.joint import Network
from eddy.policy.place.network import parts
from eddy.policy.place.ports import Segment, send_earliest, take_segments

Order = Literal["sjf", "ljf"]


class SjfLjfRun:
    """One run of SJF or LJF.

    Args:
        order: `sjf` takes the job that would end soonest at the rates free now (of those that can send at all);
            `ljf` the one whose completion, averaged over all accelerators of an idle pool, is largest.
    """

    def __init__(self, instance: Instance, order: Order, prefetch: bool = True) -> None:
        self.it, self.order, self.prefetch = instance, order, prefetch
        self.size, self.requester, egress, ingress = parts(instance)
        self.free_out, self.free_in = egress.astype(np.float64), ingress.astype(np.float64)
        self.least = 1e-6 * float(ingress.max())  # what rounding left of a port is not a rate to send at
        self.waiting = np.ones(instance.jobs, bool)
        self.host: Ints = np.full(instance.jobs, -1, np.int64)
        self.start: Floats = np.zeros(instance.jobs)
        self.through = instance.ready_s.astype(np.float64).copy()
        self.changes: list[tuple[float, int, int, float]] = []
        for u, h, begin, end, bps in instance.busy.tolist():
            self.changes += [(begin, int(u), int(h), -bps), (end, int(u), int(h), bps)]
        heapq.heapify(self.changes)
        self.able = np.isfinite(instance.time_s)
        self.everywhere = bool(self.able.all())
        best = np.minimum(egress[self.requester][:, None], ingress[instance.host_of][None, :])
        whole = np.where(self.able, self.size[:, None] / best + instance.time_s, 0.0)
        self.falling = np.argsort(-whole.sum(axis=1) / self.able.sum(axis=1), kind="stable")

    def run(self, net: Network) -> tuple[Ints, Floats]:
        """Accelerator and start of every job; what is sent is noted in `net`."""
        events = [(float(ready), j) for j, ready in enumerate(self.through)]
        heapq.heapify(events)
        blocked: list[int] = []  # accelerators for which nothing could be sent: they look again when a port frees
        while self.waiting.any() and (events or blocked):
            asking: list[int] = []
            if blocked and (not events or self.changes[0][0] <= events[0][0]):
                now, asking, blocked = self.changes[0][0], blocked, []
            else:
                now = events[0][0]
            self._advance(now)
            while events and events[0][0] <= now:
                asking.append(heapq.heappop(events)[1])
            blocked += self._ask(net, sorted(asking), now, events)
        return self.host, self.start

    def _ask(self, net: Network, asking: list[int], now: float, events: list[tuple[float, int]]) -> list[int]:
        """Let accelerators take jobs, lowest index first; returns those for which nothing can be sent now."""
        without: list[int] = []
        full: set[int] = set()  # hosts for which nothing can be sent; serving others frees nothing
        sendable = self._any_sendable()
        for at, j in enumerate(asking):
            if not sendable:
                return without + asking[at:]
            host = int(self.it.host_of[j])
            if host in full:
                without.append(j)
                continue
            if not self.everywhere and not (self.waiting & self.able[:, j]).any():
                continue
            job = self._pick(j)
            if job is not None:
                heapq.heappush(events, (self._serve(net, job, j, now), j))
                if not self.waiting.any():
                    break
                sendable = self._any_sendable()
                continue
            without.append(j)
            if self.everywhere:
                full.add(host)
        return without

    def _any_sendable(self) -> bool:
        """Whether some job can be sent by its requester, or need not be, or no port will ever be freer."""
        free = (self.free_out[self.requester] > self.least) | (self.size == 0)
        return self.order == "ljf" or not self.changes or bool((self.waiting & free).any())

    def _pick(self, j: int) -> int | None:
        if self.order == "ljf":
            fitting = self.waiting & self.able[:, j]
            return int(self.falling[np.argmax(fitting[self.falling])])
        rate = np.minimum(self.free_out[self.requester], self.free_in[self.it.host_of[j]])
        able = self.waiting & self.able[:, j] & ((rate > self.least) | (self.size == 0))
        if not able.any():
            return None if self.changes else int(np.argmax(self.waiting & self.able[:, j]))
        jobs = np.flatnonzero(able)
        ends = self.size[jobs] / np.maximum(rate[jobs], 1e-300) + self.it.time_s[jobs, j]
        return int(jobs[np.argmin(ends)])

    def _serve(self, net: Network, job: int, j: int, now: float) -> float:
        """Send and compute; returns when the accelerator is available again."""
        u, h = int(self.requester[job]), int(self.it.host_of[j])
        arrived, segments = send_earliest(net.egress[u], net.ingress[h], float(self.size[job]), now)
        take_segments(net.egress[u], net.ingress[h], segments)
        net.sent[job] = segments
        self._note(segments, u, h, now)
        self.waiting[job] = False
        self.host[job] = j
        own = float(self.it.time_s[job, j])
        # A job that computes for no time keeps no accelerator; the next job is taken as if it had.
        self.start[job] = max(arrived, self.through[j]) if own else arrived
        self.through[j] = max(arrived, self.through[j]) + own
        return float(self.start[job] if self.prefetch else self.through[j])

    def _note(self, segments: list[Segment], u: int, h: int, now: float) -> None:
        for begin, end, bps in segments:
            heapq.heappush(self.changes, (begin, u, h, -bps))
            heapq.heappush(self.changes, (end, u, h, bps))
        self._advance(now)

    def _advance(self, now: float) -> None:
        """Apply changes of the ports' free rates up to now."""
        while self.changes and self.changes[0][0] <= now:
            _, u, h, bps = heapq.heappop(self.changes)
            self.free_out[u] += bps
            self.free_in[h] += bps
