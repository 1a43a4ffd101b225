# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who is given which slot to hold, who ends, and who is told: decisions from a view alone."""

from __future__ import annotations

from dataclasses import replace

from eddy.core.leases import LeaseKind, LeaseOptions, LeaseRecord, LeaseRules, LeaseState
from eddy.policy.lease.first_come import (
    LeasableSlot,
    LeaseDecision,
    LeaseView,
    decide_leases,
    expected_begin_s,
    queue_order,
)

NOW_S = 1000.0
SLOTS = tuple(LeasableSlot(index, index < 4, frozenset({"dct"}), free=index != 0) for index in range(5))


def lease(number: int, tenant: str, state: LeaseState = LeaseState.QUEUED, slots: tuple[int, ...] = ()) -> LeaseRecord:
    begins_s, ends_s = (NOW_S - 10, NOW_S + 90) if state is LeaseState.ACTIVE else (None, None)
    options = LeaseOptions(lasts_s=100.0)
    return LeaseRecord(number, f"l{number}", tenant, options, NOW_S - 10, state, slots, begins_s, ends_s)


def board(number: int, state: LeaseState = LeaseState.QUEUED, slots: tuple[int, ...] = ()) -> LeaseRecord:
    return replace(lease(number, "operator", state, slots), options=LeaseOptions(LeaseKind.BOARD, 100.0))


def view(*leases: LeaseRecord, slots: tuple[LeasableSlot, ...] = SLOTS, **more: object) -> LeaseView:
    return replace(LeaseView(NOW_S, slots, leases, rules=LeaseRules(50.0, 20.0, 0.5)), **more)  # type: ignore[arg-type]


def test_free_slots_first_and_never_more_than_the_part() -> None:
    found = decide_leases(view(lease(1, "ada"), lease(2, "bob"), lease(3, "eve")))
    assert found == LeaseDecision(grants={1: (1,), 2: (2,)})


def test_a_tenant_that_holds_nothing_goes_before_one_that_asks_often() -> None:
    held = lease(1, "ada", LeaseState.ACTIVE, (1,))
    waiting = (lease(2, "ada"), lease(3, "ada"), lease(4, "bob"))
    assert [each.number for each in queue_order((held, *waiting))] == [4, 2, 3]
    assert decide_leases(view(held, *waiting)).grants == {4: (2,)}


def test_only_slots_that_fit_and_are_not_drained() -> None:
    wanted = replace(lease(1, "ada"), options=LeaseOptions(module="fft"))
    slots = (*SLOTS[:3], replace(SLOTS[3], modules=frozenset({"fft"}), drained="mended"))
    assert decide_leases(view(wanted, lease(2, "bob"), slots=slots)).grants == {2: (1,)}, "who cannot does not block"


def test_time_silence_and_a_removed_tenant_end_a_lease() -> None:
    ended = replace(lease(1, "ada", LeaseState.ACTIVE, (1,)), ends_unix_s=NOW_S)
    quiet, gone = lease(2, "bob", LeaseState.ACTIVE, (2,)), lease(3, "eve")
    at_work = lease(4, "kim", LeaseState.ACTIVE, (3,))
    used = {2: NOW_S - 50.0, 4: NOW_S - 49.0}
    found = decide_leases(view(ended, quiet, gone, at_work, used_unix_s=used, removed=frozenset({"eve"})))
    assert found.ends == {1: "expired", 2: "holder-gone", 3: "tenant-removed"}
    assert decide_leases(view(replace(ended, notice="why"))).ends == {1: "notice"}


def test_an_operators_board_gives_notice_waits_and_goes_before_all() -> None:
    held, waiting, taken = lease(1, "ada", LeaseState.ACTIVE, (1,)), lease(2, "bob"), board(3)
    found = decide_leases(view(held, waiting, taken))
    assert (found.grants, [*found.notices]) == ({}, [1])
    assert found.notices[1] == (NOW_S + 20.0, "an operator takes the board")
    assert decide_leases(view(replace(held, notice="told"), waiting, taken)).notices == {}
    assert decide_leases(view(waiting, taken)).grants == {3: (0, 1, 2, 3, 4)}
    assert decide_leases(view(waiting, board(3, LeaseState.ACTIVE, (0, 1, 2, 3, 4)))).grants == {}


def test_a_drained_slot_is_told_and_the_end_is_never_later_than_asked() -> None:
    slots = (*SLOTS[:1], replace(SLOTS[1], drained="mended"), *SLOTS[2:])
    soon = replace(lease(1, "ada", LeaseState.ACTIVE, (1,)), ends_unix_s=NOW_S + 5)
    assert decide_leases(view(soon, slots=slots)).notices == {1: (NOW_S + 5, "its slot is drained")}


def test_when_one_that_waits_should_begin() -> None:
    held = lease(1, "ada", LeaseState.ACTIVE, (1,)), lease(2, "bob", LeaseState.ACTIVE, (2,))
    now = view(*held, lease(3, "eve"), lease(4, "kim"), lease(5, "lea"))
    assert [expected_begin_s(now, number) for number in (3, 4, 5)] == [NOW_S + 90, NOW_S + 90, NOW_S + 190]
    closed = tuple(replace(slot, drained="mended") for slot in SLOTS)
    assert expected_begin_s(replace(now, slots=closed), 3) is None


def test_one_slot_can_be_held_and_the_last_of_several_cannot() -> None:
    rules = LeaseRules(part=1.0)
    assert [rules.most_slots(count) for count in (0, 1, 2, 10)] == [0, 1, 1, 9]
    assert [LeaseRules(part=0.0).most_slots(count) for count in (1, 4)] == [1, 1]
