# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The part of the state machine that has images read into memory before loads need them, by itself."""

from __future__ import annotations

import pytest
from eddy.core.slots import Pool
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.slots.pools import PoolState
from eddy.hypervisor.slots.resident_images import PrefetchPlanner, ResidentImages
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from machine_kit import FITS, ONE, TWO

SIZES, TIMES_S = {0: 10, 1: 10}, {0: 1.0, 1: 1.0}


def reads(room: int, fits: dict[str, dict[int, str]] = FITS) -> PrefetchPlanner:
    pools = {Pool.PIPELINE: PoolState(Pool.PIPELINE, FirstComeFirstServed(), (0, 1), fits)}
    return PrefetchPlanner(ResidentImages(room, SIZES, TIMES_S), pools)


def test_a_board_without_room_reads_nothing() -> None:
    part = reads(0)
    assert not part.is_enabled
    assert part.all_images(0.0) == ()
    assert part.images_of_job(TWO, Pool.PIPELINE, 0.0) == ()
    assert not part.request_image(0, "x", 0.0)
    assert part.next_s(0.0) is None


@pytest.mark.parametrize(("room", "count"), [(40, 4), (30, 3), (10, 1)])
def test_everything_is_read_as_far_as_there_is_room(room: int, count: int) -> None:
    part, slots = reads(room), {index: MachineSlot(index, 0.1) for index in (0, 1)}
    assert set(part.all_images(0.0)) == {"x0", "x1", "y0", "y1"}
    part.show(slots, 10.0)
    assert sum(len(slot.near) for slot in slots.values()) == count
    assert part.all_images(10.0) == (), "what is not there has no room"


def test_a_jobs_tasks_are_read_for_slots_of_their_own_first_and_what_is_there_is_not_read_again() -> None:
    part = reads(20)
    assert part.images_of_job(TWO, Pool.PIPELINE, 0.0) == ("x0", "y1", "x1", "y0")
    part.show({}, 1.5)
    assert part.images_of_job(ONE, Pool.PIPELINE, 1.5) == (), "its image is there"


def test_no_image_is_read_that_does_not_exist() -> None:
    assert reads(40, {"x": {1: "x1"}}).all_images(0.0) == ("x1",)
    assert reads(40, {"x": {1: "x1"}}).images_of_job(TWO, Pool.PIPELINE, 0.0) == ("x1",)


def test_slots_show_what_is_near_and_what_is_coming_as_time_goes_by() -> None:
    part, slots = reads(40), {0: MachineSlot(0, 0.1)}
    assert not part.request_image(0, "x", 0.0), "it has to be read"
    part.show(slots, 0.0)
    assert (slots[0].near, slots[0].coming) == (frozenset(), frozenset({"x"}))
    assert part.next_s(0.0) == 1.0
    part.show(slots, 1.0)
    assert (slots[0].near, slots[0].coming) == (frozenset({"x"}), frozenset())
    assert part.request_image(0, "x", 1.0)
