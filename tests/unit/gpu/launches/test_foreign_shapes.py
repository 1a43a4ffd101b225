# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Ways through a kernel and values kept over barriers as programs have them, in groups of several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.launches.launch import Local
from unit.gpu.launches.test_foreign_rodinia import RNG, floats, program, run

GROUPS = pytest.mark.parametrize("size", [7, 16, 33])
Words = npt.NDArray[np.int32]


def words(high: int, *shape: int) -> Words:
    return RNG.integers(0, high, shape).astype("i4")


def next_to(values: npt.NDArray[Any], by: int = 1) -> npt.NDArray[Any]:
    return np.roll(values, -by, axis=1)


@GROUPS
def test_all_items_switch_alike(size: int) -> None:
    operations, data = words(9, 12), words(100, 2 * size)
    wanted = data.reshape(2, size).copy()
    run(program("shapes.cl"), "machine", (2 * size,), (size,), operations, 12, data, Local(4 * size))
    with np.errstate(over="ignore"):
        for k, operation in enumerate(operations):
            if operation == 0:
                wanted = next_to(wanted) + wanted
            elif operation in (1, 2):
                wanted = (wanted[:, ::-1] if operation == 1 else wanted) * np.int32(3) + np.int32(k)
            elif operation != 7:
                wanted = wanted ^ operation
    np.testing.assert_array_equal(data, wanted.ravel())


@GROUPS
def test_items_loop_as_long_as_they_must(size: int) -> None:
    seed, histogram, steps = RNG.integers(2, 5000, 2 * size).astype("u4"), np.zeros(13, "u4"), np.zeros(2 * size, "i4")
    run(program("shapes.cl"), "collatz", (2 * size,), (size,), seed, histogram, steps, Local(52), 13)
    counts, bins = [], np.zeros(13, "u4")
    for v in seed.tolist():
        count = 0
        while v != 1 and count < 60:
            v, count = 3 * v + 1 if v & 1 else v >> 1, count + 1
            bins[v % 13] += 1
            if v > 100000:
                break
        counts.append(count)
    np.testing.assert_array_equal(steps, counts)
    np.testing.assert_array_equal(histogram, bins)


@GROUPS
def test_a_group_goes_on_until_nothing_changes(size: int) -> None:
    label, rounds = words(1000, 2 * size), np.zeros(2 * size, "i4")
    groups, wanted = label.reshape(2, size).copy(), []
    run(program("shapes.cl"), "labels", (2 * size,), (size,), label, rounds, Local(4 * size), Local(4))
    for own in groups:
        count, changed = 0, True
        while changed:
            wide = np.pad(own, 1, mode="edge")
            new = np.maximum(own, np.maximum(wide[:-2], wide[2:]))
            own, changed, count = new, bool((new != own).any()), count + 1
        wanted.append(count)
    np.testing.assert_array_equal(label, np.repeat(groups.max(1), size))
    np.testing.assert_array_equal(rounds, np.repeat(wanted, size))


@GROUPS
def test_groups_leave_loops_early(size: int) -> None:
    made, stop, out = program("shapes.cl"), np.array([3, 20, 0, 9], "i4"), np.zeros(4 * size, "i4")
    run(made, "leaves", (4 * size,), (size,), stop, out, Local(4 * size))
    items, wanted = np.arange(size), []
    for turns in stop.tolist():
        after = np.roll(items, -min(turns, 10)) + min(turns, 10)
        wanted.append(-np.roll(after, -turns) if turns < 10 else after)
    np.testing.assert_array_equal(out, np.concatenate(wanted))
    limits, data, total = np.array([2, 0, 5], "i4"), words(50, 2 * size), np.zeros((2, size), "i4")
    t = data.reshape(2, size).copy()
    run(made, "nested", (2 * size,), (size,), limits, data, Local(4 * size))
    for i, limit in enumerate(limits.tolist()):
        for j in range(limit):
            total, t = total + next_to(t, j) * (i + 1), t + j
        total = total ^ (limit << i)
    np.testing.assert_array_equal(data, total.ravel())


@GROUPS
def test_structures_are_reached_through_links(size: int) -> None:
    data = words(9, 2 * size)
    values = np.stack([data.reshape(2, size), np.tile(np.arange(size, dtype="i4"), (2, 1))])
    run(program("shapes.cl"), "ring", (2 * size,), (size,), data, Local(4 * size))
    at, odd = np.zeros((2, size), int), np.tile(np.arange(size) & 1, (2, 1))
    for _ in range(5):
        sent = np.take_along_axis(values, at[None], 0)[0]
        at = np.where(at == 0, 1, 1 - odd)
        values += (np.arange(2)[:, None, None] == at) * next_to(sent)
    np.testing.assert_array_equal(data, (values[0] * 3 + values[1]).ravel())


@GROUPS
def test_bits_are_kept_as_they_are(size: int) -> None:
    data, out = floats(2 * size), np.zeros(2 * size, "u4")
    run(program("shapes.cl"), "packed", (2 * size,), (size,), data, out, Local(4 * size))
    own, items = data.reshape(2, size), np.arange(size)
    ids, odd = np.arange(2 * size).reshape(2, size), items & 1
    first, second = np.where(odd, own, -next_to(own)), np.where(odd, -next_to(own), -own)
    one, two = (each.astype("f4").view("u4").astype("u8") for each in (first, second))
    turned = (two << np.uint64(7) | two >> np.uint64(25)) & np.uint64(0xFFFFFFFF)
    last = np.where(odd, first, second)[:, ::-1].astype("f4").view("u4").astype("i8")
    wanted = (one ^ turned).astype("i8") + (one >> np.uint64(24)).astype("i8") + items * 4
    wanted += (ids + 1) * 5 + (ids - items) * 7 + last
    np.testing.assert_array_equal(out, (wanted & 0xFFFFFFFF).ravel().astype("u4"))


@pytest.mark.parametrize("group", [(2, 2, 2), (5, 2, 3), (2, 8, 4)])
def test_three_dimensions_are_turned_over(group: tuple[int, int, int]) -> None:
    width, height, depth = group
    data = words(99, 2 * depth, height, 2 * width)
    out, wanted = np.zeros_like(data), np.zeros_like(data)
    run(program("shapes.cl"), "turned", data.shape[::-1], group, data, out, Local(4 * width * height * depth))
    for z, x in np.ndindex(2, 2):
        place = np.s_[z * depth : (z + 1) * depth, :, x * width : (x + 1) * width]
        turned = data[place][:, ::-1]
        wanted[place] = 2 * turned[::-1, :, ::-1] + turned
    np.testing.assert_array_equal(out, wanted)


def test_two_rows_have_variables_of_their_own_behind_pointers() -> None:
    a, out, wanted = words(9, 5, 6), np.zeros((8, 6), "i4"), np.zeros((8, 6), "i4")
    made = program("shapes.cl")
    assert made.kernel("chosen").folds
    run(made, "chosen", (6, 8), None, a, out, 6, 5)
    for y, x in np.ndindex(8, 6):
        values = [1, 2]
        for k in range(5):
            values[1 - (y & 1)] += a[k, x]
            values[0] ^= k
        wanted[y, x] = values[0] * 1000 + values[1]
    np.testing.assert_array_equal(out, wanted)
