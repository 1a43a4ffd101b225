"""Where things lie in a kernel's memory: the one place that says so.

Python packs launches by these tables, and `c_header` turns them into the C header of the device library, so that both
sides change together. All words are 32 bits, little endian.

A launch owns one region of memory, seen by the cores at `REGION_BASE`::

    program | launch block | arguments | buffers ... | stacks | logs

Local memory of a core, at `LOCAL_BASE`: the kernel's `__local` variables, then its `__local` arguments, and at the top
the *context* of every lane (`CONTEXT`), one row of 64 bytes a field and 16 lanes, so that a warp reads a field at once.
"""

from __future__ import annotations

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
    "advance",  # the same in work-items, of one dimension
    "global_end_0",  # one past the last global id of the first dimension
    "group_items",  # work-items of a work-group
    "group_warps",  # warps one work-group takes
    "core_groups",  # work-groups a core runs side by side
    "core_stride",  # from the first work-group of a core to the next core's
    "place_stride",  # from the first work-group of a place to the next place's, in the same core
    "flags",  # FLAG_BARRIER, FLAG_GRID
    "context_base",  # in local memory
    "local_stride",  # bytes of __local arguments of one work-group
    "stack_base",  # lowest address of the stacks
    "stack_stride",  # bytes from one lane's stack to the next
    "log_base",  # logs of all lanes; 0 where the kernel prints nothing
    "log_stride",  # bytes of one lane's log, its first word included
)
"""The words of the launch block, whose address is in mscratch (and, while a kernel runs, in gp)."""

BLOCK_MAGIC = 0x31444547
FLAG_BARRIER = 1
"""The kernel has barriers or local memory: a work-group's lanes go on together."""
FLAG_GRID = 2
"""The ND-range has more than one dimension."""

CONTEXT: tuple[str, ...] = (
    *("global_id_0", "global_id_1", "global_id_2"),
    *("local_id_0", "local_id_1", "local_id_2"),
    *("group_id_0", "group_id_1", "group_id_2"),
    "group_slot",  # which of the core's places for work-groups: the number of its barrier
    "group",  # linear index of the work-group
    "stack",  # top of the lane's stack
)
"""Fields of a lane's context; tp points to the lane's word in the first row."""

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


def context_bytes(lanes: int) -> int:
    """Local memory the contexts of one core's lanes take."""
    return -(-lanes // ROW_LANES) * len(CONTEXT) * ROW_BYTES


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
    lines += [
        f"#define EDDY_CTX_BYTES {len(CONTEXT) * ROW_BYTES}",
        f"#define EDDY_ROW_LANES {ROW_LANES}",
        f"#define EDDY_ROW_SHIFT {ROW_LANES.bit_length() - 1}",
        f"#define EDDY_FLAG_BARRIER {FLAG_BARRIER}",
        f"#define EDDY_FLAG_GRID {FLAG_GRID}",
        f"#define EDDY_LOG_HEAD {4 * len(LOG_WORDS)}",
    ]
    return "\n".join(lines) + "\n"
