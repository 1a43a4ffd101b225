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
    FLAG_WALK,
    packed_id,
)
from eddy.gpu.programs.ndrange import Arrangement
from eddy.gpu.programs.signature import Kernel
from eddy.gpu.programs.walk import Walk

NO_WALK = Walk(0, 1, 1, 1, 1, 1, 1)
"""What a launch block says whose kernel does not walk."""


def cut_words(arrangement: Arrangement, places: int) -> dict[str, int]:
    """The words of the launch block that say how the ND-range fills the cluster.

    Args:
        arrangement: How it does.
        places: Work-groups that run side by side.
    """
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
    return words | (arrangement.walk or NO_WALK).words(places // arrangement.core_groups, arrangement.global_offset)


def slice_words(arrangement: Arrangement, threads: int, first: int, count: int) -> dict[str, int]:
    """The words of the launch block that say which work-groups a slice has.

    Args:
        arrangement: How the ND-range fills the cluster.
        threads: Lanes of a warp.
        first: The slice's first work-group.
        count: How many it has.
    """
    walk, end = arrangement.walk or NO_WALK, first + count
    items = walk.slice_words(arrangement.global_offset, first * threads, end * threads)
    return {"first_group": first, "group_end": end, **items}


def flags(kernel: Kernel, arrangement: Arrangement) -> int:
    """How lanes go from item to item."""
    if arrangement.walk:
        return FLAG_WALK
    several, shape = arrangement.lane_items > 1, zip(arrangement.cut_size, arrangement.local_size, strict=True)
    together = (
        FLAG_BARRIER
        | (FLAG_LOOPS if arrangement.lane_grid else FLAG_FIBERS if several else 0)
        | (FLAG_ROUNDS if kernel.early else 0)
    )
    alone = FLAG_ITEMS if several else 0
    grid = FLAG_GRID if arrangement.groups > arrangement.num_groups[0] else 0
    edge = FLAG_EDGE if any(size % part for size, part in shape) else 0
    return (together if kernel.waits else alone) | grid | edge


def local_step(arrangement: Arrangement, lanes: int) -> int:
    """From a lane's work-item of a group to its next."""
    if arrangement.lane_grid:
        return packed_id(*arrangement.lane_grid)
    row, x = divmod(lanes, arrangement.local_size[0])
    plane, y = divmod(row, arrangement.local_size[1])
    return packed_id(x, y, plane) if arrangement.lane_items > 1 else 0
