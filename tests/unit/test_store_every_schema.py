"""A data base of every schema there ever was is brought to the newest, with everything that was in it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from eddy.core.jobs import JobState
from eddy.core.records import JobRequest
from eddy.store import Store, schema
from eddy.store.check import read_whole
from eddy.store.schema import MIGRATIONS
from hypervisor_kit import TENANT, expected

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
        assert db.execute("PRAGMA user_version").fetchone() == (version,)


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_every_schema_is_brought_to_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    monkeypatch.setattr("os.sync", lambda: None)
    path = tmp_path / "eddy.sqlite3"
    at(path, version, monkeypatch)
    store = Store(path)
    assert [(job.id, job.state) for job in store.jobs.page(TENANT)][-1] == (1, JobState.SUCCEEDED)
    assert store.outputs.read(TENANT, 1, "out") == expected(batch=3)
    assert {job.record.id for job in store.jobs.unfinished()} == {4, 5}
    operator = store.tenants.by_key("cd" * 32)
    assert operator is not None
    assert operator.admin
    assert store.tenants.get(TENANT).attributes == {"plan": "gold"}
    record, new = store.submissions.add_job(JobRequest(TENANT, "chain", 1), 1.0)
    assert (record.id, new) == (6, True)
    store.audit.note(lambda text: "0" * 64, "operator", "", "drain-slot", {})
    store.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert read_whole(path) == []
