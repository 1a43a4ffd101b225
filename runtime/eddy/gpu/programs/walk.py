# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Walks: how lanes go through an ND-range whose items they may take in any order, with counters instead of divisions.

A lane goes along one dimension, a *line*, in equal steps, and then to its next line. Several lines lie side by side,
and the lanes of a core share out each of them. Where lines lie in the first dimension, lanes of a warp lie side by side
in one; where they lie in another, lanes of a warp are in neighbouring lines, so that they touch neighbouring words
there too. What is over at a line's end counts for the next one, so that no lane waits at one; a warp is in one line.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eddy.gpu.programs.layout import LINE_BYTES
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.signature import Kernel

MOST_ITEMS = (1 << 32) - 1
"""Items with those that fill up the last strip, at most: what a word counts."""
_SHORT, _LONG = 12.0, 100.0
"""Instructions of an item without loops and with, guessed."""
_TURN = 20.0
"""Instructions at the end of a line."""
_SCATTERED, _SHARED = 0.5, 0.1
"""By which part an item takes longer where lanes of a warp lie in lines of their own, and where the next strip needs
the same line of the cache again."""
_DOWN, _ROW = 0.5, 0.02
"""The same where lanes of a short kernel go down columns, whose lines of the cache come from many pages; and for each
row more that a core goes along at once."""


@dataclass(frozen=True, slots=True)
class Walk:
    """How lanes walk.

    Attributes:
        axis: The dimension they go along.
        side: Lines side by side: in the first dimension or, where that is the axis, in the second.
        length: Items of a line.
        inside: Lines of a plane.
        depth: Planes.
        lanes: Lanes of a core.
        threads: Lanes of a warp; 1 where a warp may be in several lines.
    """

    axis: int
    side: int
    length: int
    inside: int
    depth: int
    lanes: int
    threads: int

    @property
    def filled(self) -> int:
        """Items of a line with those that fill it up so that no warp is in two."""
        most = self.inside > 1 or self.depth > 1
        part = self.threads // (math.gcd(self.threads, self.side) if self.axis else 1)
        return -(-self.length // part) * part if most else self.length

    @property
    def strips(self) -> int:
        """How often so many lines lie side by side in a plane."""
        return -(-self.inside // self.side)

    @property
    def share(self) -> int:
        """Lanes of a core that share a line."""
        return self.lanes // self.side

    @property
    def items(self) -> int:
        """Items in the order of the walk, some of which may lie outside the ND-range.

        Each lane of a core has one, in turn, and then each has its next.
        """
        return -(-self._places // self.share) * self.lanes if self.side > 1 else self._places

    @property
    def _places(self) -> int:
        """Items of one side's lines, one behind the other."""
        return self.filled * self.strips * self.depth

    def words(self, cores: int, offset: Sequence[int]) -> dict[str, int]:
        """What the launch block says of it.

        Args:
            cores: How many walk.
            offset: First global ids, by dimension.
        """
        width, first = self.strips * self.side, offset[1 if self.axis == 0 else 0]
        deep = {1: 2, 2: 1}.get(self.axis, 0)
        return {
            **{"walk_axis": self.axis, "walk_step": self.share * cores},
            **{f"walk_step_{k}": self.share * cores if k == self.axis else 0 for k in (1, 2)},
            **{f"walk_back_{k}": self.filled if k == self.axis else 0 for k in (1, 2)},
            **{f"walk_deep_{k}": int(k == deep) for k in (1, 2)},
            **{"walk_length": self.filled, "walk_length_end": offset[self.axis] + self.filled},
            "walk_end": offset[self.axis] + self.length,
            **{"walk_side": self.side, "walk_share": self.share, "walk_lanes": self.lanes},
            **{"walk_strips": self.strips, "walk_width": width},
            **{"walk_width_end": first + width, "walk_inside_end": first + self.inside},
        }

    def slice_words(self, offset: Sequence[int], first: int, end: int) -> dict[str, int]:
        """What it says of a slice.

        Args:
            offset: First global ids, by dimension.
            first: The slice's first item, in the order of the walk.
            end: One past its last; what is past the walk's end does not count.
        """
        end = min(end, self.items)
        turn, lane = divmod(max(end - 1, 0), self.lanes)
        words = {"walk_first": first, "walk_count": max(end - first, 0), "walk_last_lane": lane}
        # Lanes up to that which has the last item have one more than the others.
        for name, place in (("more", min((turn + 1) * self.share, self._places)), ("less", turn * self.share)):
            line, along = divmod(max(place - 1, 0), self.filled)
            words[f"walk_line_{name}"] = line
            words[f"walk_last_{name}"] = offset[self.axis] + min(along + 1 if place else 0, self.length)
        return words


def choose_walk(shape: ClusterShape, sizes: Sequence[int], kernel: Kernel) -> Walk:
    """The walk that is estimated to take the fewest cycles, of those the kernel's stub knows.

    Args:
        shape: The cluster.
        sizes: Items by dimension, three.
        kernel: The kernel.
    """
    x, y, z = sizes
    if kernel.ids < 2:
        x, y, z = sizes if kernel.ids else (x * y * z, 1, 1)
        return Walk(0, 1, x, y, z, shape.lanes, 1)
    return min(_walks(shape, sizes, kernel), key=lambda walk: (_cost(shape, walk, kernel), walk.axis, -walk.side))


def least_cost(shape: ClusterShape, sizes: Sequence[int], kernel: Kernel) -> float:
    """Instructions of a lane that has as many items as any, estimated, on the walk that is chosen.

    Args:
        shape: The cluster.
        sizes: Items by dimension, three.
        kernel: The kernel.
    """
    return _cost(shape, choose_walk(shape, sizes, kernel), kernel)


def _walks(shape: ClusterShape, sizes: Sequence[int], kernel: Kernel) -> Iterator[Walk]:
    x, y, z = sizes
    lanes = shape.lanes
    for together, side in itertools.product((shape.threads, 1), range(1, lanes + 1)):
        ways = [Walk(1, side, y, x, z, lanes, together), Walk(2, side, z, x, y, lanes, together)][: kernel.ids - 1]
        if not kernel.one_way and shape.warps % side == 0 and y % side == 0:
            ways.append(Walk(0, side, x, y, z, lanes, together))
        yield from (walk for walk in ways if lanes % side == 0 and walk.items <= MOST_ITEMS)


def _cost(shape: ClusterShape, walk: Walk, kernel: Kernel) -> float:
    """Instructions of a lane that has as many items as any, estimated."""
    body = _SHORT if kernel.short else _LONG
    if walk.threads < shape.threads:
        body *= 1 + _SCATTERED
    if walk.axis == 0:
        body *= 1 + _ROW * (walk.side - 1)
    else:
        body *= 1 + _SCATTERED * max(0.0, 1 - walk.side / min(walk.inside, shape.threads))
        if walk.strips > 1:
            body *= 1 + (_DOWN if kernel.short else 0.0) + _SHARED * max(0.0, LINE_BYTES / 4 / walk.side - 1)
    lines = walk.strips * walk.depth
    return math.ceil(lines * walk.filled / (walk.share * shape.cores)) * body + lines * _TURN
