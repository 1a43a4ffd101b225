# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs: their records and requests, and how many have not ended."""

from __future__ import annotations

import heapq
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from eddy.core.errors import Conflict, NotFound, RecordDamaged
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord, JobRequest
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database, insert
from eddy.store.db.numbers import Numbers
from eddy.store.db.rows import (
    INSERT_EVENTS,
    RECORD,
    StoredJob,
    dump_record,
    dump_request,
    event_values,
    load_request,
    microseconds,
    parse_object,
    record_of,
)


class JobCounts:
    """Jobs that have not ended, by tenant and by state; and how many have ended, by tenant.

    Args:
        jobs: Id, tenant and state of each that has not ended.
        ended: How many have, by tenant.
    """

    def __init__(self, jobs: Iterable[tuple[int, str, str]] = (), ended: Mapping[str, int] | None = None) -> None:
        self._ended: Counter[str] = Counter(ended or {})
        self._jobs: dict[int, tuple[str, str]] = {}
        self._tenants: Counter[str] = Counter()
        self._states: Counter[str] = Counter()
        self._expected_s: dict[int, float] = {}
        """By job: slot-seconds it is expected to use."""
        self._unwritten_s: dict[str, float] = {}
        """By tenant: what was expected of jobs that ended since use was written down last."""
        for job, tenant, state in jobs:
            self.note(job, tenant, state)

    def note(self, job: int, tenant: str, state: str) -> None:
        """A job is in a state that is not final."""
        self._forget(job)
        self._jobs[job] = tenant, state
        self._tenants[tenant] += 1
        self._states[state] += 1

    def drop(self, job: int) -> None:
        """A job has ended; nothing where it had before. What it used may not be written down yet."""
        _, state = self._jobs.get(job, ("", ""))
        tenant = self._forget(job)
        expected_s = self._expected_s.pop(job, 0.0)
        if not tenant:
            return
        self._ended[tenant] += 1
        if expected_s and state != JobState.QUEUED.value:
            self._unwritten_s[tenant] = self._unwritten_s.get(tenant, 0.0) + expected_s

    def purged(self, tenant: str, jobs: int) -> None:
        """So many jobs of a tenant that had ended are gone."""
        self._ended[tenant] -= jobs
        if self._ended[tenant] <= 0:
            del self._ended[tenant]

    def count_ended(self) -> dict[str, int]:
        """How many jobs have ended and are kept, by tenant; those that have none are left out."""
        return dict(self._ended)

    def expect(self, job: int, slot_s: float) -> None:
        """A job that has not ended is expected to use so many slot-seconds."""
        if slot_s > 0 and job in self._jobs:
            self._expected_s[job] = slot_s

    def mark_written(self) -> None:
        """What jobs used that have ended is written down."""
        self._unwritten_s.clear()

    def expected_s(self, tenant: str) -> float:
        """Slot-seconds expected of a tenant's jobs, as far as what they used may not be written down yet."""
        known = list(self._expected_s.items())
        under_way_s = sum(each_s for job, each_s in known if self._jobs.get(job, ("",))[0] == tenant)
        return under_way_s + self._unwritten_s.get(tenant, 0.0)

    def _forget(self, job: int) -> str:
        """Take a job out; answers whose it was, "" where it was not there."""
        tenant, state = self._jobs.pop(job, ("", ""))
        if tenant:
            self._tenants[tenant] -= 1
            self._states[state] -= 1
            if not self._tenants[tenant]:
                del self._tenants[tenant]
        return tenant

    def oldest(self, tenant: str | None, limit: int) -> list[int]:
        """Ids of jobs that have not ended, oldest first: those of a tenant, or of None for everyone's."""
        known = (job for job, (whose, _) in list(self._jobs.items()) if tenant is None or whose == tenant)
        return heapq.nsmallest(limit, known)

    def by_tenant(self) -> dict[str, dict[str, int]]:
        """Jobs by state of every tenant that has some, by its name."""
        found: dict[str, Counter[str]] = {}
        for tenant, state in list(self._jobs.values()):
            found.setdefault(tenant, Counter())[state] += 1
        return {tenant: dict(found[tenant]) for tenant in sorted(found)}

    def count_tenant(self, tenant: str) -> int:
        """Jobs of a tenant."""
        return self._tenants[tenant]

    def states(self) -> dict[str, int]:
        """Jobs by state."""
        return dict(self._states)


_log = logging.getLogger(__name__)


def give_up_job(database: Database, number: int, told: int, why: str) -> None:
    """End a job whose row cannot be read, with a record that can; why is the operator's matter, and in the log, where
    the job is called as it is `told`."""
    now_s, words = 0.0, "what the server kept of this job is damaged; its log has the cause: submit the job again"
    with database.transaction() as db:
        when = "iif(typeof(submitted_us) = 'integer', submitted_us, 0)"
        read = f"SELECT CAST(tenant AS BLOB), CAST(state AS BLOB), {when} FROM job WHERE id = ?"
        tenant, state, submitted_us = db.execute(read, (number,)).fetchone()
        known = JobRecord(
            id=number,
            tenant=(tenant or b"").decode(errors="replace"),
            application="unknown",
            batch=1,
            priority=1,
            state=state_before(state),
            submitted_unix_s=submitted_us / 1e6,
            arrival_s=now_s,
        )
        record = known.failed(now_s, "storage-damaged", words)
        request = dump_request(JobRequest(record.tenant, record.application))
        closed_us = round(time.time() * 1e6)
        values = (
            record.tenant,
            record.state.value,
            closed_us,
            request,
            dump_record(record),
            record.application,
            number,
        )
        db.execute(
            "UPDATE job SET tenant = ?, state = ?, final = 1, cancel = 0, ended_us = 0, closed_us = ?, request = ?,"
            " record = ?, snapshot = '{}', application = ?, array = iif(typeof(array) = 'integer', array, NULL),"
            f" submitted_us = {when} WHERE id = ?",
            values,
        )
        event = JobEvent(0, number, record.tenant, now_s, JobEventKind.STATE, record.state, detail=words)
        insert(db, INSERT_EVENTS, [event_values(event)])
    _log.error("job %d cannot continue: %s", told, why, extra={"job": told})


def state_before(written: bytes | None) -> JobState:
    """The state a job was in that had not ended; of one whose row does not say so, the first."""
    found = next((state for state in JobState if state.value.encode() == written), JobState.QUEUED)
    return JobState.QUEUED if found.is_final else found


class DependencyIndex:
    """What is waited for, kept as jobs come and go; changed within the turn of who writes, as what it is of is."""

    def __init__(self) -> None:
        self._by_job: dict[int, tuple[int, ...]] = {}
        self._counts: Counter[int] = Counter()

    def note(self, record: JobRecord) -> None:
        """A job was accepted."""
        if record.asked.after and record.id not in self._by_job:
            self._by_job[record.id] = named = tuple(each.id for each in record.asked.after)
            self._counts.update(named)

    def drop(self, job: int) -> None:
        """A job has ended; nothing where it waited for none."""
        for each in self._by_job.pop(job, ()):
            self._counts[each] -= 1
            if not self._counts[each]:
                del self._counts[each]

    def __contains__(self, number: int) -> bool:
        """Whether somebody waits for the job or array of this id."""
        return number in self._counts


class JobTable:
    """All jobs. What one of them is asked for names the tenant, so that one tenant never sees another's.

    Attributes:
        tally: How many have not ended, and how many have.
        awaited: Which of them others wait for that have not ended.
    """

    def __init__(self, db: Database, numbers: Numbers) -> None:
        self._db, self._numbers = db, numbers
        rows = db.rows("SELECT id, tenant, state FROM job WHERE final = 0")
        ended = db.rows("SELECT tenant, count(*) AS jobs FROM job WHERE closed_us IS NOT NULL GROUP BY tenant")
        self.tally = JobCounts(
            ((row["id"], str(row["tenant"]), str(row["state"])) for row in rows),
            {str(row["tenant"]): row["jobs"] for row in ended},
        )
        self.awaited = DependencyIndex()
        for row in db.rows("SELECT id FROM job WHERE final = 0 AND instr(record, '\"after') > 0"):
            with suppress(RecordDamaged):  # it is given up, and waits for nothing
                self.awaited.note(self._record(row["id"]))

    def _record(self, job: int) -> JobRecord:
        return record_of(self._db.rows(f"SELECT {RECORD} FROM job WHERE id = ?", job)[0])

    def mark_accepted(self, record: JobRecord) -> None:
        """A job was accepted, in a transaction that is committed."""
        self.tally.note(record.id, record.tenant, record.state.value)
        self.awaited.note(record)

    def mark_closed(self, job: int) -> None:
        """A job has ended, in a transaction that is committed; nothing where it had before."""
        self.tally.drop(job)
        self.awaited.drop(job)

    def get(self, tenant: str, job: int) -> JobRecord:
        """One job.

        Raises:
            NotFound: No such job of this tenant.
            RecordDamaged: What was kept of it is not what was written.
        """
        row = self._db.row(f"SELECT {RECORD} FROM job WHERE id = ? AND tenant = ?", job, tenant)
        if row is None:
            raise self.not_found(job, tenant)
        with self._db.damage.name_record(RecordKind.JOB, job):
            return record_of(row)

    def check_there(self, tenant: str, job: int) -> None:
        """Check that a tenant has a job, be its record damaged or not.

        Raises:
            NotFound: No such job of this tenant.
        """
        if self._db.row("SELECT 1 FROM job WHERE id = ? AND tenant = ?", job, tenant) is None:
            raise self.not_found(job, tenant)

    def read_records(self, rows: Iterable[sqlite3.Row]) -> Iterator[JobRecord]:
        """The records of rows that have `RECORD`; those that are damaged are noted and left out."""
        return self._db.damage.read_rows(RecordKind.JOB, rows, lambda row: row["id"], record_of)

    def not_found(self, job: int, tenant: str | None = None) -> NotFound:
        """Why a job cannot be had; the same for one that is not there and for another tenant's.

        Args:
            job: What was taken for its id.
            tenant: Who asks; None for an operator, who may know of all arrays.
        """
        told, values = self._numbers.job.public_id(job), (job, *([] if tenant is None else [tenant]))
        whose = "" if tenant is None else " AND tenant = ?"
        if self._db.row(f"SELECT 1 FROM job WHERE array = ?{whose} LIMIT 1", *values) is not None:
            message = f"there is no job {told}; it is an array: `eddy array show {told}` shows it"
        else:
            message = f"there is no job {told}, or it was removed after its end: `eddy jobs` lists yours"
        return NotFound(message, field="job", asked=told)

    def request(self, tenant: str, job: int) -> JobRequest:
        """What was asked for.

        Raises:
            NotFound: No such job of this tenant.
        """
        row = self._db.row("SELECT request FROM job WHERE id = ? AND tenant = ?", job, tenant)
        if row is None:
            raise self.not_found(job, tenant)
        with self._db.damage.name_record(RecordKind.JOB, job):
            return load_request(row["request"])

    def program(self, job: int) -> str:
        """What the kernel of a job that has not ended was compiled to.

        Raises:
            NotFound: There is none: no kernel job, or it has ended.
        """
        row = self._db.row("SELECT body FROM program WHERE job = ?", job)
        if row is None:
            raise NotFound(f"no program of job {self._numbers.job.public_id(job)}", field="job")
        return str(row["body"])

    def under_way(self, tenant: str | None, limit: int) -> tuple[JobRecord, ...]:
        """Jobs that have not ended, oldest first; damaged ones are left out.

        Args:
            tenant: Whose; None for everyone's (operators).
            limit: At most this many.
        """
        wanted = self.tally.oldest(tenant, limit)
        marks = ", ".join("?" * len(wanted))
        rows = self._db.rows(f"SELECT {RECORD} FROM job WHERE id IN ({marks}) ORDER BY id", *wanted)
        return tuple(self.read_records(rows))

    def unfinished_of(self, tenant: str) -> list[int]:
        """Ids of a tenant's jobs that have not ended, oldest first, as their rows say it."""
        rows = self._db.rows("SELECT id FROM job WHERE tenant = ? AND final = 0 ORDER BY id", tenant)
        return [row["id"] for row in rows]

    def unfinished_by_tenant(self) -> dict[str, dict[str, int]]:
        """How many jobs that have not ended each tenant has, by state; those that have none are left out."""
        return self.tally.by_tenant()

    def request_cancel(self, tenant: str, job: int) -> JobRecord:
        """Note that a job shall end; durably once the store has settled (`Database.settle`).

        Raises:
            NotFound: No such job of this tenant.
            Conflict: It has ended, and not as cancelled.
        """
        with self._db.transaction(wait=False) as db:
            record = self.get(tenant, job)
            if record.state.is_final and record.state is not JobState.CANCELLED:
                raise Conflict(
                    f"job {self._numbers.job.public_id(job)} has {record.state.value} already: "
                    "there is nothing to cancel",
                    field="job",
                    state=record.state.value,
                )
            db.execute("UPDATE job SET cancel = ? WHERE id = ? AND cancel = 0", (microseconds(time.time()), job))
            return self.get(tenant, job)

    def unfinished(self) -> tuple[StoredJob, ...]:
        """Every job that has not ended, oldest first; what a restarted hypervisor recovers.

        A job whose row is damaged ends as failed: it cannot go on, and must not keep the others from it.
        """
        found = (self._legible(row) for row in self._db.rows(_UNFINISHED))
        return tuple(job for job in found if job is not None)

    def _legible(self, row: sqlite3.Row) -> StoredJob | None:
        """A job from its row; None for a job that was given up."""
        try:
            return _stored(row)
        except RecordDamaged as error:
            how = str(error.details["how"])
            self._db.damage.note(RecordKind.JOB, row["id"], how)
            give_up_job(self._db, row["id"], self._numbers.job.public_id(row["id"]), how)
            self.mark_closed(row["id"])
            return None

    def unfinished_by_state(self) -> dict[str, int]:
        """Jobs that have not ended, by state; kept, not counted."""
        return self.tally.states()

    def last_id(self) -> int:
        """The last id that a job or an array was given, be it there still or not; 0 for none."""
        row = self._db.row("SELECT seq FROM sqlite_sequence WHERE name = 'job'")
        if row is None:
            return 0
        if type(row["seq"]) is int:
            return int(row["seq"])
        self._db.damage.note(RecordKind.VALUE, "of the last job's id", f"it is {row['seq']!r:.40}")
        found = self._db.row("SELECT max(max(id), coalesce(max(array), 0)) AS last FROM job")
        return 0 if found is None else int(found["last"] or 0)

    def states(self, jobs: Collection[int]) -> dict[int, JobState]:
        """In which state jobs are, on disk or not yet; those there are not, or that are damaged, are left out."""
        marks = ", ".join("?" * len(jobs))
        rows = self._db.fresh_rows(f"SELECT id, state FROM job WHERE id IN ({marks})", *jobs)
        return self._states(rows)

    def _states(self, rows: Iterable[sqlite3.Row]) -> dict[int, JobState]:
        return dict(self._db.damage.read_rows(RecordKind.JOB, rows, lambda row: row["id"], _state))

    def states_of_array(self, array: int) -> dict[int, JobState]:
        """In which state the jobs of an array are, on disk or not yet; empty where none of it is on record."""
        return self._states(self._db.fresh_rows("SELECT id, state FROM job WHERE array = ?", array))

    def existing_ids(self, tenant: str, ids: Sequence[int]) -> tuple[set[int], set[int]]:
        """Which of some ids are those of a tenant's jobs, and which of its arrays.

        An array of an earlier version has the id of its first job: that is in both.
        """
        marks = ", ".join("?" * len(ids))
        jobs = self._db.rows(f"SELECT id FROM job WHERE tenant = ? AND id IN ({marks})", tenant, *ids)
        arrays = self._db.rows(f"SELECT DISTINCT array FROM job WHERE array IN ({marks}) AND tenant = ?", *ids, tenant)
        return {row["id"] for row in jobs}, {row["array"] for row in arrays}

    def elements(self, tenant: str, array: int) -> list[int]:
        """The jobs of a tenant's array, in their order in it."""
        return [
            row["id"]
            for row in self._db.rows("SELECT id FROM job WHERE array = ? AND tenant = ? ORDER BY id", array, tenant)
        ]

    def owner(self, job: int) -> str | None:
        """Whose job it is; None where there is none of that id.

        Raises:
            RecordDamaged: That cannot be read.
        """
        row = self._db.row("SELECT tenant FROM job WHERE id = ?", job)
        if row is not None and not isinstance(row["tenant"], str):
            raise self._db.damage.note(RecordKind.JOB, job, "it has no owner")
        return None if row is None else str(row["tenant"])


_STATES = ", ".join(f"'{state.value}'" for state in JobState if not state.is_final)
_UNFINISHED = (
    f"SELECT {RECORD}, request, snapshot FROM job WHERE id IN (SELECT id FROM job WHERE final = 0"
    f" UNION SELECT id FROM job WHERE state IN ({_STATES})) ORDER BY id"
)
"""Where the two columns differ, one of them is damaged; each is asked by its index."""


@names_damage("a job's row")
def _state(row: sqlite3.Row) -> tuple[int, JobState]:
    return row["id"], JobState(row["state"])


@names_damage("a job's row")
def _stored(row: sqlite3.Row) -> StoredJob:
    """What a restarted hypervisor recovers."""
    return StoredJob(load_request(row["request"]), record_of(row), bool(row["cancel"]), parse_object(row["snapshot"]))
