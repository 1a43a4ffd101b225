# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A data folder that is moved away under a server: nothing is promised any more, and no folder is made in its place."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from eddy.core.errors import StorageFailed
from eddy.store import Store
from eddy.store.disk.files import make_folder
from hypervisor_kit import TENANT, put, request


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with contextlib.closing(Store(tmp_path / "data" / "eddy.sqlite3")) as store:
        put(store, TENANT, b"before")
        yield store


@pytest.mark.parametrize("another", [False, True])
def test_nothing_is_taken_while_it_is_away(store: Store, tmp_path: Path, another: bool) -> None:
    asked = request(store)
    assert store.problem is None
    (tmp_path / "data").rename(tmp_path / "moved")
    if another:
        (tmp_path / "data").mkdir()
    assert "was moved or removed" in str(store.problem)
    with pytest.raises(StorageFailed, match=r"data was moved.*put it back"):
        store.submissions.add_job(asked, 0.0)
    with pytest.raises(StorageFailed):
        put(store, TENANT, b"meanwhile")
    if not another:
        with pytest.raises(StorageFailed), store.partials.adding(TENANT, "0" * 64, 0):
            pass
    assert (tmp_path / "data").exists() == another
    if another:
        assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
        shutil.rmtree(tmp_path / "data")
    store.probe()
    assert store.problem is not None
    (tmp_path / "moved").rename(tmp_path / "data")
    store.probe()
    assert store.problem is None
    assert store.submissions.add_job(asked, 0.0)
    put(store, TENANT, b"afterwards")


def test_a_data_base_that_is_moved_alone_is_noticed(store: Store, tmp_path: Path) -> None:
    (tmp_path / "data" / "eddy.sqlite3").rename(tmp_path / "data" / "away")
    assert "eddy.sqlite3 was moved" in str(store.problem)


def test_a_folder_is_made_within_one_that_is_there(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with pytest.raises(StorageFailed, match=r"There is no .*no folder to make it in"):
        make_folder(data / "blobs" / "incoming", data)
    assert not data.exists()
    data.mkdir()
    assert make_folder(data / "blobs" / "incoming", data).is_dir()
