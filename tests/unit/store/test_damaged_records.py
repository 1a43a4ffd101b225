# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Damage of one record: the others are served, and whoever vouches for all of them names it.

Each column of each table is damaged in each way there is. A server starts on that, lists, takes jobs and runs them;
`eddy backup` and `eddy doctor` name what is damaged, and the backup has the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eddy.api.access.keys import KeyHasher, load_secret
from eddy.api.access.operator_account import ensure_operator
from eddy.cli.main import app
from eddy.core.errors import NotFound, RecordDamaged, StorageDamaged
from eddy.core.jobs import JobState
from eddy.core.leases import LeaseRecord
from eddy.core.maintenance import MaintenanceWindow
from eddy.core.notices import NoticeKind, Subscription
from eddy.core.projects import Project
from eddy.core.sessions import SessionRecord
from eddy.core.tenants import ApiKey, KeyScope, TenantRecord
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.account_tables.logins import LoginRow
from eddy.store.account_tables.usage import UsageRow, day_of
from eddy.store.board_tables.samples import Sample
from eddy.store.db.database import Database
from eddy.store.db.schema import MIGRATIONS
from eddy.store.job_tables.listing import JobFilter
from eddy.store.job_tables.submissions import Submission
from eddy.store.tables.notices import Notice, new_delivery
from eddy.store.upkeep.examined import TABLES, examine_folder
from eddy.store.upkeep.folder import DataFolder, findings
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, put, request
from typer.testing import CliRunner

Answer = Callable[[], object]
JSON = {"request", "record", "snapshot", "bounds", "attributes", "facts", "body", "kinds"}
"""Columns that hold JSON; `body` in two of its tables."""
NOT_JSON = {("idempotency", "body")}
WHICH = {
    "job": "id = 1",
    "event": "job = 1",
    "tenant": "id = 'grace'",
    "api_key": "tenant = 'grace'",
    "idempotency": "key = 'once'",
    "blob": "tenant = 'grace'",
    "result": "job = 1",
    "meta": "key = 'now_s'",
    "audit": "action = 'drain-slot'",
}
"""The row of a table that is damaged, where not any will do."""


class ServingFolder:
    """A data folder with a store at work in it, and an engine that runs its jobs."""

    def __init__(self, path: Path) -> None:
        self.data = DataFolder(path)
        self.store = Store(self.data.database)
        hasher = KeyHasher(load_secret(self.data.secret, self.data.first_start))
        self.sign = hasher.hash
        if self.data.first_start:
            self.store.audit.begin(self.sign)
        ensure_operator(self.store, hasher, self.data)
        self.data.settle()
        self.engine = Engine(model_board(), POLICIES["fcfs"](), self.store, {CHAIN.name: CHAIN}, MODULES)
        self.engine.start()

    def submit(self, **named: Any) -> int:
        return self.engine.intake.accept(request(self.store, **named)).id

    def run(self) -> None:
        while not self.engine.is_idle:
            self.engine.step()

    def close(self) -> None:
        self.store.close()
        self.data.close()


@pytest.fixture(autouse=True)
def not_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power goes here; waiting for the disk would be most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with something in every table: jobs 1 and 2 have ended, 3 is under way, 4 waits, 6 and 7 are array
    5, and wait."""
    path = tmp_path_factory.mktemp("worked") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        at = ServingFolder(path)
        store = at.store
        store.tenants.put(TenantRecord(TENANT))
        store.tenants.put(TenantRecord("grace", at.sign("grace's key"), attributes={"weight": 2}))
        store.keys.put(ApiKey("k1", "grace", at.sign("another"), KeyScope.READ, "for looking", time.time()))
        put(store, "grace", b"hers")
        once = request(store, batch=2, key="once")
        assert [at.engine.intake.accept(once).id, at.submit(salt=4)] == [1, 2]
        at.run()
        store.holds.hold(TENANT, 1)
        assert at.submit(batch=3, salt=5) == 3
        while store.jobs.get(TENANT, 3).items_done < 1:
            at.engine.step()
        assert at.submit(salt=6) == 4
        several = [Submission(request(store, salt=salt)) for salt in (7, 8)]
        assert [each.id for each in store.arrays.write(several, 0.0)[0]] == [6, 7]
        store.usage.add([UsageRow(day_of(time.time()), TENANT, 0, "slot", 5)], {})
        store.sessions.add(lambda name: SessionRecord(0, name, TENANT, opened_unix_s=1.0))
        store.leases.add(lambda name: LeaseRecord(0, name, TENANT, asked_unix_s=1.0), 1)
        store.epochs.add([(number, "{}") for number in range(2)], [0, 1])
        for minute in range(2):
            store.samples.add(Sample(60 * minute, 2, 1.0, 1.0, 0.0, 1, 0, {"0": 0.5}))
        store.audit.note(at.sign, "operator", "k1", "drain-slot", {"slot": 1})
        store.audit.note(at.sign, "operator", "k1", "undrain-slot", {"slot": 1})
        told = store.notices.add(Subscription("n1", TENANT, "https://hooks.example.org", (NoticeKind.TEST,)))
        store.notices.add_delivery(new_delivery(told, Notice(NoticeKind.TEST, None, {}, 1.0), 1e12))
        store.logins.change([LoginRow("5f" * 32, TENANT, "cd" * 32, "token", 1e12)], [])
        store.projects.put(Project("vision", 2.0, (TENANT,)))
        store.maintenance.add(MaintenanceWindow("w1", "a new fan", 1e12, 1e12 + 60), 1.0)
        with store.database.transaction() as db:
            db.execute("INSERT INTO program VALUES (4, '{}')")
            db.execute("INSERT INTO removed VALUES ('alan', 1.5, 2.5)")
            db.execute("INSERT INTO purged_to VALUES ('alan', 0)")
            db.execute(f"INSERT INTO label VALUES ('{TENANT}', 'series', 'moon', 1, 2)")
        at.close()
    assert examine_folder(path / "eddy.sqlite3", path / "secret") == []
    return path


@pytest.fixture
def data(worked: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(worked, tmp_path / "data"))


def columns() -> Iterator[tuple[str, str, str, bool]]:
    """Every column of every table that can hold something else: table, name, type, and whether it may be NULL."""
    with contextlib.closing(Database(":memory:", Path())) as database:
        tables = database.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for table in tables:
            found = database.rows(f"PRAGMA table_info({table['name']})")
            alone = sum(column["pk"] > 0 for column in found) == 1
            for column in found:
                if not (alone and column["pk"] and column["type"] == "INTEGER"):
                    yield table["name"], column["name"], column["type"], not column["notnull"] and not column["pk"]


COLUMNS = list(columns())


def ways(table: str, column: str, kind: str, nullable: bool) -> dict[str, str]:
    """Ways in which a column is damaged: what is written into it instead, as SQL, by name."""
    found = {"no text": "CAST(x'fffe41' AS TEXT)", "another type": "x'0102'"}
    if kind in ("INTEGER", "REAL"):
        found["another type"] = "'abc'"
    if column in JSON and (table, column) not in NOT_JSON:
        found["cut"] = f"substr({column}, 1, length({column}) - 1)"
        found["other JSON"] = "'[5]'"
    if column in ("record", "request"):
        found["deep"] = f"'{'[' * 100_000}'"
    if not nullable:
        found["NULL"] = "NULL"
    return found


def damage(database: Path, table: str, column: str, value: str) -> bool:
    """Write something into a column of one row, whatever the schema says of it; answers whether SQLite can have it."""
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.executescript("DROP TRIGGER IF EXISTS audit_is_not_changed; DROP TRIGGER IF EXISTS audit_is_not_cut")
        (sql,) = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        db.execute("PRAGMA writable_schema = ON")
        change = "UPDATE sqlite_master SET sql = ? WHERE name = ?"
        db.execute(change, (sql.replace("NOT NULL", ""), table))
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
        key = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]]
        row = db.execute(f"SELECT {', '.join(key)} FROM {table} WHERE {WHICH.get(table, '1')} LIMIT 1").fetchone()
        assert row is not None, table
        try:
            found = db.execute(
                f"UPDATE {table} SET {column} = {value} WHERE {' AND '.join(f'{k} = ?' for k in key)}", row
            )
            assert found.rowcount == 1
        except sqlite3.IntegrityError:
            return False
        finally:
            db.execute("PRAGMA writable_schema = ON")
            db.execute(change, (sql, table))
    return True


def asked(store: Store) -> dict[str, object]:
    """Everything a server lists, by what it is."""
    return {
        "jobs": [record.id for record in store.lists.page(None, limit=100)],
        "pages": [page_by_page(store, each) for each in (JobFilter(), JobFilter(TENANT))],
        "under way": store.jobs.under_way(None, 100),
        "array": (store.arrays.get(TENANT, 5), store.arrays.states(TENANT, 5), store.arrays.max_running(5)),
        "events": [event.seq for event in store.events.list_events(None, None)],
        "slots": store.events.latest_in_slots(None, 100),
        "tenants": [tenant.id for tenant in store.tenants.all()],
        "keys": [key.id for key in store.keys.all()],
        "blobs": [store.blobs.page(tenant, "", 100) for tenant in (TENANT, "grace")],
        "usage": (store.usage.report(None), store.usage.today_s(TENANT)),
        "audit": store.audit.entries(),
        "epochs": store.epochs.all(),
        "samples": store.samples.since(0),
        "metrics": store.damage.counts(),
    }


def page_by_page(store: Store, wanted: JobFilter) -> tuple[list[int], list[int]]:
    """The jobs of a list, one at a time: those that can be read, and those that cannot."""
    found, damaged, after, pages = list[int](), list[int](), None, 0
    while pages < 100:
        page = store.lists.find_page(wanted, 1, after)
        found += [record.id for record in page.records]
        damaged += page.damaged
        after, pages = page.following, pages + 1
        if after is None:
            break
    return found, damaged


@pytest.mark.parametrize(("table", "column", "kind", "nullable"), COLUMNS, ids=[f"{t}.{c}" for t, c, *_ in COLUMNS])
def test_one_damaged_value_is_passed_over_and_named(
    data: Path, tmp_path: Path, table: str, column: str, kind: str, nullable: bool
) -> None:
    for number, (way, value) in enumerate(ways(table, column, kind, nullable).items()):
        copy = Path(shutil.copytree(data, tmp_path / str(number)))
        if not damage(copy / "eddy.sqlite3", table, column, value):
            continue
        found = examine_folder(copy / "eddy.sqlite3", copy / "secret")
        assert found, f"nobody sees {way} in {table}.{column}"
        assert all("is damaged" in each for each in found), found
        at = ServingFolder(copy)
        all_there(at.store, table)
        assert at.store.problem is None, "one record is no trouble of the whole store"
        if number == 0:
            at.submit(salt=9)
            at.run()
            for job, batch, salt in ((3, 3, 5), (4, 1, 6), (6, 1, 7)):
                assert at.store.outputs.read(TENANT, job, "out") == expected(batch, salt)
        at.close()


@pytest.mark.parametrize("column", [column for table, column, *_ in COLUMNS if table == "job"])
def test_a_job_that_had_not_ended_is_given_up_or_goes_on(
    data: Path, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WHICH, "job", "id = 4")
    assert damage(data / "eddy.sqlite3", "job", column, "CAST(x'fffe41' AS TEXT)")
    at = ServingFolder(data)
    at.run()
    for job, batch, salt in ((3, 3, 5), (6, 1, 7), (7, 1, 8)):
        assert at.store.outputs.read(TENANT, job, "out") == expected(batch, salt)
    with contextlib.suppress(RecordDamaged, NotFound):  # its tenant, or what it is listed by
        record = at.store.jobs.get(TENANT, 4)
        went_on = record.state is JobState.SUCCEEDED
        assert went_on or (record.state, record.cause) == (JobState.FAILED, "storage-damaged")
    assert not any(at.store.jobs.unfinished_by_state().values())
    assert at.store.damage.counts()["job"] <= 1
    at.close()


def all_there(store: Store, table: str) -> None:
    """Whatever is damaged of one record, all others are listed."""
    found: dict[str, Any] = asked(store)
    most = 1 if table in ("job", "label") else 0
    assert len({1, 2, 3, 4, 6, 7} - set(found["jobs"])) <= most
    if table == "job" and 1 not in found["jobs"]:
        whole = store.lists.find_page(JobFilter(), 100)
        assert whole.damaged == (1,)
    every, damaged = found["pages"][0]
    assert {*every, *damaged} | ({1} if table == "job" else set()) == {1, 2, 3, 4, 6, 7}
    assert len(found["array"][0]) == 2
    assert len({"ada", TENANT, "grace", "operator"} & set(found["tenants"])) >= 1
    assert found["events"] == list(range(1, len(found["events"]) + 1))


@pytest.mark.parametrize("table", [*TABLES, "audit"])
def test_a_backup_names_what_is_damaged_and_has_the_rest(data: Path, tmp_path: Path, table: str) -> None:
    """A value of each table is no text; the backup is made, says so, and can be restored and served."""
    column = next(name for of, name, kind, _ in COLUMNS if of == table and kind == "TEXT")
    value = "'x'" if table == "meta" else "CAST(x'fffe41' AS TEXT)"
    assert damage(data / "eddy.sqlite3", table, "value" if table == "meta" else column, value)
    run = CliRunner().invoke
    done = run(app, ["backup", str(tmp_path / "backup"), "--data", str(data), "--json"])
    named = json.loads(done.stdout)["damaged"]
    # An output lacks the part too, and both keys of a tenant name one that is not there.
    assert (done.exit_code, len(named)) == (1, {"result": 2, "tenant": 3}.get(table, 1))
    assert all("is damaged" in each for each in named)
    (check,) = [each for each in findings(data) if each[0] == "records"]
    assert (check[1], named[0] in check[2] or table == "result") == (False, True)
    again = run(app, ["restore", str(tmp_path / "backup"), "--data", str(tmp_path / "again"), "--json"])
    assert again.exit_code == 0
    assert json.loads(again.stdout)["damaged"] == named
    at = ServingFolder(tmp_path / "again")
    at.run()
    all_there(at.store, table)
    at.close()


HUGE = 4611686018427387904
NONSENSE = [
    "api_key SET hash = 'nonsense' WHERE id = 'k1'",
    "api_key SET tenant = 'nobody' WHERE id = 'k1'",
    "blob SET sha256 = '-7'",
    f"blob SET bytes = {HUGE}",
    f"result SET bytes = {HUGE} WHERE job = 1",
    f"result SET place = {HUGE} WHERE job = 1",
    "result SET item = -1 WHERE job = 2",
    "result SET job = 99 WHERE job = 2",
    "held SET job = 99",
    "held SET tenant = 'grace'",
    "held SET bytes = -5",
    "program SET job = 99",
    "event SET job = 99 WHERE seq = 1",
    "event SET tenant = 'grace' WHERE seq = 1",
    "job SET tenant = 'nobody', record = replace(record, '\"alice\"', '\"nobody\"') WHERE id = 2",
    "tenant SET max_jobs = -1 WHERE id = 'grace'",
    "tenant SET max_blob_bytes = -1 WHERE id = 'grace'",
    "slot SET slot = -1 WHERE slot = 0",
    "usage SET unit = 'nonsense'",
    "usage SET unit = ''",
    "usage SET ns = -5",
    f"usage SET ns = {HUGE}",
    "usage SET slot = -1 WHERE slot = 0",
    "usage SET day = '2026-02-30'",
    "usage SET day = ''",
]
"""What each column may hold, and was never written there."""


@pytest.mark.parametrize("change", NONSENSE)
def test_a_value_that_makes_no_sense_is_passed_over_and_named(data: Path, tmp_path: Path, change: str) -> None:
    table = change.split()[0]
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3", isolation_level=None)) as db:
        tenants = {"blob": "grace", "usage": TENANT}
        where = f" WHERE tenant = '{tenants[table]}'" if table in tenants and " WHERE " not in change else ""
        assert db.execute(f"UPDATE {change}{where}").rowcount >= 1
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "backup"), "--data", str(data), "--json"])
    named = json.loads(done.stdout)["damaged"]
    assert done.exit_code == 1
    assert any("the record of" in each and "is damaged" in each for each in named), named
    assert sorted(examine_folder(data / "eddy.sqlite3", data / "secret")) == sorted(named)
    at = ServingFolder(data)
    asked(at.store)
    assert at.store.problem is None
    at.submit(salt=9)
    at.run()
    at.close()


@pytest.mark.parametrize("table", ["blob", "result"])
def test_a_size_that_no_disk_has_room_for_keeps_nobody_from_a_backup(data: Path, tmp_path: Path, table: str) -> None:
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3", isolation_level=None)) as db:
        db.execute(f"UPDATE {table} SET bytes = {1 << 49}")
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "backup"), "--data", str(data), "--json"])
    assert done.exit_code == 1
    assert all("is damaged" in each for each in json.loads(done.stdout)["damaged"])
    assert (tmp_path / "backup" / "eddy.sqlite3").exists()


def test_sums_that_are_too_large_keep_no_server_from_starting(data: Path) -> None:
    most = (1 << 63) - 1
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3", isolation_level=None)) as db:
        for table, column in (("blob", "bytes"), ("held", "bytes"), ("usage", "ns"), ("result", "bytes")):
            db.execute(f"UPDATE {table} SET {column} = {most}")
        db.execute("INSERT INTO blob SELECT tenant, replace(sha256, 'a', 'b'), bytes FROM blob")
    at = ServingFolder(data)
    asked(at.store)
    assert at.store.retention.kept_bytes >= 0
    at.close()


def test_blobs_with_damaged_names_are_on_the_first_page(data: Path) -> None:
    with contextlib.closing(Store(data / "eddy.sqlite3")) as store:
        for each in (b"a", b"b", b"c"):
            put(store, "grace", each)
        with store.database.transaction() as db:
            (least,) = db.execute("SELECT min(sha256) FROM blob WHERE tenant = 'grace'").fetchone()
            db.execute("UPDATE blob SET sha256 = '-7' WHERE sha256 = ?", (least,))
        first = store.blobs.page("grace", "", 1)
        assert (first.damaged, len(first.blobs)) == (("-7",), 1)
        found, after = list(first.blobs), first.following
        while after is not None:
            page = store.blobs.page("grace", after, 1)
            assert page.damaged == ()
            found, after = [*found, *page.blobs], page.following
        assert len(found) == 3
        assert store.damage.counts()["blob"] == 1


def test_every_table_is_vouched_for() -> None:
    assert {table for table, *_ in COLUMNS} == {*TABLES, "audit"}


@pytest.mark.parametrize("part", ["blobs/t-grace", "outputs"])
@pytest.mark.parametrize("how", ["gone", "changed", "longer before its end"])
def test_a_damaged_file_is_named_by_doctor_and_backup(data: Path, tmp_path: Path, part: str, how: str) -> None:
    path = sorted((data / part).iterdir())[0]
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    (found,) = examine_folder(data / "eddy.sqlite3", data / "secret")
    assert str(path) in found
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "backup"), "--data", str(data), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["damaged"]) == (1, [found])
    asked = CliRunner().invoke(app, ["doctor", "--data", str(data), "--json"])
    assert asked.exit_code == 1
    (check,) = [each for each in json.loads(asked.stdout)["checks"] if each["check"] == "records"]
    assert (check["ok"], str(path) in check["found"]) == (False, True)


def test_an_application_that_was_added_and_cut_short_is_named(data: Path, tmp_path: Path) -> None:
    (data / "applications").mkdir()
    (data / "applications" / "whole.json").write_text("{}")
    (data / "applications" / "mine.json").write_text('{"application": ')
    (found,) = examine_folder(data / "eddy.sqlite3", data / "secret")
    assert found.startswith("the application in mine.json is damaged")
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "backup"), "--data", str(data), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["damaged"]) == (1, [found])


def test_a_log_that_was_emptied_is_named(data: Path) -> None:
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3")) as db:
        db.executescript("DROP TRIGGER audit_is_not_cut; DELETE FROM audit")
    (data / "audit.head").unlink()
    (found,) = examine_folder(data / "eddy.sqlite3", data / "secret")
    assert found.startswith("the audit log is damaged: audit.head is missing")


def test_a_damaged_entry_is_what_audit_verify_names(data: Path) -> None:
    assert damage(data / "eddy.sqlite3", "audit", "actor", "CAST(x'fffe41' AS TEXT)")
    done = CliRunner().invoke(app, ["audit", "verify", "--data", str(data), "--json"])
    assert done.exit_code == 1
    assert "is not what was written" in json.loads(done.stdout)["problems"][0]


def test_what_is_whole_is_said_to_be(data: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "backup"), "--data", str(data), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["damaged"]) == (0, [])
    (check,) = [each for each in findings(data) if each[0] == "records"]
    assert check[1]


def test_a_chain_that_does_not_hold_is_named(data: Path, tmp_path: Path) -> None:
    assert damage(data / "eddy.sqlite3", "audit", "actor", "'somebody'")
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "backup"), "--data", str(data), "--json"])
    (named,) = json.loads(done.stdout)["damaged"]
    assert "the audit log is damaged: entry" in named
    assert done.exit_code == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tenant": "mallory"}, "columns"),
        ({"state": "running"}, "columns"),
        ({"batch": "2"}, "batch"),
        ({"batch": 0}, "items"),
        ({"items_done": 9}, "items"),
        ({"waiting_s": {"slot": "long"}}, "waiting_s"),
        ({"asked": {"labels": {"a": 1}}}, "labels"),
        ({"asked": {"after": [["x", "after", False]]}}, "id"),
        ({"kernel": {"name": "k"}}, "outputs"),
        ({"detail": "\ud800"}, "surrogates"),
        ({"started_s": 1e999}, "started_s"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_record_with_a_wrong_part_is_damaged(data: Path, change: dict[str, Any], says: str) -> None:
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3")) as db:
        (text,) = db.execute("SELECT record FROM job WHERE id = 1").fetchone()
        db.execute("UPDATE job SET record = ? WHERE id = 1", (json.dumps({**json.loads(text), **change}),))
        db.commit()
    with contextlib.closing(Store(data / "eddy.sqlite3")) as store:
        with pytest.raises(RecordDamaged) as raised:
            store.jobs.get(TENANT, 1)
        assert says in str(raised.value.details["how"])
        assert store.lists.find_page(JobFilter(TENANT)).damaged == (1,)
        assert store.damage.counts()["job"] == 1
    (found,) = examine_folder(data / "eddy.sqlite3", data / "secret")
    assert found.startswith("the record of job")


def test_a_damaged_record_is_said_once(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert damage(data / "eddy.sqlite3", "job", "record", "'{'")
    with contextlib.closing(Store(data / "eddy.sqlite3")) as store:
        for _ in range(3):
            assert len(store.lists.page(None, limit=100)) == 5
        told = store.numbers.job.public_id(1)
    assert [message for message in caplog.messages if f"job {told} is damaged" in message] != []
    assert sum("is damaged" in message for message in caplog.messages) == 1


def test_a_damaged_job_that_had_not_ended_ends(data: Path) -> None:
    for way in ("NULL", "CAST(x'ff' AS TEXT)"):
        assert damage(data / "eddy.sqlite3", "job", "tenant", way)
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3")) as db:
        db.execute("UPDATE job SET final = 7 WHERE id = 4")
        db.execute("UPDATE job SET snapshot = '{\"phase\": ' WHERE id = 3")
        db.commit()
    at = ServingFolder(data)
    at.run()
    assert at.store.damage.counts()["job"] == 2, "they are counted, be they ended or not"
    states = {number: at.store.jobs.get(TENANT, number) for number in (3, 4, 6, 7)}
    assert [(each.state, each.cause) for each in states.values()] == [
        *[(JobState.FAILED, "storage-damaged")] * 2,
        *[(JobState.SUCCEEDED, "")] * 2,
    ]
    assert at.store.jobs.tally.states() == {} or not any(at.store.jobs.tally.states().values())
    at.close()
    found = examine_folder(data / "eddy.sqlite3", data / "secret")
    assert len(found) == 1, "those that ended so can be read"


def test_what_guards_all_of_it_is_refused_in_a_sentence(data: Path) -> None:
    """Without the numbering nobody knows which job an id is of: no server starts."""
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3")) as db:
        db.execute("UPDATE meta SET value = '{' WHERE key = 'numbering'")
        db.commit()
    with pytest.raises(StorageDamaged, match=r"has no numbering of jobs.*restore it from a backup"):
        Store(data / "eddy.sqlite3")
    (found,) = examine_folder(data / "eddy.sqlite3", data / "secret")
    assert "value numbering" in found
    done = CliRunner().invoke(app, ["serve", "--board", "model", "--port", "0", "--data", str(data)])
    assert (done.exit_code, len(done.stderr.strip().splitlines())) == (6, 1)


@pytest.mark.parametrize("key", ["seen", "now_s", "offset_s", "accounted_ns", "accounted_from_ns", "accounted_slots"])
@pytest.mark.parametrize("value", ["'x'", "x'ff'", "'nan'"])
def test_a_value_that_cannot_be_read_stops_nothing(data: Path, key: str, value: str) -> None:
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3")) as db:
        db.execute(f"INSERT OR REPLACE INTO meta (key, value) VALUES ('{key}', {value})")
        db.commit()
    assert any(f"value {key}" in each for each in examine_folder(data / "eddy.sqlite3", data / "secret"))
    at = ServingFolder(data)
    at.run()
    assert at.store.outputs.read(TENANT, 3, "out") == expected(3, 5)
    at.close()
    assert examine_folder(data / "eddy.sqlite3", data / "secret") == [], "written again"


def test_a_damaged_tenant_is_not_unknown_and_is_added_again(data: Path) -> None:
    assert damage(data / "eddy.sqlite3", "tenant", "attributes", "'{'")
    at = ServingFolder(data)
    tenants, hers = at.store.tenants, at.sign("grace's key")
    assert (tenants.damaged, [each.id for each in tenants.all()]) == ({"grace"}, [TENANT, "operator"])
    with pytest.raises(RecordDamaged, match="tenant grace"):
        tenants.get("grace")
    tenants.put(TenantRecord("grace", at.sign("new")))
    assert tenants.get("grace").id == "grace"
    assert {key.key_hash for key in at.store.keys.all("grace")} == {hers, at.sign("another"), at.sign("new")}
    assert (tenants.damaged, at.store.damage.counts()["tenant"]) == (set(), 0)
    at.close()


def test_a_damaged_key_opens_nothing(data: Path) -> None:
    assert damage(data / "eddy.sqlite3", "api_key", "revoked_unix_s", "'yesterday'")
    with contextlib.closing(Store(data / "eddy.sqlite3")) as store:
        ((name, damaged),) = store.keys.damaged.items()
        with pytest.raises(RecordDamaged, match=f"key {name}"):
            store.keys.by_hash(damaged)
        with pytest.raises(RecordDamaged):
            store.tenants.by_key(damaged)
        assert name not in {key.id for key in store.keys.all()}


def test_an_operator_whose_record_is_damaged_is_not_locked_out(data: Path) -> None:
    key = (data / "operator.key").read_text().strip()
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3")) as db:
        db.execute("UPDATE tenant SET bounds = '{' WHERE id = 'operator'")
        db.commit()
    at = ServingFolder(data)
    operator = at.store.tenants.by_key(at.sign(key))
    assert operator is not None
    assert operator.admin
    at.close()


def test_putting_a_blob_again_mends_its_row(data: Path) -> None:
    assert damage(data / "eddy.sqlite3", "blob", "bytes", "'abc'")
    with contextlib.closing(Store(data / "eddy.sqlite3")) as store:
        (sha256,) = store.blobs.page("grace", "", 10).damaged
        with pytest.raises(RecordDamaged, match=sha256):
            store.blobs.get("grace", sha256)
        assert not store.blobs.has("grace", sha256)
        assert store.blobs.put("grace", sha256, b"hers")
        assert store.blobs.get("grace", sha256) == b"hers"
        assert (store.blobs.ledger.tenant_bytes("grace"), store.damage.counts()["blob"]) == (4, 0)


@pytest.mark.parametrize(("table", "column"), [("blob", "sha256"), ("blob", "tenant"), ("result", "name")])
def test_a_file_whose_row_cannot_name_it_is_not_swept(data: Path, table: str, column: str) -> None:
    before = sorted(path for path in data.rglob("*") if path.is_file() and path.parent != data)
    assert damage(data / "eddy.sqlite3", table, column, "CAST(x'ff' AS TEXT)")
    with contextlib.closing(Store(data / "eddy.sqlite3")) as store:
        assert store.sweep() == []
    assert [path for path in before if not path.exists()] == []


def test_a_damaged_idempotency_key_names_no_second_job(data: Path) -> None:
    assert damage(data / "eddy.sqlite3", "idempotency", "job", "'abc'")
    at = ServingFolder(data)
    with pytest.raises(RecordDamaged, match="idempotency key 'once'"):
        at.engine.intake.accept(request(at.store, batch=2, key="once"))
    assert at.store.problem is None
    at.close()


def test_a_backup_of_an_older_folder_is_read_as_far_as_it_can_be(data: Path, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3")) as db:
        db.executescript(f"DROP TABLE held; PRAGMA user_version = {len(MIGRATIONS) - 4}")
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "backup"), "--data", str(data), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["damaged"]) == (0, [])
