# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Submissions: many that wait together become durable together, in one transaction; each is decided for itself."""

from __future__ import annotations

import dataclasses
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from eddy.core.jobs import JobState
from eddy.core.records import APPLICATION, JobEvent, JobEventKind, JobRecord, JobRequest, KernelRecord
from eddy.core.submission_options import Predecessor
from eddy.core.tenants import Quota
from eddy.store.account_tables.usage import Usage
from eddy.store.db.database import Database, insert
from eddy.store.db.numbers import Numbers
from eddy.store.db.rows import (
    INSERT_EVENTS,
    INSERT_LABELS,
    dump_record,
    dump_request,
    event_values,
    label_rows,
    microseconds,
    text_hash,
)
from eddy.store.job_tables.admission import AdmissionChecks
from eddy.store.job_tables.idempotency import IdempotencyKeys, KnownKeys
from eddy.store.job_tables.jobs import JobTable

LAST_ID = (1 << 63) - 1
"""Id of a job that is not kept: no job has it."""


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
        blobs: Hashes of the tenant's blobs that it needs, looked for again as it is kept; of kinds that take time to
            make ready.
        slot_s: Slot-seconds it is expected to use, by its application's estimates; 0 where nothing is known.
    """

    request: JobRequest
    kind: str = APPLICATION
    name: str = ""
    items: int = 0
    kernel: KernelRecord | None = None
    program: str = ""
    computed: bool = True
    blobs: tuple[str, ...] = ()
    slot_s: float = 0.0


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
        known: What idempotency keys name already.
        added: New jobs: record, request as text, submission.
        keys: Rows of idempotency keys.
        tenants: New jobs by tenant.
        expected_s: Slot-seconds expected of them, by tenant.
    """

    at_s: float
    number: int
    known: KnownKeys
    added: list[tuple[JobRecord, str, Submission]]
    keys: list[tuple[str, str, str, int]]
    tenants: Counter[str] = field(default_factory=Counter)
    expected_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


class Submissions:
    """What takes jobs in.

    Args:
        db: Where they are kept.
        numbers: How jobs are told.
        jobs: All jobs.
        quota: A tenant's bounds.
        usage: What tenants used today.
        leased_s: Slot-seconds that a tenant's leases have left.
    """

    def __init__(
        self,
        db: Database,
        numbers: Numbers,
        jobs: JobTable,
        quota: Callable[[str], Quota],
        usage: Usage,
        leased_s: Callable[[str], float],
    ) -> None:
        self._db, self.jobs = db, jobs
        self.keys = IdempotencyKeys(db, numbers, jobs)
        self.checks = AdmissionChecks(numbers, jobs, quota, usage, leased_s)

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
        self._db.settle()
        return outcomes

    def write_jobs(
        self, submissions: Sequence[Submission], arrival_s: float, check: Check = lambda each: each
    ) -> list[Outcome]:
        """As `add_jobs`, but for the disk: nobody is told of it before `Database.settle` has returned."""
        try:
            return self._add_group(submissions, arrival_s, check)
        except Exception as failure:
            if len(submissions) == 1:
                return [failure]
            # What one of them breaks, a value that cannot be written or a full disk, must not harm those that fit.
            return [self.write_jobs([each], arrival_s, check)[0] for each in submissions]

    def _add_group(self, submissions: Sequence[Submission], arrival_s: float, check: Check) -> list[Outcome]:
        with self._db.transaction(wait=False) as db:
            group = Group(arrival_s, self.next_id(), self.keys.find_jobs(each.request for each in submissions), [], [])
            outcomes = [self._decide(submission, group, check) for submission in submissions]
            self.insert(db, group)
        return outcomes

    def insert(self, db: sqlite3.Connection, group: Group) -> None:
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
        self._db.after_commit(lambda: self._count((record, kept) for record, _, kept in group.added))

    def next_id(self) -> int:
        """Id of the next job that is added."""
        return self.jobs.last_id() + 1

    def _count(self, added: Iterable[tuple[JobRecord, Submission]]) -> None:
        for record, kept in added:
            self.jobs.mark_accepted(record)
            self.jobs.tally.expect(record.id, kept.slot_s)

    def _decide(self, submission: Submission, group: Group, check: Check) -> Outcome:
        """Add one to the group, unless it is there already or is refused; nothing is written yet."""
        request = submission.request
        key = request.tenant, request.idempotency_key
        try:
            text = dump_request(request)
            body = text_hash(text) if request.idempotency_key else ""
            if key in group.known:
                return self.keys.find_same_request(request, body, *group.known[key]), False
            after = self.checks.check(request, group.tenants[request.tenant], group.expected_s[request.tenant])
            kept = check(submission)
        except Exception as refusal:
            return refusal
        record = new_record(kept, group, after)
        group.number += 1
        group.tenants[request.tenant] += 1
        group.expected_s[request.tenant] += kept.slot_s
        group.added.append((record, text, kept))
        if request.idempotency_key:
            group.known[key] = body, record
            group.keys.append((*key, body, record.id))
        return record, True

    def check_admission(self, request: JobRequest) -> None:
        """Check what is checked of a job that is kept, but for what its kind checks; keeps nothing.

        Raises:
            Conflict: The idempotency key was used for another request.
            InvalidRequest: A job or array it is to wait for is not there.
            QuotaExceeded: The tenant has as many jobs as it may.
        """
        if request.idempotency_key and self.keys.find_job(request) is not None:
            return
        self.checks.check(request, 0)


def draft(submission: Submission, at_s: float) -> JobRecord:
    """The record a submission would have; its id is above all others."""
    return new_record(submission, Group(at_s, LAST_ID, {}, [], []))


def new_record(submission: Submission, group: Group, after: tuple[Predecessor, ...] = ()) -> JobRecord:
    """The record of a job that is accepted as the next of its group, and waits for what `after` names."""
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
        asked=request.asked if after == request.asked.after else dataclasses.replace(request.asked, after=after),
    )


INSERT_JOBS = "INSERT INTO job (id, tenant, state, request, record, submitted_us, application, array)"
"""What `_job_values` fills."""


def _job_values(record: JobRecord, request: str) -> tuple[object, ...]:
    submitted_us = microseconds(record.submitted_unix_s)
    array = record.asked.array.id if record.asked.array is not None else None
    state, text = record.state.value, dump_record(record)
    return record.id, record.tenant, state, request, text, submitted_us, record.application, array
