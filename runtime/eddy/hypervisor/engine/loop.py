# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the server asks of the hypervisor, without waiting for the board: one worker thread turns the engine."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import anyio
import anyio.to_thread

from eddy.board.port.port import BoardPort
from eddy.core.applications import Application
from eddy.core.errors import StorageFailed
from eddy.core.leases import LeaseRules
from eddy.core.profiles import ClusterBounds
from eddy.core.records import JobRecord, JobRequest, SlotStatus
from eddy.core.slots import Pool
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.engine_worker import EngineWorker
from eddy.hypervisor.engine.job_event_reader import JobEventReader
from eddy.hypervisor.engine.job_subscriptions import JobSubscriptions
from eddy.hypervisor.engine.lease_service import LeaseService
from eddy.hypervisor.engine.operator_commands import OperatorCommands
from eddy.hypervisor.engine.session_service import SessionService
from eddy.hypervisor.engine.status import add_drain_reasons, unreachable_slot_statuses
from eddy.hypervisor.engine.time_accounts import ACCOUNT_S
from eddy.hypervisor.forecast.forecast_service import ForecastService
from eddy.hypervisor.forecast.job_standing import JobAlone, JobStanding
from eddy.hypervisor.forecast.outlook import QueueOutlook
from eddy.hypervisor.forecast.trial import JobTrial
from eddy.hypervisor.intake.compilations import Compilations
from eddy.hypervisor.intake.intake import MAX_PART, SubmissionQueue
from eddy.hypervisor.intake.kernels import KernelPlanner
from eddy.hypervisor.jobs.job_spec import JobSpec
from eddy.hypervisor.jobs.work import JobKind, Work
from eddy.packages.checks import Standing, never
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy.store import Store
from eddy.store.job_tables.submissions import LAST_ID, Submission, draft


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
        allow_unchecked: Whether jobs are given modules whose build has no check on record; their records say so then.
        memory_part: Most of the board's memory that the jobs of a tenant hold together, where there are several.
        pooled: Whether the board's jobs are a pool's as well, whose tenants are unknown here: there may be several.
        standing: Reads the record of a module's check again; nothing is read by default.
        lease_rules: What holds for leases.

    Attributes:
        price: As given.
        followers: Told when something happened to a job.
        following: What becomes of jobs, as it happens.
        operator: What operators change while jobs run.
        sessions: Memory that tenants hold on the board, and their launches on it.
        leases: Slots that persons hold, and what they do with them.
    """

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
        allow_unchecked: bool = False,
        memory_part: float = MAX_PART,
        pooled: bool = False,
        standing: Standing = never,
        lease_rules: LeaseRules = LeaseRules(),  # noqa: B008 - frozen
    ) -> None:
        self.price = price
        self._disk = ThreadPoolExecutor(1, "eddy-disk")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._account_again_s = 0.0
        """When use is written down again for somebody who asks for it."""
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
            allow_unchecked=allow_unchecked,
            memory_part=memory_part,
            pooled=pooled,
            standing=standing,
            lease_rules=lease_rules,
        )
        self._store = store
        self.followers = JobSubscriptions()
        self.following = JobEventReader(self.followers, store)
        self._worker = EngineWorker(self._engine, store, self.followers, lambda: self._submissions.busy)
        self.operator = OperatorCommands(self._engine, self._worker)
        self.forecasts = ForecastService(self._engine, self._worker.on_board)
        self._compilations = Compilations(self._engine.intake)
        self.sessions = SessionService(self._engine, self._worker, self._engine.planner, self._compilations)
        self.leases = LeaseService(self._engine, self._worker)
        self._submissions: SubmissionQueue[tuple[JobRequest, Work | None], JobRecord] = SubmissionQueue(
            self._engine.intake.accept_all, self._worker.wake
        )

    def refusal(self, application: Application) -> str:
        """Why no job of an application is accepted on this board; "" where jobs are, and before the board was asked."""
        return self._engine.admission.runnable(application) if self.ready else ""

    async def run(self) -> None:
        """Run until cancelled: recover what the store and the board hold, then serve requests.

        Raises:
            Exception: The last of several unforeseen errors in a row; see `EngineWorker`.
        """
        self._loop = asyncio.get_running_loop()
        try:
            await self._worker.run()
        finally:
            with contextlib.suppress(StorageFailed):
                self._engine.accounts.keep_epochs()
                self._engine.estimates.save_learned(now=True)
            self._disk.shutdown()

    async def submit(self, request: JobRequest) -> JobRecord:
        """Accept a job; it is durable when this returns.

        Where this is cancelled while a kernel waits or is compiled, the compiler ends and its place is free.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field` and `allowed`.
            CompilationFailed: A kernel's source was refused; the message is the compiler's.
            Conflict: The idempotency key was used for another request.
            QuotaExceeded: The tenant has too many jobs that have not ended, or compiling took too much.
        """
        await self._worker.ready.wait()
        if self._engine.intake.kind_of(request).prepares_quickly:
            return await self._submissions.put((request, None))
        known = await anyio.to_thread.run_sync(self._store.submissions.keys.find_job, request)
        if known is not None:
            return known
        return await self._submissions.put((request, await self._compilations.prepare(request)))

    async def submit_array(self, requests: Sequence[JobRequest]) -> tuple[JobRecord, ...]:
        """Accept an array of jobs, all or none; it is durable when this returns.

        Args:
            requests: Its jobs, of one tenant and one kind, under one idempotency key.

        Raises:
            EddyError: As `submit` raises it; of a job that is wrong, with its place in the array.
        """
        await self._worker.ready.wait()
        intake = self._engine.intake
        works: list[Work | None] = [None] * len(requests)
        if not intake.kind_of(requests[0]).prepares_quickly:
            known = await anyio.to_thread.run_sync(self._store.arrays.find_array, list(map(Submission, requests)))
            if known is not None:
                return known
            works = [*await self._compilations.prepare_array(requests)]
        return await self._worker.request(intake.accept_array, requests, works)

    async def cancel_array(self, tenant: str, first: int) -> None:
        """Ask for the end of all jobs of an array that have not ended.

        Raises:
            NotFound: No such array of this tenant.
            Conflict: All have ended already, and none as cancelled.
        """
        await self._worker.request(self._engine.intake.cancel_array, tenant, first)

    def _awaken_from_afar(self) -> None:
        """There is something to do, says another thread; nothing where the loop has ended."""
        with contextlib.suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._worker.wake)

    async def estimates(self, need: int | None = None, fresh: bool = False) -> QueueOutlook:
        """What is expected of all jobs: now, or, where not `fresh`, a short time ago.

        Args:
            need: A job that should be in it, though it came just now.
            fresh: Whether it must be as of now.
        """
        await self._worker.ready.wait()
        return await self.forecasts.outlook(need, fresh)

    async def estimates_at_hand(self, need: int | None, patience_s: float) -> QueueOutlook | None:
        """The same, for who waits for it no longer than so many wall seconds: then what was said last, or None."""
        return await self.forecasts.recent_estimates(need, patience_s) if self.ready else None

    async def job_standing(self, job: int) -> JobStanding:
        """How a job that has not ended stands: what it waits for, and what would help it."""
        await self._worker.ready.wait()
        return await self.forecasts.job_standing(job, self.preparation_text(job))

    async def solo_times(self, record: JobRecord, application: Application) -> JobAlone:
        """What a job of an application would take that has the board for itself."""
        await self._worker.ready.wait()
        return await self.forecasts.solo_times(JobSpec.of(replace(record, id=LAST_ID), application))

    async def try_out(self, request: JobRequest) -> JobTrial:
        """What would become of a request: every check of `submit`, and nothing is kept.

        Raises:
            InvalidRequest, CompilationFailed, Conflict, QuotaExceeded: As `submit` does.
        """
        await self._worker.ready.wait()
        intake = self._engine.intake
        await anyio.to_thread.run_sync(self._store.submissions.check_admission, request)
        if intake.kind_of(request).prepares_quickly:
            work = await anyio.to_thread.run_sync(intake.prepare, request)
        else:
            work = await self._compilations.prepare(request)
        record = draft(work.submission(), self._engine.now_s)
        return await self.forecasts.try_job(work.spec(record))

    async def cancel(self, tenant: str, job: int) -> JobRecord:
        """Ask for a job's end; answers at once, the job reaches `cancelled` when its slots are given back.

        Raises:
            NotFound: No such job of this tenant.
            Conflict: It has ended already in another state.
        """
        return await self._worker.request(self._engine.intake.cancel, tenant, job)

    async def account(self) -> None:
        """Have the use of slots and cores written down up to now; where the board is away, up to when it went, and
        where it was asked for less than `ACCOUNT_S` ago, up to then: who asks often takes no time of the engine's."""
        await self._worker.ready.wait()
        if self.unreachable_reason or time.monotonic() < self._account_again_s:
            return
        self._account_again_s = time.monotonic() + ACCOUNT_S
        await self._worker.on_board(self._engine.account)

    @property
    def ready(self) -> bool:
        """Whether it has recovered from store and board, and serves requests."""
        return self._worker.ready.is_set()

    async def wait_ready(self) -> None:
        """Return when it serves requests."""
        await self._worker.ready.wait()

    def add_current_wait(self, record: JobRecord) -> JobRecord:
        """A record with the wait that is under way: what is kept has those that ended."""
        if not self._worker.ready.is_set():
            return record
        job = self._engine.machine.jobs.get(record.id)
        wait = None if job is None else job.times.current_wait(self.now_s())
        if wait is None:
            return record
        cause, more_s = wait
        return replace(record, waiting_s={**record.waiting_s, cause: record.waiting_s.get(cause, 0.0) + more_s})

    def preparation_text(self, job: int) -> str:
        """What a job waits for that is being made for it, for people; "" for any other."""
        return self._engine.preparing.doing.get(job, "")

    @property
    def unreachable_reason(self) -> str:
        """Why the board does not answer at this moment; "" where it does, or has not been asked yet."""
        return self._worker.watch.away

    def slots(self) -> tuple[SlotStatus, ...]:
        """What every slot does now; while the board is away nobody knows, and the phase says so."""
        known = self._engine.status
        statuses = unreachable_slot_statuses(known, self.now_s()) if self.unreachable_reason else known
        return add_drain_reasons(statuses, self._engine.intake.drained)

    def cluster_bounds(self, module: str) -> ClusterBounds:
        """What a kind of cluster can do at most; once it is ready.

        Raises:
            NotFound: The board has no such cluster.
        """
        return self._engine.planner.bounds(module, self._engine.description.memory_bytes_per_s)

    @property
    def usable_slots(self) -> frozenset[int]:
        """Slots that jobs are given; once it is ready."""
        return frozenset(self._engine.slots)

    @property
    def computes_results(self) -> bool:
        """Whether the board computes what jobs ask for, as far as is known; else outputs are zeros."""
        return self._engine.computes_results

    @property
    def policy(self) -> str:
        """Name of the dispatch policy of the pipeline slots."""
        return self._engine.intake.policies[Pool.PIPELINE].name

    @property
    def price_policy(self) -> str:
        """Name of the policy that shares the cores of clusters, or is about to; "" where kernels take whole slots."""
        asked = self._engine.intake.price
        return asked.name if asked is not None else ""

    def now_s(self) -> float:
        """Board time as last seen."""
        return self._engine.now_s
