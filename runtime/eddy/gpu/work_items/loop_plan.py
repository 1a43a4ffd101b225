# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether and how a kernel's function becomes loops over a lane's work-items: its regions, and what items keep.

A region is what items do from one barrier to the next. All items come to the same barrier or end
(`Uniformity.regular`), so the last item's way says where the group goes on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from eddy.gpu.programs.ir_function import TOKEN, IrregularFunction, defined_value, parse, reachable_blocks
from eddy.gpu.programs.ir_types import bytes_of
from eddy.gpu.programs.item_tile import ONE, TILES_BY_AXES
from eddy.gpu.work_items.item_region import ItemRegion
from eddy.gpu.work_items.live_variables import LiveVariables, Rematerialization, escaped_variables
from eddy.gpu.work_items.local_placement import PlacedFunction
from eddy.gpu.work_items.uniform import ID, IrModule, Uniformity, called_function, is_asm

MAX_BLOCKS, MAX_COPIES = 400, 1000
"""Blocks of a kernel, and of all its regions, at most."""
MAX_PRIVATE_BYTES = 64
"""Private arrays and structures that are kept over a barrier, at most; with more of them items are fibers."""
WHOLE = re.compile(r"half|float|ptr|i8|i16|i32")
"""Types of variables that are kept as they are; others are kept word by word."""


class LoopPlan:
    """A kernel's function as loops over items between its barriers.

    Args:
        own: The function, and what each work-group has for itself.
        module: What the functions do that it calls.
        named: The module's named types.

    Attributes:
        own: As given.
        function: The function's blocks and variables.
        axes: Dimensions the kernel looks at.
        regions: One for each barrier, and one for the beginning; blocks that several reach are copied.
        direct: Variables that nothing but plain loads and stores touch.
        again: What follows from an item's id and is computed again behind a barrier.
        live: Variables that are needed again, by block.
        rows: The first word and the number of words of each variable that items keep over a barrier.
        values: Every value the function defines, and its blocks.
        tile: The items that are done at once where their ways are the same.

    Raises:
        Irregular: It cannot become loops.
    """

    def __init__(self, own: PlacedFunction, module: IrModule, named: Mapping[str, str]) -> None:
        text = own.text
        if not text or "byval(" in text.partition("\n")[0]:
            raise IrregularFunction("no function of its own, or structures of its own behind parameters")
        self.own, self._module = own, module
        self.function = parse(text)
        if len(self.function.blocks) > MAX_BLOCKS:
            raise IrregularFunction("too long")
        self.axes = self._check()
        self._uniform = Uniformity(self.function, module)
        if not self._uniform.regular:
            raise IrregularFunction("barriers that not all items come to")
        blocks = self.function.blocks
        starts = [self.function.entry, *(b.targets[0] for b in blocks.values() if b.waits)]
        self.regions = [ItemRegion(blocks, start, number) for number, start in enumerate(starts)]
        if sum(len(region.names) for region in self.regions) > MAX_COPIES:
            raise IrregularFunction("too long, with what is behind each barrier")
        self.direct = self._uniform.direct
        self.again = Rematerialization(self.function, self._uniform, module)
        self.live = LiveVariables(self.function, self.direct)
        self._pointed_to = escaped_variables(self.function, self.direct)
        self.rows = self._places(named)
        self.values = set(blocks) | {defined_value(line) for block in blocks.values() for line in block.lines} - {""}
        for region in self.regions:
            region.check(self.values)
        self.tile = ONE
        self._differing: dict[str, set[str]] = {}

    def in_tiles(self) -> bool:
        """Have a tile of items done at once where they go the same ways; False where they do too seldom for that.

        Those of the other regions are done one after the other, so these should be come to once.
        """
        self.tile = tile = TILES_BY_AXES[min(self.axes, 2) - 1]
        private = set(self.function.variables) - self.direct
        for axis in tile.axes:
            if axis not in self._differing:
                found = Uniformity(self.function, self._module, axis)
                self._differing[axis] = found.varying | found.variables | private
        apart = [region for region in self.regions if not self.is_joint(region)]
        blocks = self.function.blocks
        again = (region.start in reachable_blocks(blocks, blocks[region.start].targets) for region in apart)
        # A variable that is pointed to must stay where it is, and has one place where items are done one by one.
        return len(apart) < len(self.regions) and not any(again) and not (apart and self._pointed_to)

    def axes_of(self, name: str) -> str:
        """The dimensions in which a value or variable differs among a tile's items."""
        return "".join(axis for axis in self.tile.axes if name in self._differing[axis])

    def is_joint(self, region: ItemRegion) -> bool:
        """Whether a tile's items go the same ways through a region."""
        blocks = (self.function.blocks[name] for name in region.names)
        ends = (block.lines[-1] for block in blocks if len(block.targets) > 1)
        return not any(self.axes_of(name) for end in ends for name in TOKEN.findall(end.partition("label")[0]))

    @property
    def inner(self) -> str:
        """The dimension that a lane goes along first: the second, along which its first id stays."""
        return "y" if self.axes > 1 else "x"

    @property
    def words(self) -> int:
        """Words of a row that an item keeps."""
        return sum(size for _, size in self.rows.values())

    def region_at(self, start: str) -> ItemRegion:
        """The region that begins with a block."""
        return next(region for region in self.regions if region.start == start)

    def is_uniform(self, name: str) -> bool:
        """Whether a variable is the same in all items."""
        return name in self.direct and name not in self._uniform.variables

    def changes(self, region: ItemRegion, name: str) -> bool:
        """Whether a variable may have another value behind a region than before it."""
        return name in self._pointed_to or name in (region.written if name in self.direct else region.named)

    def _check(self) -> int:
        """Refuse what reads ids otherwise; the number of dimensions the kernel looks at."""
        axes = 1
        for block in self.function.blocks.values():
            for line in block.lines:
                found = ID.search(line)
                if found:
                    axes = max(axes, int(found[2]) + 1)
                elif is_asm(line) and re.search(r"\bt6\b|\bx31\b", line):
                    raise IrregularFunction("assembly that reads ids")
                elif (name := called_function(line)) and (
                    self._module.reads_item_id(name) or self._module.reaches_barrier(name)
                ):
                    raise IrregularFunction("a function that reads ids or waits")
        return axes

    def _places(self, named: Mapping[str, str]) -> dict[str, tuple[int, int]]:
        """The first word and the number of words of each variable that items keep over a barrier."""
        rows: dict[str, tuple[int, int]] = {}
        at, private = 0, 0
        kept = set[str]().union(*(self.live.at[region.start] for region in self.regions[1:]))
        for name, kind in self.function.variables.items():
            if name not in kept or name in self.again.lines or self.is_uniform(name):
                continue
            size = bytes_of(kind, named)
            if not WHOLE.fullmatch(kind) and size % 4:
                raise IrregularFunction("a variable that is not of words")
            private += 0 if name in self.direct else size
            rows[name] = at, max(1, size // 4)
            at += rows[name][1]
        if private > MAX_PRIVATE_BYTES:
            raise IrregularFunction("private memory is kept")
        return rows
