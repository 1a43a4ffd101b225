# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The PYNQ adapter's own rules, over a shell in plain Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from contract.fake_fabric import MARK, FakeFabric
from contract.harness import Harness, fabric_of, fake, marking
from eddy.board.images.images import ImageStore
from eddy.board.images.signing import Trust
from eddy.board.port.port import Access, Cause, EventKind, Grant, Launch, SlotPhase
from eddy.board.port.profile import load_profile
from eddy.board.pynq.pynq import PynqBoard
from eddy.core.errors import Conflict, InvalidRequest
from eddy.core.slots import Control


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return fake(tmp_path)


def test_slots_left_open_by_somebody_else_are_closed_first(tmp_path: Path) -> None:
    profile = load_profile("tiny")
    fabric = FakeFabric(profile)
    for slot in fabric.models:
        slot.control_open = slot.memory_open = slot.running = True
    PynqBoard(fabric, fabric.time, profile, ImageStore(tmp_path), Trust(False))
    for slot in fabric.models:
        assert [slot.control_open, slot.memory_open, slot.running] == [False] * 3


def test_a_profile_of_another_board_is_refused(tmp_path: Path) -> None:
    fabric = FakeFabric(load_profile("tiny"))
    with pytest.raises(InvalidRequest, match="2"):
        PynqBoard(fabric, fabric.time, load_profile("zcu106"), ImageStore(tmp_path), Trust(False))


@pytest.mark.parametrize("register", [(0x00, 1), (0x11, 1), (0xF000, 1), (-4, 1), (0x10, -1), (0x10, 1 << 32)])
def test_registers_that_are_no_arguments(harness: Harness, register: tuple[int, int]) -> None:
    harness.load(0)
    with pytest.raises(InvalidRequest):
        harness.board.launch(0, Launch("x", (register,), (), 1.0))
    assert harness.board.state().slots[0].phase is SlotPhase.IDLE


@pytest.mark.parametrize("limit_s", [0.0, -1.0, float("nan")])
def test_time_limits_that_are_none(harness: Harness, limit_s: float) -> None:
    harness.load(0)
    with pytest.raises(InvalidRequest):
        harness.board.launch(0, Launch("x", (), (), limit_s))


def test_item_names_are_unique_among_what_runs(harness: Harness) -> None:
    harness.load(0)
    harness.load(1)
    buffer = harness.board.allocate(8, "job")
    harness.board.launch(0, marking(buffer, "same"))
    with pytest.raises(Conflict):
        harness.board.launch(1, marking(buffer, "same"))


def test_windows_are_what_was_granted(harness: Harness) -> None:
    harness.load(0)
    one, two = harness.board.allocate(5000, "job"), harness.board.allocate(8, "job")
    grants = (Grant(one.id, Access.READ), Grant(two.id, Access.WRITE), Grant(two.id, Access.READ))
    harness.board.launch(0, Launch("x", ((0x10, two.address),), grants, 1.0))
    found = [(w.first_page, w.last_page, w.read, w.write) for w in fabric_of(harness).models[0].windows]
    assert found == [
        (one.address // 4096, one.address // 4096 + 1, True, False),
        (two.address // 4096, two.address // 4096, True, True),
    ]


def test_windows_are_written_only_when_they_change(harness: Harness) -> None:
    harness.load(0)
    slot = fabric_of(harness).models[0]
    buffer = harness.board.allocate(8, "job")
    slot.log.clear()
    for item in "ab":
        harness.launch(buffer, item)
        harness.next_event()
    assert slot.log.count("set_windows") == 1


def test_more_grants_than_windows(harness: Harness) -> None:
    harness.load(0)
    buffers = [harness.board.allocate(8, "job") for _ in range(17)]
    with pytest.raises(InvalidRequest, match="16"):
        harness.board.launch(0, Launch("x", (), tuple(Grant(b.id, Access.READ) for b in buffers), 1.0))


def test_no_such_context(harness: Harness) -> None:
    for context in (-1, 16):
        with pytest.raises(InvalidRequest):
            harness.board.counters(0, context)


def test_a_fault_beats_the_completion_that_came_with_it(harness: Harness) -> None:
    harness.load(0, "write-outside")
    buffer = harness.board.allocate(8, "job")
    harness.launch(buffer)
    event = harness.next_event()
    assert event.cause is Cause.WRITE_OUTSIDE_WINDOW
    assert "address" in event.detail


def test_a_late_interrupt_of_a_closed_slot_ends_nothing(harness: Harness) -> None:
    harness.load(0, "hang")
    harness.launch(harness.board.allocate(8, "job"), limit_s=1.0)
    harness.board.stop(0)
    harness.next_event()
    slot = fabric_of(harness).models[0]
    slot.done.level = slot.fault_line.level = True
    assert harness.board.wait(harness.board.now_s() + 1e-3) == ()


def test_waiting_for_ever_for_nothing_returns(harness: Harness) -> None:
    assert harness.board.wait(float("inf")) == ()


def test_the_last_time_limit_counts_even_if_nobody_waits_that_long(harness: Harness) -> None:
    harness.load(0, "hang")
    harness.launch(harness.board.allocate(8, "job"), limit_s=1e-3)
    assert harness.board.wait(harness.board.now_s() + 5e-4) == ()
    (event,) = harness.board.wait(harness.board.now_s() + 6e-4)
    assert event.cause is Cause.TIME_LIMIT


def made_with(harness: Harness, control: Control) -> None:
    """Let the images of the first slot say that their modules have a control protocol."""
    assert harness.folder is not None
    for path in harness.folder.glob("*__slot0.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "control": control.value}))


@pytest.mark.parametrize(("behaviour", "control"), [("sound", Control.HS), ("chain", Control.CHAIN)])
def test_items_follow_each_other_by_the_protocol_of_the_image(
    harness: Harness, behaviour: str, control: Control
) -> None:
    made_with(harness, control)
    harness.load(0, behaviour)
    buffer = harness.board.allocate(8, "job")
    for number in range(3):
        harness.board.write(buffer.id, 0, bytes(8))
        harness.launch(buffer, f"item {number}")
        event = harness.next_event()
        assert (event.item, event.cause) == (f"item {number}", Cause.NONE)
        assert harness.board.read(buffer.id, 0, len(MARK)) == MARK


def test_a_module_that_stays_done_never_passes_for_done_with_the_next_item(harness: Harness) -> None:
    """Its manifest says another protocol: the first item is right, the second fails, and nothing is granted to it."""
    harness.load(0, "chain")
    buffer = harness.board.allocate(8, "job")
    harness.launch(buffer, "first")
    assert harness.next_event().cause is Cause.NONE
    before = [entry for entry in fabric_of(harness).models[0].log if entry in ("admit", "start")]
    harness.launch(buffer, "second")
    event = harness.next_event()
    assert (event.kind, event.item, event.cause) == (EventKind.ITEM_FAILED, "second", Cause.MODULE_ERROR)
    assert "the module takes no start" in event.detail
    assert "is its control protocol hs, as its manifest says?" in event.detail
    assert [entry for entry in fabric_of(harness).models[0].log if entry in ("admit", "start")] == before
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED
    harness.load(0)
    harness.launch(buffer, "third")
    assert harness.next_event().cause is Cause.NONE


def test_no_item_is_started_on_a_module_that_never_says_done(harness: Harness) -> None:
    made_with(harness, Control.NONE)
    harness.load(0)
    with pytest.raises(InvalidRequest, match="has no control protocol"):
        harness.launch(harness.board.allocate(8, "job"))
    assert harness.board.state().slots[0].phase is SlotPhase.IDLE


def test_an_end_that_came_while_nothing_ran_ends_no_item(harness: Harness) -> None:
    """A module that says done of its own accord, before its first item."""
    harness.load(0)
    slot = fabric_of(harness).models[0]
    slot.finished_flag = slot.done.level = True
    harness.launch(harness.board.allocate(8, "job"))
    event = harness.next_event()
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.MODULE_ERROR)


def test_a_module_that_is_idle_at_its_time_limit_is_said_to_be(harness: Harness) -> None:
    harness.load(0, "hang")
    harness.launch(harness.board.allocate(8, "job"), limit_s=1e-3)
    assert "the module is idle, as if it had not been started" in harness.next_event().detail


@pytest.mark.parametrize(("status", "cause"), [(0, Cause.NONE), (7, Cause.MODULE_ERROR)])
def test_a_module_that_says_it_failed(harness: Harness, status: int, cause: Cause) -> None:
    harness.load(0)
    buffer = harness.board.allocate(8, "job")
    good = marking(buffer)
    harness.board.launch(0, Launch("x", (*good.registers, (0x20, status)), good.grants, 1.0, status=0x20))
    event = harness.next_event()
    assert event.cause is cause
    assert ("0x7" in event.detail) == (cause is not Cause.NONE)
    with pytest.raises((InvalidRequest, Conflict)):
        harness.board.launch(0, Launch("y", (), (), 1.0, status=0xF000))
