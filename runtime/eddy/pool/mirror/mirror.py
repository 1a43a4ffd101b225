# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head knows of the pool, kept up to date by watches: boards, leases, jobs that have not ended, estimates."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import structlog
from nats.js.kv import KeyValue

from eddy.pool.connection.refusals import AWAY, SAID_NO
from eddy.pool.connection.streams import LEASE_S, RENEW_S
from eddy.pool.connection.tasks import ended
from eddy.pool.jetstream.bucket_reader import entries, watch_bucket
from eddy.pool.jetstream.jobs import JobEntry
from eddy.pool.jetstream.kept_usage import KEPT_USAGE, kept_usage_read
from eddy.pool.jetstream.link import Link
from eddy.pool.jetstream.tenant_keys import KeyCache, PoolKeys
from eddy.pool.jetstream.tenants import PoolTenant, PoolTenants
from eddy.pool.mirror.board_drops import FLOODS, HELD_BACK, BoardDrops
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.mirror.flood_guard import LEASES, FloodGuard
from eddy.pool.mirror.job_followers import JobFollowers
from eddy.pool.mirror.job_inputs import InputLocations, NeededInputs
from eddy.pool.mirror.job_reader import JobReader
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.mirror.projection import Projection
from eddy.pool.records.records import PoolBoard, PoolJob
from eddy.pool.records.reports import kept_board_read, lease_read

BEATS = "head."
"""Entries of heads in the bucket of leases; a board's name has no dot."""
_log = structlog.get_logger("eddy.pool")
LEARNED = 2000
"""Jobs that ended last of which a head that starts looks where inputs went."""
COLLECTABLE = 10_000
"""Jobs that have just ended that are kept until somebody looked at their outputs."""
MARKS = 100_000
"""Marks of removed records that are remembered, until the head that leads takes them away."""
AGAIN_S, MAX_AGAIN_S = 0.5, 4.0
"""Wall seconds until it follows again after that ended: twice as many each time, where nothing better is heard."""
MAX_S = 2 * RENEW_S
"""What the time between two beats counts at most."""


class LeaseClock:
    """Time in which renewals of leases would have been heard: that between this head's own beats.

    While the servers choose another leader of the bucket, nothing is heard of any board; no lease ends by that.

    Args:
        clock: Seconds that never jump.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._last_s = clock, clock()
        self.s = 0.0

    def observe_beat(self) -> None:
        """An own beat was heard."""
        now_s = self._clock()
        self.s += min(now_s - self._last_s, MAX_S)
        self._last_s = now_s


class ServerClock:
    """The date by the servers' clocks, as entries that were heard carry it: that of a head may jump.

    Args:
        clock: Seconds that never jump.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ahead_s: float | None = None

    def observe(self, unix_s: float) -> None:
        """An entry was heard that was written at this moment."""
        self._ahead_s = unix_s - self._clock()

    def skew_s(self, unix_s: float) -> float | None:
        """A head's own date, seconds since 1970, less the servers'; None before that was heard."""
        return None if self._ahead_s is None else unix_s - (self._clock() + self._ahead_s)

    def earliest_now(self, unix_s: float) -> float:
        """A head's own date, seconds since 1970, or the servers' where that is earlier."""
        return unix_s if self._ahead_s is None else min(unix_s, self._clock() + self._ahead_s)


@dataclass
class PoolObservations:
    """What a head has seen happen.

    Attributes:
        ended: Jobs, by the state they ended in.
        items: Committed.
        moves: Jobs taken back from boards.
        sent_bytes: Inputs sent for what was committed.
    """

    ended: Counter[str] = field(default_factory=Counter)
    items: int = 0
    moves: int = 0
    sent_bytes: int = 0

    def add_record(self, before: PoolJob | None, now: PoolJob) -> None:
        """A record changed; nothing is counted twice where one is told again."""
        if before is None:
            return
        self.items += max(now.done - before.done, 0)
        self.moves += max(len(now.moves) - len(before.moves), 0)
        self.sent_bytes += sum(part.sent_bytes for part in now.parts[len(before.parts) :])
        if now.is_ended and not before.is_ended:
            self.ended[now.state] += 1


class Mirror:
    """The pool as this process sees it. A head that has just started knows the same after one read of the buckets.

    Args:
        head: Name of the head; its own beats in the bucket of leases tell whether renewals would be heard.
        clock: Seconds that never jump.
        folder: Where what was read of jobs is kept; None for memory.

    Attributes:
        projection: What was read of jobs.
        jobs: Those that have not ended, by number.
        boards: Every board that ever joined, by name, as it last said.
        estimates: What their parts say of times.
        date: That of the servers.
        floods: Boards that send without end.
        tenants: Tenants of the pool, by name.
        there: Inputs that boards were sent.
        collectable: Jobs that have ended, as they did, for whoever removes what nobody can fetch.
        marks: Of records that were removed: when this head heard of it, the number, and the mark's revision.
        followers: Who waits for a job.
        began_s: When this head began, by the clock of the machine that never jumps.
        seen: What has happened since everything that was there was read.
        changed: Set when something a decision depends on has changed.
        whole: Set once everything that was there has been read.
    """

    def __init__(
        self, link: Link, head: str, clock: Callable[[], float] = time.monotonic, folder: Path | None = None
    ) -> None:
        self._link, self._pool_tenants, self._pool_keys = link, PoolTenants(link), PoolKeys(link)
        self._beat, self.heard = f"{BEATS}{head}", LeaseClock(clock)
        self.date = ServerClock(clock)
        self.projection = Projection(folder)
        self.reader = JobReader(link, self.projection, self._heard_of_job, self._settled)
        self.jobs = OpenJobs(is_failed=self.projection.is_failed, find=self.projection.job)
        self.boards: dict[str, PoolBoard] = {}
        self._kinds: dict[str, str] = {}
        self._heard: dict[str, float] = {}
        self.estimates, self.drops, self.floods = Estimates(), BoardDrops(clock), FloodGuard(clock)
        self.tenants: dict[str, PoolTenant] = {}
        self.there = InputLocations()
        self.followers, self.keys = JobFollowers(), KeyCache()
        self.inputs = NeededInputs()
        self.collectable: deque[PoolJob] = deque(maxlen=COLLECTABLE)
        self.marks: deque[tuple[float, int, int]] = deque(maxlen=MARKS)
        self._restored = False
        self._anew = asyncio.Event()
        self._kinds_known = asyncio.Event()
        self.began_s = time.monotonic()
        self.seen = PoolObservations()
        self.changed = asyncio.Event()
        self.whole = asyncio.Event()
        self._follows = (self._boards, self._leases, self._jobs, self._secrets)

    def alive(self, name: str) -> bool:
        """Whether a board's lease holds."""
        return self.heard.s - self._heard.get(name, float("-inf")) < LEASE_S

    async def beat(self) -> None:
        """Write to the bucket of leases as boards do; `alive` counts the time in which that is heard."""
        await self._link.leases.put(self._beat, b"{}")

    @property
    def live_boards(self) -> list[PoolBoard]:
        """Boards whose lease holds, by name."""
        return [board for name, board in sorted(self.boards.items()) if self.alive(name)]

    @property
    def usable_boards(self) -> list[PoolBoard]:
        """`live_boards`, where a board that dropped what it had counts as drained for as long as it is held back, and
        one that floods the pool while it does."""

        def as_used(board: PoolBoard) -> PoolBoard:
            if flood := self.floods.describe_flood(board.name):
                return replace(board, drained=f"{FLOODS} {flood}")
            return replace(board, drained=HELD_BACK) if self.drops.hold_back_s(board.name) else board

        return [as_used(board) for board in self.live_boards]

    async def on_board(self, name: str) -> list[int]:
        """Numbers of the jobs on a board that have not ended, once everything that was there has been read."""
        await self.whole.wait()
        return [job.id for job in self.jobs.on(name)]

    async def run(self) -> None:
        """Follow the pool until cancelled; begins again where it was away, or an entry could not be dealt with."""
        wait_s = AGAIN_S
        while True:
            connection, began_s = self._link.reconnects, time.monotonic()
            tasks = [asyncio.ensure_future(each()) for each in self._follows]
            try:
                # A server that was away has forgotten who watched.
                while connection == self._link.reconnects and not (self._anew.is_set() or self.projection.damaged):
                    if (await asyncio.wait(tasks, timeout=0.5, return_when=asyncio.FIRST_COMPLETED))[0]:
                        break
            finally:
                outcomes = await ended(tasks)
            for outcome in outcomes:
                if isinstance(outcome, AWAY):
                    _log.warning("following the pool was cut off, and begins again", error=f"{outcome!r} {outcome}")
                elif isinstance(outcome, SAID_NO):
                    _log.error("the pool's servers refuse what is followed; it begins again", error=str(outcome))
                elif isinstance(outcome, Exception):
                    # A head that follows no more places by what was, for ever, and nobody would notice.
                    _log.error("following the pool failed, and begins again", exc_info=outcome)
            if self.projection.damaged:
                self._begin_again()
            followed = (
                connection != self._link.reconnects or self._anew.is_set() or time.monotonic() - began_s > MAX_AGAIN_S
            )
            self._anew.clear()
            wait_s = AGAIN_S if followed else min(2 * wait_s, MAX_AGAIN_S)
            await self._wait(wait_s)

    def restart_following(self) -> None:
        """Follow again: what is followed was made again."""
        self._anew.set()

    async def _wait(self, most_s: float) -> None:
        """Wait, and no longer once the servers are back."""
        connection, deadline = self._link.reconnects, time.monotonic() + most_s
        while connection == self._link.reconnects and time.monotonic() < deadline:
            await asyncio.sleep(min(AGAIN_S, most_s))

    async def _boards(self) -> None:
        async with contextlib.aclosing(entries(self._link.boards)) as told:
            async for entry in told:
                if entry is None:
                    self._kinds_known.set()
                elif entry.operation is not None:  # it was forgotten
                    self._link.troubles.forget("eddy_boards", entry.key)
                    self.boards.pop(entry.key, None)
                    self.changed.set()
                else:
                    self._joined(entry.key, entry.value or b"")

    def _joined(self, name: str, data: bytes) -> None:
        try:
            board = kept_board_read(name, data)
        except ValueError as wrong:
            self._link.troubles.record_unreadable("eddy_boards", name, str(wrong))
            return
        self._link.troubles.forget("eddy_boards", name)
        known = self.boards.get(board.name, board)
        self._board(replace(known, drained=board.drained, labels=board.labels))
        self.changed.set()

    async def _leases(self) -> None:
        async with watch_bucket(self._link.leases) as watch:
            async for entry in watch:
                if entry is not None:
                    self._lease(entry)

    def _lease(self, entry: KeyValue.Entry) -> None:
        if entry.key.startswith(BEATS):
            if entry.key == self._beat:
                self.heard.observe_beat()
                if isinstance(entry.created, datetime):
                    self.date.observe(entry.created.timestamp())
        elif self.floods.count_and_check(entry.key, LEASES):
            return  # to read it all would take all of this head
        elif entry.operation is None and entry.value:
            try:
                self._renewed(lease_read(entry.key, entry.value))
            except ValueError as wrong:
                _log.warning("a board's lease cannot be read", board=entry.key, error=str(wrong))
        elif entry.operation is not None:
            self._heard.pop(entry.key, None)
            self.changed.set()

    def _renewed(self, board: PoolBoard) -> None:
        before = self.boards.get(board.name)
        if before is not None and before.session != board.session:
            self.there.forget(board.name)  # its disk may be another; what it has, it is not sent again
        kept = before or board
        self._board(replace(board, drained=kept.drained, labels=kept.labels))
        if not self.alive(board.name) or (before is not None and _news(before) != _news(board)):
            self.changed.set()
        self._heard[board.name] = self.heard.s

    def _board(self, board: PoolBoard) -> None:
        self.boards[board.name], self._kinds[board.name] = board, board.kind

    async def _jobs(self) -> None:
        await self._kinds_known.wait()  # times of parts are learned by the kind of their board
        self._restore()
        await self.reader.run()

    def _begin_again(self) -> None:
        """What was read is damaged: it is read again, as by a head that starts."""
        _log.error("what this head has read of the pool is damaged, and is read again")
        self.projection.make_again()
        self.estimates = Estimates()
        self.whole.clear()
        self.reader.forget()

    def _restore(self) -> None:
        """Take in what an earlier head has read, the first time."""
        if self._restored:
            return
        for job in self.projection.open_jobs():
            self.estimates.skip(job)
            self.inputs.add_job(job)
            self.drops.learn(job, news=False)
            self.jobs.add_record(job)
        for job in reversed(self.projection.last_ended(None, LEARNED)):
            self.there.record_sent(job.last_board, job)
        self.estimates.known = self.projection.times()
        self.marks += [(time.monotonic(), int(key), revision) for key, revision in self.projection.marks()]
        self._restored = True

    def _settled(self) -> None:
        """All that is there was read: other jobs are nobody's."""
        for number in [number for number in self.jobs if not self.projection.has(number)]:
            self._heard_of_job(JobEntry(str(number), None, 0, 0, gone=True))
        self.whole.set()

    def _heard_of_job(self, told: JobEntry) -> None:
        job, number = told.job, told.number
        if job is None:
            if number is not None:
                self._lost(number, told.gone)
            self.projection.put(told)
            if told.gone and told.revision and number is not None:
                self.marks.append((time.monotonic(), number, told.revision))
            return
        for each in self.projection.put(told):
            self._take(each)
        self.followers.tell(job, told.revision)

    def _lost(self, number: int, gone: bool) -> None:
        """A record was taken away, or cannot be read: it is no job any more. What waits for one that had not ended, or
        may not have, has waited in vain."""
        before = self.jobs.get(number)
        if before is not None or not (gone or self.projection.has(number)):
            self.jobs.drop_record(number)
        elif gone and self.projection.has(number):
            self.jobs.failed.discard(number)
        self.inputs.remove_job(number)
        self.changed.set()

    async def wait_caught_up(self) -> None:
        """Wait until all is known here that any head had written when this was called.

        Raises:
            TimeoutError: It did not come.
        """
        await self.reader.wait_caught_up()

    async def array_owner(self, number: int) -> str | None:
        """Whose array has a number, of all that were there when the servers were connected to last; None where no array
        has it.

        Raises:
            TimeoutError: They were not told.
        """
        await self.reader.wait_settled()
        return self.projection.array_owner(number)

    async def _secrets(self) -> None:
        """Tenants, their keys, and what jobs of theirs had whose records are gone."""
        async with contextlib.aclosing(entries(self._link.keys)) as told:
            async for entry in told:
                if entry is not None:
                    self._heard_of_tenant(entry)

    def _heard_of_tenant(self, entry: KeyValue.Entry) -> None:
        if (tenant := self._pool_tenants.read_entry(entry)) is not None:
            self.tenants[tenant.id] = tenant
            self.changed.set()
        elif (key := self._pool_keys.read_entry(entry)) is not None:
            self.keys.add_key(key)
        elif entry.key.startswith(KEPT_USAGE) and entry.operation is None:
            name = entry.key.removeprefix(KEPT_USAGE)
            self.projection.set_kept(name, kept_usage_read(self._link, name, entry.value))

    @property
    def weights(self) -> dict[str, float]:
        """Of tenants, by name."""
        return {name: tenant.weight for name, tenant in self.tenants.items()}

    def _take(self, job: PoolJob) -> None:
        self.inputs.add_job(job)
        self.drops.learn(job, news=self.whole.is_set())
        self.projection.put_times(self.estimates.learn(job, self._kinds))
        for part in job.parts[-1:]:
            self.there.record_sent(part.board, job)
        if self.whole.is_set():
            self.seen.add_record(self.jobs.get(job.id), job)
            if job.is_ended:
                self.collectable.append(job)
        self.jobs.add_record(job)
        self.changed.set()


def _news(board: PoolBoard) -> tuple[object, ...]:
    """What of a board's lease a decision may wait for."""
    return board.running, board.modules, board.computes
