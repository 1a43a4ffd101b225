# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A line that rings in vain is listened to less and less; one that tells something is not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from eddy.board.pynq.interrupt_lines import FIRST_REST_S, FREE_RINGS, LONGEST_REST_S, ThrottledLine, rest_s


class Held:
    """A line that fires whenever it is armed."""

    def __init__(self) -> None:
        self.armed = 0

    def arm(self) -> None:
        self.armed += 1

    def take_interrupt(self) -> bool:
        return True

    def forget(self) -> None: ...


class Rig:
    """A held line under a clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.held = Held()
        self.line = ThrottledLine(self.held, lambda: self.now_s)

    def ring(self, something: bool = False) -> None:
        assert self.line.take_interrupt()
        self.line.rearm(something)


def test_rests_double_up_to_the_bound_and_stay_there() -> None:
    rests = [rest_s(count) for count in range(60)]
    assert rests[: FREE_RINGS + 1] == [0.0] * (FREE_RINGS + 1)
    assert rests[FREE_RINGS + 1] == FIRST_REST_S
    assert all(b == min(2 * a, LONGEST_REST_S) for a, b in pairwise(rests[FREE_RINGS + 1 :]))
    assert rests[-1] == LONGEST_REST_S
    assert rest_s(10**6) == LONGEST_REST_S


def test_a_few_rings_in_vain_are_listened_to_at_once() -> None:
    rig = Rig()
    for count in range(1, FREE_RINGS + 1):
        rig.ring()
        assert (rig.held.armed, rig.line.rests_until_s) == (count, float("inf"))
    rig.ring()
    assert (rig.held.armed, rig.line.rests_until_s) == (FREE_RINGS, FIRST_REST_S)


def test_it_is_listened_to_when_its_rest_is_over_and_not_before() -> None:
    rig = Rig()
    for _ in range(FREE_RINGS + 1):
        rig.ring()
    rig.now_s = FIRST_REST_S * 0.99
    rig.line.take_interrupt()
    assert rig.held.armed == FREE_RINGS
    rig.now_s = FIRST_REST_S
    rig.line.take_interrupt()
    assert (rig.held.armed, rig.line.rests_until_s) == (FREE_RINGS + 1, float("inf"))


@pytest.mark.parametrize("forgiven", [lambda rig: rig.ring(something=True), lambda rig: rig.line.arm()])
def test_what_tells_something_or_starts_anew_is_forgiven(forgiven: object) -> None:
    rig = Rig()
    for _ in range(FREE_RINGS + 5):
        rig.ring()
    assert callable(forgiven)
    forgiven(rig)
    for _ in range(FREE_RINGS):
        rig.ring()
        assert rig.line.rests_until_s == float("inf")


def test_without_a_ring_there_is_nothing_to_say() -> None:
    rig = Rig()
    for _ in range(2 * FREE_RINGS):
        rig.line.rearm(something=False)
    assert (rig.held.armed, rig.line.rests_until_s) == (0, float("inf"))


def test_a_line_that_is_ignored_needs_no_look() -> None:
    rig = Rig()
    for _ in range(FREE_RINGS + 1):
        rig.ring()
    rig.line.disarm()
    assert rig.line.rests_until_s == float("inf")
