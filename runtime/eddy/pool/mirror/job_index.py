# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head's list of all jobs, so that a page of it costs what it holds: the board's tables and queries, of memory."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable
from pathlib import Path

from eddy.core.jobs import JobState
from eddy.pool.records.records import PoolJob
from eddy.store.db.schema import migrate
from eddy.store.tables.jobs import unknown_page_error
from eddy.store.tables.listing import INSERT_LABELS, JobFilter, Place, listing, microseconds

_PUT = (
    "INSERT OR REPLACE INTO job (id, tenant, state, final, request, record, submitted_us, application, ended_us, array)"
    " VALUES (?, ?, ?, ?, '', '', ?, ?, ?, ?)"
)
_STATES = "SELECT state, count(*) FROM job WHERE array = ? AND tenant = ? GROUP BY state"


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

    def add_record(self, job: PoolJob) -> None:
        """A record is new, or changed."""
        submitted_us = microseconds(job.submitted_unix_s)
        ended_us = None if job.ended_unix_s is None else microseconds(job.ended_unix_s)
        array = None if job.array is None else job.array.id
        if not self._db.execute("UPDATE job SET state = ?, final = ?, ended_us = ? WHERE id = ?",
                                (job.state, job.is_ended, ended_us, job.id)).rowcount:  # fmt: skip
            row = job.id, job.tenant, job.state, job.is_ended, submitted_us, job.work, ended_us, array
            self._db.execute(_PUT, row)
            labels = [(job.tenant, *pair, submitted_us, job.id) for pair in job.request.get("labels", {}).items()]
            self._db.executemany(f"{INSERT_LABELS} VALUES (?, ?, ?, ?, ?)", labels)

    def has(self, number: int) -> bool:
        """Whether a job is listed."""
        return self._db.execute("SELECT 1 FROM job WHERE id = ?", (number,)).fetchone() is not None

    def forget(self, number: int) -> None:
        """A job is to be listed no more."""
        self._db.execute("DELETE FROM label WHERE job = ?", (number,))
        self._db.execute("DELETE FROM job WHERE id = ?", (number,))

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
