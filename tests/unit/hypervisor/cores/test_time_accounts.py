# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When the slots' time is written down, and up to when."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from eddy.core.errors import StorageFull
from eddy.hypervisor.engine import loop
from eddy.hypervisor.engine.loop import Hypervisor
from eddy.hypervisor.engine.time_accounts import ACCOUNT_S, LagWriter, TimeAccounts
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.account_tables.usage import ACCOUNTED, UsageRow
from hypervisor_kit import model_board


class Estimates:
    """Counts how often it is asked to keep itself."""

    saved = 0

    def save_learned(self) -> None:
        self.saved += 1


def accounts_of(store: Store, estimates: Estimates, wall: list[float]) -> TimeAccounts:
    asked: Any = estimates
    return TimeAccounts(store.usage, store.epochs, asked, None, LagWriter(store), lambda: wall[0])


def test_time_is_charged_once_up_to_the_time_given(tmp_path: Path) -> None:
    store, wall, estimates = Store(tmp_path / "eddy.sqlite3"), [10.0], Estimates()
    accounts = accounts_of(store, estimates, wall)
    slot = MachineSlot(3, 0.5)
    slot.meter.begin(0, "ada")
    assert accounts.is_due, "from the beginning"
    accounts.write(2.0, [slot])
    assert not accounts.is_due
    wall[0] += ACCOUNT_S
    assert accounts.is_due
    accounts.write(5.0, [slot])
    (row,) = store.usage.rows(None)
    assert (row.tenant, row.slot, row.unit, row.spent_ns) == ("ada", 3, "slot", 5_000_000_000)
    assert store.meta(ACCOUNTED) == "5000000000"
    accounts.write(5.0, [slot])
    assert [each.spent_ns for each in store.usage.rows(None)] == [5_000_000_000], "no time has passed"
    assert estimates.saved == 3
    store.close()


def test_what_the_disk_refused_is_written_down_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    accounts, slot = accounts_of(store, Estimates(), [0.0]), MachineSlot(0, 0.5)
    store.usage.begin(0, 1)
    slot.meter.begin(0, "ada")
    accounts.write(2.0, [slot])

    def refuse(*_: object) -> None:
        raise StorageFull("no room")

    with monkeypatch.context() as full:
        full.setattr(store.usage, "add", refuse)
        with pytest.raises(StorageFull):
            accounts.write(5.0, [slot])
    accounts.write(6.0, [slot])
    assert [row.spent_ns for row in store.usage.rows(None)] == [6_000_000_000]
    board = store.usage.board()
    assert board.before_ns + board.slots * (board.to_ns - board.from_ns) == 6_000_000_000
    store.close()


def test_accounts_go_on_where_they_ended_though_the_time_is_rounded_to_less(tmp_path: Path) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    store.usage.begin(0, 1)
    ended_ns = 10_000_000_000_000_002
    store.usage.add([UsageRow("2026-11-22", "ada", 0, "slot", ended_ns)], {ACCOUNTED: str(ended_ns)})
    slot = MachineSlot(0, 0.5)
    slot.meter.begin(store.usage.begin(ended_ns - 2, 1), "ada")
    accounts = accounts_of(store, Estimates(), [0.0])
    accounts.write((ended_ns - 2) / 1e9, [slot])
    accounts.write(10_000_001.0, [slot])
    board = store.usage.board()
    assert sum(row.spent_ns for row in store.usage.rows(None)) == board.to_ns - board.from_ns == 10_000_001_000_000_000
    store.close()


def test_who_asks_for_use_again_and_again_takes_no_time_of_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(":memory:")
    hypervisor = Hypervisor(model_board(), POLICIES["fcfs"](), store, {}, {})
    asked = list[object]()

    async def on_board(call: object) -> None:
        asked.append(call)

    async def ask() -> None:
        hypervisor._worker.ready.set()
        for _ in range(5):
            await hypervisor.account()

    monkeypatch.setattr(hypervisor._worker, "on_board", on_board)
    monkeypatch.setattr(loop, "ACCOUNT_S", 3600.0)
    asyncio.run(ask())
    assert len(asked) == 1
    store.close()
