# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants owe on shared clusters outlives a restart."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from cores_kit import add_request, description, engine_over, manifest, tenants
from eddy.board.model.model import ModelBoard
from eddy.board.model.model_images import model_images
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.time_accounts import MAX_TENANTS, LagWriter
from eddy.store import Store
from eddy.store.tables.removal import LAGS

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
