# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images near the port, through the machine: what is asked for, what policies are shown, what it is worth,
and what is read before loads need it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eddy.core.slots import Pool
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.slots.pools import PoolState
from eddy.hypervisor.slots.resident_images import PrefetchPlanner, ResidentImages
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy_studies.judge.sequences import recorded, workload
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import BoardSetting, responses_s, run
from machine_kit import FITS, ONE, TWO


def machine(near: ResidentImages) -> Machine:
    policy = POLICIES["eddy"](pipelined=True)
    return Machine({0: 1.1, 1: 1.1}, policy, FITS, near=near)


def test_every_image_is_asked_for_once_as_far_as_there_is_room() -> None:
    made = machine(ResidentImages(30, {0: 10, 1: 10}, {0: 1.0, 1: 1.0}))
    (asked,) = [c for c in made.step(0.0, [m.Wake()]).commands if isinstance(c, m.ReadAhead)]
    assert set(asked.images) <= {"x0", "y0", "x1", "y1"}
    assert not [c for c in made.step(0.5, [m.Wake()]).commands if isinstance(c, m.ReadAhead)]
    assert made.view().slots[0].near == frozenset()
    made.step(1.0, [m.Wake()])
    assert made.view().slots[0].near == {"x"}
    assert made.view().reads_beside


def test_nothing_is_read_ahead_where_the_board_keeps_no_images() -> None:
    made = machine(ResidentImages(0, {0: 10, 1: 10}, {0: 1.0, 1: 1.0}))
    commands = made.step(0.0, [m.Arrive(m.JobSpec(0, "a", TWO, 2, 1, 0.0))]).commands
    assert [c for c in commands if isinstance(c, m.Load)]
    assert not [c for c in commands if isinstance(c, (m.ReadAhead, m.Fetch))]
    assert not made.view().reads_beside


def test_the_port_is_not_held_for_a_read() -> None:
    """What is not near is read first, and loaded as soon as it is there: the machine wakes for that."""
    made = machine(ResidentImages(40, {0: 10, 1: 10}, {0: 1.0, 1: 1.0}))
    commands = made.step(0.0, [m.Arrive(m.JobSpec(0, "a", ONE, 1, 1, 0.0))]).commands
    (fetched,) = [c for c in commands if isinstance(c, m.Fetch)]
    assert not [c for c in commands if isinstance(c, m.Load)]
    assert made.wake_s is not None
    assert made.wake_s <= 1.0
    (load,) = [c for c in made.step(1.0, [m.Wake()]).commands if isinstance(c, m.Load)]
    assert load.image == fetched.image


def test_the_measured_time_of_a_load_is_kept_apart_by_where_its_image_was() -> None:
    made = machine(ResidentImages(40, {0: 10, 1: 10}, {0: 1.0, 1: 1.0}))
    slot = made.slots[0]
    slot.was_near = True
    slot.loaded(0.1)
    slot.loaded(0.4)  # it waited for the end of a read
    slot.was_near = False
    slot.loaded(1.3)
    slot.near = frozenset({"x"})
    assert (slot.view().loads_in_s("x"), slot.view().loads_in_s("y")) == (0.1, 1.3)


def test_responses_are_shorter_with_images_near_and_shorter_still_after_idling() -> None:
    events, player = recorded()[0], make_player("eddy")
    own = BoardSetting(blocking=False, reuse=True, own_tenants=True)
    settings = (own, replace(own, near_images=620), replace(own, near_images=620, idle_s=60.0))
    plain, cold, warm = (
        sum(responses_s(run(workload(), events, player, setting), events)) / len(events) for setting in settings
    )
    assert warm < cold < plain
    assert cold < 0.95 * plain


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
