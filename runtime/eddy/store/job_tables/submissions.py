# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Submissions: many that wait together become durable together, in one transaction; each is decided for itself, by what
is asked of every job before it is kept: its idempotency key, its tenant's quota, and what it waits for."""

from __future__ import annotations

import dataclasses
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from eddy.core.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.records import APPLICATION, JobEvent, JobEventKind, JobRecord, JobRequest, KernelRecord
from eddy.core.submission_options import Condition, Predecessor
from eddy.core.tenants import Quota
from eddy.store.account_tables.usage import Usage
from eddy.store.db.damage import RecordKind
from eddy.store.db.database import Database, insert, pairs_table
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
from eddy.store.job_tables.jobs import JobTable

MAX_KEYS = 400
"""Keys that are looked up by one statement."""
KnownKeys = dict[tuple[str, str], tuple[str, JobRecord]]
"""Body's hash and job, by tenant and key."""


class IdempotencyKeys:
    """Keys that were used."""

    def __init__(self, db: Database, numbers: Numbers, jobs: JobTable) -> None:
        self._db, self._numbers, self._jobs = db, numbers, jobs

    def find_jobs(self, requests: Iterable[JobRequest]) -> KnownKeys:
        """The jobs that the keys of requests name already."""
        keys = sorted({(r.tenant, r.idempotency_key) for r in requests if r.idempotency_key})
        found: KnownKeys = {}
        for begin in range(0, len(keys), MAX_KEYS):
            part = keys[begin : begin + MAX_KEYS]
            table = "wanted CROSS JOIN idempotency ON tenant = first AND key = second"
            query = f"{pairs_table(len(part))} SELECT tenant, key, body, job FROM {table}"
            for row in self._db.rows(query, *(text for key in part for text in key)):
                job = self._job(row)
                if job is not None:
                    found[row["tenant"], row["key"]] = row["body"], job
        return found

    def _job(self, row: sqlite3.Row) -> JobRecord | None:
        """The job a key names; None where it was removed meanwhile, and the key with it.

        Raises:
            RecordDamaged: That cannot be read; another job under the key would perhaps be one too many.
        """
        name = f"{row['key']!r} of tenant {row['tenant']}"
        if not isinstance(row["body"], str) or type(row["job"]) is not int:
            raise self._db.damage.note(RecordKind.SUBMISSION, name, "it names no job")
        try:
            return self._jobs.get(row["tenant"], row["job"])
        except NotFound as error:
            still = "SELECT 1 FROM idempotency WHERE tenant = ? AND key = ? AND job = ?"
            if not self._db.rows(still, row["tenant"], row["key"], row["job"]):
                return None
            raise self._db.damage.note(RecordKind.SUBMISSION, name, "the job it names is not there") from error

    def find_job(self, request: JobRequest) -> JobRecord | None:
        """The job a request's key already names, if any.

        Raises:
            Conflict: It was used for another request.
        """
        found = self.find_jobs([request]).get((request.tenant, request.idempotency_key))
        return None if found is None else self.find_same_request(request, text_hash(dump_request(request)), *found)

    def find_same_request(self, request: JobRequest, body: str, known: str, record: JobRecord) -> JobRecord:
        """The job a key names, where it was used for this very request.

        Args:
            known: Hash of the text of the request it was used for.

        Raises:
            Conflict: It was used for another request.
        """
        if known == body:
            return record
        raise self.key_taken_error(request.idempotency_key, record)

    def key_taken_error(self, key: str, record: JobRecord) -> Conflict:
        """Why a key cannot be used: it names another job."""
        job = self._numbers.job.public_id(record.id)
        message = f"idempotency key {key!r} was used for another request (job {job}): use a new key"
        return Conflict(message, field="Idempotency-Key", job=job)


class AdmissionChecks:
    """What is checked of every job before it is kept, whatever its kind.

    Args:
        leased_s: Slot-seconds that a tenant's leases have left.
    """

    def __init__(
        self,
        numbers: Numbers,
        jobs: JobTable,
        quota: Callable[[str], Quota],
        usage: Usage,
        leased_s: Callable[[str], float],
    ) -> None:
        self._numbers, self._jobs, self._quota, self._usage = numbers, jobs, quota, usage
        self._leased_s = leased_s

    def check(self, request: JobRequest, more: int, more_s: float = 0.0) -> tuple[Predecessor, ...]:
        """Check a request that comes after others of its tenant that are kept with it.

        Args:
            more: How many others.
            more_s: Slot-seconds expected of them.

        Returns:
            What it waits for.

        Raises:
            InvalidRequest: A job or array it is to wait for is not there.
            QuotaExceeded: The tenant may not have so many jobs.
        """
        self.check_quota(request.tenant, more, more_s)
        return self.predecessors(request)

    def check_quota(self, tenant: str, more: int, more_s: float = 0.0) -> None:
        """Check that a tenant may have one job more than so many that are added with it, of which so many slot-seconds
        are expected.

        Raises:
            QuotaExceeded: It may not.
        """
        quota = self._quota(tenant)
        limit, used = quota.max_jobs, self._jobs.tally.count_tenant(tenant) + more
        if used >= limit:
            raise QuotaExceeded(
                f"tenant {tenant} has {used} jobs that have not ended and may have {limit}: wait, or cancel one",
                limit=limit,
                asked=used + 1,
            )
        self.check_budget(tenant, more_s)

    def check_budget(self, tenant: str, more_s: float) -> None:
        """Check that what a tenant used today, and what is expected of its jobs under way and of others that are added
        with one more, leaves something of its budget.

        Raises:
            QuotaExceeded: It leaves nothing.
        """
        quota = self._quota(tenant)
        if quota.max_slot_s is not None or quota.max_core_s is not None:
            self._usage.check(tenant, quota, lambda: self._expected_s(tenant) + more_s)

    def check_lease(self, tenant: str, more_s: float) -> None:
        """Check that what a tenant used today, and what its jobs and leases are expected to use, leave room in its
        budget for a lease of that many slot-seconds, or for one that lasts so much longer.

        Raises:
            QuotaExceeded: They do not.
        """
        self._usage.check_lease(tenant, self._quota(tenant), more_s, lambda: self._expected_s(tenant))

    def _expected_s(self, tenant: str) -> float:
        return self._jobs.tally.expected_s(tenant) + self._leased_s(tenant)

    def predecessors(self, request: JobRequest) -> tuple[Predecessor, ...]:
        """What a job of its own waits for, jobs told from arrays. All of it is there, so there are no circles.

        Raises:
            InvalidRequest: Something of it is not there, or only the jobs of an array can wait for it.
        """
        shared, corresponding = self._resolved(request)
        if corresponding:
            message = "aftercorr[0]: only a job of an array has a place; name the jobs themselves in after."
            raise InvalidRequest(message, field="aftercorr[0]", allowed="leave it out")
        return shared

    def predecessors_of_each(self, request: JobRequest, size: int) -> list[tuple[Predecessor, ...]]:
        """What each job of an array of that size waits for.

        Args:
            request: Of any of them: they share this.
            size: Jobs of the array.

        Raises:
            InvalidRequest: Something of it is not there, or an array that is named in `aftercorr` has another size.
        """
        shared, corresponding = self._resolved(request)
        columns = []
        for place, array in enumerate(corresponding):
            elements = self._jobs.elements(request.tenant, array)
            if len(elements) != size:
                told = self._numbers.job.public_id(array)
                message = (
                    f"aftercorr[{place}]: array {told} has {len(elements)} jobs and this one has {size}: place by place"
                    " they must be as many; name it in after to wait for all of it"
                )
                raise InvalidRequest(message, field=f"aftercorr[{place}]", asked=told, allowed=f"arrays of {size} jobs")
            columns.append([Predecessor(job) for job in elements])
        return [tuple(dict.fromkeys((*shared, *row))) for row in zip(*columns, strict=True)] or [shared] * size

    def _resolved(self, request: JobRequest) -> tuple[tuple[Predecessor, ...], list[int]]:
        """What a request names, jobs told from arrays; and the arrays whose jobs are waited for place by place."""
        if not request.asked.after:
            return (), []
        ids = list(dict.fromkeys(each.id for each in request.asked.after))
        jobs, arrays = self._jobs.existing_ids(request.tenant, ids)
        found: list[Predecessor] = []
        for condition in Condition:
            for place, each in enumerate(_named(request.asked.after, condition)):
                is_array = each.id in arrays
                if not is_array and (condition is Condition.ELEMENT or each.id not in jobs):
                    raise self._missing(condition, place, each.id)
                found.append(dataclasses.replace(each, array=is_array))
        shared = [each for each in found if each.wanted is not Condition.ELEMENT]
        return tuple(shared), [each.id for each in found if each.wanted is Condition.ELEMENT]

    def _missing(self, condition: Condition, place: int, number: int) -> InvalidRequest:
        told, name = self._numbers.job.public_id(number), f"{condition.value}[{place}]"
        what = "array" if condition is Condition.ELEMENT else "job or array"
        message = f"{name}: you have no {what} {told}, or it was removed after its end; name {_NAME[condition]}"
        return InvalidRequest(message, field=name, asked=told)


_NAME = {
    Condition.SUCCESS: "jobs or arrays of yours that must succeed first",
    Condition.END: "jobs or arrays of yours that must end first",
    Condition.FAILURE: "jobs or arrays of yours that must fail or be cancelled first",
    Condition.ELEMENT: "arrays of yours whose jobs must succeed first, place by place",
}


def _named(after: Iterable[Predecessor], field: Condition) -> Sequence[Predecessor]:
    return [each for each in after if each.wanted is field]


LAST_ID = (1 << 63) - 1
"""Id of a job that is not kept: no job has it."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A request that is ready to be kept.

    Attributes:
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
