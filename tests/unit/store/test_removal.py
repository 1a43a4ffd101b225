# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A tenant that is removed leaves its name in the accounts, and nothing else anywhere."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from pathlib import Path

import pytest
from eddy.core.errors import Conflict, NotFound, Unauthorized
from eddy.core.jobs import JobState
from eddy.core.tenants import TenantRecord
from eddy.store import Store
from eddy.store.db.database import Database
from purge_kit import (
    DATABASE,
    KEEP_NAME,
    end,
    files_with,
    furnish,
    ids,
    killed_at,
    left_of,
    rows_with,
    secret_of,
    settle,
    submit,
    tables,
)

NAMELESS = {
    "sqlite_sequence",
    "slot",
    "meta",
    "purged",
    "purged_to",
    "result",
    "removed",
    "sample",
    "maintenance",
    "project",
}
"""Tables in which nothing names a tenant before it is removed: `furnish` leaves its name in all others."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / DATABASE


def finished(store: Store, tenant: str) -> None:
    for job in ids(store, tenant):
        record = store.jobs.get(tenant, job)
        if not record.state.is_final:
            end(store, record, JobState.CANCELLED)


def test_every_table_and_file_is_asked_for_the_tenant(path: Path) -> None:
    """Looks at whatever tables and folders there are: one that is added later is asked too."""
    with contextlib.closing(Store(path)) as store:
        furnish(store, "adelheid")
        furnish(store, "grace")
        named = rows_with(path, "adelheid")
        assert tables(path) - {table for table, _ in named} <= NAMELESS, "a new table: extend `furnish`"
        assert {"blobs/t-adelheid"} < files_with(path.parent, "adelheid")
        before = {table for table, _ in rows_with(path, "grace")}
        store.removal.begin("adelheid", cancel=True)
        finished(store, "adelheid")
        assert settle(store, "adelheid")
        kept = {(table, column) for table, column in KEEP_NAME.items()}
        assert rows_with(path, "adelheid") == kept
        assert rows_with(path, "adelheid's") == rows_with(path, "adelheid-") == set(), "the name alone"
        assert files_with(path.parent, "adelheid") == set()
        assert {table for table, _ in rows_with(path, "grace")} == before, "nobody else lost anything"
        assert len(ids(store, "grace")) == 6
        assert store.blobs.ledger.tenant_bytes("adelheid") == 0
        assert [row.spent_ns for row in store.usage.rows("adelheid")] == [7]
        raw = b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{DATABASE}*")))
        for what in (b"adelheid's", b"adelheid-blue", b"adelheid-key", b"adelheid-second", b"adelheid@x"):
            assert what not in raw, "not in a free page either"


def test_keys_end_at_once_and_the_name_is_not_given_again(path: Path) -> None:
    store = Store(path)
    furnish(store, "ada")
    with pytest.raises(Conflict, match="2 jobs that have not ended"):
        store.removal.begin("ada")
    assert store.tenants.by_key("ada-hash") is not None, "a refusal changes nothing"
    assert len(store.removal.begin("ada", cancel=True)) == 2
    assert store.tenants.by_key("ada-hash") is store.tenants.by_key("ada-second") is None
    assert store.tenants.get("ada").attributes == {}
    with pytest.raises(Unauthorized):  # a request that was let in before
        submit(store, "ada")
    with pytest.raises(Unauthorized):
        store.blobs.put("ada", hashlib.sha256(b"late").hexdigest(), b"late")
    with pytest.raises(Conflict, match="is being removed"):
        store.tenants.check_name_reusable("ada")
    assert not settle(store, "ada"), "jobs of it are under way"
    assert len(ids(store, "ada")) == 2
    finished(store, "ada")
    assert settle(store, "ada")
    for each in (store, Store(path)):
        with pytest.raises(NotFound):
            each.tenants.get("ada")
        with pytest.raises(Conflict, match=f"was removed on {time.strftime('%Y-%m-%d', time.gmtime())}"):
            each.tenants.check_name_reusable("ada")
    with pytest.raises(NotFound):
        store.removal.begin("ada")


def test_an_upload_that_is_under_way_leaves_nothing(path: Path) -> None:
    store = Store(path)
    store.tenants.put(TenantRecord("ada", "hash"))
    data = secret_of("ada", "late blob")
    digest = hashlib.sha256(data).hexdigest()
    with store.blobs.upload("ada", digest, len(data)) as upload:
        upload.write(data)
        store.removal.begin("ada")
        assert settle(store, "ada")
        with pytest.raises(Unauthorized):
            upload.finish()
    assert files_with(path.parent, "ada") == set()
    part = hashlib.sha256(b"part").hexdigest()
    store.tenants.put(TenantRecord("bob", "other"))
    with store.partials.adding("bob", part, 0) as partial:
        store.partials.add("bob", partial, b"pa")
        store.removal.begin("bob")
        with pytest.raises(Conflict):
            settle(store, "bob")
        with pytest.raises(Unauthorized):
            store.partials.add("bob", partial, b"rt")
    assert settle(store, "bob")
    assert files_with(path.parent, "bob") == set()


def test_a_process_that_ends_anywhere_leaves_the_rest_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eddy.store.job_tables.purge.ROWS", 8)
    monkeypatch.setattr("eddy.store.job_tables.purge.BATCH", 3)
    monkeypatch.setattr("eddy.store.tables.removal.BLOBS_AT_ONCE", 2)
    moment, died = 0, True
    while died:
        moment += 1
        path = tmp_path / str(moment) / DATABASE
        with contextlib.closing(Store(path)) as store:
            furnish(store, "adelheid")
            finished(store, "adelheid")
            with killed_at(monkeypatch, moment) as count:
                store.removal.begin("adelheid")
                settle(store, "adelheid")
            died = count[0] >= moment
        with contextlib.closing(Store(path)) as store:
            store.sweep()
            if not store.tenants.is_removed("adelheid"):
                assert moment == 1, "only before the first commit"
                assert len(ids(store, "adelheid")) == 6
                continue
            assert store.tenants.by_key("adelheid-hash") is None
            if store.tenants.list_leaving():
                assert settle(store, "adelheid"), moment
            assert {table for table, _ in rows_with(path, "adelheid")} == set(KEEP_NAME)
            assert files_with(path.parent, "adelheid") == set()
    assert moment > 20, "there were as many moments"


def test_a_job_that_ends_while_others_of_its_rows_go_is_not_left(path: Path) -> None:
    store = Store(path)
    store.tenants.put(TenantRecord("ada", "hash"))
    record = submit(store, "ada")
    for number in range(60):
        data = f"blob {number}".encode()
        store.blobs.put("ada", hashlib.sha256(data).hexdigest(), data)
    assert store.removal.begin("ada", cancel=True) == [record.id]
    for step, _ in enumerate(store.removal.steps("ada")):
        if step == 1:  # its jobs were looked at, its blobs go
            end(store, record, JobState.CANCELLED, out=b"secret", ago_s=0.0)
    assert store.tenants.list_leaving() == ("ada",), "a job of it is there"
    assert settle(store, "ada")
    assert left_of(path, record.id) == set()
    assert {table for table, _ in rows_with(path, "ada")} == {"removed"}


@pytest.mark.parametrize("late", ["event", "held", "label", "idempotency", "purged_to", "epoch", "lags", "partial"])
def test_what_comes_late_keeps_a_tenant_from_being_gone(path: Path, monkeypatch: pytest.MonkeyPatch, late: str) -> None:
    store = Store(path)
    furnish(store, "adelheid")
    other = furnish(store, "grace")[0]
    finished(store, "adelheid")
    emptied = Database.empty_log

    def come(db: Database) -> bool:
        monkeypatch.undo()
        if late == "partial":
            (path.parent / "blobs/incoming").mkdir(exist_ok=True)
            (path.parent / f"blobs/incoming/adelheid.{'0' * 64}.part").touch()
        else:
            with db.transaction() as transaction:
                statement, *more = LATE[late]
                transaction.execute(statement, [other if value == "job" else value for value in more])
        return emptied(db)

    monkeypatch.setattr(Database, "empty_log", come)
    store.removal.begin("adelheid", cancel=True)
    assert not settle(store, "adelheid")
    assert settle(store, "adelheid")
    assert rows_with(path, "adelheid") == set(KEEP_NAME.items())
    assert files_with(path.parent, "adelheid") == set()


LATE: dict[str, tuple[str, ...]] = {
    "event": ("INSERT INTO event (job, tenant, at_s, what) VALUES (?, ?, 1.0, 'log')", "job", "adelheid"),
    "held": ("INSERT OR REPLACE INTO held VALUES (?, ?, 1)", "job", "adelheid"),
    "label": ("INSERT INTO label VALUES (?, 'a', 'b', 1, ?)", "adelheid", "job"),
    "idempotency": ("INSERT INTO idempotency (tenant, key, body, job) VALUES (?, 'k', 'b', ?)", "adelheid", "job"),
    "purged_to": ("INSERT INTO purged_to VALUES (?, 1)", "adelheid"),
    "epoch": ("INSERT INTO epoch VALUES (99, ?)", '{"tenants":["adelheid"]}'),
    "lags": ("INSERT INTO meta VALUES ('core_lags', ?)", '{"0":{"adelheid":1.0}}'),
}
"""What may be written of a tenant by who was let in before."""


def test_outputs_whose_job_went_in_another_process_go_before_the_tenant_is_gone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(Store(path)) as store:
        furnish(store, "adelheid")
        finished(store, "adelheid")
        store.removal.begin("adelheid")
        next(store.removal.steps("adelheid"))
    with contextlib.closing(Store(path)) as store:  # nobody sweeps
        assert settle(store, "adelheid")
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM result").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM purged").fetchone() == (0,)
    assert files_with(path.parent, "adelheid") == set()


@pytest.mark.parametrize("value", [None, "never"])
def test_a_job_whose_row_does_not_say_when_it_ended_goes_too(path: Path, value: str | None) -> None:
    store = Store(path)
    furnish(store, "adelheid")
    finished(store, "adelheid")
    job = ids(store, "adelheid")[0]
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE job SET closed_us = ? WHERE id = ?", (value, job))
        db.commit()
    store.removal.begin("adelheid")
    assert settle(store, "adelheid")
    assert left_of(path, job) == set()


def test_an_upload_that_begins_after_the_removal_leaves_no_file(path: Path) -> None:
    store = Store(path)
    store.tenants.put(TenantRecord("ada", "hash"))
    store.removal.begin("ada")
    with pytest.raises(Unauthorized), store.partials.adding("ada", "0" * 64, 0):
        pass
    assert files_with(path.parent, "ada") == set()
