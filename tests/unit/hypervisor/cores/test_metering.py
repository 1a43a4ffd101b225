# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Accounts of use: whatever happens, what is charged to tenants and to nobody adds up to the board's time exactly."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from cores_kit import CoresBoard, add_request, manifest, tenants
from cores_kit import engine_over as shared_engine
from eddy.board.model.model import ModelBoard
from eddy.core.errors import QuotaExceeded
from eddy.core.leases import LeaseOptions
from eddy.core.tenants import Quota, TenantRecord
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.jobs.job_spec import expected_slot_s
from eddy.hypervisor.jobs.metering import SlotMeter, Unit
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.account_tables.usage import DAY_S, UsageRow, day_of
from hypervisor_kit import CHAIN, MODULES, TENANT, finish, model_board, request

FOUR = manifest(4)


def engine_over(board: ModelBoard, store: Store) -> Engine:
    made = Engine(board, POLICIES["eddy"](), store, {"chain": CHAIN}, MODULES)
    made.start()
    return made


def check(engine: Engine, store: Store) -> dict[tuple[str, str], int]:
    """The accounts add up to the time of all slots; answers them by tenant and unit."""
    engine.account()
    found: dict[tuple[str, str], int] = {}
    for row in store.usage.rows(None):
        assert row.spent_ns > 0
        found[row.tenant, row.unit] = found.get((row.tenant, row.unit), 0) + row.spent_ns
    board = store.usage.board()
    assert (board.to_ns, board.slots) == (round(engine.now_s * 1e9), len(engine.machine.slots))
    whole = sum(ns for (_, unit), ns in found.items() if unit in ("slot", "shared"))
    assert whole == board.before_ns + board.slots * (board.to_ns - board.from_ns)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_meter_loses_and_invents_no_nanosecond(seed: int) -> None:
    draw, meter, at_s, cores = random.Random(seed), SlotMeter(), 1.0, 0
    meter.begin(1_000_000_000, "")
    total: dict[tuple[Unit, str], int] = {}
    busy: set[int] = set()
    core_ns, changed_ns = 0, 1_000_000_000
    for _ in range(300):
        at_s += draw.choice([0.0, 1e-9, 3.3e-7, draw.random()])
        what = draw.choice(["hold", "share", "start", "end", "settle", "late"])
        if what == "hold" and not cores:
            meter.set_holder(draw.choice(["", "a", "b"]), at_s)
        elif what == "share":
            core_ns += cores * (round(at_s * 1e9) - changed_ns)
            cores, changed_ns = draw.choice([0, 2, 4]), round(at_s * 1e9)
            for core in busy:
                meter.end(core, at_s)
            busy.clear()
            meter.set_cores(cores, at_s)
        elif what == "start" and len(busy) < cores:
            core = next(core for core in range(cores) if core not in busy)
            busy.add(core)
            meter.start(core, draw.choice("ab"), at_s)
        elif what in ("end", "late") and busy:
            # What ended a moment ago may be told after everything was charged.
            meter.end(busy.pop(), at_s if what == "end" else at_s - 1e-6)
        elif what == "settle":
            meter.settle(round(at_s * 1e9))
            for key, ns in meter.spent.items():
                total[key] = total.get(key, 0) + ns
            meter.mark_written()
    meter.settle(round(at_s * 1e9))
    for key, ns in meter.spent.items():
        total[key] = total.get(key, 0) + ns
    core_ns += cores * (round(at_s * 1e9) - changed_ns)
    assert all(ns > 0 for ns in total.values())
    assert sum(ns for (unit, _), ns in total.items() if unit is not Unit.CORE) == round(at_s * 1e9) - 1_000_000_000
    assert sum(ns for (unit, _), ns in total.items() if unit is Unit.CORE) == core_ns


def test_the_accounts_of_a_board_add_up_over_crashes_and_drains() -> None:
    store, board = Store(":memory:"), model_board()
    engine, draw = engine_over(board, store), random.Random(5)
    for salt in range(12):
        engine.intake.accept(request(store, batch=draw.randint(1, 4), salt=salt))
        for _ in range(draw.randrange(12)):
            engine.step(1.0)
            if draw.random() < 0.2:
                check(engine, store)
        if draw.random() < 0.3:
            engine = engine_over(board, store)
            check(engine, store)
        if draw.random() < 0.3:
            engine.intake.drain(draw.randrange(3), draw.choice(["", "x"]))
    for slot in range(3):
        engine.intake.drain(slot, "")
    while not engine.is_idle:
        engine.step(1.0)
    had = check(engine, store)
    jobs = [store.jobs.get(TENANT, number) for number in range(1, 13)]
    held_s = sum(job.running_s for job in jobs)
    assert had[TENANT, "slot"] / 1e9 >= held_s > 0
    assert had["", "slot"] > 0
    assert store.usage.board().before_ns == 0
    for slots in (5, 5, 2):  # another board takes its place
        engine = engine_over(model_board(slots), store)
        check(engine, store)
        engine.intake.accept(request(store, batch=2, salt=slots))
        while not engine.is_idle:
            engine.step(1.0)
        had = check(engine, store)
    assert store.usage.board().before_ns > sum(had.values()) / 2


def test_cores_that_are_shared_are_charged_to_who_had_them() -> None:
    store, board = Store(":memory:"), CoresBoard({FOUR.module: FOUR})
    tenants(store, a=1, b=2)
    engine = shared_engine(board, store, {FOUR.module: FOUR})
    engine.start()
    for tenant in "abab":
        engine.intake.accept(add_request(store, tenant, 96))
    finish(engine)
    had = check(engine, store)
    for tenant in "ab":
        kernels = [job.kernel for job in store.lists.page(tenant) if job.kernel is not None]
        assert len(kernels) == 2
        assert had[tenant, "core"] / 1e9 == pytest.approx(sum(each.core_seconds for each in kernels), abs=1e-6)
    cores = sum(ns for (_, unit), ns in had.items() if unit == "core")
    assert cores == 4 * had["", "shared"]


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> float:
    """It is noon, by UTC, for as long as a test takes: no day ends in it by itself."""
    at = time.time() // DAY_S * DAY_S + DAY_S / 2
    monkeypatch.setattr(time, "time", lambda: at)
    return at


def test_what_is_used_up_today_is_refused_until_the_day_is_over(monkeypatch: pytest.MonkeyPatch, noon: float) -> None:
    store = Store(":memory:")
    engine = engine_over(model_board(), store)
    store.tenants.put(TenantRecord(TENANT, quota=Quota(max_slot_s=1e-3)))
    engine.intake.accept(request(store, batch=2))
    while not engine.is_idle:
        engine.step(1.0)
    engine.account()
    assert store.usage.today_s(TENANT)[0] > 1e-3
    with pytest.raises(QuotaExceeded) as refused:
        engine.intake.accept(request(store, salt=1))
    assert 0 < refused.value.details["retry_after_s"] <= 86400
    assert "UTC" in refused.value.message
    monkeypatch.setattr(time, "time", lambda: noon + DAY_S)
    assert store.usage.today_s(TENANT) == (0, 0)
    engine.intake.accept(request(store, salt=1))


def test_a_lease_counts_with_all_of_its_time_and_is_refused_where_that_does_not_fit(noon: float) -> None:
    store = Store(":memory:")
    engine = engine_over(model_board(), store)
    store.tenants.put(TenantRecord(TENANT, quota=Quota(max_slot_s=100.0)))
    lease = engine.leases.open(TENANT, LeaseOptions(lasts_s=60.0, memory_bytes=4096), 2)
    with pytest.raises(QuotaExceeded, match="40 s are left today") as refused:
        engine.leases.open(TENANT, LeaseOptions(lasts_s=50.0, memory_bytes=4096), 2)
    assert refused.value.details["retry_after_s"] > 0
    with pytest.raises(QuotaExceeded, match="40 s are left today"):
        engine.leases.extend(lease.id, 41.0)
    engine.leases.extend(lease.id, 40.0)
    with pytest.raises(QuotaExceeded, match="wait for jobs to end"):
        engine.intake.accept(request(store))
    engine.leases.release(lease.id, "released")
    engine.step(0.0)
    engine.intake.accept(request(store))


@pytest.mark.parametrize("steps", [0, 1, 200])
def test_a_burst_does_not_pass_a_budget_whole(steps: int, noon: float) -> None:
    """What jobs are expected to use counts from their acceptance on, and until what they used is written down."""
    store, one_s = Store(":memory:"), expected_slot_s(CHAIN, 2)
    engine = engine_over(model_board(), store)
    store.tenants.put(TenantRecord(TENANT, quota=Quota(max_jobs=200, max_slot_s=3.5 * one_s)))
    store.tenants.put(TenantRecord("other"))
    taken, refused = [], list[QuotaExceeded]()
    for salt in range(100):
        try:
            taken.append(engine.intake.accept(request(store, batch=2, salt=salt % 3)))
        except QuotaExceeded as failure:
            refused.append(failure)
        for _ in range(steps):
            engine.step(0.001)
    assert 1 <= len(taken) <= 4
    assert all(each.details["retry_after_s"] > 0 for each in refused)
    engine.intake.accept(request(store, tenant="other"))
    while not engine.is_idle:
        engine.step(1.0)
    engine.account()
    assert store.jobs.tally.expected_s(TENANT) == 0.0


def test_an_array_is_taken_whole_or_not_and_what_waits_counts_after_a_restart(tmp_path: Path, noon: float) -> None:
    path, one_s = tmp_path / "eddy.sqlite3", expected_slot_s(CHAIN, 1)
    store = Store(path)
    store.tenants.put(TenantRecord(TENANT, quota=Quota(max_slot_s=2.5 * one_s)))
    engine = engine_over(model_board(), store)
    with pytest.raises(QuotaExceeded):
        engine.intake.accept_array([request(store)] * 4, [None] * 4)
    jobs = engine.intake.accept_array([request(store)] * 3, [None] * 3)
    with pytest.raises(QuotaExceeded, match="jobs under way"):
        engine.intake.accept(request(store))
    store.close()
    store = Store(path)
    engine = engine_over(model_board(), store)
    assert store.jobs.tally.expected_s(TENANT) == pytest.approx(3 * one_s)
    for job in jobs:
        engine.intake.cancel(TENANT, job.id)
    engine.step(0.0)
    assert store.jobs.tally.expected_s(TENANT) <= one_s, "at most one of them had a slot"
    engine.intake.accept(request(store))
    store.close()


def test_accounts_of_today_are_known_after_a_restart(tmp_path: object, noon: float) -> None:
    path = f"{tmp_path}/eddy.sqlite3"
    store, today = Store(path), day_of(noon)
    for _ in range(2):
        store.usage.add([UsageRow(today, "a", 1, "slot", 5), UsageRow("2020-01-01", "a", 1, "slot", 7)], {})
    assert store.usage.today_s("a")[0] == 10e-9
    store.close()
    store = Store(path)
    assert store.usage.today_s("a")[0] == 10e-9
    assert [(row.day, row.spent_ns) for row in store.usage.rows("a")] == [("2020-01-01", 14), (today, 10)]
    assert [row.day for row in store.usage.rows("a", first=today)] == [today]
    assert store.usage.rows("b") == ()
    store.close()


def test_a_day_on_which_nothing_was_used_is_read_once(monkeypatch: pytest.MonkeyPatch, noon: float) -> None:
    store, looks = Store(":memory:"), list[str]()
    read = store.usage._of_day

    def counted(day: str) -> object:
        looks.append(day)
        return read(day)

    monkeypatch.setattr(store.usage, "_of_day", counted)
    today, tomorrow = day_of(noon), day_of(noon + DAY_S)
    for _ in range(3):
        store.usage.check("a", Quota(max_slot_s=1e-9, max_core_s=1))
    store.usage.add([UsageRow(today, "a", 1, "slot", 5)], {})
    assert store.usage.today_s("a") == (5e-9, 0)
    with pytest.raises(QuotaExceeded):
        store.usage.check("a", Quota(max_slot_s=1e-9))
    assert looks == [today]
    monkeypatch.setattr(time, "time", lambda: noon + DAY_S)
    for _ in range(3):
        store.usage.check("a", Quota(max_slot_s=1e-9, max_core_s=1))
    assert looks == [today, tomorrow]


def test_a_day_that_was_read_while_somebody_added_to_it_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, noon: float
) -> None:
    store, today = Store(":memory:"), day_of(noon)
    read = store.usage._of_day

    def slow_read(day: str) -> object:
        found = read(day)
        monkeypatch.setattr(store.usage, "_of_day", read)
        # What is of today comes first: the day that is kept by the accounts themselves is the other one.
        store.usage.add([UsageRow(today, "a", 1, "slot", 5), UsageRow("2020-01-01", "a", 1, "slot", 7)], {})
        return found

    monkeypatch.setattr(store.usage, "_of_day", slow_read)
    store.usage.today_s("a")
    assert store.usage.today_s("a") == (5e-9, 0)


def test_a_clock_that_jumps_and_comes_back_takes_back_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A board without a clock of its own starts in the past, and is set later."""
    store, now = Store(":memory:"), time.time()
    for jump, seconds in ((0, 5), (86400 * 400, 7), (0, 1), (-86400 * 9, 2), (0, 3)):
        monkeypatch.setattr(time, "time", lambda at=now + jump: at)
        store.usage.add([UsageRow(day_of(time.time()), "a", 1, "slot", seconds * 10**9)], {})
    assert store.usage.today_s("a") == (9, 0)
    with pytest.raises(QuotaExceeded):
        store.usage.check("a", Quota(max_slot_s=9))
    for jump, seconds in ((86400 * 400, 7), (-86400 * 9, 2), (0, 9)):
        monkeypatch.setattr(time, "time", lambda at=now + jump: at)
        assert store.usage.today_s("a") == (seconds, 0)
