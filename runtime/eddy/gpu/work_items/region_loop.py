# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A region of a kernel's function as text: a loop over a lane's work-items, from one barrier to the next.

Uniform variables begin each item as they were before the region; what an item has of its own lies in its row while
others run. A round does a tile of items: each instruction for all of them where they go the same ways, otherwise one
item after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from eddy.gpu.programs.ir_function import TOKEN, defined_value, lifetime, plain_store
from eddy.gpu.programs.item_tile import BESIDE, ONE
from eddy.gpu.programs.layout import ROW_BYTES
from eddy.gpu.work_items.ir_pieces import BAR, LOOP, TAG
from eddy.gpu.work_items.item_region import PHI_WAY, ItemRegion
from eddy.gpu.work_items.item_steps import AXES, next_item
from eddy.gpu.work_items.loop_plan import WHOLE, LoopPlan
from eddy.gpu.work_items.uniform import ID

_DIGITS = re.compile(r"%\d+\Z")
_ENDS = ("br", "switch", "ret", "unreachable")


def rename_values(
    line: str, values: Collection[str], suffix: str, own: Callable[[str], str] = lambda name: name
) -> str:
    """A line with a function's values as one region has them; parameters without a name get one.

    Args:
        line: What is renamed.
        values: The function's.
        suffix: Ends the region's names; "" leaves values as they are.
        own: Gives what stands for a value or variable.
    """

    def one(found: re.Match[str]) -> str:
        name = found[0]
        if name in values:
            return f"%v{own(name)[1:]}{suffix}" if suffix else name
        return f"%eddy.p{name[1:]}" if _DIGITS.match(name) else own(name)

    return TOKEN.sub(one, line)


def item_name(name: str, place: Mapping[str, int]) -> str:
    """What stands for a value or variable of one of a tile's items: its own name for the first of them."""
    return f"{name}.eddy{''.join(f'.{axis}{at}' for axis, at in place.items())}" if any(place.values()) else name


class RegionLoop:
    """What items do from one barrier on, as a loop.

    Args:
        plan: The kernel's.
        region: One of its regions.
    """

    def __init__(self, plan: LoopPlan, region: ItemRegion) -> None:
        self._plan, self._region = plan, region
        self._label = f"r{region.number}"
        self._joint = plan.is_joint(region)
        self._each = plan.tile != ONE and not self._joint

    def lines(self) -> Iterator[str]:
        """Its text."""
        plan, r = self._plan, self._label
        uniform = [
            name
            for name in plan.function.variables
            if name in self._region.written and plan.is_uniform(name) and name in plan.live.at[self._region.start]
        ]
        kinds = plan.function.variables
        yield f"{r}.start:"
        for k, name in enumerate(uniform):
            yield f"  %{r}.same{k} = load {kinds[name]}, ptr {name}, align {_align(kinds[name])}"
        for axis in AXES:
            yield f"  store i32 %eddy.id.{axis}, ptr %eddy.{axis}, align 4"
        yield "  store ptr %eddy.first.row, ptr %eddy.row, align 4"
        yield "  store i32 %eddy.lines, ptr %eddy.left, align 4"
        yield f"  br label %{r}.line"
        yield f"{r}.line:"
        yield f"  store i32 %eddy.id.{plan.inner}, ptr %eddy.{plan.inner}, align 4"
        yield f"  br label %{r}.item"
        yield f"{r}.item:"
        for axis in AXES:
            yield f"  %{r}.{axis} = load i32, ptr %eddy.{axis}, align 4"
        yield f"  %{r}.row = load ptr, ptr %eddy.row, align 4"
        yield from self._places()
        for k, name in enumerate(uniform):
            yield f"  store {kinds[name]} %{r}.same{k}, ptr {name}, align {_align(kinds[name])}"
        if self._region.number:
            yield from self._taken()
        yield f"  br label {self._renamed(self._region.start)}"
        for name in self._region.names:
            yield f"{self._renamed(name)[1:]}:"
            yield from self._block(name)
        for k, end in enumerate(self._region.ends):
            yield f"{r}.out{k}:"
            if end:
                yield from self._kept(end)
            if len(self._region.ends) > 1:
                yield f"  store i32 {k}, ptr %eddy.next, align 4"
            yield f"  br label %{r}.{'part' if self._each else 'step'}"
        if self._region.ends:
            yield from self._next_part()
            yield from next_item(self._label, plan)
            yield from self._leave()

    def _places(self) -> Iterator[str]:
        """Ids and rows of a tile's items; or, where they are done one after the other, of the one whose turn it is."""
        plan, r, tile = self._plan, self._label, self._plan.tile
        if self._joint:
            for at in range(1, tile.columns):
                yield f"  %{r}.x{at} = add i32 %{r}.x, {at * BESIDE}"
            for at in range(1, tile.rows):
                yield f"  %{r}.y{at} = add i32 %{r}.y, {at}"
        elif self._each:
            yield "  store i32 0, ptr %eddy.part, align 4"
            yield f"  br label %{r}.each"
            yield f"{r}.each:"
            yield f"  %{r}.number = load i32, ptr %eddy.part, align 4"
            yield f"  %{r}.column = udiv i32 %{r}.number, {tile.rows}"
            yield f"  %{r}.below = urem i32 %{r}.number, {tile.rows}"
            yield f"  %{r}.ahead = mul i32 %{r}.column, {BESIDE}"
            yield f"  %{r}.own.x = add i32 %{r}.x, %{r}.ahead"
            yield f"  %{r}.own.y = add i32 %{r}.y, %{r}.below"
            yield f"  %{r}.own.z = add i32 %{r}.z, 0"
            yield f"  %{r}.down = mul i32 %{r}.number, {ROW_BYTES * plan.words}"
            yield f"  %{r}.own.row = getelementptr i8, ptr %{r}.row, i32 %{r}.down"

    def _next_part(self) -> Iterator[str]:
        if self._each:
            r = self._label
            yield f"{r}.part:"
            yield f"  %{r}.number.on = add i32 %{r}.number, 1"
            yield f"  store i32 %{r}.number.on, ptr %eddy.part, align 4"
            yield f"  %{r}.number.more = icmp ult i32 %{r}.number.on, {self._plan.tile.items}"
            yield f"  br i1 %{r}.number.more, label %{r}.each, label %{r}.step, !llvm.loop {LOOP}"

    def _axes_of(self, name: str) -> str:
        return self._plan.axes_of(name) if self._joint else ""

    def _taken(self) -> Iterator[str]:
        """An item's variables as they were."""
        plan, r = self._plan, self._label
        live = plan.live.at[self._region.start]
        for line in plan.again.needed(live):
            yield from self._repeated(line, f".{r}.again")
        for name in plan.rows:
            if name in live:
                for place in plan.tile.each(self._axes_of(name)):
                    yield from self._copy(name, f"{r}.take", place, True)

    def _kept(self, end: str) -> Iterator[str]:
        """An item's variables that may have changed and that are needed again."""
        plan = self._plan
        for name in plan.rows:
            if name in plan.live.at[end] and plan.changes(self._region, name):
                for place in plan.tile.each(plan.tile.axes if self._joint else ""):
                    yield from self._copy(name, f"{self._label}.keep{self._region.ends.index(end)}", place, False)

    def _copy(self, name: str, label: str, place: Mapping[str, int], take: bool) -> Iterator[str]:
        at, words = self._plan.rows[name]
        kind = self._plan.function.variables[name]
        whole = bool(WHOLE.fullmatch(kind))
        own = item_name(name, {axis: place[axis] for axis in self._axes_of(name)})
        at += self._plan.words * self._plan.tile.number(place)
        for k in range(words):
            value, here, there = (f"%{label}.{at + k}.{what}" for what in ("value", "here", "there"))
            row = f"%{self._label}.{'own.' if self._each else ''}row"
            yield f"  {there} = getelementptr i8, ptr {row}, i32 {ROW_BYTES * (at + k)}"
            yield f"  {here} = getelementptr i8, ptr {own}, i32 {4 * k}"
            moved = kind if whole else "i32"
            align = _align(moved)
            here, there = f"ptr {here}, align {align}", f"ptr {there}, align {align}, !tbaa {TAG}"
            yield f"  {value} = load {moved}, {there if take else here}"
            yield f"  store {moved} {value}, {here if take else there}"

    def _block(self, name: str) -> Iterator[str]:
        block, r = self._plan.function.blocks[name], self._label
        end = self._region.end(name)
        lines = block.lines if end is None or block.waits else block.lines[:-1]
        for line in lines:
            if lifetime(line)[1]:
                continue
            if " = phi " in line:
                line = self._phi(line)
            yield from self._repeated(line, f".{r}")
        if end is not None:
            yield f"  br label %{r}.out{self._region.ends.index(end)}"

    def _phi(self, line: str) -> str:
        """Without the ways that do not come from the region."""
        head, _, _ = line.partition("[")
        ways = [f"[ {value}, {at} ]" for value, at in PHI_WAY.findall(line) if at in self._region.names]
        return head + ", ".join(ways)

    def _repeated(self, line: str, suffix: str) -> Iterator[str]:
        """An instruction once for each of a tile's items that differ in it."""
        to = plain_store(line)[1]
        of = to if to in self._plan.direct else defined_value(line)
        whole = self._plan.tile.axes if self._joint and line.lstrip().split()[0] not in _ENDS else ""
        for place in self._plan.tile.each(self._axes_of(of) if of else whole):
            yield self._line(self._named(line, suffix, place), place)

    def _line(self, line: str, place: Mapping[str, int]) -> str:
        """An instruction, an id as this item has it."""
        found = ID.search(line)
        if not found:
            return line
        value, axis = defined_value(line), int(found[2])
        if axis > 2:
            return f"  {value} = add i32 0, 0"
        own = f"%{self._label}.{'own.' if self._each else ''}{AXES[axis]}{place.get(found[2]) or ''}"
        return f"  {value} = add i32 {own}, {'0' if found[1] == 'local' else f'%eddy.start.{AXES[axis]}'}"

    def _leave(self) -> Iterator[str]:
        """Where the group goes on: where its items came to."""
        r, last = self._label, len(self._region.ends) - 1
        for k, end in enumerate(self._region.ends):
            if k < last:
                yield f"  %{r}.next{k} = load i32, ptr %eddy.next, align 4"
                yield f"  %{r}.is{k} = icmp eq i32 %{r}.next{k}, {k}"
                yield f"  br i1 %{r}.is{k}, label %{r}.to{k}, label %{r}.not{k}"
                yield f"{r}.to{k}:"
            yield from self._go(end, f".{r}.{k}")
            if k < last:
                yield f"{r}.not{k}:"

    def _go(self, end: str, label: str) -> Iterator[str]:
        if not end:
            yield "  ret void"
            return
        yield BAR.format(n=label)
        yield f"  br label %r{self._plan.region_at(end).number}.start"

    def _renamed(self, line: str) -> str:
        return rename_values(line, self._plan.values, f".r{self._region.number}")

    def _named(self, line: str, suffix: str, place: Mapping[str, int]) -> str:
        """A line with values and variables of one of a tile's items; of the first where they do not differ."""
        plan = self._plan

        def own(name: str) -> str:
            return item_name(name, {axis: place.get(axis, 0) for axis in self._axes_of(name)})

        return rename_values(line, plan.values, suffix, own)


def _align(kind: str) -> int:
    return {"i8": 1, "i16": 2}.get(kind, 4)
