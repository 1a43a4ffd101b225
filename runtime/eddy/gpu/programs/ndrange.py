# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""ND-ranges: which work-items there are, how they form work-groups, how these fill a cluster, and slices of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral

from eddy.core.errors import InvalidRequest
from eddy.core.profiles import LaunchShape
from eddy.core.units import format_bytes
from eddy.gpu.programs.layout import LINE_BYTES, MAX_GROUP_ITEMS, align, rows_bytes
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.sharing import LaneSharing, context_words, looped_sharing
from eddy.gpu.programs.signature import Kernel
from eddy.gpu.programs.walk import Walk, choose_walk, least_cost

Sizes = tuple[int, int, int]
"""One number for each dimension."""
MAX_ITEMS = 1 << 31
MAX_GROUP_DEPTH = 256
"""Work-items of a work-group in the third dimension, at most."""
_JOINED = 1.5
"""How many times as long two neighbours take as one."""


@dataclass(frozen=True, slots=True)
class Local:
    """Argument for a `__local` pointer: so many bytes for each work-group."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Arrangement:
    """An ND-range on a cluster.

    Attributes:
        work_dim: Dimensions, 1 to 3.
        global_size, global_offset, local_size, num_groups: By dimension, always three.
        group_warps: Warps a work-group takes.
        lane_items: Work-items of a group that a lane takes, at most.
        core_groups: Work-groups side by side on a core.
        local_bytes: Local memory that the `__local` arguments of a work-group take.
        fold: Rows from a work-item to the second that its lane does with it; 0 where it does none.
        join: Whether a lane does two neighbours of the first dimension at once.
        lane_grid: Lanes by dimension, where a lane goes from item to item in steps of these; empty where it does not.
        walk: How lanes go from item to item where groups mean nothing to the kernel: a group is so many lanes then,
            and counts in the order of the walk.
        tile: Work-items of a group that a lane does at once.
    """

    work_dim: int
    global_size: Sizes
    global_offset: Sizes
    local_size: Sizes
    num_groups: Sizes
    group_warps: int
    core_groups: int
    local_bytes: int = 0
    lane_items: int = 1
    lane_grid: tuple[int, ...] = ()
    fold: int = 0
    walk: Walk | None = None
    join: bool = False
    tile: int = 1

    @property
    def group_items(self) -> int:
        """Work-items of a work-group."""
        return math.prod(self.local_size)

    @property
    def cut_size(self) -> tuple[int, int, int]:
        """The global size as it is cut into work-groups: where it is folded, the first half of its rows, and where it
        is joined, as many columns as there are pairs."""
        return _cut(self.global_size, self.fold, self.join)

    @property
    def active_lanes(self) -> int:
        """Lanes that share a work-group, and work-items where those are less."""
        return math.prod(self.lane_grid) if self.lane_grid else self.group_items

    @property
    def groups(self) -> int:
        """Work-groups in all."""
        return math.prod(self.num_groups)

    def launch_shape(self, threads: int) -> LaunchShape:
        """How it fills the lanes of a core, where a warp has so many."""
        items = math.prod(self.cut_size)
        places = self.groups * self.group_warps * threads * self.lane_items
        warps = min(self.core_groups, self.groups) * self.group_warps
        sizes = self.global_size[: self.work_dim], self.local_size[: self.work_dim]
        return LaunchShape(*sizes, min(items / places, 1.0), warps)


def arrange_ndrange(
    shape: ClusterShape,
    program: Program,
    kernel: str,
    global_size: Sequence[int],
    arguments: Sequence[object] = (),
    *,
    local_size: Sequence[int] | None = None,
    offset: Sequence[int] | None = None,
) -> Arrangement:
    """How a launch fills a cluster.

    Args:
        shape: The cluster.
        program: The kernel's program.
        kernel: Name of the kernel.
        global_size: Work-items by dimension.
        arguments: The kernel's; only those of type `Local` matter here.
        local_size: Work-group size by dimension; None for what suits the cluster.
        offset: What `get_global_id` counts from; None for zeros.

    Raises:
        InvalidRequest: A size is not possible, and the message says what is; or the cluster has no FPU.
        NotFound: The program has no such kernel.
    """
    found = program.kernel(kernel)
    if program.fpu and not shape.fpu:
        raise InvalidRequest("The program needs an FPU; compile it with fpu=False for this cluster.", field="fpu")
    if found.subgroup_size not in (0, shape.threads):
        asked, has = found.subgroup_size, shape.threads
        message = f"Kernel {kernel!r} requires subgroups of {asked} work-items; a warp of this cluster has {has}."
        raise InvalidRequest(message, field="kernel", asked=asked, allowed=has)
    dimensions = len(global_size)
    whole, start = _range(global_size, offset)
    group = _group(shape, found, whole, local_size, dimensions)
    _check_group(group)
    fold, join, walk = 0, False, None
    counts: tuple[int, ...] = tuple(-(-size // part) for size, part in zip(whole, group, strict=True))
    if found.iterates_items:
        # Nothing the kernel does depends on its work-groups.
        fold = _fold(shape, found, whole)
        join = _joins(shape, found, whole, fold)
        walk = choose_walk(shape, _cut(whole, fold, join), found)
        group, counts = (shape.threads, 1, 1), (-(-walk.items // shape.threads), 1, 1)
    local = align(sum(align(value.bytes, 16) for value in arguments if isinstance(value, Local)), 16)
    shared = _shared(shape, program, found, group, math.prod(counts), local)
    groups = (counts[0], counts[1], counts[2])
    lanes = (shared.warps, shared.beside, local, shared.lane_items, shared.grid)
    return Arrangement(dimensions, whole, start, group, groups, *lanes, fold, walk, join, shared.tile)


def _range(global_size: Sequence[int], offset: Sequence[int] | None) -> tuple[Sizes, Sizes]:
    """Work-items by dimension, and what their ids count from, with all three dimensions."""
    dimensions = len(global_size)
    _check_whole(global_size, "global_size")
    if not 1 <= dimensions <= 3 or any(size < 1 for size in global_size) or math.prod(global_size) > MAX_ITEMS:
        message = f"A global size has 1 to 3 dimensions of at least 1 and {MAX_ITEMS} work-items at most."
        raise InvalidRequest(message, field="global_size", allowed=f"1 to 3 sizes, product at most {MAX_ITEMS}")
    start = _three(offset or (0,) * dimensions, dimensions, "offset", 0)
    if any(first + size > MAX_ITEMS for first, size in zip(start, global_size, strict=False)):
        raise InvalidRequest(f"Global ids stay below {MAX_ITEMS}.", field="offset", allowed=f"below {MAX_ITEMS}")
    return _three(global_size, dimensions, "global_size", 1), start


def _check_whole(sizes: Sequence[int], field: str) -> None:
    """Refuse what is no whole number, of which a part would be left out."""
    wrong = [size for size in sizes if not isinstance(size, Integral)]
    if wrong:
        raise InvalidRequest(
            f"{field} has {wrong[0]!r}; sizes are whole numbers.", field=field, allowed="whole numbers"
        )


def _check_group(group: Sizes) -> None:
    """Refuse a work-group that no core holds."""
    items = math.prod(group)
    if items > MAX_GROUP_ITEMS or group[2] > MAX_GROUP_DEPTH:
        most = f"{MAX_GROUP_ITEMS} work-items, and {MAX_GROUP_DEPTH} in the third dimension"
        message = (
            f"A work-group of {items} work-items, {' x '.join(map(str, group))}, is too large: it has at most {most}."
        )
        raise InvalidRequest(message, field="local_size", asked=items, allowed=MAX_GROUP_ITEMS)


def _fold(shape: ClusterShape, kernel: Kernel, whole: Sizes) -> int:
    """Half the rows, where a lane does items of two and all lanes have some then; or 0."""
    half = -(-whole[1] // 2)
    return half if kernel.folds and half < whole[1] and whole[0] * half * whole[2] >= shape.cores * shape.lanes else 0


def _joins(shape: ClusterShape, kernel: Kernel, whole: Sizes, fold: int) -> bool:
    """Whether a lane does two neighbours at once, since that is estimated to take less time."""
    if not kernel.join_stub or (kernel.folds and not fold) or whole[0] % 2:
        return False
    apart, joined = (_cut(whole, fold, join) for join in (False, True))
    if math.prod(joined) < shape.cores * shape.lanes:
        return False
    return _JOINED * least_cost(shape, joined, kernel) < least_cost(shape, apart, kernel)


def _cut(whole: Sizes, fold: int, join: bool) -> Sizes:
    """A global size as lanes go through it."""
    return whole[0] // 2 if join else whole[0], fold or whole[1], whole[2]


def slices(arrangement: Arrangement, most: int | None) -> Iterator[tuple[int, int]]:
    """First work-group and number of work-groups of each slice; one slice where `most` is None."""
    step = arrangement.groups if most is None else max(1, most)
    for first in range(0, arrangement.groups, step):
        yield first, min(step, arrangement.groups - first)


def _three(sizes: Sequence[int], dimensions: int, field: str, least: int) -> Sizes:
    _check_whole(sizes, field)
    if len(sizes) != dimensions or any(not least <= size < 1 << 32 for size in sizes):
        message = f"{field} must have {dimensions} values of at least {least}, like the global size."
        raise InvalidRequest(message, field=field, allowed=f"{dimensions} values from {least}")
    filled = (*(int(size) for size in sizes), *([1 if least else 0] * (3 - dimensions)))
    return filled[0], filled[1], filled[2]


def _group(
    shape: ClusterShape,
    kernel: Kernel,
    whole: Sizes,
    local_size: Sequence[int] | None,
    dimensions: int,
) -> Sizes:
    required = kernel.group_size[:dimensions]
    if required:
        if local_size is not None and tuple(local_size) != required:
            message = f"Kernel {kernel.name!r} requires work-groups of {required}."
            raise InvalidRequest(message, field="local_size", allowed=required)
        local_size = required
    if local_size is None:
        return _suitable(shape, kernel, whole)
    group = _three(local_size, dimensions, "local_size", 1)
    if any(size % part for size, part in zip(whole, group, strict=True)):
        message = f"The global size {whole[:dimensions]} is not a multiple of the local size {group[:dimensions]}."
        raise InvalidRequest(message, field="local_size", allowed="divisors of the global size")
    return group


def _suitable(shape: ClusterShape, kernel: Kernel, whole: Sizes) -> Sizes:
    """A warp's worth where work-items are independent; the most that divides where they wait for each other."""
    if kernel.waits:
        return max(part for part in range(1, min(shape.lanes, whole[0]) + 1) if whole[0] % part == 0), 1, 1
    first = min(whole[0], shape.threads)
    return first, min(whole[1], shape.threads // first), 1


def _shared(
    shape: ClusterShape, program: Program, kernel: Kernel, group: Sizes, groups: int, local: int
) -> LaneSharing:
    """How lanes share work-groups; a core runs as many at once as warps and local memory allow.

    The lanes' contexts lie in local memory if the kernel leaves them room there.
    """
    most = shape.local_bytes - LINE_BYTES
    room = most - program.local_bytes
    if room < local:
        asked = program.local_bytes + local
        message = (
            f"The kernel uses {format_bytes(asked)} of local memory for a work-group; this cluster has"
            f" {format_bytes(max(0, most))}."
        )
        raise InvalidRequest(message, field="local_memory", asked=asked, allowed=max(0, most))
    if kernel.loop_stub:
        return looped_sharing(shape, program, kernel, group, groups, local)
    items = math.prod(group)
    warps = min(shape.warps, -(-items // shape.threads))
    lane_items = -(-items // (warps * shape.threads))
    several = kernel.waits and lane_items > 1
    if kernel.local_variables or several:
        return LaneSharing(warps, 1, lane_items)
    fit = shape.warps // warps
    beside = room - rows_bytes(shape.lanes, context_words(kernel, several))
    return LaneSharing(warps, min(fit, (beside if beside >= local else room) // local) if local else fit, lane_items)
