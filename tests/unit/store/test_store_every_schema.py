# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A data base of every schema there ever was is brought to the newest, with everything that was in it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from bitstreams_kit import package
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.main import app
from eddy.core.jobs import JobState
from eddy.core.records import JobRequest
from eddy.store import Store
from eddy.store.db import schema
from eddy.store.db.check import read_whole
from eddy.store.db.schema import MIGRATIONS
from hypervisor_kit import TENANT, expected, model_board
from typer.testing import CliRunner

DUMP = Path(__file__).with_name("store_schema_2.sql")
"""As the second schema had it; the first had all of that but for kernels' programs."""


def at(path: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a data base as the Eddy with that many migrations left it."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(DUMP.read_text(encoding="utf-8"))
        if version == 1:
            db.executescript("DROP TABLE program; PRAGMA user_version = 1")
        elif version > 2:
            with monkeypatch.context() as patched:
                patched.setattr(schema, "MIGRATIONS", MIGRATIONS[:version])
                schema.migrate(db, path.parent)
            db.executescript(
                f"DELETE FROM meta WHERE key = '{schema.UPGRADED_FROM}'"
            )  # those Eddys wrote no such thing
        assert db.execute("PRAGMA user_version").fetchone() == (version,)


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_every_schema_is_brought_to_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    monkeypatch.setattr("os.sync", lambda: None)
    path = tmp_path / "eddy.sqlite3"
    at(path, version, monkeypatch)
    store = Store(path)
    assert [(job.id, job.state) for job in store.lists.page(TENANT)][-1] == (1, JobState.SUCCEEDED)
    assert store.outputs.read(TENANT, 1, "out") == expected(batch=3)
    assert {job.record.id for job in store.jobs.unfinished()} == {4, 5}
    operator = store.tenants.by_key("cd" * 32)
    assert operator is not None
    assert operator.admin
    assert store.tenants.get(TENANT).attributes == {"plan": "gold"}
    record, new = store.submissions.add_job(JobRequest(TENANT, "chain", 1), 1.0)
    assert (record.id, new) == (6, True)
    store.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert read_whole(path) == []


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_the_audit_log_of_an_upgraded_folder_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Older versions wrote no head of an empty log, or had no log."""
    data = tmp_path / "data"
    data.mkdir()
    at(data / "eddy.sqlite3", version, monkeypatch)
    (data / "secret").write_bytes(bytes(32))
    (data / "operator.key").write_text("eddy_of_before\n")
    settings = ServerSettings("model", "tiny", "fcfs", data, package(tmp_path / "bitstreams"), port=0)
    for _ in range(2):  # noted once, whatever starts on it afterwards
        with contextlib.closing(Server(settings, board=model_board())) as server:
            entries = server.store.audit.entries()
            made = [(each.action, each.facts) for each in entries]
        done = CliRunner().invoke(app, ["audit", "verify", "--data", str(data), "--boardd", "", "--json"])
        assert (done.exit_code, json.loads(done.stdout)["problems"]) == (0, []), done.output
        facts = {"from_schema": version, "to_schema": len(MIGRATIONS), "without_head": True}
        assert made == [("upgrade-data-folder", facts)]


TIMES = '{"ended_unix_s":1e15,"ended_s":1e15,"submitted_unix_s":1e15,"application":"a"}'
DAMAGED = {
    "far": TIMES,
    "long ago": TIMES.replace("1e15", "-1e15"),
    "never": TIMES.replace("1e15", "1e400"),
    "deep": "[" * 100_000,
    "no text": "\xff",
}


@pytest.mark.parametrize("record", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_record_does_not_end_a_migration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str
) -> None:
    path = tmp_path / "eddy.sqlite3"
    at(path, 2, monkeypatch)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE job SET record = CAST(? AS TEXT) WHERE id = 1", (record.encode("latin-1"),))
        db.commit()
    with closing(Store(path)) as store:
        assert sum(store.jobs.tally.count_ended().values()) == 3
        assert 2 in [job.id for job in store.lists.page(None)]
    with closing(sqlite3.connect(path)) as db:
        ((closed_us,),) = db.execute("SELECT closed_us FROM job WHERE id = 1").fetchall()
    assert abs(closed_us / 1e6 - time.time()) < 600, "as if it had ended now"
