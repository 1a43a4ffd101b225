# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The leading head: takes jobs back from boards that are gone, and places those that wait.

It has no state but the pool's. What it does twice, or what two heads do at once, changes nothing the second time: a
record is changed from the revision it was read at, and a board takes a placement up once, under its token.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import structlog

from eddy.core.errors import EddyError, NotFound, StorageFull
from eddy.policy.place import METHODS
from eddy.pool.connection.refusals import AWAY, SAID_NO, translate_refusal
from eddy.pool.connection.streams import LEASE_S, RENEW_S
from eddy.pool.connection.tasks import ended
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.lease import LeaderLease
from eddy.pool.jetstream.link import Link
from eddy.pool.mirror.board_drops import LEASE_ENDED, NOT_WORKED_ON, after_recall
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.placement.forecast import LOOKED_AT
from eddy.pool.placement.placement import LINK_BPS, Method, PlacementDecision, PoolView, decide, next_planned
from eddy.pool.placement.replanning import ReplanSettings, ReplanState, profitable_moves, replace_moves
from eddy.pool.placement.stall_timeout import MIN_S, StallTimeout
from eddy.pool.records.record_json import UnreadableRecord
from eddy.pool.records.records import PLACED, JobFenced, PoolJob

AT_ONCE = 16
"""Calls that are under way at once: a call waits for the servers' disks, and others can wait with it."""
Call = Callable[[], Awaitable[object]]


async def run_in_lanes(calls: Iterable[tuple[Hashable, Call]], at_once: int = AT_ONCE) -> None:
    """Make all calls. Those of one lane begin in the order given, each once the one before has ended.

    After a call has failed, none begins any more; this raises what it raised once those under way have ended.

    Args:
        calls: Each with the lane it is in.
        at_once: How many may be under way.
    """
    lanes: dict[Hashable, list[Call]] = {}
    for lane, call in calls:
        lanes.setdefault(lane, []).append(call)
    turns, failures = asyncio.Semaphore(at_once), list[Exception]()

    async def run(lane: list[Call]) -> None:
        for call in lane:
            async with turns:
                if failures:
                    return
                try:
                    await call()
                except Exception as failure:
                    failures.append(failure)

    await asyncio.gather(*map(run, lanes.values()))
    if failures:
        raise failures[0]


GATHER_S, GATHER_TIMES = 0.05, 4.0
"""Wall seconds in which arrivals become one batch, at least; and how many times as long as the last decision took, so
that deciding takes a fifth of a head's time at most. Boards have a job more than they run, and do not wait for it."""
MAX_SIZES = 200_000
"""Sizes of inputs that are remembered."""
AGAIN_S = 2.0
"""A placement that its board has not named for so long is told again."""

_log = structlog.get_logger("eddy.pool")


def gather_s(decision_s: float) -> float:
    """Seconds until the next decision, where the last one took so much processor time."""
    return max(GATHER_S, GATHER_TIMES * decision_s)


def _timed(view: PoolView, method: Method) -> tuple[list[PlacementDecision], float]:
    """A decision, and the processor time it took, seconds."""
    began_s = time.thread_time()
    gives = decide(view, method)
    return gives, time.thread_time() - began_s


class Leader:
    """One head's part in deciding.

    Args:
        policy: A name of `policy.place.METHODS`.
        egress_bps: What the pool's store may send in all.
        replan: When it plans again what boards have.
        patience_s: Seconds that a board is given to commit something of what it runs, beside what that should take.
        folder: Where what this head reads of jobs is kept; None for memory.

    Attributes:
        decisions: How often it has decided.
        deciding_s: Wall seconds that took in all.
    """

    def __init__(
        self,
        link: Link,
        name: str,
        policy: str = "prompt",
        egress_bps: float = LINK_BPS,
        replan: ReplanSettings = ReplanSettings(),  # noqa: B008
        patience_s: float = MIN_S,
        folder: Path | None = None,
    ) -> None:
        self._link, self._table, self._blobs = link, PoolJobs(link), PoolBlobs(link)
        self.lease, self.mirror = LeaderLease(link, name), Mirror(link, name, folder=folder)
        self.policy, self._egress_bps = policy, egress_bps
        self.replans, self._patience = ReplanState(replan), StallTimeout(patience_s)
        self._sizes: dict[tuple[str, str], int] = {}
        self._told: dict[tuple[int, int], float] = {}
        self._led_s = float("inf")
        self._last_s = 0.0
        self.decisions, self.deciding_s = 0, 0.0

    async def run(self) -> None:
        """Lead whenever the lease can be had, until cancelled."""
        following = asyncio.ensure_future(self.mirror.run())
        renewing = asyncio.ensure_future(self._renew())
        try:
            await self.mirror.whole.wait()
            while not (following.done() or renewing.done()):
                await self._turn()
            await asyncio.gather(following, renewing)
        finally:
            await ended((following, renewing))
            self.mirror.projection.close()

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                with suppress(*AWAY):
                    await asyncio.wait_for(self.mirror.beat(), RENEW_S)
                held = await self.lease.renew()
            except (*SAID_NO, StorageFull) as said:
                _log.error("the pool's servers refuse this head's lease", error=str(said))
                held = self.lease.is_leader
            except Exception:  # a head that renews no more never leads again
                _log.exception("renewing the lease failed")
                held = self.lease.is_leader
            self._led_s = min(self._led_s, loop.time()) if held else float("inf")
            await asyncio.sleep(RENEW_S)

    async def _turn(self) -> None:
        try:
            await asyncio.wait_for(self.mirror.changed.wait(), RENEW_S)
            await asyncio.sleep(gather_s(self._last_s))
        except asyncio.TimeoutError:
            pass
        self.mirror.changed.clear()
        if not (self.lease.is_leader and self._link.connected and self.mirror.reader.is_settled):
            return
        try:
            if asyncio.get_running_loop().time() - self._led_s >= LEASE_S:
                # Before, a head that has just begun gives every board a lease's time to be heard.
                await self._take_back()
                await self._replan()
            await self._end()
            await self._place()
            await self._tell_again()
        except AWAY as failure:
            _log.warning("the pool is away", error=repr(failure))
        except SAID_NO as said:
            _log.error("placing failed", error=translate_refusal(said).message)
        except EddyError as error:
            _log.error("placing failed", code=error.code, error=error.message)
        except Exception:
            # One job or board that breaks a decision must not keep a head from the rest of its work for ever.
            _log.exception("placing failed")

    async def _take_back(self) -> None:
        """From boards whose lease is over, and from those that do not work on what they have, or seem not to."""
        given = self.mirror.jobs.jobs_on_boards
        held = [job for job in given if self.mirror.alive(job.board)]
        dropped = [(job, LEASE_ENDED) for job in given if not self.mirror.alive(job.board)]
        dropped += [(job, NOT_WORKED_ON) for job in self.mirror.drops.unnamed_jobs(held, self.mirror.boards)]
        await self._measure(job for job in held if job.state == PLACED)  # sizes, where another head gave them
        dropped += self._patience.jobs_to_recall(self._view(), self.mirror.heard.s)
        for job, why in dropped:
            now_s = self._table.now()
            await self._changed(job, lambda it, why=why, now_s=now_s: after_recall(it.recall(why, now_s), now_s))  # type: ignore[misc]

    async def _replan(self) -> None:
        """Move jobs from boards to others that would now end them sooner."""
        mirror, replans = self.mirror, self.replans
        if not (cause := replans.cause(mirror.live_boards, mirror.jobs.jobs_on_boards, mirror.estimates)):
            return
        view, now_s, interval_s = await self.view(), self._table.now(), replans.settings.interval_s
        moves = await asyncio.to_thread(profitable_moves, view, now_s, interval_s)
        gives = await asyncio.to_thread(replace_moves, view, moves, METHODS[self.policy])
        gives_by_job = {give.job: give for give in gives}
        for move in moves:
            how: Callable[[PoolJob], PoolJob] = partial(move.recalled_job(cause).applied, at_unix_s=self._table.now())
            if (taken := await self._changed(move.job, how)) is not None:
                replans.moved += 1
                await self._give(taken, gives_by_job[move.job.id])
        replans.mark_replanned()

    async def _end(self) -> None:
        """Jobs that are too late, or that wait in vain for what others came to."""
        for each in self.mirror.jobs.jobs_to_end(self.mirror.date.earliest_now(self._table.now())):
            await self._changed(each.job, lambda it, how=each: it.stop(how.error, self._table.now(), how.state))  # type: ignore[misc]

    def pool_view(self) -> PoolView:
        """The pool as it is now, without sizes of inputs; of what waits, the first that are forecast."""
        view = self._view()
        return replace(view, waiting=self.mirror.jobs.in_turn(view.given, view.weights, LOOKED_AT))

    async def view(self) -> PoolView:
        """The pool as it is now, with all that waits, and with sizes of the inputs of what boards have."""
        await self._measure(self.mirror.jobs.jobs_on_boards)
        given = self.mirror.jobs.jobs_on_boards
        return replace(
            self._view(), waiting=self.mirror.jobs.placeable_jobs, there=self.mirror.there.inputs_by_board(given)
        )

    async def _next(self) -> PoolView:
        """The pool as the next decision sees it: of the jobs that wait, those that it plans."""
        view = self._view()
        waiting = next_planned(view, self.mirror.jobs.in_turn)
        await self._measure(waiting)
        return replace(view, waiting=waiting, there=self.mirror.there.inputs_by_board(waiting))

    def _view(self) -> PoolView:
        """What boards have."""
        mirror, sizes = self.mirror, self._sizes
        return PoolView(
            (),
            mirror.jobs.jobs_on_boards,
            mirror.usable_boards,
            mirror.estimates.now(),
            sizes,
            {},
            self._egress_bps,
            mirror.weights,
            mirror.jobs.partners.boards,
        )

    async def _place(self) -> None:
        view = await self._next()
        if not view.waiting:
            return
        began_s = time.monotonic()
        gives, self._last_s = await asyncio.to_thread(_timed, view, METHODS[self.policy])
        self.decisions += 1
        self.deciding_s += time.monotonic() - began_s
        await run_in_lanes((give.board, partial(self._give, self.mirror.jobs.get(give.job), give)) for give in gives)

    async def _give(self, job: PoolJob | None, give: PlacementDecision) -> None:
        if job is None or not self.lease.is_leader:
            return
        changed = await self._changed(job, lambda it: it.place_on(give.board, give.bps, give.why))
        if changed is not None:
            await self._tell(changed)

    async def _changed(self, job: PoolJob, how: Callable[[PoolJob], PoolJob]) -> PoolJob | None:
        """Change a job that must not have been changed since it was seen; None where it was."""

        def unless_changed(now: PoolJob) -> PoolJob:
            if now.token != job.token or now.board != job.board:
                raise JobFenced(f"Job {job.id} was placed by another.", job=job.id)
            return how(now)

        try:
            changed = await self._table.change(job.id, unless_changed)
        except (JobFenced, NotFound, UnreadableRecord):  # it is another's matter, gone, or set aside
            return None
        # The watch tells the same in a moment, unless it has told more meanwhile: that the job was cancelled, say.
        if self.mirror.jobs.get(job.id) == job:
            self.mirror.jobs.add_record(changed)
        return changed

    async def _tell(self, job: PoolJob) -> None:
        """Put a placement into its board's queue."""
        self._told[job.id, job.token] = asyncio.get_running_loop().time()
        body = json.dumps({"job": job.id, "token": job.token}).encode()
        await self._link.js.publish(f"eddy.work.{job.board}", body)

    async def _tell_again(self) -> None:
        """Placements that their boards do not name: the head that made them may have ended before it told the board."""
        now_s, boards = (
            asyncio.get_running_loop().time(),
            {board.name: board.running for board in self.mirror.live_boards},
        )
        placed = {(job.id, job.token): job for job in self.mirror.jobs.jobs_on_boards if job.state == PLACED}
        self._told = {key: at for key, at in self._told.items() if key in placed}
        late = [job for key, job in placed.items() if now_s - self._told.setdefault(key, now_s) > AGAIN_S]
        unheard = [job for job in late if job.board in boards and job.id not in boards[job.board]]
        await run_in_lanes((job.board, partial(self._tell, job)) for job in unheard)

    async def _measure(self, waiting: Iterable[PoolJob]) -> None:
        """Sizes of inputs that are not known yet."""
        blobs = {(job.tenant, sha) for job in waiting for sha in job.blobs}
        if len(self._sizes) > MAX_SIZES:
            self._sizes = {}  # another, as a decision may have the one before

        async def measure(tenant: str, sha: str) -> None:
            self._sizes[tenant, sha] = await self._blobs.size(tenant, sha) or 0

        await run_in_lanes((blob, partial(measure, *blob)) for blob in blobs - self._sizes.keys())
