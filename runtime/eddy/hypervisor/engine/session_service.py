# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the server asks of sessions: to open, feed and close them, to build programs for them, to wait for results."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio
import anyio.to_thread

from eddy.core.errors import InvalidRequest, NotFound, QuotaExceeded
from eddy.core.sessions import CommandResult, SessionFigures, SessionOptions, SessionRecord, SessionState
from eddy.core.units import format_bytes
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.engine_worker import EngineWorker
from eddy.hypervisor.engine.session_keeper import SessionKeeper, session_spec
from eddy.hypervisor.intake.compilations import Compilations
from eddy.hypervisor.intake.kernels import KernelPlanner
from eddy.hypervisor.jobs.job_spec import arena_bytes
from eddy.hypervisor.sessions.commands import Command, LaunchCommand, StartCommand
from eddy.hypervisor.sessions.launches import BuiltProgram, LaunchTarget
from eddy.hypervisor.sessions.session import MAX_PROGRAMS, Counts, Session

CLOSE_S = 5.0
"""Wall seconds for which a request that closes a session waits for its end."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a client sends to a session.

    Attributes:
        life: Of the answer the client had last; "" for none.
        known: Serial number of the last result it has.
        until: Command whose end is waited for; 0 for the next result, whichever.
        wait_s: Wall seconds the answer may take.
    """

    commands: tuple[Command, ...] = ()
    life: str = ""
    known: int = 0
    until: int = 0
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What a session says.

    Attributes:
        life: Of the server; where it is another than before, what was not answered is to be sent again.
        state: Where the session is in its life.
        cause: Why it ended; "" while it is open.
        accepted: Number of the last command that was taken.
        results: With their serial numbers, those the client does not have.
        running: Launches that wait for cores or have some.
    """

    life: str
    state: SessionState
    cause: str
    accepted: int
    results: tuple[tuple[int, CommandResult], ...]
    running: tuple[int, ...] = ()


class SessionService:
    """Sessions, for the event loop.

    Args:
        compilations: Gives tenants' compilations their turns.
    """

    def __init__(
        self, engine: Engine, worker: EngineWorker, planner: KernelPlanner, compilations: Compilations
    ) -> None:
        self._engine, self._worker, self._planner, self._compilations = engine, worker, planner, compilations

    @property
    def _keeper(self) -> SessionKeeper:
        return self._engine.sessions

    async def open(self, tenant: str, options: SessionOptions) -> SessionRecord:
        """Open a session; durable when this returns.

        Raises:
            InvalidRequest: This board gives kernels whole clusters or has none, or never has so much memory.
            QuotaExceeded: The tenant has as many sessions as it may, or its budget of the day is used up.
        """
        await self._worker.ready.wait()
        await self._check_budget(tenant)
        self._planner.require_cluster()
        if self._engine.price is None:
            message = "This server gives each kernel a whole cluster (`--price whole`): sessions share cores."
            raise InvalidRequest(message, field="session", allowed="another --price")
        need = arena_bytes(session_spec(SessionRecord(0, "", tenant, options), 0.0).application, 1)
        most = self._engine.tenant_memory.most
        if need > most:
            message = (
                f"A session takes {format_bytes(need)} of board memory so; one tenant holds at most {most} together."
            )
            raise InvalidRequest(message, field="memory_bytes", asked=need, allowed=most)
        return await self._worker.request(self._keeper.open, tenant, options)

    async def close(self, session: Session, cause: str) -> None:
        """Have a session end; it has ended when this returns, unless what runs of it takes longer than `CLOSE_S`."""
        await self._worker.request(self._keeper.close, session, cause)
        await self._until(session, lambda: self._keeper.has_ended(session.record.id), CLOSE_S)

    def get(self, name: str, tenant: str | None) -> Session:
        """An open session; see `SessionKeeper.get`."""
        return self._keeper.get(name, tenant)

    def figures(self, name: str) -> SessionFigures | None:
        """What an open session holds; None for one that is not open."""
        session = next((each for each in self._keeper.sessions if each.record.id == name), None)
        return None if session is None else session.figures()

    @property
    def offers(self) -> Mapping[str, LaunchTarget]:
        """Kinds of clusters that launches may run on."""
        return self._keeper.clusters().offers

    def overview(self) -> tuple[Counts, tuple[tuple[SessionRecord, SessionFigures], ...]]:
        """What sessions have done since the start, and those that are open."""
        keeper = self._keeper
        return keeper.totals, tuple((each.record, each.figures()) for each in keeper.sessions)

    async def build(self, session: Session, request: KernelRequest) -> BuiltProgram:
        """The program of a source, for launches of a session; the same source gives the same program.

        Raises:
            CompilationFailed: The source was refused; the message is the compiler's.
            QuotaExceeded: The session has as many programs as it may, or compiling took too much.
        """
        asked = {"source": request.source, **request.build_arguments()}
        name = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]
        if name not in session.programs:
            if len(session.programs) >= MAX_PROGRAMS:
                message = f"a session has {MAX_PROGRAMS} programs at most; put kernels into one source"
                raise QuotaExceeded(message, limit=MAX_PROGRAMS, asked=MAX_PROGRAMS + 1)
            tenant = session.record.tenant
            made = await self._compilations.run(tenant, self._planner.build_for_all, tenant, request)
            session.programs[name] = BuiltProgram(name, made)
        return session.programs[name]

    async def send(self, name: str, tenant: str | None, batch: Batch) -> BatchAnswer:
        """Feed a session, and answer what has come of it. Of a batch that was meant for another life of the server
        nothing is taken: its launches need programs that have to be built again first.

        Raises:
            NotFound: There is no such session, or it has ended.
            InvalidRequest: The batch's numbers do not go on.
            QuotaExceeded: Too much waits already; or a launch is in it, and the tenant's budget of the day is used up.
        """
        await self._worker.ready.wait()
        session = self.get(name, tenant)
        session.heard_s = time.monotonic()
        if any(isinstance(each.body, (LaunchCommand, StartCommand)) for each in batch.commands):
            await self._check_budget(session.record.tenant)
        known = batch.known if batch.life == self._keeper.life else 0
        goes_on = batch.life in ("", self._keeper.life)
        if (batch.commands and goes_on) or known:
            self._keeper.submit(session, batch.commands, known)
            self._worker.wake()
        if batch.wait_s > 0 and goes_on:
            session.waiting += 1
            try:
                await self._wait(session, batch, known)
            finally:
                session.waiting -= 1
                session.heard_s = time.monotonic()
        session = self._open(session)
        results = tuple(each for each in tuple(session.stream.results) if each[0] > known)
        running = tuple(session.running)
        return BatchAnswer(self._keeper.life, session.state, session.cause, session.taken, results, running)

    async def _check_budget(self, tenant: str) -> None:
        """See that a tenant has something of its budget of the day left, as for a kernel job.

        Raises:
            QuotaExceeded: It has not.
        """
        store = self._engine.store
        quota = store.tenants.quota(tenant)
        if quota.max_slot_s is not None or quota.max_core_s is not None:
            await anyio.to_thread.run_sync(store.submissions.checks.check_budget, tenant, 0.0)

    def _open(self, session: Session) -> Session:
        """The session as it is now: after a recovery it is another object."""
        try:
            return self.get(session.record.id, None)
        except NotFound:
            return session

    async def _wait(self, session: Session, batch: Batch, known: int) -> None:
        """Until what is waited for has come, or the session has ended, or the time is over."""
        life, keeper, stream = self._keeper.life, self._keeper, session.stream

        def is_over() -> bool:
            ended = session.state.is_final or keeper.life != life
            done = stream.is_ended(batch.until) if batch.until else stream.ended > known
            return ended or done

        await self._until(session, is_over, batch.wait_s)

    async def _until(self, session: Session, is_over: Callable[[], bool], wait_s: float) -> None:
        """Wait for something that comes with a session's results or its end."""
        keeper, loop, came = self._keeper, asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            if is_over():
                loop.call_soon_threadsafe(came.set)

        keeper.follow(session.record.id, wake)
        try:
            if not is_over():
                with anyio.move_on_after(wait_s):
                    await came.wait()
        finally:
            keeper.leave(session.record.id, wake)
