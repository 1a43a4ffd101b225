# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A data base in which blobs and results were rows: everything in it is there afterwards, as files."""

from __future__ import annotations

import dataclasses
import errno
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from eddy.core.errors import NotFound, StorageFull
from eddy.core.jobs import JobState
from eddy.core.records import JobRequest
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.db.rows import LOG
from eddy.store.db.schema import MIGRATIONS
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, request

DUMP = Path(__file__).with_name("store_schema_2.sql")
OTHER = "carol.x"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "data" / "eddy.sqlite3"
    found.parent.mkdir()
    with sqlite3.connect(found) as db:
        db.executescript(DUMP.read_text(encoding="utf-8"))
    db.close()
    return found


def was(path: Path) -> dict[str, list[Any]]:
    """Blobs and results as rows had them."""
    with sqlite3.connect(path) as db:
        blobs = db.execute("SELECT tenant, sha256, data FROM blob").fetchall()
        results = db.execute("SELECT job, name, item, data FROM result ORDER BY job, name, item").fetchall()
    db.close()
    return {"blobs": blobs, "results": results}


def test_every_byte_is_a_file_afterwards(path: Path) -> None:
    before = was(path)
    assert (len(before["blobs"]), len(before["results"])) == (13, 6)
    store = Store(path)
    for tenant, sha256, data in before["blobs"]:
        assert store.blobs.get(tenant, sha256) == data
        assert (path.parent / "blobs" / f"t-{tenant}" / sha256).read_bytes() == data
    assert store.outputs.read(TENANT, 1, "out") == expected(batch=3)
    y = [data for job, name, _, data in before["results"] if (job, name) == (2, "y")]
    assert store.outputs.read("bob", 2, "y") == b"".join(y)
    log = [data for job, name, _, data in before["results"] if (job, name) == (2, LOG)]
    assert store.outputs.log("bob", 2).encode() == b"".join(log) != b""
    (first,) = [data for job, name, _, data in before["results"] if (job, name) == (4, "out")]
    assert (path.parent / "outputs" / "4.out").read_bytes() == first
    assert store.sweep() == []
    store.close()
    with sqlite3.connect(path) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        columns = {row[1] for table in ("blob", "result") for row in db.execute(f"PRAGMA table_info({table})")}
    db.close()
    assert version == len(MIGRATIONS)
    assert "data" not in columns
    raw = path.read_bytes()
    assert not any(data in raw for _, _, data in before["blobs"])


def test_jobs_tenants_and_keys_are_as_they_were(path: Path) -> None:
    mine = [len(data) for tenant, _, data in was(path)["blobs"] if tenant == TENANT]
    store = Store(path)
    states = [(record.id, record.state.value, record.items_done) for record in reversed(store.lists.page(None))]
    assert states == [(1, "succeeded", 3), (2, "succeeded", 1), (3, "failed", 0), (4, "running", 1), (5, "queued", 0)]
    assert store.jobs.get(OTHER, 3).cause == "illegal-burst"
    assert store.tenants.get(TENANT).attributes == {"plan": "gold"}
    operator = store.tenants.by_key("cd" * 32)
    assert isinstance(operator, TenantRecord)
    assert operator.admin
    assert store.jobs.unfinished_by_state() == {"running": 1, "queued": 1}
    assert store.blobs.ledger.room_bytes(TENANT) == 4096 - sum(mine) < 4096
    # The same request under the same key names the job it named, so its hash is what it was.
    asked = dataclasses.replace(store.jobs.request(TENANT, 1), idempotency_key="once")
    assert store.submissions.keys.find_job(asked) == store.jobs.get(TENANT, 1)
    record, new = store.submissions.add_job(asked, 9.0)
    assert (record.id, new) == (1, False)


def test_jobs_that_had_not_ended_go_on(path: Path) -> None:
    store = Store(path)
    engine = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    while not engine.is_idle:
        engine.step()
    assert store.outputs.read(TENANT, 4, "out") == expected(batch=3, salt=5)
    assert store.outputs.read(TENANT, 5, "out") == expected(batch=2, salt=6)
    assert store.submissions.add_job(request(store), 0.0)[0].id == 6


def test_a_migration_that_is_cut_short_is_begun_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = was(path)

    def broken() -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr("os.sync", broken)
        with pytest.raises(StorageFull):
            Store(path)
    assert was(path) == before
    assert Store(path).outputs.read(TENANT, 1, "out") == expected(batch=3)


def test_a_new_store_needs_no_migration_of_rows(tmp_path: Path) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    record, _ = store.submissions.add_job(JobRequest("a", "app"), 0.0)
    assert record.state is JobState.QUEUED
    with pytest.raises(NotFound):
        store.blobs.get("a", "00" * 32)
