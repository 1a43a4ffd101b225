# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Estimates for whoever asks, from any number of requests, at a bounded part of a core."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol

import anyio
import anyio.to_thread

from eddy.hypervisor.forecast.estimator_feed import EstimatorFeed, pictures
from eddy.hypervisor.forecast.job_standing import JobAlone, JobStanding, describe_standing, solo_estimate
from eddy.hypervisor.forecast.outlook import QueueOutlook, outlook
from eddy.hypervisor.forecast.trial import JobTrial, try_job
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.machine import Machine

MIN_S = 0.5
"""Wall seconds for which an outlook is good at least."""
PART = 20.0
"""An outlook is good for as many times what it took: all of them together take at most a twentieth of a core."""

SOON_S, SOON_PART = 0.05, 5.0
"""The same where a job is asked for that came since."""

REST_S = 0.5
"""Wall seconds after a look that failed in which those who do not wait for it to end begin none."""

_log = logging.getLogger(__name__)

OnBoard = Callable[..., Awaitable[Any]]
"""Makes a call in the engine's thread."""


class ForecastSource(Protocol):
    """What is asked of the engine."""

    machine: Machine
    estimates: EstimatorFeed

    @property
    def now_s(self) -> float:
        """Board time as last seen."""


class ForecastService:
    """Answers what is expected of jobs.

    Args:
        engine: Its machine has the queues.
        on_board: Makes a call in its thread.
    """

    def __init__(self, engine: ForecastSource, on_board: OnBoard) -> None:
        self._engine, self._on_board = engine, on_board
        self._last: QueueOutlook | None = None
        self._good_s = self._soon_s = self._rests_s = 0.0
        self._lock = anyio.Lock()
        self._looking: asyncio.Task[QueueOutlook] | None = None
        self._looking_for: int | None = None
        """The look that is under way for those who do not wait for it to end, and the job it was begun for."""

    async def recent_estimates(self, need: int | None, patience_s: float) -> QueueOutlook | None:
        """What is expected of all jobs, as `outlook` says it; where that takes longer or fails, what was said last, or
        None.

        The look goes on for who asks next: while the board keeps the engine it takes as long as it takes. After one
        that failed there is none for a while.

        Args:
            need: A job that should be in it, though it came just now.
            patience_s: Wall seconds to wait at most.
        """
        until_s = time.monotonic() + patience_s
        joined = self._under_way and self._looking_for != need
        found = await self._looked_at(need, patience_s)
        if joined and need is not None and found is not None and found.part(need) is None:
            # The look that was under way began for somebody else, perhaps before this job came.
            early_s = self._soon_s - time.monotonic()
            if early_s < until_s - time.monotonic():
                await asyncio.sleep(max(early_s, 0.0))
                found = await self._looked_at(need, until_s - time.monotonic())
        return found

    @property
    def _under_way(self) -> bool:
        return self._looking is not None and not self._looking.done()

    async def _looked_at(self, need: int | None, patience_s: float) -> QueueOutlook | None:
        """What the look under way finds, or one that is begun for this job; where it is not done by then or failed,
        what was found last."""
        if not self._under_way:
            if time.monotonic() < self._rests_s:
                return self._last
            self._looking, self._looking_for = asyncio.create_task(self.outlook(need), name="outlook"), need
            self._looking.add_done_callback(_note_failure)
        looking = self._looking
        assert looking is not None
        done, _ = await asyncio.wait({looking}, timeout=max(patience_s, 0.0))  # another may look again meanwhile
        if not done or looking.cancelled() or looking.exception() is not None:
            return self._last
        return looking.result()

    async def outlook(self, need: int | None = None, fresh: bool = False) -> QueueOutlook:
        """What is expected of all jobs: now, or, where not `fresh`, a short time ago.

        Args:
            need: A job that should be in it, though it came just now.
            fresh: Whether it must be as of now.
        """
        async with self._lock:
            last, now_s = self._last, time.monotonic()
            old = now_s >= self._good_s
            missing = need is not None and last is not None and last.part(need) is None and now_s >= self._soon_s
            if last is None or fresh or old or missing:
                try:
                    last = self._last = await self._look()
                except Exception:
                    self._rests_s = time.monotonic() + REST_S
                    raise
            return last

    async def _look(self) -> QueueOutlook:
        queues = await self._on_board(lambda: pictures(self._engine.machine, self._engine.now_s))
        estimator = self._engine.estimates.estimator
        began_s = time.monotonic()
        found = replace(await anyio.to_thread.run_sync(outlook, estimator, queues), made_s=began_s)
        now_s = time.monotonic()
        took_s = now_s - began_s
        for queue, made in found.parts:
            await self._on_board(estimator.watch, queue, made)
        self._good_s = now_s + max(MIN_S, PART * took_s)  # once nothing can fail any more: it is what is told then
        self._soon_s = now_s + max(SOON_S, SOON_PART * took_s)
        return found

    async def job_standing(self, job: int, doing: str) -> JobStanding:
        """How a job that has not ended stands; `doing` is what keeps it out of the machine."""
        estimator = self._engine.estimates.estimator
        asked = await self._on_board(lambda: describe_standing(self._engine.machine, self._engine.now_s, job, doing))
        return await anyio.to_thread.run_sync(asked, estimator)

    async def solo_times(self, spec: JobSpec) -> JobAlone:
        """What a job would take that has the board for itself."""
        estimator = self._engine.estimates.estimator
        asked = await self._on_board(lambda: solo_estimate(self._engine.machine, self._engine.now_s, spec))
        return await anyio.to_thread.run_sync(asked, estimator)

    async def try_job(self, spec: JobSpec) -> JobTrial:
        """What would be expected of a job if it arrived now."""
        estimator = self._engine.estimates.estimator
        asked = await self._on_board(lambda: try_job(self._engine.machine, self._engine.now_s, spec))
        return await anyio.to_thread.run_sync(asked, estimator)


def _note_failure(task: asyncio.Task[QueueOutlook]) -> None:
    """A look that nobody waited for any more is not lost without a word."""
    if not task.cancelled() and (failure := task.exception()) is not None:
        _log.debug("no outlook: %r", failure)
