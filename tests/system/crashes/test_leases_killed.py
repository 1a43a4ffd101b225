# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The server dies between any two effects while a slot is leased, driven and released: it is found again or closed."""

from __future__ import annotations

import pytest
from eddy.board.model.model import ModelBoard
from eddy.board.port.port import RegisterAccess, SlotPhase
from eddy.core.leases import LeaseOptions, LeaseRules, LeaseState
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.engine import lease_keeper
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.leases.lease import item_of
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.store import Store
from hypervisor_kit import CHAIN, KEY, MODULES, model_board, request
from system.crashes.test_hypervisor_crash import Killed, Killer, MortalEffects

ASKED = LeaseOptions(lasts_s=3600.0, module="flip", memory_bytes=4096)


@pytest.fixture(autouse=True)
def _no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeper, "MIN_PACE_S", 1e-6)


class Holder:
    """What a person does: asks, writes a register, and releases; again where it is not known whether it was heard."""

    def __init__(self, store: Store, board: ModelBoard) -> None:
        self.store, self.board = store, board
        self.wrote = False

    def act(self, engine: Engine) -> bool:
        """Go on as far as is possible now; answers whether all is over."""
        known = self.store.leases.all("ada")
        if not known:
            engine.leases.open("ada", ASKED, 1)
            return False
        record = known[0]
        live = next((each for each in engine.leases.live if each.record.id == record.id), None)
        if record.state is LeaseState.ACTIVE and live is not None and live.held:
            slot = record.slots[0]
            if self.wrote:
                engine.leases.release(record.id, "released")
            else:
                self.board.access(slot, item_of(record, slot), (RegisterAccess(0x10, 5),))
                self.wrote = True
        return record.state.is_final


def engine_over(board: object, store: object) -> Engine:
    made = Engine(
        board,  # type: ignore[arg-type]
        FirstComeFirstServed(),
        store,  # type: ignore[arg-type]
        {CHAIN.name: CHAIN},
        MODULES,
        {("chain", "key"): KEY},
        lease_rules=LeaseRules(part=0.7),
    )
    made.start()
    return made


def run(killer: Killer, board: ModelBoard, store: Store, holder: Holder) -> int:
    """Serve to the end, by another engine after a death; answers the number of deaths."""
    for deaths in range(2):
        try:
            engine = engine_over(MortalEffects(board, killer), MortalEffects(store, killer))
            for _ in range(300):
                engine.leases.look_now()
                engine.step(1e-3)
                if holder.act(engine) and engine.is_idle:
                    return deaths
        except Killed:
            continue
        raise AssertionError(f"it does not come to an end: {store.leases.all()}, {board.state()}")
    raise AssertionError("it died more than once")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_death_between_any_two_effects_leaves_no_slot_open(after: bool) -> None:
    at, deaths = 0, 1
    while deaths:
        store, board = Store(":memory:"), model_board()
        store.tenants.put(TenantRecord("ada"))
        store.tenants.put(TenantRecord("alice"))
        job = engine_over(board, store).intake.accept(request(store))
        holder = Holder(store, board)
        deaths = run(Killer(at, after), board, store, holder)
        (record,) = store.leases.all("ada")
        assert (record.state, record.cause) == (LeaseState.ENDED, "released"), at
        assert holder.wrote
        assert not [slot for slot in board.state().slots if slot.phase is SlotPhase.RUNNING], at
        assert board.state().buffers == (), at
        assert store.jobs.get("alice", job.id).state.is_final
        store.close()
        at += 2
    assert at > 20
