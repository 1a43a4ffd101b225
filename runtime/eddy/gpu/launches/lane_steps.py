# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How an ND-range is cut among lanes, as the launch block says it: steps from item to item and from group to group."""

from __future__ import annotations

from eddy.gpu.programs.layout import (
    FLAG_BARRIER,
    FLAG_EDGE,
    FLAG_FIBERS,
    FLAG_GRID,
    FLAG_ITEMS,
    FLAG_LOOPS,
    FLAG_ROUNDS,
    packed_id,
)
from eddy.gpu.programs.ndrange import Arrangement
from eddy.gpu.programs.signature import Kernel


def cut_words(arrangement: Arrangement, places: int, goes_along: bool) -> dict[str, int]:
    """The words of the launch block that say how the ND-range fills the cluster."""
    words = {
        **{"work_dim": arrangement.work_dim, "group_items": arrangement.active_lanes},
        **{"group_warps": arrangement.group_warps, "core_groups": arrangement.core_groups},
        "group_step": places,
    }
    for name in ("global_size", "global_offset", "local_size", "num_groups"):
        words |= {f"{name}_{k}": size for k, size in enumerate(getattr(arrangement, name))}
    for k in range(3):
        words[f"global_end_{k}"] = arrangement.global_offset[k] + arrangement.cut_size[k]
    words["fold"] = arrangement.fold
    line, words["step_0"] = divmod(places, arrangement.num_groups[0])
    layer, words["step_1"] = divmod(line, arrangement.num_groups[1])
    words["step_2"] = layer % arrangement.num_groups[2]
    # A step beyond the row is as good as none: there is no second item in it.
    along = goes_along and (line == 0 or arrangement.groups == arrangement.num_groups[0])
    words["step_x"] = places * arrangement.local_size[0] if along else 0
    return words


def flags(kernel: Kernel, arrangement: Arrangement) -> int:
    """How lanes go from item to item."""
    several, shape = arrangement.lane_items > 1, zip(arrangement.cut_size, arrangement.local_size, strict=True)
    together = (
        FLAG_BARRIER
        | (FLAG_LOOPS if arrangement.lane_grid else FLAG_FIBERS if several else 0)
        | (FLAG_ROUNDS if kernel.early else 0)
    )
    alone = FLAG_ITEMS if several else 0
    grid = FLAG_GRID if arrangement.groups > arrangement.num_groups[0] else 0
    edge = FLAG_EDGE if kernel.iterates_items or any(size % part for size, part in shape) else 0
    return (together if kernel.waits else alone) | grid | edge


def local_step(arrangement: Arrangement, lanes: int) -> int:
    """From a lane's work-item of a group to its next."""
    if arrangement.lane_grid:
        return packed_id(*arrangement.lane_grid)
    row, x = divmod(lanes, arrangement.local_size[0])
    plane, y = divmod(row, arrangement.local_size[1])
    return packed_id(x, y, plane) if arrangement.lane_items > 1 else 0
