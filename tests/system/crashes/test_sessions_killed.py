# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The server dies between any two effects while a session works: every command has one of its defined ends."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from cores_kit import CoresBoard, engine_over, manifest, tenants
from eddy.core.sessions import SessionState
from eddy.hypervisor.sessions.numbers import launch_of
from eddy.store import Store
from session_kit import Guest, serve
from system.crashes.test_hypervisor_crash import Killed, Killer, MortalEffects

ONE = manifest(1)
MODULES = {ONE.module: ONE}


def told(guest: Guest) -> None:
    """What the guest asks for: two counters that launches count up, copies of them, and what is in all."""
    for buffer in (1, 2, 3):
        guest.say(do="create", buffer=buffer, bytes=64)
        guest.say(do="fill", buffer=buffer, offset=0, bytes=64, pattern="AAAAAA==")
    guest.say(b"\7\0\0\0", do="write", buffer=3, offset=4, bytes=4)
    for _ in range(3):
        guest.launch("once", 1)
    guest.launch("many", 2, size=12)
    guest.say(do="copy", source=1, target=3, source_offset=0, target_offset=0, bytes=4)
    guest.launch("once", 1)
    guest.say(do="release", buffer=2)
    for buffer in (1, 3):
        guest.say(do="read", buffer=buffer, offset=0, bytes=8)


def opened() -> tuple[Store, Guest]:
    store, guest = Store(":memory:"), Guest("ada")
    tenants(store, ada=1)
    engine = engine_over(CoresBoard(MODULES), store, MODULES)
    engine.start()
    guest.open(engine)
    told(guest)
    return store, guest


def run(killer: Killer, board: CoresBoard, store: Store, guest: Guest) -> int:
    """Serve the guest to its end, by another engine after a death; answers the number of deaths."""
    for deaths in range(2):
        engine = engine_over(MortalEffects(board, killer), MortalEffects(store, killer), MODULES)
        try:
            engine.start()
            serve(engine, guest)
            guest.session(engine)
        except Killed:
            continue
        return deaths
    raise AssertionError("it died more than once")


def check(guest: Guest, launched: Counter[str]) -> None:
    slices = Counter[int]()
    for item in launched:
        found = launch_of(int(item.partition(".")[0]))
        assert found is not None
        slices[found[1]] += launched[item]
    once = [n for n, (raw, _) in enumerate(guest.sent, 1) if raw.get("kernel") == "once"]
    complete = [n for n in once if not guest.results[n].code]
    assert all(slices[n] == 1 for n in complete), "a launch was run twice, or never"
    assert all(slices[n] <= 1 for n in once)
    bad = {n: result.code for n, result in guest.results.items() if result.code}
    assert set(bad.values()) <= {"interrupted"}
    assert len(bad) <= 1, "one command at most was under way"
    assert all(guest.sent[n - 1][0]["do"] in ("launch", "read") for n in bad)
    reads = [guest.results[len(guest.sent) - 1], guest.results[len(guest.sent)]]
    if not any(each.code for each in reads):
        count, copied = (np.frombuffer(each.data, "<u4") for each in reads)
        assert count[0] == sum(slices[n] for n in once)
        assert [*copied] == [sum(slices[n] for n in once[:3]), 7]


def test_without_a_death_everything_is_complete() -> None:
    store, guest = opened()
    killer = Killer()
    assert run(killer, CoresBoard(MODULES), store, guest) == 0
    check(guest, killer.launched)
    assert not any(result.code for result in guest.results.values())


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_death_between_any_two_effects_leaves_defined_ends(after: bool) -> None:
    at, deaths, interrupted = 0, 1, 0
    while deaths:
        store, guest = opened()
        killer = Killer(at, after)
        deaths = run(killer, CoresBoard(MODULES), store, guest)
        check(guest, killer.launched)
        interrupted += any(result.code for result in guest.results.values())
        store.close()
        at += 3
    assert at > 50
    assert interrupted, "somewhere a launch had begun, and nobody knows how it ended"


def lost(what: Any) -> tuple[Guest, Store, CoresBoard]:
    store, guest = opened()
    board = CoresBoard(MODULES)
    engine = engine_over(board, store, MODULES)
    engine.start()
    serve(engine, guest, until=lambda: len(guest.results) > 8)
    what(board, engine)
    return guest, store, board


def test_a_board_that_lost_everything_is_said_to_have() -> None:
    guest, store, _ = lost(lambda _board, _engine: None)
    engine = engine_over(CoresBoard(MODULES), store, MODULES)
    engine.start()
    record = store.sessions.get(guest.name)
    assert (record.state, record.cause) == (SessionState.LOST, "board-lost")
    serve(engine, guest)
    assert guest.waits


def test_a_close_that_was_asked_for_is_carried_out_by_the_next_server() -> None:
    guest, store, board = lost(lambda _board, engine: engine.sessions.close(engine.sessions.sessions[0]))
    engine = engine_over(board, store, MODULES)
    engine.start()
    record = store.sessions.get(guest.name)
    assert (record.state, record.cause) == (SessionState.CLOSED, "closed")
    while not engine.is_idle:
        engine.step()
    assert board.state().buffers == ()
