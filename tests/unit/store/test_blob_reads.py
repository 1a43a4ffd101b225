# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A blob is read whole while it is put again or forgotten: nobody is told that it is damaged where it is not."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eddy.core.errors import NotFound
from eddy.store import Store
from eddy.store.bytes.blob_file import BlobFile
from eddy.store.disk.files import PIECE_BYTES, DamagedFile

DATA = bytes(range(256)) * (2 * PIECE_BYTES // 256 + 1)
SHA = hashlib.sha256(DATA).hexdigest()
ADA = "ada"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "eddy.sqlite3")
    store.blobs.put(ADA, SHA, DATA)
    return store


def forgotten(store: Store) -> None:
    store.blobs.drop(ADA, SHA)


def put_again(store: Store) -> None:
    store.blobs.drop(ADA, SHA)
    store.blobs.put(ADA, SHA, DATA)


@pytest.mark.parametrize(("happens", "there"), [(forgotten, False), (put_again, True)])
def test_what_happens_between_its_row_and_its_file(store: Store, happens: Callable[[Store], None], there: bool) -> None:
    file = store.blobs.file(ADA, SHA)
    happens(store)
    if there:
        assert b"".join(store.blobs.read(ADA, file, 0, len(DATA))) == DATA
    else:
        with pytest.raises(NotFound):
            store.blobs.read(ADA, file, 0, len(DATA))


@pytest.mark.parametrize("happens", [forgotten, put_again])
def test_what_happens_once_it_is_open(store: Store, happens: Callable[[Store], None]) -> None:
    pieces = store.blobs.read(ADA, store.blobs.file(ADA, SHA), 0, len(DATA))
    happens(store)
    assert b"".join(pieces) == DATA


@pytest.mark.parametrize(("happens", "there"), [(forgotten, False), (put_again, True)])
def test_what_happens_after_it_was_verified(
    store: Store, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Store], None], there: bool
) -> None:
    """It is opened a second time then."""
    verify, once = BlobFile.verify, [happens]

    def verified(file: BlobFile) -> BlobFile:
        verify(file)
        for each in once:
            each(store)
        once.clear()
        return file

    monkeypatch.setattr(BlobFile, "verify", verified)
    file = store.blobs.file(ADA, SHA)
    if there:
        assert b"".join(store.blobs.read(ADA, file, 1, 5)) == DATA[1:5]
    else:
        with pytest.raises(NotFound):
            store.blobs.read(ADA, file, 1, 5)


def test_one_that_is_damaged_or_lost_is_said_to_be(store: Store) -> None:
    file = store.blobs.file(ADA, SHA)
    file.path.write_bytes(DATA[:-1] + b"x")
    with pytest.raises(DamagedFile):
        store.blobs.read(ADA, file, 0, len(DATA))
    file.path.unlink()
    with pytest.raises(DamagedFile, match="missing"):
        store.blobs.read(ADA, file, 0, len(DATA))


@pytest.fixture
def short_turns() -> Iterator[None]:
    """Threads take turns of 50 us, not 5 ms: they meet more often, and who writes waits for readers less."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("short_turns")
def test_many_at_once_never_meet_damage(store: Store) -> None:
    """Reads beside uploads and removals of the same bytes: all of them, or none."""
    ended, wrong, seen = threading.Event(), list[BaseException](), set[str]()

    def read() -> None:
        while not ended.is_set():
            try:
                file = store.blobs.file(ADA, SHA)
                assert b"".join(store.blobs.read(ADA, file, 0, len(DATA))) == DATA
                seen.add("bytes")
            except NotFound:
                seen.add("none")
            except BaseException as failure:
                wrong.append(failure)
                return

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for _ in range(15):
        put_again(store)
    ended.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert seen
