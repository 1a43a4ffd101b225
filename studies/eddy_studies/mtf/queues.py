# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Queues of many agents at once, by age: arrivals through power-of-two-choices, service, deadlines.

A *lane* is one agent in one world. Every lane has a queue for each accelerator. Work is counted in inferences; one that
is half done when its accelerator goes to somebody else keeps its progress.
"""

from __future__ import annotations

import numpy as np
from eddy.policy.price.rounds import Floats, Ints
from numpy.typing import NDArray

WAVES = 64
"""How often in a round a balancer looks at its queues again, at most."""


class LaneQueues:
    """The queues of all lanes.

    Args:
        throughput: Inferences a round; (lanes, accelerators).
        deadline: Rounds after which work is dropped, counting the one it arrives in.
        shared: Whether the accelerators of a lane serve one queue; its work is then in column 0.
    """

    def __init__(self, throughput: Floats, deadline: int, shared: bool = False) -> None:
        self.throughput = throughput
        self.shared = shared
        lanes, accelerators = throughput.shape
        self._by_age = np.zeros((deadline, lanes, 1 if shared else accelerators))
        self._length = np.zeros(self._by_age.shape[1:])
        self._round = -1

    def arrive(self, count: Ints, choices: NDArray[np.uint8]) -> None:
        """A new round: drop what is past its deadline, then queue the arrivals.

        Args:
            count: Jobs of each lane; (lanes,).
            choices: Two queues for each job; (jobs, lanes, 2), of which the first `count` in each lane are used.
        """
        self._round += 1
        newest = self._by_age[self._round % len(self._by_age)]
        self._length -= newest
        np.maximum(self._length, 0.0, out=self._length)
        newest[:] = 0.0
        if self.shared:
            newest[:, 0] = count
            self._length[:, 0] += count
            return
        before = self._length.copy()
        _balance(self._length, count, choices)
        newest[:] = self._length - before

    def offers(self) -> Floats:
        """What each accelerator could serve of each lane's queue in this round; (lanes, accelerators)."""
        return np.minimum(self._length, self.throughput)

    def urgent(self) -> Floats:
        """`offers`, every piece times the square of the part of its time that has passed by the end of the round."""
        deadline = len(self._by_age)
        out = np.zeros_like(self._length)
        room = np.broadcast_to(self.throughput, self.throughput.shape).copy()
        if self.shared:
            return np.asarray(self.offers())
        for rest in range(deadline):
            piece = np.minimum(self._by_age[(self._round + 1 + rest) % deadline], room)
            room -= piece
            out += piece * ((deadline - rest) / deadline) ** 2
        return out

    def serve(self, time: Floats) -> Floats:
        """Serve, oldest first.

        Args:
            time: Fraction of the round each lane has each accelerator; (lanes, accelerators).

        Returns:
            Inferences done; (lanes,).
        """
        able = time * self.throughput
        if self.shared:
            able = able.sum(axis=1, keepdims=True)
        lanes, places = np.nonzero((able > 0) & (self._length > 0))
        ages = (np.arange(len(self._by_age)) + self._round + 1) % len(self._by_age)
        queued = self._by_age[ages[:, None], lanes, places]
        before = np.cumsum(queued, axis=0) - queued
        done = np.clip(able[lanes, places] - before, 0.0, queued)
        self._by_age[ages[:, None], lanes, places] = queued - done
        amount = done.sum(axis=0)
        self._length[lanes, places] -= amount
        return np.bincount(lanes, weights=amount, minlength=len(self._length)).astype(np.float64)


def _balance(length: Floats, count: Ints, choices: NDArray[np.uint8]) -> None:
    """Every job of a lane joins the shorter of two queues, the first of equal ones.

    Jobs go one after another; a lane with more than `WAVES` of them deals them in so many waves, its balancer comparing
    lengths that are up to a wave old. Lanes do not see each other.
    """
    order = np.argsort(-count, kind="stable")
    falling = count[order]
    flat = length.reshape(-1)
    first = order * length.shape[1]
    most = int(falling[0]) if len(falling) else 0
    for turn in range(min(most, WAVES)):
        active = int(np.searchsorted(-falling, -turn, side="left"))
        lanes, jobs = order[:active], falling[:active]
        waves = np.minimum(jobs, WAVES)
        begin, end = jobs * turn // waves, jobs * (turn + 1) // waves
        job = begin + np.arange(int((end - begin).max()))[:, None]
        there = job < end
        here = choices[np.minimum(job, end - 1), lanes]
        one, two = first[:active] + here[..., 0], first[:active] + here[..., 1]
        chosen = np.where(flat[one] <= flat[two], one, two)
        if len(job) == 1:
            flat[chosen[0]] += 1.0
        else:
            np.add.at(flat, chosen[there], 1.0)
