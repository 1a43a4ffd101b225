# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Regions of buffers and images: rows in layers, and the runs of bytes that they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

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
    width = regions[0].width
    rows = list(zip(*(region.starts() for region in regions), strict=True))
    # Rows that follow one another in all regions have the same distance to their place in the list times the width.
    joined = groupby(enumerate(rows), key=lambda at: tuple(start - at[0] * width for start in at[1]))
    found = []
    for _, group in joined:
        places = [starts for _, starts in group]
        found.append((places[0], width * len(places)))
    return found


def packed(region: Geometry) -> Geometry:
    """The same rows one behind the other."""
    return Geometry(0, region.width, region.height, region.depth, region.width, region.width * region.height)
