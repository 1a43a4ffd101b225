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
from eddy.gpu.layout import (
    BLOCK,
    BLOCK_MAGIC,
    FLAG_BARRIER,
    FLAG_GRID,
    LOCAL_BASE,
    REGION_BASE,
    align,
    context_bytes,
    pack_block,
    stack_stride,
)
from eddy.gpu.log import Logs, Read, read_log
from eddy.gpu.ndrange import Arrangement
from eddy.gpu.ndrange import Local as Local
from eddy.gpu.program import Program
from eddy.gpu.shape import ClusterShape
from eddy.gpu.signature import Argument, Kernel

MAX_REGION_BYTES = 1 << 30
LOG_BYTES = 2048


@dataclass(frozen=True, slots=True)
class Extent:
    """An array argument, as far as its place in memory goes.

    Attributes:
        key: Arguments with the same key are one array and share its memory.
        bytes: Its size.
        element: numpy's letter and size of an element, "f4"; with ">" before where its bytes are the other way round.
        writeable: Whether a kernel may write it.
    """

    key: Hashable
    bytes: int
    element: str
    writeable: bool = True


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
    ) -> None:
        found, self.arrangement = program.kernel(kernel), arrangement
        self._shape, self._image = shape, program.image()
        offsets = found.offsets()
        size = max((at + a.size for at, a in zip(offsets, found.arguments, strict=True)), default=0)
        self.block_address = REGION_BASE + align(len(self._image))
        self._argument_at = align(self.block_address + 4 * len(BLOCK))
        self._end = align(self._argument_at + size)
        self._placed: dict[Hashable, Placed] = {}
        self._local_at = LOCAL_BASE + align(program.local_bytes, 16)
        self._arguments = self._pack_all(found, arguments, offsets, size)
        stride = stack_stride(max(stack_bytes, found.stack_bytes))
        self.stack_bytes = shape.harts * stride
        stacks = self._take(self.stack_bytes)
        self._log_base = self._take(shape.harts * LOG_BYTES) if program.prints else 0
        self.bytes = self._end - REGION_BASE
        if self.bytes > MAX_REGION_BYTES:
            message = (
                f"The launch needs {self.bytes} bytes of memory, and {MAX_REGION_BYTES} are allowed; {self.stacks}."
            )
            raise QuotaExceeded(message, limit=MAX_REGION_BYTES, asked=self.bytes)
        self._words = {
            **_words(self.arrangement),
            **{"magic": BLOCK_MAGIC, "entry": found.stub, "arguments": self._argument_at},
            "global_end_0": self.arrangement.global_offset[0] + self.arrangement.global_size[0],
            "flags": (FLAG_BARRIER if found.waits else 0) | (FLAG_GRID if self.arrangement.work_dim > 1 else 0),
            "group_step": self.places,
            "advance": self.places * self.arrangement.local_size[0],
            "context_base": LOCAL_BASE + shape.local_bytes - context_bytes(shape.lanes),
            **{"local_stride": arrangement.local_bytes, "stack_base": stacks, "stack_stride": stride},
            **{"log_base": self._log_base, "log_stride": LOG_BYTES if program.prints else 0},
        }

    @property
    def stacks(self) -> str:
        """The stacks' part of the region, in words."""
        return f"stacks of {self._shape.harts} lanes take {self.stack_bytes} of them"

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

    def block(self, first: int, count: int) -> tuple[int, bytes]:
        """The launch block of a slice, to be put in before it: offset and bytes.

        Args:
            first: Its first work-group.
            count: How many it has.
        """
        core_groups, cores = self.arrangement.core_groups, self._shape.cores
        strides = (core_groups, 1) if count >= self.places else (1, cores)
        words = {
            "first_group": first,
            "group_end": first + count,
            "core_stride": strides[0],
            "place_stride": strides[1],
        }
        return self.block_address - REGION_BASE, pack_block({**self._words, **words})

    def log(self, read: Read) -> str:
        """What was printed, in bounded time and memory, from the region as the last slice left it.

        Args:
            read: Gives so many bytes from an offset on in the region.
        """
        if not self._log_base:
            return ""
        return read_log(read, self._image, self.bytes, Logs(self._log_base, LOG_BYTES, self._shape.harts))

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
        if argument.is_pointer:
            return struct.pack("<I", 0 if value is None else self._place(argument, value))
        return _record(argument, value) if argument.is_structure else _number(argument, value)

    def _place(self, argument: Argument, value: object) -> int:
        """The address of an array, given room where it has none yet."""
        if not isinstance(value, Extent):
            raise _refused(argument, "a numpy array or None")
        if argument.element and value.element != argument.element:
            raise _refused(argument, f"an array of {np.dtype(argument.element)}, not of {np.dtype(value.element)}")
        written = not argument.const
        if written and not value.writeable:
            raise _refused(argument, "a writeable array: the kernel may write it")
        known = self._placed.get(value.key)
        if known is None:
            known = Placed(value.key, self._take(max(1, value.bytes)) - REGION_BASE, value.bytes, False)
        self._placed[value.key] = Placed(value.key, known.offset, known.bytes, known.written or written)
        return REGION_BASE + known.offset


def _words(arrangement: Arrangement) -> dict[str, int]:
    """The words of the launch block that say how the ND-range fills the cluster."""
    words = {
        **{"work_dim": arrangement.work_dim, "group_items": arrangement.group_items},
        **{"group_warps": arrangement.group_warps, "core_groups": arrangement.core_groups},
    }
    for name in ("global_size", "global_offset", "local_size", "num_groups"):
        words |= {f"{name}_{k}": size for k, size in enumerate(getattr(arrangement, name))}
    return words


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
