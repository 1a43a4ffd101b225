# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tiles of a work-group's items that a lane does at once, between barriers: what differs among them is there for each.

Four lanes side by side go along so many times four columns, so that lanes of a warp are neighbours at each of their
items, and what lies in a row is at constant distances. A lane's rows follow each other. What items keep lies tile by
tile.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

COLUMN, ROW = "0", "1"
"""The dimensions in which a tile's items differ."""


@dataclass(frozen=True, slots=True)
class ItemTile:
    """How many of a lane's items are done at once.

    Attributes:
        columns: In the first dimension; a power of two.
        rows: In the second.
    """

    columns: int = 1
    rows: int = 1

    @property
    def items(self) -> int:
        """Of a tile."""
        return self.columns * self.rows

    @property
    def axes(self) -> str:
        """Dimensions in which they differ."""
        return (COLUMN if self.columns > 1 else "") + (ROW if self.rows > 1 else "")

    def each(self, axes: str) -> Iterator[dict[str, int]]:
        """Places of items that differ in some dimensions, by dimension; the first of them has zeros."""
        sizes = {COLUMN: self.columns, ROW: self.rows}
        for places in itertools.product(*(range(sizes[axis]) for axis in axes)):
            yield dict(zip(axes, places, strict=True))

    def number(self, place: Mapping[str, int]) -> int:
        """An item's number among a tile's: column by column."""
        return place.get(COLUMN, 0) * self.rows + place.get(ROW, 0)


BESIDE = 4
"""Lanes side by side that share a tile's columns: its items in the first dimension are so far apart."""
ONE = ItemTile()
"""Items one by one."""
TILES_BY_AXES = ItemTile(4, 1), ItemTile(4, 4)
"""What is done at once, of kernels that look at one dimension, and of others."""
