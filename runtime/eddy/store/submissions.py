"""Submissions: many that wait together become durable together, in one transaction; each is decided for itself."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from eddy.core.errors import Conflict, InvalidRequest, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.records import APPLICATION, JobEvent, JobEventKind, JobRecord, JobRequest, KernelRecord
from eddy.core.tenants import Quota
from eddy.store.database import Database, insert
from eddy.store.listing import INSERT_LABELS, label_rows, microseconds
from eddy.store.numbers import Numbers
from eddy.store.rows import INSERT_EVENTS, dump_record, dump_request, event_values, text_hash
from eddy.store.tally import Tally

LAST_ID = (1 << 63) - 1
"""Id of a job that is not kept: no job has it."""
MOST_KEYS = 400
"""Idempotency keys that are looked up by one statement."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A request that is ready to be kept.

    Attributes:
        request: What is asked for.
        kind: Name of the job's kind.
        name: What its record has as its application; "" for the request's.
        items: How many items it has; 0 for the request's batch.
        kernel: For a kernel job, what it is.
        program: What was compiled for it, kept until it has ended; "" for nothing.
        computed: Whether the board computes what it asks for.
    """

    request: JobRequest
    kind: str = APPLICATION
    name: str = ""
    items: int = 0
    kernel: KernelRecord | None = None
    program: str = ""
    computed: bool = True


Check = Callable[[Submission], Submission]
"""What is to be kept of a submission. Raises where it cannot be accepted, mostly an `EddyError`. It is called within
the transaction, so that what it saw of the store still holds when the job is kept."""
Outcome = tuple[JobRecord, bool] | Exception
"""The job and whether it is new, or why there is none."""


@dataclass(slots=True)
class Group:
    """What one transaction adds.

    Attributes:
        at_s: Board time of acceptance.
        number: Id of the next job.
        known: Body's hash and job, by tenant and idempotency key.
        added: New jobs: record, request as text, submission.
        keys: Rows of idempotency keys.
        tenants: New jobs by tenant.
    """

    at_s: float
    number: int
    known: dict[tuple[str, str], tuple[str, JobRecord]]
    added: list[tuple[JobRecord, str, Submission]]
    keys: list[tuple[str, str, str, int]]
    tenants: Counter[str] = field(default_factory=Counter)


class Submissions:
    """The part of the store that jobs come in by."""

    _db: Database
    _tally: Tally
    numbers: Numbers

    def quota(self, tenant: str) -> Quota:
        """A tenant's bounds."""
        raise NotImplementedError

    def _check_use(self, tenant: str, quota: Quota) -> None:
        """Check that a tenant has not used up what it may in a day."""
        raise NotImplementedError

    def job(self, tenant: str, job: int) -> JobRecord:
        """One job."""
        raise NotImplementedError

    def missing(self, tenant: str, jobs: Sequence[int]) -> list[int]:
        """Those of some ids that no job of a tenant has."""
        raise NotImplementedError

    def add_job(self, request: JobRequest, arrival_s: float) -> tuple[JobRecord, bool]:
        """Accept one job durably; see `add_jobs`.

        Raises:
            Conflict: The key was used for another request.
            QuotaExceeded: The tenant has as many jobs as it may.
        """
        (outcome,) = self.add_jobs([Submission(request)], arrival_s)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def add_jobs(
        self, submissions: Sequence[Submission], arrival_s: float, check: Check = lambda each: each
    ) -> list[Outcome]:
        """Accept jobs durably, in this order; one that is refused changes nothing for the others.

        Args:
            submissions: What waits.
            arrival_s: Board time.
            check: Asked about each that is new.

        Returns:
            For each, the record and whether it is new (with a known idempotency key it is the job of the first
            request), or why it was refused: `Conflict` where the key was used for another request, `QuotaExceeded`
            where the tenant has as many jobs as it may, or what `check` raised.

        Raises:
            StorageFailed: They are written, but the disk refused to say that it has them.
        """
        outcomes = self.write_jobs(submissions, arrival_s, check)
        self.settle()
        return outcomes

    def write_jobs(
        self, submissions: Sequence[Submission], arrival_s: float, check: Check = lambda each: each
    ) -> list[Outcome]:
        """As `add_jobs`, but for the disk: nobody is told of it before `settle` has returned."""
        try:
            return self._add_group(submissions, arrival_s, check)
        except Exception as failure:
            if len(submissions) == 1:
                return [failure]
            # What one of them breaks, a value that cannot be written or a full disk, must not harm those that fit.
            return [self.write_jobs([each], arrival_s, check)[0] for each in submissions]

    @property
    def settling(self) -> bool:
        """Whether something promised is on its way to the disk, so that who reads may have to wait for it."""
        return self._db.settling

    def settle(self) -> None:
        """Return when everything that was promised is on disk.

        Raises:
            StorageFailed: The disk refused. What was written stands; whether it survives a loss of power is not known.
        """
        self._db.settle()

    def _add_group(self, submissions: Sequence[Submission], arrival_s: float, check: Check) -> list[Outcome]:
        with self._db.transaction(wait=False) as db:
            group = Group(arrival_s, self._next_id(), self._known(submissions), [], [])
            outcomes = [self._decide(submission, group, check) for submission in submissions]
            self._insert(db, group)
        return outcomes

    def _insert(self, db: sqlite3.Connection, group: Group) -> None:
        """Write what a transaction adds."""
        insert(db, INSERT_JOBS, [_job_values(record, text) for record, text, _ in group.added])
        insert(db, INSERT_LABELS, label_rows(record for record, _, _ in group.added))
        insert(db, "INSERT INTO idempotency (tenant, key, body, job)", group.keys)
        programs = [(record.id, each.program) for record, _, each in group.added if each.program]
        insert(db, "INSERT INTO program (job, body)", programs)
        events = [
            JobEvent(0, record.id, record.tenant, group.at_s, JobEventKind.SUBMITTED) for record, _, _ in group.added
        ]
        insert(db, INSERT_EVENTS, [event_values(event) for event in events])
        self._db.after_commit(lambda: self._count(record for record, _, _ in group.added))

    def _next_id(self) -> int:
        row = self._db.row("SELECT seq FROM sqlite_sequence WHERE name = 'job'")
        return 1 if row is None else int(row["seq"]) + 1

    def _count(self, records: Iterable[JobRecord]) -> None:
        for record in records:
            self._tally.note(record.id, record.tenant, record.state.value)

    def _decide(self, submission: Submission, group: Group, check: Check) -> Outcome:
        """Add one to the group, unless it is there already or is refused; nothing is written yet."""
        request = submission.request
        key = request.tenant, request.idempotency_key
        try:
            text = dump_request(request)
            body = text_hash(text) if request.idempotency_key else ""
            if key in group.known:
                return self._same(request, body, *group.known[key]), False
            self._check_quota(request.tenant, group.tenants[request.tenant])
            self._check_after(request)
            kept = check(submission)
        except Exception as refusal:
            return refusal
        record = new_record(kept, group)
        group.number += 1
        group.tenants[request.tenant] += 1
        group.added.append((record, text, kept))
        if request.idempotency_key:
            group.known[key] = body, record
            group.keys.append((*key, body, record.id))
        return record, True

    def _known(self, submissions: Iterable[Submission]) -> dict[tuple[str, str], tuple[str, JobRecord]]:
        """The jobs that idempotency keys name already."""
        wanted = {(s.request.tenant, s.request.idempotency_key) for s in submissions if s.request.idempotency_key}
        keys, found = sorted(wanted), {}
        for begin in range(0, len(keys), MOST_KEYS):
            part = keys[begin : begin + MOST_KEYS]
            places = ", ".join(["(?, ?)"] * len(part))
            query = f"SELECT tenant, key, body, job FROM idempotency WHERE (tenant, key) IN (VALUES {places})"
            for row in self._db.rows(query, *(text for key in part for text in key)):
                found[row["tenant"], row["key"]] = row["body"], self.job(row["tenant"], row["job"])
        return found

    def known(self, request: JobRequest) -> JobRecord | None:
        """The job an idempotency key already names, if any.

        Raises:
            Conflict: It was used for another request.
        """
        found = self._known([Submission(request)]).get((request.tenant, request.idempotency_key))
        return None if found is None else self._same(request, text_hash(dump_request(request)), *found)

    def check_admission(self, request: JobRequest) -> None:
        """Check what is checked of a job that is kept, but for what its kind checks; keeps nothing.

        Raises:
            Conflict: The idempotency key was used for another request.
            InvalidRequest: A job it is to wait for is not there.
            QuotaExceeded: The tenant has as many jobs as it may.
        """
        if request.idempotency_key and self.known(request) is not None:
            return
        self._check_quota(request.tenant, 0)
        self._check_after(request)

    def check_job_quota(self, tenant: str) -> None:
        """Check that a tenant may have one more job.

        Raises:
            QuotaExceeded: It has as many as it may.
        """
        self._check_quota(tenant, 0)

    def _check_quota(self, tenant: str, more: int) -> None:
        quota = self.quota(tenant)
        limit, used = quota.max_jobs, self._tally.of(tenant) + more
        if used >= limit:
            raise QuotaExceeded(
                f"tenant {tenant} has {used} jobs that have not ended and may have {limit}: wait, or cancel one",
                limit=limit,
                asked=used + 1,
            )
        self._check_use(tenant, quota)

    def _check_after(self, request: JobRequest) -> None:
        """Check that the jobs it is to wait for are there; so there are no circles."""
        gone = self.missing(request.tenant, request.asked.after) if request.asked.after else []
        if gone:
            place = request.asked.after.index(gone[0])
            told = self.numbers.job.told(gone[0])
            raise InvalidRequest(
                f"after[{place}]: you have no job {told}; name jobs of yours that must succeed first",
                field=f"after[{place}]",
                asked=told,
            )

    def _same(self, request: JobRequest, body: str, known: str, record: JobRecord) -> JobRecord:
        """The job a key names, where it was used for this very request."""
        if known == body:
            return record
        raise key_taken(request.idempotency_key, self.numbers.job.told(record.id))

    def unfinished_by_state(self) -> dict[str, int]:
        """Jobs that have not ended, by state; kept, not counted."""
        return self._tally.states()


def key_taken(key: str, job: int) -> Conflict:
    """Why an idempotency key cannot be used: it names a job, as that is told."""
    message = f"idempotency key {key!r} was used for another request (job {job}): use a new key"
    return Conflict(message, field="Idempotency-Key", job=job)


def draft(submission: Submission, at_s: float) -> JobRecord:
    """The record a submission would have; its id is above all others."""
    return new_record(submission, Group(at_s, LAST_ID, {}, [], []))


def new_record(submission: Submission, group: Group) -> JobRecord:
    """The record of a job that is accepted as the next of its group."""
    request, at_s = submission.request, group.at_s
    return JobRecord(
        id=group.number,
        tenant=request.tenant,
        application=submission.name or request.application,
        batch=submission.items or request.batch,
        priority=request.priority,
        state=JobState.QUEUED,
        submitted_unix_s=time.time(),
        arrival_s=at_s,
        deadline_s=None if request.deadline_s is None else at_s + request.deadline_s,
        kernel=submission.kernel,
        kind=submission.kind,
        computed=submission.computed,
        asked=request.asked,
    )


INSERT_JOBS = "INSERT INTO job (id, tenant, state, request, record, submitted_us, application, array)"
"""What `_job_values` fills."""


def _job_values(record: JobRecord, request: str) -> tuple[object, ...]:
    submitted_us = microseconds(record.submitted_unix_s)
    array = record.asked.array.id if record.asked.array is not None else None
    state, text = record.state.value, dump_record(record)
    return record.id, record.tenant, state, request, text, submitted_us, record.application, array
