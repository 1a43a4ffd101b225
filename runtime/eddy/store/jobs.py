"""Jobs: their records and requests, lists of them, and how many have not ended."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Sequence

from eddy.core.errors import Conflict, NotFound, StorageDamaged, UnknownCursor
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, JobRequest
from eddy.store.damage import give_up
from eddy.store.database import Database
from eddy.store.faults import legible
from eddy.store.listing import Place, Wanted, listing, microseconds
from eddy.store.numbers import Numbers
from eddy.store.rows import RECORD, StoredJob, load_request, record_of
from eddy.store.tally import Tally


def unknown_place() -> UnknownCursor:
    """Why a page of a list cannot begin where it is to."""
    message = "This cursor is none of this list: ask without it, which begins with the first page."
    return UnknownCursor(message, field="cursor", allowed="`next` of the page before, with the same filters")


class JobTable:
    """All jobs. What one of them is asked for names the tenant, so that one tenant never sees another's.

    Args:
        db: Where they are kept.
        numbers: How jobs are told.

    Attributes:
        tally: How many have not ended.
    """

    def __init__(self, db: Database, numbers: Numbers) -> None:
        self._db, self._numbers = db, numbers
        rows = db.rows("SELECT id, tenant, state FROM job WHERE final = 0")
        self.tally = Tally((row["id"], row["tenant"], row["state"]) for row in rows)

    def get(self, tenant: str, job: int) -> JobRecord:
        """One job.

        Raises:
            NotFound: No such job of this tenant.
        """
        row = self._db.row(f"SELECT {RECORD} FROM job WHERE id = ? AND tenant = ?", job, tenant)
        if row is None:
            raise self.not_found(job, tenant)
        return record_of(row)

    def not_found(self, job: int, tenant: str | None = None) -> NotFound:
        """Why a job cannot be had; the same for one that is not there and for another tenant's.

        Args:
            job: What was taken for its id.
            tenant: Who asks; None for an operator, who may know of all arrays.
        """
        told, values = self._numbers.job.told(job), (job, *([] if tenant is None else [tenant]))
        whose = "" if tenant is None else " AND tenant = ?"
        if self._db.row(f"SELECT 1 FROM job WHERE array = ?{whose} LIMIT 1", *values) is not None:
            message = f"there is no job {told}; it is an array: `eddy array show {told}` shows it"
        else:
            message = f"there is no job {told}: `eddy jobs` lists yours"
        return NotFound(message, field="job", asked=told)

    def request(self, tenant: str, job: int) -> JobRequest:
        """What was asked for.

        Raises:
            NotFound: No such job of this tenant.
        """
        row = self._db.row("SELECT request FROM job WHERE id = ? AND tenant = ?", job, tenant)
        if row is None:
            raise self.not_found(job, tenant)
        return load_request(row["request"])

    def program(self, job: int) -> str:
        """What the kernel of a job that has not ended was compiled to.

        Raises:
            NotFound: There is none: no kernel job, or it has ended.
        """
        row = self._db.row("SELECT body FROM program WHERE job = ?", job)
        if row is None:
            raise NotFound(f"no program of job {self._numbers.job.told(job)}", field="job")
        return str(row["body"])

    def under_way(self, tenant: str | None, limit: int) -> tuple[JobRecord, ...]:
        """Jobs that have not ended, oldest first.

        Args:
            tenant: Whose; None for everyone's (operators).
            limit: At most this many.
        """
        wanted = self.tally.oldest(tenant, limit)
        marks = ", ".join("?" * len(wanted))
        rows = self._db.rows(f"SELECT {RECORD} FROM job WHERE id IN ({marks}) ORDER BY id", *wanted)
        return tuple(record_of(row) for row in rows)

    def unfinished_by_tenant(self) -> dict[str, dict[str, int]]:
        """How many jobs that have not ended each tenant has, by state; those that have none are left out."""
        return self.tally.by_tenant()

    def request_cancel(self, tenant: str, job: int) -> JobRecord:
        """Note that a job shall end; durably once the store has settled (`Store.settle`).

        Raises:
            NotFound: No such job of this tenant.
            Conflict: It has ended, and not as cancelled.
        """
        with self._db.transaction(wait=False) as db:
            record = self.get(tenant, job)
            if record.state.is_final and record.state is not JobState.CANCELLED:
                raise Conflict(
                    f"job {self._numbers.job.told(job)} has {record.state.value} already: there is nothing to cancel",
                    field="job",
                    state=record.state.value,
                )
            db.execute("UPDATE job SET cancel = ? WHERE id = ? AND cancel = 0", (microseconds(time.time()), job))
            return self.get(tenant, job)

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
            give_up(self._db, number, self._numbers.job.told(number), error.message)
            self.tally.drop(number)
            return None

    def unfinished_by_state(self) -> dict[str, int]:
        """Jobs that have not ended, by state; kept, not counted."""
        return self.tally.states()

    def wanted(
        self, wanted: Wanted, limit: int = 50, after: Place | None = None
    ) -> tuple[tuple[JobRecord, Place], ...]:
        """A page of a list: jobs, each with its place.

        Args:
            wanted: Which jobs, in which order.
            limit: At most this many.
            after: The last place of the page before.
        """
        query, values = listing(wanted, after, limit)
        rows = self._db.rows(query, *values)
        return tuple((record_of(row), (row["place"], row["id"])) for row in rows)

    def check_place(self, wanted: Wanted, place: Place) -> None:
        """Check that a page can go on from a place: a job of the list stands there, or stood there when it was here.

        Raises:
            UnknownCursor: Nothing of this list ever stood there.
        """
        at_us, job = place
        query = f"SELECT tenant, {wanted.order.column} AS place FROM job WHERE id = ?"
        row = self._db.row(query, job)
        if row is None:
            last = self._db.row("SELECT seq FROM sqlite_sequence WHERE name = 'job'")
            known = last is not None and 0 < job <= last["seq"]
        else:
            known = row["place"] == at_us and wanted.tenant in (None, row["tenant"])
        if not known:
            raise unknown_place()

    def page(
        self, tenant: str | None, state: JobState | None = None, limit: int = 50, after: int | None = None
    ) -> tuple[JobRecord, ...]:
        """Jobs, newest first.

        Args:
            tenant: Whose; None for everyone's (operators).
            state: Only those in this state.
            limit: At most this many.
            after: Only those older than this job: the last id of the page before.
        """
        place: Place | None = None
        if after is not None:
            row = self._db.row("SELECT submitted_us FROM job WHERE id = ?", after)
            if row is None:
                return ()
            place = int(row["submitted_us"]), after
        return tuple(record for record, _ in self.wanted(Wanted(tenant, state), limit, place))

    def states(self, jobs: Collection[int]) -> dict[int, JobState]:
        """In which state jobs are, on disk or not yet; those there are not are left out."""
        marks = ", ".join("?" * len(jobs))
        rows = self._db.fresh_rows(f"SELECT id, state FROM job WHERE id IN ({marks})", *jobs)
        return {row["id"]: JobState(row["state"]) for row in rows}

    def states_of_array(self, array: int) -> dict[int, JobState]:
        """In which state the jobs of an array are, on disk or not yet; empty where none of it is on record."""
        rows = self._db.fresh_rows("SELECT id, state FROM job WHERE array = ?", array)
        return {row["id"]: JobState(row["state"]) for row in rows}

    def there(self, tenant: str, ids: Sequence[int]) -> tuple[set[int], set[int]]:
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
        """Whose job it is; None where there is none of that id."""
        row = self._db.row("SELECT tenant FROM job WHERE id = ?", job)
        return None if row is None else str(row["tenant"])


_UNFINISHED = f"SELECT {RECORD}, request, snapshot FROM job WHERE final = 0"


@legible("a job's row")
def _stored(row: sqlite3.Row) -> StoredJob:
    """What a restarted hypervisor recovers."""
    snapshot = json.loads(row["snapshot"])
    return StoredJob(load_request(row["request"]), record_of(row), bool(row["cancel"]), snapshot)
