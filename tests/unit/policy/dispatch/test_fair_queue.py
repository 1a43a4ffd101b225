# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Weighted fair queueing between tenants as values: who comes next, and by how much anybody can be behind."""

from __future__ import annotations

import heapq

import pytest
from eddy.policy.dispatch.sharing.fair_queue import FairQueue
from hypothesis import given, settings
from hypothesis import strategies as st

QUANTUM_S = 0.02


def served(queue: FairQueue, tenant: str) -> float:
    return queue.place(tenant, 0, QUANTUM_S, 1.0)


def test_slot_seconds_count_by_weight() -> None:
    queue = FairQueue().enter(["a", "b"]).charge({"a": 3.0, "b": 3.0}, {"b": 3.0})
    assert (served(queue, "a"), served(queue, "b")) == (3.0, 1.0)
    assert queue.place("a", 2, QUANTUM_S, 4.0) == pytest.approx(3.0 + 2 * QUANTUM_S / 4.0)


def test_who_comes_is_owed_nothing_and_who_was_ahead_stays_ahead() -> None:
    queue = FairQueue().enter(["a", "b"]).charge({"a": 5.0, "b": 9.0}, {}).raise_level(["a", "b"], ["a", "b"])
    assert queue.level_s == 5.0
    queue = queue.enter(["a", "c"])
    assert served(queue, "c") == 5.0, "it begins where the last are"
    assert served(queue.enter(["a", "b", "c"]), "b") == 9.0, "to go and come back clears no account"
    queue = queue.charge({"a": 6.0, "c": 6.0}, {}).raise_level(["a", "c"], ["a", "c"]).enter(["a", "c"])
    assert "b" not in queue.served_s, "the others are as far: nothing is kept of who is away"
    assert served(queue.enter(["a", "b", "c"]), "b") == 11.0


def test_who_wants_no_more_is_owed_nothing() -> None:
    """One that holds a single slot for hours, and wants no second one, does not let newcomers in before the others."""
    queue = FairQueue().enter(["a", "b"]).charge({"a": 1.0, "b": 50.0}, {}).raise_level(["a", "b"], ["b"])
    assert (queue.level_s, served(queue, "a")) == (50.0, 50.0)
    assert served(queue.enter(["a", "b", "c"]), "c") == 50.0


def test_with_nobody_there_all_is_even() -> None:
    assert FairQueue().enter(["a"]).charge({"a": 4.0}, {}).enter([]) == FairQueue()


tenants = st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=2, max_size=5)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(tenants, st.integers(1, 6), st.lists(st.floats(1e-3, 0.2), min_size=3, max_size=9), st.integers(0, 4))
def test_nobody_who_wants_more_is_behind_by_more_than_an_item_and_a_quantum_on_each_slot(
    weights: list[float], slots: int, items_s: list[float], late: int
) -> None:
    """Slots are given back after items of many lengths, and go to who stands first; one tenant comes late."""
    by_name = {f"t{i}": weight for i, weight in enumerate(weights)}
    present = [name for name in by_name if name != "t0"] if late else list(by_name)
    queue, holders, now_s, given = FairQueue().enter(present), dict[int, str](), 0.0, 0
    ends: list[tuple[float, int]] = []
    for turn in range(400):
        if late and turn == 60 * late:
            present = list(by_name)
            queue = queue.enter(present)
        for slot in range(slots):
            if slot not in holders:
                held = {name: list(holders.values()).count(name) for name in present}
                name = min(present, key=lambda each: (queue.place(each, held[each], QUANTUM_S, by_name[each]), each))
                holders[slot] = name
                # Whoever has a heavier weight has longer items here: the time is what is shared, not their number.
                heapq.heappush(ends, (now_s + items_s[given % len(items_s)] * by_name[name], slot))
                given += 1
        assert len(holders) == slots, "no slot is idle while somebody waits"
        at_s, slot = heapq.heappop(ends)
        used_s = {name: list(holders.values()).count(name) * (at_s - now_s) for name in present}
        queue, now_s = queue.charge(used_s, by_name).raise_level(present, present), at_s
        del holders[slot]
        bound_s = slots * (max(items_s) * max(weights) + QUANTUM_S) / min(weights)
        places = [served(queue, name) for name in present]
        assert max(places) - min(places) <= bound_s + 1e-9
        assert queue.level_s == pytest.approx(min(places))
