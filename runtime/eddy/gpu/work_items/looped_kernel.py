# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel's function with loops over a lane's work-items between its barriers, as text."""

from __future__ import annotations

from collections.abc import Iterator

from eddy.gpu.programs.ir_function import defined_value
from eddy.gpu.programs.item_tile import BESIDE, ONE
from eddy.gpu.programs.layout import LOCAL_BITS
from eddy.gpu.work_items.ir_pieces import ITEMS, PURE, TILES, bases, called_as, lane_word, word
from eddy.gpu.work_items.item_steps import AXES
from eddy.gpu.work_items.loop_plan import LoopPlan
from eddy.gpu.work_items.region_loop import RegionLoop, item_name, rename_values


def looped_kernel(kernel: str, plan: LoopPlan) -> str:
    """The function of a kernel with a loop for each region.

    Args:
        kernel: Its name in the source.
        plan: Of its function.
    """
    head = called_as(plan.function.head, kernel, ITEMS if plan.tile == ONE else TILES)
    lines = [*_begin(plan), *(line for region in plan.regions for line in RegionLoop(plan, region).lines())]
    return "\n".join([rename_values(head, plan.values, ""), *lines, "}", ""])


def _begin(plan: LoopPlan) -> Iterator[str]:
    """An item's id and place, the sizes of the launch, and where the lane's rows lie."""
    tile = plan.tile
    yield "entry:"
    yield from plan.function.beginning
    for line in plan.function.beginning:
        name = defined_value(line)
        for place in tile.each(plan.axes_of(name)):
            if any(place.values()):
                yield line.replace(name, item_name(name, place), 1)
    for axis in AXES:
        yield f"  %eddy.{axis} = alloca i32, align 4"
    yield "  %eddy.row = alloca ptr, align 4"
    yield "  %eddy.next = alloca i32, align 4"
    yield "  %eddy.left = alloca i32, align 4"
    yield "  %eddy.part = alloca i32, align 4"
    yield f'  %eddy.id = call i32 asm "mv $0, t6", "=r"() {PURE}'
    yield f"  %eddy.step = {word('local_step')}"
    mask = (1 << LOCAL_BITS) - 1
    for what in ("id", "step"):
        for k, axis in enumerate(AXES):
            yield f"  %eddy.{what}.s{axis} = lshr i32 %eddy.{what}, {LOCAL_BITS * k}"
            yield f"  %eddy.{what}.m{axis} = and i32 %eddy.{what}.s{axis}, {mask}"
    yield f"  %eddy.beside = lshr i32 %eddy.id.mx, {BESIDE.bit_length() - 1}"
    yield f"  %eddy.others = mul i32 %eddy.beside, {BESIDE * (tile.columns - 1)}"
    yield "  %eddy.id.x = add i32 %eddy.id.mx, %eddy.others"
    yield f"  %eddy.id.y = mul i32 %eddy.id.my, {tile.rows}"
    yield "  %eddy.id.z = add i32 %eddy.id.mz, 0"
    for axis, hop in zip(AXES, (tile.columns, tile.rows, 1), strict=True):
        yield f"  %eddy.step.{axis} = mul i32 %eddy.step.m{axis}, {hop}"
    for k, axis in enumerate(AXES):
        yield f"  %eddy.size.{axis} = {word(f'local_size_{k}')}"
        yield f"  %eddy.start.{axis} = {lane_word(f'start_{k}')}"
    yield f"  %eddy.first.word = {lane_word('first')}"
    yield "  %eddy.first.row = inttoptr i32 %eddy.first.word to ptr"
    yield f"  %eddy.lanes.lines = {lane_word('lines' if plan.inner == 'y' else 'columns')}"
    across = tile.columns if plan.inner == "y" else 1
    yield f"  %eddy.lines = lshr i32 %eddy.lanes.lines, {across.bit_length() - 1}"
    yield f"  %eddy.stride = {word('fiber_stride')}"
    yield from bases(plan.own)
    yield "  br label %r0.start"
