# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that are tried again while outputs are on their way to the disk, with kills: outputs are right, and all ends."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eddy.board.model.model import ModelFaults
from eddy.board.port.port import Cause
from eddy.core.jobs import JobState
from eddy.core.submission_options import Predecessor, Retries, SubmissionOptions
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, request
from system.jobs.test_retries import TurnOrder

RETRIED = SubmissionOptions(retries=Retries(3, ("time-limit", "internal-error")))


class SlowDisk:
    """Lives of an engine over one board and store; the disk does what `write` lets it."""

    def __init__(self, store: Store, board: Any, policy: str = "eddy") -> None:
        self.store, self.board, self.policy = store, board, policy
        self.queued: list[Callable[[], None]] = []
        self.engine = self.life()

    def life(self) -> Engine:
        """The process is killed, with what had not come to the disk, and begins again."""
        self.queued.clear()
        policy = POLICIES[self.policy]()
        self.engine = Engine(
            self.board, policy, self.store, {CHAIN.name: CHAIN}, MODULES, spawn=lambda work: self.queued.append(work)
        )
        self.engine.start()
        return self.engine

    def write(self) -> None:
        while self.queued:
            self.queued.pop(0)()

    def until(self, reached: Callable[[Any], bool], number: int) -> None:
        """Step, with a disk that writes nothing, until a job is as is asked."""
        for _ in range(9000):
            self.engine.step(1e-2)
            if reached(self.engine.machine.jobs[number]):
                return
        pytest.fail("it never came to that")

    def run(self) -> None:
        for _ in range(9000):
            self.write()
            if self.engine.is_idle and not self.queued:
                return
            self.engine.step()
        pytest.fail(f"jobs are left: {[(n, j.state) for n, j in self.engine.machine.jobs.items()]}")


def failing(item: str) -> Any:
    return model_board(faults=ModelFaults(items=TurnOrder({item: [Cause.TIME_LIMIT]})), slow=1e5)  # type: ignore[arg-type]


@pytest.mark.parametrize("item", ["1.2.1", "1.1.2", "1.0.2"])
@pytest.mark.parametrize("kills", [1, 2])
def test_outputs_lost_on_their_way_are_computed_again(item: str, kills: int) -> None:
    it = SlowDisk(Store(":memory:"), failing(item))
    job = it.engine.intake.accept(dataclasses.replace(request(it.store, batch=6), asked=RETRIED))
    it.until(lambda its: its.will_retry and its.slots and its.items.collecting, job.id)
    it.life()
    if kills == 2:
        it.until(lambda its: its.retried and its.slots and its.memory.value == "held", job.id)
        it.life()
    it.run()
    record = it.store.jobs.get(TENANT, job.id)
    assert (record.state, record.items_done) == (JobState.SUCCEEDED, 6)
    assert it.store.outputs.read(TENANT, job.id, "out") == expected(batch=6)
    it.life()
    assert it.engine.is_idle


@pytest.mark.parametrize("batch", [1, 3])
def test_outputs_that_could_not_be_read_once_are_read_again(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    board, reads = model_board(), []
    read = board.read

    def fails_once(*asked: Any) -> bytes:
        reads.append(asked)
        if len(reads) == 1:
            raise RuntimeError("the driver failed")
        return read(*asked)

    monkeypatch.setattr(board, "read", fails_once)
    it = SlowDisk(Store(":memory:"), board, "fcfs")
    job = it.engine.intake.accept(dataclasses.replace(request(it.store, batch=batch), asked=RETRIED))
    it.run()
    record = it.store.jobs.get(TENANT, job.id)
    assert (record.state, record.retried, record.items_done) == (JobState.SUCCEEDED, 1, batch)
    assert it.store.outputs.read(TENANT, job.id, "out") == expected(batch=batch)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_faults_kills_cancellations_and_recoveries(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    names = [f"{job}.{task}.{item}" for job in range(1, 7) for task in range(3) for item in range(5)]
    causes = (Cause.TIME_LIMIT, Cause.CLOCK_LOST)
    faults = {name: dice.choices(causes, k=dice.randint(1, 2)) for name in names if dice.random() < 0.12}
    slow, slots = dice.choice([1, 10, 1e5]), dice.choice([2, 3, 4])
    board = model_board(faults=ModelFaults(items=TurnOrder(faults)), slow=slow, slots=slots)  # type: ignore[arg-type]
    it, jobs = SlowDisk(Store(tmp_path / "eddy.sqlite3"), board, dice.choice(sorted(POLICIES))), dict[int, int]()
    for _ in range(400):
        drawn = dice.random()
        if drawn < 0.06 and len(jobs) < 6:
            after = tuple(map(Predecessor, dice.sample(sorted(jobs), 1))) if jobs and dice.random() < 0.3 else ()
            on = ("time-limit", "clock-lost", "internal-error")
            asked = SubmissionOptions(after=after, retries=Retries(dice.randint(1, 6), on))
            batch = dice.randint(1, 5)
            wanted = dataclasses.replace(request(it.store, batch=batch, salt=len(jobs)), asked=asked)
            jobs[it.engine.intake.accept(wanted).id] = batch
        elif drawn < 0.07 and jobs:
            number = dice.choice(sorted(jobs))
            if not it.store.jobs.get(TENANT, number).state.is_final:
                it.engine.intake.cancel(TENANT, number)
        elif drawn < 0.12:
            it.life()
        elif drawn < 0.14:
            it.write()
            it.engine.start()
        elif drawn < 0.45 and it.queued:
            it.queued.pop(0)()
        else:
            it.engine.step(dice.choice([1e-4, 1e-2, 1e-1]))
    it.run()
    it.life()
    it.run()
    for salt, (number, batch) in enumerate(jobs.items()):
        record = it.store.jobs.get(TENANT, number)
        events = it.store.events.list_events(TENANT, number)
        assert sum(1 for event in events if event.state is not None and event.state.is_final) == 1
        if record.state is JobState.SUCCEEDED:
            assert it.store.outputs.read(TENANT, number, "out") == expected(batch=batch, salt=salt)
    assert not board.state().buffers
    it.store.close()
