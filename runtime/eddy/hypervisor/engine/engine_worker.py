# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One worker thread turns the engine, step after step, and recovers it when board or store were away;
its steps give way to those who submit."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio
import anyio.to_thread

from eddy.core.errors import BoardUnreachable, StorageFailed
from eddy.core.faults import Fault
from eddy.hypervisor.engine.board_events import BoardRestarted
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.job_subscriptions import JobSubscriptions
from eddy.hypervisor.engine.status import stall
from eddy.hypervisor.intake.preparation_hold import LOOK_S
from eddy.store import Store

CROWD_SHARE = 0.5
"""Of a processor, for steps, while submissions wait."""
MAX_STEP_S = 0.02
"""Processor seconds that may be saved up: steps that had to wait catch up, but not for long."""


class CpuThrottle:
    """What steps may take at this moment: a bucket of processor time that fills at their share.

    Args:
        clock: Wall seconds that only grow.
    """

    def __init__(self, share: float = CROWD_SHARE, clock: Callable[[], float] = time.monotonic) -> None:
        self._share, self._clock = share, clock
        self._left_s, self._at_s = MAX_STEP_S, clock()

    def throttle_s(self, took_s: float) -> float:
        """Wall seconds to wait after a step that took so many processor seconds, while somebody else waits."""
        now_s = self._clock()
        self._left_s = min(MAX_STEP_S, self._left_s + (now_s - self._at_s) * self._share) - took_s
        self._at_s = now_s
        return max(0.0, -self._left_s / self._share)


PROBE_S = 2.0
"""Wall seconds between two looks at a board that has nothing to do."""


class BoardWatch:
    """What is known of a board's answers."""

    def __init__(self) -> None:
        self.away = ""
        """Why the board does not answer; "" where it does."""

    def mark_unreachable(self, why: str) -> None:
        """Note that the board cannot be reached."""
        if not self.away:
            _log.error("the board is unreachable: %s; jobs that have not ended continue once it is back", why)
        self.away = f"The board is away: {why}"

    def mark_answering(self) -> None:
        """Note that the board answers, and what it holds was recovered."""
        if self.away:
            _log.warning("the board is back; jobs continue")
        self.away = ""


FIRST_S = 1e-3
"""Board seconds of the first wait."""
MIN_QUANTUM_S, MAX_QUANTUM_S = 1e-6, 1e6
WANTED_S, LONG_S = 0.03, 0.05
"""Wall seconds a wait without events should take, and how many are too many: long enough to cost nothing, short enough
that a request does not wait for it."""


class Quantum:
    """The longest wait, fitted to how fast the board's time passes.

    Only the wait itself counts. What a step takes beside it, for decisions or because other threads are at work, is no
    reason to wait for less: on a board whose time passes only where it is waited for, nothing would be done.

    Attributes:
        at_s: Board seconds of the next wait, at most.
    """

    def __init__(self) -> None:
        self.at_s = FIRST_S

    def adapt(self, passed_s: float, took_s: float) -> None:
        """Take note of a wait, be it for all of the quantum or up to an event.

        Args:
            passed_s: Board seconds that passed; 0 where nobody waited.
            took_s: Wall seconds it took.
        """
        if passed_s <= 0:
            return
        if took_s > LONG_S:
            self.at_s = max(self.at_s / 2, MIN_QUANTUM_S)
        else:
            wanted_s = passed_s * WANTED_S / took_s if took_s > 0 else MAX_QUANTUM_S
            self.at_s = max(self.at_s, min(self.at_s * 2, wanted_s, MAX_QUANTUM_S))


T = TypeVar("T")
_log = logging.getLogger(__name__)

TURN_S = 0.05
"""Wall seconds after which the event loop has its say: whether to end, and who is to be told."""
RETRY_S = 0.5
"""Wall seconds between attempts to reach a board that is away, and before going on after an unforeseen error."""
SAY_AGAIN_S = 60.0
"""Wall seconds after which the log is told again that jobs get no slot, where nothing else is the reason."""
GIVE_UP = 5
"""Unforeseen errors, with no turn between them that went well, after which the loop ends with the last one."""


class EngineWorker:
    """Keeps an engine turning.

    Args:
        engine: The engine; every call to its board is made from one worker thread at a time.
        followers: Told of what happened to jobs.
        crowded: Whether steps are to give way; asked from any thread.

    Attributes:
        ready: Set once the engine has recovered from store and board.
        watch: Whether the board answers.
        wake: There is something to do.
    """

    def __init__(self, engine: Engine, store: Store, followers: JobSubscriptions, crowded: Callable[[], bool]) -> None:
        self.ready, self.watch = anyio.Event(), BoardWatch()
        self._engine, self._store, self._followers = engine, store, followers
        self._crowded, self._giving_way = crowded, CpuThrottle()
        self._limiter = anyio.CapacityLimiter(1)
        self._woken = asyncio.Event()
        self.wake: Callable[[], None] = self._woken.set
        self._quantum = Quantum()
        self._stalled = "", 0.0
        """What the log was last told of jobs that get no slot, and until when that is enough."""

    async def request(self, put: Callable[..., T], *arguments: object) -> T:
        """Put a request into the engine's inbox, once it takes any, and have it looked at.

        Args:
            put: Puts it there, in a thread of its own: it may write to the store.
            arguments: For `put`.

        Returns:
            What `put` returns.
        """
        await self.ready.wait()
        answer = await anyio.to_thread.run_sync(put, *arguments)
        self.wake()
        return answer

    async def on_board(self, call: Callable[..., T], *arguments: object) -> T:
        """Make a call in the board's thread; a cancellation waits for it to end."""
        return await anyio.to_thread.run_sync(call, *arguments, limiter=self._limiter)

    async def run(self) -> None:
        """Run until cancelled.

        A board that is away is tried again until it is back, and so is a store that cannot be written, on a full disk
        say; then everything is recovered. An error nobody foresaw is logged, and everything is recovered
        too: what had been committed goes on. While there is nothing to do the board's time stands still; it is asked
        for it now and then, to see whether it answers.

        Raises:
            Exception: The last of `GIVE_UP` unforeseen errors in a row.
        """
        started, failures = False, 0
        while True:
            try:
                if not started:
                    await self._start()
                    started = True
                await self._work()
                await self.on_board(self._steps)
                failures = 0
            except BoardUnreachable as failure:
                started = False
                if not self.watch.away:
                    self._store.happened.fault(Fault.BOARD_AWAY)
                self.watch.mark_unreachable(failure.message)
            except BoardRestarted:
                started = False
                self._store.happened.fault(Fault.BOARD_RESTART)
            except StorageFailed as failure:
                # The step that could not be kept has not happened: the board is asked again what came of it.
                started = False
                self._store.failed(failure)
                await anyio.sleep(RETRY_S)
                await anyio.to_thread.run_sync(self._store.probe)
            except Exception:
                started, failures = False, failures + 1
                if failures == GIVE_UP:
                    raise
                _log.exception("unforeseen error; store and board are recovered")
                await anyio.sleep(RETRY_S)
            self._tell(started)

    async def _work(self) -> None:
        """Return when there is something to do."""
        stalled = self._engine.stalled
        if stalled:
            self._say_stalled(stalled, stall(self._engine.machine))
        while self._engine.is_idle:
            woken = False
            with anyio.move_on_after(LOOK_S if self._engine.preparing.waiting else PROBE_S):
                await self._woken.wait()
                self._woken.clear()
                woken = True
            if not woken:
                await self.on_board(self._engine.probe)
                await anyio.to_thread.run_sync(self._store.probe)

    def _say_stalled(self, jobs: Sequence[int], because: str) -> None:
        """Tell the log that jobs get no slot, and why: once in a while, not with every job that comes."""
        now_s = time.monotonic()
        if because == self._stalled[0] and now_s < self._stalled[1]:
            return
        self._stalled = because, now_s + SAY_AGAIN_S
        told = [self._store.numbers.job.public_id(job) for job in jobs[:10]]
        _log.warning("stalled: %d jobs get no slot, %s first: %s", len(jobs), told, because)

    async def _start(self) -> None:
        """Recover from store and board, as soon as the board answers."""
        while True:
            try:
                await self.on_board(self._engine.start)
                break
            except BoardUnreachable as failure:
                self.watch.mark_unreachable(failure.message)
                await anyio.sleep(RETRY_S)
        self.watch.mark_answering()
        self.ready.set()
        self._tell(started=False)

    def _steps(self) -> None:
        """Step until there is nothing to do, somebody is to be told, or `TURN_S` are over.

        To give the turn back after every step would cost more than most steps do: with many requests under way the
        event loop comes round to it late.
        """
        until_s = time.monotonic() + TURN_S
        while True:
            began_s = time.thread_time()
            self._step()
            if self._crowded():
                time.sleep(self._giving_way.throttle_s(time.thread_time() - began_s))
            if (
                self._engine.is_idle
                or time.monotonic() >= until_s
                or self._followers.has_followers(self._engine.commits.jobs_to_publish)
            ):
                return

    def _step(self) -> None:
        """One step; the next quantum is fitted to how long this one waited for the board."""
        self._engine.step(self._quantum.at_s)
        self._quantum.adapt(*self._engine.events.waited)

    def _tell(self, started: bool) -> None:
        """Wake those who follow a job to which something happened; all, where it is not known to which."""
        told = self._engine.commits.take_jobs_to_publish()
        if started:
            self._followers.publish(told)
        else:
            self._followers.publish_all()
