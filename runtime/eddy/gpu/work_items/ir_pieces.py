# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Pieces of LLVM IR for what a kernel's function asks of its lane and of the launch: words, barriers, places."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eddy.gpu.programs.layout import BLOCK, CONTEXT, CONTEXT_ALIASES, ROW_BYTES
from eddy.gpu.work_items.local_placement import PlacedFunction

BODY = "__clang_ocl_kern_imp_"
"""Begins the name of a kernel's own function."""
ONCE, ITEMS, TILES = "eddy_once_", "eddy_items_", "eddy_tiles_"
"""Begin those of the function for lanes with one item, for lanes with several, and for lanes with tiles of them."""
_MADE = re.compile(rf"^(?:{BODY}|eddy_(?:call|loop|tile|join|once|items|tiles|one|pair|two|near|placed|joined)_)")
PURE = "nounwind memory(none)"
"""Attributes of what is the same whenever it is asked."""
LOOP = "!eddy_loop"
"""Stands for the number of what says that a loop is not unrolled."""
TAG = "!eddy_row"
"""Stands for the number of what says that rows are apart from what kernels read and write."""


def source_name(name: str) -> str:
    """A function's name as the source has it, from the program's."""
    return _MADE.sub("", name)


def called_as(text: str, kernel: str, name: str) -> str:
    """A text in which a kernel's function has the name that begins otherwise."""
    return text.replace(f"@{BODY}{kernel}(", f"@{name}{kernel}(")


def word(name: str) -> str:
    """The value of a word of the launch block (`BLOCK`)."""
    return f'call i32 asm "lw $0, $1(gp)", "=r,i"(i32 {4 * BLOCK.index(name)}) {PURE}'


def lane_word(name: str) -> str:
    """The value of a field of the lane's context (`CONTEXT`, `CONTEXT_ALIASES`)."""
    at = ROW_BYTES * CONTEXT.index(CONTEXT_ALIASES.get(name, name))
    return f'call i32 asm "lw $0, $1(tp)", "=r,i"(i32 {at}) {PURE}'


BAR = (
    f"  %eddy.place{{n}} = {lane_word('barrier')}\n  %eddy.warps{{n}} = {word('group_warps')}\n"
    '  call void asm sideeffect ".insn r 0x0b, 4, 0, x0, $0, $1", "r,r,~{{memory}}"'
    "(i32 %eddy.place{n}, i32 %eddy.warps{n}) convergent nounwind"
)
"""A barrier of a lane with one item, or behind the loop over its items."""


def bases(own: PlacedFunction) -> Iterator[str]:
    """Where the work-group's own `__local` variables lie."""
    if own.names:
        yield f"  %eddy.place = {lane_word('barrier')}"
        yield f"  %eddy.span = {word('local_stride')}"
        yield "  %eddy.base = mul i32 %eddy.place, %eddy.span"
    for value, name in own.names.items():
        yield f"  {value} = getelementptr i8, ptr {name}, i32 %eddy.base"
