# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is booked of a tenant's bytes is what is there, whoever comes in between and whatever the disk does."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from eddy.core.errors import InvalidRequest, QuotaExceeded, StorageFailed
from eddy.core.jobs import JobState
from eddy.core.records import JobRequest
from eddy.core.tenants import Quota
from eddy.store import Store
from eddy.store.bytes.partial import KEPT_S, MAX_PARTIAL
from eddy.store.db.rows import Commit, ItemOutput
from eddy.store.disk import files
from eddy.store.disk.names import INCOMING

TENANT, QUOTA_BYTES = "ada", 1000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "eddy.sqlite3", Quota(max_blob_bytes=QUOTA_BYTES))


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def booked_and_kept(store: Store) -> tuple[int, int]:
    return store.blobs.ledger.tenant_bytes(TENANT), sum(size for _, size in store.blobs.page(TENANT, "", 1000).blobs)


def test_what_was_there_when_it_began_to_come_is_booked_where_it_is_gone_in_the_end(store: Store) -> None:
    first, second = b"1" * 1000, b"2" * 1000
    store.blobs.put(TENANT, sha(first), first)
    with store.blobs.upload(TENANT, sha(first), 1000) as again:
        again.write(first[:-1])
        store.blobs.drop(TENANT, sha(first))
        store.blobs.put(TENANT, sha(second), second)
        again.write(first[-1:])
        with pytest.raises(QuotaExceeded):
            again.finish()
    assert booked_and_kept(store) == (1000, 1000)
    store.blobs.drop(TENANT, sha(second))
    with store.blobs.upload(TENANT, sha(second), 1000) as again:
        again.write(second)
        assert again.finish()
    assert booked_and_kept(store) == (1000, 1000)


def test_more_than_is_there_is_booked_as_it_comes(store: Store) -> None:
    data = b"1" * 300
    store.blobs.put(TENANT, sha(data), data)
    with store.blobs.upload(TENANT, sha(data)) as again:
        again.write(data)
        assert store.blobs.ledger.tenant_bytes(TENANT) == 300
        with pytest.raises(QuotaExceeded):
            again.write(b"1" * 600)
        again.write(b"1" * 100)
        assert store.blobs.ledger.tenant_bytes(TENANT) == 700, "they are on disk twice"
        with pytest.raises(InvalidRequest):
            again.finish()
    assert booked_and_kept(store) == (300, 300)


@contextmanager
def refused(store: Store, written: bool, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The next transactions fail, after they were committed or before."""
    transaction = store.database.transaction

    @contextmanager
    def failing(**how: bool) -> Iterator[object]:
        with transaction(**how) as db:
            if not written:
                raise StorageFailed("The disk refuses.")
            yield db
        raise StorageFailed("The disk refuses to say that it has it.")

    with monkeypatch.context() as patch:
        patch.setattr(store.database, "transaction", failing)
        yield


@pytest.mark.parametrize("written", [False, True])
def test_a_disk_that_refuses_leaves_booked_what_is_there(
    store: Store, written: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = b"1" * 300, b"2" * 400
    with refused(store, written, monkeypatch), pytest.raises(StorageFailed):
        store.blobs.put(TENANT, sha(whole), whole)
    assert booked_and_kept(store) == ((300, 300) if written else (0, 0))
    with store.partials.adding(TENANT, sha(parts), 0) as partial:
        store.partials.add(TENANT, partial, parts)
        with refused(store, written, monkeypatch), pytest.raises(StorageFailed):
            store.partials.complete(TENANT, sha(parts), partial)
    assert booked_and_kept(store) == ((700, 700) if written else (0, 0))


def test_a_part_that_gets_no_name_stays_booked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = b"2" * 400
    with store.partials.adding(TENANT, sha(parts), 0) as partial:
        store.partials.add(TENANT, partial, parts)
        with monkeypatch.context() as patch:
            patch.setattr(type(partial), "keep", lambda *_: files.check(False, partial.path, "a part", "for the test"))
            with pytest.raises(files.DamagedFile):
                store.partials.complete(TENANT, sha(parts), partial)
    assert (store.blobs.ledger.tenant_bytes(TENANT), store.partials.size_bytes(TENANT, sha(parts))) == (400, 400)
    store.partials.drop(TENANT, sha(parts))
    assert booked_and_kept(store) == (0, 0)


def test_no_more_parts_begin_together_than_may(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    together, sweep = threading.Barrier(8), store.partials.sweep

    def begin(number: int) -> bool:
        try:
            with store.partials.adding(TENANT, sha(bytes([number])), 0):
                return True
        except QuotaExceeded:
            return False

    def all_at_once() -> list[Path]:
        together.wait(180)
        return sweep()

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(begin, range(MAX_PARTIAL - 4)))
        monkeypatch.setattr(store.partials, "sweep", all_at_once)
        assert sum(threads.map(begin, range(100, 108))) == 4


def test_a_step_of_the_wall_clock_ends_no_upload(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.partials.adding(TENANT, sha(b"x"), 0) as partial:
        store.partials.add(TENANT, partial, b"x")
    clock: dict[str, Callable[[], float]] = {"time": time.time, "monotonic": time.monotonic}
    monkeypatch.setattr(time, "time", lambda: clock["time"]() + 56 * 365 * 86400.0)
    assert store.partials.sweep() == []
    monkeypatch.setattr(time, "monotonic", lambda: clock["monotonic"]() + KEPT_S + 1)
    assert [path.name for path in store.partials.sweep()] == [f"{TENANT}.{sha(b'x')}.part"]
    assert not os.listdir(store.blobs.folder / INCOMING)


@pytest.mark.parametrize("written", [False, True])
def test_outputs_that_are_held_are_booked_as_is_written(
    store: Store, written: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = store.submissions.add_job(JobRequest(TENANT, "app"), 0.0)[0]
    record = dataclasses.replace(record, state=JobState.SUCCEEDED, items_done=1)
    store.commit(Commit(((record, {}),), results=(ItemOutput(record.id, "out", 0, b"1" * 500),)))
    with refused(store, written, monkeypatch), pytest.raises(StorageFailed):
        store.holds.hold(TENANT, record.id)
    assert store.blobs.ledger.tenant_bytes(TENANT) == (500 if written else 0)
    store.holds.hold(TENANT, record.id)
    assert store.blobs.ledger.tenant_bytes(TENANT) == 500
    with refused(store, written, monkeypatch), pytest.raises(StorageFailed):
        store.holds.let_go(TENANT, record.id)
    assert store.blobs.ledger.tenant_bytes(TENANT) == (0 if written else 500)
