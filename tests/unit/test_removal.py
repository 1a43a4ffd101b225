"""A tenant that is removed leaves its name in the accounts, and nothing else anywhere."""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path

import pytest
from eddy.core.errors import Conflict, NotFound, Unauthorized
from eddy.core.jobs import JobState
from eddy.core.tenants import TenantRecord
from eddy.store import Store
from purge_kit import (
    DATABASE,
    KEEP_NAME,
    end,
    files_with,
    furnish,
    ids,
    killed_at,
    rows_with,
    secret_of,
    settle,
    submit,
    tables,
)

NAMELESS = {"sqlite_sequence", "slot", "meta", "purged", "purged_to", "result", "removed"}
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
        assert store.blobs.ledger.of("adelheid") == 0
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
        store.tenants.check_stays("ada")
    assert not settle(store, "ada"), "jobs of it are under way"
    assert len(ids(store, "ada")) == 2
    finished(store, "ada")
    assert settle(store, "ada")
    for each in (store, Store(path)):
        with pytest.raises(NotFound):
            each.tenants.get("ada")
        with pytest.raises(Conflict, match=f"was removed on {time.strftime('%Y-%m-%d', time.gmtime())}"):
            each.tenants.check_stays("ada")
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
    monkeypatch.setattr("eddy.store.purge.ROWS", 8)
    monkeypatch.setattr("eddy.store.purge.BATCH", 3)
    monkeypatch.setattr("eddy.store.removal.BLOBS_AT_ONCE", 2)
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
            if store.tenants.leaving():
                assert settle(store, "adelheid"), moment
            assert {table for table, _ in rows_with(path, "adelheid")} == set(KEEP_NAME)
            assert files_with(path.parent, "adelheid") == set()
    assert moment > 20, "there were as many moments"
