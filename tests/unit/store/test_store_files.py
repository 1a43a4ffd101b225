# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Blobs and outputs as files: there whole or not at all, bounded before they come, and known when they are damaged."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from eddy.core.errors import InvalidRequest, NotFound, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, JobRequest
from eddy.core.tenants import Quota
from eddy.store import Store
from eddy.store.db.rows import LOG, Commit, ItemOutput
from eddy.store.disk.files import PIECE_BYTES, DamagedFile

TENANT = "ada"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "eddy.sqlite3", Quota(max_blob_bytes=3 * PIECE_BYTES))


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put(store: Store, data: bytes, tenant: str = TENANT) -> str:
    store.blobs.put(tenant, sha(data), data)
    return sha(data)


def there(folder: Path) -> list[str]:
    """Every file beside the data base."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("eddy.sqlite3")
    )


def finished(store: Store, *items: bytes) -> JobRecord:
    """A job that left `out`, item by item, in a commit each."""
    record = store.submissions.add_job(JobRequest(TENANT, "app", len(items)), 0.0)[0]
    for number, data in enumerate(items):
        state = JobState.SUCCEEDED if number == len(items) - 1 else JobState.RUNNING
        record = dataclasses.replace(record, state=state, items_done=number + 1)
        store.commit(Commit(((record, {}),), results=(ItemOutput(record.id, "out", number, data),)))
    return record


def test_a_blob_is_a_file_that_only_its_owner_reads(store: Store, tmp_path: Path) -> None:
    digest = put(store, b"abc")
    assert there(tmp_path) == [f"blobs/t-{TENANT}/{digest}"]
    path = tmp_path / there(tmp_path)[0]
    assert path.read_bytes() == b"abc"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert b"abc" not in (tmp_path / "eddy.sqlite3").read_bytes()
    store.blobs.drop(TENANT, digest)
    assert there(tmp_path) == []


@pytest.mark.parametrize("tenant", ["..", ".", "a/b", "a.b", "ü", "%2e"])
def test_no_name_of_a_tenant_leaves_the_folder(store: Store, tmp_path: Path, tenant: str) -> None:
    digest = put(store, b"x", tenant)
    (name,) = there(tmp_path)
    assert name.startswith("blobs/t-")
    assert name.count("/") == 2
    assert store.blobs.get(tenant, digest) == b"x"
    assert store.sweep() == []


def test_what_is_on_disk_comes_before_the_row(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def note(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def noted(*arguments: object) -> object:
            seen.append(name)
            return call(*arguments)

        return noted

    put(store, b"the folders are there")
    finished(store, b"outputs too")
    store.database._connection.set_trace_callback(lambda text: seen.append(text[:11]) if "PRAGMA" not in text else None)
    monkeypatch.setattr(os, "fsync", note("fsync", os.fsync))
    monkeypatch.setattr(Path, "replace", note("rename", Path.replace))
    put(store, b"abc")
    assert seen[:5] == ["fsync", "rename", "fsync", "BEGIN IMMED", "INSERT OR R"]
    seen.clear()
    finished(store, b"abc")
    assert seen[seen.index("fsync") :][:4] == ["fsync", "rename", "fsync", "BEGIN IMMED"]


def test_a_wrong_hash_is_told_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=sha(b"abc")) as refused:
        store.blobs.put(TENANT, sha(b"other"), b"abc")
    assert refused.value.details["field"] == "sha256"
    assert there(tmp_path) == []
    assert store.blobs.ledger.room_bytes(TENANT) == 3 * PIECE_BYTES


def test_an_upload_that_breaks_off_leaves_nothing(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConnectionError), store.blobs.upload(TENANT, sha(b"x" * 100), 100) as upload:  # noqa: PT012
        upload.write(b"x" * 50)
        assert store.blobs.ledger.room_bytes(TENANT) == 3 * PIECE_BYTES - 100
        assert len(there(tmp_path)) == 1
        raise ConnectionError
    assert there(tmp_path) == []
    assert store.blobs.ledger.room_bytes(TENANT) == 3 * PIECE_BYTES


def test_bytes_are_booked_before_they_come(store: Store) -> None:
    with store.blobs.upload(TENANT, sha(b"1"), 2 * PIECE_BYTES):
        with pytest.raises(QuotaExceeded):
            store.blobs.upload(TENANT, sha(b"2"), 2 * PIECE_BYTES)
        put(store, b"another tenant's", "grace")
        # One that says nothing of its size is stopped at the bound, not after it.
        with store.blobs.upload(TENANT, sha(b"3")) as silent:
            silent.write(bytes(PIECE_BYTES))
            with pytest.raises(QuotaExceeded):
                silent.write(b"x")
            assert silent.size_bytes == PIECE_BYTES
    assert store.blobs.ledger.room_bytes(TENANT) == 3 * PIECE_BYTES


def test_what_is_kept_stays_booked_and_what_is_deleted_does_not(store: Store, tmp_path: Path) -> None:
    data = bytes(2 * PIECE_BYTES)
    digest = put(store, data)
    for fresh in (store, Store(tmp_path / "eddy.sqlite3", Quota(max_blob_bytes=3 * PIECE_BYTES))):
        assert fresh.blobs.ledger.room_bytes(TENANT) == PIECE_BYTES
        assert fresh.blobs.put(TENANT, digest, data) is False
        assert fresh.blobs.ledger.room_bytes(TENANT) == PIECE_BYTES
    store.blobs.drop(TENANT, digest)
    assert store.blobs.ledger.room_bytes(TENANT) == 3 * PIECE_BYTES


def test_equal_uploads_at_once_make_one_blob(store: Store, tmp_path: Path) -> None:
    data, news = os.urandom(1000), list[bool]()
    together = threading.Barrier(4)

    def send() -> None:
        with store.blobs.upload(TENANT, sha(data), len(data)) as upload:
            upload.write(data)
            together.wait(180)
            news.append(upload.finish())

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    assert sorted(news) == [False, False, False, True]
    assert there(tmp_path) == [f"blobs/t-{TENANT}/{sha(data)}"]
    assert store.blobs.ledger.room_bytes(TENANT) == 3 * PIECE_BYTES - len(data)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("spoil", "how"),
    [
        (lambda path: path.write_bytes(b"x" * 999 + b"y"), "its sha256 is"),
        (lambda path: path.write_bytes(b"x" * 400), "ends 600 bytes early"),
        (lambda path: path.write_bytes(b"x" * 1001), "has 1,001 bytes instead of 1,000 bytes"),
        (lambda path: path.unlink(), "it is missing"),
        (_pipe, "it is no plain file"),
        (_link, "Too many levels of symbolic links"),
    ],
)
def test_a_damaged_blob_is_named_and_can_be_put_up_again(
    store: Store, tmp_path: Path, spoil: Callable[[Path], object], how: str
) -> None:
    data = b"x" * 1000
    digest = put(store, data)
    path = tmp_path / "blobs" / f"t-{TENANT}" / digest
    spoil(path)
    with pytest.raises(DamagedFile, match=how) as damaged:
        store.blobs.get(TENANT, digest)
    assert digest in damaged.value.message
    assert damaged.value.path == path
    assert str(path) not in damaged.value.message, "a tenant reads it"
    assert not store.blobs.has(TENANT, digest), "who asks before sending sends it"
    store.blobs.put(TENANT, digest, data)
    assert store.blobs.has(TENANT, digest)
    assert store.blobs.get(TENANT, digest) == data


def test_large_blobs_are_read_in_pieces(store: Store) -> None:
    data = os.urandom(2 * PIECE_BYTES + 5)
    file = store.blobs.file(TENANT, put(store, data)).verify()
    got = list(file.pieces(3, 2 * PIECE_BYTES))
    assert [at for at, _ in got] == [0, PIECE_BYTES]
    assert max(len(piece) for _, piece in got) == PIECE_BYTES
    assert b"".join(piece for _, piece in got) == data[3 : 3 + 2 * PIECE_BYTES]


def test_outputs_lie_end_to_end_in_one_file(store: Store, tmp_path: Path) -> None:
    record = finished(store, b"one", b"two", b"three")
    assert there(tmp_path) == ["outputs/1.out"]
    assert store.outputs.read(TENANT, record.id, "out") == b"onetwothree"
    assert (tmp_path / "outputs/1.out").read_bytes() == b"onetwothree"
    assert store.outputs.file(TENANT, record.id, "out").size_bytes == 11
    with pytest.raises(NotFound, match="it has: out"):
        store.outputs.file(TENANT, record.id, "nope")


def test_what_a_crash_left_of_an_item_is_written_over(store: Store, tmp_path: Path) -> None:
    record = store.submissions.add_job(JobRequest(TENANT, "app", 2), 0.0)[0]
    store.commit(Commit(results=(ItemOutput(record.id, "out", 0, b"one"),)))
    with (tmp_path / "outputs/1.out").open("ab") as file:
        file.write(b"half of an item whose row was never written")
    done = dataclasses.replace(record, state=JobState.SUCCEEDED, items_done=2)
    store.commit(Commit(((done, {}),), results=(ItemOutput(record.id, "out", 1, b"two"),)))
    assert store.outputs.read(TENANT, record.id, "out") == b"onetwo"
    assert (tmp_path / "outputs/1.out").read_bytes() == b"onetwo"


def test_a_damaged_output_is_named(store: Store, tmp_path: Path) -> None:
    record = finished(store, b"one", b"two")
    (tmp_path / "outputs/1.out").write_bytes(b"onetwx")
    with pytest.raises(DamagedFile, match=rf"output out of job {store.numbers.job.public_id(1)} .*bytes 3 to 6"):
        store.outputs.file(TENANT, record.id, "out").verify()


@pytest.mark.parametrize("kind", [_pipe, _link])
def test_an_output_that_is_no_plain_file_keeps_nobody_waiting(
    store: Store, tmp_path: Path, kind: Callable[[Path], None]
) -> None:
    record = finished(store, b"one")
    path = tmp_path / "outputs/1.out"
    kind(path)
    with pytest.raises(DamagedFile, match=f"output out of job {store.numbers.job.public_id(1)}"):
        store.outputs.read(TENANT, record.id, "out")
    said = f"output out of job {store.numbers.job.public_id(1)} cannot be written"
    with pytest.raises(DamagedFile, match=said) as damaged:
        store.commit(Commit(results=(ItemOutput(record.id, "out", 1, b"two"),)))
    assert damaged.value.path == path


def test_files_no_row_names_are_swept(store: Store, tmp_path: Path) -> None:
    kept = {f"blobs/t-{TENANT}/{put(store, b'kept')}", "outputs/1.out", "outputs/1.%2Flog"}
    record = finished(store, b"kept")
    store.commit(Commit(results=(ItemOutput(record.id, LOG, 0, b"printed"),)))
    blobs, outputs = tmp_path / "blobs", tmp_path / "outputs"
    (blobs / "t-grace").mkdir()
    orphans = [
        blobs / "incoming" / "half.draft",
        blobs / f"t-{TENANT}" / sha(b"no row"),
        blobs / "t-grace" / sha(b"kept"),
        outputs / "1.other",
        outputs / "2.out",
        outputs / "x.draft",
    ]
    strangers = [outputs / "thesis.pdf", blobs / "notes", blobs / f"t-{TENANT}" / "notes", blobs / "photos" / sha(b"x")]
    elsewhere = tmp_path.with_name("elsewhere")
    for folder in (elsewhere, blobs / "photos"):
        folder.mkdir()
    (blobs / "t-linked").symlink_to(elsewhere)
    strangers.append(elsewhere / sha(b"somebody's"))
    for path in (*orphans, *strangers):
        path.write_bytes(b"x")
    assert sorted(store.sweep()) == sorted(orphans)
    assert all(path.read_bytes() == b"x" for path in strangers)
    for path in (*strangers, blobs / "t-linked"):
        path.unlink()
    assert set(there(tmp_path)) == kept
    assert store.sweep() == []
    assert store.outputs.log(TENANT, record.id) == "printed"


def test_sweeping_looks_at_every_file_however_many(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eddy.store.bytes.sweep.BATCH", 3)
    kept = [put(store, str(number).encode()) for number in range(8)]
    for number in range(8):
        (tmp_path / "blobs" / f"t-{TENANT}" / sha(f"no row {number}".encode())).write_bytes(b"x")
    assert len(store.sweep()) == 8
    assert there(tmp_path) == sorted(f"blobs/t-{TENANT}/{digest}" for digest in kept)


def test_a_store_that_is_closed_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(Exception, match="closed"):
        store.jobs.get(TENANT, 1)
