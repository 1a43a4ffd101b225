# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where things lie in a kernel's memory: the one place that says so.

Python packs launches by these tables, and `c_header` turns them into the C header of the device library, so that both
sides change together. All words are 32 bits, little endian.

A launch owns one region of memory, seen by the cores at `REGION_BASE`::

    program | launch block | arguments | buffers ... | stacks | logs

Local memory of a core, at `LOCAL_BASE`: the kernel's `__local` variables, then its `__local` arguments, and at the top
the *context* of every lane (`CONTEXT`), one row of 64 bytes a field and 16 lanes, so that a warp reads a field at once,
and one line of round numbers, a word for each work-group of the core. Where the kernel leaves no room, contexts lie in
the region.

A work-group larger than a core runs as *fibers*: a lane takes several of its work-items in turn. What a fiber keeps
while another runs lies in rows too (`FIBER`, then the registers its program uses), in local memory where they fit.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping

REGION_BASE = 0x8000_0000
"""First address of a launch's region; programs are linked to it."""
LOCAL_BASE = 0xFFFF_0000
"""First address of a core's local memory."""

BLOCK: tuple[str, ...] = (
    "magic",  # BLOCK_MAGIC
    "entry",  # the kernel's stub
    "arguments",  # address of the packed arguments
    "work_dim",
    *("global_size_0", "global_size_1", "global_size_2"),
    *("global_offset_0", "global_offset_1", "global_offset_2"),
    *("local_size_0", "local_size_1", "local_size_2"),
    *("num_groups_0", "num_groups_1", "num_groups_2"),
    "first_group",  # linear index of the slice's first work-group
    "group_end",  # one past its last
    "group_step",  # from one work-group of a place to its next: places of all cores
    *("step_0", "step_1", "step_2"),  # the same by dimension
    # A walk (`eddy.gpu.programs.walk`), where a stub goes from item to item by itself:
    "walk_axis",  # the dimension that lanes go along
    "walk_step",  # from a lane's item to its next one of a line
    "walk_length",  # items of a line, and what fills it up so that no warp is in two
    "walk_length_end",  # one past the id of the last of them
    "walk_end",  # one past the last id in it
    "walk_lanes",  # lanes of a core
    "walk_share",  # those of them that share a line
    "walk_side",  # lines side by side
    "walk_strips",  # how often so many lines lie side by side
    "walk_width",  # lines of all strips
    "walk_width_end",  # one past the id of the last of them
    "walk_inside_end",  # the same of those that are in the ND-range
    *("walk_step_1", "walk_step_2"),  # from item to item, by dimension
    *("walk_back_1", "walk_back_2"),  # from a line's end to its beginning
    *("walk_deep_1", "walk_deep_2"),  # from plane to plane
    "walk_first",  # the slice's first item, in the order of the walk
    "walk_count",  # how many it has
    "walk_last_lane",  # which lane of a core has the last of them
    *("walk_line_more", "walk_last_more"),  # the last line of lanes up to that, and one past the last id in it
    *("walk_line_less", "walk_last_less"),  # the same of the lanes behind it
    *("global_end_0", "global_end_1", "global_end_2"),  # one past the last global id
    "group_items",  # work-items of a work-group
    "group_warps",  # warps one work-group takes
    "core_groups",  # work-groups a core runs side by side
    "core_stride",  # from the first work-group of a core to the next core's
    "place_stride",  # from the first work-group of a place to the next place's, in the same core
    "flags",  # FLAG_BARRIER and the others
    "context_base",  # of the first core's lanes
    "context_core",  # bytes from one core's to the next one's; 0 in local memory
    "context_rows",  # bytes of 16 lanes' contexts
    "rounds",  # in local memory: the number of a round of barriers, by group slot
    "local_step",  # from a lane's work-item of a group to its next: a packed local id
    "place_lanes",  # lanes that share a work-group
    "fiber_base",  # rows of the first core's fibers
    "fiber_core",  # bytes from one core's rows to the next one's; 0 in local memory
    "fiber_stride",  # bytes from a lane's fiber to its next
    "fold",  # rows from a work-item to the second that it does, where the second dimension is folded; or 0
    "fiber_way",  # which of the program's ways of keeping a fiber's registers
    "local_stride",  # bytes of __local arguments of one work-group
    "stack_base",  # of the first core's stacks, the lowest address
    "stack_core",  # bytes from one core's to the next one's; 0 in local memory
    "stack_stride",  # bytes from one work-item's stack to the next
    "lane_stack",  # the same from lane to lane
    "log_base",  # logs of all lanes; 0 where the kernel prints nothing
    "log_stride",  # bytes of one lane's log, its first word included
)
"""The words of the launch block, whose address is in mscratch (and, while a kernel runs, in gp)."""

BLOCK_MAGIC = 0x31444547
FLAG_BARRIER = 1
"""The kernel has barriers or local memory: a work-group's lanes go on together."""
FLAG_ITEMS = 2
"""Work-items are independent, and a lane takes several of each group, one after the other."""
FLAG_FIBERS = 4
"""Work-items of a group wait for each other, and a lane has several of them."""
FLAG_ROUNDS = 8
"""Work-items may return before a barrier that others still come to: rounds are counted."""
FLAG_GRID = 16
"""There is more than one row of work-groups."""
FLAG_EDGE = 32
"""Work-groups may be cut off at the edge of the ND-range."""
FLAG_LOOPS = 64
"""Work-items of a group wait for each other, and the stub goes from item to item between barriers."""
FLAG_WALK = 128
"""Work-items are independent and do not look at their groups: the stub goes from item to item by itself."""
MAX_GROUP_ITEMS = 1024
"""Work-items of a work-group, at most."""
LOCAL_BITS = 11
"""Bits of a dimension in a packed local id, which t6 holds."""

CONTEXT: tuple[str, ...] = (
    *("start_0", "start_1", "start_2"),  # global id of the work-group's first item
    *("group_id_0", "group_id_1", "group_id_2"),
    "group",  # linear index of the work-group
    "stack",  # top of the lane's stack
    "local",  # packed local id of the lane's first work-item of a group
    "barrier",  # which of the core's places for work-groups; bit 31 where a lane has several work-items
    "round",  # of barriers, so far
    *("fiber", "first", "last"),  # rows of the running, first and last fiber
    *("fibers", "live"),  # of the lane, and those that have not returned
    "meeting",  # where the lane waits for others of its warp: a place's number, MEETING_TURN, MEETING_OUT; 0: it runs
)
"""Fields of a lane's context; tp points to the lane's word in the first row."""
CONTEXT_ALIASES = {
    **{"walk_lines": "group_id_0", "walk_last": "group_id_1", "walks": "group_id_2"},
    **{"lines": "fibers", "columns": "live"},
}
"""How many lines a walk has behind its first, where its last one ends, and whether there is any item. How often a stub
that goes from item to item of a group goes along the second dimension, or along the first."""
CONTEXT_WORDS = CONTEXT.index("fiber")
"""Fields of a lane with one work-item of a group at a time."""
SEVERAL_WORDS = CONTEXT.index("meeting")
"""Those of one with several that wait for each other; programs with subgroups have all."""
MEETING_TURN, MEETING_OUT = -2, -1
"""Waits to go on to its next item; waits for its whole work-group, or has returned. Behind every place."""

FIBER: tuple[str, ...] = ("resume", "stack", "local")
"""What every fiber keeps: where it goes on, its stack pointer, its packed local id; registers follow."""

ROW_LANES = 16
ROW_BYTES = 4 * ROW_LANES
LINE_BYTES = 64
STACK_BYTES = 2048
"""Stack of one lane, at least."""
MAX_STACK_BYTES = 256 << 10
"""Stack of one lane, at most: private variables, and what called functions need beside them."""
LOG_WORDS = ("length", "format", "global_id_0", "global_id_1", "global_id_2")
"""Head of a printf record; `length` counts the record's bytes, the arguments follow."""


def align(value: int, to: int = LINE_BYTES) -> int:
    """The next multiple of `to`."""
    return -(-value // to) * to


def stack_stride(stack_bytes: int) -> int:
    """Bytes from stack to stack: an odd number of cache lines, so that the lanes' stacks fall into different sets."""
    lines = align(stack_bytes) // LINE_BYTES
    return (lines | 1) * LINE_BYTES


def rows_bytes(lanes: int, words: int) -> int:
    """Bytes that so many words of each of a core's lanes take."""
    return -(-lanes // ROW_LANES) * words * ROW_BYTES


def packed_id(x: int, y: int, z: int) -> int:
    """A local id in one word."""
    return x | y << LOCAL_BITS | z << 2 * LOCAL_BITS


def pack_block(values: Mapping[str, int]) -> bytes:
    """The launch block as the cores read it.

    Raises:
        KeyError: A word is missing.
    """
    return struct.pack(f"<{len(BLOCK)}I", *(values[name] & 0xFFFF_FFFF for name in BLOCK))


def c_header() -> str:
    """The tables as C macros: byte offsets in the block (EDDY_<NAME>) and in the context (EDDY_CTX_<NAME>)."""
    lines = [f"#define EDDY_{name.upper()} {4 * k}" for k, name in enumerate(BLOCK)]
    lines += [f"#define EDDY_CTX_{name.upper()} {ROW_BYTES * k}" for k, name in enumerate(CONTEXT)]
    lines += [f"#define EDDY_CTX_{name.upper()} EDDY_CTX_{of.upper()}" for name, of in CONTEXT_ALIASES.items()]
    lines += [
        f"#define EDDY_ROW_LANES {ROW_LANES}",
        f"#define EDDY_ROW_SHIFT {ROW_LANES.bit_length() - 1}",
        f"#define EDDY_FLAG_BARRIER {FLAG_BARRIER}",
        f"#define EDDY_FLAG_ITEMS {FLAG_ITEMS}",
        f"#define EDDY_FLAG_FIBERS {FLAG_FIBERS}",
        f"#define EDDY_FLAG_ROUNDS {FLAG_ROUNDS}",
        f"#define EDDY_FLAG_GRID {FLAG_GRID}",
        f"#define EDDY_FLAG_EDGE {FLAG_EDGE}",
        f"#define EDDY_FLAG_LOOPS {FLAG_LOOPS}",
        f"#define EDDY_FLAG_WALK {FLAG_WALK}",
        f"#define EDDY_LOCAL_BITS {LOCAL_BITS}",
        f"#define EDDY_LOCAL_MASK {(1 << LOCAL_BITS) - 1}",
        *(f"#define EDDY_FIBER_{name.upper()} {ROW_BYTES * k}" for k, name in enumerate(FIBER)),
        f"#define EDDY_LOG_HEAD {4 * len(LOG_WORDS)}",
    ]
    return "\n".join(lines) + "\n"


LAYOUT = hashlib.sha256(c_header().encode()).hexdigest()[:16]
"""Names the tables; a program made with others cannot be launched with these."""
