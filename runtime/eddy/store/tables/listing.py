# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lists of jobs: filters, an order, and pages that cost what they hold, however many jobs there are.

Each page begins where the one before ended, at a place in the order (`Place`) and not after a number of rows, so the
hundredth costs what the first does. Each filter alone has an index in that order. Several together walk the index of
one of them and leave out what does not fit the others.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eddy.core.jobs import JobState
from eddy.core.records import JobRecord
from eddy.store.db.rows import RECORD

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
class JobFilter:
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


def listing(wanted: JobFilter, after: Place | None, limit: int) -> tuple[str, list[object]]:
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
        f"SELECT {RECORD}, {place} AS place FROM {source} WHERE {' AND '.join(where) or '1'}"
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
