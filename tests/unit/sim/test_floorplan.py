# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The floorplans: disjoint whole rows, large enough at the stated fill, and the profiles say what follows from them."""

from __future__ import annotations

import dataclasses
import itertools
import re
import sys
from pathlib import Path

import pytest
from eddy.board.port.profile import load_profile

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import board as tool
from board_flow.floorplan import (
    Board,
    Box,
    accelerators,
    column_frames,
    image_bytes,
    lacking,
    read_area,
    read_boards,
    read_family,
    resources,
    slot_needs,
    static_needs,
    surplus,
)
from board_flow.profiles import MarksMissing, with_slots

FAMILY = read_family()
BOARDS = read_boards()
BY_NAME = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)


def parts(board: Board) -> list[tuple[str, Box]]:
    return [("static", box) for box in board.static] + [
        (f"slot{slot.index}", box) for slot in board.slots for box in slot.boxes
    ]


def test_derived_files_are_current() -> None:
    assert tool.stale() == [], "run tools/board.py"


def test_every_part_is_large_enough() -> None:
    assert tool.too_small() == []


@BY_NAME
def test_parts_are_disjoint_and_on_the_device(board: Board) -> None:
    for (_, one), (_, other) in itertools.combinations(parts(board), 2):
        assert not one.overlaps(other), (one, other)
    assert all(0 <= box.rows[0] <= box.rows[1] < board.rows for _, box in parts(board))


@BY_NAME
def test_no_site_is_in_two_parts(board: Board) -> None:
    """Told by the ranges themselves, as a constraint file names them."""
    seen: dict[tuple[str, int, int], str] = {}
    for part, box in parts(board):
        for text in box.sites:
            kind, x0, y0, x1, y1 = re.fullmatch(r"(\w+)_X(\d+)Y(\d+):\w+_X(\d+)Y(\d+)", text).groups()  # type: ignore[union-attr]
            for x, y in itertools.product(range(int(x0), int(x1) + 1), range(int(y0), int(y1) + 1)):
                assert seen.setdefault((kind, x, y), part) == part, (kind, x, y)
    assert seen


@BY_NAME
def test_slices_come_in_whole_rows(board: Board) -> None:
    for _, box in parts(board):
        for text in (text for text in box.sites if text.startswith("SLICE")):
            low, high = (int(y) for y in re.findall(r"Y(\d+)", text))
            assert low % 60 == 0, text
            assert (high + 1) % 60 == 0, text


def test_all_of_the_k26_is_given_away_and_counts_as_its_data_sheet_says() -> None:
    total = resources([box for _, box in parts(BOARDS["kv260"])], FAMILY)
    assert total == {"lut": 117120, "ff": 234240, "bram": 144, "dsp": 1248}


def test_clock_regions_of_the_zu7ev_add_up_to_its_data_sheet() -> None:
    """230,400 LUT, 312 blocks of RAM and 1,728 DSP slices over 24 clock regions, block RAM rounded down."""
    region = BOARDS["zcu104"].static[0]
    whole = resources([dataclasses.replace(region, columns=(0, 0), rows=(0, 0), have=region.have)] * 24, FAMILY)
    assert whole["lut"] == 230400
    assert whole["dsp"] == 1728
    assert whole["bram"] == 311


@BY_NAME
def test_a_slot_that_is_too_small_is_told(board: Board) -> None:
    slot = board.slots[-1]
    needs = slot_needs(board, slot, read_area())
    grown = {kind: needs[kind] * 5 for kind in needs}
    assert "lut" in lacking(resources(slot.boxes, FAMILY), grown, FAMILY.fill)


def test_what_must_fit_is_counted_whole() -> None:
    board, area = BOARDS["kv260"], read_area()
    static = static_needs(board, area)
    adapters = sum(area[name]["lut"] for name in ("ps_hp", "ps_hpm", "reg_split"))
    assert static["lut"] == area["shell-4"]["lut"] + 4 * area["slot_path"]["lut"] + adapters
    cluster = slot_needs(board, board.slots[3], area)
    assert cluster["lut"] == area["gpu_core-4w4t"]["lut"] + area["gpu_rest-1"]["lut"]
    pipeline = slot_needs(board, board.slots[0], area)
    assert pipeline["bram"] == max(area[name]["bram"] for name in accelerators())
    assert "conv_pool" in accelerators()


def test_frames_of_the_published_region_give_its_image() -> None:
    published = FAMILY.frames["published"]
    box = Box((17, 60), (0, 1), published["columns"], ())
    assert abs(image_bytes([box], FAMILY) - published["image_bytes"]) <= 4
    assert surplus(FAMILY) > 1


def test_frames_of_a_column_pair() -> None:
    """Two CLB columns and the interconnect between them: 16 + 76 + 16; block RAM has its contents beside."""
    assert column_frames({"clb": 2}, FAMILY) == 108
    assert column_frames({"clb": 1, "bram": 1}, FAMILY) == 16 + 76 + 6 + 256


@BY_NAME
def test_the_profile_has_the_slots_of_the_floorplan(board: Board) -> None:
    profile = load_profile(board.name)
    assert profile.part == board.part
    assert [slot.image_bytes for slot in profile.slots] == [image_bytes(slot.boxes, FAMILY) for slot in board.slots]
    assert [slot.pool.value for slot in profile.slots] == [slot.pool for slot in board.slots]


def test_a_profile_without_the_marks_is_refused() -> None:
    with pytest.raises(MarksMissing, match="kv260"):
        with_slots("board: x\n", BOARDS["kv260"], FAMILY)
