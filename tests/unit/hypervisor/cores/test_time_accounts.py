# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When the slots' time is written down, and up to when; what tenants owe on shared clusters outlives a restart."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest
from cores_kit import add_request, description, engine_over, manifest, tenants
from eddy.board.model.model import ModelBoard
from eddy.board.model.model_images import model_images
from eddy.core.errors import StorageFull
from eddy.hypervisor.engine import loop
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.loop import Hypervisor
from eddy.hypervisor.engine.time_accounts import ACCOUNT_S, MAX_TENANTS, LagWriter, TimeAccounts
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.account_tables.usage import ACCOUNTED, UsageRow
from eddy.store.tables.removal import LAGS
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


LONG_S = 0.2
"""Board seconds of one work-group of the light tenant's kernel, which nothing cuts."""
ONE = manifest(1)
MODULES = {ONE.module: ONE}


def _engine(store: Store) -> Engine:
    described = description(1)
    latency = {"kernel:add_honest": 1e-4, "kernel:add_light": LONG_S, ONE.module: 1e-4}
    engine = engine_over(
        ModelBoard(described, model_images(described, MODULES), latency), store, MODULES, "entitlement"
    )
    engine.start()
    return engine


def _light_s(engine: Engine) -> float:
    assert engine.price is not None
    return sum(account.delivered_s.get("light", 0.0) for account in engine.price.accounts.values())


def _until(engine: Engine, at_s: float) -> None:
    """Run, both tenants having work all the time."""
    while engine.now_s < at_s:
        for tenant, groups, most in (("honest", 1500, 3), ("light", 1, 1)):
            held = sum(job.spec.tenant == tenant for job in engine.machine.jobs.values())
            for _ in range(most - held):
                asked = add_request(engine.store, tenant, 2 * groups, f"add_{tenant}")
                engine.intake.accept(dataclasses.replace(asked, time_limit_s=1.0))
        engine.step()


def test_a_restart_forgives_no_debt(tmp_path: Path) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    tenants(store, honest=1.0, light=0.05)
    engine = _engine(store)
    while not _light_s(engine):
        _until(engine, engine.now_s + 1e-2)
    engine.accounts.keep_epochs()
    (lags,) = LagWriter(store).read_lags().values()
    assert lags["light"] < -0.8 * LONG_S
    again = _engine(store)
    began_s = again.now_s
    _until(again, began_s + 5 * LONG_S)
    assert _light_s(again) == 0, "what it had is twenty times as long due to the other"
    assert again.price is not None
    (owed,) = again.price.lags().values()
    assert lags["light"] < owed["light"] < 0, "it is worked off"
    store.close()


def test_the_largest_are_kept_and_what_cannot_be_read_is_none() -> None:
    store = Store(":memory:")
    keeper = LagWriter(store)
    lags = {f"t{k}": float(k - MAX_TENANTS // 2) / MAX_TENANTS for k in range(MAX_TENANTS + 3)}
    keeper.write_lags({4: lags, 5: {"a": 1e-9}})
    kept = LagWriter(store).read_lags()
    assert kept[5] == {}
    assert len(kept[4]) == MAX_TENANTS
    dropped = lags.keys() - kept[4].keys()
    assert dropped == {f"t{MAX_TENANTS // 2 + k}" for k in (-1, 0, 1)}
    for broken in ("{", "[]", '{"a": {}}', '{"1": 3}'):
        store.remember(LAGS, broken)
        assert LagWriter(store).read_lags() == {}
    store.close()


def test_nobody_waits_for_the_disk_where_what_is_owed_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    keeper, waited = LagWriter(store), list[int]()
    monkeypatch.setattr(os, "fdatasync", waited.append)
    for k in range(3):
        keeper.write_lags({1: {"ada": 0.001 * k}})
    assert (LagWriter(store).read_lags(), waited) == ({1: {"ada": 0.002}}, [])
    store.close()
