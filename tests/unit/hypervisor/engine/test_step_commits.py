# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a step that only asks for buffers changed is committed with the step that follows at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.db.rows import Commit
from hypervisor_kit import CHAIN, MODULES, TENANT, model_board, request


class Committed(Store):
    """A store that remembers what was committed."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.commits: list[Commit] = []

    def commit(self, commit: Commit, wait: bool = True) -> None:
        super().commit(commit, wait)
        self.commits.append(commit)


@pytest.fixture
def store() -> Iterator[Committed]:
    made = Committed()
    yield made
    made.close()


def test_buffers_are_asked_for_between_a_change_and_its_commit(store: Committed) -> None:
    engine = Engine(model_board(slots=1), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    jobs = [engine.intake.accept(request(store, salt=salt)).id for salt in range(2)]
    while not engine.is_idle:
        engine.step()
    assert [store.jobs.get(TENANT, job).state for job in jobs] == [JobState.SUCCEEDED] * 2
    given = [commit for commit in store.commits if jobs[1] in _configured(commit)]
    assert any(event.job == jobs[0] and event.what is JobEventKind.ITEM_DONE for event in given[0].events)
    memory = [snapshot["memory"] for record, snapshot in given[0].jobs if record.id == jobs[1]]
    assert memory == [True]


def _configured(commit: Commit) -> set[int]:
    return {event.job for event in commit.events if event.what is JobEventKind.CONFIGURE}
