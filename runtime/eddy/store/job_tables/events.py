# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The event log: what happened to jobs, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from eddy.core.errors import RecordDamaged, UnknownCursor
from eddy.core.records import JobEvent
from eddy.store.db.damage import RecordKind
from eddy.store.db.database import Database
from eddy.store.db.rows import damaged_event, load_event
from eddy.store.job_tables.jobs import JobTable

PART = 10_000
"""Entries that are read at once, where nobody says how many."""
ALL = ""
"""In place of a tenant's name, for everyone's entries."""
_KEPT = "job NOT IN (SELECT job FROM purged)"
"""Not of a job that is gone, whose entries go a part at a time."""


def unknown_event_error(asked: int) -> UnknownCursor:
    """Why a stream cannot go on from an event; `asked` is what that was called."""
    message = (
        f"There is no event {asked} in this stream, or some after it were removed with their jobs. Ask without"
        " Last-Event-ID, and look at the jobs as they are now."
    )
    return UnknownCursor(message, field="Last-Event-ID", asked=asked)


class Events:
    """The log of what happened to jobs."""

    def __init__(self, db: Database, jobs: JobTable) -> None:
        self._db, self._jobs = db, jobs

    def list_events(
        self, tenant: str | None, job: int | None, after_seq: int = 0, limit: int = PART
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
        where, values = ["seq > ?", _KEPT], list[object]([after_seq])
        if tenant is not None:
            where.append("tenant = ?")
            values.append(tenant)
        if job is not None:
            if tenant is not None:
                self._jobs.check_there(tenant, job)
            where.append("job = ?")
            values.append(job)
        query = f"SELECT * FROM event WHERE {' AND '.join(where)} ORDER BY seq LIMIT ?"
        return self._legible(self._db.rows(query, *values, limit))

    def _legible(self, rows: Iterable[sqlite3.Row]) -> tuple[JobEvent, ...]:
        """Entries from their rows. In the place of a damaged one stands one that says so: who follows the log, or reads
        it a part at a time, counts on as many as there are rows."""
        found = []
        for row in rows:
            try:
                found.append(load_event(row))
            except RecordDamaged as error:
                self._db.damage.note(RecordKind.EVENT, row["seq"], str(error.details["how"]))
                found.append(damaged_event(row))
        return tuple(found)

    def check_known(self, tenant: str | None, job: int | None, seq: int, asked: int) -> None:
        """Check that an entry of the log is one that somebody who follows a part of it may have seen.

        An entry that was removed with its job is one as long as no later one was: who has it misses none.

        Args:
            tenant: Whose events are followed; None for everyone's (operators).
            job: Of which job; None for all.
            seq: Number of the entry; 0 for the place before the first one.
            asked: What the entry was called.

        Raises:
            UnknownCursor: There is none; the same where it is not there, and where it is of another job or tenant. Or
                later ones were removed with their jobs.
        """
        reached = 0 if job is not None else self._reached(tenant)
        if seq in (0, reached):
            return
        row = self._db.row("SELECT tenant, job FROM event WHERE seq = ?", seq) if seq > reached else None
        if row is None or tenant not in (None, row["tenant"]) or job not in (None, row["job"]):
            raise unknown_event_error(asked)

    def _reached(self, tenant: str | None) -> int:
        """The latest entry of a tenant, or of anyone, that was removed; 0 for none."""
        row = self._db.row("SELECT seq FROM purged_to WHERE tenant = ?", ALL if tenant is None else tenant)
        if row is None:
            return 0
        if type(row["seq"]) is not int:  # how much was removed is not known: whoever followed begins again
            self._db.damage.note(RecordKind.EVENT, f"removed of {tenant}", f"seq is {row['seq']!r:.40}")
            return self.last()
        return int(row["seq"])

    def last(self) -> int:
        """The number of the latest entry there ever was; 0 for none."""
        row = self._db.row("SELECT seq FROM sqlite_sequence WHERE name = 'event'")
        return 0 if row is None else int(row["seq"])

    def read_all(self, tenant: str, job: int) -> Iterator[JobEvent]:
        """The whole log of a job, in order, read a part at a time.

        Raises:
            NotFound: No such job of this tenant.
        """
        part = self.list_events(tenant, job, 0, PART)
        yield from part
        while len(part) == PART:
            part = self.list_events(tenant, job, part[-1].seq, PART)
            yield from part

    def before_last(self, tenant: str | None, count: int) -> int:
        """The sequence number after which there are so many entries of the log, as far as there are.

        Args:
            tenant: Whose; None for everyone's (operators).
        """
        where, values = ("tenant = ?", [tenant]) if tenant is not None else ("1", [])
        query = f"SELECT seq FROM event WHERE {where} ORDER BY seq DESC LIMIT 1 OFFSET ?"
        if count == 0:
            return self.last()
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
            f" WHERE started_s IS NOT NULL AND slot IS NOT NULL AND {_KEPT} ORDER BY seq"
        )
        return self._legible(self._db.rows(query, *values, limit))
