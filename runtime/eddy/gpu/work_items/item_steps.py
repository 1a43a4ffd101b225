# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How a lane goes from one of its work-items to the next, as text."""

from __future__ import annotations

from collections.abc import Iterator

from eddy.gpu.work_items.ir_pieces import LOOP, PURE
from eddy.gpu.work_items.loop_plan import LoopPlan

AXES = "xyz"


def next_item(r: str, plan: LoopPlan) -> Iterator[str]:
    """On to the lane's next item: along a line in the inner dimension, then to its next line.

    Args:
        r: Begins the names of the region's values and blocks.
        plan: The kernel's.
    """
    yield f"{r}.step:"
    yield f"  %{r}.row.on = getelementptr i8, ptr %{r}.row, i32 %eddy.stride"
    yield f"  store ptr %{r}.row.on, ptr %eddy.row, align 4"
    yield from _advance(r, plan.inner)
    yield f"  br i1 %{r}.more.{plan.inner}, label %{r}.item, label %{r}.turn, !llvm.loop {LOOP}"
    yield f"{r}.turn:"
    yield f"  %{r}.left = load i32, ptr %eddy.left, align 4"
    yield f"  %{r}.fewer = sub i32 %{r}.left, 1"
    yield f"  store i32 %{r}.fewer, ptr %eddy.left, align 4"
    yield f"  %{r}.any = icmp ne i32 %{r}.fewer, 0"
    yield f"  br i1 %{r}.any, label %{r}.next, label %{r}.done"
    yield f"{r}.next:"
    if plan.inner == "y":
        yield from _advance(r, "x")
        # What follows from the id is computed again for each line: most groups have one, and registers are few.
        yield f"  %{r}.wrapped = select i1 %{r}.more.x, i32 %{r}.on.x, i32 %eddy.id.x"
        yield f'  %{r}.fresh = call i32 asm "", "=r,0"(i32 %{r}.wrapped) {PURE}'
        yield f"  store i32 %{r}.fresh, ptr %eddy.x, align 4"
    if plan.axes > 2:
        yield from _advance(r, "z")
        yield f"  %{r}.deeper = select i1 %{r}.more.x, i32 %{r}.at.z, i32 %{r}.on.z"
        yield f"  store i32 %{r}.deeper, ptr %eddy.z, align 4"
    yield f"  br label %{r}.line, !llvm.loop {LOOP}"
    yield f"{r}.done:"


def _advance(r: str, axis: str) -> Iterator[str]:
    yield f"  %{r}.at.{axis} = load i32, ptr %eddy.{axis}, align 4"
    yield f"  %{r}.on.{axis} = add i32 %{r}.at.{axis}, %eddy.step.{axis}"
    yield f"  store i32 %{r}.on.{axis}, ptr %eddy.{axis}, align 4"
    yield f"  %{r}.more.{axis} = icmp ult i32 %{r}.on.{axis}, %eddy.size.{axis}"
