# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images in memory: what is read when, what leaves, and that reading ahead never costs a load anything."""

from __future__ import annotations

import random

import pytest
from eddy.board.images.image_memory import ImageMemory
from eddy.hypervisor.slots.resident_images import ResidentImages

READ_S = 1.0


def memory(images: int) -> ImageMemory[str]:
    return ImageMemory(10 * images, lambda _: 10, lambda _: READ_S)


def test_an_image_is_read_once_and_one_at_a_time() -> None:
    held = memory(2)
    assert held.request_image("a", 0.0) == 1.0
    assert held.request_image("b", 0.5) == 2.0
    assert held.request_image("a", 0.6) == 1.0
    assert held.request_image("b", 5.0) == 5.0


def test_the_image_used_longest_ago_leaves() -> None:
    held = memory(2)
    for image, now_s in (("a", 0.0), ("b", 2.0), ("a", 4.0), ("c", 5.0)):
        held.request_image(image, now_s)
    assert held.request_image("a", 10.0) == 10.0
    assert held.request_image("b", 10.0) == 11.0


def test_nothing_is_kept_without_memory() -> None:
    held = memory(0)
    assert held.read_ahead(["a"], 0.0) == ()
    assert [held.request_image("a", now_s) for now_s in (0.0, 5.0)] == [1.0, 6.0]
    held.fetch("a", 7.0)
    assert held.request_image("a", 9.0) == 10.0


def test_what_is_read_ahead_gives_way_and_goes_on_from_where_it_was() -> None:
    held = memory(3)
    assert held.read_ahead(["a", "b"], 0.0) == ("a", "b")
    assert held.next_s(0.25) == 1.0
    assert held.request_image("c", 0.25) == 1.25  # as if nothing had been read ahead
    assert held.next_s(1.5) == 2.0
    assert held.changes(1.5) == {"c"}
    assert not held.ready("a", 1.9)
    assert held.changes(2.0) == {"a"}
    assert held.request_image("b", 2.5) == 3.0  # half of it was there


def test_reading_ahead_makes_nothing_leave() -> None:
    held = memory(2)
    held.request_image("a", 0.0)
    assert held.read_ahead(["b", "c"], 2.0) == ("b", "c")
    held.changes(10.0)
    assert held.ready("a", 10.0)
    assert held.ready("b", 10.0)
    assert not held.ready("c", 10.0)


@pytest.mark.parametrize("seed", range(20))
def test_no_load_waits_longer_because_images_are_read_ahead(seed: int) -> None:
    """Memory is large enough for all: whatever is read ahead, each need is met no later than without."""
    rng = random.Random(seed)
    images = [f"i{number}" for number in range(12)]
    plain, ahead = memory(20), memory(20)
    now_s = 0.0
    for _ in range(60):
        now_s += rng.expovariate(1.5)
        if rng.random() < 0.5:
            ahead.read_ahead(rng.sample(images, 4), now_s)
        image = rng.choice(images)
        assert ahead.request_image(image, now_s) <= plain.request_image(image, now_s) + 1e-9


def test_the_machines_account_says_by_slot_what_is_near_and_what_is_coming() -> None:
    near = ResidentImages(30, {0: 10, 1: 10}, {0: 1.0, 1: 2.0})
    assert near.keeps_images
    assert not near.request_image(0, "x", 0.0)
    assert near.changes(0.5) == {0}
    assert not near.resident_modules(0)
    assert near.loading_modules(0) == {"x"}
    assert near.images_to_prefetch([(1, "y"), (0, "x")], 0.5) == ((1, "y"),)
    assert near.next_s(0.5) == 1.0
    assert near.changes(3.0) == {0, 1}
    assert near.resident_modules(0) == {"x"}
    assert near.resident_modules(1) == {"y"}
    assert not near.loading_modules(0)
    assert near.request_image(1, "y", 3.0)
    assert not ResidentImages().keeps_images
