# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A launch's memory: where program, launch block, arguments, buffers, stacks and logs lie in its region.

Whoever holds the memory, a bytearray here or a buffer of a board, asks the same `Packing` for sizes, for the bytes to
put in before the first slice, for the launch block of each slice, and for where results and logs are afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eddy.core.errors import QuotaExceeded
from eddy.core.units import format_bytes
from eddy.gpu.launches.lane_steps import flags, local_step
from eddy.gpu.launches.launch_blocks import BLOCK_BYTES, LaunchBlocks
from eddy.gpu.launches.packed_arguments import PackedArguments, Placed
from eddy.gpu.programs.layout import (
    BLOCK,
    BLOCK_MAGIC,
    LINE_BYTES,
    LOCAL_BASE,
    REGION_BASE,
    ROW_BYTES,
    align,
    rows_bytes,
    stack_stride,
)
from eddy.gpu.programs.log import Logs, Read, read_log
from eddy.gpu.programs.ndrange import Arrangement
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.region import RegionSpace
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.sharing import context_words, group_bytes
from eddy.gpu.programs.signature import Kernel

MAX_REGION_BYTES = 1 << 30
LOG_BYTES = 2048


class Packing:
    """How a launch lies in its region.

    Args:
        shape: The cluster.
        program: From `Compiler.compile`.
        kernel: Name of the kernel.
        arrangement: How its ND-range fills the cluster, from `eddy.gpu.programs.ndrange.arrange_ndrange`.
        arguments: As `arrange` had them: `Extent` or None for pointers, `Local` for `__local` ones, numbers, sequences
            for vectors.
        stack_bytes: Stack of each lane, at least; the kernel's need counts where it is more.
        sliced_on: Clusters of this shape whose cores run slices of their own, side by side (`core_block`); 0 where one
            slice at a time has one whole cluster.
        begin: Offset in the region from which on there is room, the program being at its beginning already; None for a
            region of its own, program included.

    Attributes:
        arrangement: As given.
        bytes: Size of the region.
        stack_bytes: What the stacks of all lanes take of it.
        block_address: Of the launch block, as the cores see it.

    Raises:
        InvalidRequest: An argument does not fit.
        QuotaExceeded: The region would be larger than the cores can see.
    """

    def __init__(
        self,
        shape: ClusterShape,
        program: Program,
        kernel: str,
        arrangement: Arrangement,
        arguments: Sequence[object],
        *,
        stack_bytes: int = 0,
        sliced_on: int = 0,
        begin: int | None = None,
    ) -> None:
        found, self.arrangement = program.kernel(kernel), arrangement
        self._shape, self._image, self._space = shape, program.image(), RegionSpace(begin or 0)
        clusters = max(sliced_on, 1)
        self._cores, self._harts = shape.cores * clusters, shape.harts * clusters
        if begin is None:
            self._space.allocate(len(self._image))
        self.block_address = self._space.allocate(4 * len(BLOCK))
        self._arguments = PackedArguments(found, arguments, self._space, program.local_bytes)
        self._group_bytes = group_bytes(program, found, arrangement.local_bytes)
        rows, room = self._rows(found, program)
        stacks = self._stacks(found, stack_bytes, room)
        self._log_base = self._space.allocate(self._harts * LOG_BYTES) if program.prints else 0
        self._core_blocks = self._space.allocate(shape.cores * sliced_on * BLOCK_BYTES)
        self.bytes = self._space.bytes
        if self.bytes > MAX_REGION_BYTES:
            message = (
                f"The launch needs {format_bytes(self.bytes)} of memory, and"
                f" {format_bytes(MAX_REGION_BYTES)} are allowed;"
                f" {self.stacks}."
            )
            raise QuotaExceeded(message, limit=MAX_REGION_BYTES, asked=self.bytes)
        words = {
            **{
                "magic": BLOCK_MAGIC,
                "entry": _entry(found, arrangement),
                "arguments": self._arguments.address,
            },
            "flags": flags(found, arrangement),
            "place_lanes": arrangement.group_warps * shape.threads,
            "local_step": local_step(arrangement, arrangement.group_warps * shape.threads),
            **rows,
            **stacks,
            "local_stride": self._group_bytes,
            **{"log_base": self._log_base, "log_stride": LOG_BYTES if program.prints else 0},
        }
        self._blocks = LaunchBlocks(shape, arrangement, words, LOG_BYTES)

    def _stacks(self, kernel: Kernel, least: int, room: range) -> dict[str, int]:
        """Where stacks lie: in local memory where there is room for what the kernel needs and nobody asks for more.

        Args:
            kernel: Whose.
            least: Bytes of each lane's that were asked for.
            room: Addresses of local memory that nothing else takes.
        """
        arrangement = self.arrangement
        fibers = kernel.waits and arrangement.lane_items > 1 and not arrangement.lane_grid
        each = arrangement.lane_items if fibers else 1
        stride, core = align(max(kernel.frame_bytes, LINE_BYTES), 16), 0
        base = room.stop - self._shape.lanes * each * stride
        self._items, self.stack_bytes = self._harts * each, 0
        if least or base < room.start:
            frame = max(kernel.frame_bytes, LINE_BYTES) if fibers else kernel.stack_bytes
            stride = stack_stride(max(least, frame))
            core = self._shape.lanes * each * stride
            self.stack_bytes = self._items * stride
            base = self._space.allocate(self.stack_bytes)
        return {"stack_base": base, "stack_core": core, "stack_stride": stride, "lane_stack": stride * each}

    def _rows(self, kernel: Kernel, program: Program) -> tuple[dict[str, int], range]:
        """Where contexts lie, and what items keep while others run: in local memory, as far as there is room; and the
        room that is left."""
        shape, arrangement = self._shape, self.arrangement
        top = LOCAL_BASE + shape.local_bytes - LINE_BYTES
        first = 0 if kernel.local_each else align(program.local_bytes, 16)
        end = align(LOCAL_BASE + first + self._group_bytes * arrangement.core_groups)
        several = kernel.waits and arrangement.lane_items > 1
        context = rows_bytes(shape.lanes, context_words(kernel, several))
        kept = kernel.loop_words if arrangement.lane_grid else kernel.switch_words
        stride = rows_bytes(shape.lanes, kept * arrangement.tile) if several else 0
        words = {"rounds": top, "context_rows": context_words(kernel, several) * ROW_BYTES, "fiber_stride": stride}
        words["fiber_way"] = kernel.switch_way
        for name, size in (("context", context), ("fiber", stride * arrangement.lane_items // arrangement.tile)):
            local = 0 < size <= top - end
            top -= size if local else 0
            words[f"{name}_base"] = top if local else self._space.allocate(self._cores * size)
            words[f"{name}_core"] = 0 if local else size
        return words, range(end, top)

    @property
    def stacks(self) -> str:
        """The stacks' part of the region, in words."""
        who = "lanes" if self._items == self._harts else "work-items side by side"
        return f"stacks of {self._items} {who} take {self.stack_bytes} of them"

    @property
    def places(self) -> int:
        """Work-groups the whole cluster runs side by side."""
        return self._blocks.places

    @property
    def arrays(self) -> tuple[Placed, ...]:
        """Where the arrays are, in the order of the arguments that name them first."""
        return tuple(self._arguments.placed.values())

    def fixed(self) -> Iterator[tuple[int, bytes]]:
        """What to put in before the first slice beside the arrays: offset and bytes; everything else is zero."""
        yield 0, self._image
        yield from self.arguments()

    def arguments(self) -> Iterator[tuple[int, bytes]]:
        """The packed arguments, and what they point to beside arrays: offset and bytes."""
        yield self._arguments.address - REGION_BASE, self._arguments.bytes
        yield from self._arguments.descriptors.values()

    def block(self, first: int, count: int) -> tuple[int, bytes]:
        """The launch block of a slice, to be put in before it: offset and bytes.

        Args:
            first: Its first work-group.
            count: How many it has.
        """
        return self.block_address - REGION_BASE, self._blocks.of_cluster(first, count)

    def core_block(self, core: int, first: int, count: int) -> tuple[int, bytes]:
        """The launch block of a slice that runs on one core, beside others on other cores: offset and bytes.

        The core finds the block at `REGION_BASE` and the offset.

        Args:
            core: Which core, those of all `sliced_on` clusters counted on.
            first: Its first work-group.
            count: How many it has.
        """
        at = self._core_blocks - REGION_BASE + core * BLOCK_BYTES
        return at, self._blocks.of_core(core, first, count)

    @property
    def prints(self) -> bool:
        """Whether there is room for what kernels print; such a packing serves one launch."""
        return bool(self._log_base)

    def log(self, read: Read) -> str:
        """What was printed, in bounded time and memory, from the region as the last slice left it.

        Args:
            read: Gives so many bytes from an offset on in the region.
        """
        if not self._log_base:
            return ""
        return read_log(read, self._image, self.bytes, Logs(self._log_base, LOG_BYTES, self._harts))


def _entry(kernel: Kernel, arrangement: Arrangement) -> int:
    """The stub that goes through items as they are arranged."""
    if arrangement.join:
        return kernel.join_stub
    if arrangement.tile > 1:
        return kernel.tile_stub
    return kernel.loop_stub if arrangement.lane_grid else kernel.stub
