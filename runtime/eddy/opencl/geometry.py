# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Regions of buffers and images: rows in layers, and the pieces in which they travel."""

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

    @property
    def is_run(self) -> bool:
        """Whether it is one row."""
        return self.height == self.depth == 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Bytes of a row, rows, layers."""
        return self.width, self.height, self.depth

    @property
    def pitch(self) -> tuple[int, int]:
        """From row to row, and from layer to layer."""
        return self.row, self.slice


def pieces(most: int, *regions: Geometry) -> Iterator[tuple[Geometry, ...]]:
    """Regions of one form, cut alike into pieces of whole layers or rows.

    Row k of every region belongs together; rows are joined where they follow one another in all of them.

    Args:
        most: Bytes of a piece; a row alone may have more.
        regions: What is cut.
    """
    joined = _joined(regions)
    width, height, depth = joined[0].width, joined[0].height, joined[0].depth
    layers = most // (width * height)
    rows = height if layers else max(1, most // width)
    for z in range(0, depth, layers or 1):
        for y in range(0, height, rows):
            yield tuple(
                replace(
                    each,
                    offset=each.offset + z * each.slice + y * each.row,
                    height=min(rows, height - y),
                    depth=min(layers or 1, depth - z),
                )
                for each in joined
            )


def _joined(regions: Sequence[Geometry]) -> list[Geometry]:
    """The same bytes with rows that follow one another in all regions as one, and layers likewise."""
    width, height, depth = regions[0].width, regions[0].height, regions[0].depth
    if height == 1 or all(each.row == width for each in regions):
        width, height = width * height, 1
    if height == 1 and (depth == 1 or all(each.slice == width for each in regions)):
        width, depth = width * depth, 1
    return [_replaced(each, width, height, depth) for each in regions]


def _replaced(region: Geometry, width: int, height: int, depth: int) -> Geometry:
    """A region of another form; where there is one row, or layer, the distance to the next means nothing."""
    row = region.row if height > 1 else width
    slice_ = region.slice if depth > 1 else row * height
    return Geometry(region.offset, width, height, depth, row, slice_)


def packed(region: Geometry) -> Geometry:
    """The same rows one behind the other."""
    return Geometry(0, region.width, region.height, region.depth, region.width, region.width * region.height)
