"""The store: one SQLite file behind a few plain calls, safe from any thread.

Submissions are durable when `add_job` returns; what one step of the hypervisor changes is durable, all of it or
nothing, when `commit` returns. Every query about jobs names the tenant, so that one tenant never sees another's.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import time
from pathlib import Path

from eddy.core.errors import Conflict, NotFound, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobRecord, JobRequest, KernelRecord, Quota, What
from eddy.store.blobs import Blobs
from eddy.store.database import Database
from eddy.store.rows import (
    LOG,
    Commit,
    StoredJob,
    dump_record,
    dump_request,
    event_values,
    load_event,
    load_record,
    load_request,
    request_hash,
)
from eddy.store.tenants import Tenants

_INSERT_EVENT = (
    "INSERT INTO event (job, tenant, at_s, what, state, slot, task, item, started_s, detail)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class Store(Tenants, Blobs):
    """Jobs, events, results, blobs and tenants.

    Args:
        path: The SQLite file, created where missing; ``":memory:"`` for one that is gone with the process.
        quota: What a tenant may use that has no bounds of its own.
    """

    def __init__(self, path: str | Path, quota: Quota | None = None) -> None:
        self._db = Database(path)
        self._default_quota = quota or Quota()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    # Jobs ---------------------------------------------------------------------------------------------------------

    def add_job(
        self, request: JobRequest, arrival_s: float, kernel: KernelRecord | None = None, program: str = ""
    ) -> tuple[JobRecord, bool]:
        """Accept a job durably.

        Args:
            request: Already checked against its application, or compiled.
            arrival_s: Board time.
            kernel: For a kernel job, what it is.
            program: And what it was compiled to, kept until it has ended.

        Returns:
            The record, and whether it is new: with a known idempotency key it is the job of the first request.

        Raises:
            Conflict: The key was used for another request.
            QuotaExceeded: The tenant has as many jobs as it may.
        """
        with self._db.transaction() as db:
            known = self.known(request)
            if known is not None:
                return known, False
            self.check_job_quota(request.tenant)
            record = JobRecord(
                id=0,
                tenant=request.tenant,
                application=request.application if kernel is None else f"kernel:{kernel.name}",
                batch=request.batch if kernel is None else -(-kernel.groups // kernel.slice_groups),
                priority=request.priority,
                state=JobState.QUEUED,
                submitted_unix_s=time.time(),
                arrival_s=arrival_s,
                deadline_s=None if request.deadline_s is None else arrival_s + request.deadline_s,
                kernel=kernel,
            )
            values = (request.tenant, record.state.value, dump_request(request), dump_record(record))
            cursor = db.execute("INSERT INTO job (tenant, state, request, record) VALUES (?, ?, ?, ?)", values)
            number = int(cursor.lastrowid or 0)
            if request.idempotency_key:
                key = (request.tenant, request.idempotency_key, request_hash(request), number)
                db.execute("INSERT INTO idempotency VALUES (?, ?, ?, ?)", key)
            if kernel is not None:
                db.execute("INSERT INTO program VALUES (?, ?)", (number, program))
            db.execute(_INSERT_EVENT, event_values(JobEvent(0, number, request.tenant, arrival_s, What.SUBMITTED)))
            return self.job(request.tenant, number), True

    def known(self, request: JobRequest) -> JobRecord | None:
        """The job an idempotency key already names, if any."""
        if not request.idempotency_key:
            return None
        query = "SELECT job, body FROM idempotency WHERE tenant = ? AND key = ?"
        row = self._db.row(query, request.tenant, request.idempotency_key)
        if row is None:
            return None
        if row["body"] != request_hash(request):
            raise Conflict(
                f"idempotency key {request.idempotency_key!r} was used for another request (job {row['job']}):"
                " take a new key",
                field="Idempotency-Key",
                job=row["job"],
            )
        return self.job(request.tenant, row["job"])

    def check_job_quota(self, tenant: str) -> None:
        """Check that a tenant may have one more job.

        Raises:
            QuotaExceeded: It has as many as it may.
        """
        limit = self.quota(tenant).max_jobs
        row = self._db.row("SELECT count(*) AS n FROM job WHERE tenant = ? AND final = 0", tenant)
        if row is not None and row["n"] >= limit:
            raise QuotaExceeded(
                f"tenant {tenant} has {row['n']} jobs that have not ended and may have {limit}: wait, or cancel one",
                limit=limit,
                asked=row["n"] + 1,
            )

    def job(self, tenant: str, job: int) -> JobRecord:
        """One job.

        Raises:
            NotFound: No such job of this tenant.
        """
        row = self._db.row("SELECT id, record FROM job WHERE id = ? AND tenant = ?", job, tenant)
        if row is None:
            raise NotFound(f"no job {job} of tenant {tenant}", field="job", asked=job)
        return _record(row["id"], row["record"])

    def request(self, tenant: str, job: int) -> JobRequest:
        """What was asked for.

        Raises:
            NotFound: No such job of this tenant.
        """
        row = self._db.row("SELECT request FROM job WHERE id = ? AND tenant = ?", job, tenant)
        if row is None:
            raise NotFound(f"no job {job} of tenant {tenant}", field="job", asked=job)
        return load_request(row["request"])

    def program(self, job: int) -> str:
        """What the kernel of a job that has not ended was compiled to.

        Raises:
            NotFound: There is none: no kernel job, or it has ended.
        """
        row = self._db.row("SELECT body FROM program WHERE job = ?", job)
        if row is None:
            raise NotFound(f"no program of job {job}", field="job", asked=job)
        return str(row["body"])

    def jobs(
        self, tenant: str | None, state: JobState | None = None, limit: int = 50, after: int | None = None
    ) -> tuple[JobRecord, ...]:
        """Jobs, newest first.

        Args:
            tenant: Whose; None for everyone's (operators).
            state: Only those in this state.
            limit: At most this many.
            after: Only those older than this id: the last id of the page before.
        """
        where, values = ["1"], list[object]()
        for clause, value in (("tenant = ?", tenant), ("state = ?", state and state.value), ("id < ?", after)):
            if value is not None:
                where.append(clause)
                values.append(value)
        query = f"SELECT id, record FROM job WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?"
        return tuple(_record(row["id"], row["record"]) for row in self._db.rows(query, *values, limit))

    def request_cancel(self, tenant: str, job: int) -> JobRecord:
        """Note durably that a job shall end.

        Raises:
            NotFound: No such job of this tenant.
            Conflict: It has ended, and not as cancelled.
        """
        with self._db.transaction() as db:
            record = self.job(tenant, job)
            if record.state.is_final and record.state is not JobState.CANCELLED:
                raise Conflict(
                    f"job {job} has {record.state.value} already: there is nothing to cancel",
                    field="job",
                    state=record.state.value,
                )
            db.execute("UPDATE job SET cancel = 1 WHERE id = ?", (job,))
            return record

    def unfinished(self) -> tuple[StoredJob, ...]:
        """Every job that has not ended, oldest first; what a restarted hypervisor takes up."""
        rows = self._db.rows("SELECT id, request, record, cancel, snapshot FROM job WHERE final = 0 ORDER BY id")
        return tuple(
            StoredJob(
                load_request(row["request"]),
                _record(row["id"], row["record"]),
                bool(row["cancel"]),
                json.loads(row["snapshot"]),
            )
            for row in rows
        )

    # Events and results -------------------------------------------------------------------------------------------

    def events(
        self, tenant: str | None, job: int | None, after_seq: int = 0, limit: int = 10_000
    ) -> tuple[JobEvent, ...]:
        """The event log, in order.

        Args:
            tenant: Whose; None for everyone's (operators).
            job: Of which job; None for all.
            after_seq: Only later entries.
            limit: At most this many.

        Raises:
            NotFound: No such job of this tenant.
        """
        where, values = ["seq > ?"], list[object]([after_seq])
        if tenant is not None:
            where.append("tenant = ?")
            values.append(tenant)
        if job is not None:
            if tenant is not None:
                self.job(tenant, job)
            where.append("job = ?")
            values.append(job)
        query = f"SELECT * FROM event WHERE {' AND '.join(where)} ORDER BY seq LIMIT ?"
        return tuple(load_event(row) for row in self._db.rows(query, *values, limit))

    def output(self, tenant: str, job: int, name: str) -> bytes:
        """An output buffer of every item, end to end.

        Raises:
            NotFound: No such job of this tenant, or no such output.
            Conflict: Not all items are done.
        """
        record = self.job(tenant, job)
        rows = self._results(job, name)
        if record.items_done < record.batch:
            raise Conflict(
                f"job {job} is {record.state.value}: {record.items_done} of {record.batch} items are done;"
                " outputs can be fetched when all are",
                field="job",
                state=record.state.value,
            )
        if not rows:
            allowed = self.outputs(job)
            raise NotFound(
                f"job {job} has no output {name!r}; it has: {', '.join(allowed)}", field="name", allowed=allowed
            )
        return b"".join(row["data"] for row in rows)

    def log(self, tenant: str, job: int) -> str:
        """What a kernel job printed; "" where it printed nothing, or has not ended.

        Raises:
            NotFound: No such job of this tenant.
        """
        self.job(tenant, job)
        return b"".join(row["data"] for row in self._results(job, LOG)).decode(errors="replace")

    def _results(self, job: int, name: str) -> list[sqlite3.Row]:
        return self._db.rows("SELECT data FROM result WHERE job = ? AND name = ? ORDER BY item", job, name)

    def outputs(self, job: int) -> list[str]:
        """Names of the outputs a job has left."""
        query = "SELECT DISTINCT name FROM result WHERE job = ? AND name <> ? ORDER BY name"
        return [row["name"] for row in self._db.rows(query, job, LOG)]

    # What the hypervisor writes -----------------------------------------------------------------------------------

    def commit(self, commit: Commit) -> None:
        """Write one step's changes: all of them, or nothing."""
        with self._db.transaction() as db:
            for record, snapshot in commit.jobs:
                values = (record.state.value, int(record.state.is_final), dump_record(record), json.dumps(snapshot))
                db.execute(
                    "UPDATE job SET state = ?, final = ?, record = ?, snapshot = ? WHERE id = ?", (*values, record.id)
                )
            over = [(record.id,) for record, _ in commit.jobs if record.kernel is not None and record.state.is_final]
            db.executemany("DELETE FROM program WHERE job = ?", over)
            db.executemany(_INSERT_EVENT, [event_values(event) for event in commit.events])
            db.executemany(
                "INSERT INTO result (job, name, item, data) VALUES (?, ?, ?, ?)",
                [(r.job, r.name, r.item, r.data) for r in commit.results],
            )
            db.executemany(
                "INSERT OR REPLACE INTO slot (slot, snapshot) VALUES (?, ?)",
                [(slot, json.dumps(snapshot)) for slot, snapshot in commit.slots.items()],
            )
            db.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", list(commit.meta.items()))

    def slot_snapshots(self) -> dict[int, dict[str, object]]:
        """What the hypervisor last wrote about each slot."""
        return {row["slot"]: json.loads(row["snapshot"]) for row in self._db.rows("SELECT * FROM slot")}

    def meta(self, key: str, default: str = "") -> str:
        """A value kept by name."""
        row = self._db.row("SELECT value FROM meta WHERE key = ?", key)
        return str(row["value"]) if row is not None else default


def _record(number: int, text: str) -> JobRecord:
    """A record from its row; the id is the row's."""
    return dataclasses.replace(load_record(text), id=number)
