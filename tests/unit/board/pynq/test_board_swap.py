# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The swap: its order, and that every way it can fail leaves the slot closed."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract.fake_fabric import FakeFabric, FakeSlot
from contract.harness import Harness, fabric_of, fake
from eddy.board.port.port import Cause, EventKind, SlotPhase
from eddy.board.pynq import swap
from eddy.board.pynq.pynq import PynqBoard
from eddy.core.errors import Conflict, ImageRefused


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return fake(tmp_path)


def closed(slot: FakeSlot) -> bool:
    return slot.fenced and not (slot.control_open or slot.memory_open or slot.running)


def test_steps_happen_in_their_order(harness: Harness) -> None:
    slot = fabric_of(harness).models[0]
    harness.load(0)
    slot.log.clear()
    harness.load(0)
    assert slot.log == [
        "fence",
        "quiesce",
        "break_streams",
        "stop_memory",
        "decouple",
        "hold_reset",
        "download",
        "set_rate",
        "clear_fault",
        "release_reset",
        "open_control",
        "identity",
        "set_windows",
        "open_memory",
        "unfence",
    ]


def test_a_scrub_is_the_swap_without_the_download(harness: Harness) -> None:
    slot = fabric_of(harness).models[0]
    harness.board.load(0, harness.scrubbed_image(0).sha256)
    harness.next_event()
    slot.log.clear()
    harness.board.scrub(0)
    assert [step for step in slot.log if step != "drained"] == [
        *("fence", "quiesce", "break_streams", "stop_memory", "decouple", "hold_reset", "clear_fault", "release_reset"),
        *("open_control", "identity", "set_windows", "open_memory", "unfence"),
    ]
    assert harness.board.state().slots[0].phase is SlotPhase.IDLE
    assert slot.windows == ()


def test_another_clock_is_the_same_without_the_download_and_a_load_brings_the_images_own_back(
    harness: Harness,
) -> None:
    slot, board = fabric_of(harness).models[0], harness.board
    assert isinstance(board, PynqBoard)
    harness.load(0)
    slot.log.clear()
    with board.past_checks() as past:
        assert past.retime(0, 123e6) == 123e6
        assert [step for step in slot.log if step != "drained"] == [
            *(
                "fence",
                "quiesce",
                "break_streams",
                "stop_memory",
                "decouple",
                "hold_reset",
                "set_rate",
                "clear_fault",
                "release_reset",
            ),
            *("open_control", "identity", "set_windows", "open_memory", "unfence"),
        ]
        assert harness.next_event().kind is EventKind.CONFIGURED
        past.retime(0, 2e9)
        assert harness.next_event().cause is Cause.CLOCK_LOST
        assert closed(slot)
        with pytest.raises(Conflict, match="not idle"):
            past.retime(0, 100e6)
    harness.load(0)
    assert slot.set_hz == harness.image(0).clk_hz


def test_reset_is_held_for_longer_than_it_was_verified_with(harness: Harness) -> None:
    from eddy_sim.modcheck.composition import RESET_CYCLES

    assert swap.HOLD_CYCLES > RESET_CYCLES
    fabric = fabric_of(harness)
    slot, times = fabric.models[0], dict[str, float]()
    image = harness.scrubbed_image(0)
    harness.board.load(0, image.sha256)
    harness.next_event()
    for name in ("hold_reset", "release_reset"):
        _timed(slot, name, times, fabric)
    harness.board.scrub(0)
    assert times["release_reset"] - times["hold_reset"] >= swap.HOLD_CYCLES / image.clk_hz


def _timed(slot: FakeSlot, name: str, times: dict[str, float], fabric: FakeFabric) -> None:
    inner = getattr(slot, name)

    def step() -> None:
        times[name] = fabric.time.now_s()
        inner()

    setattr(slot, name, step)


@pytest.mark.parametrize("fault", ["has_clock", "identity"])
def test_a_scrub_that_fails_leaves_the_slot_closed(harness: Harness, fault: str) -> None:
    slot = fabric_of(harness).models[0]
    harness.board.load(0, harness.scrubbed_image(0).sha256)
    harness.next_event()
    if fault == "has_clock":
        slot.has_clock = False
    else:
        slot.build = "0" * 16
    harness.board.scrub(0)
    event = harness.next_event()
    assert event.kind is EventKind.CONFIGURATION_FAILED
    assert event.cause is (Cause.CLOCK_LOST if fault == "has_clock" else Cause.IDENTITY_MISMATCH)
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED
    assert closed(slot)


def test_a_closed_slot_is_not_asked_to_stop(harness: Harness) -> None:
    harness.load(0)
    assert "quiesce" not in fabric_of(harness).models[0].log


def test_every_step_has_a_reason_of_its_own() -> None:
    steps = swap.CLOSING + swap.CLEARING + swap.PREPARING + swap.OPENING
    assert len({step.reason for step in steps}) == len({step.name for step in steps}) == len(steps)


@pytest.mark.parametrize(
    ("behaviour", "cause", "words"),
    [
        ("refused", Cause.CONFIGURATION_ERROR, "refused"),
        ("fails", Cause.CONFIGURATION_ERROR, "PRERROR"),
        ("no-clock", Cause.CLOCK_LOST, "clock"),
        ("dead", Cause.IDENTITY_MISMATCH, "does not answer"),
        ("garbage", Cause.IDENTITY_MISMATCH, "0xdead0001"),
        ("wrong-identity", Cause.IDENTITY_MISMATCH, "build hash"),
        ("unknown-kind", Cause.IDENTITY_MISMATCH, "kind 9"),
    ],
)
def test_what_can_go_wrong_is_named(harness: Harness, behaviour: str, cause: Cause, words: str) -> None:
    event = harness.load(0, behaviour)
    assert (event.kind, event.cause) == (EventKind.CONFIGURATION_FAILED, cause)
    assert words in event.detail
    assert closed(fabric_of(harness).models[0])


def test_clock_that_never_locks(harness: Harness) -> None:
    slot = fabric_of(harness).models[0]
    slot.locks = False
    assert harness.load(0).cause is Cause.CLOCK_LOST
    assert closed(slot)


@pytest.mark.parametrize(
    "method",
    ["set_rate", "locked", "clear_fault", "release_reset", "clock_running", "open_control", "identity", "set_windows",
     "clear_counters", "open_memory"],
)  # fmt: skip
def test_a_driver_that_breaks_in_any_step_leaves_the_slot_closed(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the bus answered with an error")

    slot = fabric_of(harness).models[0]
    harness.load(0)
    with monkeypatch.context() as patch:
        patch.setattr(slot, method, broken)
        event = harness.load(0)
    assert event.kind is EventKind.CONFIGURATION_FAILED
    assert "the bus answered" in event.detail
    assert closed(slot)
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED
    assert harness.load(0).kind is EventKind.CONFIGURED


def test_a_driver_that_breaks_while_closing_still_closes(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> bool:
        raise RuntimeError("no status")

    slot = fabric_of(harness).models[0]
    harness.load(0)
    with monkeypatch.context() as patch:
        patch.setattr(slot, "drained", broken)
        with pytest.raises(RuntimeError):
            harness.board.load(0, harness.image(0).sha256)
    assert closed(slot)
    assert harness.load(0).kind is EventKind.CONFIGURED


def test_a_drain_that_never_ends_is_forced(harness: Harness) -> None:
    slot = fabric_of(harness).models[0]
    harness.load(0)
    slot.drains = False
    before_s = harness.board.now_s()
    harness.board.close(0)
    assert closed(slot)
    assert swap.SLOT_DRAIN_BOUND_S <= harness.board.now_s() - before_s < 2 * swap.SLOT_DRAIN_BOUND_S


def test_a_refused_image_costs_no_access(harness: Harness) -> None:
    slot = fabric_of(harness).models[0]
    harness.load(0)
    slot.log.clear()
    with pytest.raises(ImageRefused):
        harness.board.load(0, harness.image(1).sha256)
    assert slot.log == []
    assert not slot.fenced
