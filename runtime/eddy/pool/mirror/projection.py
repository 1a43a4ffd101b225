# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head has read of the bucket of jobs, in a SQLite file of its own: a board's tables of jobs, and the entries
they were made from. All in it follows from the entries, so a file that is lost or damaged is made again.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog

from eddy.core.errors import StorageDamaged
from eddy.pool.jetstream.jobs import JobEntry
from eddy.pool.jetstream.kept_usage import KeptUsage
from eddy.pool.mirror.estimates import ItemTimes
from eddy.pool.mirror.usage_accounts import UsedTime, spent_to_json
from eddy.pool.records.record_json import UnreadableRecord, job_from_json
from eddy.pool.records.records import CANCELLED, FAILED, PoolJob
from eddy.store.db.rows import INSERT_LABELS, microseconds
from eddy.store.db.schema import MIGRATIONS, migrate
from eddy.store.job_tables.listing import JobFilter, Place, page_query, unknown_page_error

ENTRY_BYTES = 512
"""What a job takes beside its record: the entry of its idempotency key, and what a server adds to both."""
FORMAT = f"1.{len(MIGRATIONS)}"
"""Of the file: one of another is made again."""
MAX_FILES = 64
"""Heads of one folder that have a file each; a further one keeps what it reads in memory."""
REMOVED = 1000
"""Keys that are kept of records that were removed last: a killed server forgets removals of its last minutes."""
_SCHEMA = f"""
    CREATE TABLE pool_entry (
        key TEXT PRIMARY KEY,
        revision INTEGER NOT NULL,
        written_us INTEGER NOT NULL,
        tenant TEXT,
        size_bytes INTEGER NOT NULL,
        mark INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX entry_by_revision ON pool_entry (revision);
    CREATE INDEX entry_of_no_job ON pool_entry (mark, revision) WHERE tenant IS NULL;
    CREATE TABLE pool_held (id INTEGER PRIMARY KEY, array INTEGER NOT NULL, record TEXT NOT NULL);
    CREATE INDEX held_by_array ON pool_held (array);
    CREATE TABLE pool_kept (tenant TEXT PRIMARY KEY, size_bytes INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE pool_spent (
        day TEXT NOT NULL,
        tenant TEXT NOT NULL,
        slot_ns INTEGER NOT NULL,
        core_ns INTEGER NOT NULL,
        PRIMARY KEY (day, tenant)
    ) WITHOUT ROWID;
    CREATE TABLE pool_times (
        work TEXT NOT NULL,
        kind TEXT NOT NULL,
        count INTEGER NOT NULL,
        mean_s REAL NOT NULL,
        squares REAL NOT NULL,
        PRIMARY KEY (work, kind)
    ) WITHOUT ROWID;
    INSERT INTO meta VALUES ('projection', '{FORMAT}');
"""
_PUT = (
    "INSERT INTO job (id, tenant, state, final, request, record, snapshot, submitted_us, application, ended_us, array)"
    " VALUES (?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?)"
)
_CHANGED = "UPDATE job SET state = ?, final = ?, record = ?, snapshot = ?, ended_us = ? WHERE id = ?"
_OLDEST = """
    SELECT id, array FROM job AS one
    WHERE tenant = ?1 AND final = 1 AND ended_us <= ?2 AND (array IS NULL OR NOT EXISTS (
        SELECT 1 FROM job WHERE array = one.array AND (final = 0 OR ended_us > ?2)))
    ORDER BY ended_us, id LIMIT ?3
"""
_SPEND = (
    "INSERT INTO pool_spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET slot_ns = slot_ns + excluded.slot_ns,"
    " core_ns = core_ns + excluded.core_ns"
)
_WEIGH = "INSERT INTO pool_kept VALUES (?, ?) ON CONFLICT DO UPDATE SET size_bytes = size_bytes + excluded.size_bytes"
_log = structlog.get_logger("eddy.pool")


class Projection:
    """What one head has read. A change is on the disk once it is saved; what a head that is killed had not saved, it
    reads again.

    Args:
        folder: Where the file is, the first of its kind that no other head has; None for memory.

    Attributes:
        damaged: Whether the file was found to be; it is of no use then until it is made again.
        removed: Keys of the records that were removed last, in that order.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._path: Path | None = None
        self.damaged, self._kept = False, dict[str, KeptUsage]()
        self._db = self._open(folder)
        self.removed = self._read_removed()

    def _open(self, folder: Path | None) -> sqlite3.Connection:
        for number in range(MAX_FILES if folder is not None else 0):
            assert folder is not None
            path = folder / f"jobs-{number}.sqlite3"
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                opened, self._path = _opened(path), path
                return opened
            except (OSError, sqlite3.DatabaseError) as wrong:
                if not _is_locked(wrong):
                    _log.warning("what this head reads is not kept on its disk", file=str(path), error=str(wrong))
                    break
        return _opened(None)

    def _read_removed(self) -> deque[str]:
        rows = self._rows("SELECT value FROM meta WHERE key = 'removed'")
        return deque(json.loads(rows[0][0]) if rows else (), maxlen=REMOVED)

    def make_again(self) -> None:
        """Begin with an empty file; in memory, where the disk takes none."""
        self._db.close()
        try:
            if self._path is not None:
                _unlink(self._path)
            self._db = _opened(self._path)
        except (OSError, sqlite3.DatabaseError) as wrong:
            _log.warning("what this head reads is not kept on its disk", file=str(self._path), error=str(wrong))
            self._path, self._db = None, _opened(None)
        self.damaged = False
        self.removed.clear()

    def close(self) -> None:
        """Save, and let another head have the file."""
        with suppress(StorageDamaged):
            self.save()
        self._db.close()

    def save(self) -> None:
        """What was put in is kept from now on."""
        if self._db.in_transaction:
            self._set("removed", json.dumps(list(self.removed)))
            self._rows("COMMIT")

    def _set(self, name: str, value: str) -> None:
        self._rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """The rows of a query.

        Raises:
            StorageDamaged: The file is; it is about to be made again.
        """
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.DatabaseError as wrong:
            self.damaged = True
            message = f"What this head has read of the pool is damaged ({wrong}); it reads it again."
            raise StorageDamaged(message, file=str(self._path or "")) from wrong

    def _jobs(self, query: str, values: Sequence[object] = ()) -> list[PoolJob]:
        return [self._job(row) for row in self._rows(query, values)]

    def _job(self, row: sqlite3.Row) -> PoolJob:
        try:
            return job_from_json(row["record"].encode(), str(row["id"]))
        except UnreadableRecord:  # it could be read when it was put in
            self.damaged = True
            raise

    # Entries

    def is_news(self, told: JobEntry) -> bool:
        """Whether an entry is not the one that was put in last."""
        rows = self._rows("SELECT revision, written_us FROM pool_entry WHERE key = ?", (told.key,))
        return not rows or rows[0]["revision"] != told.revision or not same_time(rows[0]["written_us"], told.written_us)

    def put(self, told: JobEntry) -> tuple[PoolJob, ...]:
        """Take an entry in; answers the jobs that are new, or changed. Of an array none counts before all are there:
        the first job's record is written last, and the others are held back until then."""
        if not self._db.in_transaction:
            self._rows("BEGIN")
        self._enter(told)
        if (job := told.job) is None:
            if told.gone:
                self.removed.append(told.key)
            if told.number is not None:
                self.forget(told.number)
            return ()
        if not self.is_accepted(job):
            assert job.array is not None
            if job.array.index:
                row = job.id, job.array.id, told.data.decode()
                self._rows("INSERT OR REPLACE INTO pool_held VALUES (?, ?, ?)", row)
                return ()
            held = self._rows("DELETE FROM pool_held WHERE array = ? RETURNING id, record", (job.array.id,))
            others = [(self._job(row), row["record"]) for row in held]
        else:
            others = []
        return tuple(each for each, record in ((job, told.data.decode()), *others) if self._list(each, record))

    def _enter(self, told: JobEntry) -> None:
        self.drop_entry(told.key)
        tenant = None if told.job is None else told.job.tenant
        size_bytes = 0 if tenant is None else len(told.data) + ENTRY_BYTES
        if told.revision:
            row = told.key, told.revision, told.written_us, tenant, size_bytes, told.gone
            self._rows("INSERT INTO pool_entry VALUES (?, ?, ?, ?, ?, ?)", row)
            if tenant is not None:
                self._rows(_WEIGH, (tenant, size_bytes))

    def drop_entry(self, key: str) -> None:
        """An entry is there no more, nor a mark that it was."""
        for row in self._rows("DELETE FROM pool_entry WHERE key = ? RETURNING tenant, size_bytes", (key,)):
            if row["tenant"] is not None:
                self._rows(_WEIGH, (row["tenant"], -row["size_bytes"]))

    def _list(self, job: PoolJob, record: str) -> bool:
        """List a job; false where it had ended before, and has, as the same."""
        rows = self._rows("SELECT state, final, snapshot FROM job WHERE id = ?", (job.id,))
        spent = json.dumps(spent_to_json(job))
        self._spend(job.tenant, rows[0]["snapshot"] if rows else "{}", spent)
        ended_us = None if job.ended_unix_s is None else microseconds(job.ended_unix_s)
        if rows:
            self._rows(_CHANGED, (job.state, job.is_ended, record, spent, ended_us, job.id))
            return not (rows[0]["final"] and job.is_ended and rows[0]["state"] == job.state)
        submitted_us, array = microseconds(job.submitted_unix_s), None if job.array is None else job.array.id
        row = job.id, job.tenant, job.state, job.is_ended, record, spent, submitted_us, job.work, ended_us, array
        self._rows(_PUT, row)
        for label in job.request.get("labels", {}).items():
            self._rows(f"{INSERT_LABELS} VALUES (?, ?, ?, ?, ?)", (job.tenant, *label, submitted_us, job.id))
        return True

    def _spend(self, tenant: str, before: str, now: str) -> None:
        if before != now:
            for sign, spent in ((-1, before), (1, now)):
                for day, (slot_ns, core_ns) in json.loads(spent).items():
                    self._rows(_SPEND, (day, tenant, sign * slot_ns, sign * core_ns))

    def forget(self, number: int) -> None:
        """A job is to be listed no more, nor what it had counted here."""
        self._rows("DELETE FROM pool_held WHERE id = ?", (number,))
        self._rows("DELETE FROM label WHERE job = ?", (number,))
        for row in self._rows("DELETE FROM job WHERE id = ? RETURNING tenant, snapshot", (number,)):
            self._spend(row["tenant"], row["snapshot"], "{}")

    def count_entries(self) -> int:
        """How many there are, marks of removed ones included."""
        return int(self._rows("SELECT count(*) FROM pool_entry")[0][0])

    def keys(self) -> set[str]:
        """Of all entries."""
        return {str(row["key"]) for row in self._rows("SELECT key FROM pool_entry")}

    def select_newest(self, behind: int) -> tuple[str, int, int] | None:
        """Key, revision and date (microseconds since 1970) of an entry.

        Args:
            behind: How many are newer.
        """
        query = "SELECT key, revision, written_us FROM pool_entry ORDER BY revision DESC LIMIT 1 OFFSET ?"
        return next((tuple(row) for row in self._rows(query, (behind,))), None)

    def select_unsure(self, revision: int) -> set[str]:
        """Keys of entries that are newer, and of those that could not be read."""
        newer = self._rows("SELECT key FROM pool_entry WHERE revision > ?", (revision,))
        unread = self._rows("SELECT key FROM pool_entry WHERE tenant IS NULL AND mark = 0")
        return {str(row["key"]) for row in (*newer, *unread)}

    def marks(self) -> list[tuple[str, int]]:
        """Keys and revisions of the marks of removed entries, oldest first."""
        query = "SELECT key, revision FROM pool_entry WHERE tenant IS NULL AND mark = 1 ORDER BY revision"
        return [(str(row["key"]), int(row["revision"])) for row in self._rows(query)]

    @property
    def lone_server(self) -> str:
        """The server that had all records when they were settled last (`PoolJobs.lone_server`)."""
        return next((str(row[0]) for row in self._rows("SELECT value FROM meta WHERE key = 'lone_server'")), "")

    def set_lone_server(self, server: str) -> None:
        """Keep which it is."""
        self._set("lone_server", server)

    # Jobs

    def is_accepted(self, job: PoolJob) -> bool:
        """Whether a record is a job's that was accepted: one of an array is not before all of them are there."""
        return job.array is None or self.array_owner(job.array.id) is not None

    def has(self, number: int) -> bool:
        """Whether a job is listed."""
        return bool(self._rows("SELECT 1 FROM job WHERE id = ?", (number,)))

    def is_failed(self, number: int, is_array: bool) -> bool:
        """Whether a job has ended without success, or one of an array."""
        column = "array" if is_array else "id"
        return bool(
            self._rows(f"SELECT 1 FROM job WHERE {column} = ? AND state IN (?, ?) LIMIT 1", (number, FAILED, CANCELLED))
        )

    def job(self, number: int) -> PoolJob | None:
        """A job as it was told last; None where it is not listed."""
        return next(iter(self._jobs("SELECT id, record FROM job WHERE id = ?", (number,))), None)

    def open_jobs(self) -> list[PoolJob]:
        """Jobs that have not ended, by number."""
        return self._jobs("SELECT id, record FROM job WHERE final = 0 ORDER BY id")

    def last_ended(self, tenant: str | None, limit: int) -> list[PoolJob]:
        """Jobs that ended last, of a tenant or of all; the last one first."""
        where, values = ("", []) if tenant is None else ("AND tenant = ?", [tenant])
        index = "job_by_end" if tenant is None else "job_by_tenant_and_end"
        query = f"SELECT id, record FROM job INDEXED BY {index} WHERE ended_us IS NOT NULL {where}"
        return self._jobs(f"{query} ORDER BY ended_us DESC, id DESC LIMIT ?", (*values, limit))

    def count_ended(self) -> dict[str, int]:
        """Jobs that have ended, by tenant."""
        query = "SELECT tenant, count(*) FROM job WHERE ended_us IS NOT NULL GROUP BY tenant"
        return {str(tenant): int(jobs) for tenant, jobs in self._rows(query)}

    def select_oldest(self, tenant: str, before_us: int, limit: int) -> list[tuple[int, int | None]]:
        """Jobs of a tenant that had ended by then, and their arrays: those that ended first, of whole arrays alone,
        every job of which had ended by then.

        Args:
            before_us: Wall time, microseconds since 1970.
            limit: At most so many.
        """
        return [(int(row["id"]), row["array"]) for row in self._rows(_OLDEST, (tenant, before_us, limit))]

    def page(self, wanted: JobFilter, after: Place | None, limit: int) -> list[tuple[Place, PoolJob]]:
        """Jobs of a page, with their places; the second of a place is the job's number.

        Args:
            wanted: Which jobs, in which order.
            after: The last place of the page before.
            limit: At most this many.
        """
        return [
            ((int(row["place"]), int(row["id"])), self._job(row))
            for row in self._rows(*page_query(wanted, after, limit))
        ]

    def check_place(self, wanted: JobFilter, place: Place) -> None:
        """Check that a page can go on from a place.

        Raises:
            UnknownCursor: No job of this list stands there.
        """
        query = f"SELECT tenant, {wanted.order.column} AS place FROM job WHERE id = ?"
        row = next(iter(self._rows(query, (place[1],))), None)
        if row is None or row["place"] != place[0] or wanted.tenant not in (None, row["tenant"]):
            raise unknown_page_error()

    def array_owner(self, array: int) -> str | None:
        """Whose array it is; None where there is none of that number."""
        rows = self._rows("SELECT tenant FROM job WHERE array = ? LIMIT 1", (array,))
        return str(rows[0]["tenant"]) if rows else None

    def members(self, array: int) -> list[PoolJob]:
        """Jobs of an array, by number."""
        return self._jobs("SELECT id, record FROM job WHERE array = ? ORDER BY id", (array,))

    def select_ended(self, numbers: Iterable[int]) -> list[int]:
        """Of these jobs, those that have ended."""
        query = "SELECT 1 FROM job WHERE id = ? AND final = 1"
        return [number for number in numbers if self._rows(query, (number,))]

    # Sums

    def tenant_bytes(self, tenant: str) -> int:
        """What records of a tenant's jobs take."""
        return sum(int(row[0]) for row in self._rows("SELECT size_bytes FROM pool_kept WHERE tenant = ?", (tenant,)))

    def total_bytes(self) -> int:
        """What records of all jobs take."""
        return int(self._rows("SELECT total(size_bytes) FROM pool_kept")[0][0])

    def set_kept(self, tenant: str, kept: KeptUsage) -> None:
        """What jobs of a tenant had whose records were removed, or are about to be."""
        self._kept[tenant] = kept

    def usage(self, tenant: str | None, first: str, last: str) -> list[tuple[str, str, UsedTime]]:
        """Day, tenant, and what it had of boards; by day. A job counts by its record for as long as that is there.

        Args:
            tenant: Whose; None for all.
            first: Day, as `2026-11-22`.
            last: Day.
        """
        query = "SELECT * FROM pool_spent WHERE day BETWEEN ?1 AND ?2 AND (tenant = ?3 OR ?3 IS NULL)"
        rows = self._rows(query, (first, last, tenant))
        found = {(row["day"], row["tenant"]): UsedTime(row["slot_ns"], row["core_ns"]) for row in rows}
        for name, kept in self._kept.items() if tenant is None else [(tenant, self._kept.get(tenant, KeptUsage()))]:
            gone = (days for number, days in kept.removing.items() if not self.has(number))
            for day, had in (pair for days in (kept.had, *gone) for pair in days.items() if first <= pair[0] <= last):
                found[day, name] = found.get((day, name), UsedTime()) + UsedTime(*had)
        return [(day, name, had) for (day, name), had in sorted(found.items()) if had != UsedTime()]

    def usage_on(self, tenant: str, day: str) -> UsedTime:
        """What a tenant had on a day."""
        return next((had for _, _, had in self.usage(tenant, day, day)), UsedTime())

    def times(self) -> dict[tuple[str, str], ItemTimes]:
        """What was learned of the times of items, by work and kind of board."""
        rows = self._rows("SELECT * FROM pool_times")
        return {(row["work"], row["kind"]): ItemTimes(row["count"], row["mean_s"], row["squares"]) for row in rows}

    def put_times(self, learned: Mapping[tuple[str, str], ItemTimes]) -> None:
        """Keep what was learned."""
        for key, each in learned.items():
            row = *key, each.count, each.mean_s, each.squares
            self._rows("INSERT OR REPLACE INTO pool_times VALUES (?, ?, ?, ?, ?)", row)


def same_time(one_us: int, other_us: int) -> bool:
    """Whether two dates of an entry are one, as answers of servers round it in two ways."""
    return abs(one_us - other_us) <= 2


def _opened(path: Path | None) -> sqlite3.Connection:
    """A file, new where there is none, it is damaged, or it is of another release; None for memory.

    Raises:
        OSError, DatabaseError: It cannot be had, or another head has it.
    """
    try:
        return _connected(path)
    except sqlite3.DatabaseError as wrong:
        if path is None or _is_locked(wrong):
            raise
        _log.warning("what this head had read cannot be used, and is read again", file=str(path), error=str(wrong))
        _unlink(path)
        return _connected(path)


def _is_locked(wrong: Exception) -> bool:
    return isinstance(wrong, sqlite3.OperationalError) and "locked" in str(wrong)


def _connected(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.touch(mode=0o600)
    db = sqlite3.connect(path or "", timeout=0.0, isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row
    try:
        # The second head that opens it is refused, for as long as the first has it.
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"):
            db.execute(f"PRAGMA {pragma}")
        db.executescript("BEGIN EXCLUSIVE; COMMIT;")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            migrate(db, Path(tempfile.gettempdir()))
            db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        found: Any = db.execute("SELECT value FROM meta WHERE key = 'projection'").fetchone()
        if found is None or found[0] != FORMAT:
            raise sqlite3.DatabaseError("it is of another release")
    except BaseException:
        db.close()
        raise
    return db


def _unlink(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
