# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Regions of buffers and images: rows in layers, and the runs of bytes that they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from eddy.opencl.wire import Reader


@dataclass(frozen=True, slots=True)
class Geometry:
    """A region, in bytes.

    Attributes:
        offset: Of its first byte.
        width: Bytes of a row.
        height: Rows of a layer.
        depth: Layers.
        row: From row to row.
        slice: From layer to layer.
    """

    offset: int
    width: int
    height: int
    depth: int
    row: int
    slice: int

    @classmethod
    def read(cls, reader: Reader) -> Geometry:
        """The next of a frame."""
        return cls(*reader.numbers("6Q"))

    @property
    def bytes(self) -> int:
        """Bytes in it."""
        return self.width * self.height * self.depth

    def starts(self) -> Iterator[int]:
        """Where its rows begin."""
        for z in range(self.depth):
            for y in range(self.height):
                yield self.offset + z * self.slice + y * self.row


def runs(*regions: Geometry) -> list[tuple[tuple[int, ...], int]]:
    """The fewest runs of bytes that regions of one form are together: where each begins, and its size.

    Row k of every region belongs together; rows are joined where they follow one another in all of them.
    """
    joined = _joined(regions)
    return [(starts, joined[0].width) for starts in zip(*(region.starts() for region in joined), strict=True)]


def _joined(regions: Sequence[Geometry]) -> list[Geometry]:
    """The same bytes with rows that follow one another in all regions as one, and layers likewise."""
    width, height, depth = regions[0].width, regions[0].height, regions[0].depth
    if height == 1 or all(each.row == width for each in regions):
        width, height = width * height, 1
    if height == 1 and (depth == 1 or all(each.slice == width for each in regions)):
        width, depth = width * depth, 1
    return [replace(each, width=width, height=height, depth=depth) for each in regions]


def packed(region: Geometry) -> Geometry:
    """The same rows one behind the other."""
    return Geometry(0, region.width, region.height, region.depth, region.width, region.width * region.height)
