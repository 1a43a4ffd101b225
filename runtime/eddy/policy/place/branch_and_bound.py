# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Few jobs that only compute: the best placement, proven by branch and bound.

Jobs are placed in turn, those with the longest shortest time first, on each accelerator that could still end before the
best placement known. What a partial placement cannot beat is the larger of two averages over the accelerators: of what
is placed plus each remaining job's shortest time; and the same weighted with the prices of the linear program's dual,
which know that fast accelerators are wanted by all.
"""

from __future__ import annotations

import numpy as np

from eddy.model.placement.instance import Floats, Ints
from eddy.policy.place.schedule import makespan_of

JOBS = 24
"""Larger batches are not tried: the other methods come within a few tenths of a per cent there."""
NODES = 6000
"""Partial placements looked at before giving up: some ten milliseconds."""
_LESS = 1 - 1e-9


class _Search:
    """A depth-first search.

    Args:
        time_s: (jobs, accelerators), jobs in the order of the search.
        loads_s: (accelerators,) when each is ready.
        price: (accelerators,) at least 0, summing to 1.
        best_s: Makespan of a placement already known.
        bound_s: No makespan is less.
    """

    def __init__(self, time_s: Floats, loads_s: Floats, price: Floats, best_s: float, bound_s: float) -> None:
        self.rows: list[list[float]] = time_s.tolist()
        self.loads: list[float] = loads_s.tolist()
        self.best_s, self.best_host, self.nodes_left = best_s, list[int](), NODES
        self.host = [0] * len(self.rows)
        accelerators = time_s.shape[1]
        weights = np.stack([np.full(accelerators, 1 / accelerators), price])
        able = np.isfinite(time_s)
        added = weights[:, None, :] * np.where(able, time_s, 0)
        self.priced = added.tolist()
        least = np.where(able, added, np.inf).min(axis=2)
        behind = np.concatenate([np.cumsum(least[:, ::-1], axis=1)[:, ::-1], np.zeros((2, 1))], axis=1)
        self.left: list[list[float]] = behind.tolist()
        """By average and job: the least that this job and those after it add to the average."""
        # An accelerator that nobody uses may be ready later than the last job ends.
        self.start: list[float] = (weights @ np.minimum(loads_s, bound_s)).tolist()

    def run(self) -> bool:
        """Search; answers whether `best_s` is now proven to be the least there is."""
        return self._place(0, 0.0, *self.start)

    def _place(self, job: int, latest_s: float, even: float, priced: float) -> bool:
        if job == len(self.rows):
            self.best_s, self.best_host = latest_s, self.host.copy()
            return True
        row, loads, (on_even, on_price) = self.rows[job], self.loads, (self.priced[0][job], self.priced[1][job])
        left_even, left_price = self.left[0][job + 1], self.left[1][job + 1]
        for end, j in sorted((load + own, j) for j, (load, own) in enumerate(zip(loads, row, strict=True))):
            limit = self.best_s * _LESS
            if end >= limit:
                break
            new_even, new_price = even + on_even[j], priced + on_price[j]
            if new_even + left_even >= limit or new_price + left_price >= limit:
                continue
            self.nodes_left -= 1
            if self.nodes_left < 0:
                return False
            before, loads[j], self.host[job] = loads[j], end, j
            finished = self._place(job + 1, max(latest_s, end), new_even, new_price)
            loads[j] = before
            if not finished:
                return False
        return True


def branch_and_bound(time_s: Floats, ready_s: Floats, price: Floats, host: Ints, bound_s: float) -> tuple[Ints, bool]:
    """The best placement found from a known one, and whether it is proven that none ends earlier.

    Args:
        time_s: (jobs, accelerators), infinite where a job cannot run.
        ready_s: (accelerators,).
        price: (accelerators,) prices of the dual, in any unit.
        host: A placement that is known, (jobs,).
        bound_s: No makespan is less.
    """
    order = np.argsort(-time_s.min(axis=1), kind="stable")
    total = float(price.sum())
    shares = price / total if total > 0 else np.full(len(price), 1 / len(price))
    known_s = makespan_of(time_s, host, ready_s)
    search = _Search(time_s[order].astype(np.float64), ready_s.astype(np.float64), shares, known_s, bound_s)
    proven = search.run()
    if not search.best_host:
        return host, proven
    better = np.empty_like(host)
    better[order] = search.best_host
    return better, proven
