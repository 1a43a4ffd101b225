"""A launch's memory: where program, launch block, arguments, buffers, stacks and logs lie in its region.

Whoever holds the memory, a bytearray here or a buffer of a board, asks the same `Packing` for sizes, for the bytes to
put in before the first slice, for the launch block of each slice, and for where results and logs are afterwards.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eddy.core.errors import InvalidRequest, QuotaExceeded
from eddy.gpu.cut import cut_words, flags, local_step
from eddy.gpu.image import DESCRIPTOR_BYTES, DIMENSIONS, Texels
from eddy.gpu.layout import (
    BLOCK,
    BLOCK_MAGIC,
    LINE_BYTES,
    LOCAL_BASE,
    REGION_BASE,
    ROW_BYTES,
    align,
    pack_block,
    rows_bytes,
    stack_stride,
)
from eddy.gpu.log import Logs, Read, read_log
from eddy.gpu.ndrange import Arrangement
from eddy.gpu.ndrange import Local as Local
from eddy.gpu.program import Program
from eddy.gpu.shape import ClusterShape
from eddy.gpu.sharing import context_words, group_bytes
from eddy.gpu.signature import Argument, Kernel

MAX_REGION_BYTES = 1 << 30
LOG_BYTES = 2048
_BLOCK_BYTES = align(4 * len(BLOCK))


@dataclass(frozen=True, slots=True)
class Extent:
    """An array argument, as far as its place in memory goes.

    Attributes:
        key: Arguments with the same key are one array and share its memory.
        bytes: Its size.
        element: numpy's letter and size of an element, "f4"; with ">" before where its bytes are the other way round.
        writeable: Whether a kernel may write it.
        texels: How it is an image; None where it is none.
    """

    key: Hashable
    bytes: int
    element: str
    writeable: bool = True
    texels: Texels | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """An array in the region.

    Attributes:
        key: The extent's.
        offset: Of its first byte, from the region's.
        bytes: Its size.
        written: Whether the kernel may have written it.
    """

    key: Hashable
    offset: int
    bytes: int
    written: bool


class Packing:
    """How a launch lies in its region.

    Args:
        shape: The cluster.
        program: From `Compiler.compile`.
        kernel: Name of the kernel.
        arrangement: How its ND-range fills the cluster, from `eddy.gpu.ndrange.arrange`.
        arguments: As `arrange` had them: `Extent` or None for pointers, `Local` for `__local` ones, numbers, sequences
            for vectors.
        stack_bytes: Stack of each lane, at least; the kernel's need counts where it is more.
        sliced_on: Clusters of this shape whose cores run slices of their own, side by side (`core_block`); 0 where one
            slice at a time has one whole cluster.

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
    ) -> None:
        found, self.arrangement = program.kernel(kernel), arrangement
        self._goes_along = found.goes_along
        self._shape, self._image = shape, program.image()
        clusters = max(sliced_on, 1)
        self._cores, self._harts = shape.cores * clusters, shape.harts * clusters
        offsets = found.offsets()
        size = max((at + a.size for at, a in zip(offsets, found.arguments, strict=True)), default=0)
        self.block_address = REGION_BASE + align(len(self._image))
        self._argument_at = align(self.block_address + 4 * len(BLOCK))
        self._end = align(self._argument_at + size)
        self._placed: dict[Hashable, Placed] = {}
        self._descriptors: dict[tuple[Hashable, Texels], tuple[int, bytes]] = {}
        self._local_at = LOCAL_BASE + align(program.local_bytes, 16)
        self._arguments = self._pack_all(found, arguments, offsets, size)
        fibers = found.waits and arrangement.lane_items > 1 and not arrangement.lane_grid
        frame = max(found.frame_bytes, LINE_BYTES) if fibers else found.stack_bytes
        stride = stack_stride(max(stack_bytes, frame))
        self._items = self._harts * (arrangement.lane_items if fibers else 1)
        self.stack_bytes = self._items * stride
        stacks = self._take(self.stack_bytes)
        self._group_bytes = group_bytes(program, found, arrangement.local_bytes)
        rows = self._rows(found, program)
        self._log_base = self._take(self._harts * LOG_BYTES) if program.prints else 0
        self._core_blocks = self._take(shape.cores * sliced_on * _BLOCK_BYTES)
        self.bytes = self._end - REGION_BASE
        if self.bytes > MAX_REGION_BYTES:
            message = (
                f"The launch needs {self.bytes} bytes of memory, and {MAX_REGION_BYTES} are allowed; {self.stacks}."
            )
            raise QuotaExceeded(message, limit=MAX_REGION_BYTES, asked=self.bytes)
        self._words = {
            **cut_words(self.arrangement, self.places, found.goes_along),
            **{
                "magic": BLOCK_MAGIC,
                "entry": found.loop_stub if arrangement.lane_grid else found.stub,
                "arguments": self._argument_at,
            },
            "flags": flags(found, arrangement),
            "place_lanes": arrangement.group_warps * shape.threads,
            "local_step": local_step(arrangement, arrangement.group_warps * shape.threads),
            **rows,
            **{"local_stride": self._group_bytes, "stack_base": stacks, "stack_stride": stride},
            "lane_stack": stride * (arrangement.lane_items if fibers else 1),
            **{"log_base": self._log_base, "log_stride": LOG_BYTES if program.prints else 0},
        }

    def _rows(self, kernel: Kernel, program: Program) -> dict[str, int]:
        """Where contexts lie, and what items keep while others run: in local memory, as far as there is room."""
        shape, arrangement = self._shape, self.arrangement
        top = LOCAL_BASE + shape.local_bytes - LINE_BYTES
        first = 0 if kernel.local_each else align(program.local_bytes, 16)
        end = align(LOCAL_BASE + first + self._group_bytes * arrangement.core_groups)
        several = kernel.waits and arrangement.lane_items > 1
        context = rows_bytes(shape.lanes, context_words(several))
        kept = kernel.loop_words if arrangement.lane_grid else kernel.switch_words
        stride = rows_bytes(shape.lanes, kept) if several else 0
        words = {"rounds": top, "context_rows": context_words(several) * ROW_BYTES, "fiber_stride": stride}
        words["fiber_way"] = kernel.switch_way
        for name, size in (("context", context), ("fiber", stride * arrangement.lane_items)):
            local = 0 < size <= top - end
            top -= size if local else 0
            words[f"{name}_base"] = top if local else self._take(self._cores * size)
            words[f"{name}_core"] = 0 if local else size
        return words

    @property
    def stacks(self) -> str:
        """The stacks' part of the region, in words."""
        who = "lanes" if self._items == self._harts else "work-items side by side"
        return f"stacks of {self._items} {who} take {self.stack_bytes} of them"

    @property
    def places(self) -> int:
        """Work-groups the whole cluster runs side by side."""
        return self._shape.cores * self.arrangement.core_groups

    @property
    def arrays(self) -> tuple[Placed, ...]:
        """Where the arrays are, in the order of the arguments that name them first."""
        return tuple(self._placed.values())

    @property
    def prints(self) -> bool:
        """Whether there is a log to read."""
        return self._log_base != 0

    def fixed(self) -> Iterator[tuple[int, bytes]]:
        """What to put in before the first slice beside the arrays: offset and bytes; everything else is zero."""
        yield 0, self._image
        yield self._argument_at - REGION_BASE, self._arguments
        yield from self._descriptors.values()

    def block(self, first: int, count: int) -> tuple[int, bytes]:
        """The launch block of a slice, to be put in before it: offset and bytes.

        Args:
            first: Its first work-group.
            count: How many it has.
        """
        core_groups, cores = self.arrangement.core_groups, self._shape.cores
        strides = (core_groups, 1) if count >= self.places else (1, cores)
        words = {"core_stride": strides[0], "place_stride": strides[1], **self._range(first, count)}
        return self.block_address - REGION_BASE, pack_block({**self._words, **words})

    def _range(self, first: int, count: int) -> dict[str, int]:
        """The words of a launch block that say which work-groups a slice has."""
        row, last = divmod(first + count - 1, self.arrangement.num_groups[0])
        end = self.arrangement.global_offset[0] + (last + 1) * self.arrangement.local_size[0]
        return {
            "first_group": first,
            "group_end": first + count,
            "end_row": row,
            "end_x": min(end, self._words["global_end_0"]),
        }

    def core_block(self, core: int, first: int, count: int) -> tuple[int, bytes]:
        """The launch block of a slice that runs on one core, beside others on other cores: offset and bytes.

        The slice believes that it has a cluster of one core to itself; stacks, contexts, fibers and logs are those of
        the core. The core finds the block at `REGION_BASE` and the offset.

        Args:
            core: Which core, those of all `clusters` counted on.
            first: Its first work-group.
            count: How many it has.
        """
        plain, lanes = self._words, self._shape.lanes
        words = {
            **plain,
            **cut_words(self.arrangement, self.arrangement.core_groups, self._goes_along),
            **{"core_stride": 0, "place_stride": 1, **self._range(first, count)},
            "stack_base": plain["stack_base"] + core * lanes * plain["lane_stack"],
            "context_base": plain["context_base"] + core * plain["context_core"],
            "fiber_base": plain["fiber_base"] + core * plain["fiber_core"],
            "log_base": self._log_base + core * lanes * LOG_BYTES if self._log_base else 0,
        }
        return self._core_blocks - REGION_BASE + core * _BLOCK_BYTES, pack_block(words)

    def log(self, read: Read) -> str:
        """What was printed, in bounded time and memory, from the region as the last slice left it.

        Args:
            read: Gives so many bytes from an offset on in the region.
        """
        if not self._log_base:
            return ""
        return read_log(read, self._image, self.bytes, Logs(self._log_base, LOG_BYTES, self._harts))

    def _take(self, size: int) -> int:
        at, self._end = self._end, align(self._end + size)
        return at

    def _pack_all(self, kernel: Kernel, arguments: Sequence[object], offsets: Sequence[int], size: int) -> bytes:
        """The packed arguments; places arrays as they come."""
        if len(arguments) != len(kernel.arguments):
            names = ", ".join(a.name for a in kernel.arguments)
            message = f"Kernel {kernel.name!r} takes {len(kernel.arguments)} arguments ({names}), not {len(arguments)}."
            raise InvalidRequest(message, field="arguments", allowed=len(kernel.arguments))
        packed = bytearray(size)
        for at, argument, value in zip(offsets, kernel.arguments, arguments, strict=True):
            data = self._pack(argument, value)
            packed[at : at + len(data)] = data
        return bytes(packed)

    def _pack(self, argument: Argument, value: object) -> bytes:
        if argument.space == "local":
            if not isinstance(value, Local) or value.bytes < 1:
                raise _refused(argument, "Local(bytes)")
            at, self._local_at = self._local_at, self._local_at + align(value.bytes, 16)
            return struct.pack("<I", at)
        if argument.type in DIMENSIONS:
            return struct.pack("<I", self._place_image(argument, value))
        if argument.is_pointer:
            return struct.pack("<I", 0 if value is None else self._place(argument, value, not argument.const))
        return _record(argument, value) if argument.is_structure else _number(argument, value)

    def _place_image(self, argument: Argument, value: object) -> int:
        """The address of an image's descriptor; its texels are placed as arrays are."""
        dimensions = DIMENSIONS[argument.type]
        texels = value.texels if isinstance(value, Extent) else None
        if not isinstance(value, Extent) or texels is None or texels.dimensions != dimensions:
            raise _refused(argument, f"an image of {dimensions} dimensions")
        if value.element != texels.element:
            raise _refused(argument, f"texels of {np.dtype(texels.element)}, not of {np.dtype(value.element)}")
        address = self._place(argument, value, value.writeable)
        known = self._descriptors.get((value.key, texels))
        at = known[0] if known else self._take(DESCRIPTOR_BYTES) - REGION_BASE
        self._descriptors[value.key, texels] = at, texels.descriptor(address)
        return REGION_BASE + at

    def _place(self, argument: Argument, value: object, written: bool) -> int:
        """The address of an array, given room where it has none yet."""
        if not isinstance(value, Extent):
            raise _refused(argument, "a numpy array or None")
        if argument.element and value.element != argument.element:
            raise _refused(argument, f"an array of {np.dtype(argument.element)}, not of {np.dtype(value.element)}")
        if written and not value.writeable:
            raise _refused(argument, "a writeable array: the kernel may write it")
        known = self._placed.get(value.key)
        if known is None:
            known = Placed(value.key, self._take(max(1, value.bytes)) - REGION_BASE, value.bytes, False)
        self._placed[value.key] = Placed(value.key, known.offset, known.bytes, known.written or written)
        return REGION_BASE + known.offset


def _record(argument: Argument, value: object) -> bytes:
    """A structure, from its bytes or from a numpy record."""
    data = value.tobytes() if isinstance(value, np.void) else value
    if not isinstance(data, bytes) or len(data) != argument.size:
        raise _refused(argument, f"{argument.size} bytes, or a numpy record of that size (dtype with align=True)")
    return data


def _number(argument: Argument, value: object) -> bytes:
    """A scalar or vector in the kernel's type."""
    try:
        array = np.atleast_1d(np.asarray(value))
    except ValueError:
        raise _refused(argument, argument.type) from None
    wanted = np.dtype("<" + argument.element)
    if array.shape != (argument.count,) or array.dtype.kind not in "biuf":
        raise _refused(argument, argument.type)
    with np.errstate(all="ignore"):
        cast = array.astype(wanted)
    if wanted.kind != "f" and not np.array_equal(cast, array):
        raise _refused(argument, f"values of {argument.type}")
    return bytes(cast.tobytes()).ljust(argument.size, b"\0")


def _refused(argument: Argument, allowed: str) -> InvalidRequest:
    message = f"Argument {argument.name!r} ({argument.type}) takes {allowed}."
    return InvalidRequest(message, field=f"arguments.{argument.name}", allowed=allowed)
