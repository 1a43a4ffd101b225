# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Loads and items: what every board does, whatever it is."""

from __future__ import annotations

import pytest
from contract.fake_fabric import MARK
from contract.harness import Harness, marking
from eddy.board.port import wire
from eddy.board.port.port import Access, Cause, EventKind, Grant, Launch, SlotPhase
from eddy.board.remote.socket import SocketBoard
from eddy.core.errors import Conflict, ImageRefused, NotFound

CLOSED = (SlotPhase.EMPTY, SlotPhase.FAULTED)


def test_description_matches_slots_and_images(harness: Harness) -> None:
    board = harness.board.describe()
    assert [slot.index for slot in board.slots] == [0, 1]
    assert board.profile in ("tiny", "tiny_pcap")
    assert board.arena_bytes > 0
    assert board.configuration_bytes_per_s > 0
    images = harness.board.images()
    assert {image.slot for image in images} == {0, 1}
    for image in images:
        assert image.shell == board.shell
        assert image.bytes == board.slots[image.slot].image_bytes


def test_starts_with_every_slot_closed_and_nothing_allocated(harness: Harness) -> None:
    state = harness.board.state()
    assert [slot.phase for slot in state.slots] == [SlotPhase.EMPTY, SlotPhase.EMPTY]
    assert state.buffers == ()
    assert state.next_seq == harness.first_seq


def test_load_ends_in_an_event_and_an_idle_slot(harness: Harness) -> None:
    image = harness.image(0).sha256
    harness.misload(0, "sound")
    harness.board.load(0, image)
    assert harness.board.state().slots[0].phase is SlotPhase.LOADING
    event = harness.next_event()
    assert (event.kind, event.slot, event.image, event.cause) == (EventKind.CONFIGURED, 0, image, Cause.NONE)
    assert 0 <= event.started_s < event.at_s <= harness.board.now_s()
    slot = harness.board.state().slots[0]
    assert (slot.phase, slot.image) == (SlotPhase.IDLE, image)


def test_load_takes_at_least_the_port_time(harness: Harness) -> None:
    event = harness.load()
    board = harness.board.describe()
    assert event.at_s - event.started_s >= board.slots[0].image_bytes / board.configuration_bytes_per_s


def test_one_load_at_a_time(still_harness: Harness) -> None:
    still_harness.misload(0, "sound")
    still_harness.board.load(0, still_harness.image(0).sha256)
    with pytest.raises(Conflict):
        still_harness.board.load(1, still_harness.image(1).sha256)
    with pytest.raises(Conflict):
        still_harness.board.load(0, still_harness.image(0).sha256)
    assert still_harness.next_event().kind is EventKind.CONFIGURED


def test_image_of_another_slot_is_refused_untouched(harness: Harness) -> None:
    harness.load(0)
    with pytest.raises(ImageRefused, match="slot"):
        harness.board.load(0, harness.image(1).sha256)
    assert harness.board.state().slots[0].phase is SlotPhase.IDLE


def test_unknown_image_is_refused(harness: Harness) -> None:
    with pytest.raises(ImageRefused):
        harness.board.load(0, "0" * 64)


def test_no_such_slot(harness: Harness) -> None:
    for call in (
        lambda: harness.board.load(7, harness.image(0).sha256),
        lambda: harness.board.launch(7, Launch("x", (), (), 1.0)),
        lambda: harness.board.stop(7),
        lambda: harness.board.close(-1),
        lambda: harness.board.counters(7),
    ):
        with pytest.raises(NotFound):
            call()


def test_prefetch_is_a_hint(harness: Harness) -> None:
    harness.board.prefetch("0" * 64)
    harness.board.prefetch(harness.image(1).sha256)
    assert harness.load(1).kind is EventKind.CONFIGURED


@pytest.mark.parametrize("behaviour", ["fails", "wrong-identity"])
def test_failed_load_leaves_the_slot_closed_and_loadable(harness: Harness, behaviour: str) -> None:
    event = harness.load(0, behaviour)
    assert event.kind is EventKind.CONFIGURATION_FAILED
    assert event.cause in (Cause.CONFIGURATION_ERROR, Cause.IDENTITY_MISMATCH)
    assert event.detail
    assert harness.board.state().slots[0].phase in CLOSED
    with pytest.raises(Conflict):
        harness.board.launch(0, Launch("x", (), (), 1.0))
    assert harness.load(0).kind is EventKind.CONFIGURED


def test_item_runs_and_its_result_is_read_back(still_harness: Harness) -> None:
    still_harness.load(1)
    buffer = still_harness.board.allocate(4096, "job")
    still_harness.board.write(buffer.id, 0, bytes(range(64)))
    still_harness.launch(buffer, "first", slot=1)
    state = still_harness.board.state().slots[1]
    assert (state.phase, state.item) == (SlotPhase.RUNNING, "first")
    event = still_harness.next_event()
    assert (event.kind, event.slot, event.item, event.cause) == (EventKind.ITEM_DONE, 1, "first", Cause.NONE)
    assert event.started_s < event.at_s
    assert still_harness.board.read(buffer.id, 0, 64) == MARK + bytes(range(8, 64))
    assert still_harness.board.state().slots[1].phase is SlotPhase.IDLE


def test_items_follow_each_other_with_other_buffers(harness: Harness) -> None:
    harness.load()
    first, second = harness.board.allocate(8, "job"), harness.board.allocate(8, "job")
    for buffer, item in ((first, "a"), (second, "b"), (first, "c")):
        harness.launch(buffer, item)
        event = harness.next_event()
        assert (event.kind, event.item) == (EventKind.ITEM_DONE, item)
    assert harness.board.read(second.id, 0, 8) == MARK


def test_launch_needs_an_idle_slot(still_harness: Harness) -> None:
    buffer = still_harness.board.allocate(8, "job")
    with pytest.raises(Conflict):
        still_harness.board.launch(0, marking(buffer))
    still_harness.load(0, "hang")
    still_harness.launch(buffer)
    with pytest.raises(Conflict):
        still_harness.board.launch(0, marking(buffer, "second"))
    with pytest.raises(Conflict):
        still_harness.board.load(0, still_harness.image(0).sha256)


def test_launch_with_a_buffer_that_is_not_there(harness: Harness) -> None:
    harness.load()
    with pytest.raises(NotFound):
        harness.board.launch(0, Launch("x", (), (Grant(99, Access.READ),), 1.0))
    assert harness.board.state().slots[0].phase is SlotPhase.IDLE


def test_time_limit_is_board_time_and_closes_the_slot(still_harness: Harness) -> None:
    still_harness.load(0, "hang")
    still_harness.launch(still_harness.board.allocate(8, "job"), limit_s=2e-4)
    started_s = still_harness.board.now_s()
    event = still_harness.next_event()
    assert (event.kind, event.cause, event.item) == (EventKind.ITEM_FAILED, Cause.TIME_LIMIT, "item")
    assert 2e-4 * 0.9 <= event.at_s - started_s <= 2e-4 + 2e-3
    assert event.detail
    assert still_harness.board.state().slots[0].phase is SlotPhase.FAULTED
    assert still_harness.load(0).kind is EventKind.CONFIGURED


def test_fault_ends_the_item_with_its_cause(harness: Harness) -> None:
    harness.load(0, "write-outside")
    buffer = harness.board.allocate(8, "job")
    harness.before_item(0, "item")
    # The module writes to an address nobody granted.
    outside = Launch("item", ((0x10, 0x100_0000 + 0x70_0000), (0x14, 0)), (Grant(buffer.id, Access.WRITE),), 1e-3)
    harness.board.launch(0, outside)
    event = harness.next_event()
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.WRITE_OUTSIDE_WINDOW)
    assert event.detail
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED
    assert harness.board.read(buffer.id, 0, 8) == bytes(8)


def test_stop_ends_the_item_and_closes_the_slot(harness: Harness) -> None:
    harness.load(0, "hang")
    harness.launch(harness.board.allocate(8, "job"), limit_s=1.0)
    harness.board.stop(0)
    event = harness.next_event()
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.STOPPED)
    assert harness.board.state().slots[0].phase in CLOSED
    harness.board.stop(0)
    assert harness.board.wait(harness.board.now_s()) == ()


def test_close_needs_a_new_load(harness: Harness) -> None:
    harness.load()
    harness.board.close(0)
    assert harness.board.state().slots[0].phase is SlotPhase.EMPTY
    with pytest.raises(Conflict):
        harness.board.launch(0, Launch("x", (), (), 1.0))
    assert harness.load().kind is EventKind.CONFIGURED


def test_close_stops_what_runs(harness: Harness) -> None:
    harness.load(0, "hang")
    harness.launch(harness.board.allocate(8, "job"), limit_s=1.0)
    harness.board.close(0)
    assert harness.next_event().cause is Cause.STOPPED
    assert harness.board.state().slots[0].phase is SlotPhase.EMPTY


def test_close_refuses_a_slot_that_is_being_loaded(harness: Harness) -> None:
    harness.misload(0, "sound")
    harness.board.load(0, harness.image(0).sha256)
    with pytest.raises(Conflict):
        harness.board.close(0)
    assert harness.next_event().kind is EventKind.CONFIGURED


def test_slots_run_side_by_side(still_harness: Harness) -> None:
    still_harness.load(0, "hang")
    still_harness.load(1)
    stuck, good = still_harness.board.allocate(8, "a"), still_harness.board.allocate(8, "b")
    still_harness.launch(stuck, "stuck", slot=0, limit_s=0.05)
    still_harness.launch(good, "good", slot=1)
    assert still_harness.next_event().item == "good"
    assert still_harness.board.state().slots[0].item == "stuck"
    assert still_harness.next_event().cause is Cause.TIME_LIMIT


def test_counters_count_since_the_load(harness: Harness) -> None:
    harness.load()
    before = harness.board.counters(0)
    assert (before.slot, before.context, before.write_bytes) == (0, None, 0)
    harness.launch(harness.board.allocate(8, "job"))
    harness.next_event()
    after = harness.board.counters(0)
    assert after.write_bytes >= 8
    assert after.write_requests >= 1
    harness.load()
    assert harness.board.counters(0).write_bytes == 0


def test_release_closes_every_slot_or_hangs_up(harness: Harness) -> None:
    harness.load(0, "hang")
    harness.launch(harness.board.allocate(8, "job"), "stuck", limit_s=1e6)
    harness.misload(1, "sound")
    harness.board.load(1, harness.image(1).sha256)
    harness.board.release()
    harness.board.release()
    phases = [slot.phase for slot in harness.board.state().slots]
    if isinstance(harness.board, SocketBoard):
        assert phases[0] is SlotPhase.RUNNING, "a client that leaves stops nobody's items"
        assert "release" not in wire.calls(), "nor may one ask for it"
    else:
        assert set(phases) <= set(CLOSED)
