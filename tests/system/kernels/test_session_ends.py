# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What ends a session or takes its memory, through the whole engine; and who has how much of the cores beside it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cores_kit import CoresBoard, add_request, description, engine_over, manifest, tenants
from eddy.board.model.model import ModelBoard
from eddy.board.model.model_images import model_images
from eddy.core.errors import NotFound, StorageFull
from eddy.core.jobs import JobState
from eddy.core.sessions import OnPressure, SessionOptions, SessionState
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.sessions.session import Session
from eddy.store import Store
from hypervisor_kit import LATENCY
from session_kit import SMALL, Guest, serve

ONE, FOUR = manifest(1), manifest(4)
MODULES = {ONE.module: ONE}
LARGE = SessionOptions(2 << 20)
"""Two of these do not fit the board's 4 MiB at once."""


def begun(store: Store, board: CoresBoard | None = None) -> tuple[Engine, CoresBoard]:
    board = board or CoresBoard(MODULES)
    engine = engine_over(board, store, MODULES)
    engine.start()
    return engine, board


def guest(engine: Engine, tenant: str, options: SessionOptions = LARGE) -> Guest:
    """Opens a session and counts a buffer in it up to 1."""
    made = Guest(tenant, options)
    made.open(engine)
    made.say(do="create", buffer=1, bytes=1 << 14)
    made.say(do="fill", buffer=1, offset=0, bytes=1 << 14, pattern="AAAAAA==")
    made.launch("once", 1)
    return made


def state(engine: Engine, of: Guest) -> SessionState:
    return engine.sessions.get(of.name).state


def count(engine: Engine, of: Guest) -> int:
    """What a guest's buffer holds."""
    number = of.say(do="read", buffer=1, offset=0, bytes=4)
    serve(engine, of)
    assert not of.results[number].code, of.results[number]
    return int.from_bytes(of.results[number].data, "little")


def test_memory_that_nobody_uses_goes_to_the_disk_for_others_and_comes_back_as_it_was() -> None:
    store = Store(":memory:")
    tenants(store, ada=1, bob=1)
    engine, _ = begun(store)
    ada = guest(engine, "ada")
    serve(engine, ada)
    bob = guest(engine, "bob")
    serve(engine, bob)
    assert (state(engine, ada), state(engine, bob)) == (SessionState.SPILLED, SessionState.RESIDENT)
    assert store.sessions.read_memory(1) is not None
    ada.launch("once", 1)
    assert count(engine, ada) == 2
    assert (state(engine, ada), state(engine, bob)) == (SessionState.RESIDENT, SessionState.SPILLED)
    assert store.sessions.read_memory(1) is None
    assert count(engine, bob) == 1


def test_a_session_that_gets_work_while_it_leaves_the_board_comes_back() -> None:
    store = Store(":memory:")
    tenants(store, ada=1, bob=1)
    engine, _ = begun(store)
    ada = guest(engine, "ada")
    serve(engine, ada)
    bob = guest(engine, "bob")
    serve(engine, bob, until=lambda: state(engine, ada) is SessionState.SPILLING)
    ada.launch("once", 1)
    serve(engine, ada, bob)
    assert (count(engine, ada), count(engine, bob)) == (2, 1)


@pytest.mark.parametrize("end", ["spilled", "closed", "restarted"])
def test_memory_is_read_from_the_board_in_portions_between_which_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr("eddy.hypervisor.engine.session_room.STEP_BYTES", 64 << 10)
    monkeypatch.setattr("eddy.hypervisor.sessions.session.PIECE_BYTES", 32 << 10)
    store = Store(":memory:")
    tenants(store, ada=1, bob=1)
    engine, board = begun(store)
    ada = guest(engine, "ada")
    ada.say(do="create", buffer=2, bytes=1 << 20)
    ada.say(do="fill", buffer=2, offset=0, bytes=1 << 20, pattern="BwcHBw==")
    serve(engine, ada)
    portions = list[int]()
    read = Session.read_piece

    def read_piece(session: Session, at: Any, size: int) -> Any:
        portions.append(size)
        return read(session, at, size)

    monkeypatch.setattr(Session, "read_piece", read_piece)
    bob = guest(engine, "bob")
    steps, most, met = 0, 0, False
    while not (end == "spilled" and state(engine, ada) is SessionState.SPILLED):
        portions.clear()
        bob.talk(engine)
        engine.step(1e-3)
        steps += bool(portions)
        most = max(most, sum(portions))
        if state(engine, ada) is SessionState.SPILLING and end != "spilled" and steps == 3:
            met = True
            break
    assert most <= 96 << 10
    if end == "spilled":
        assert steps >= 16
        assert count(engine, ada) == 1
        number = ada.say(do="read", buffer=2, offset=0, bytes=1 << 20)
        serve(engine, ada)
        assert ada.results[number].data == b"\x07" * (1 << 20)
        return
    assert met
    if end == "closed":
        engine.sessions.close(engine.sessions.get(ada.name))
        serve(engine, bob)
        with pytest.raises(NotFound, match="has ended"):
            state(engine, ada)
    else:
        engine, _ = begun(store, board)
        assert count(engine, ada) == 1
    assert count(engine, bob) == 1


def test_a_session_that_refuses_keeps_its_memory_and_others_wait() -> None:
    store = Store(":memory:")
    tenants(store, ada=1, bob=1)
    engine, _ = begun(store)
    ada = guest(engine, "ada", replace(LARGE, on_pressure=OnPressure.REFUSE))
    serve(engine, ada)
    bob = guest(engine, "bob")
    for _ in range(20):
        bob.talk(engine)
        engine.step(1e-3)
    assert (state(engine, ada), state(engine, bob)) == (SessionState.RESIDENT, SessionState.WAITING)
    engine.sessions.close(engine.sessions.get(ada.name))
    serve(engine, bob)
    assert state(engine, bob) is SessionState.RESIDENT
    with pytest.raises(NotFound, match="has ended"):
        state(engine, ada)


def test_a_job_that_waits_for_memory_gets_it_from_a_session_that_rests() -> None:
    store = Store(":memory:")
    tenants(store, ada=1, bob=1)
    engine, _ = begun(store)
    ada = guest(engine, "ada", SessionOptions(3 << 20))
    serve(engine, ada)
    job = engine.intake.accept(add_request(store, "bob", 300_000))
    for _ in itertools.repeat(None, 200_000):
        if store.jobs.get("bob", job.id).state is not JobState.QUEUED or engine.is_idle:
            break
        engine.step(1e-3)
    assert state(engine, ada) is SessionState.SPILLED
    assert store.jobs.get("bob", job.id).state is not JobState.QUEUED
    engine.intake.cancel("bob", job.id)
    assert count(engine, ada) == 1


def test_what_is_on_the_disk_is_found_by_the_next_server() -> None:
    store = Store(":memory:")
    tenants(store, ada=1, bob=1)
    engine, board = begun(store)
    ada = guest(engine, "ada")
    serve(engine, ada)
    serve(engine, guest(engine, "bob"))
    engine, _ = begun(store, board)
    assert state(engine, ada) is SessionState.SPILLED
    assert count(engine, ada) == 1
    store.sessions.write_memory(2, b"short")
    engine, _ = begun(store, board)
    assert (store.sessions.all("bob")[0].state, store.sessions.all("bob")[0].cause) == (
        SessionState.LOST,
        "memory-file-lost",
    )
    assert count(engine, ada) == 1


def test_where_the_disk_refuses_the_memory_stays_on_the_board(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(":memory:")
    tenants(store, ada=1, bob=1)
    engine, _ = begun(store)
    ada = guest(engine, "ada")
    serve(engine, ada)

    def refuse(session: int, data: bytes) -> None:
        raise StorageFull("no room", path=Path("."))

    with monkeypatch.context() as full:
        full.setattr(store.sessions, "write_memory", refuse)
        bob = guest(engine, "bob")
        for _ in range(10):
            bob.talk(engine)
            engine.step(1e-3)
        assert (state(engine, ada), state(engine, bob)) == (SessionState.RESIDENT, SessionState.WAITING)
    engine.sessions.room.again_s = 0.0
    serve(engine, bob)
    assert state(engine, ada) is SessionState.SPILLED


def test_a_session_that_nobody_uses_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(":memory:")
    tenants(store, ada=1)
    engine, board = begun(store)
    ada = guest(engine, "ada", SessionOptions(SMALL, idle_timeout_s=1e-9))
    serve(engine, ada)
    monkeypatch.setattr("eddy.hypervisor.engine.session_keeper.LOOK_S", 0.0)
    engine.sessions._look_s = 0.0
    engine.probe()
    while not engine.is_idle:
        engine.step(1e-3)
    record = store.sessions.get(ada.name)
    assert (record.state, record.cause) == (SessionState.CLOSED, "idle")
    assert board.state().buffers == ()


def test_a_session_whose_client_is_gone_is_closed_whatever_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease runs from the last request; after a restart of the server from there: its client could not ask before."""
    monkeypatch.setattr("eddy.hypervisor.engine.session_keeper.LOOK_S", 0.0)
    store = Store(":memory:")
    tenants(store, ada=1, bob=1)
    engine, board = begun(store)
    leased = SessionOptions(SMALL, lease_s=3600.0)
    ada, bob = guest(engine, "ada", leased), guest(engine, "bob", leased)
    for _ in range(5):
        ada.launch("many", 1, size=4096)
    serve(engine, ada, bob, until=lambda: bool(board.state().slots[1].items) and len(ada.results) >= 3)
    engine.sessions.get(ada.name).heard_s -= 3601.0
    engine.sessions.get(bob.name).heard_s -= 1800.0
    while not engine.is_idle:
        engine.step(1e-3)
    assert (store.sessions.get(ada.name).state, store.sessions.get(ada.name).cause) == (
        SessionState.CLOSED,
        "client-gone",
    )
    assert not board.state().slots[1].items
    assert state(engine, bob) is SessionState.RESIDENT
    engine.sessions.get(bob.name).heard_s -= 1801.0
    engine, _ = begun(store, board)
    serve(engine, bob)
    assert count(engine, bob) == 1


def test_a_session_that_is_closed_while_it_works_stops_and_gives_everything_back() -> None:
    store = Store(":memory:")
    tenants(store, ada=1)
    engine, board = begun(store)
    ada = guest(engine, "ada", SessionOptions(SMALL))
    for _ in range(5):
        ada.launch("many", 1, size=4096)
    serve(engine, ada, until=lambda: bool(board.state().slots[1].items) and len(ada.results) >= 3)
    session = engine.sessions.get(ada.name)
    engine.sessions.close(session)
    while not engine.is_idle:
        engine.step(1e-3)
    assert board.state().buffers == ()
    assert not board.state().slots[1].items
    codes = [result.code for _, result in session.stream.results if result.number > 3]
    assert set(codes) <= {"stopped", "cancelled", "session-closed"}
    assert len(codes) == 5


def test_launches_leave_a_cluster_that_is_drained_and_none_is_run_twice() -> None:
    store, board = Store(":memory:"), CoresBoard(MODULES, slots=2)
    tenants(store, ada=1)
    engine, _ = begun(store, board)
    ada = guest(engine, "ada")
    for _ in range(20):
        ada.launch("once", 1)
    serve(engine, ada, until=lambda: len(ada.results) > 6)
    drained = max(board.started, key=lambda slot: board.started[slot])
    engine.intake.drain(drained, "worn out")
    engine.step(0.0)
    before = board.started[drained]
    serve(engine, ada)
    assert board.started[drained] == before, "nothing begins there any more"
    assert not any(result.code for result in ada.results.values())
    assert count(engine, ada) == 21
    assert state(engine, ada) is SessionState.RESIDENT


def test_with_its_only_cluster_drained_a_launch_that_has_not_begun_waits() -> None:
    store, board = Store(":memory:"), CoresBoard(MODULES)
    tenants(store, ada=1)
    engine, _ = begun(store, board)
    ada = guest(engine, "ada")
    serve(engine, ada)
    engine.intake.drain(1, "worn out")
    engine.step(0.0)
    late = ada.launch("once", 1)
    for _ in range(50):
        ada.talk(engine)
        engine.step(1e-3)
    assert late not in ada.results
    assert state(engine, ada) is SessionState.RESIDENT
    engine.intake.drain(1, "")
    serve(engine, ada)
    assert not ada.results[late].code
    assert count(engine, ada) == 2


def test_tenants_sessions_and_a_job_have_their_shares_of_the_cores() -> None:
    store, modules = Store(":memory:"), {FOUR.module: FOUR}
    weights = {"ada": 1.0, "bob": 2.0, "eve": 1.0}
    tenants(store, **weights)
    described = description()
    latency = {**LATENCY, FOUR.module: 1e-4}
    board = ModelBoard(described, model_images(described, latency), latency, real_memory=False)
    engine = engine_over(board, store, modules)
    engine.start()
    guests = [Guest("ada", SessionOptions(SMALL)), Guest("bob", SessionOptions(SMALL, out_of_order=True))]
    for each in guests:
        each.open(engine)
        each.say(do="create", buffer=1, bytes=1 << 14)
        for _ in range(10 if each.tenant == "ada" else 40):
            each.launch("many", 1, size=1024)
    engine.intake.accept(add_request(store, "eve", 400_000))
    serve(engine, *guests, until=lambda: not guests[0].waits)
    assert engine.price is not None
    had = engine.price.accounts[1].delivered_s
    whole = sum(had.values())
    assert guests[1].waits, "all three had work all the time"
    for tenant, weight in weights.items():
        assert had[tenant] / whole == pytest.approx(weight / sum(weights.values()), rel=0.02)
