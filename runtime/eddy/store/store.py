"""The store: one SQLite file behind a few plain calls, safe from any thread.

Submissions are durable when `add_job` returns; what one step of the hypervisor changes is durable, all of it or
nothing, when `commit` returns. Every query about jobs names the tenant, so that one tenant never sees another's.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import shutil
import sqlite3
import tempfile
import time
import weakref
from pathlib import Path

from eddy.core.errors import Conflict, NotFound, StorageDamaged, StorageFailed, StorageFull
from eddy.core.faults import Fault
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobRecord, JobRequest
from eddy.core.tenants import Quota
from eddy.files import free_bytes
from eddy.store.arrays import Arrays
from eddy.store.audit import Audit
from eddy.store.damage import give_up
from eddy.store.database import Database, insert
from eddy.store.epochs import Epochs
from eddy.store.faults import legible
from eddy.store.happened import Happened
from eddy.store.holds import Holds
from eddy.store.listing import microseconds
from eddy.store.names import BLOBS, OUTPUTS
from eddy.store.numbers import numbers_of
from eddy.store.outputs import Outputs
from eddy.store.partial import Partials
from eddy.store.retention import Retention
from eddy.store.rows import (
    INSERT_EVENTS,
    INSERT_RESULTS,
    Commit,
    StoredJob,
    dump_record,
    event_values,
    load_event,
    load_request,
    load_snapshot,
    record_of,
)
from eddy.store.sweep import sweep
from eddy.store.tally import Tally
from eddy.store.tenants import Tenants
from eddy.store.usage import Usage

_log = logging.getLogger(__name__)
_MEMORY = "/dev/shm"
"""A file system in memory, on Linux: what ``":memory:"`` keeps beside the rows need not touch a disk either."""


class Store(Tenants, Usage, Audit, Epochs, Partials, Arrays, Outputs, Holds, Retention):
    """Jobs, events, results, blobs and tenants.

    Args:
        path: The SQLite file, created where missing; ``":memory:"`` for one that is gone with the process. Blobs and
            outputs are files in folders beside it.
        quota: What a tenant may use that has no bounds of its own.
    """

    def __init__(self, path: str | Path, quota: Quota | None = None) -> None:
        folder = Path(path).parent
        if str(path) == ":memory:":
            folder = Path(tempfile.mkdtemp(prefix="eddy-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._db = Database(path, folder)
        self.numbers = numbers_of(self._db)
        self._outputs = folder / OUTPUTS
        self.happened = Happened()
        self._db.health.on_trouble = self._in_trouble
        self._output_bytes = self._count_outputs()
        self._open_blobs(folder / BLOBS)
        self._open_holds()
        self._open_partials()
        self._default_quota = quota or Quota()
        self._keyring = self._read_keys()
        self._today = self._read_usage()
        self._tenants_known = self._read_tenants()
        jobs = self._db.rows("SELECT id, tenant, state FROM job WHERE final = 0")
        self._tally = Tally((row["id"], row["tenant"], row["state"]) for row in jobs)

    def _in_trouble(self, error: StorageFailed) -> None:
        self.happened.fault(Fault.FULL_DISK if isinstance(error, StorageFull) else Fault.STORAGE)

    @property
    def problem(self) -> StorageFailed | None:
        """Why nothing can be kept at this moment; None where, as far as is known, it can."""
        return self._db.health.problem

    def failed(self, error: StorageFailed) -> None:
        """Note that something could not be kept: a file too, of which the data base knows nothing."""
        self._db.health.note(error)

    def probe(self) -> None:
        """Look whether something can be kept again, or can no longer; `problem` says so afterwards."""
        self._db.probe()

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of the data base with its log, and those that are free where it lies; for one in memory, 0 and those
        of its folder."""
        files = [self._db.path, self._db.path.with_name(self._db.path.name + "-wal")]
        return sum(file.stat().st_size for file in files if file.exists()), free_bytes(self._outputs)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def sweep(self) -> list[Path]:
        """Delete the files a crash left without a row; answers which. For who owns the folder, before it writes."""
        return sweep(self._db, self._folder, self._outputs)

    # Jobs ---------------------------------------------------------------------------------------------------------

    def job(self, tenant: str, job: int) -> JobRecord:
        """One job.

        Raises:
            NotFound: No such job of this tenant.
        """
        row = self._db.row("SELECT id, record FROM job WHERE id = ? AND tenant = ?", job, tenant)
        if row is None:
            raise self.no_job(job)
        return record_of(row["id"], row["record"])

    def no_job(self, job: int) -> NotFound:
        """Why a job cannot be had; the same for one that is not there and for another tenant's."""
        told = self.numbers.job.told(job)
        return NotFound(f"there is no job {told}: `eddy jobs` lists yours", field="job", asked=told)

    def request(self, tenant: str, job: int) -> JobRequest:
        """What was asked for.

        Raises:
            NotFound: No such job of this tenant.
        """
        row = self._db.row("SELECT request FROM job WHERE id = ? AND tenant = ?", job, tenant)
        if row is None:
            raise self.no_job(job)
        return load_request(row["request"])

    def program(self, job: int) -> str:
        """What the kernel of a job that has not ended was compiled to.

        Raises:
            NotFound: There is none: no kernel job, or it has ended.
        """
        row = self._db.row("SELECT body FROM program WHERE job = ?", job)
        if row is None:
            raise NotFound(f"no program of job {self.numbers.job.told(job)}", field="job")
        return str(row["body"])

    def under_way(self, tenant: str | None, limit: int) -> tuple[JobRecord, ...]:
        """Jobs that have not ended, oldest first.

        Args:
            tenant: Whose; None for everyone's (operators).
            limit: At most this many.
        """
        wanted = self._tally.oldest(tenant, limit)
        marks = ", ".join("?" * len(wanted))
        rows = self._db.rows(f"SELECT id, record FROM job WHERE id IN ({marks}) ORDER BY id", *wanted)
        return tuple(record_of(row["id"], row["record"]) for row in rows)

    def unfinished_by_tenant(self) -> dict[str, dict[str, int]]:
        """How many jobs that have not ended each tenant has, by state; those that have none are left out."""
        return self._tally.by_tenant()

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
                    f"job {self.numbers.job.told(job)} has {record.state.value} already: there is nothing to cancel",
                    field="job",
                    state=record.state.value,
                )
            db.execute("UPDATE job SET cancel = ? WHERE id = ? AND cancel = 0", (microseconds(time.time()), job))
            row = self._db.row("SELECT cancel FROM job WHERE id = ?", job)
            asked_unix_s = cancel_unix_s(row["cancel"]) if row is not None else None
            return dataclasses.replace(record, cancel_asked_unix_s=asked_unix_s)

    def unfinished(self) -> tuple[StoredJob, ...]:
        """Every job that has not ended, oldest first; what a restarted hypervisor recovers.

        A job whose row is damaged ends as failed: it cannot go on, and must not keep the others from it.
        """
        try:
            rows = self._db.rows(_UNFINISHED + " ORDER BY id")
        except StorageDamaged:  # in which one, SQLite does not say
            numbers = self._db.rows("SELECT id FROM job WHERE final = 0 ORDER BY id")
            found = [self._legible(number["id"], None) for number in numbers]
        else:
            found = [self._legible(row["id"], row) for row in rows]
        return tuple(job for job in found if job is not None)

    def _legible(self, number: int, row: sqlite3.Row | None) -> StoredJob | None:
        """A job from its row, read here where it is None; None for a job that was given up."""
        try:
            row = row or self._db.rows(_UNFINISHED + " AND id = ?", number)[0]
            return _stored(row)
        except StorageDamaged as error:
            give_up(self._db, number, self.numbers.job.told(number), error.message)
            self._tally.drop(number)
            return None

    # Events -------------------------------------------------------------------------------------------

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

    def before_last(self, tenant: str | None, count: int) -> int:
        """The sequence number after which there are so many entries of the log, as far as there are.

        Args:
            tenant: Whose; None for everyone's (operators).
            count: Entries.
        """
        where, values = ("tenant = ?", [tenant]) if tenant is not None else ("1", [])
        query = f"SELECT seq FROM event WHERE {where} ORDER BY seq DESC LIMIT 1 OFFSET ?"
        if count == 0:
            row = self._db.row("SELECT MAX(seq) AS seq FROM event")
            return int(row["seq"] or 0) if row is not None else 0
        row = self._db.row(query, *values, count)
        return 0 if row is None else int(row["seq"])

    def latest_in_slots(self, tenant: str | None, limit: int) -> tuple[JobEvent, ...]:
        """The latest ends of loads and items, oldest first: those with a slot and a beginning, of the latest entries.

        Args:
            tenant: Whose; None for everyone's (operators).
            limit: Of this many entries of the log.
        """
        where, values = ("tenant = ?", [tenant]) if tenant is not None else ("1", [])
        query = (
            f"SELECT * FROM (SELECT * FROM event WHERE {where} ORDER BY seq DESC LIMIT ?)"
            " WHERE started_s IS NOT NULL AND slot IS NOT NULL ORDER BY seq"
        )
        return tuple(load_event(row) for row in self._db.rows(query, *values, limit))

    # What the hypervisor writes -----------------------------------------------------------------------------------

    def commit(self, commit: Commit, wait: bool = True) -> None:
        """Write one step's changes: all of them, or nothing; see `Commit.tells` for what they survive.

        The bytes of results are on disk before the rows are.

        Args:
            commit: The changes.
            wait: Whether to wait for the disk; who does not calls `settle` soon. Whoever reads waits for himself.
        """
        results = [*commit.kept, *(self.write_results(commit.results, {}) if commit.results else [])]
        with self._db.transaction(durable=commit.tells, wait=wait) as db:
            for record, snapshot in commit.jobs:
                values = (record.state.value, int(record.state.is_final), dump_record(record), json.dumps(snapshot))
                ended_us = microseconds(record.ended_s or 0.0) if record.state.is_final else None
                db.execute(
                    "UPDATE job SET state = ?, final = ?, record = ?, snapshot = ?, ended_us = ? WHERE id = ?",
                    (*values, ended_us, record.id),
                )
            ended = [(record.id,) for record, _ in commit.jobs if record.state.is_final]
            if ended:
                db.executemany("DELETE FROM program WHERE job = ?", ended)
            insert(db, INSERT_EVENTS, [event_values(event) for event in commit.events])
            insert(db, INSERT_RESULTS, results)
            slots = [(slot, json.dumps(snapshot)) for slot, snapshot in commit.slots.items()]
            insert(db, "INSERT OR REPLACE INTO slot (slot, snapshot)", slots)
            insert(db, "INSERT OR REPLACE INTO meta (key, value)", list(commit.meta.items()))
            self._db.after_commit(lambda: self._moved(commit))
            self._db.after_commit(lambda: self._kept_outputs(results))

    def _moved(self, commit: Commit) -> None:
        self.happened.note(commit.events, (record for record, _ in commit.jobs if record.state.is_final))
        for record, _ in commit.jobs:
            if record.state.is_final:
                self._tally.drop(record.id)
                _say_end(record, self.numbers.job.told(record.id))
            else:
                self._tally.note(record.id, record.tenant, record.state.value)

    def slot_snapshots(self) -> dict[int, dict[str, object]]:
        """What the hypervisor last wrote about each slot."""
        return {row["slot"]: load_snapshot(row["snapshot"]) for row in self._db.rows("SELECT * FROM slot")}

    def remember(self, key: str, value: str) -> None:
        """Keep a value by name (`meta`); it is on disk when this returns."""
        with self._db.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))

    def meta(self, key: str, default: str = "") -> str:
        """A value kept by name."""
        row = self._db.row("SELECT value FROM meta WHERE key = ?", key)
        return str(row["value"]) if row is not None else default


_UNFINISHED = "SELECT id, request, record, cancel, snapshot FROM job WHERE final = 0"


def _say_end(record: JobRecord, told: int) -> None:
    if _log.isEnabledFor(logging.INFO):
        why = {"cause": record.cause} if record.cause else {}
        facts = {"job": told, "tenant": record.tenant, "state": record.state.value, **why}
        _log.info("job %d has ended", told, extra=facts)


@legible("a job's row")
def _stored(row: sqlite3.Row) -> StoredJob:
    """What a restarted hypervisor recovers."""
    record, snapshot = record_of(row["id"], row["record"]), json.loads(row["snapshot"])
    cancel = bool(row["cancel"])
    asked_unix_s = record.cancel_asked_unix_s or cancel_unix_s(row["cancel"])
    record = dataclasses.replace(record, cancel_asked_unix_s=asked_unix_s if cancel else None)
    return StoredJob(load_request(row["request"]), record, cancel, snapshot)


def cancel_unix_s(column: int) -> float | None:
    """When the end of a job was asked for, as its row has it in microseconds; 1 in those of older versions."""
    return column / 1e6 if column > 1 else None
