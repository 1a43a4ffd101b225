# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Backups that are taken again and again while jobs come, run, end or are cancelled: each is whole, of one instant."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest
from eddy.core.errors import Conflict
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.store.upkeep.backup import write_backup
from eddy.store.upkeep.restore import restore
from hypervisor_kit import TENANT, expected

from .test_backup import ServingFolder

BACKUPS, AT_ONCE = 4, 6


class WorkingServer(threading.Thread):
    """A server's thread: it takes jobs, runs them and ends some.

    Attributes:
        taken: Jobs that were accepted, with their batch and what their inputs were made with.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.began, self.enough = threading.Event(), threading.Event()
        self.taken: dict[int, tuple[int, int]] = {}
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Until it is enough."""
        try:
            self._work()
        except BaseException as failure:
            self.failure = failure
        finally:
            self.began.set()

    def _work(self) -> None:
        serving = ServingFolder(self._path)
        serving.store.audit.begin(serving.hasher.hash)
        while not self.enough.is_set():
            number = len(self.taken)
            batch, salt = number % 3 + 1, number % 7
            self.taken[serving.submit(batch=batch, salt=salt)] = batch, salt
            if number % 5 == 4:
                with contextlib.suppress(Conflict):  # it has ended
                    serving.store.jobs.request_cancel(TENANT, max(self.taken) - 1)
            while len(serving.engine.machine.jobs) > AT_ONCE:
                serving.engine.step()
            if number > AT_ONCE:
                self.began.set()
        serving.close()


def test_what_was_accepted_before_is_in_each_and_comes_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    working = WorkingServer(tmp_path / "data")
    working.start()
    assert working.began.wait(180)
    accepted = list[set[int]]()
    try:
        for number in range(BACKUPS):
            accepted.append(set(working.taken))
            assert write_backup(tmp_path / "data", tmp_path / f"backup{number}").damaged == ()
    finally:
        working.enough.set()
        working.join(180)
    assert working.failure is None
    assert len(working.taken) > len(accepted[-1]) > len(accepted[0])
    for number, before in enumerate(accepted):
        restore(tmp_path / f"backup{number}", tmp_path / f"again{number}")
        _check(ServingFolder(tmp_path / f"again{number}"), before, working.taken)


def _check(again: ServingFolder, before: set[int], taken: dict[int, tuple[int, int]]) -> None:
    records = {record.id: record for record in again.store.lists.page(TENANT, limit=100_000)}
    assert before <= set(records) <= set(taken)
    assert sorted(records) == list(range(1, len(records) + 1))
    for record in records.values():
        told = [event.what for event in again.store.events.list_events(TENANT, record.id)]
        assert told[0] is JobEventKind.SUBMITTED
        assert record.batch == taken[record.id][0]
    ended = {job: record.state for job, record in records.items() if record.state.is_final}
    again.run()
    for job, (batch, salt) in taken.items():
        if job in records:
            state = again.store.jobs.get(TENANT, job).state
            assert state is ended.get(job, state)
            assert state in (JobState.SUCCEEDED, JobState.CANCELLED)
            if state is JobState.SUCCEEDED:
                assert again.store.outputs.read(TENANT, job, "out") == expected(batch, salt)
    assert again.store.sweep() == []
    again.close()
