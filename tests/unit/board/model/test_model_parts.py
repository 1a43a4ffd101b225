# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The parts of the `model` board, each by itself."""

from __future__ import annotations

from eddy.board.model.model import Agenda
from eddy.board.model.model_slot import BURST_BYTES, ModelSlot, charge
from eddy.board.port.port import SlotPhase
from eddy.core.counters import ContextCounters


def test_ends_come_in_order_of_time_then_as_they_were_planned() -> None:
    agenda = Agenda()
    assert agenda.next_s() is None
    late, early, same = agenda.plan(2.0, 0), agenda.plan(1.0, 1), agenda.plan(1.0, 0)
    assert len({late, early, same}) == 3
    assert agenda.next_s() == 1.0
    assert list(agenda.take_due(1.5)) == [(1.0, early, 1), (1.0, same, 0)]
    assert list(agenda.take_due(1.5)) == []
    assert agenda.next_s() == 2.0


def test_what_is_planned_meanwhile_is_due_too() -> None:
    agenda, seen = Agenda(), list[float]()
    agenda.plan(1.0, 0)
    for at_s, _, slot in agenda.take_due(3.0):
        seen.append(at_s)
        agenda.plan(at_s + 1.0, slot)
    assert seen == [1.0, 2.0, 3.0]
    assert agenda.next_s() == 4.0


def test_a_slot_counts_requests_that_are_not_full_and_from_its_load_on() -> None:
    slot = ModelSlot()
    assert slot.counters(0, None, 1.0, 1e8).cycles == 0, "nothing is in it"
    slot.enter(SlotPhase.IDLE, 1.0, "image")
    slot.count_from(1.0)
    slot.read_bytes, slot.write_bytes = BURST_BYTES + 1, BURST_BYTES
    found = slot.counters(3, 2, 1.5, 1e8)
    assert (found.slot, found.context, found.cycles) == (3, 2, 50_000_000)
    assert (found.read_requests, found.write_requests) == (2, 1)
    slot.count_from(1.5)
    assert slot.counters(3, 2, 1.5, 1e8).read_bytes == 0


def test_a_slot_that_enters_a_phase_has_no_load_and_what_nobody_did_is_on_no_account() -> None:
    slot = ModelSlot(load=7)
    slot.enter(SlotPhase.FAULTED, 2.0)
    shown = slot.shown(4)
    assert (slot.load, shown.index, shown.phase, shown.image, shown.since_s) == (-1, 4, SlotPhase.FAULTED, "", 2.0)
    accounts: dict[str, ContextCounters] = {}
    charge(accounts, "", ContextCounters())
    assert accounts == {}
    charge(accounts, "ada", ContextCounters())
    assert accounts == {"ada": ContextCounters()}
