# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that have ended go: by age, by count and by tenant, a few at a time.

First their rows, in one transaction: from then on they are nowhere to be seen. Then, a part at a time, what there may
be very much of: the files of their outputs, the rows of those, and their events; which jobs' these are is written down
with the first step. So a process that ends anywhere leaves no job in part, and the next one goes on from there.
Accounts of use and the audit log keep what they have.

Nothing goes that somebody waits for who has not ended, nor an array before all of it can: the state of an array is that
of all its jobs. Jobs whose outputs are held stay too, unless their tenant is removed.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from eddy.store.db.bounds import JobBounds
from eddy.store.db.database import MAX_VALUES, Database
from eddy.store.disk import files
from eddy.store.disk.names import output_name
from eddy.store.job_tables.events import ALL
from eddy.store.job_tables.jobs import JobTable
from eddy.store.job_tables.listing import Place
from eddy.store.job_tables.retention import Retention

BATCH = 50
"""Jobs that are looked at in one transaction: others wait for it. Of an array all its jobs go in one."""
ROWS = 500
"""Rows of events, or of outputs, that go in one transaction."""
MIN_AGE_S = 60.0
"""Wall seconds since its end for which a job stays, whatever bounds say: who waits for it hears of its end."""
PURGED = "purged_jobs"
"""Name of the value that says how many jobs were purged in all."""
_FIRST: Place = (-1, -1)
_OLDEST = """
    SELECT id, array, closed_us FROM job
    WHERE tenant = ? AND closed_us IS NOT NULL AND closed_us <= ? AND (closed_us, id) > (?, ?)
    ORDER BY closed_us, id LIMIT ?
"""
_REACHED = """
    INSERT INTO purged_to (tenant, seq) VALUES (?, ?)
    ON CONFLICT (tenant) DO UPDATE SET seq = max(seq, excluded.seq)
"""
_SMALL = ("held", "program", "label", "idempotency")
"""Tables with few rows of a job, in the column `job`."""


class Purge:
    """Removes jobs that have ended.

    Args:
        retention: Counts the bytes of their outputs.

    Attributes:
        jobs_gone: Jobs that were purged since the start.
    """

    def __init__(self, db: Database, jobs: JobTable, retention: Retention, outputs: Path) -> None:
        self._db, self._jobs, self._retention, self._outputs = db, jobs, retention, outputs
        self.jobs_gone = 0

    def count_purged(self) -> int:
        """Jobs that were purged since there is this data base."""
        row = self._db.row("SELECT value FROM meta WHERE key = ?", PURGED)
        return 0 if row is None else int(row["value"])

    def is_due(self, bounds: JobBounds) -> bool:
        """Whether there is something to do: what is kept exceeds bounds, or some jobs have gone in part."""
        return bool(self._plan(bounds)) or self._left() is not None

    def purge_excess(self, bounds: JobBounds) -> Iterator[int]:
        """Remove what is too old or too much, one transaction at each step; gives how many jobs went in it.

        Raises:
            StorageFailed: It cannot be written; what went before is gone, what did not is whole.
        """
        yield from self._finish()
        for tenant, (before_us, most) in self._plan(bounds).items():
            yield from self.purge_tenant(tenant, before_us, most)

    def purge_tenant(
        self, tenant: str, before_us: int, most: int | None = None, everything: bool = False
    ) -> Iterator[int]:
        """Remove the jobs of a tenant that ended first, one transaction at each step; gives how many went in it.

        Args:
            before_us: Only those that had ended by then, in microseconds of wall time.
            most: As many; more where an array goes, which goes whole. None for all.
            everything: Also those that are held or waited for.

        Raises:
            StorageFailed: It cannot be written.
        """
        yield from self._finish()  # what an earlier process left of jobs that were gone
        place: Place | None = _FIRST
        while place is not None and (most is None or most > 0):
            gone, place = self._step(tenant, before_us, most, place, everything)
            if most is not None:
                most -= gone
            yield gone
            if gone:
                yield from self._finish()

    def _plan(self, bounds: JobBounds) -> dict[str, tuple[int, int | None]]:
        """For each tenant that is to lose jobs, the latest end of those, and how many; None for any number."""
        ended, now_us = self._jobs.tally.count_ended(), round(time.time() * 1e6)
        latest_us = now_us - round(MIN_AGE_S * 1e6)
        plan: dict[str, tuple[int, int | None]] = {
            tenant: (latest_us, count) for tenant, count in bounds.excess(ended).items()
        }
        if bounds.max_age_s:
            before_us = min(now_us - round(bounds.max_age_s * 1e6), latest_us)
            for tenant in ended:
                old = self._count_ended(tenant, before_us)
                if old and old > (plan.get(tenant, (0, 0))[1] or 0):
                    plan[tenant] = before_us, None
        return plan

    def _count_ended(self, tenant: str, before_us: int) -> int:
        """How many jobs of a tenant had ended by then."""
        query = "SELECT count(*) AS jobs FROM job WHERE tenant = ? AND closed_us IS NOT NULL AND closed_us <= ?"
        return int(self._db.rows(query, tenant, before_us)[0]["jobs"])

    def _step(
        self, tenant: str, before_us: int, most: int | None, place: Place, everything: bool
    ) -> tuple[int, Place | None]:
        """Look at some jobs, and remove those that can go, in one transaction; answers how many went, and where to go
        on: None at the end."""
        with self._db.transaction() as db:
            limit = BATCH if most is None else min(BATCH, most)
            rows = self._db.rows(_OLDEST, tenant, before_us, *place, limit)
            gone: dict[int, None] = {}
            arrays = set[int]()
            for row in rows:
                if row["array"] not in arrays:
                    gone.update(dict.fromkeys(self._unit(row["id"], row["array"], before_us, everything)))
                if row["array"] is not None:
                    arrays.add(row["array"])
            self._remove(db, tenant, list(gone))
            self._db.after_commit(lambda: self._note_removed(tenant, len(gone)))
        return len(gone), (rows[-1]["closed_us"], rows[-1]["id"]) if len(rows) == limit else None

    def _unit(self, job: int, array: int | None, before_us: int, everything: bool) -> list[int]:
        """A job with all that goes together with it; empty where it has to stay."""
        if array is None:
            unit = [job]
        else:
            rows = self._db.rows("SELECT id, closed_us FROM job WHERE array = ?", array)
            if any(type(row["closed_us"]) is not int or row["closed_us"] > before_us for row in rows):
                return []
            unit = [row["id"] for row in rows]
        if everything:
            return unit
        awaited = self._jobs.awaited
        if any(each in awaited for each in (*unit, *([] if array is None else [array]))) or self._held(unit):
            return []
        return unit

    def _held(self, jobs: Sequence[int]) -> bool:
        if len(jobs) == 1:
            return self._db.row("SELECT 1 FROM held WHERE job = ?", jobs[0]) is not None
        query = (
            "SELECT 1 FROM job JOIN held ON held.job = job.id WHERE job.array = (SELECT array FROM job WHERE id = ?)"
        )
        return self._db.row(query, jobs[0]) is not None

    def _remove(self, db: sqlite3.Connection, tenant: str, jobs: Sequence[int]) -> None:
        """Remove the rows of jobs but for those there may be very many of, and note that these are left, and up to
        where events are no longer all there."""
        latest = [self._db.rows("SELECT max(seq) AS seq FROM event WHERE job = ?", job)[0]["seq"] or 0 for job in jobs]
        for whose in (tenant, ALL) if jobs else ():
            db.execute(_REACHED, (whose, max(latest)))
        for begin in range(0, len(jobs), MAX_VALUES):
            part = jobs[begin : begin + MAX_VALUES]
            marks = ", ".join("?" * len(part))
            for table in _SMALL:
                db.execute(f"DELETE FROM {table} WHERE job IN ({marks})", part)
            db.execute(f"DELETE FROM job WHERE id IN ({marks})", part)
            db.execute(f"INSERT INTO purged (job) VALUES {', '.join(['(?)'] * len(part))}", part)
        if jobs:
            count = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = value + ?"
            db.execute(count, (PURGED, len(jobs), len(jobs)))

    def _note_removed(self, tenant: str, jobs: int) -> None:
        self._jobs.tally.purged(tenant, jobs)
        self.jobs_gone += jobs

    # What is left of jobs that are gone -----------------------------------------------------------------------------

    def _left(self) -> int | None:
        """A job of which something is left; None where there is none."""
        row = self._db.row("SELECT job FROM purged LIMIT 1")
        return None if row is None else int(row["job"])

    def _finish(self) -> Iterator[int]:
        """Remove what is left of all jobs that are gone."""
        while (job := self._left()) is not None:
            names = self._db.rows("SELECT DISTINCT name FROM result WHERE job = ?", job)
            for row in names:
                files.remove_unnamed(self._outputs / output_name(job, row["name"]))
            more = True
            while more:
                more = self._part(job)
                yield 0

    def _part(self, first: int) -> bool:
        """Remove rows of one job, and of others that have no outputs, in one transaction; answers whether the first
        one has more."""
        with self._db.transaction(durable=False) as db:
            room, freed, done = ROWS, 0, list[int]()
            for row in self._db.rows("SELECT job FROM purged LIMIT ?", BATCH):
                job = row["job"]
                results = self._db.rows("SELECT name, item, bytes FROM result WHERE job = ? LIMIT ?", job, room)
                if results and job != first:
                    continue  # its files go first
                keys = [(job, each["name"], each["item"]) for each in results]
                db.executemany("DELETE FROM result WHERE job = ? AND name = ? AND item = ?", keys)
                freed, room = freed + sum(each["bytes"] for each in results), room - len(results)
                if room > 0:
                    some = "SELECT seq FROM event WHERE job = ? ORDER BY seq LIMIT ?"
                    room -= db.execute(f"DELETE FROM event WHERE seq IN ({some})", (job, room)).rowcount
                if room <= 0:
                    break
                done.append(job)
            db.executemany("DELETE FROM purged WHERE job = ?", [(job,) for job in done])
            self._db.after_commit(lambda: self._retention.mark_freed(freed))
            return self._db.row("SELECT 1 FROM purged WHERE job = ?", first) is not None
