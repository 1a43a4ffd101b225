# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A responder host in a process of its own: a network port, and a `model` board whose slots are its accelerators."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from multiprocessing.connection import Connection

from eddy.board.model.model import ModelBoard
from eddy.board.port.port import EventKind, Launch
from eddy.board.port.profile import load_profile

from live_testbed.arrivals import Arrivals, Batch, run_responder

PROFILE = "zcu106"
"""Ten slots."""
MODULE = "job"


class Responder:
    """One batch on one responder.

    Args:
        batch: What is to come.
    """

    def __init__(self, batch: Batch) -> None:
        self.arrivals = Arrivals(batch, self._ready)
        self._began_s = float("inf")
        times = {f"job-{number}": job.takes_s for number, job in batch.jobs.items()}
        self.board = ModelBoard.from_profile(load_profile(PROFILE), [MODULE], lambda _, item: times[item])
        images = {image.slot: image.sha256 for image in self.board.images()}
        self._seen = -1
        for slot in {job.slot for job in batch.jobs.values()}:
            self.board.load(slot, images[slot])
            while not (events := self.board.wait(float("inf"), self._seen)):
                pass
            self._seen = events[-1].seq
        self._zero_s = self.board.now_s()
        """Board time at the batch's beginning: loading is no part of it."""
        self._waiting: dict[int, deque[int]] = {job.slot: deque() for job in batch.jobs.values()}
        self._busy: dict[int, int] = {}
        """What each slot runs."""
        self._ends_s: dict[int, float] = {}
        """Board time at which that ends."""

    def _ready(self, number: int) -> None:
        self._waiting[self.arrivals.batch.jobs[number].slot].append(number)

    async def begin(self, began_s: float) -> None:
        """Run jobs as they arrive, each on its accelerator, until all have ended."""
        self._began_s = began_s
        self.arrivals.nothing_sent()
        while True:
            self.arrivals.changed.clear()
            self._step()
            if self.arrivals.all_here and not self._busy:
                return
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.arrivals.changed.wait(), min(self._ends(), default=None))

    def _now_s(self) -> float:
        """Board time."""
        return (time.monotonic() - self._began_s) / self.arrivals.batch.scales.wall_s + self._zero_s

    def _step(self) -> None:
        """Bring the board to now, see what has ended, and start what can be."""
        now_s = self._now_s()
        while events := self.board.wait(now_s, self._seen):
            for event in events:
                self._seen = event.seq
                if event.kind is EventKind.ITEM_DONE:
                    self.arrivals.went[self._busy.pop(event.slot)].ended_s = time.monotonic()
        for slot, waiting in self._waiting.items():
            if waiting and slot not in self._busy:
                self._busy[slot] = number = waiting.popleft()
                self.board.launch(slot, Launch(f"job-{number}", (), (), float("inf")))
                self._ends_s[slot] = self.board.now_s() + self.arrivals.batch.jobs[number].takes_s

    def _ends(self) -> list[float]:
        """Wall seconds until each running job ends."""
        now_s = self._now_s()
        return [max(self._ends_s[slot] - now_s, 0.0) * self.arrivals.batch.scales.wall_s for slot in self._busy]


def serve(pipe: Connection) -> None:
    """Serve batches until told to end: a `Batch`, answered by the TCP port; then the monotonic time at which it begins;
    answers what became of each job."""
    while (batch := pipe.recv()) is not None:
        pipe.send(asyncio.run(run_responder(Responder(batch), pipe)))
