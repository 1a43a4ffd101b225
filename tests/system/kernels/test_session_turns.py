# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions take turns: a command of many pieces, a large one, or one that breaks the code holds nobody else up."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from cores_kit import CoresBoard, engine_over, manifest, tenants
from eddy.core.errors import NotFound, QuotaExceeded
from eddy.core.sessions import SessionOptions
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.sessions import session as session_module
from eddy.hypervisor.sessions.moves import RUN_BYTES
from eddy.hypervisor.sessions.session import STEP_BYTES
from eddy.store import Store
from session_kit import SMALL, Guest, serve

MODULES = {manifest(1).module: manifest(1)}
ROWS = 3 * STEP_BYTES // RUN_BYTES
"""Rows of a box that is three turns' worth."""


@pytest.fixture
def engine() -> Iterator[Engine]:
    store = Store(":memory:")
    tenants(store, ada=1, bob=1)
    made = engine_over(CoresBoard(MODULES), store, MODULES)
    made.start()
    yield made
    store.close()


def guest(engine: Engine, tenant: str, memory_bytes: int = SMALL, out_of_order: bool = False) -> Guest:
    """Opens a session with a buffer of zeros."""
    made = Guest(tenant, SessionOptions(memory_bytes, out_of_order=out_of_order))
    made.open(engine)
    made.say(do="create", buffer=1, bytes=64 << 10)
    serve(engine, made)
    return made


def done(engine: Engine, of: Guest, **command: Any) -> bytes:
    """What a command read, once it has ended well."""
    number = of.say(**command)
    serve(engine, of)
    assert not of.results[number].code, of.results[number]
    return of.results[number].data


@pytest.mark.parametrize("out_of_order", [False, True])
def test_a_copy_within_a_buffer_is_a_copy(engine: Engine, out_of_order: bool) -> None:
    ada, life = guest(engine, "ada", out_of_order=out_of_order), engine.sessions.life
    done(engine, ada, do="fill", buffer=1, offset=0, bytes=4, pattern="AQIDBA==")
    done(engine, ada, do="copy", source=1, target=1, source_offset=0, target_offset=2, bytes=4)
    assert done(engine, ada, do="read", buffer=1, offset=0, bytes=8) == bytes([1, 2, 1, 2, 3, 4, 0, 0])
    assert engine.sessions.life == life, "nothing had to be recovered"


def test_a_box_of_many_rows_takes_several_turns_and_others_have_theirs(engine: Engine) -> None:
    ada, bob = guest(engine, "ada"), guest(engine, "bob")
    ada.say(do="fill", buffer=1, offset=0, shape=[1, ROWS, 1], pitch=[2, 2 * ROWS], bytes=ROWS, pattern="AQID")
    copied: dict[str, Any] = {"source_pitch": [2, 2 * ROWS], "target_pitch": [3, 3 * ROWS], "target_offset": 1}
    ada.say(do="copy", source=1, target=1, shape=[1, ROWS, 1], **copied)
    read = ada.say(do="read", buffer=1, offset=1, shape=[1, ROWS, 1], pitch=[3, 3 * ROWS])
    bob.say(do="marker")
    ada.talk(engine)
    bob.talk(engine)
    engine.step(1e-3)
    bob.talk(engine)
    assert not bob.waits, "it had its turn in the same step"
    assert len(engine.sessions.get(ada.name).stream.open) == 3, "the fill goes on"
    serve(engine, ada)
    assert ada.results[read].data == bytes([1, 2, 3] * ROWS)[:ROWS]


def test_what_is_refused_takes_no_memory(engine: Engine) -> None:
    ada = guest(engine, "ada")
    number = ada.say(do="fill", buffer=1, offset=0, bytes=1 << 30, pattern="AA==")
    tracemalloc.start()
    try:
        serve(engine, ada)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert ada.results[number].code == "invalid-request"


def test_a_session_that_is_closed_in_the_middle_of_a_command_ends(engine: Engine) -> None:
    ada = guest(engine, "ada")
    ada.say(do="read", buffer=1, offset=0, shape=[1, ROWS, 1], pitch=[2, 2 * ROWS])
    ada.talk(engine)
    engine.step(1e-3)
    found = engine.sessions.get(ada.name)
    engine.sessions.close(found)
    serve(engine, ada, until=lambda: engine.sessions.has_ended(ada.name))
    assert [result.code for _, result in found.stream.results][-1] == "session-closed"


def test_an_error_in_the_code_of_one_session_ends_that_session_alone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob, life = guest(engine, "ada"), guest(engine, "bob"), engine.sessions.life
    ada.say(do="read", buffer=1, offset=0, bytes=4)
    with monkeypatch.context() as patched:
        patched.setattr(session_module, "move_bytes", lambda *_: 1 // 0)
        serve(engine, ada, until=lambda: engine.sessions.has_ended(ada.name))
    with pytest.raises(NotFound, match=r"has ended \(internal-error\)"):
        engine.sessions.get(ada.name)
    assert done(engine, bob, do="read", buffer=1, offset=0, bytes=4) == bytes(4)
    assert engine.sessions.life == life


def test_a_tenants_sessions_share_a_bound_on_what_waits(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MAX_TENANT_BYTES", 40 << 10)
    first, second, other = guest(engine, "ada"), guest(engine, "ada"), guest(engine, "bob")
    for each in (first, other):
        each.say(bytes(30 << 10), do="write", buffer=1, offset=0, bytes=30 << 10)
        each.talk(engine)
    second.say(bytes(30 << 10), do="write", buffer=1, offset=0, bytes=30 << 10)
    with pytest.raises(QuotaExceeded, match="wait for writes to end"):
        second.talk(engine)
    serve(engine, first, other)
    serve(engine, second)
    assert not second.results[2].code
