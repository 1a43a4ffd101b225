# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Memory changes hands when nothing of its last user is under way: attacked by modules that lie about being done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from contract.harness import Harness, marking, opened
from contract.lies import AFTER_S, BYTES, MODES, SECRET, Harm, PatternCounter, attack, begin, hand_on
from eddy.board.port.port import Access, Cause, EventKind, SlotPhase
from eddy_sim.boards.faults import DoneClaim, Liar, LoadFault

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("lies")]


@pytest.fixture(scope="module", params=["rtl", "socket-rtl"])
def harness(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    with opened(request.param, tmp_path_factory.mktemp("board")) as harness:
        assert harness.load(1).kind is EventKind.CONFIGURED
        yield harness


@pytest.fixture(scope="module")
def eyes() -> PatternCounter:
    return PatternCounter()


@pytest.mark.parametrize("mode", MODES)
def test_a_lie_reaches_nobody_else(harness: Harness, eyes: PatternCounter, mode: str) -> None:
    _, harm = attack(harness, MODES[mode], eyes)
    assert harm == Harm(read=0, written=0, wrong=False, same=True)


def test_the_next_item_of_the_slot_runs_with_its_own_memory_alone(harness: Harness) -> None:
    board = harness.board
    lie = Liar(reads=True, writes=True, len=15, outstanding=8, hold_w=20, when=DoneClaim.ASKED)
    harness.misload(0, LoadFault(liar=lie))
    board.load(0, harness.image(0).sha256)
    harness.next_event()
    first, second = board.allocate(BYTES, "first"), board.allocate(BYTES, "second")
    board.write(second.id, 0, SECRET * (BYTES // 8))
    board.launch(0, marking(first, "first", 5e-4, Access.READ_WRITE))
    harness.next_event()
    found = board.read(first.id, 0, BYTES)
    if board.state().slots[0].phase is SlotPhase.IDLE:
        board.launch(0, marking(second, "second", 2e-4, Access.READ))
        # It still works for the first item: outside what the second was granted.
        assert harness.next_event().kind is EventKind.ITEM_FAILED
    board.wait(board.now_s() + AFTER_S)
    assert board.read(first.id, 0, BYTES) == found, "what was read once stays"
    assert board.read(second.id, 0, BYTES) == SECRET * (BYTES // 8)
    for buffer in (first, second):
        board.free(buffer.id)


@pytest.mark.parametrize("mode", ["write-long", "write-held-long", "write-stuck", "write-paused", "both-held"])
def test_outputs_stay_as_they_were_when_the_item_was_reported_done(harness: Harness, mode: str) -> None:
    board = harness.board
    harness.misload(0, LoadFault(liar=MODES[mode]))
    board.load(0, harness.image(0).sha256)
    harness.next_event()
    mine = board.allocate(BYTES, "liar")
    board.launch(0, marking(mine, "lie", 5e-4, Access.READ_WRITE))
    harness.next_event()
    reported = board.read(mine.id, 0, BYTES)
    board.wait(board.now_s() + AFTER_S)
    assert board.read(mine.id, 0, BYTES) == reported
    board.free(mine.id)


def test_requests_still_to_come_at_the_end_fail_the_item_and_say_why(harness: Harness) -> None:
    event, harm = attack(harness, MODES["write-held-long"], PatternCounter())
    assert (event.kind, harm.written) == (EventKind.ITEM_FAILED, 0)
    assert event.cause in (Cause.MODULE_ERROR, Cause.WRITE_STALLED), event.detail
    event, _ = attack(harness, MODES["write-short-many"], PatternCounter())
    assert event.kind is EventKind.ITEM_FAILED
    assert "reported done" in event.detail


def _load(harness: Harness) -> None:
    harness.board.stop(0)
    harness.board.load(0, harness.image(0).sha256)


ENDINGS: dict[str, Callable[[Harness], object]] = {
    "stop": lambda harness: harness.board.stop(0),
    "close": lambda harness: harness.board.close(0),
    "load": _load,
    "limit": lambda harness: harness.board.wait(harness.board.now_s() + 6e-4),
}
"""How an item that does not end is ended."""
ENDLESS = (
    "read-long",
    "read-held-long",
    "read-stuck",
    "write-long",
    "write-held-near-the-bound",
    "write-stuck",
    "both-held",
)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("mode", ENDLESS)
def test_what_is_ended_in_the_middle_reaches_nobody_else(
    harness: Harness, eyes: PatternCounter, mode: str, ending: str
) -> None:
    mine = begin(harness, replace(MODES[mode], when=DoneClaim.NEVER))
    harness.board.wait(harness.board.now_s() + 2e-5)
    ENDINGS[ending](harness)
    assert hand_on(harness, mine, eyes) == Harm(read=0, written=0, wrong=False, same=True)
    # Whatever is still to be told of the liar is told before the next test.
    for event in harness.board.wait(harness.board.now_s() + 1e-4):
        harness.board.wait(0.0, event.seq)
