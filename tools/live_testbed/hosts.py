# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hosts of the testbed as processes, and one batch on them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from eddy.core.errors import BoardUnreachable
from eddy.model.placement.instance import Instance, Placement

from live_testbed import requester, responder, rtl_responder
from live_testbed.arrivals import Batch, Expected, JobOutcome
from live_testbed.rtl_responder import TrainingRun
from live_testbed.scales import Scales

PATIENCE_S = 600.0
"""Wall seconds a host may take to answer, beyond what the batch is planned to take."""
LEAD_S = 0.25
"""Wall seconds from telling everybody when a batch begins until then."""


@dataclass(frozen=True, slots=True)
class Live:
    """What became of one batch, in seconds of the instance since its beginning.

    Attributes:
        makespan_s: When the last job ended.
        arrived_s: By job; when its last byte was received.
        end_s: By job; when it ended.
        wrong: What is not as it should be: bytes or results that differ, jobs that ran elsewhere or never.
        items_s: What each item of real work took, in wall seconds, by host.
    """

    makespan_s: float
    arrived_s: list[float]
    end_s: list[float]
    wrong: list[str]
    items_s: dict[int, list[float]]


class Hosts:
    """Processes that wait for batches.

    Args:
        responders: Pipes to responders, of `rtl` boards behind those of `model` boards.
        rtl: How many of the former there are.
    """

    def __init__(self, requesters: list[Connection], responders: list[Connection], rtl: int = 0) -> None:
        self._requesters, self._responders, self._rtl = requesters, responders, rtl

    def learn(self, items: int, scales: Scales) -> dict[int, list[float]]:
        """Have every `rtl` board run items, all at once; wall seconds of each, by host."""
        first = len(self._responders) - self._rtl
        for pipe in self._responders[first:]:
            pipe.send(TrainingRun(items, scales))
        return {h: _answer(pipe, PATIENCE_S) for h, pipe in enumerate(self._responders[first:], first)}

    def run(self, instance: Instance, placement: Placement, scales: Scales, items: Sequence[int] = ()) -> Live:
        """Run one batch as it was placed.

        Args:
            scales: To this machine.
            items: What each job is as real work, where `rtl` boards are in the instance.

        Raises:
            BoardUnreachable: A host does not answer in time.
        """
        size = np.zeros(instance.jobs) if instance.size_bits is None else instance.size_bits
        bytes_of = [scales.bytes_of(float(bits)) for bits in size]
        host = [int(instance.host_of[column]) for column in placement.host]
        at = self._responders[: int(max(instance.host_of)) + 1]
        ports = self._listening(at, instance, placement, bytes_of, scales, items)
        sending = self._connected(instance, placement, bytes_of, [ports[h] for h in host], scales)
        began_s = time.monotonic() + LEAD_S
        for pipe in (*sending, *at):
            pipe.send(began_s)
        patience_s = PATIENCE_S + 3 * placement.makespan_s * scales.wall_s
        for pipe in sending:
            _answer(pipe, patience_s)
        went: dict[int, JobOutcome] = {}
        for pipe in at:
            went |= _answer(pipe, patience_s)
        return _found(instance, placement, went, began_s, scales)

    @staticmethod
    def _listening(
        at: list[Connection],
        instance: Instance,
        placement: Placement,
        bytes_of: list[int],
        scales: Scales,
        items: Sequence[int],
    ) -> list[int]:
        """Tell responders what comes; answers their TCP ports."""
        first = np.searchsorted(instance.host_of, np.arange(len(at)))
        for h, pipe in enumerate(at):
            jobs = {
                i: Expected(
                    bytes_of[i], int(column - first[h]), float(instance.time_s[i, column]), items[i] if items else 0
                )
                for i, column in enumerate(placement.host)
                if instance.host_of[column] == h
            }  # fmt: skip
            bps = 1.0 if instance.ingress_bps is None else float(instance.ingress_bps[h])
            pipe.send(Batch(jobs, bps, scales))
        return [_answer(pipe, PATIENCE_S) for pipe in at]

    def _connected(
        self, instance: Instance, placement: Placement, bytes_of: list[int], ports: list[int], scales: Scales
    ) -> list[Connection]:
        """Tell requesters what to send; answers those that send anything, once they are connected."""
        if instance.requester is None or instance.egress_bps is None:
            return []
        segments: dict[int, list[tuple[float, float, float]]] = {}
        for rate in placement.rates:
            if rate.bps > 0 and rate.to_s > rate.from_s:
                segments.setdefault(rate.job, []).append((rate.from_s, rate.to_s, rate.bps))
        orders: dict[int, list[requester.PlannedTransfer]] = {}
        for job, parts in segments.items():
            one = requester.PlannedTransfer(job, ports[job], bytes_of[job], tuple(sorted(parts)))
            orders.setdefault(int(instance.requester[job]), []).append(one)
        for who, jobs in orders.items():
            egress_bps = float(instance.egress_bps[who])
            self._requesters[who].send(requester.Order(tuple(jobs), egress_bps, scales))
        sending = [self._requesters[who] for who in orders]
        for pipe in sending:
            _answer(pipe, PATIENCE_S)
        return sending


def _answer(pipe: Connection, patience_s: float) -> Any:
    if not pipe.poll(patience_s):
        raise BoardUnreachable(f"A host of the testbed has not answered in {patience_s:.0f} s.")
    return pipe.recv()


def _found(
    instance: Instance,
    placement: Placement,
    went: dict[int, JobOutcome],
    began_s: float,
    scales: Scales,
) -> Live:
    """What pipes told, checked against what was to happen."""
    first = np.searchsorted(instance.host_of, instance.host_of[placement.host])
    wrong = []
    for i in range(instance.jobs):
        if i not in went or not went[i].ended_s:
            wrong.append(f"job {i} has not ended")
        elif went[i].slot != placement.host[i] - first[i]:
            wrong.append(f"job {i} ran on accelerator {went[i].slot} of its host")
        elif not went[i].right:
            wrong.append(f"job {i} was given other bytes than were sent, or computed something else")
    end_s = [(went[i].ended_s - began_s) / scales.wall_s if i in went else 0.0 for i in range(instance.jobs)]
    arrived_s = [(went[i].arrived_s - began_s) / scales.wall_s if i in went else 0.0 for i in range(instance.jobs)]
    items_s: dict[int, list[float]] = {}
    for i, it in went.items():
        items_s.setdefault(int(instance.host_of[placement.host[i]]), []).extend(it.items_s)
    return Live(max(end_s), arrived_s, end_s, wrong, items_s)


@contextlib.contextmanager
def running(requesters: int, responders: int, rtl: int = 0) -> Iterator[Hosts]:
    """So many hosts, while the block runs; each is a process. `rtl` responders more have a simulated board."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["live_testbed.requester", "live_testbed.responder"])
    pipes: list[list[Connection]] = [[], []]
    processes = []

    def start(serve: Callable[[Connection], None], kind: int) -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        processes.append(process)
        pipes[kind].append(ours)

    try:
        for _ in range(requesters):
            start(requester.serve, 0)
        for _ in range(responders):
            start(responder.serve, 1)
        for _ in range(rtl):
            start(rtl_responder.serve, 1)
        yield Hosts(pipes[0], pipes[1], rtl)
        for pipe in (*pipes[0], *pipes[1]):
            pipe.send(None)
        for process in processes:
            process.join(10)
    finally:
        for process in processes:
            process.kill()
            process.join()
        for pipe in (*pipes[0], *pipes[1]):
            pipe.close()
