# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a calendar of maintenance windows means for slots at a moment."""

from __future__ import annotations

import dataclasses

import pytest
from eddy.core.maintenance import MaintenanceWindow, WindowStage, closing_times, drain_changes
from eddy.core.notices import DELAYS_S, NoticeKind, next_delay_s, stage_notice

FAN = MaintenanceWindow("w1", "a new fan", 1000.0, 1100.0, drain_s=50.0)
DISK = MaintenanceWindow("w2", "a disk", 1050.0, 1200.0, slots=(1,))
BY_HAND, CLOSED = "a dead fan", FAN.reason


@pytest.mark.parametrize(
    ("now_s", "stage"),
    [(0, "planned"), (949, "planned"), (950, "draining"), (1000, "open"), (1099, "open"), (1100, "ended")],
)
def test_a_window_goes_through_its_stages(now_s: float, stage: str) -> None:
    assert FAN.stage(now_s).value == stage


def test_one_that_is_cancelled_has_not_been_and_one_that_is_ended_early_has() -> None:
    assert dataclasses.replace(FAN, cancelled_unix_s=999.0).stage(1050) is WindowStage.CANCELLED
    assert dataclasses.replace(FAN, cancelled_unix_s=1001.0).stage(1050) is WindowStage.ENDED


@pytest.mark.parametrize(
    ("now_s", "drained", "changes"),
    [
        (900, {0: "", 1: ""}, {}),
        (960, {0: "", 1: BY_HAND}, {0: CLOSED}),
        (960, {0: CLOSED, 1: CLOSED}, {}),
        (1060, {0: CLOSED, 1: CLOSED}, {}),
        (1060, {0: CLOSED, 1: ""}, {1: DISK.reason}),
        (1150, {0: CLOSED, 1: CLOSED}, {0: "", 1: DISK.reason}),
        (1300, {0: CLOSED, 1: DISK.reason, 2: BY_HAND}, {0: "", 1: ""}),
        (1300, {0: "quarantined: 5 loads in a row failed"}, {}),
    ],
)
def test_slots_are_closed_and_opened_and_what_an_operator_drained_stays(
    now_s: float, drained: dict[int, str], changes: dict[int, str]
) -> None:
    assert drain_changes([DISK, FAN], drained, now_s) == changes


def test_what_is_changed_stays_so_at_the_next_look() -> None:
    for now_s in range(900, 1300, 7):
        drained = {0: "", 1: "", 2: BY_HAND}
        changed = {**drained, **drain_changes([FAN, DISK], drained, now_s)}
        assert drain_changes([FAN, DISK], changed, now_s) == {}


def test_slots_close_with_their_first_window() -> None:
    assert closing_times([FAN, DISK], [0, 1], 900.0) == {0: (50.0, "w1"), 1: (50.0, "w1")}
    assert closing_times([FAN, DISK], [0, 1], 1150.0) == {1: (0.0, "w2")}
    assert closing_times([DISK], [0, 1], 900.0) == {1: (150.0, "w2")}


@pytest.mark.parametrize(
    ("told", "stage", "kind"),
    [
        ("", WindowStage.PLANNED, NoticeKind.MAINTENANCE_PLANNED),
        ("", WindowStage.DRAINING, NoticeKind.MAINTENANCE_PLANNED),
        ("planned", WindowStage.DRAINING, None),
        ("planned", WindowStage.PLANNED, None),
        ("draining", WindowStage.OPEN, NoticeKind.MAINTENANCE_BEGAN),
        ("", WindowStage.OPEN, NoticeKind.MAINTENANCE_BEGAN),
        ("open", WindowStage.OPEN, None),
        ("open", WindowStage.ENDED, NoticeKind.MAINTENANCE_ENDED),
        ("planned", WindowStage.CANCELLED, NoticeKind.MAINTENANCE_CANCELLED),
        ("cancelled", WindowStage.CANCELLED, None),
    ],
)
def test_each_stage_is_told_once(told: str, stage: WindowStage, kind: NoticeKind | None) -> None:
    assert stage_notice(told, stage) is kind


def test_pauses_grow_and_end() -> None:
    found = [next_delay_s(attempts) for attempts in range(1, len(DELAYS_S) + 2)]
    assert found[-1] is None
    assert found[:-1] == sorted(DELAYS_S)
