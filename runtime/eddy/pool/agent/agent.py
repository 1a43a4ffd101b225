# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pool's part beside `eddy serve`: joins its board to the pool, renews its lease, takes work, runs it.

The board is used as a tenant would use it, through its own HTTP API in this process, so admission, quotas, shares and
durability hold for the pool's jobs as for others. While the pool is away the board goes on with what it has; what it
finished is committed once the pool is back, unless it was placed elsewhere meanwhile.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import structlog
from nats.errors import TimeoutError as NatsTimeout

from eddy.core.errors import EddyError, StorageFull
from eddy.host.distribution import version
from eddy.hypervisor.intake.intake import TenantMemory
from eddy.pool.agent.head_client import HeadClient
from eddy.pool.agent.local_board import LocalBoard
from eddy.pool.agent.runner import JobRun
from eddy.pool.connection.connection import connected, steadily
from eddy.pool.connection.credentials import PoolAccess, PoolUnreachable
from eddy.pool.connection.refusals import AWAY, SAID_NO, UNDONE
from eddy.pool.connection.streams import RENEW_S
from eddy.pool.connection.tasks import ended
from eddy.pool.records.record_json import NO_SENSE, parse_json
from eddy.pool.records.records import AHEAD, GUESTS, RUNNING, JobFenced, PoolBoard, PoolJob

if TYPE_CHECKING:
    from eddy.api.service.server import Beside, Server

_log = structlog.get_logger("eddy.pool")


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What `eddy serve --pool` is told.

    Attributes:
        pool: URL, or the file it is in.
        name: Of the board, unique in the pool.
        width: Jobs of the pool it runs at once; 0 for as many as it has slots.
        creds: A credentials file of NATS, where neither URL nor file says who connects.
    """

    pool: str
    name: str
    width: int = 0
    creds: str = ""

    def access(self) -> PoolAccess:
        """Where the pool is, and as whom the board connects.

        Raises:
            PoolUnreachable: That cannot be read.
        """
        return PoolAccess.named(self.pool, self.creds)


class Agent:
    """One board's agent.

    Args:
        settings: Which pool, and the board's name in it.
    """

    def __init__(self, settings: AgentSettings, board: LocalBoard) -> None:
        self._settings, self._board = settings, board
        self._session = secrets.token_hex(8)
        self._runs: dict[int, JobRun] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._replaced: set[asyncio.Future[list[Any]]] = set()
        """Ends of runs whose job was placed here again: a cancellation alone may be lost (`ended`)."""
        self._failing: dict[str, str] = {}

    async def run(self) -> None:
        """Be in the pool until cancelled; a pool that does not answer is tried again."""
        while True:
            try:
                name, access = self._settings.name, self._settings.access
                async with (
                    connected(access(), f"board {name}", board=name, access_now=access) as nats,
                    aclosing(HeadClient(nats, name)) as pool,
                ):
                    await self._in_pool(pool)
            except PoolUnreachable as away:
                _log.warning("the pool does not answer; the board works on alone", reason=away.message)
            except AWAY as failure:
                _log.warning("the pool went away while joining", error=repr(failure))
            except Exception:
                # A board that leaves its pool for ever would not be missed before somebody looks.
                _log.exception("the board's part in the pool failed, and begins again")
            await asyncio.sleep(RENEW_S)

    async def _in_pool(self, pool: HeadClient) -> None:
        board = await pool.join(await self._described())
        self._board.width = board.width
        self._turn, self._guest_turn = asyncio.Semaphore(board.width), asyncio.Semaphore(GUESTS)
        self._now = board
        _log.info("joined the pool", board=board.name, width=board.width)
        loops = [asyncio.ensure_future(each(pool)) for each in (self._renew, self._take, self._resume)]
        try:
            await asyncio.gather(*loops)
        finally:
            await ended((*loops, *self._tasks.values()))
            await asyncio.gather(*self._replaced, return_exceptions=True)
            with suppress(*UNDONE):
                await asyncio.wait_for(pool.leave(), 2.0)

    async def _described(self) -> PoolBoard:
        facts = await self._board.facts()
        return PoolBoard(
            name=self._settings.name,
            kind=facts.kind,
            width=self._settings.width or facts.slots,
            slots=facts.slots,
            applications=facts.applications,
            kernels=facts.kernels,
            session=self._session,
            memory_bytes=self._board.memory_bytes,
            guests=GUESTS,
            computes=facts.computes,
            release=version(),
        )

    async def _renew(self, pool: HeadClient) -> None:
        """Renew the lease; with what the board's own server said last, where it refuses to say how it is now."""
        while True:
            with self._though_it_fails("slots"):
                slots = await self._board.slots()
                if slots.slots:
                    self._now = replace(self._now, **asdict(slots))
            with self._though_it_fails("jobs"):
                self._now = replace(self._now, load=await self._board.load())
            with self._though_it_fails("shares"):
                self._now = replace(self._now, market=await self._board.market())
            self._now = replace(self._now, running=tuple(sorted(self._tasks)), link_bps=self._board.link_bps)
            try:
                with suppress(*AWAY):
                    await pool.renew(self._now)
                    self._failing.pop("lease", None)
            except (*SAID_NO, StorageFull) as said:
                self._say("the pool's servers refuse this board's lease", "lease", str(said))
            if self._now.market.get("tenants"):
                with self._though_it_fails("weights"), suppress(*AWAY):
                    await self._board.set_weights(await pool.weights())
            await asyncio.sleep(RENEW_S)

    @contextmanager
    def _though_it_fails(self, what: str) -> Iterator[None]:
        """The lease is renewed whatever fails here; that is logged once, until it fails otherwise or no more."""
        try:
            yield
            self._failing.pop(what, None)
        except Exception as failure:
            self._say("the pool is not told how this board is", what, repr(failure))

    def _say(self, event: str, what: str, said: str) -> None:
        """Log a failure once, until it is another, or none."""
        if self._failing.get(what) != said:
            _log.error(event, what=what, error=said)
        self._failing[what] = said

    async def _resume(self, pool: HeadClient) -> None:
        """Go on with what this board had when its agent ended, with what it ran first."""
        jobs = [await self._job(pool, number) for number in await steadily(pool.placed_jobs)]
        for job in sorted((job for job in jobs if job is not None), key=lambda job: job.state != RUNNING):
            self._begin(pool, job)

    async def _job(self, pool: HeadClient, number: int, token: int | None = None) -> PoolJob | None:
        """A job that was placed here; None where it was placed elsewhere since, or a head cannot tell of it: it takes
        it back then."""
        try:
            return await steadily(lambda: pool.job(number, token))
        except JobFenced:
            return None
        except EddyError as refused:
            _log.error("a job cannot be taken up", job=number, error=refused.message)
            return None

    async def _take(self, pool: HeadClient) -> None:
        subscription, lost = None, False
        while True:
            try:
                if lost:  # for a moment, where servers choose another leader of it; for ever, with the pool or it
                    await pool.rejoin(self._now)
                    lost = False
                if subscription is None:
                    subscription = await pool.queue()
                if len(self._tasks) >= self._now.width + AHEAD + GUESTS:
                    await asyncio.sleep(0.02)
                    continue
                # One at a time: the client waits for all that it asks for, and a board with nothing to do would wait
                # for a second job before it begins the first.
                (message,) = await subscription.fetch(1, timeout=1.0)
                self._failing.pop("queue", None)
                try:
                    told = parse_json(message.data)
                    number, token = int(told["job"]), int(told["token"])
                except NO_SENSE as wrong:
                    _log.error("a message to this board cannot be read and is ignored", error=repr(wrong))
                    await message.term()
                    continue
                if (job := await self._job(pool, number, token)) is not None:
                    self._begin(pool, job)
                await message.ack()
            except NatsTimeout:
                if not lost:
                    self._failing.pop("queue", None)
            except (*AWAY, *SAID_NO) as failure:
                self._say("this board is told of no work now, and asks to be again", "queue", str(failure))
                subscription, lost = None, True
                await asyncio.sleep(0.25)

    def _begin(self, pool: HeadClient, job: PoolJob) -> None:
        run = self._runs.get(job.id)
        if run is not None and run.token >= job.token and run.job.submitted_unix_s == job.submitted_unix_s:
            return  # it was told again; one submitted at another time has the number in a pool that was restored
        old = self._tasks.pop(job.id, None)
        if old is not None:
            self._replaced.add(ending := asyncio.ensure_future(ended((old,))))
            ending.add_done_callback(self._replaced.discard)
        run = JobRun(pool, self._board, job, self._guest_turn if job.is_guest else self._turn)
        self._runs[job.id] = run
        self._tasks[job.id] = task = asyncio.ensure_future(self._run(run))
        task.add_done_callback(lambda done: self._forget(job.id, done))

    def _forget(self, job: int, task: asyncio.Task[None]) -> None:
        if self._tasks.get(job) is task:
            del self._tasks[job], self._runs[job]

    async def _run(self, run: JobRun) -> None:
        try:
            async with self._board.hold_inputs(run.job):
                await run.run()
        except JobFenced as gone:
            _log.info("dropped a job", job=run.job.id, reason=gone.message)
        except EddyError as error:
            _log.error("a job of the pool stopped", job=run.job.id, code=error.code, error=error.message)


def agent_beside(settings: AgentSettings) -> Beside:
    """What `eddy serve --pool` runs beside its server: the agent of its board, until the server ends."""

    async def run(server: Server) -> None:
        described = server.board.describe()

        def key() -> str:
            return server.key_file.read_text().strip()

        memory = TenantMemory(server.settings.tenant_memory, lambda: True, described.arena_bytes)
        board = LocalBoard(server.app, key(), f"{described.board}/{described.profile}", key, memory.most)
        await Agent(settings, board).run()

    return run
