# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Maps of memory found by asking which pairs of addresses are slow, compared with the map that answered."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import pytest
from eddy.board.port.dram_map import place
from eddy.board.port.profile import load_profile
from eddy.board.pynq.dram_finder import FoundMap, find_map, profile_map, rank

BITS = range(6, 23)
EVERY = sum(1 << bit for bit in BITS)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"hashing": True},
        {"hashing": True, "channels": 2},
        {"banks": 4, "row_bytes": 4096},
        {"banks": 8, "row_bytes": 65536},
        {"banks": 1},
    ],
)
def test_a_profiles_map_is_found(change: dict[str, Any]) -> None:
    dram = dataclasses.replace(load_profile("tiny").dram, **change)
    asked: list[int] = []

    def slow(difference: int) -> bool:
        asked.append(difference)
        (unit, row), (other_unit, other_row) = place(dram, 0), place(dram, difference)
        return unit == other_unit and row != other_row

    found = find_map(slow, BITS, Random(3))
    assert found is not None
    assert found.agrees(profile_map(dram, EVERY))
    assert found.row_bytes == dram.row_bytes
    assert 1 << len(found.unit_masks) == dram.banks * dram.channels
    assert all(found.slow(each) == slow(each) for each in (Random(5).getrandbits(17) << 6 for _ in range(200)))
    assert len(asked) < 1500


@pytest.mark.parametrize("seed", range(8))
def test_any_linear_map_is_found(seed: int) -> None:
    """Also one whose units hang on bits below the row's end, as those that spread lines over channels do."""
    random = Random(seed)
    masks = [0]
    while rank(masks) < len(masks):
        masks = [random.getrandbits(17) << 6 & ~0xF80 for _ in range(random.randint(1, 5))]
    wanted = FoundMap(EVERY, tuple(masks), 0xF80)
    found = find_map(wanted.slow, BITS, random)
    assert found is not None
    assert found.agrees(wanted)
    assert wanted.agrees(found)


def test_another_map_does_not_agree() -> None:
    dram = load_profile("tiny").dram
    one = profile_map(dram, EVERY)
    for change in ({"banks": 8}, {"hashing": True}, {"row_bytes": 16384}):
        assert not one.agrees(profile_map(dataclasses.replace(dram, **change), EVERY))


def test_what_is_no_map_gives_none() -> None:
    assert find_map(lambda difference: False, BITS, Random(1)) is None
    too_many = FoundMap(EVERY, tuple(1 << bit for bit in range(10, 17)), 0x3C0)
    assert find_map(too_many.slow, BITS, Random(1)) is None
