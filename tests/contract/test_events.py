# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Events and time: numbered, kept until acknowledged, found again by a new caller."""

from __future__ import annotations

import itertools

import pytest
from contract.harness import Harness
from eddy.board.port.port import EventKind, SlotPhase


def test_waiting_lets_board_time_pass_and_no_more(still_harness: Harness) -> None:
    start_s = still_harness.board.now_s()
    assert still_harness.board.wait(start_s + 0.001) == ()
    now_s = still_harness.board.now_s()
    assert start_s + 0.001 <= now_s < start_s + 0.0011
    assert still_harness.board.wait(start_s) == ()
    assert still_harness.board.now_s() == pytest.approx(now_s, abs=1e-6)


def test_events_are_kept_until_acknowledged(harness: Harness) -> None:
    harness.misload(0, "sound")
    harness.board.load(0, harness.image(0).sha256)
    first = harness.board.wait(harness.board.now_s() + 1.0)
    assert [event.seq for event in first] == [harness.first_seq]
    assert harness.board.wait(0.0) == first
    assert harness.board.wait(harness.board.now_s() + 1.0) == first, "returns at once while something is kept"
    assert harness.board.wait(0.0, acknowledge=harness.first_seq) == ()
    assert harness.board.wait(0.0) == ()


def test_sequence_numbers_grow_by_one(harness: Harness) -> None:
    harness.load(0)
    buffer = harness.board.allocate(8, "job")
    for item in ("a", "b", "c"):
        harness.launch(buffer, item)
        harness.next_event()
    harness.load(1)
    assert [event.seq - harness.first_seq for event in harness.seen] == list(range(5))
    assert all(a.at_s <= b.at_s for a, b in itertools.pairwise(harness.seen))
    assert harness.board.state().next_seq == harness.first_seq + 5


def test_acknowledging_one_keeps_the_later_ones(harness: Harness) -> None:
    harness.load(0)
    harness.load(1)
    a, b = harness.board.allocate(8, "job"), harness.board.allocate(8, "job")
    harness.launch(a, "a", slot=0)
    harness.board.wait(harness.board.now_s() + 1.0)
    harness.launch(b, "b", slot=1)
    while harness.board.state().slots[1].phase is SlotPhase.RUNNING:
        seq = harness.board.wait(0.0)[0].seq
        if len(harness.board.wait(harness.board.now_s() + 1e-3)) == 1:
            # A board whose time stands still while events are kept needs the first one taken away.
            harness.board.wait(harness.board.now_s() + 1e-3, acknowledge=seq)
    kept = harness.board.wait(0.0)
    assert kept[-1].item == "b"


def test_a_new_caller_finds_what_runs_and_what_ended(harness: Harness) -> None:
    harness.load(0)
    buffer = harness.board.allocate(8, "job-7")
    harness.launch(buffer, "item-7", limit_s=1.0)
    before = harness.board.state()
    board = harness.reconnect()
    after = board.state()
    assert after.buffers == before.buffers
    assert after.buffers[0].owner == "job-7"
    assert after.slots[0].image == before.slots[0].image
    events = board.wait(board.now_s() + 1.0)
    seen = [(event.kind, event.item, event.seq - harness.first_seq) for event in events]
    assert seen == [(EventKind.ITEM_DONE, "item-7", 1)]
    assert board.wait(0.0) == events, "not acknowledged by having been sent"


def test_the_same_calls_take_the_same_board_time(still_harness: Harness) -> None:
    still_harness.load(0)
    buffer = still_harness.board.allocate(8, "job")
    took = []
    for item in ("a", "b"):
        still_harness.launch(buffer, item)
        event = still_harness.next_event()
        took.append(event.at_s - event.started_s)
    assert took[0] == pytest.approx(took[1], rel=0.25)
