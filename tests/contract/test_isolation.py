# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Modules that misbehave on the RTL: each ends as a failure with a cause in bounded time, and harms no other slot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.fake_fabric import MARK
from contract.harness import Harness, marking, opened
from eddy.board.overlay import memory_bytes_per_cycle
from eddy.board.port.port import Access, Cause, EventKind, SlotPhase
from eddy.board.port.profile import load_profile
from eddy.core.errors import Conflict

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]
TINY = load_profile("tiny")


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    with opened("rtl", tmp_path) as harness:
        yield harness


@pytest.mark.parametrize(
    ("behaviour", "causes"),
    [
        ("hang", {Cause.TIME_LIMIT}),
        ("silent", {Cause.TIME_LIMIT, Cause.CONTROL_TIMEOUT}),
        ("flood", {Cause.TIME_LIMIT}),
        ("read-outside", {Cause.READ_OUTSIDE_WINDOW}),
        ("write-outside", {Cause.WRITE_OUTSIDE_WINDOW}),
        ("stall-write", {Cause.WRITE_STALLED}),
        ("stall-response", {Cause.RESPONSE_STALLED}),
        ("illegal-burst", {Cause.ILLEGAL_BURST}),
        ("interrupt", {Cause.TIME_LIMIT}),
    ],
)
def test_misbehaviour_is_ended_named_and_contained(harness: Harness, behaviour: str, causes: set[Cause]) -> None:
    board = harness.board
    harness.load(0, behaviour)
    harness.load(1)
    mine, other = board.allocate(8192, "bad"), board.allocate(8, "good")
    target = mine
    if behaviour in ("read-outside", "write-outside"):
        target = other
    launch = marking(target, "bad", 1e-3, Access.READ_WRITE)
    launch = type(launch)("bad", launch.registers, marking(mine, access=Access.READ_WRITE).grants, 1e-3)
    board.launch(0, launch)
    harness.launch(other, "good", slot=1)
    events = {event.item: event for event in (harness.next_event(), harness.next_event())}
    assert events["good"].kind is EventKind.ITEM_DONE
    assert board.read(other.id, 0, 8) == MARK
    bad = events["bad"]
    assert bad.kind is EventKind.ITEM_FAILED
    assert bad.cause in causes, bad.detail
    if behaviour in ("read-outside", "write-outside", "stall-write", "stall-response"):
        assert f"at address {target.address:#x}, context 0" in bad.detail
    elif behaviour == "silent":
        assert "register offset 0x" in bad.detail or bad.cause is Cause.TIME_LIMIT
    assert bad.detail
    assert bad.at_s - bad.started_s < 1e-3 + 5e-4
    assert board.state().slots[0].phase is SlotPhase.FAULTED
    # The slot serves again after a load, and the other one never stopped.
    assert harness.load(0).kind is EventKind.CONFIGURED
    for slot in (0, 1):
        harness.launch(other, f"after-{slot}", slot=slot)
        assert harness.next_event().kind is EventKind.ITEM_DONE


def test_a_flooding_module_is_held_to_its_share(harness: Harness) -> None:
    board = harness.board
    harness.load(0, "flood")
    buffer = board.allocate(8192, "bad")
    board.launch(0, marking(buffer, "flood", 2e-3, Access.READ))
    event = harness.next_event()
    cycles = (event.at_s - event.started_s) * TINY.shell_hz
    allowed = TINY.memory_share * memory_bytes_per_cycle(TINY) * cycles
    taken = board.counters(0).read_bytes
    assert 0.5 * allowed < taken <= allowed + 2 * 4096


def test_a_dead_module_is_not_taken_for_a_loaded_one(harness: Harness) -> None:
    event = harness.load(0, "dead")
    assert (event.kind, event.cause) == (EventKind.CONFIGURATION_FAILED, Cause.IDENTITY_MISMATCH)
    assert harness.load(0).kind is EventKind.CONFIGURED


def test_a_module_that_misbehaves_between_items_is_named_at_the_next_launch(harness: Harness) -> None:
    board = harness.board
    harness.load(0, "late-outside")
    buffer = board.allocate(8, "job")
    harness.launch(buffer)
    assert harness.next_event().kind is EventKind.ITEM_DONE
    # There is no item to say it of; the slot is closed all the same.
    assert board.wait(board.now_s() + 1e-4) == ()
    assert board.state().slots[0].phase is SlotPhase.FAULTED
    with pytest.raises(Conflict, match="write-outside-window") as refused:
        harness.launch(buffer, "next")
    assert refused.value.details["cause"] == Cause.WRITE_OUTSIDE_WINDOW.value
    # A load mends it, and nothing is left of the old cause.
    assert harness.load(0).kind is EventKind.CONFIGURED
    board.close(0)
    with pytest.raises(Conflict, match="not idle") as refused:
        harness.launch(buffer, "closed")
    assert "cause" not in refused.value.details
    assert harness.load(0).kind is EventKind.CONFIGURED
    harness.launch(buffer, "last")
    assert harness.next_event().kind is EventKind.ITEM_DONE
