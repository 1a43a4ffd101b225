# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A slot that its caller drives by registers: what it can do, and what it can not."""

from __future__ import annotations

import contextlib

import pytest
from contract.fake_fabric import MARK
from contract.harness import Harness
from eddy.board.model.model import ModelBoard
from eddy.board.port.port import Access, Buffer, Cause, EventKind, Grant, Launch, RegisterAccess, SlotPhase
from eddy.core.errors import BoardFault, Conflict, InvalidRequest

LIMIT_S = 0.5
READY = (RegisterAccess(0x04, 1), RegisterAccess(0x08, 1))
START = RegisterAccess(0x00, 1)


def _hold(harness: Harness, item: str = "lease", slot: int = 0, limit_s: float = LIMIT_S) -> Buffer:
    """Hold a loaded slot, with a page granted."""
    buffer = harness.board.allocate(4096, item)
    harness.board.launch(slot, Launch(item, (), (Grant(buffer.id, Access.READ_WRITE),), limit_s, held=True))
    return buffer


def _point(address: int) -> tuple[RegisterAccess, ...]:
    return RegisterAccess(0x10, address & 0xFFFF_FFFF), RegisterAccess(0x14, address >> 32)


def test_a_caller_writes_starts_listens_and_reads(harness: Harness) -> None:
    harness.load()
    buffer = _hold(harness)
    assert harness.board.state().slots[0].item == "lease"
    harness.board.access(0, "lease", (*_point(buffer.address), *READY))
    assert harness.board.access(0, "lease", (RegisterAccess(0x10),)) == (buffer.address & 0xFFFF_FFFF,)
    harness.board.listen(0, "lease")
    assert harness.board.access(0, "lease", (START,)) == ()
    event = harness.next_event()
    assert (event.kind, event.slot, event.item) == (EventKind.INTERRUPT, 0, "lease")
    assert harness.board.read(buffer.id, 0, len(MARK)) == MARK
    assert harness.board.state().slots[0].phase is SlotPhase.RUNNING


def test_its_end_closes_the_slot_and_its_memory_is_free(harness: Harness) -> None:
    harness.load()
    buffer = _hold(harness)
    with pytest.raises(Conflict):
        harness.board.free(buffer.id)
    harness.board.stop(0, "lease")
    event = harness.next_event()
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.STOPPED)
    assert harness.board.state().slots[0].phase in (SlotPhase.EMPTY, SlotPhase.FAULTED)
    harness.board.free(buffer.id)
    for call in (lambda: harness.board.access(0, "lease", (START,)), lambda: harness.board.listen(0, "lease")):
        with pytest.raises(Conflict):
            call()


def test_none_but_its_caller_and_nothing_but_its_window(harness: Harness) -> None:
    harness.load()
    _hold(harness)
    with pytest.raises(Conflict):
        harness.board.access(0, "other", ())
    with pytest.raises(Conflict):
        harness.board.access(1, "lease", ())
    for wrong in (RegisterAccess(0x1_0000), RegisterAccess(-4), RegisterAccess(2), RegisterAccess(0x10, 1 << 32)):
        with pytest.raises(InvalidRequest):
            harness.board.access(0, "lease", (START, wrong))
    with pytest.raises(InvalidRequest):
        harness.board.access(0, "lease", (RegisterAccess(0x10),) * 257)
    assert harness.board.state().slots[0].phase is SlotPhase.RUNNING


def test_memory_of_others_is_out_of_reach(harness: Harness) -> None:
    other = harness.board.allocate(4096, "other")
    harness.load(behaviour="sound")
    _hold(harness)
    with contextlib.suppress(BoardFault):  # a board whose accesses take long knows of it before the last has ended
        harness.board.access(0, "lease", (*_point(other.address), START))
    event = harness.next_event()
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.WRITE_OUTSIDE_WINDOW)
    assert harness.board.read(other.id, 0, len(MARK)) == bytes(len(MARK))
    with pytest.raises((Conflict, BoardFault)):
        harness.board.access(0, "lease", (START,))


def test_a_caller_that_is_not_heard_of_loses_the_slot(harness: Harness) -> None:
    if isinstance(harness.board, ModelBoard):
        assert harness.board.wait(harness.board.now_s() + 1.0) == (), "virtual time leaps, and counts nobody as gone"
        return
    harness.load()
    _hold(harness, limit_s=1e-4)
    event = harness.next_event()
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.TIME_LIMIT)
    assert harness.board.state().slots[0].phase in (SlotPhase.EMPTY, SlotPhase.FAULTED)


def test_others_run_beside_it(harness: Harness) -> None:
    harness.load(0)
    harness.load(1)
    _hold(harness)
    buffer = harness.board.allocate(4096, "job")
    harness.launch(buffer, slot=1)
    assert harness.next_event().kind is EventKind.ITEM_DONE
    assert harness.board.access(0, "lease", ()) == ()
