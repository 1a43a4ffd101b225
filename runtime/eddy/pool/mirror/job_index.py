# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head's list of all jobs, so that a page of it costs what it holds: the board's tables and queries, of memory."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from eddy.core.jobs import JobState
from eddy.pool.mirror.usage_accounts import UsedTime, spent_from_json, spent_to_json
from eddy.pool.records.records import PoolJob
from eddy.store.db.schema import migrate
from eddy.store.tables.jobs import unknown_page_error
from eddy.store.tables.listing import INSERT_LABELS, JobFilter, Place, listing, microseconds

_PUT = (
    "INSERT OR REPLACE INTO job (id, tenant, state, final, request, record, submitted_us, application, ended_us, array)"
    " VALUES (?, ?, ?, ?, '', ?, ?, ?, ?, ?)"
)
_CHANGED = (  # what it weighed when it ended was counted then
    "UPDATE job SET state = ?, final = ?, ended_us = ?, record = CASE record WHEN '' THEN ? ELSE record END"
    " WHERE id = ?"
)
_OLDEST = """
    SELECT id, array FROM job AS one
    WHERE tenant = ?1 AND final = 1 AND ended_us <= ?2 AND (array IS NULL OR NOT EXISTS (
        SELECT 1 FROM job WHERE array = one.array AND (final = 0 OR ended_us > ?2)))
    ORDER BY ended_us, id LIMIT ?3
"""
_STATES = "SELECT state, count(*) FROM job WHERE array = ? AND tenant = ? GROUP BY state"


@dataclass(frozen=True, slots=True)
class EndedJob:
    """What is known of an ended job beside what it is listed by: what its record takes, and what it had of boards."""

    tenant: str
    array: int | None
    size_bytes: int
    spent: Mapping[str, UsedTime]


class JobIndex:
    """What jobs are listed by, and nothing else of them; what a head that ends takes along, the next one reads again.

    SQLite keeps it in memory, and in a file without a name where it grows.
    """

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.row_factory = sqlite3.Row
        for pragma in ("journal_mode = OFF", "synchronous = OFF"):
            self._db.execute(f"PRAGMA {pragma}")
        migrate(self._db, Path(tempfile.gettempdir()))

    def add_record(self, job: PoolJob, size_bytes: int = 0) -> None:
        """A record is new, or changed.

        Args:
            job: It.
            size_bytes: As it is kept.
        """
        submitted_us = microseconds(job.submitted_unix_s)
        ended_us = None if job.ended_unix_s is None else microseconds(job.ended_unix_s)
        array = None if job.array is None else job.array.id
        weighs = json.dumps([size_bytes, spent_to_json(job)]) if job.is_ended else ""
        if not self._db.execute(_CHANGED, (job.state, job.is_ended, ended_us, weighs, job.id)).rowcount:
            row = job.id, job.tenant, job.state, job.is_ended, weighs, submitted_us, job.work, ended_us, array
            self._db.execute(_PUT, row)
            labels = [(job.tenant, *pair, submitted_us, job.id) for pair in job.request.get("labels", {}).items()]
            self._db.executemany(f"{INSERT_LABELS} VALUES (?, ?, ?, ?, ?)", labels)

    def has(self, number: int) -> bool:
        """Whether a job is listed."""
        return self._db.execute("SELECT 1 FROM job WHERE id = ?", (number,)).fetchone() is not None

    def forget(self, number: int) -> EndedJob | None:
        """A job is to be listed no more; answers what is known of it, if it had ended."""
        row = self._db.execute("SELECT tenant, array, record FROM job WHERE id = ?", (number,)).fetchone()
        self._db.execute("DELETE FROM label WHERE job = ?", (number,))
        self._db.execute("DELETE FROM job WHERE id = ?", (number,))
        if row is None or not row["record"]:
            return None
        size_bytes, spent = json.loads(row["record"])
        return EndedJob(str(row["tenant"]), row["array"], int(size_bytes), spent_from_json(spent))

    def numbers(self) -> set[int]:
        """Of all jobs that are listed."""
        return {int(row["id"]) for row in self._db.execute("SELECT id FROM job")}

    def count_ended(self) -> dict[str, int]:
        """Jobs that have ended, by tenant."""
        query = "SELECT tenant, count(*) FROM job WHERE final = 1 GROUP BY tenant"
        return {str(tenant): int(jobs) for tenant, jobs in self._db.execute(query)}

    def select_oldest(self, tenant: str, before_us: int, limit: int) -> list[tuple[int, int | None]]:
        """Jobs of a tenant that had ended by then, and their arrays: those that ended first, of whole arrays alone,
        every job of which had ended by then.

        Args:
            tenant: Whose.
            before_us: Wall time, microseconds since 1970.
            limit: At most so many.
        """
        return [(int(row["id"]), row["array"]) for row in self._db.execute(_OLDEST, (tenant, before_us, limit))]

    def page(self, wanted: JobFilter, after: Place | None, limit: int) -> list[Place]:
        """Places of the jobs of a page; the second of a place is the job's number.

        Args:
            wanted: Which jobs, in which order.
            after: The last place of the page before.
            limit: At most this many.
        """
        query, values = listing(wanted, after, limit)
        return [(row["place"], row["id"]) for row in self._db.execute(query, values)]

    def check_place(self, wanted: JobFilter, place: Place) -> None:
        """Check that a page can go on from a place.

        Raises:
            UnknownCursor: No job of this list stands there.
        """
        query = f"SELECT tenant, {wanted.order.column} AS place FROM job WHERE id = ?"
        row = self._db.execute(query, (place[1],)).fetchone()
        if row is None or row["place"] != place[0] or wanted.tenant not in (None, row["tenant"]):
            raise unknown_page_error()

    def states(self, tenant: str, array: int) -> dict[JobState, int]:
        """How many jobs of an array are in which state; nothing where there is none."""
        return {JobState(state): int(jobs) for state, jobs in self._db.execute(_STATES, (array, tenant))}

    def array_owner(self, array: int) -> str | None:
        """Whose array it is; None where there is none of that number."""
        row = self._db.execute("SELECT tenant FROM job WHERE array = ? LIMIT 1", (array,)).fetchone()
        return None if row is None else str(row["tenant"])

    def members(self, array: int) -> list[int]:
        """Jobs of an array, by number."""
        return [int(row["id"]) for row in self._db.execute("SELECT id FROM job WHERE array = ? ORDER BY id", (array,))]

    def select_ended(self, numbers: Iterable[int]) -> list[int]:
        """Of these jobs, those that have ended."""
        query = "SELECT id FROM job WHERE id = ? AND final = 1"
        return [number for number in numbers if self._db.execute(query, (number,)).fetchone() is not None]

    def unfinished(self, tenant: str, array: int) -> list[int]:
        """Jobs of an array that have not ended."""
        query = "SELECT id FROM job WHERE array = ? AND tenant = ? AND final = 0 ORDER BY id"
        return [int(row["id"]) for row in self._db.execute(query, (array, tenant))]
