# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A place for bytes: names, folders, and addresses at which boards fetch and send."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path
from unittest.mock import patch

import pytest
from eddy.core.errors import InvalidRequest, NotFound, StorageFailed, StorageFull
from eddy.pool.bytes.byte_store import BlobName, ByteStore
from eddy.pool.bytes.folder_store import RESERVED, FolderStore
from eddy.pool.bytes.places import open_store
from eddy.pool.connection.transfer import TransferSecret
from eddy.pool.routes.open_transfers import MAX_AT_ONCE, PATH, OpenTransfers, Transfer
from hypothesis import given
from hypothesis import strategies as st

SHA = "ab" * 32


@given(st.text(min_size=1, max_size=30), st.sampled_from(["0" * 16, "0123456789abcdef"]))
def test_a_name_is_a_path_and_back_whatever_its_tenant_is_called(tenant: str, generation: str) -> None:
    if tenant.isprintable():
        name = BlobName(tenant, SHA, generation)
        assert BlobName.of_path(name.path) == name
        assert name.path.count("/") == 1
        assert ".." not in name.path.split("/")


@pytest.mark.parametrize("path", ["", "pool", "t-a", f"t-a/{SHA}", f"t-a/{SHA}.x", f"a/{SHA}.0", f"t-a/{SHA[1:]}.0"])
def test_what_is_no_blobs_path_names_none(path: str) -> None:
    assert BlobName.of_path(path) is None


def kept(store: ByteStore, data: bytes, tenant: str = "ada") -> BlobName:
    draft = store.draft()
    draft.write(data)
    name = BlobName.new(tenant, draft.sha256)
    asyncio.run(store.keep(draft, name))
    draft.drop()
    return name


def read(store: ByteStore, name: BlobName, begin: int, stop: int) -> bytes:
    async def do() -> bytes:
        return b"".join([piece async for piece in store.pieces(name, begin, stop)])

    return asyncio.run(do())


def all_of(store: ByteStore) -> dict[BlobName, int]:
    async def do() -> dict[BlobName, int]:
        async with contextlib.aclosing(store.blobs()) as there:
            return {name: seen.size_bytes async for name, seen in there}

    return asyncio.run(do())


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    made = FolderStore(tmp_path / "bytes")
    assert asyncio.run(made.begin("p", make=True))
    return made


def test_files_are_there_whole_in_parts_and_gone(store: FolderStore) -> None:
    data = os.urandom(700_001)
    name, empty = kept(store, data), kept(store, b"", "grace")
    assert all_of(store) == {name: len(data), empty: 0}
    for begin, stop in ((0, len(data)), (5, 6), (300_000, 700_001), (9, 9)):
        assert read(store, name, begin, stop) == data[begin:stop]
    assert read(store, name, 0, len(data) + 5) == data, "whoever counts sees that it is too short"
    found = asyncio.run(store.look(name))
    assert found is not None
    assert (found.size_bytes, abs(found.at_unix_s - time.time()) < 600) == (len(data), True)
    for _ in range(2):
        asyncio.run(store.remove(name))
    assert asyncio.run(store.look(name)) is None
    assert read(store, name, 0, 5) == b""
    assert all_of(store) == {empty: 0}


def test_what_is_dropped_leaves_nothing(store: FolderStore, tmp_path: Path) -> None:
    draft = store.draft()
    draft.write(b"half")
    draft.drop()
    assert all_of(store) == {}
    assert [path.name for path in (tmp_path / "bytes").rglob("*") if path.is_file()] == ["pool"]


def test_heads_share_a_folder_or_know_that_they_do_not(store: FolderStore, tmp_path: Path) -> None:
    name = kept(store, b"x")
    other, elsewhere = FolderStore(tmp_path / "bytes"), FolderStore(tmp_path / "elsewhere")
    assert asyncio.run(other.begin("p", make=False))
    assert all_of(other) == {name: 1}
    assert not asyncio.run(other.begin("another pool", make=False))
    assert not asyncio.run(elsewhere.begin("p", make=False))
    assert not (tmp_path / "elsewhere").exists()


def test_a_part_of_the_disk_stays_free(store: FolderStore) -> None:
    status = os.statvfs(store.place)
    total = status.f_blocks * status.f_frsize
    reserved = total - store.capacity()
    assert 0 < reserved <= RESERVED * total
    with patch("eddy.pool.bytes.folder_store.free_bytes", lambda _: reserved + 1000):
        store.check_room(1000)
        with pytest.raises(StorageFull):
            store.check_room(1001)


def test_a_folder_that_was_moved_away_does_not_come_again_empty(store: FolderStore, tmp_path: Path) -> None:
    (tmp_path / "bytes").rename(tmp_path / "gone")
    with pytest.raises(StorageFailed):
        store.draft()


@pytest.mark.parametrize("where", ["", "s3://", "ftp://x/y"])
def test_what_is_no_place_is_refused(where: str) -> None:
    with pytest.raises(InvalidRequest):
        open_store(where)


def transfer(board: str = "b1", sends: bool = False) -> Transfer:
    return Transfer(board, 7, 1, "ada", SHA, 5, sends)


def test_an_address_is_good_once_and_for_whom_it_was_given() -> None:
    opened, proof = OpenTransfers("http://head"), TransferSecret()
    url = opened.offer(transfer(), proof.digest)
    assert url.startswith(f"http://head{PATH}/")
    name = url.rsplit("/", 1)[1]
    for secret, sends in (("", False), (proof.digest, False), (TransferSecret().secret, False), (proof.secret, True)):
        with pytest.raises(NotFound):
            opened.take(name, secret, sends)
    assert opened.take(name, proof.secret, False) == transfer()
    with pytest.raises(NotFound):
        opened.take(name, proof.secret, False)
    assert proof.secret not in repr(proof)


@pytest.mark.parametrize(("jobs", "most"), [(0, MAX_AT_ONCE), (1, MAX_AT_ONCE), (41, 82)])
def test_a_board_that_only_begins_ends_its_own(jobs: int, most: int) -> None:
    opened, proof = OpenTransfers(""), TransferSecret()
    other = opened.offer(transfer("b2"), proof.digest).rsplit("/", 1)[1]
    urls = [opened.offer(transfer(), proof.digest, jobs) for _ in range(100)]
    good = 0
    for url in urls:
        with contextlib.suppress(NotFound):
            opened.take(url.rsplit("/", 1)[1], proof.secret, False)
            good += 1
    assert good == most
    assert opened.take(other, proof.secret, False).board == "b2"
    assert not opened._open
