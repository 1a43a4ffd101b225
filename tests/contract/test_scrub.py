# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A module passes from one tenant to another without a load: what every board does, whatever it is."""

from __future__ import annotations

import pytest
from contract.fake_fabric import MARK
from contract.harness import Harness, marking
from eddy.board.port.port import Cause, EventKind, SlotPhase
from eddy.core.errors import Conflict, EddyError, ImageRefused


def load(harness: Harness, slot: int = 0, scrubs: bool = True) -> str:
    """Load a module that a reset scrubs, or one of which nobody knows."""
    image = harness.scrubbed_image(slot, scrubs)
    harness.misload(slot, "sound")
    harness.board.load(slot, image.sha256)
    assert harness.next_event().kind is EventKind.CONFIGURED
    return image.sha256


def test_a_scrub_ends_in_an_event_and_an_idle_slot_sooner_than_a_load(harness: Harness) -> None:
    image = load(harness)
    loaded = harness.seen[-1]
    harness.board.scrub(0)
    event = harness.next_event()
    assert (event.kind, event.slot, event.image, event.cause) == (EventKind.CONFIGURED, 0, image, Cause.NONE)
    assert loaded.at_s <= event.started_s <= event.at_s <= harness.board.now_s()
    slot = harness.board.state().slots[0]
    assert (slot.phase, slot.image, slot.items) == (SlotPhase.IDLE, image, ())
    assert event.at_s - event.started_s < loaded.at_s - loaded.started_s


def test_counters_begin_anew(harness: Harness) -> None:
    load(harness)
    buffer = harness.board.allocate(4096, "one")
    harness.launch(buffer)
    harness.next_event()
    assert harness.board.counters(0).write_requests > 0
    harness.board.scrub(0)
    harness.next_event()
    after = harness.board.counters(0)
    assert (after.read_requests, after.write_requests, after.write_bytes) == (0, 0, 0)


def test_items_run_after_it_and_loads_go_on(harness: Harness) -> None:
    image = load(harness)
    harness.board.scrub(0)
    harness.next_event()
    load(harness, 1)
    assert harness.board.state().slots[0].image == image


def test_it_needs_no_port(harness: Harness) -> None:
    load(harness)
    harness.misload(1, "sound")
    harness.board.load(1, harness.image(1).sha256)
    harness.board.scrub(0)
    ended = [harness.next_event(), harness.next_event()]
    assert [(event.kind, event.slot) for event in ended] == [(EventKind.CONFIGURED, 0), (EventKind.CONFIGURED, 1)]


def test_what_nobody_verified_is_refused_and_left_as_it_is(harness: Harness) -> None:
    image = load(harness, scrubs=False)
    with pytest.raises(ImageRefused) as caught:
        harness.board.scrub(0)
    assert caught.value.details["reason"] == "not-scrubbed"
    slot = harness.board.state().slots[0]
    assert (slot.phase, slot.image) == (SlotPhase.IDLE, image)


def test_a_slot_that_is_not_idle_is_not_scrubbed(harness: Harness) -> None:
    with pytest.raises(Conflict):
        harness.board.scrub(0)
    harness.misload(0, "sound")
    harness.board.load(0, harness.scrubbed_image(0).sha256)
    with pytest.raises(Conflict):
        harness.board.scrub(0)
    harness.next_event()
    harness.board.close(0)
    with pytest.raises(Conflict):
        harness.board.scrub(0)
    with pytest.raises(EddyError):
        harness.board.scrub(7)


def test_an_item_that_runs_keeps_its_slot(still_harness: Harness) -> None:
    load(still_harness)
    buffer = still_harness.board.allocate(4096, "one")
    still_harness.launch(buffer)
    with pytest.raises(Conflict):
        still_harness.board.scrub(0)
    assert still_harness.next_event().kind is EventKind.ITEM_DONE
    still_harness.board.scrub(0)
    still_harness.next_event()
    still_harness.board.launch(0, marking(buffer, "again"))
    assert still_harness.next_event().kind is EventKind.ITEM_DONE
    assert still_harness.board.read(buffer.id, 0, len(MARK)) == MARK
