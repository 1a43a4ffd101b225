# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs for which both sending and computing count ([002] 3.3): Algorithm 4."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np

from eddy.model.placement import bounds
from eddy.model.placement.instance import Floats, Instance, Ints, Placement, Rate
from eddy.policy.place.network import parts
from eddy.policy.place.ports import NetworkPort, Segment, port, round_bits, send_earliest, send_evenly, take_segments
from eddy.policy.place.price_and_pack import lower_bound as computation_bound
from eddy.policy.place.schedule import start_on_arrival


@dataclass(slots=True)
class Network:
    """Ports of requesters and hosts, and what each job was given."""

    egress: list[NetworkPort]
    ingress: list[NetworkPort]
    sent: dict[int, list[Segment]]


def network_of(instance: Instance) -> Network:
    """The network beside what earlier batches send."""
    _, _, egress, ingress = parts(instance)
    net = Network([port(bps) for bps in egress], [port(bps) for bps in ingress], {})
    for u, h, begin, end, bps in instance.busy.tolist():
        take_segments(net.egress[int(u)], net.ingress[int(h)], [(begin, end, bps)])
    return net


def mirror_network(instance: Instance, end_s: float) -> Network:
    """The network seen backward from `end_s`; before time 0 nothing can be sent, where earlier batches matter."""
    if not len(instance.busy):
        return network_of(instance)
    busy = instance.busy.copy()
    busy[:, 2], busy[:, 3] = np.maximum(end_s - instance.busy[:, 3], 0), np.maximum(end_s - instance.busy[:, 2], 0)
    net = network_of(replace(instance, busy=busy[busy[:, 3] > busy[:, 2]]))
    for end in (*net.egress, *net.ingress):
        end.close(end_s)
    return net


def joint_bound(instance: Instance) -> float:
    """Computation alone, sending alone, transmission plus tail, one job alone: the largest ([002] 5.2 uses two)."""
    both = max(bounds.tails(instance), bounds.alone(instance))
    return max(computation_bound(instance), bounds.network(instance), both)


def finish_placement(
    instance: Instance, host: Ints, start_s: Floats, net: Network, bound_s: float, method: str
) -> Placement:
    """The placement of starts and segments.

    Where the last job ends earlier if accelerators take their jobs as data arrives, they do.
    """
    size, _, _, _ = parts(instance)
    own = instance.time_s[np.arange(instance.jobs), host].astype(np.float64)
    arrived = np.zeros(instance.jobs)
    sent = {i: round_bits(net.sent[i], float(size[i])) for i in sorted(net.sent)}
    for i, segments in sent.items():
        arrived[i] = max((end for begin, end, bps in segments if end > begin and bps > 0), default=0.0)
    start_s = np.maximum(start_s, arrived)  # what `round_bits` adds is rounding
    prompt = start_on_arrival(own, host, arrived, instance.ready_s)
    makespan, other = float((start_s + own).max()), float((prompt + own).max())
    if other < makespan * (1 - 1e-9):
        start_s, makespan = prompt, other
    rates = tuple(Rate(i, *segment) for i, segments in sent.items() for segment in segments)
    return Placement(host, start_s, makespan, min(bound_s, makespan), rates, method)


def joint(instance: Instance) -> Placement:
    """Algorithm 4 after Algorithm 2: places by computation alone, shortest first on each accelerator.

    Data is sent for the job that could start first; just in time where there is time, as early as possible where not.
    """
    from eddy.policy.place.computation import assign

    parts(instance)  # refuses an instance without a network
    host, _ = assign(instance.time_s, instance.ready_s)
    net = network_of(instance)
    start = just_in_time(instance, host, net)
    return finish_placement(instance, host, start, net, joint_bound(instance), "joint")


def just_in_time(instance: Instance, host: Ints, net: Network) -> Floats:
    """Lines 2 to 15 of Algorithm 4: when each job's computation starts; what is sent is noted in `net`."""
    size, requester, _, _ = parts(instance)
    own = instance.time_s[np.arange(instance.jobs), host].astype(np.float64)
    queues: list[list[int]] = [[] for _ in range(instance.accelerators)]
    for i in np.lexsort((np.arange(instance.jobs), own)):
        queues[host[i]].append(int(i))
    # d of the first waiting job of each accelerator; later ones follow it without a gap, so the least d is a first.
    ready = [(float(instance.ready_s[j]), j, 0) for j, queue in enumerate(queues) if queue]
    heapq.heapify(ready)
    start = np.zeros(instance.jobs)
    while ready:
        begin, j, k = heapq.heappop(ready)
        i = queues[j][k]
        one, other = net.egress[requester[i]], net.ingress[instance.host_of[j]]
        segments = send_evenly(one, other, float(size[i]), begin)
        if segments is None:
            begin, segments = send_earliest(one, other, float(size[i]), 0.0)
        take_segments(one, other, segments)
        net.sent[i] = segments
        start[i] = begin
        if k + 1 < len(queues[j]):
            heapq.heappush(ready, (begin + own[i], j, k + 1))
    return start
