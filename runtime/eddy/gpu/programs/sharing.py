# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How lanes share a work-group: how many warps it gets, which of its items a lane takes, how many groups a core has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eddy.gpu.programs.item_tile import BESIDE, ONE, ItemTile
from eddy.gpu.programs.layout import CONTEXT, CONTEXT_WORDS, LINE_BYTES, SEVERAL_WORDS, align, rows_bytes
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.signature import Kernel

_BUSY_WARPS = 4
"""Warps that keep a core busy while some of them wait."""
_REGION = 2.0
"""How many times as long items take whose rows are not in local memory."""
_TILE = 0.75
"""The same where they are done a tile at once."""
_ENTRY = 1.0
"""What a lane does once for each group and barrier, in items."""


@dataclass(frozen=True, slots=True)
class LaneSharing:
    """How lanes share work-groups.

    Attributes:
        warps: Warps a work-group takes.
        beside: Work-groups side by side on a core.
        lane_items: Work-items of a group that a lane takes, at most.
        grid: Lanes by dimension, where a lane goes from item to item in steps of these; empty where it does not.
        tile: Items that a lane does at once.
    """

    warps: int
    beside: int
    lane_items: int
    grid: tuple[int, ...] = ()
    tile: int = 1


def context_words(kernel: Kernel, several: bool) -> int:
    """Words of a lane's context, which is longer where a lane has several work-items that wait for each other, and in
    programs with subgroups."""
    return len(CONTEXT) if kernel.meets else SEVERAL_WORDS if several else CONTEXT_WORDS


def group_bytes(program: Program, kernel: Kernel, local_bytes: int) -> int:
    """Local memory that each work-group of a core has for itself.

    Args:
        program: The kernel's.
        kernel: Which.
        local_bytes: What its `__local` arguments take.
    """
    return local_bytes + (align(program.local_bytes, 16) if kernel.local_each else 0)


def lane_grid(group: Sequence[int], lanes: int) -> tuple[int, int, int]:
    """Lanes by dimension so that each takes as few items of a group as can be, and then most in the first dimension."""
    choices = (
        (x, y, min(group[2], lanes // (x * y)))
        for x in range(1, min(group[0], lanes) + 1)
        for y in range(1, min(group[1], lanes // x) + 1)
    )
    return min(choices, key=lambda grid: (_steps(group, grid), -grid[0], math.prod(grid)))


def tile_grid(group: Sequence[int], lanes: int, tile: ItemTile) -> tuple[int, int, int] | None:
    """Lanes by dimension so that each takes whole tiles; None where the group is not of those."""
    across, over = divmod(group[0], BESIDE * tile.columns)
    if lanes < BESIDE or over or group[1] % tile.rows:
        return None
    x, y, z = lane_grid((across, group[1] // tile.rows, group[2]), lanes // BESIDE)
    return (BESIDE * x, y, z) if across % x == 0 else None


def looped_sharing(
    shape: ClusterShape, program: Program, kernel: Kernel, group: Sequence[int], groups: int, local_bytes: int
) -> LaneSharing:
    """How work-groups are shared whose kernel has loops over items: as is estimated to take the fewest cycles.

    Fewer warps a group are fewer that wait for each other, and what a lane computes for all its items is computed less
    often; but all warps should have work.
    """
    ways = list(_ways(shape, program, kernel, group, local_bytes))
    if kernel.loop_crowded:
        ways = [way for way in ways if way[0].lane_items == 1] or ways
    return min(ways, key=lambda way: (_cost(shape, way[0], groups) * way[1], way[0].warps))[0]


def _ways(
    shape: ClusterShape, program: Program, kernel: Kernel, group: Sequence[int], local_bytes: int
) -> Iterator[tuple[LaneSharing, float]]:
    """Ways to share, each with how many times as long it takes because of where rows lie."""
    own = group_bytes(program, kernel, local_bytes)
    room = shape.local_bytes - 2 * LINE_BYTES - (0 if kernel.local_each else align(program.local_bytes, 16))
    context = rows_bytes(shape.lanes, context_words(kernel, True))
    for warps in dict.fromkeys(-(-shape.warps // parts) for parts in range(shape.warps, 0, -1)):
        lanes = warps * shape.threads
        grids = [(lane_grid(group, lanes), ONE, 1.0)]
        if kernel.tile_stub and (tiled := tile_grid(group, lanes, ItemTile(*kernel.tile))):
            grids.append((tiled, ItemTile(*kernel.tile), _TILE))
        for grid, tile, longer in grids:
            needed = -(-math.prod(grid) // shape.threads)
            items = _steps((group[0], -(-group[1] // tile.rows), group[2]), grid) * tile.rows
            kept = context + rows_bytes(shape.lanes, kernel.loop_words) * items
            most = 1 if kernel.local_variables and not kernel.local_each else shape.warps // needed
            fit = min(most, (room - kept) // own) if own else most
            within = fit >= 1 and kept <= room
            beside = fit if within else max(1, min(most, room // own if own else most))
            sharing = LaneSharing(needed, beside, items, grid if items > 1 else (), tile.items)
            yield sharing, longer * (1.0 if within else _REGION)


def _cost(shape: ClusterShape, way: LaneSharing, groups: int) -> float:
    turns = -(-groups // (shape.cores * way.beside))
    return turns * (way.lane_items + _ENTRY) * max(way.beside * way.warps, min(shape.warps, _BUSY_WARPS))


def _steps(group: Sequence[int], grid: Sequence[int]) -> int:
    """Items of a group that a lane takes, at most."""
    return math.prod(-(-size // step) for size, step in zip(group, grid, strict=True))
