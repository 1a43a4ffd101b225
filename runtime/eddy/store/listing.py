"""Lists of jobs: filters, an order, and pages that cost what they hold, however many jobs there are.

Each page begins where the one before ended, at a place in the order (`Place`) and not after a number of rows, so the
hundredth costs what the first does. Each filter alone has an index in that order. Several together walk the index of
one of them and leave out what does not fit the others.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from eddy.core.jobs import JobState
from eddy.core.records import JobRecord
from eddy.store.database import Database
from eddy.store.rows import record_of

INSERT_LABELS = "INSERT INTO label (tenant, name, value, submitted_us, job)"
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
class Wanted:
    """Which jobs to list; None for any.

    Attributes:
        tenant: Whose.
        state: In which state.
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


def listing(wanted: Wanted, after: Place | None, limit: int) -> tuple[str, list[object]]:
    """The query of a page, with its values; rows have `id`, `record` and `place`, what they are ordered by.

    Args:
        wanted: Which jobs.
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
        _match(where, values, {"label.tenant": wanted.tenant, "label.name": labels[0][0], "label.value": labels[0][1]})
        labels = labels[1:]
    else:
        _match(where, values, {"job.tenant": wanted.tenant})
    _match(where, values, {"job.array": wanted.array})
    for application in wanted.applications:
        _match(where, values, {"job.application": application})
    _match(where, values, {"job.state": wanted.state.value if wanted.state else None})
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
        f"SELECT job.id AS id, job.record AS record, {place} AS place FROM {source} WHERE {' AND '.join(where) or '1'}"
        f" ORDER BY {place} {direction}, {number} {direction} LIMIT ?"
    )
    return query, [*values, limit]


def _match(where: list[str], values: list[object], columns: Mapping[str, object]) -> None:
    for column, value in columns.items():
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)


def microseconds(seconds: float) -> int:
    """A time as columns have it."""
    return round(seconds * 1e6)


def label_rows(records: Iterable[JobRecord]) -> list[tuple[str, str, str, int, int]]:
    """What `INSERT_LABELS` takes."""
    return [
        (record.tenant, name, value, microseconds(record.submitted_unix_s), record.id)
        for record in records
        for name, value in record.asked.labels.items()
    ]


class Listing:
    """The part of the store that lists jobs."""

    _db: Database

    def jobs_wanted(
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
        return tuple((record_of(row["id"], row["record"]), (row["place"], row["id"])) for row in rows)

    def jobs(
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
        return tuple(record for record, _ in self.jobs_wanted(Wanted(tenant, state), limit, place))

    def states(self, jobs: Collection[int]) -> dict[int, JobState]:
        """In which state jobs are, on disk or not yet; those there are not are left out."""
        marks = ", ".join("?" * len(jobs))
        rows = self._db.fresh_rows(f"SELECT id, state FROM job WHERE id IN ({marks})", *jobs)
        return {row["id"]: JobState(row["state"]) for row in rows}

    def missing(self, tenant: str, jobs: Sequence[int]) -> list[int]:
        """Those of some ids that no job of a tenant has."""
        marks = ", ".join("?" * len(jobs))
        rows = self._db.rows(f"SELECT id FROM job WHERE tenant = ? AND id IN ({marks})", tenant, *jobs)
        there = {row["id"] for row in rows}
        return [job for job in jobs if job not in there]

    def owner(self, job: int) -> str | None:
        """Whose job it is; None where there is none of that id."""
        row = self._db.row("SELECT tenant FROM job WHERE id = ?", job)
        return None if row is None else str(row["tenant"])
