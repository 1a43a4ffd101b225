# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions survive a restart; what is on the disk opens none, and what has ended stays ended."""

from __future__ import annotations

from pathlib import Path

from eddy.api.access.sessions import LIFE_S, MAX_OF_A_KEY, Sessions
from eddy.store import Store


def test_a_session_goes_on_after_a_restart_and_one_that_was_closed_does_not(tmp_path: Path) -> None:
    path, now = tmp_path / "eddy.sqlite3", [1e9]
    store = Store(path)
    before = Sessions(lambda: now[0], store.logins)
    kept, session = before.open("hash", "ada")
    closed, _ = before.open("hash", "ada")
    before.close(closed)
    assert all(cookie not in str(store.logins.all()) for cookie in (kept, closed))
    store.close()
    store = Store(path)
    after = Sessions(lambda: now[0], store.logins)
    assert after.of(kept) == session
    assert after.of(closed) is None
    (row,) = store.logins.all()
    assert after.of(row.cookie_hash) is None
    now[0] += LIFE_S
    assert after.of(kept) is None
    assert Sessions(lambda: now[0], store.logins).of(kept) is None
    after.open("hash", "ada")
    assert len(store.logins.all()) == 1
    store.close()


def test_a_clock_that_goes_back_makes_no_session_longer() -> None:
    store, now = Store(":memory:"), [1e9]
    cookie, _ = Sessions(lambda: now[0], store.logins).open("hash", "ada")
    now[0] -= 3600
    assert Sessions(lambda: now[0], store.logins).of(cookie) is None


def test_what_is_kept_is_bounded_as_what_is_open() -> None:
    store = Store(":memory:")
    sessions = Sessions(keeper=store.logins)
    for _ in range(MAX_OF_A_KEY + 3):
        sessions.open("hash", "ada")
    assert len(store.logins.all()) == MAX_OF_A_KEY
