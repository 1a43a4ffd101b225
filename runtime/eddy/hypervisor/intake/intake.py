# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What comes in from any thread: jobs, and requests about jobs, slots and policies.

Each is durable before it is acknowledged; then it waits in the inbox, which the engine's next step empties. Submissions
that wait at the same time are committed together: while one group is made durable, which takes a synchronisation of the
disk, the next one gathers. So a lone one waits for nobody, and many at once share the transaction and the disk.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import anyio
import anyio.to_thread

from eddy.board.port.pages import PAGE
from eddy.core.applications import Application
from eddy.core.errors import InvalidRequest, NotFound, QuotaExceeded
from eddy.core.records import JobRecord, JobRequest
from eddy.core.slots import Pool
from eddy.core.units import format_bytes, format_slots
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.job_spec import arena_bytes
from eddy.hypervisor.jobs.slot import DRAINED
from eddy.hypervisor.jobs.work import BoardWork, JobKind, Work
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy.policy.price.view import PricePolicy
from eddy.store import Store
from eddy.store.job_tables.submissions import Submission

MAX_PART = 0.75
"""Part of the board's memory that a tenant's jobs hold together, where nothing else is said."""


class EngineTime(Protocol):
    """What tells board time."""

    @property
    def now_s(self) -> float:
        """As last seen."""


class IntakeEngine(Protocol):
    """What is asked of the engine that takes in what came."""

    @property
    def events(self) -> EngineTime:
        """Whose time it is."""

    @property
    def slots(self) -> Collection[int]:
        """Slots that jobs are given."""


@dataclass(slots=True)
class TenantMemory:
    """The most that the jobs of one tenant hold of a board's memory together, where there are several tenants.

    The bound is a fixed part of the memory and not a part by weight: what a single job may need is the same on every
    day, however many tenants there are and whatever they do. The rest is the reserve: memory is never taken from a job
    that has begun, so without it one long job would keep all others out until it ends.

    Attributes:
        part: Of the board's memory, above 0, up to 1.
        several: Whether there are tenants that could keep each other out; else one has all.
        arena: Bytes of the board's memory; 0 before that is known.
    """

    part: float = MAX_PART
    several: Callable[[], bool] = lambda: False
    arena: int = 0

    @property
    def most(self) -> int:
        """Bytes that the jobs of a tenant hold together at most."""
        return int(self.arena * self.part) // PAGE * PAGE if self.several() else self.arena

    def check(self, application: Application, batch: int) -> None:
        """Check that a job could ever have its memory.

        Args:
            application: As its work has it.
            batch: Items of it.

        Raises:
            InvalidRequest: It needs more than its tenant may have.
        """
        need, most = arena_bytes(application, batch), self.most
        if need <= most:
            return
        fits = next((items for items in range(batch - 1, 0, -1) if arena_bytes(application, items) <= most), 0)
        kernel = application.name.startswith("kernel:")
        raise InvalidRequest(
            f"This job needs {format_bytes(need)} of board memory; "
            + (
                f"the jobs of one tenant hold at most {format_bytes(most)} of {format_bytes(self.arena)} together, so"
                " that others can run at the same time"
                if most < self.arena
                else f"the board has {format_bytes(most)}"
            )
            + (f": at most {fits} items fit." if fits else "."),
            field="kernel.arguments" if kernel else "batch",
            asked=need,
            allowed=most if kernel else f"1..{fits}" if fits else "none",
        )


@contextmanager
def name_array_job(place: int) -> Iterator[None]:
    """Say of which job of an array a field is wrong."""
    try:
        yield
    except InvalidRequest as error:
        error.message = f"Job {place} of the array: {error.message}"
        name = error.details.get("field", "")
        error.details = {**error.details, "field": f"each[{place}].{name}".rstrip(".")}
        raise


@contextmanager
def _asked_together(requests: Sequence[JobRequest]) -> Iterator[None]:
    """Say of an array that is too much how many jobs its tenant has, how many it may have, and how many were asked for:
    the bound is of single jobs, and counts those of the array as if they were there."""
    try:
        yield
    except QuotaExceeded as error:
        asked, limit = error.details.get("asked"), error.details.get("limit")
        if type(asked) is int and type(limit) is int and set(error.details) == {"asked", "limit"}:
            size, tenant = len(requests), requests[0].tenant
            error.message = (
                f"an array of {size} jobs: tenant {tenant} has {asked - size} jobs that have not ended, and may have"
                f" {limit}: submit fewer, wait, or cancel some"
            )
        raise


class Intake:
    """The inbox, and what is made durable on the way into it. Any thread may call everything but `clear` and
    `take_inputs`.

    Args:
        policies: Who gives slots to jobs, by pool.
        running: Who takes in what came.
        price: Who shares the cores of clusters between tenants; None where kernels take whole slots.
        memory: The most that the jobs of a tenant hold together; None for all there is.

    Attributes:
        work: Of every job that has not ended.
        drained: By slot that is drained, or is to be in the next step: why.
        uncomputed: Kinds of jobs whose outputs the board does not compute, as far as is known.
        accepted: What is on disk of jobs that came: where their first step changes nothing, nothing is written.
    """

    def __init__(
        self,
        store: Store,
        kinds: Sequence[JobKind],
        policies: dict[Pool, DispatchPolicy],
        running: IntakeEngine,
        price: PricePolicy | None = None,
        memory: TenantMemory | None = None,
    ) -> None:
        self.kinds, self.policies, self.price = tuple(kinds), policies, price
        self._kinds = {each.kind: each for each in kinds}
        self.work: dict[int, BoardWork] = {}
        self.drained: dict[int, str] = {}
        self.uncomputed: frozenset[str] = frozenset()
        self.accepted: dict[int, JobRecord] = {}
        self._store, self._running, self._memory = store, running, memory
        self._inbox: deque[m.Input] = deque()
        self._arrival_lock = threading.Lock()
        """Keeps a cancellation behind the arrival of its job: the store shows a job before the inbox has it. Nobody who
        holds it waits for the disk: submissions and the engine would wait too."""

    # The inbox ----------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether something waits."""
        return bool(self._inbox)

    def take_inputs(self) -> Iterator[m.Input]:
        """What waits, in order, until nothing does."""
        while self._inbox:
            yield self._inbox.popleft()

    def clear(self) -> None:
        """Forget what waits: store and board are recovered."""
        self._inbox.clear()
        self.accepted.clear()

    def add_recovered(self, known: Collection[int], work: Mapping[int, BoardWork], drained: Mapping[int, str]) -> None:
        """Take over what was recovered. What came since `clear` may be among it, and is then told by recovery alone.

        Args:
            known: Jobs that were found in the store.
            work: Of those of them that go on.
            drained: By slot that was drained when recovery looked: why.
        """
        with self._arrival_lock:  # a job that was found has arrived here by now
            came = [each for each in self._inbox if not (isinstance(each, m.Arrive) and each.job.id in known)]
            self._inbox.clear()
            self._inbox += came
            arrived = {each.job.id for each in came if isinstance(each, m.Arrive)}
            for number in self.work.keys() - work.keys() - arrived:
                del self.work[number]
                self.accepted.pop(number, None)
            self.work.update(work)
            self.drained = dict(drained)
            for each in came:
                if isinstance(each, (m.Drain, m.Undrain)):
                    self._show(each.slot, each.because if isinstance(each, m.Drain) else "")

    # Jobs ---------------------------------------------------------------------------------------------------------

    def accept(self, request: JobRequest) -> JobRecord:
        """Check a request and keep it durably; the next step takes it in.

        Raises:
            InvalidRequest: A field is wrong.
            CompilationFailed: A kernel's source was refused.
            Conflict: The idempotency key was used for another request.
            QuotaExceeded: The tenant has too many jobs.
        """
        known = self._store.submissions.keys.find_job(request)
        made = None if known is not None or self.kind_of(request).prepares_quickly else self.prepare(request)
        (outcome,) = [known] if known is not None else self.accept_all([(request, made)])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def kind_of(self, request: JobRequest) -> JobKind:
        """The kind a request is of."""
        return self._kinds[request.kind]

    def prepare(self, request: JobRequest) -> Work:
        """Check a request and make its work; may take seconds, and keeps nothing.

        Raises:
            InvalidRequest: A field is wrong.
            CompilationFailed: The source was refused.
            QuotaExceeded: The tenant has too many jobs, or compiling took too much.
        """
        work = self.kind_of(request).prepare(request, self._store)
        if self._memory is not None:
            self._memory.check(work.application, request.batch)
        return work

    def accept_all(self, waiting: Sequence[tuple[JobRequest, Work | None]]) -> list[JobRecord | Exception]:
        """Keep what waits durably, in this order and in one transaction; the next step takes it in.

        Args:
            waiting: Requests, with what `prepare` made of them; it may be missing where their kind is quick.

        Returns:
            For each its job, or why it was refused, as `accept` raises it.

        Raises:
            StorageFailed: The disk refused to say that it has them. They are written, and run; whoever asks again
                under the same idempotency key is answered the same job.
        """
        submissions = [Submission(request) if work is None else self._kept_as(work) for request, work in waiting]
        made = {id(each): work for each, (_, work) in zip(submissions, waiting, strict=True) if work is not None}
        prepared = frozenset(made)

        def check(submission: Submission) -> Submission:
            if id(submission) in prepared:
                return self._still_there(submission)
            made[id(submission)] = work = self.prepare(submission.request)
            return self._kept_as(work)

        with self._arrival_lock:
            outcomes = self._store.submissions.write_jobs(submissions, self._running.events.now_s, check)
            for submission, outcome in zip(submissions, outcomes, strict=True):
                if not isinstance(outcome, Exception) and outcome[1]:
                    self._arrived(made[id(submission)], outcome[0])
        self._store.database.settle()
        return [outcome if isinstance(outcome, Exception) else outcome[0] for outcome in outcomes]

    def accept_array(self, requests: Sequence[JobRequest], works: Sequence[Work | None]) -> tuple[JobRecord, ...]:
        """Keep an array of jobs durably, all or none; the next step takes them in.

        Args:
            requests: Its jobs, of one tenant and under one idempotency key.
            works: What `prepare` made of each; None where its kind is quick.

        Raises:
            EddyError: As `accept` raises it; of a job that is wrong, with its place in the array.
        """
        pairs = zip(requests, works, strict=True)
        submissions = [Submission(each) if work is None else self._kept_as(work) for each, work in pairs]
        made = dict(enumerate(works))
        places = {id(each): place for place, each in enumerate(submissions)}

        def check(submission: Submission) -> Submission:
            place = places[id(submission)]
            known = made[place]
            with name_array_job(place):
                if known is not None:
                    return self._still_there(submission)
                made[place] = work = self.prepare(submission.request)
            return self._kept_as(work)

        with self._arrival_lock:
            with _asked_together(requests):
                records, new = self._store.arrays.write(submissions, self._running.events.now_s, check)
            for place, record in enumerate(records if new else ()):
                work = made[place]
                assert work is not None
                self._arrived(work, record)
        self._store.database.settle()
        return records

    def _still_there(self, submission: Submission) -> Submission:
        """What was made ready before the transaction, whose blobs may have been deleted meanwhile.

        Raises:
            InvalidRequest: One was.
        """
        tenant = submission.request.tenant
        for sha256 in submission.blobs:
            if self._store.blobs.size_bytes(tenant, sha256) is None:
                message = f"Blob {sha256} was deleted while the job was made ready; upload it again, then submit."
                raise InvalidRequest(message, field="kernel.arguments", allowed="sha256 of an uploaded blob")
        return submission

    def _kept_as(self, work: Work) -> Submission:
        """A job as the store keeps it, on this board."""
        made = work.submission()
        return dataclasses.replace(made, computed=False) if made.request.kind in self.uncomputed else made

    def _arrived(self, work: Work, record: JobRecord) -> None:
        self.work[record.id], self.accepted[record.id] = work, record
        self._inbox.append(m.Arrive(work.spec(record)))

    def cancel(self, tenant: str, job: int) -> JobRecord:
        """Note durably that a job shall end; the next step ends it.

        Raises:
            NotFound: No such job of this tenant.
            Conflict: It has ended already in another state.
        """
        with self._arrival_lock:
            record = self._store.jobs.request_cancel(tenant, job)
            self._inbox.append(m.Cancel(job, record.cancel_asked_unix_s))
        self._store.database.settle()
        return record

    def cancel_array(self, tenant: str, first: int) -> None:
        """Note durably that all jobs of an array shall end; the next step ends them.

        Raises:
            NotFound: No such array of this tenant.
            Conflict: All have ended.
        """
        with self._arrival_lock:
            numbers = self._store.arrays.request_cancel(tenant, first)
            self._inbox += [m.Cancel(job, time.time()) for job in numbers]
        self._store.database.settle()

    # Slots and policies -------------------------------------------------------------------------------------------

    def drain(self, slot: int, because: str) -> None:
        """Note durably that a slot is given to nobody any more; the next step does so. "" gives it to jobs again.

        Raises:
            NotFound: No job could be given a slot of that number.
        """
        with self._arrival_lock:
            slots = self._running.slots
            if slot not in slots:
                message = f"There is no slot {slot}; jobs run in {format_slots(slots)}."
                raise NotFound(message, field="slot", asked=slot, allowed=sorted(slots))
            self._store.remember(DRAINED.format(slot), because, wait=False)
            self._show(slot, because)
            self._inbox.append(m.Drain(slot, because) if because else m.Undrain(slot))
        self._store.database.settle()

    def close_soon(self, closing: Mapping[int, tuple[float, str]]) -> None:
        """Have the next step know which slots close by calendar; see `messages.CloseSoon`. Nothing is kept: who keeps
        the calendar says so again and again."""
        self._inbox.append(m.CloseSoon(dict(closing)))

    @contextmanager
    def slots_kept_drained(self, drained: Mapping[int, str]) -> Iterator[dict[int, str]]:
        """Which of the slots a step drained, or brought back, are kept so, while the step is made durable.

        Requests for other slots' states wait meanwhile. A slot for which a later one is in the inbox already is left
        out: that request is durable, and what an earlier step did must not take its place.

        Args:
            drained: By slot why it is drained, "" where it is not any more.
        """
        if not drained:
            yield {}
            return
        with self._arrival_lock:
            later = {each.slot for each in self._inbox if isinstance(each, (m.Drain, m.Undrain))}
            kept = {slot: because for slot, because in drained.items() if slot not in later}
            yield kept
            for slot, because in kept.items():
                self._show(slot, because)

    def _show(self, slot: int, because: str) -> None:
        """The same, under the lock. A new dictionary: others read the old one."""
        left = {index: why for index, why in self.drained.items() if index != slot}
        self.drained = {**left, slot: because} if because else left

    def switch(self, pool: Pool, policy: DispatchPolicy, kept: tuple[str, str] | None = None) -> None:
        """Have another policy decide about a pool's slots, from the next step on.

        Args:
            kept: Name and value that the store remembers it by (`Store.remember`); None for this process only. Of two
                requests, the one that is in force is the one that is remembered.
        """
        with self._arrival_lock:
            self._remember(kept)
            self.policies[pool] = policy
            self._inbox.append(m.Switch(pool, policy))
        self._settle(kept)

    def switch_price(self, policy: PricePolicy, kept: tuple[str, str] | None = None) -> None:
        """Have another policy share the cores of clusters, from the next step on; `kept` as in `switch`."""
        with self._arrival_lock:
            self._remember(kept)
            self.price = policy
            self._inbox.append(m.SwitchPrice(policy))
        self._settle(kept)

    def _remember(self, kept: tuple[str, str] | None) -> None:
        if kept is not None:
            self._store.remember(*kept, wait=False)

    def _settle(self, kept: tuple[str, str] | None) -> None:
        if kept is not None:
            self._store.database.settle()


MAX_GROUP = 256
"""Submissions of one group."""

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class SubmissionQueue(Generic[Asked, Answer]):
    """Gathers what waits and lets it in, group by group, in order.

    Args:
        let_in: Deals with a group, in a thread of its own; answers for each what came of it, or what it is to raise.
        done: Called in the event loop after every group.
    """

    def __init__(
        self, let_in: Callable[[Sequence[Asked]], Sequence[Answer | Exception]], done: Callable[[], None]
    ) -> None:
        self._let_in, self._done = let_in, done
        self._waiting: list[tuple[Asked, asyncio.Future[Answer]]] = []
        self._porter: asyncio.Task[None] | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def busy(self) -> bool:
        """Whether somebody waits; from any thread."""
        return self._porter is not None

    async def put(self, asked: Asked) -> Answer:
        """Wait for the next group.

        Raises:
            Exception: What `let_in` answered for it.
        """
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, future))
        if self._porter is None:
            self._porter = asyncio.create_task(self._open())
        return await future

    async def _open(self) -> None:
        """Let in group after group until nobody waits."""
        self._limiter = self._limiter or anyio.CapacityLimiter(1)
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:MAX_GROUP], self._waiting[MAX_GROUP:]
                await self._deal_with(group, self._limiter)
        finally:
            self._porter = None

    async def _deal_with(
        self, group: Sequence[tuple[Asked, asyncio.Future[Answer]]], limiter: anyio.CapacityLimiter
    ) -> None:
        answers: Sequence[Answer | Exception]
        try:
            answers = await anyio.to_thread.run_sync(self._let_in, [asked for asked, _ in group], limiter=limiter)
        except Exception as failure:
            answers = [failure] * len(group)
        for (_, future), answer in zip(group, answers, strict=True):
            _settle(future, answer)
        self._done()


def _settle(future: asyncio.Future[Answer], answer: Answer | Exception) -> None:
    if future.done():  # whoever asked is gone
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
