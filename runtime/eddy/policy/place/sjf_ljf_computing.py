# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""SJF and LJF where only computation counts ([002] section 5), as orders in which idle accelerators take jobs."""

from __future__ import annotations

import heapq

import numpy as np

from eddy.model.placement.instance import Floats, Ints


def shortest_first(time_s: Floats, ready_s: Floats, stop_s: float = np.inf) -> Ints | None:
    """Whenever an accelerator is idle it takes the waiting job it completes soonest. Ties: lowest index.

    Returns None as soon as it is certain that the makespan is `stop_s` or more: a waiting job starts no earlier than
    now, and takes at least its shortest time.
    """
    jobs = len(time_s)
    rows = time_s.T.copy()  # by accelerator; taken jobs are struck out of it
    shortest = time_s.min(axis=1)
    longest_first = np.argsort(-shortest, kind="stable").tolist()
    bound = shortest.tolist()
    idle = [(float(ready), j) for j, ready in enumerate(ready_s)]
    heapq.heapify(idle)
    host = np.full(jobs, -1, np.int64)
    left, head = jobs, 0
    while left and idle:
        now, j = idle[0]
        while host[longest_first[head]] >= 0:
            head += 1
        if now + bound[longest_first[head]] >= stop_s:
            return None
        i = int(rows[j].argmin())
        end = now + float(rows[j, i])
        if end == np.inf:  # nothing that waits can run here
            heapq.heappop(idle)
            continue
        if end >= stop_s:
            return None
        rows[:, i] = np.inf
        host[i] = j
        heapq.heapreplace(idle, (end, j))
        left -= 1
    return host if not left else None


def longest_first(time_s: Floats, ready_s: Floats, stop_s: float = np.inf) -> Ints | None:
    """Whenever an accelerator is idle it takes the waiting job with the largest mean time over all accelerators.

    A job is passed over where it cannot run; its mean is then over the accelerators that can run it. Returns None as
    soon as the makespan is certain to be `stop_s` or more.
    """
    jobs = len(time_s)
    if np.isfinite(time_s).all():
        return _longest_anywhere(time_s, ready_s, stop_s)
    able = np.isfinite(time_s)
    mean = np.where(able, time_s, 0).sum(axis=1) / able.sum(axis=1)
    order = np.argsort(-mean, kind="stable")
    waiting = np.ones(jobs, bool)
    idle = [(float(ready), j) for j, ready in enumerate(ready_s)]
    heapq.heapify(idle)
    host = np.full(jobs, -1, np.int64)
    while waiting.any() and idle:
        now, j = idle[0]
        fitting = order[waiting[order] & able[order, j]]
        if not len(fitting):
            heapq.heappop(idle)
            continue
        i = int(fitting[0])
        if (end := now + float(time_s[i, j])) >= stop_s:
            return None
        waiting[i] = False
        host[i] = j
        heapq.heapreplace(idle, (end, j))
    return host if not waiting.any() else None


def _longest_anywhere(time_s: Floats, ready_s: Floats, stop_s: float) -> Ints | None:
    """The same where every job runs everywhere: a heap and a sorted list."""
    order = np.argsort(-time_s.mean(axis=1), kind="stable")
    idle = [(float(ready), j) for j, ready in enumerate(ready_s)]
    heapq.heapify(idle)
    taken = []
    item = time_s.item
    for i in order.tolist():
        now, j = idle[0]
        if (end := now + item(i, j)) >= stop_s:
            return None
        taken.append(j)
        heapq.heapreplace(idle, (end, j))
    host = np.empty(len(order), np.int64)
    host[order] = taken
    return host
