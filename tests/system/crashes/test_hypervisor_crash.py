# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hypervisor dies between any two effects, and a new one continues where it stopped."""

from __future__ import annotations

import dataclasses
import errno
import itertools
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eddy.board.model.model import ModelBoard, ModelFaults
from eddy.board.port.port import Cause
from eddy.core.errors import StorageFailed
from eddy.core.jobs import TRANSITIONS, JobState
from eddy.core.records import JobEventKind
from eddy.core.tenants import Quota
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.output_writer import Spawn, run_inline
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.view import Dispatch, DispatchView
from eddy.store import Store
from eddy.store.db.rows import Commit
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, request

EFFECTS = ("load", "launch", "stop", "free", "allocate", "write", "read", "wait", "commit", "write_results", "settle")
FAULTS = ModelFaults({"2.1.1": Cause.ILLEGAL_BURST})
"""The second job's second item is bad."""


class Killed(BaseException):
    """The process is gone."""


class Killer:
    """Counts effects, and dies before or after one of them."""

    def __init__(self, at: int = -1, after: bool = False) -> None:
        self.at, self.after, self.count = at, after, 0
        self.launched: Counter[str] = Counter()

    def effect(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        here = self.count == self.at
        self.count += 1
        if here and not self.after:
            raise Killed
        answer = call(*arguments, **named)
        if call.__name__ == "launch":
            self.launched[arguments[1].item] += 1
        if here:
            raise Killed
        return answer


class MortalEffects:
    """Something whose effects the killer sees."""

    def __init__(self, inner: Any, killer: Killer) -> None:
        self._inner, self._killer = inner, killer

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._inner, name)
        if name not in EFFECTS:
            return call
        return lambda *arguments, **named: self._killer.effect(call, *arguments, **named)


def deaths(make: Callable[[], Engine], finish: Callable[[Engine], None]) -> int:
    """Run an engine to its end, and another one where it was killed; how many died of at most three."""
    for died in range(3):
        engine = make()
        try:
            engine.start()
            finish(engine)
        except Killed:
            continue
        return died
    return 3


def engine_over(board: Any, store: Any, policy: str = "fcfs", spawn: Spawn = run_inline) -> Engine:
    return Engine(board, POLICIES[policy](), store, {CHAIN.name: CHAIN}, MODULES, spawn=spawn)


def submit(store: Store) -> None:
    """Three jobs of two tenants, one of them doomed."""
    engine = engine_over(model_board(), store)
    engine.start()
    engine.intake.accept(request(store, batch=3))
    engine.intake.accept(request(store, batch=3, salt=1))
    engine.intake.accept(request(store, batch=2, salt=2, tenant="other"))


class LateDisk:
    """Does what the disk is for some steps later; what it has not done when the process dies is lost."""

    def __init__(self, steps: int) -> None:
        self.steps, self.calls = steps, list[Callable[[], None]]()
        self.waited = 0

    def spawn(self, call: Callable[[], None]) -> None:
        self.calls.append(call)
        if not self.steps:
            self.do()

    def do(self) -> None:
        while self.calls:
            self.calls.pop(0)()
        self.waited = 0

    def finish(self, engine: Engine) -> None:
        """Step until nothing is left to do."""
        while not engine.is_idle or engine.keeping.has_work:
            self.waited += bool(self.calls)
            if engine.is_idle or self.waited > self.steps:
                self.do()
            if not engine.is_idle:
                engine.step()


def run(killer: Killer, board: ModelBoard, store: Store, policy: str = "fcfs", late: int = 0) -> int:
    """Run to the end, restarting after every death; answers the number of deaths."""
    deaths = 0
    for _ in range(3):
        disk = LateDisk(late)
        engine = engine_over(MortalEffects(board, killer), MortalEffects(store, killer), policy, disk.spawn)
        try:
            engine.start()
            disk.finish(engine)
        except Killed:
            deaths += 1
        else:
            return deaths
    raise AssertionError("it died more than once")


def check(store: Store, board: ModelBoard, launched: Counter[str]) -> None:
    good, bad, other = (store.jobs.get(TENANT, 1), store.jobs.get(TENANT, 2), store.jobs.get("other", 3))
    assert (good.state, other.state) == (JobState.SUCCEEDED, JobState.SUCCEEDED)
    assert store.outputs.read(TENANT, 1, "out") == expected(batch=3)
    assert store.outputs.read("other", 3, "out") == expected(batch=2, salt=2)
    assert (bad.state, bad.cause, bad.failed_task, bad.failed_item) == (JobState.FAILED, "illegal-burst", 1, 1)
    assert set(launched.values()) == {1}, "an item was run twice"
    assert board.state().buffers == ()
    for record in (good, bad, other):
        log = store.events.list_events(None, record.id)
        done = Counter((event.task, event.item) for event in log if event.what is JobEventKind.ITEM_DONE)
        assert set(done.values()) == {1}, "an item was booked twice"
        states = [JobState.QUEUED] + [event.state for event in log if event.state is not None]
        assert all(after in TRANSITIONS[before] for before, after in itertools.pairwise(states))
        assert record.response_s is not None
        assert record.waited_s + record.reconfiguring_s + record.running_s == pytest.approx(record.response_s)


@pytest.mark.parametrize(("policy", "step"), [("eddy", 2), ("fcfs", 6), ("nimblock", 10)])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_death_between_any_two_effects_changes_no_result(policy: str, step: int, after: bool) -> None:
    store, board, killer = Store(":memory:"), model_board(faults=FAULTS), Killer()
    submit(store)
    assert run(killer, board, store, policy) == 0
    check(store, board, killer.launched)
    assert killer.count > 100
    # Before every second effect and after it: dead after one is dead before the next, so each state on disk and board
    # is met once. Policies differ in what they decide, not in how it is kept: one meets every state, others some.
    for at in range(0, killer.count, step):
        store, board, mortal = Store(":memory:"), model_board(faults=FAULTS), Killer(at, after)
        submit(store)
        assert run(mortal, board, store, policy) == 1
        check(store, board, mortal.launched)
        store.close()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_death_while_outputs_are_on_their_way_to_the_disk_changes_no_result(after: bool) -> None:
    at, deaths = 0, 1
    while deaths:
        store, board, mortal = Store(":memory:"), model_board(faults=FAULTS), Killer(at, after)
        submit(store)
        deaths = run(mortal, board, store, late=4)
        check(store, board, mortal.launched)
        store.close()
        at += 3
    assert at > 100


def test_others_go_on_and_nothing_is_shown_while_outputs_wait_for_the_disk(tmp_path: Path) -> None:
    store, board, disk = Store(tmp_path / "eddy.sqlite3"), model_board(), LateDisk(1 << 30)
    engine = engine_over(board, store, spawn=disk.spawn)
    engine.start()
    first = engine.intake.accept(request(store, batch=2))
    while not engine.is_idle:
        engine.step()
    assert engine.keeping.has_work
    assert not engine.stalled
    assert store.jobs.get(TENANT, first.id).state is JobState.RUNNING
    assert store.outputs.names(first.id) == []
    assert not (tmp_path / "outputs").exists()
    second = engine.intake.accept(request(store, salt=1))
    while not engine.is_idle:
        engine.step()
    assert board.state().buffers, "what is not on disk stays on the board"
    ran_s = board.now_s()
    disk.finish(engine)
    assert board.now_s() == ran_s, "the disk costs no board time"
    for job, batch, salt in ((first, 2, 0), (second, 1, 1)):
        record = store.jobs.get(TENANT, job.id)
        assert (record.state, record.items_done) == (JobState.SUCCEEDED, batch)
        assert record.ended_s is not None
        assert record.ended_s <= ran_s
        assert store.outputs.read(TENANT, job.id, "out") == expected(batch, salt)
    assert board.state().buffers == ()


@pytest.mark.parametrize("part", ["outputs.write", "database.settle"])
def test_what_the_disk_refuses_is_raised_in_a_step_and_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    store, disk = Store(tmp_path / "eddy.sqlite3"), LateDisk(2)
    engine = engine_over(model_board(), store, spawn=disk.spawn)
    engine.start()
    job = engine.intake.accept(request(store, batch=3))

    def refused(*_: object) -> None:
        raise StorageFailed("the disk is gone")

    owner, _, call = part.rpartition(".")
    monkeypatch.setattr(getattr(store, owner), call, refused)
    with pytest.raises(StorageFailed, match="the disk is gone"):
        disk.finish(engine)
    monkeypatch.undo()
    engine.start()
    disk.finish(engine)
    assert store.jobs.get(TENANT, job.id).state is JobState.SUCCEEDED
    assert store.outputs.read(TENANT, job.id, "out") == expected(3)


@pytest.mark.parametrize("at", range(0, 140, 7))
def test_a_new_board_loses_no_job_and_no_committed_result(at: int) -> None:
    store, killer = Store(":memory:"), Killer(at)
    submit(store)
    engine = engine_over(MortalEffects(model_board(), killer), store)
    try:
        engine.start()
        while not engine.is_idle:
            engine.step()
    except Killed:
        pass
    committed = {n: store.jobs.get(tenant, n).items_done for n, tenant in ((1, TENANT), (2, TENANT), (3, "other"))}
    board, again = model_board(), Killer()
    run(again, board, store)
    for number, tenant, batch, salt in ((1, TENANT, 3, 0), (2, TENANT, 3, 1), (3, "other", 2, 2)):
        assert store.outputs.read(tenant, number, "out") == expected(batch, salt)
        first = committed[number]
        assert not [name for name in again.launched if name.startswith(f"{number}.") and int(name[4:]) < first]
        times = [event.at_s for event in store.events.list_events(None, number)]
        assert times == sorted(times), "board time went back"
    assert board.state().buffers == ()


def test_cancellation_survives_death() -> None:
    store, board = Store(":memory:"), model_board()
    submit(store)
    store.jobs.request_cancel(TENANT, 1)
    assert run(Killer(), board, store) == 0
    assert store.jobs.get(TENANT, 1).state is JobState.CANCELLED
    assert store.jobs.get(TENANT, 2).state is JobState.SUCCEEDED


def test_what_runs_for_nobody_is_stopped_and_its_memory_freed() -> None:
    board = model_board(slow=10.0)
    lost = Store(":memory:")
    submit(lost)
    engine = engine_over(board, lost)
    engine.start()
    while not any(slot.item is not None for slot in engine.machine.slots.values()):
        engine.step()
    store = Store(":memory:")
    engine = engine_over(board, store)
    engine.start()
    while not engine.is_idle:
        engine.step()
    assert board.state().buffers == ()
    assert all(slot.item == "" for slot in board.state().slots)


def test_an_application_that_is_gone_fails_its_jobs() -> None:
    store = Store(":memory:")
    submit(store)
    engine = Engine(model_board(), POLICIES["fcfs"](), store, {}, MODULES)
    engine.start()
    record = store.jobs.get(TENANT, 1)
    assert (record.state, record.cause) == (JobState.FAILED, "application-gone")
    assert engine.is_idle


def test_jobs_the_policy_never_serves_are_named() -> None:
    store, policy = Store(":memory:"), Idle()
    submit(store)
    engine = Engine(model_board(), policy, store, {CHAIN.name: CHAIN}, MODULES)
    engine.start()
    assert engine.is_idle
    assert engine.stalled == (1, 2, 3)
    assert store.jobs.get(TENANT, 1).state is JobState.QUEUED


class Idle:
    """A policy that decides nothing."""

    name = "idle"
    pipelined = True

    def initial(self) -> None:
        return None

    def decide(self, view: DispatchView) -> Dispatch:
        return Dispatch(())


def test_a_backlog_is_taken_up_in_a_few_transactions_and_begins_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, store = model_board(), Store(tmp_path / "eddy.sqlite", Quota(max_jobs=100))
    first = engine_over(board, store)
    first.start()
    jobs = [first.intake.accept(request(store)) for _ in range(60)]
    for _ in range(20):
        first.step()
    second = engine_over(board, store)
    begun = sum(bool(stored.snapshot) for stored in store.jobs.unfinished())
    assert begun
    commits: list[Commit] = []
    commit = store.commit

    def counted(what: Commit, wait: bool = True) -> None:
        commits.append(what)
        commit(what, wait)

    monkeypatch.setattr(store, "commit", counted)
    second.start()
    assert len(commits) <= 6, "not one for every job"
    assert sum(event.what is JobEventKind.RECOVERED for each in commits for event in each.events) == begun
    assert len(second.machine.jobs) >= begun, "those that had only come, come again"
    while not second.is_idle:
        second.step()
    assert {store.jobs.get(TENANT, job.id).state for job in jobs} == {JobState.SUCCEEDED}


def test_a_submission_the_disk_is_not_sure_of_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, board = Store(tmp_path / "eddy.sqlite3"), model_board()
    engine = engine_over(board, store)
    engine.start()
    wanted = dataclasses.replace(request(store), idempotency_key="k")

    def refuse(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        with pytest.raises(StorageFailed):
            engine.intake.accept(wanted)
    assert engine.intake.accept(wanted).id == 1
    while not engine.is_idle:
        engine.step()
    assert [(job.id, job.state) for job in store.lists.page(TENANT)] == [(1, JobState.SUCCEEDED)]
    store.close()
