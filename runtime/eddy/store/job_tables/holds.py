# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Outputs that are held: retention passes them over. A tenant's holds count among the bytes it may keep."""

from __future__ import annotations

import dataclasses
import sqlite3
import threading

from eddy.core.errors import Conflict
from eddy.core.records import JobRecord
from eddy.store.bytes.blobs import MAX_BYTES, check_summable
from eddy.store.db.database import Database
from eddy.store.db.ledger import Ledger
from eddy.store.db.numbers import Numbers
from eddy.store.db.rows import dump_record
from eddy.store.job_tables.jobs import JobTable
from eddy.store.job_tables.retention import require_outputs

TENANT, OPERATOR = "tenant", "operator"
"""Who holds, as records say it."""


class Holds:
    """Which jobs' outputs are held.

    Args:
        ledger: Of the bytes tenants keep; what they hold is booked in it.
    """

    def __init__(self, db: Database, numbers: Numbers, jobs: JobTable, ledger: Ledger) -> None:
        self._db, self._numbers, self._jobs, self._ledger = db, numbers, jobs, ledger
        self._changing = threading.Lock()
        """What is booked follows what is written, also where the disk refuses after it was."""
        query = f"SELECT tenant, sum(bytes) AS n FROM held WHERE {check_summable('bytes')} GROUP BY tenant"
        for row in db.rows(query):
            ledger.book_kept(row["tenant"], row["n"])

    def hold(self, tenant: str, job: int, by: str = TENANT) -> JobRecord:
        """Keep what a job left until it is let go; holding twice is holding.

        Args:
            by: `TENANT` or `OPERATOR`; an operator's hold replaces a tenant's, and costs the tenant nothing.

        Raises:
            NotFound: No such job of this tenant.
            Conflict: It has not ended.
            OutputsCollected: What it left was removed already.
            QuotaExceeded: The tenant may not keep so many bytes.
        """
        with self._changing:
            return self._hold(tenant, job, by)

    def _hold(self, tenant: str, job: int, by: str) -> JobRecord:
        booked, before = 0, self._held_bytes(job)
        try:
            with self._db.transaction() as db:
                record = self._jobs.get(tenant, job)
                if not record.state.is_final:
                    told = self._numbers.job.public_id(job)
                    raise Conflict(
                        f"job {told} is {record.state.value}: hold its outputs once it has ended",
                        field="job",
                        state=record.state.value,
                    )
                require_outputs(record, self._numbers)
                if record.held_by in (by, OPERATOR):
                    return record
                (size,) = self._db.rows(
                    "SELECT coalesce(sum(bytes), 0) AS n FROM result WHERE job = ?" + f" AND {check_summable('bytes')}",
                    job,
                )
                if by == TENANT:
                    self._ledger.book(tenant, size["n"])
                    booked = size["n"]
                values = job, tenant, size["n"] if by == TENANT else 0
                db.execute("INSERT OR REPLACE INTO held (job, tenant, bytes) VALUES (?, ?, ?)", values)
                return self._say(db, record, by)
        finally:
            self._ledger.release(tenant, booked + before - self._held_bytes(job))

    def let_go(self, tenant: str, job: int, by: str = TENANT) -> JobRecord:
        """Have what a job left go when room is needed; nothing changes where it is not held.

        Raises:
            NotFound: No such job of this tenant.
            Conflict: An operator holds it, and a tenant asks.
        """
        with self._changing:
            before = self._held_bytes(job)
            try:
                with self._db.transaction() as db:
                    record = self._jobs.get(tenant, job)
                    if record.held_by == OPERATOR and by != OPERATOR:
                        told = self._numbers.job.public_id(job)
                        raise Conflict(f"the operator holds the outputs of job {told}: ask the operator", field="job")
                    db.execute("DELETE FROM held WHERE job = ?", (job,))
                    return self._say(db, record, "")
            finally:
                self._ledger.release(tenant, before - self._held_bytes(job))

    def _held_bytes(self, job: int) -> int:
        row = self._db.row("SELECT bytes FROM held WHERE job = ?", job)
        size = 0 if row is None else row["bytes"]
        return size if type(size) is int and 0 <= size <= MAX_BYTES else 0

    def _say(self, db: sqlite3.Connection, record: JobRecord, by: str) -> JobRecord:
        held = dataclasses.replace(record, held_by=by)
        db.execute("UPDATE job SET record = ? WHERE id = ?", (dump_record(held), record.id))
        return held
