# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Leases through the whole engine, on the model board: they are given slots, driven beside jobs, and ended."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field, replace

import pytest
from eddy.board.model.model import ModelBoard
from eddy.board.port.port import RegisterAccess, SlotPhase
from eddy.core.clock_jumps import ClockJumpDetector
from eddy.core.errors import Conflict, NotFound, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.leases import LeaseKind, LeaseOptions, LeaseRecord, LeaseRules, LeaseState
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.engine import lease_keeper
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.lease_keeper import MEMORY
from eddy.hypervisor.leases.lease import LiveLease, item_of, lease_job
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.store import Store
from hypervisor_kit import BYTES, CHAIN, KEY, MODULES, expected, item, model_board, request

RULES = LeaseRules(idle_s=50.0, notice_s=20.0, part=0.7)
SMALL = 4096
FLIP = LeaseOptions(lasts_s=100.0, module="flip", memory_bytes=SMALL)
START, READY = RegisterAccess(0, 1), (RegisterAccess(4, 1), RegisterAccess(8, 1))


@dataclass
class Lab:
    """An engine whose wall clock the test sets."""

    store: Store = field(default_factory=lambda: Store(":memory:"))
    board: ModelBoard = field(default_factory=model_board)
    wall_s: float = 1000.0
    steady_s: float = 50.0

    def __post_init__(self) -> None:
        for tenant in ("ada", "bob", "alice"):
            self.store.tenants.put(TenantRecord(tenant))
        self.engine = self.begin()

    def begin(self) -> Engine:
        """An engine as after a start of the server."""
        self.engine = Engine(
            self.board,
            FirstComeFirstServed(),
            self.store,
            {CHAIN.name: CHAIN},
            MODULES,
            {("chain", "key"): KEY},
            lease_rules=RULES,
        )
        keeper = self.engine.leases
        keeper._wall_s, keeper.steady_s = lambda: self.wall_s, lambda: self.steady_s
        keeper._clock = ClockJumpDetector(keeper._wall_s, keeper.steady_s)
        self.engine.start()
        return self.engine

    def ask(self, tenant: str, options: LeaseOptions = FLIP, most: int = 2) -> str:
        return self.engine.leases.open(tenant, options, most).id

    def serve(self, passed_s: float = 0.0) -> None:
        """Let wall time pass, and everything happen that is due."""
        self.wall_s += passed_s
        self.steady_s += passed_s
        for _ in range(60):
            self.engine.leases.look_now()
            self.engine.step(1e-3)

    def record(self, name: str) -> LeaseRecord:
        return self.store.leases.get(name)

    def live(self, name: str) -> LiveLease:
        return self.engine.leases.get(name)

    def access(self, name: str, *accesses: RegisterAccess) -> tuple[int, ...]:
        record = self.record(name)
        return self.board.access(record.slots[0], item_of(record, record.slots[0]), accesses)


@pytest.fixture(autouse=True)
def _no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeper, "MIN_PACE_S", 1e-6)


def state_of(lab: Lab, name: str) -> tuple[LeaseState, str]:
    record = lab.record(name)
    return record.state, record.cause


def test_a_lease_is_given_a_slot_loaded_and_driven_while_jobs_run_elsewhere() -> None:
    lab = Lab()
    name = lab.ask("ada")
    jobs = [lab.engine.intake.accept(request(lab.store, batch=4, salt=salt)) for salt in range(4)]
    lab.serve()
    record, live = lab.record(name), lab.live(name)
    assert (record.state, live.held, record.ends_unix_s) == (LeaseState.ACTIVE, {*record.slots}, 1100.0)
    buffer = lab.engine.buffers.find(lease_job(record.number), MEMORY)
    lab.board.write(buffer.id, 0, item(0))
    into = buffer.address + BYTES
    addresses = [RegisterAccess(at, word) for at, word in ((0x10, buffer.address), (0x14, 0), (0x1C, into), (0x20, 0))]
    lab.access(name, *addresses, *READY)
    live.listening.add(record.slots[0])
    lab.board.listen(record.slots[0], item_of(record, record.slots[0]))
    lab.access(name, START)
    lab.serve()
    assert live.rang == {*record.slots}
    assert not live.listening
    assert lab.board.read(buffer.id, BYTES, BYTES) == bytes(255 - byte for byte in item(0))
    for salt, job in enumerate(jobs):
        assert lab.store.jobs.get("alice", job.id).state is JobState.SUCCEEDED
        assert lab.store.outputs.read("alice", job.id, "out") == expected(4, salt)
    used = {
        event.slot for job in jobs for event in lab.store.events.read_all("alice", job.id) if event.slot is not None
    }
    assert used
    assert not used & {*record.slots}


def test_what_its_time_is_charged_to() -> None:
    lab = Lab()
    name = lab.ask("ada")
    lab.serve()
    slot = lab.engine.machine.slots[lab.record(name).slots[0]]
    assert slot.holder == "ada"
    lab.engine.leases.release(name, "released")
    lab.serve()
    assert (state_of(lab, name), slot.holder) == ((LeaseState.ENDED, "released"), "")


def test_it_ends_with_its_slot_closed_and_its_memory_given_back() -> None:
    lab = Lab()
    name = lab.ask("ada")
    lab.serve()
    record = lab.record(name)
    for passed_s in (45.0, 45.0, 9.0):
        lab.serve(passed_s)
        lab.live(name).used_s = lab.steady_s
    assert lab.record(name).state is LeaseState.ACTIVE
    lab.serve(passed_s=1.0)
    assert state_of(lab, name) == (LeaseState.ENDED, "expired")
    assert lab.board.state().slots[record.slots[0]].phase in (SlotPhase.EMPTY, SlotPhase.FAULTED)
    assert lab.board.state().buffers == ()
    with pytest.raises(Conflict):
        lab.board.access(record.slots[0], item_of(record, record.slots[0]), (START,))
    job = lab.engine.intake.accept(request(lab.store))
    lab.serve()
    assert lab.store.jobs.get("alice", job.id).state is JobState.SUCCEEDED


def test_a_holder_that_is_gone_frees_its_slot_for_the_next() -> None:
    lab = Lab()
    first, second, third = lab.ask("ada"), lab.ask("ada"), lab.ask("bob")
    lab.serve()
    assert [lab.record(name).state for name in (first, second, third)] == [
        LeaseState.ACTIVE,
        LeaseState.QUEUED,
        LeaseState.ACTIVE,
    ], "who holds nothing goes first"
    lab.serve(passed_s=49.0)
    lab.live(third).used_s = lab.steady_s
    lab.serve(passed_s=1.0)
    assert state_of(lab, first) == (LeaseState.ENDED, "holder-gone")
    assert [lab.record(name).state for name in (second, third)] == [LeaseState.ACTIVE, LeaseState.ACTIVE]


def test_as_many_as_a_tenant_may_have_and_who_waits_can_go() -> None:
    lab = Lab()
    names = [lab.ask("ada") for _ in range(2)]
    with pytest.raises(QuotaExceeded):
        lab.ask("ada")
    lab.engine.leases.release(names[1], "released")
    lab.serve()
    assert state_of(lab, names[1])[1] == "released"
    with pytest.raises(NotFound, match="released"):
        lab.engine.leases.get(names[1])
    lab.ask("ada")


def test_a_drained_slot_and_an_operators_board_give_notice() -> None:
    lab = Lab()
    name = lab.ask("ada")
    lab.serve()
    lab.engine.intake.drain(lab.record(name).slots[0], "mended")
    lab.serve()
    record = lab.record(name)
    assert (record.notice, record.ends_unix_s) == ("its slot is drained", lab.wall_s + 20.0)
    with pytest.raises(Conflict, match="drained"):
        lab.engine.leases.extend(name, 500.0)
    lab.serve(passed_s=20.0)
    assert state_of(lab, name) == (LeaseState.ENDED, "notice")
    other, whole = lab.ask("bob"), lab.ask("operator", LeaseOptions(LeaseKind.BOARD, 50.0, memory_bytes=SMALL), 1)
    lab.serve()
    assert lab.record(other).state is LeaseState.QUEUED, "the board is asked for"
    assert lab.record(whole).state is LeaseState.ACTIVE
    job = lab.engine.intake.accept(request(lab.store))
    lab.serve()
    assert lab.store.jobs.get("alice", job.id).state is JobState.QUEUED
    lab.engine.leases.release(whole, "released")
    lab.serve()
    assert lab.store.jobs.get("alice", job.id).state is JobState.SUCCEEDED
    assert lab.record(other).state is LeaseState.ACTIVE


def test_it_lasts_as_long_as_it_is_extended() -> None:
    lab = Lab()
    name = lab.ask("ada")
    lab.serve()
    lab.engine.leases.extend(name, 50.0)
    lab.serve(passed_s=120.0)
    assert lab.record(name).state is LeaseState.ENDED, "nobody used it"
    other = lab.ask("ada")
    lab.serve()
    lab.engine.leases.extend(other, 50.0)
    for _ in range(4):
        lab.serve(passed_s=30.0)
        lab.live(other).used_s = lab.steady_s
    assert lab.record(other).state is LeaseState.ACTIVE
    lab.serve(passed_s=30.0)
    assert state_of(lab, other)[1] == "expired"


@pytest.mark.parametrize("step_s", [7200.0, -7200.0])
def test_a_jump_of_the_wall_clock_ends_no_lease_early_and_keeps_none_open(step_s: float) -> None:
    lab = Lab()
    name = lab.ask("ada")
    lab.serve()
    lab.serve(passed_s=30.0)
    lab.wall_s += step_s
    lab.serve()
    record = lab.record(name)
    assert record.state is LeaseState.ACTIVE
    assert record.ends_unix_s == pytest.approx(lab.wall_s + 70.0)
    lab.live(name).used_s = lab.steady_s
    lab.serve(passed_s=40.0)
    assert lab.record(name).state is LeaseState.ACTIVE
    lab.live(name).used_s = lab.steady_s
    lab.serve(passed_s=30.0)
    assert state_of(lab, name) == (LeaseState.ENDED, "expired")
    other = lab.ask("ada")
    lab.serve()
    lab.wall_s += step_s
    lab.serve(passed_s=49.0)
    assert lab.record(other).state is LeaseState.ACTIVE
    lab.serve(passed_s=1.0)
    assert state_of(lab, other) == (LeaseState.ENDED, "holder-gone")


def test_extensions_that_come_together_all_count_and_go_no_further_than_the_quota() -> None:
    lab = Lab()
    name = lab.ask("ada")
    lab.serve()
    ends_s, refused = lab.record(name).ends_unix_s or 0.0, list[float]()

    def check(lasts_s: float) -> None:
        if lasts_s > 150.0:
            refused.append(lasts_s)
            raise QuotaExceeded("too long", limit=150.0, asked=lasts_s)

    def extend() -> None:
        with contextlib.suppress(QuotaExceeded):
            lab.engine.leases.extend(name, 10.0, check)

    threads = [threading.Thread(target=extend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (lab.record(name).ends_unix_s, refused) == (ends_s + 50.0, [160.0] * 3)


def test_another_module_in_its_turn_and_none_at_first() -> None:
    lab = Lab()
    name = lab.ask("ada", replace(FLIP, module=""))
    lab.serve()
    record, live = lab.record(name), lab.live(name)
    assert (record.state, live.held) == (LeaseState.ACTIVE, set())
    for module in ("rotate", "mix"):
        live.wanted[record.slots[0]] = module
        lab.serve()
        assert (live.held, live.wanted) == ({*record.slots}, {})
        assert lab.engine.machine.slots[record.slots[0]].module == module
        assert lab.access(name, RegisterAccess(0x10)) == (0,), "registers of the one before are gone"
        lab.access(name, RegisterAccess(0x10, 7))


def test_a_fault_closes_the_slot_and_the_holder_loads_it_again() -> None:
    lab = Lab()
    name = lab.ask("ada")
    lab.serve()
    record, live = lab.record(name), lab.live(name)
    lab.access(name, RegisterAccess(0x10, 0x1000), RegisterAccess(0x14, 0), RegisterAccess(0x1C, 0))
    lab.access(name, RegisterAccess(0x20, 0), START)
    lab.serve()
    assert live.held == set()
    assert "window" in live.said[record.slots[0]]
    assert lab.record(name).state is LeaseState.ACTIVE
    live.wanted[record.slots[0]] = "flip"
    lab.serve()
    assert (live.held, live.said) == ({*record.slots}, {})


def test_a_server_that_died_finds_its_leases_again() -> None:
    lab = Lab()
    name, third, waiting = lab.ask("ada"), lab.ask("bob"), lab.ask("ada")
    lab.serve()
    assert lab.record(waiting).state is LeaseState.QUEUED
    lab.access(name, RegisterAccess(0x10, 5))
    lab.begin()
    lab.serve()
    assert lab.live(name).held == {*lab.record(name).slots}
    assert lab.access(name, RegisterAccess(0x10)) == (5,), "what its holder drives went on"
    job = lab.engine.intake.accept(request(lab.store))
    lab.serve()
    assert lab.store.jobs.get("alice", job.id).state is JobState.SUCCEEDED
    for each in (name, third):
        lab.engine.leases.release(each, "released")
    lab.serve()
    assert lab.record(waiting).state is LeaseState.ACTIVE


def test_a_load_that_a_death_cut_off_is_never_another_modules() -> None:
    """The holder had asked for something else than what the lease began with: it is told, and loads again."""
    lab = Lab()
    name = lab.ask("ada")
    lab.serve()
    (slot,) = lab.record(name).slots
    assert lab.record(name).reloaded == (), "what it was asked for with is loaded after a death, too"
    lab.live(name).wanted[slot] = "mix"
    lab.serve()
    assert lab.store.leases.get(name).reloaded == (slot,)
    lab.board.stop(slot, item_of(lab.record(name), slot))
    lab.board.wait(lab.board.now_s() + 1.0)
    lab.board.close(slot)
    assert lab.board.state().slots[slot].phase is SlotPhase.EMPTY
    lab.begin()
    lab.serve()
    live = lab.live(name)
    assert (lab.record(name).state, live.held) == (LeaseState.ACTIVE, set())
    assert "load" in live.said[slot]
    live.wanted[slot] = "rotate"
    lab.serve()
    assert (live.held, live.said, lab.engine.machine.slots[slot].module) == ({slot}, {}, "rotate")


def test_a_board_that_lost_its_memory_ends_what_was_active_and_keeps_the_queue() -> None:
    lab = Lab()
    name, third, waiting = lab.ask("ada"), lab.ask("bob"), lab.ask("ada")
    lab.serve()
    lab.board = model_board()
    lab.begin()
    lab.serve()
    assert state_of(lab, name) == (LeaseState.ENDED, "board-lost")
    assert state_of(lab, third) == (LeaseState.ENDED, "board-lost")
    assert lab.record(waiting).state is LeaseState.ACTIVE
    assert lab.live(waiting).held == {*lab.record(waiting).slots}


def test_a_tenant_that_is_removed_holds_nothing_any_more() -> None:
    lab = Lab()
    name = lab.ask("ada")
    lab.serve()
    lab.store.removal.begin("ada")
    lab.serve()
    assert state_of(lab, name) == (LeaseState.ENDED, "tenant-removed")
    for _ in lab.store.removal.steps("ada"):
        pass
    assert lab.store.leases.all("ada") == ()


def test_jobs_that_thrash_the_port_do_not_keep_it_from_a_holder() -> None:
    lab = Lab()
    for salt in range(12):
        lab.engine.intake.accept(request(lab.store, salt=salt))
    for _ in range(5):
        lab.engine.step(1e-4)
    name = lab.ask("ada")
    for _ in range(400):
        lab.engine.leases.look_now()
        lab.engine.step(1e-4)
        if lab.record(name).state is LeaseState.ACTIVE and lab.live(name).held:
            break
    assert any(job.state is not JobState.SUCCEEDED for job in lab.store.lists.page("alice", None, limit=50))
    assert lab.live(name).held
