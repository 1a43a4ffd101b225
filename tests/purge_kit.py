# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A store with tenants that left something in every table and folder, and what is asked of it once they are gone."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from eddy.core.jobs import JobState
from eddy.core.leases import LeaseRecord, LeaseState
from eddy.core.notices import NoticeKind, Subscription
from eddy.core.projects import Project
from eddy.core.records import JobEvent, JobEventKind, JobRecord, JobRequest
from eddy.core.sessions import SessionRecord, SessionState
from eddy.core.submission_options import Predecessor, SubmissionOptions
from eddy.core.tenants import ApiKey, Quota, TenantRecord
from eddy.store import Store
from eddy.store.account_tables.logins import LoginRow
from eddy.store.account_tables.usage import UsageRow
from eddy.store.db.database import Database
from eddy.store.db.rows import LOG, Commit, ItemOutput
from eddy.store.disk import files
from eddy.store.job_tables.submissions import Submission
from eddy.store.tables.notices import Notice, new_delivery

DATABASE = "eddy.sqlite3"
KEEP_NAME = {"usage": "tenant", "audit": "facts", "removed": "tenant"}
"""The columns that keep the name of a tenant that was removed; nothing else does."""


def request(tenant: str, *after: Predecessor, key: str = "", **labels: str) -> JobRequest:
    return JobRequest(
        tenant, f"app-of-{tenant}", 1, idempotency_key=key, asked=SubmissionOptions(labels=labels, after=after)
    )


def submit(store: Store, tenant: str, *after: Predecessor, key: str = "", **labels: str) -> JobRecord:
    return store.submissions.add_job(request(tenant, *after, key=key, **labels), 0.0)[0]


def array(store: Store, tenant: str, size: int, key: str = "") -> tuple[JobRecord, ...]:
    return store.arrays.write([Submission(request(tenant, key=key)) for _ in range(size)], 0.0)[0]


def end(
    store: Store,
    record: JobRecord,
    state: JobState = JobState.SUCCEEDED,
    ago_s: float = 3600.0,
    events: int = 3,
    **outputs: bytes,
) -> JobRecord:
    """End a job, so many wall seconds ago, with so many events more and some outputs."""
    record = dataclasses.replace(
        record, state=state, ended_s=1.0, items_done=1, ended_unix_s=time.time() - ago_s, submitted_unix_s=1.0
    )
    log = [JobEvent(0, record.id, record.tenant, 1.0, JobEventKind.STATE, state, detail=f"by {record.tenant}")] * events
    results = tuple(ItemOutput(record.id, LOG if name == "log" else name, 0, data) for name, data in outputs.items())
    store.commit(Commit(jobs=((record, {}),), events=tuple(log), results=results))
    return record


def ended(store: Store, tenant: str, count: int, first_ago_s: float = 3600.0) -> list[int]:
    """Jobs that ended one second after the other."""
    return [end(store, submit(store, tenant), ago_s=first_ago_s - n, out=b"x").id for n in range(count)]


def ids(store: Store, tenant: str) -> list[int]:
    """A tenant's jobs, as its list has them, oldest first."""
    return sorted(record.id for record in store.lists.page(tenant, limit=10_000))


def settle(store: Store, tenant: str) -> bool:
    """Remove a tenant as far as it goes now; answers whether it is gone."""
    for _ in store.removal.steps(tenant):
        pass
    return tenant not in store.tenants.list_leaving()


def secret_of(tenant: str, what: str) -> bytes:
    """Bytes that only one tenant has."""
    return f"{tenant}'s {what} ".encode() * 40


def furnish(store: Store, tenant: str) -> list[int]:
    """Leave something of a tenant in every table and folder there is; answers its jobs."""
    store.tenants.put(TenantRecord(tenant, f"{tenant}-hash", quota=Quota(), attributes={"contact": f"{tenant}@x"}))
    store.keys.put(ApiKey(f"k{tenant}", tenant, f"{tenant}-second", label=f"key of {tenant}"))
    for number in range(3):
        data = secret_of(tenant, f"blob {number}")
        store.blobs.put(tenant, hashlib.sha256(data).hexdigest(), data)
    data = secret_of(tenant, "part")
    with store.partials.adding(tenant, hashlib.sha256(data).hexdigest(), 0) as partial:
        store.partials.add(tenant, partial, data)
    first = submit(store, tenant, key=f"{tenant}-key", color=f"{tenant}-blue")
    compiled = Submission(request(tenant), program=secret_of(tenant, "program").decode())
    (waiting,) = store.submissions.add_jobs([compiled], 0.0)
    assert not isinstance(waiting, Exception)
    end(store, first, out=secret_of(tenant, "output"), log=secret_of(tenant, "log"))
    store.holds.hold(tenant, first.id)
    several = array(store, tenant, 3, key=f"{tenant}-array")
    for record in several:
        end(store, record, out=secret_of(tenant, "element"))
    followed = submit(store, tenant, Predecessor(first.id), Predecessor(several[0].asked.array.id))  # type: ignore[union-attr]
    store.usage.add([UsageRow("2026-11-22", tenant, 0, "slot", 7)], {})
    store.audit.note(lambda text: hashlib.sha256(text.encode()).hexdigest(), "", "", "test", {"tenant": tenant})
    lease = store.leases.add(lambda name: LeaseRecord(0, name, tenant, asked_unix_s=1.0), 1)
    store.leases.put(dataclasses.replace(lease, state=LeaseState.ENDED, cause="released", ended_unix_s=2.0))
    session = store.sessions.add(lambda name: SessionRecord(0, name, tenant, opened_unix_s=1.0))
    store.sessions.put(dataclasses.replace(session, state=SessionState.CLOSED, cause="closed", ended_unix_s=2.0))
    store.epochs.add([(len(tenant), f'{{"tenants":["{tenant}"]}}')], range(100))
    subscription = Subscription(f"n{tenant}", tenant, f"https://{tenant}.example", (NoticeKind.TEST,))
    told = store.notices.add(subscription)
    store.notices.add_delivery(new_delivery(told, Notice(NoticeKind.TEST, None, {"to": f"{tenant}'s"}, 1.0), 1e12))
    store.logins.change([LoginRow(f"{tenant}-cookie", tenant, f"{tenant}-hash", "token", 1e12)], [])
    store.projects.put(Project(f"of-{len(tenant)}", 2.0, (tenant,)))
    return [first.id, waiting[0].id, *(record.id for record in several), followed.id]


def rows_with(path: Path, text: str) -> set[tuple[str, str]]:
    """Tables and columns of a data base in which a text stands; every table there is, and every column."""
    found = set()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        tables = [row[0].decode() for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            cursor = db.execute(f'SELECT * FROM "{table}"')
            for row in cursor:
                for (column, *_), value in zip(cursor.description, row, strict=True):
                    if isinstance(value, bytes) and text.encode() in value:
                        found.add((table, column))
    return found


def tables(path: Path) -> set[str]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def files_with(folder: Path, text: str) -> set[str]:
    """Files below a folder whose name or bytes have a text, but for the data base and its log."""
    found = set()
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if text in name or (
            path.is_file() and not path.name.startswith(DATABASE) and text.encode() in path.read_bytes()
        ):
            found.add(name)
    return found


def left_of(store_path: Path, job: int) -> set[str]:
    """Where anything of a job is: tables, and files of outputs."""
    columns = {"job": "id", "purged": None}
    found = set()
    with contextlib.closing(sqlite3.connect(store_path)) as db:
        for table in sorted(tables(store_path)):
            here = {row[1] for row in db.execute(f'PRAGMA table_info("{table}")')}
            column = columns.get(table, "job" if "job" in here else None)
            if column and db.execute(f'SELECT 1 FROM "{table}" WHERE {column} = ?', (job,)).fetchone():
                found.add(table)
    outputs = store_path.parent / "outputs"
    if outputs.is_dir():
        found |= {path.name for path in outputs.iterdir() if path.name.startswith(f"{job}.")}
    return found


class Killed(BaseException):
    """The process ended here."""


@contextlib.contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, moment: int) -> Iterator[list[int]]:
    """Have the process end at the moment of that number: before or after a commit, or a file's removal; gives what
    counts them."""
    count = [0]

    def tick() -> None:
        count[0] += 1
        if count[0] == moment:
            raise Killed

    known, remove, empty = Database.transaction, files.remove_unnamed, Database.empty_log

    @contextlib.contextmanager
    def transaction(self: Database, durable: bool = True, wait: bool = True) -> Iterator[sqlite3.Connection]:
        with known(self, durable, wait) as db:
            yield db
            tick()
        tick()

    def removed(path: Path) -> None:
        tick()
        remove(path)
        tick()

    def emptied(self: Database) -> bool:
        tick()
        return empty(self)

    with monkeypatch.context() as patched:
        patched.setattr(Database, "transaction", transaction)
        patched.setattr(files, "remove_unnamed", removed)
        patched.setattr(Database, "empty_log", emptied)
        with contextlib.suppress(Killed):
            yield count
