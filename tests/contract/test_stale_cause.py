# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A fault says what happened now, not what happened before: every misbehaviour after every other, in one slot.

The order of the misbehaviours is a cycle of de Bruijn (1946): every ordered pair, and every pair of equals, comes in it
exactly once, so one board that is loaded once a step sees them all.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.fake_fabric import MARK
from contract.harness import Harness, marking, opened
from eddy.board.port.port import Access, Buffer, Cause, EventKind, SlotPhase

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

LOADS = {
    "fails": Cause.CONFIGURATION_ERROR,
    "dead": Cause.IDENTITY_MISMATCH,
    "wrong-identity": Cause.IDENTITY_MISMATCH,
}
"""What goes wrong while a slot is loaded."""
ITEMS = {
    "sound": Cause.NONE,
    "hang": Cause.TIME_LIMIT,
    "silent": Cause.CONTROL_TIMEOUT,
    "flood": Cause.TIME_LIMIT,
    "read-outside": Cause.READ_OUTSIDE_WINDOW,
    "write-outside": Cause.WRITE_OUTSIDE_WINDOW,
    "stall-write": Cause.WRITE_STALLED,
    "stall-response": Cause.RESPONSE_STALLED,
    "illegal-burst": Cause.ILLEGAL_BURST,
    "interrupt": Cause.TIME_LIMIT,
    "flood-write": Cause.TIME_LIMIT,
    "dribble-write": Cause.TIME_LIMIT,
}
"""What goes wrong with an item."""
OUTSIDE = ("read-outside", "write-outside")
LIMIT_S = 2e-4


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    with opened("rtl", tmp_path) as harness:
        yield harness


def all_pairs(names: list[str]) -> list[str]:
    """A closed walk over the names that takes every ordered pair once, the name after itself included."""
    # Hierholzer: walk on along steps not yet taken, and put detours in where the walk is stuck.
    left = {name: list(names) for name in names}
    stack, walk = [names[0]], []
    while stack:
        steps = left[stack[-1]]
        if steps:
            stack.append(steps.pop())
        else:
            walk.append(stack.pop())
    return walk[::-1]


def test_the_walk_takes_every_pair_once() -> None:
    walk = all_pairs(["a", "b", "c"])
    assert sorted(itertools.pairwise(walk)) == [(x, y) for x in "abc" for y in "abc"]


def run_item(harness: Harness, mine: Buffer, other: Buffer, name: str) -> None:
    """Launch on slot 0 what the next module does, and check how it ended."""
    board = harness.board
    # What the item is granted is `mine`, wherever it is told to go.
    launch = marking(other if name in OUTSIDE else mine, name, LIMIT_S, Access.READ_WRITE)
    board.launch(0, dataclasses.replace(launch, grants=marking(mine, access=Access.READ_WRITE).grants))
    event = harness.next_event()
    assert (event.kind, event.cause) == (
        EventKind.ITEM_DONE if name == "sound" else EventKind.ITEM_FAILED,
        ITEMS[name],
    ), event.detail
    assert board.state().slots[0].phase is (SlotPhase.IDLE if name == "sound" else SlotPhase.FAULTED)


def test_each_misbehaviour_is_named_whatever_came_before(harness: Harness) -> None:
    board = harness.board
    mine, other = board.allocate(8192, "mine"), board.allocate(4096, "other")
    before = "nothing"
    for name in all_pairs([*ITEMS, *LOADS]):
        try:
            event = harness.load(0, name)
            if name in LOADS:
                assert (event.kind, event.cause) == (EventKind.CONFIGURATION_FAILED, LOADS[name]), event.detail
            else:
                assert (event.kind, event.cause) == (EventKind.CONFIGURED, Cause.NONE), event.detail
                run_item(harness, mine, other, name)
        except Exception as error:
            raise AssertionError(f"{name} after {before}: {error}") from error
        before = name
    # Neither has anybody written where nothing was granted, nor has the last one left anything behind.
    assert board.read(other.id, 0, 4096) == bytes(4096)
    assert board.wait(board.now_s()) == ()
    harness.load(0)
    harness.launch(mine)
    assert harness.next_event().kind is EventKind.ITEM_DONE
    assert board.read(mine.id, 0, 8) == MARK
