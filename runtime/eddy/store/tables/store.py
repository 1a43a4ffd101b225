# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The store: one SQLite file behind a few plain calls, safe from any thread.

Submissions are durable when `submissions.add_job` returns; what one step of the hypervisor changes is durable, all of
it or nothing, when `commit` returns. Every query about jobs names the tenant, so that one tenant never sees another's.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from eddy.core.errors import StorageFailed, StorageFull
from eddy.core.faults import Fault, fault_from_cause
from eddy.core.records import JobEvent, JobEventKind, JobRecord
from eddy.core.tenants import Quota
from eddy.host.files import free_bytes
from eddy.host.memory_folder import MemoryFolder
from eddy.store.account_tables.audit import Audit
from eddy.store.account_tables.logins import LoginTable
from eddy.store.account_tables.projects import Projects
from eddy.store.account_tables.tenants import Keys, Tenants
from eddy.store.account_tables.usage import Usage
from eddy.store.board_tables.epochs import Epochs
from eddy.store.board_tables.leases import LeaseTable
from eddy.store.board_tables.maintenance import Maintenance
from eddy.store.board_tables.samples import Samples
from eddy.store.board_tables.sessions import SessionTable
from eddy.store.bytes.blobs import Blobs
from eddy.store.bytes.partial import Partials
from eddy.store.bytes.sweep import sweep
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database, insert
from eddy.store.db.numbers import load_numbers
from eddy.store.db.rows import (
    INSERT_EVENTS,
    INSERT_RESULTS,
    Commit,
    dump_record,
    event_values,
    load_snapshot,
    microseconds,
)
from eddy.store.disk.files import DamagedFile
from eddy.store.disk.names import BLOBS, OUTPUTS, SPILLED
from eddy.store.job_tables.arrays import Arrays
from eddy.store.job_tables.events import Events
from eddy.store.job_tables.holds import Holds
from eddy.store.job_tables.jobs import JobTable
from eddy.store.job_tables.listing import JobLists
from eddy.store.job_tables.outputs import Outputs
from eddy.store.job_tables.purge import Purge
from eddy.store.job_tables.retention import Retention
from eddy.store.job_tables.submissions import Submissions
from eddy.store.tables.notices import Notices
from eddy.store.tables.removal import Removal


class EventCounts:
    """Counts that only grow.

    Attributes:
        events: Entries of the event log, by kind.
        ended: Jobs that ended, by state.
        faults: Faults, by their codes; those that never happened are not there.
        spent_s: Board seconds of the jobs that ended: `running`, `reconfiguring`, and waiting by cause.
    """

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.spent_s: dict[str, float] = {}

    def note(self, events: Iterable[JobEvent], ended: Iterable[JobRecord]) -> None:
        """Count what was committed."""
        for event in events:
            self.events[event.what.value] += 1
            self._note_fault(event)
        for record in ended:
            self.ended[record.state.value] += 1
            if record.cause == DamagedFile.code:
                self.fault(Fault.DAMAGED_FILE)
            spent = {"running": record.running_s, "reconfiguring": record.reconfiguring_s, **record.waiting_s}
            for what, seconds in spent.items():
                self.spent_s[what] = self.spent_s.get(what, 0.0) + seconds

    def fault(self, fault: Fault) -> None:
        """Count a fault that no event of a job tells of."""
        self.faults[fault.value] += 1

    def _note_fault(self, event: JobEvent) -> None:
        if event.what is JobEventKind.CONFIGURATION_FAILED:
            self.fault(Fault.FAILED_LOAD)
        elif event.what is JobEventKind.ITEM_FAILED:
            found = fault_from_cause(event.detail.partition(" ")[0])
            if found is not None:
                self.fault(found)


T = TypeVar("T")
_log = logging.getLogger(__name__)


class Store:
    """Everything that is kept, by parts over one data base; itself what one step of the hypervisor writes at once.

    Args:
        path: The SQLite file, created where missing; ``":memory:"`` for one that is gone with the process. Blobs and
            outputs are files in folders beside it.
        quota: What a tenant may use that has no bounds of its own.
        half_life_days: As `Usage` has it.

    Attributes:
        database: The file that all parts are in: whoever has committed without waiting waits for the disk there.
        damage: Records that were met and are not what was written.
        happened: What was written since it was last asked.
        keys, tenants: Who may ask, and within which bounds.
        usage: What tenants used, by day.
        projects: Tenants that share a part of the board.
        audit: What operators did.
        samples: What the board did, by minutes.
        sessions: Memory that tenants hold on the board.
        leases: Slots that persons hold.
        jobs, lists, events: Jobs, pages of them, and what happened to them.
        submissions, arrays: What takes jobs in.
        outputs, holds, retention: What jobs leave, what of it is held, and what goes to make room.
        blobs, partials: Bytes that tenants sent, whole and in part.
        purge, removal: What removes jobs that have ended, and tenants.
        logins: Browsers that are logged in.
        maintenance: Windows in which slots are closed.
        notices: Who is told what, and what is on its way.
    """

    def __init__(self, path: str | Path, quota: Quota | None = None, half_life_days: float = 0.0) -> None:
        folder = Path(path).parent
        if str(path) == ":memory:":
            self._folder = MemoryFolder("eddy-store")  # what is kept beside the rows need not touch a disk either
            folder = self._folder.path
        self.database = db = Database(path, folder)
        self.numbers = load_numbers(db)
        self.damage = db.damage
        self.damage.told = self._told
        self.happened = EventCounts()
        db.health.on_trouble = self._in_trouble
        self.keys = Keys(db)
        self.tenants = Tenants(db, self.keys, quota or Quota())
        self.usage = Usage(db, half_life_days)
        self.projects = Projects(db, self.tenants, self.usage)
        self.audit = Audit(db, folder)
        self.epochs = Epochs(db)
        self.samples = Samples(db)
        self.sessions = SessionTable(db, folder / SPILLED)
        self.leases = LeaseTable(db)
        self.jobs = JobTable(db, self.numbers)
        self.lists = JobLists(db, self.jobs)
        self.usage.on_written = self.jobs.tally.mark_written
        self.events = Events(db, self.jobs)
        self.submissions = Submissions(
            db, self.numbers, self.jobs, self.tenants.quota, self.usage, lambda tenant: self.leases.left_s(tenant)
        )
        self.arrays = Arrays(db, self.numbers, self.submissions)
        self.outputs = Outputs(db, folder / OUTPUTS, self.numbers, self.jobs)
        self.retention = Retention(db, self.outputs.folder)
        self.blobs = Blobs(db, folder / BLOBS, self.numbers, self.tenants.quota)
        self.holds = Holds(db, self.numbers, self.jobs, self.blobs.ledger)
        self.partials = Partials(self.blobs)
        self.purge = Purge(db, self.jobs, self.retention, self.outputs.folder)
        self.logins = LoginTable(db)
        self.maintenance = Maintenance(db)
        self.notices = Notices(db, self.events)
        self.removal = Removal(
            db,
            self.tenants,
            self.jobs,
            self.purge,
            self.blobs,
            self.partials,
            self.notices,
            self.sessions,
            self.leases,
            self.projects,
        )

    def _told(self, kind: RecordKind, name: object) -> str:
        numbers = {RecordKind.JOB: self.numbers.job, RecordKind.EVENT: self.numbers.event}
        told = numbers[kind].public_id(name) if kind in numbers and isinstance(name, int) else name
        return str(told) if kind is RecordKind.OUTPUT else f"{kind.value} {told}"

    def _in_trouble(self, error: StorageFailed) -> None:
        self.happened.fault(Fault.FULL_DISK if isinstance(error, StorageFull) else Fault.STORAGE)

    @property
    def problem(self) -> StorageFailed | None:
        """Why nothing can be kept at this moment; None where, as far as is known, it can."""
        return self.database.health.problem

    def failed(self, error: StorageFailed) -> None:
        """Note that something could not be kept: a file too, of which the data base knows nothing."""
        self.database.health.note(error)

    def probe(self) -> None:
        """Look whether something can be kept again, or can no longer; `problem` says so afterwards."""
        self.database.probe()

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of the data base with its log, and those that are free where it lies; for one in memory, 0 and those
        of its folder."""
        files = [self.database.path, self.database.path.with_name(self.database.path.name + "-wal")]
        return sum(file.stat().st_size for file in files if file.exists()), free_bytes(self.outputs.folder)

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def sweep(self) -> list[Path]:
        """Delete the files a crash left without a row; answers which. For who owns the folder, before it writes."""
        return sweep(self.database, self.blobs.folder, self.outputs.folder)

    # What the hypervisor writes -----------------------------------------------------------------------------------

    def commit(self, commit: Commit, wait: bool = True) -> None:
        """Write one step's changes: all of them, or nothing; see `Commit.must_survive` for what they survive.

        The bytes of results are on disk before the rows are.

        Args:
            wait: Whether to wait for the disk; who does not calls `settle` soon. Whoever reads waits for himself.
        """
        results = [*commit.kept, *(self.outputs.write(commit.results, {}) if commit.results else [])]
        with self.database.transaction(durable=commit.must_survive, wait=wait) as db:
            for record, snapshot in commit.jobs:
                values = (record.state.value, int(record.state.is_final), dump_record(record), json.dumps(snapshot))
                times = _ends(record) if record.state.is_final else (None, None)
                db.execute(
                    "UPDATE job SET state = ?, final = ?, record = ?, snapshot = ?, ended_us = ?, closed_us = ?"
                    " WHERE id = ?",
                    (*values, *times, record.id),
                )
            ended = [(record.id,) for record, _ in commit.jobs if record.state.is_final]
            if ended:
                db.executemany("DELETE FROM program WHERE job = ?", ended)
            insert(db, INSERT_EVENTS, [event_values(event) for event in commit.events])
            insert(db, INSERT_RESULTS, results)
            slots = [(slot, json.dumps(snapshot)) for slot, snapshot in commit.slots.items()]
            insert(db, "INSERT OR REPLACE INTO slot (slot, snapshot)", slots)
            insert(db, "INSERT OR REPLACE INTO meta (key, value)", list(commit.meta.items()))
            self.database.after_commit(lambda: self._moved(commit))
            self.database.after_commit(lambda: self.retention.note(results))

    def _moved(self, commit: Commit) -> None:
        self.happened.note(commit.events, (record for record, _ in commit.jobs if record.state.is_final))
        for record, _ in commit.jobs:
            if record.state.is_final:
                self.jobs.mark_closed(record.id)
                _say_end(record, self.numbers.job.public_id(record.id))
            else:
                self.jobs.tally.note(record.id, record.tenant, record.state.value)

    def slot_snapshots(self) -> dict[int, dict[str, object]]:
        """What the hypervisor last wrote about each slot; nothing of one whose row is damaged."""
        rows = self.database.rows("SELECT * FROM slot")
        found: dict[int, dict[str, object]] = {row["slot"]: {} for row in rows}
        found.update(self.database.damage.read_rows(RecordKind.SLOT, rows, lambda row: row["slot"], _snapshot))
        return found

    def remember(self, key: str, value: str, durable: bool = True, wait: bool = True) -> None:
        """Keep a value by name (`meta`); it is on disk when this returns.

        Args:
            durable: Whether it must survive a loss of power, or the end of this process only.
            wait: Whether to wait for the disk; who does not calls `settle` before anybody is told.
        """
        with self.database.transaction(durable, wait) as db:
            db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))

    def meta(self, key: str, default: str = "") -> str:
        """A value kept by name."""
        row = self.database.row("SELECT value FROM meta WHERE key = ?", key)
        return str(row["value"]) if row is not None else default

    def value(self, key: str, default: T, read: Callable[[str], T], damaged: T | None = None) -> T:
        """A value kept by name, as `read` makes it of its text.

        Args:
            default: What it is where there is none.
            read: Raises `ValueError` where it cannot be read, which the log says.
            damaged: What it is then; None for `default`.
        """
        row = self.database.row("SELECT key, value FROM meta WHERE key = ?", key)
        if row is None:
            return default
        load = names_damage("a value")(lambda found: read(found["value"]))
        for found in self.database.damage.read_rows(RecordKind.VALUE, [row], lambda found: found["key"], load):
            return found
        return default if damaged is None else damaged


def _snapshot(row: sqlite3.Row) -> tuple[int, dict[str, object]]:
    return row["slot"], load_snapshot(row["snapshot"])


def _ends(record: JobRecord) -> tuple[int, int]:
    """When a job ended, in microseconds: by the board's time, and by wall time."""
    return microseconds(record.ended_s or 0.0), microseconds(record.ended_unix_s or time.time())


def _say_end(record: JobRecord, told: int) -> None:
    if _log.isEnabledFor(logging.INFO):
        why = {"cause": record.cause} if record.cause else {}
        facts = {"job": told, "tenant": record.tenant, "state": record.state.value, **why}
        _log.info("job %d has ended", told, extra=facts)
