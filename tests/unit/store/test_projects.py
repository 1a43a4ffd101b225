# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Projects in the store: who is in them, over restarts and removals; and past use, out of the accounts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from eddy.core.errors import Conflict, NotFound
from eddy.core.projects import Project
from eddy.core.tenants import TenantRecord
from eddy.store import Store
from eddy.store.account_tables.usage import DAY_S, UsageRow, day_of

NOW_S = 1_790_000_000.0 // DAY_S * DAY_S
"""The beginning of a day."""
SLOTS, HALF_LIFE = 2, 7.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "eddy.sqlite3"


def opened(path: Path, half_life_days: float = HALF_LIFE) -> Store:
    store = Store(path, half_life_days=half_life_days)
    for name in ("ada", "bob", "eve"):
        store.tenants.put(TenantRecord(name))
    store.usage.begin(0, SLOTS)
    return store


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with contextlib.closing(opened(path)) as found:
        yield found


def at(monkeypatch: pytest.MonkeyPatch, unix_s: float) -> None:
    monkeypatch.setattr(time, "time", lambda: unix_s)


def used(store: Store, days_ago: float, tenant: str, seconds: float, unit: str = "slot") -> None:
    store.usage.add([UsageRow(day_of(NOW_S - days_ago * DAY_S), tenant, 0, unit, round(seconds * 1e9))], {})


def test_projects_and_their_members_are_there_after_a_restart(path: Path) -> None:
    with contextlib.closing(opened(path)) as store:
        store.projects.put(Project("vision", 2.0, ("bob", "ada", "bob")))
        store.projects.put(Project("empty"))
    with contextlib.closing(opened(path)) as store:
        assert store.projects.all() == (Project("empty"), Project("vision", 2.0, ("ada", "bob")))
        assert (store.projects.of("ada"), store.projects.of("eve")) == ("vision", "")
        assert store.projects.weights(["ada", "bob", "eve"]) == {"ada": 1.0, "bob": 1.0, "eve": 1.0}
        assert store.projects.weights(["ada", "eve"]) == pytest.approx({"ada": 4 / 3, "eve": 2 / 3})


def test_a_tenant_is_in_one_project_and_leaves_it_before_it_comes_to_another(store: Store) -> None:
    store.projects.put(Project("vision", 1.0, ("ada",)))
    with pytest.raises(Conflict, match="is in project vision: take it out there first"):
        store.projects.put(Project("chips", 1.0, ("ada",)))
    with pytest.raises(NotFound, match="no tenant nobody"):
        store.projects.put(Project("chips", 1.0, ("nobody",)))
    assert [each.id for each in store.projects.all()] == ["vision"]
    store.projects.put(Project("vision"))
    store.projects.put(Project("chips", 1.0, ("ada",)))
    assert store.projects.of("ada") == "chips"


def test_a_tenant_that_is_removed_is_in_no_project(store: Store) -> None:
    store.projects.put(Project("vision", 1.0, ("ada", "bob")))
    store.removal.begin("ada")
    assert store.projects.get("vision").members == ("bob",)
    with pytest.raises(Conflict, match="removed"):
        store.projects.put(Project("vision", 1.0, ("ada",)))


def test_a_project_is_removed_and_its_tenants_stay(store: Store) -> None:
    store.projects.put(Project("vision", 1.0, ("ada",)))
    store.projects.remove("vision")
    with pytest.raises(NotFound):
        store.projects.remove("vision")
    assert (store.projects.of("ada"), store.tenants.get("ada").id) == ("", "ada")


def test_a_damaged_project_leaves_its_tenants_without_one_until_it_is_added_again(path: Path) -> None:
    with contextlib.closing(opened(path)) as store:
        store.projects.put(Project("vision", 2.0, ("ada",)))
        with store.database.transaction() as db:
            db.execute("UPDATE project SET share = 'abc'")
    with contextlib.closing(opened(path)) as store:
        assert (store.projects.damaged, store.projects.all(), store.projects.of("ada")) == ({"vision"}, (), "")
        assert store.damage.counts()["project"] == 1
        store.projects.put(Project("vision", 2.0, ("ada",)))
        assert (store.projects.damaged, store.damage.counts()["project"]) == (set(), 0)


def test_past_use_halves_with_each_half_life(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A week's use of both slots, then nothing: half of it counts after one half-life, over a restart too."""
    at(monkeypatch, NOW_S)
    with contextlib.closing(opened(path)) as store:
        for day in range(1, 8):
            used(store, day, "ada", SLOTS * DAY_S)
        now = store.usage.decayed()["ada"]
        assert 0.5 < now < 0.6, "a week of a board that counts with a half-life of a week"
        at(monkeypatch, NOW_S + HALF_LIFE * DAY_S)
        assert store.usage.decayed()["ada"] == pytest.approx(now / 2)
    with contextlib.closing(opened(path)) as store:
        assert store.usage.decayed()["ada"] == pytest.approx(now / 2)
        store.projects.put(Project("vision", 1.0, ("ada",)))
        of = store.projects.weights(["ada", "eve"])
        assert of["ada"] / of["eve"] == pytest.approx(2 ** -(now / 2 / 0.5))


def test_use_of_today_counts_whole_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, NOW_S + DAY_S / 2)
    assert store.usage.decayed().get("ada", 0.0) == 0.0
    used(store, 0, "ada", 600.0)
    first = store.usage.decayed()["ada"]
    at(monkeypatch, NOW_S + DAY_S - 1)
    assert store.usage.decayed()["ada"] == first > 0


def test_the_time_of_shared_slots_is_divided_by_cores(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, NOW_S + 60.0)
    for tenant, unit, seconds in (("", "shared", 10.0), ("ada", "core", 30.0), ("bob", "core", 10.0)):
        used(store, 0, tenant, seconds, unit)
    used(store, 0, "eve", 10.0)
    found = store.usage.decayed()
    assert found["ada"] / found["eve"] == pytest.approx(0.75)
    assert found["bob"] / found["eve"] == pytest.approx(0.25)
    assert "" not in found


def test_without_a_half_life_past_use_does_not_count(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, NOW_S)
    with contextlib.closing(opened(path, 0.0)) as store:
        used(store, 1, "ada", DAY_S)
        assert store.usage.decayed() == {}
        assert store.projects.weights(["ada", "eve"]) == {"ada": 1.0, "eve": 1.0}
