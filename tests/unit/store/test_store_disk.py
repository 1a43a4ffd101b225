# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Durability outside the turn: nobody who writes waits for another's synchronisation, nobody is told before his own."""

from __future__ import annotations

import dataclasses
import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.core.errors import StorageFailed
from eddy.core.jobs import JobState
from eddy.core.records import JobRequest
from eddy.hypervisor.intake.intake import Intake
from eddy.store import Store
from eddy.store.db.rows import Commit
from eddy.store.disk.disk import Disk
from eddy.store.job_tables.submissions import Submission


class Slow:
    """`os.fdatasync`, but it takes until it is let go; counts how often it began."""

    def __init__(self) -> None:
        self.begun, self.let_go, self.refuses = 0, threading.Event(), False
        self._synchronise = os.fdatasync

    def __call__(self, file: int) -> None:
        self.begun += 1
        assert self.let_go.wait(180)
        if self.refuses:
            raise OSError(errno.EIO, "Input/output error")
        self._synchronise(file)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "eddy.sqlite")
    made.submissions.add_job(JobRequest("a", "app"), 0.0)
    yield made
    made.close()


@pytest.fixture
def slow(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    """From after the first job on."""
    made = Slow()
    monkeypatch.setattr(os, "fdatasync", made)
    yield made
    made.let_go.set()


def beside(call: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def until(holds: Callable[[], bool]) -> None:
    until_s = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < until_s, "it never held"
        time.sleep(0.001)


def submitting(store: Store, answers: list[int]) -> threading.Thread:
    return beside(lambda: answers.append(store.submissions.add_job(JobRequest("a", "app"), 1.0)[0].id))


def test_a_step_does_not_wait_for_the_disk_of_a_submission(store: Store, slow: Slow) -> None:
    answers: list[int] = []
    thread = submitting(store, answers)
    until(lambda: slow.begun == 1)
    store.commit(Commit(meta={"seen": "7"}))  # returns, though nothing is synchronised yet
    assert not answers, "a submission was acknowledged before it was on disk"
    slow.let_go.set()
    thread.join(180)
    assert answers == [2]
    assert store.meta("seen") == "7"


def test_a_cancellation_waits_for_the_disk_and_keeps_nobody_waiting(store: Store, slow: Slow) -> None:
    running: Any = SimpleNamespace(events=SimpleNamespace(now_s=1.0), slots=())
    intake, answers = Intake(store, (), {}, running), list[int]()
    threads = [beside(lambda: answers.append(intake.cancel("a", 1).id)) for _ in range(3)]
    until(lambda: len(intake._inbox) == 3)  # all are noted, and one disk is waited for
    assert not answers, "a cancellation was acknowledged before it was on disk"
    slow.let_go.set()
    for thread in threads:
        thread.join(180)
    assert answers == [1, 1, 1]
    assert slow.begun <= 2


def test_who_waits_at_the_same_time_shares_one_synchronisation(store: Store, slow: Slow) -> None:
    answers: list[int] = []
    disk = store.database._disk
    before = disk._promised
    threads = [submitting(store, answers)]
    until(lambda: slow.begun == 1)
    threads += [submitting(store, answers) for _ in range(5)]
    until(lambda: disk._committed >= disk._promised == before + 6)
    slow.let_go.set()
    for thread in threads:
        thread.join(180)
    assert sorted(answers) == [2, 3, 4, 5, 6, 7]
    assert slow.begun == 2, "the first, which began before the others had committed, and one for all of them"


def test_nobody_is_shown_what_is_not_on_disk(store: Store, slow: Slow) -> None:
    shown: list[int] = []
    writer = submitting(store, [])
    until(lambda: slow.begun == 1)
    reader = beside(lambda: shown.extend(record.id for record in store.lists.page("a")))
    reader.join(0.2)
    assert not shown
    assert store.database.settling
    slow.let_go.set()
    writer.join(180)
    reader.join(180)
    assert shown == [2, 1]
    assert not store.database.settling


def test_what_need_not_outlive_the_power_is_shown_at_once(store: Store, slow: Slow) -> None:
    store.commit(Commit(meta={"seen": "7"}))
    assert store.meta("seen") == "7"
    assert slow.begun == 0


def test_a_disk_that_refuses(store: Store, slow: Slow) -> None:
    slow.refuses = True
    slow.let_go.set()
    with pytest.raises(StorageFailed, match="Input/output error"):
        store.submissions.add_jobs([Submission(JobRequest("a", "app", idempotency_key=key)) for key in "xy"], 1.0)
    assert store.problem is not None
    assert [record.id for record in store.lists.page("a")] == [3, 2, 1], "each is there once"
    slow.refuses = False
    store.probe()
    assert store.problem is None
    again = store.submissions.add_job(JobRequest("a", "app", idempotency_key="y"), 2.0)
    assert (again[0].id, again[1]) == (3, False)


def test_a_commit_that_fails_promises_nothing(store: Store, slow: Slow) -> None:
    with pytest.raises(RuntimeError), store.database.transaction():
        raise RuntimeError
    disk = Disk(Path("/nowhere/log"))
    with pytest.raises(RuntimeError), disk.commit(durable=True):
        raise RuntimeError
    disk.settle()  # there is nothing to wait for
    assert slow.begun == 0


def test_what_is_acknowledged_was_there_to_be_synchronised(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the files as they are when the last synchronisation begins holds what is acknowledged after it."""
    lost = tmp_path / "lost"

    def power_cut(file: int) -> None:
        lost.mkdir(exist_ok=True)
        for name in ("eddy.sqlite", "eddy.sqlite-wal"):
            shutil.copy(tmp_path / name, lost / name)

    monkeypatch.setattr(os, "fdatasync", power_cut)
    record, _ = store.submissions.add_job(JobRequest("a", "app"), 1.0)
    ended = dataclasses.replace(record, state=JobState.FAILED)
    assert _states(lost) == {1: "queued", 2: "queued"}
    store.commit(Commit(((ended, {}),)))
    assert _states(lost) == {1: "queued", 2: "failed"}


def _states(folder: Path) -> dict[int, str]:
    store = Store(folder / "eddy.sqlite")
    found = {record.id: record.state.value for record in store.lists.page("a")}
    store.close()
    shutil.rmtree(folder)
    return found


def test_the_log_that_is_synchronised_is_the_one_in_use(tmp_path: Path, store: Store) -> None:
    """Also after it was taken into the data base and started again."""
    store.database._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.submissions.add_job(JobRequest("a", "app"), 1.0)
    file = store.database._disk._file
    assert file is not None
    assert os.fstat(file).st_ino == (tmp_path / "eddy.sqlite-wal").stat().st_ino
    assert os.fstat(file).st_size > 0


def test_what_a_process_left_that_died_is_on_disk_before_it_is_shown(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have died between a commit and its synchronisation: the next process finds it in memory, not on disk."""
    left = tmp_path / "left"
    left.mkdir()
    store.commit(Commit(((dataclasses.replace(store.jobs.get("a", 1), state=JobState.CANCELLED), {}),)), wait=False)
    for name in ("eddy.sqlite", "eddy.sqlite-wal"):
        shutil.copy(tmp_path / name, left / name)
    kept: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda file: kept.append(os.fstat(file).st_ino))
    following = Store(left / "eddy.sqlite")
    assert following.jobs.get("a", 1).state is JobState.CANCELLED
    assert kept == [(left / "eddy.sqlite-wal").stat().st_ino]
    following.close()


def test_what_was_closed_in_order_is_shown_at_once(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    monkeypatch.setattr(os, "fdatasync", lambda file: pytest.fail("nothing was left to be synchronised"))
    following = Store(tmp_path / "eddy.sqlite")
    assert [record.id for record in following.lists.page("a")] == [1]
    following.close()
