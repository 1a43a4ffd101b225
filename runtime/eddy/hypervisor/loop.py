"""The asynchronous shell of the hypervisor: one worker thread turns the engine, everyone else gets answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

import anyio
import anyio.to_thread

from eddy.board.port import BoardPort
from eddy.core.applications import Application
from eddy.core.errors import BoardUnreachable, StorageFailed
from eddy.core.records import JobEvent, JobRecord, JobRequest, SlotStatus
from eddy.core.slots import Pool
from eddy.hypervisor.engine import BoardRestarted, Engine
from eddy.hypervisor.followers import Followers
from eddy.hypervisor.kernels import KernelPlanner
from eddy.hypervisor.market_loop import PriceLoop
from eddy.hypervisor.preparing import LOOK_S
from eddy.hypervisor.submission_queue import SubmissionQueue
from eddy.hypervisor.waiting import run_abandonable
from eddy.hypervisor.watch import PROBE_S, BoardWatch
from eddy.hypervisor.work import JobKind, Work
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch.view import DispatchPolicy
from eddy.store import Store

FEED = 500
"""Events of a feed that are read at once."""
COMPILATIONS = 2
"""Kernels that are compiled at the same time; more submissions wait for their turn, the others do not."""

T = TypeVar("T")
_log = logging.getLogger(__name__)

FIRST_QUANTUM_S = 1e-3
"""Board seconds of the first wait; then it is fitted to the board."""
SHORT_WALL_S, LONG_WALL_S = 0.01, 0.05
"""A wait without events should take between these wall seconds: long enough to cost nothing, short enough that a
request does not wait for it."""
TURN_S = 0.05
"""Wall seconds after which the event loop has its say: whether to end, and who is to be told."""
LEAST_QUANTUM_S, MOST_QUANTUM_S = 1e-6, 1e6
RETRY_S = 0.5
"""Wall seconds between attempts to reach a board that is away, and before going on after an unforeseen error."""
GIVE_UP = 5
"""Unforeseen errors, with no turn between them that went well, after which the loop ends with the last one."""


class Hypervisor:
    """Runs jobs on one board.

    Args:
        board: The board; every call to it is made from one worker thread at a time.
        policy: Who gets which slot.
        store: Jobs, events, blobs and results.
        applications: By name; may be added to while it runs.
        modules: Manifests by module name.
        constants: Bytes the packages ship for constant buffers, by (application, buffer).
        kernels: Compiles kernel jobs; made over `modules` where it is left out.
        gpu_policy: Which kernel job gets which slot of the `gpu` pool; first come, first served by default.
        price: Shares the cores of GPU clusters between tenants; None where kernels take whole slots.
        kinds: Further kinds of jobs, beside applications and kernels.
    """

    price: PriceLoop | None = None
    _watch = BoardWatch()
    _doing: Mapping[int, str] = MappingProxyType({})

    def __init__(
        self,
        board: BoardPort,
        policy: DispatchPolicy,
        store: Store,
        applications: Mapping[str, Application],
        modules: Mapping[str, ModuleManifest],
        constants: Mapping[tuple[str, str], bytes] | None = None,
        kernels: KernelPlanner | None = None,
        gpu_policy: DispatchPolicy | None = None,
        price: PriceLoop | None = None,
        kinds: Sequence[JobKind] = (),
    ) -> None:
        self.price = price
        self._disk = ThreadPoolExecutor(1, "eddy-disk")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._engine = Engine(
            board,
            policy,
            store,
            applications,
            modules,
            constants,
            kernels,
            gpu_policy,
            kinds,
            price=price,
            spawn=self._disk.submit,
            awaken=self._awaken_from_afar,
        )
        self._store = store
        self._limiter = anyio.CapacityLimiter(1)
        self._compiling = anyio.CapacityLimiter(COMPILATIONS)
        self._compiling_for: dict[str, anyio.CapacityLimiter] = {}
        """By tenant: each has one kernel compiled at a time, so that none keeps the others waiting."""
        self._submissions: SubmissionQueue[tuple[JobRequest, Work | None], JobRecord] = SubmissionQueue(
            self._engine.accept_all, self._awaken
        )
        self._wake = anyio.Event()
        self._followers = Followers()
        self._ready = anyio.Event()
        self._quantum_s = FIRST_QUANTUM_S
        self._watch = BoardWatch()
        self._doing = self._engine.preparing.doing

    async def run(self) -> None:
        """Run until cancelled: recover what the store and the board hold, then serve requests.

        A board that is away is tried again until it is back, and so is a store that cannot be written, on a full disk
        say; then everything is recovered. An error nobody foresaw is logged, and everything is recovered
        too: what had been committed goes on. While there is nothing to do the board's time stands still; it is asked
        for it now and then, to see whether it answers.

        Raises:
            Exception: The last of `GIVE_UP` unforeseen errors in a row.
        """
        self._loop = asyncio.get_running_loop()
        try:
            await self._run()
        finally:
            self._disk.shutdown()

    async def _run(self) -> None:
        started, failures = False, 0
        while True:
            try:
                if not started:
                    await self._start()
                    started = True
                await self._work()
                await self._turn()
                failures = 0
            except BoardUnreachable as failure:
                started = False
                self._watch.lost(failure.message)
            except BoardRestarted:
                started = False
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
            _log.warning("stalled: the policy gives %d jobs no slot, %s first", len(stalled), stalled[:10])
        while self._engine.idle:
            woken = False
            with anyio.move_on_after(LOOK_S if self._engine.preparing.waiting else PROBE_S):
                await self._wake.wait()
                self._wake, woken = anyio.Event(), True
            if not woken:
                await self._on_board(self._engine.probe)
                await anyio.to_thread.run_sync(self._store.probe)

    async def _start(self) -> None:
        """Recover from store and board, as soon as the board answers."""
        while True:
            try:
                await self._on_board(self._engine.start)
                break
            except BoardUnreachable as failure:
                self._watch.lost(failure.message)
                await anyio.sleep(RETRY_S)
        self._watch.found()
        self._ready.set()
        self._tell(started=False)

    async def _turn(self) -> None:
        """Steps, one after the other."""
        await self._on_board(self._steps)

    def _steps(self) -> None:
        """Step until there is nothing to do, somebody is to be told, or `TURN_S` are over.

        To give the turn back after every step would cost more than most steps do: with many requests under way the
        event loop comes round to it late.
        """
        until_s = time.monotonic() + TURN_S
        while True:
            self._step()
            if self._engine.idle or time.monotonic() >= until_s or self._followers.any_of(self._engine.told):
                return

    def _step(self) -> None:
        """One step; the next quantum is fitted to what this one took."""
        began_s = time.monotonic()
        happened = self._engine.step(self._quantum_s)
        took_s = time.monotonic() - began_s
        if took_s > LONG_WALL_S:
            self._quantum_s = max(self._quantum_s / 2, LEAST_QUANTUM_S)
        elif took_s < SHORT_WALL_S and not happened:
            self._quantum_s = min(self._quantum_s * 2, MOST_QUANTUM_S)

    async def _on_board(self, call: Callable[..., T], *arguments: object) -> T:
        """Make a call in the board's thread; a cancellation waits for it to end."""
        return await anyio.to_thread.run_sync(call, *arguments, limiter=self._limiter)

    def _tell(self, started: bool) -> None:
        """Wake those who follow a job to which something happened; all, where it is not known to which."""
        told = self._engine.take_told()
        if started:
            self._followers.tell(told)
        else:
            self._followers.tell_all()

    async def submit(self, request: JobRequest) -> JobRecord:
        """Accept a job; it is durable when this returns.

        Where this is cancelled while a kernel waits or is compiled, the compiler ends and its place is free.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field` and `allowed`.
            CompilationFailed: A kernel's source was refused; the message is the compiler's.
            Conflict: The idempotency key was used for another request.
            QuotaExceeded: The tenant has too many jobs that have not ended, or compiling took too much.
        """
        await self._ready.wait()
        if self._engine.kind_of(request).quick:
            return await self._submissions.put((request, None))
        known = await anyio.to_thread.run_sync(self._store.known, request)
        if known is not None:
            return known
        async with self._compiling_for.setdefault(request.tenant, anyio.CapacityLimiter(1)):
            work = await run_abandonable(self._engine.prepare, request, limiter=self._compiling)
        return await self._submissions.put((request, work))

    def _awaken(self) -> None:
        """There is something to do."""
        self._wake.set()

    def _awaken_from_afar(self) -> None:
        """The same, from another thread; nothing where the loop has ended."""
        with contextlib.suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._awaken)

    async def cancel(self, tenant: str, job: int) -> JobRecord:
        """Ask for a job's end; answers at once, the job reaches `cancelled` when its slots are given back.

        Raises:
            NotFound: No such job of this tenant.
            Conflict: It has ended already in another state.
        """
        await self._ready.wait()
        record = await anyio.to_thread.run_sync(self._engine.cancel, tenant, job)
        self._wake.set()
        return record

    async def drain(self, slot: int, because: str) -> None:
        """Give a slot to nobody any more, which survives a restart: what runs there ends, its job goes on elsewhere.

        Args:
            slot: Which.
            because: Shown to operators; "" gives it to jobs again.

        Raises:
            NotFound: There is no such slot that jobs are given.
        """
        await self._ready.wait()
        await anyio.to_thread.run_sync(self._engine.drain, slot, because)
        self._wake.set()

    async def switch(self, policy: DispatchPolicy, pool: Pool = Pool.PIPELINE) -> None:
        """Have another policy decide about a pool's slots; what runs goes on."""
        await self._ready.wait()
        await anyio.to_thread.run_sync(self._engine.switch, pool, policy)
        self._wake.set()

    async def account(self) -> None:
        """Have the use of slots and cores written down up to now; where the board is away, up to when it went."""
        await self._ready.wait()
        if not self.away:
            await self._on_board(self._engine.account)

    @property
    def ready(self) -> bool:
        """Whether it has recovered from store and board, and serves requests."""
        return self._ready.is_set()

    async def wait_ready(self) -> None:
        """Return when it serves requests."""
        await self._ready.wait()

    def doing(self, job: int) -> str:
        """What a job waits for that is being made for it, for people; "" for any other."""
        return self._doing.get(job, "")

    @property
    def away(self) -> str:
        """Why the board does not answer at this moment; "" where it does, or has not been asked yet."""
        return self._watch.away

    def slots(self) -> tuple[SlotStatus, ...]:
        """What every slot does now; while the board is away nobody knows, and the phase says so."""
        drained = self._engine.drained
        if not self.away:
            return tuple(replace(each, drained=drained.get(each.slot, "")) for each in self._engine.status)
        return tuple(
            SlotStatus(
                *(status.slot, status.pool, status.region),
                phase="unknown",
                since_s=self.now_s(),
                drained=drained.get(status.slot, ""),
                charged=status.charged,
            )
            for status in self._engine.status
        )

    @property
    def computes(self) -> bool:
        """Whether the board computes what jobs ask for, as far as is known; else outputs are zeros."""
        return self._engine.computes

    @property
    def policy(self) -> str:
        """Name of the dispatch policy of the pipeline slots."""
        return self._engine.policies[Pool.PIPELINE].name

    def now_s(self) -> float:
        """Board time as last seen."""
        return self._engine.now_s

    async def follow_all(self, tenant: str | None, after: int, on: bool = True) -> AsyncGenerator[JobEvent, None]:
        """Events of all jobs of a tenant, or of everyone (None), with a sequence number above `after`.

        Args:
            tenant: Whose; None for everyone's (operators).
            after: A sequence number.
            on: Whether to go on as they happen; else it ends with the newest there is.
        """
        while True:
            changed = self._followers.next()
            events = await anyio.to_thread.run_sync(self._store.events, tenant, None, after, FEED)
            for event in events:
                after = event.seq
                yield event
            if not events:
                if not on:
                    return
                await changed.wait()

    async def follow(self, tenant: str, job: int, after: int = 0) -> AsyncGenerator[JobEvent, None]:
        """The events of a job with a sequence number above `after`, as they happen, until it has ended.

        Raises:
            NotFound: No such job of this tenant.
        """
        while True:
            changed = self._followers.next_of(job)
            final = (await anyio.to_thread.run_sync(self._store.job, tenant, job)).state.is_final
            events = await anyio.to_thread.run_sync(self._store.events, tenant, job, after)
            for event in events:
                after = event.seq
                yield event
            if final and not events:
                return
            if not final:
                await changed.wait()
