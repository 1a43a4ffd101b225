# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Floorplans: which part of the device is whose, what is in it, and how long the images of a region come out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from eddy.packages.fields import load_yaml

ROOT = Path(__file__).resolve().parents[2]
BOARDS = ROOT / "hw" / "vivado" / "boards.yaml"
AREA = ROOT / "docs" / "reference" / "area.json"
KINDS = ("lut", "ff", "bram", "dsp")


@dataclass(frozen=True)
class Box:
    """A rectangle of whole clock region rows.

    Attributes:
        columns: First and last column of clock regions, or of slices; what they are is the board's.
        rows: First and last row of clock regions.
        have: Columns of resources in each of its rows, by kind: `clb`, `dsp`, `bram`, `uram`.
        sites: Ranges of sites, as a constraint file names them.
    """

    columns: tuple[int, int]
    rows: tuple[int, int]
    have: Mapping[str, float]
    sites: tuple[str, ...]

    @property
    def height(self) -> int:
        """Rows."""
        return self.rows[1] - self.rows[0] + 1

    def overlaps(self, other: Box) -> bool:
        """Whether the two share a column of a row."""
        pairs = ((self.columns, other.columns), (self.rows, other.rows))
        return all(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)


@dataclass(frozen=True)
class Region:
    """A slot's part of the device."""

    index: int
    pool: str
    clk_hz: int
    boxes: tuple[Box, ...]
    measured_bytes: int | None = None
    """Length of the largest partial image that a build gave for it; None before there was one."""


@dataclass(frozen=True)
class Board:
    """A board's floorplan."""

    name: str
    part: str
    device: str
    rows: int
    static: tuple[Box, ...]
    slots: tuple[Region, ...]
    cluster: Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """What holds of every device of the family."""

    frames: Mapping[str, Any]
    column: Mapping[str, int]
    fill: Mapping[str, float]


def read_family(path: Path = BOARDS) -> Family:
    """The family's figures."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Family(data["frames"], data["column"], data["fill"])


def read_boards(path: Path = BOARDS) -> dict[str, Board]:
    """The boards, by name."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {name: _board(name, board, data["column"]) for name, board in data["boards"].items()}


def _board(name: str, data: Mapping[str, Any], column: Mapping[str, int]) -> Board:
    def boxes(entries: Iterable[Mapping[str, Any]]) -> tuple[Box, ...]:
        return tuple(_box(entry, data, column) for entry in entries)

    slots = tuple(
        Region(index, slot["pool"], slot["clk_hz"], boxes(slot["boxes"]), slot.get("measured_bytes"))
        for index, slot in enumerate(data["slots"])
    )
    return Board(name, data["part"], data["device"], data["rows"], boxes(data["static"]), slots, data["cluster"])


def _box(entry: Mapping[str, Any], board: Mapping[str, Any], column: Mapping[str, int]) -> Box:
    low, high = entry["rows"]
    if "regions" in entry:
        first, last = entry["regions"]
        have = {kind: count * (last - first + 1) for kind, count in board["regions"].items()}
        return Box((first, last), (low, high), have, (f"CLOCKREGION_X{first}Y{low}:CLOCKREGION_X{last}Y{high}",))
    band = board["bands"][entry["band"]]
    have = {kind: _count(band.get("slices" if kind == "clb" else kind)) for kind in ("clb", "dsp", "bram", "uram")}
    site_rows = {
        "SLICE": ("slices", column["slices"]),
        "DSP48E2": ("dsp", column["dsp"]),
        "RAMB18": ("bram", 2 * column["bram"]),
        "RAMB36": ("bram", column["bram"]),
        "URAM288": ("uram", column["uram"]),
    }
    sites = tuple(
        f"{site}_X{band[key][0]}Y{low * per_row}:{site}_X{band[key][1]}Y{(high + 1) * per_row - 1}"
        for site, (key, per_row) in site_rows.items()
        if key in band
    )
    return Box(tuple(band["slices"]), (low, high), have, sites)


def _count(ends: list[int] | None) -> int:
    return 0 if ends is None else ends[1] - ends[0] + 1


def resources(boxes: Iterable[Box], family: Family) -> dict[str, int]:
    """LUT, registers, block RAM (36 Kb) and DSP slices of boxes."""
    total = dict.fromkeys(KINDS, 0.0)
    for box in boxes:
        for kind in KINDS:
            column = "clb" if kind in ("lut", "ff") else kind
            total[kind] += box.have.get(column, 0) * family.column[kind] * box.height
    return {kind: math.floor(count) for kind, count in total.items()}


def column_frames(have: Mapping[str, float], family: Family) -> float:
    """Frames of a row's columns, with the interconnect that serves them."""
    frames = family.frames
    beside = sum(have.values())
    own = sum(count * frames[kind] for kind, count in have.items())
    return float(own + have.get("bram", 0) * frames["bram_content"] + math.ceil(beside / 2) * frames["interconnect"])


def surplus(family: Family) -> float:
    """Bytes of a published partial image over those of its region's columns."""
    published = family.frames["published"]
    columns = column_frames(published["columns"], family) * published["rows"]
    return float(published["image_bytes"] / (columns * family.frames["words"] * 4))


def image_bytes(boxes: Iterable[Box], family: Family) -> int:
    """Length of a partial image of boxes, uncompressed, in whole words."""
    frames = sum(column_frames(box.have, family) * box.height for box in boxes)
    words: int = family.frames["words"]
    return 4 * math.ceil(frames * words * surplus(family))


def read_area(path: Path = AREA) -> dict[str, dict[str, float]]:
    """What each synthesized top takes, by name."""
    tops: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8"))["tops"]
    return tops


def _sum(entries: Iterable[tuple[int, Mapping[str, float]]]) -> dict[str, float]:
    listed = list(entries)
    return {kind: sum(times * entry[kind] for times, entry in listed) for kind in KINDS}


def static_needs(board: Board, area: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """What the static part takes: the shell, a path for each slot, the adapters to the processing system."""
    count = len(board.slots)
    return _sum(
        [
            (1, area[f"shell-{count}"]),
            (count, area["slot_path"]),
            *((1, area[name]) for name in ("ps_hp", "ps_hpm", "reg_split")),
        ]
    )


def slot_needs(board: Board, region: Region, area: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """What a slot must hold, by kind: the largest accelerator that ships, in a slot for clusters the cluster too."""
    modules = [area[name] for name in accelerators() if name in area]
    if region.pool == "gpu":
        cluster = board.cluster
        modules.append(_sum([(cluster["cores"], area[cluster["core"]]), (1, area[cluster["rest"]])]))
    return {kind: max(module[kind] for module in modules) for kind in KINDS}


def unmeasured(area: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Accelerators that nobody synthesized yet: whether a slot holds them is for the build to say."""
    return [name for name in accelerators() if name not in area]


@cache
def accelerators() -> tuple[str, ...]:
    """Names of the accelerators that ship."""
    manifests = (load_yaml(path.read_text("utf-8")) for path in sorted(ROOT.glob("bitstreams/*/manifest.yaml")))
    return tuple(manifest["module"] for manifest in manifests if manifest["kind"] == "hls")


def lacking(have: Mapping[str, float], needs: Mapping[str, float], fill: Mapping[str, float]) -> dict[str, float]:
    """By how much a part is too small, kind by kind; empty where it holds what it must at the stated fill."""
    short = {kind: needs[kind] / fill[kind] - have[kind] for kind in KINDS}
    return {kind: math.ceil(by) for kind, by in short.items() if by > 0}
