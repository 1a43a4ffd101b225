# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lists of jobs: filters, an order, and pages that cost what they hold, however many jobs there are.

Each page begins where the one before ended, at a place in the order (`Place`) and not after a number of rows, so the
hundredth costs what the first does. Each filter alone has an index in that order. Several together walk the index of
one of them and leave out what does not fit the others.
"""

from __future__ import annotations

import enum
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from eddy.core.errors import UnknownCursor
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.rows import RECORD, record_of
from eddy.store.job_tables.jobs import JobTable

Place = tuple[int, int]
"""Where a job stands in an order: what it is ordered by, in microseconds, and its id."""


class ListOrder(str, enum.Enum):
    """What jobs are listed by; jobs of one instant by their ids."""

    NEWEST = "newest"
    """Wall time of submission, the latest first."""
    OLDEST = "oldest"
    ENDED = "ended"
    """Board time of the end, the latest first; only jobs that have ended."""

    @property
    def column(self) -> str:
        """What of a row it goes by."""
        return "ended_us" if self is ListOrder.ENDED else "submitted_us"


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list; None for any.

    Attributes:
        applications: Of which application, as records have it; of all of them, so of none where they differ.
        labels: With which labels, names and values; all of them.
        from_us: Submitted at this wall time or later.
        before_us: Submitted before this wall time.
        array: Of which array.
        order: In which order.
    """

    tenant: str | None = None
    state: JobState | None = None
    applications: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    from_us: int | None = None
    before_us: int | None = None
    array: int | None = None
    order: ListOrder = ListOrder.NEWEST


def page_query(wanted: JobFilter, after: Place | None, limit: int) -> tuple[str, list[object]]:
    """The query of a page, with its values; rows have `id`, `record` and `place`, what they are ordered by.

    Args:
        after: Where the page before ended.
        limit: At most this many.
    """
    source, key, where, values = "job", "", list[str](), list[object]()
    labels = list(wanted.labels)
    if wanted.order is ListOrder.ENDED:
        source = f"job INDEXED BY {'job_by_end' if wanted.tenant is None else 'job_by_tenant_and_end'}"
    if labels and wanted.order is not ListOrder.ENDED:
        # In the index of the label, which has the order too; CROSS JOIN keeps SQLite from beginning elsewhere.
        source, key = "label CROSS JOIN job ON job.id = label.job", "label."
        _add_filters(
            where, values, {"label.tenant": wanted.tenant, "label.name": labels[0][0], "label.value": labels[0][1]}
        )
        labels = labels[1:]
    else:
        _add_filters(where, values, {"job.tenant": wanted.tenant})
    _add_filters(where, values, {"job.array": wanted.array})
    for application in wanted.applications:
        _add_filters(where, values, {"job.application": application})
    _add_filters(where, values, {"job.state": wanted.state.value if wanted.state else None})
    for name, value in labels:
        where.append(
            "EXISTS (SELECT 1 FROM label AS other WHERE other.tenant = job.tenant AND other.name = ?"
            " AND other.value = ? AND other.submitted_us = job.submitted_us AND other.job = job.id)"
        )
        values += [name, value]
    submitted, place = f"{key or 'job.'}submitted_us", f"{key or 'job.'}{wanted.order.column}"
    for comparison, bound in ((">=", wanted.from_us), ("<", wanted.before_us)):
        if bound is not None:
            where.append(f"{submitted} {comparison} ?")
            values.append(bound)
    number = f"{key}job" if key else "job.id"
    up = wanted.order is ListOrder.OLDEST
    if after is not None:
        where.append(f"({place}, {number}) {'>' if up else '<'} (?, ?)")
        values += after
    if wanted.order is ListOrder.ENDED:
        where.append("job.ended_us IS NOT NULL")
    direction = "ASC" if up else "DESC"
    query = (
        f"SELECT {RECORD}, {place} AS place FROM {source} WHERE {' AND '.join(where) or '1'}"
        f" ORDER BY {place} {direction}, {number} {direction} LIMIT ?"
    )
    return query, [*values, limit]


def _add_filters(where: list[str], values: list[object], columns: Mapping[str, object]) -> None:
    for column, value in columns.items():
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)


def unknown_page_error() -> UnknownCursor:
    """Why a page of a list cannot begin where it is to."""
    message = "This cursor is none of this list: ask without it, which begins with the first page."
    return UnknownCursor(message, field="cursor", allowed="`next` of the page before, with the same filters")


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list of jobs.

    Attributes:
        records: In order.
        damaged: Jobs that belong there too, and whose records cannot be read.
        following: Where it ends, for the page after it; None on the last.
    """

    records: tuple[JobRecord, ...]
    damaged: tuple[int, ...]
    following: Place | None


class JobLists:
    """Lists of jobs, page by page."""

    def __init__(self, db: Database, jobs: JobTable) -> None:
        self._db, self._jobs = db, jobs

    def find_page(self, wanted: JobFilter, limit: int = 50, after: Place | None = None) -> ListPage:
        """A page of a list.

        Args:
            wanted: Which jobs, in which order.
            limit: At most this many, damaged ones among them.
            after: Where the page before ended.
        """
        rows, page = self._wanted(wanted, limit, after)
        places = [(row["place"], row["id"]) for row in page if type(row["place"]) is int]
        while len(rows) > limit and not places:  # a place that is damaged is none to go on from
            limit *= 2
            rows, page = self._wanted(wanted, limit, after)
            places = [(row["place"], row["id"]) for row in page if type(row["place"]) is int]
        records = tuple(self._db.damage.read_rows(RecordKind.JOB, page, lambda row: row["id"], _listed))
        damaged = {row["id"] for row in page} - {record.id for record in records}
        return ListPage(records, tuple(sorted(damaged)), places[-1] if len(rows) > limit else None)

    def _wanted(
        self, wanted: JobFilter, limit: int, after: Place | None
    ) -> tuple[list[sqlite3.Row], list[sqlite3.Row]]:
        """The rows of a page with the one that follows, and without."""
        query, values = page_query(wanted, after, limit + 1)
        rows = self._db.rows(query, *values)
        return rows, rows[:limit]

    def check_place(self, wanted: JobFilter, place: Place) -> None:
        """Check that a page can go on from a place: a job of the list stands there, or stood there when it was here.

        Raises:
            UnknownCursor: Nothing of this list ever stood there.
        """
        at_us, job = place
        query = f"SELECT tenant, {wanted.order.column} AS place FROM job WHERE id = ?"
        row = self._db.row(query, job)
        if row is None:
            known = 0 < job <= self._jobs.last_id()
        else:
            known = row["place"] == at_us and wanted.tenant in (None, row["tenant"])
        if not known:
            raise unknown_page_error()

    def page(
        self, tenant: str | None, state: JobState | None = None, limit: int = 50, after: int | None = None
    ) -> tuple[JobRecord, ...]:
        """Jobs, newest first; damaged ones are left out.

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
        return self.find_page(JobFilter(tenant, state), limit, place).records


@names_damage("a job's row")
def _listed(row: sqlite3.Row) -> JobRecord:
    if type(row["place"]) is not int:
        raise TypeError(f"its place in the list is {row['place']!r:.40}")
    return record_of(row)
