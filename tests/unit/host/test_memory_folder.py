# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Folders in memory, of processes that end in order, are killed, or still run."""

from __future__ import annotations

import errno
import fcntl
import gc
import subprocess
import sys
from pathlib import Path

import pytest
from eddy.host import memory_folder
from eddy.host.memory_folder import MemoryFolder

KIND = "eddy-test-of-folders"
MAKE = f"""
import pathlib, sys
from eddy.host import memory_folder
memory_folder._MEMORY = pathlib.Path(sys.argv[1])
folder = memory_folder.MemoryFolder({KIND!r})
(folder.path / "held").write_bytes(b"x")
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory_folder, "_MEMORY", tmp_path)
    memory_folder._sweep.cache_clear()
    return tmp_path


def test_a_killed_processs_folder_is_removed_by_the_next_and_one_in_use_is_not(root: Path) -> None:
    command = [sys.executable, "-c", MAKE, str(root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    others = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    killed, living = (Path(each.stdout.readline().strip()) for each in others)
    others[0].kill()
    others[0].communicate()
    assert (killed / "held").exists()
    foreign = root / "eddy-test-of-other-folders-1"
    foreign.mkdir()
    mine = MemoryFolder(KIND)
    assert {*root.iterdir()} == {living, mine.path, foreign}
    others[1].communicate("")
    assert {*root.iterdir()} == {mine.path, foreign}, "one that ends in order removes its own"


def test_a_folder_that_was_taken_for_a_left_one_is_made_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process's sweep can come between its making and its lock."""
    lock, tries = memory_folder._lock, []

    def swept_first(folder: Path) -> int | None:
        tries.append(folder)
        if len(tries) == 1:
            folder.rmdir()
        return lock(folder)

    monkeypatch.setattr(memory_folder, "_lock", swept_first)
    folder = MemoryFolder(KIND)
    assert folder.path == tries[1]
    assert folder.path.is_dir()


def test_where_nothing_can_be_locked_that_is_said_and_nothing_left(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="no locks"):
        MemoryFolder(KIND)
    assert [*root.iterdir()] == []


def test_it_goes_with_whoever_has_it(root: Path) -> None:
    folder = MemoryFolder(KIND)
    folder.close()
    folder.close()
    holder = [MemoryFolder(KIND)]
    assert len([*root.iterdir()]) == 1
    holder.clear()
    gc.collect()
    assert [*root.iterdir()] == []
