"""Launches: arguments and ND-range packed into a region of memory, executed slice by slice, and read back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy.core.errors import InvalidRequest, ModuleFault, QuotaExceeded
from eddy.gpu.executor import CoreCounters, Execution, Executor, Fault, total
from eddy.gpu.layout import (
    BLOCK,
    BLOCK_MAGIC,
    FLAG_BARRIER,
    FLAG_GRID,
    LOCAL_BASE,
    REGION_BASE,
    STACK_BYTES,
    align,
    context_bytes,
    pack_block,
    stack_stride,
)
from eddy.gpu.log import read_log
from eddy.gpu.ndrange import Arrangement, arrange, slices
from eddy.gpu.program import Program, symbols
from eddy.gpu.shape import ClusterShape
from eddy.gpu.signature import Argument, Kernel

MAX_REGION_BYTES = 1 << 30
LOG_BYTES = 2048
DEFAULT_LIMIT = 2_000_000_000

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Local:
    """Argument for a `__local` pointer: so many bytes for each work-group."""

    bytes: int


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What a launch did.

    Attributes:
        counters: Of each core, over all slices.
        cycles: Clock cycles, over all slices; 0 where the executor has no clock.
        log: What `printf` wrote, in the order of work-items.
        slices: Runs it took.
        arrangement: How the ND-range filled the cluster.
    """

    counters: tuple[CoreCounters, ...]
    cycles: int
    log: str
    slices: int
    arrangement: Arrangement


def launch(
    executor: Executor,
    program: Program,
    kernel: str,
    global_size: Sequence[int],
    arguments: Sequence[object],
    *,
    local_size: Sequence[int] | None = None,
    offset: Sequence[int] | None = None,
    slice_groups: int | None = None,
    stack_bytes: int = STACK_BYTES,
    limit: int = DEFAULT_LIMIT,
) -> LaunchResult:
    """Run a kernel; arrays it may write are updated in place.

    Args:
        executor: The cluster.
        program: From `Compiler.compile`.
        kernel: Name of the kernel.
        global_size: Work-items by dimension.
        arguments: In the kernel's order: arrays (or None) for pointers, `Local` for `__local` ones, numbers, sequences
            for vectors.
        local_size: Work-group size; None for what suits the cluster.
        offset: Global offset.
        slice_groups: Work-groups a run takes at most; None for all in one.
        stack_bytes: Stack of each lane.
        limit: Clock cycles (or instructions) for one slice.

    Raises:
        InvalidRequest: An argument or size does not fit.
        QuotaExceeded: The launch needs too much memory, or a slice took too long.
        ModuleFault: A core was stopped; the message names cause and place.
    """
    found = program.kernel(kernel)
    if program.fpu and not executor.shape.fpu:
        raise InvalidRequest("The program needs an FPU; compile it with fpu=False for this cluster.", field="fpu")
    local = sum(align(a.bytes, 16) for a in arguments if isinstance(a, Local))
    arrangement = arrange(executor.shape, program, found, global_size, local_size, offset, local)
    packed = _Region(executor.shape, program, found, arrangement, arguments, align(local, 16), stack_bytes)
    runs = []
    for first, count in slices(arrangement, slice_groups):
        packed.set_slice(first, count)
        run = executor.execute(packed.memory, REGION_BASE, packed.block_address, limit)
        runs.append(run)
        _check(run, program, limit)
    packed.read_back()
    return LaunchResult(total(runs), sum(run.cycles for run in runs), packed.log(), len(runs), arrangement)


def _check(run: Execution, program: Program, limit: int) -> None:
    if run.faults:
        fault = run.faults[0]
        raise ModuleFault(describe(fault, program), cause=fault.cause, pc=fault.pc, value=fault.value, core=fault.core)
    if not run.finished:
        raise QuotaExceeded(f"The kernel did not end within {limit} cycles of a slice.", limit=limit)


def describe(fault: Fault, program: Program) -> str:
    """A fault in words: cause, function, address."""
    below = [(at, name) for name, at in symbols(program.elf).items() if at <= fault.pc and not name.startswith("$")]
    if not below or not fault.pc:
        return f"The kernel was stopped on core {fault.core}: {fault.cause}, address 0x{fault.value:08x}."
    at, name = max(below)
    name = name.removeprefix("__clang_ocl_kern_imp_").removeprefix("eddy_call_")
    what = f"0x{fault.value:08x}"
    return f"The kernel was stopped on core {fault.core}: {fault.cause} in {name}+0x{fault.pc - at:x}, value {what}."


class _Region:
    """A launch's memory: laid out, filled, and read."""

    def __init__(
        self,
        shape: ClusterShape,
        program: Program,
        kernel: Kernel,
        arrangement: Arrangement,
        arguments: Sequence[object],
        local_stride: int,
        stack_bytes: int,
    ) -> None:
        image = program.image()
        self._kernel, self._arguments, self._shape = kernel, arguments, shape
        self._offsets = kernel.offsets()
        size = max((at + a.size for at, a in zip(self._offsets, kernel.arguments, strict=True)), default=0)
        self.block_address = REGION_BASE + align(len(image))
        argument_at = align(self.block_address + 4 * len(BLOCK))
        self._end = align(argument_at + size)
        self._buffers: dict[int, tuple[int, Array, bool]] = {}
        if len(arguments) != len(kernel.arguments):
            names = ", ".join(a.name for a in kernel.arguments)
            message = f"Kernel {kernel.name!r} takes {len(kernel.arguments)} arguments ({names}), not {len(arguments)}."
            raise InvalidRequest(message, field="arguments", allowed=len(kernel.arguments))
        self._local_at = LOCAL_BASE + align(program.local_bytes, 16)
        values = [self._pack(a, v) for a, v in zip(kernel.arguments, arguments, strict=True)]
        stride = stack_stride(stack_bytes)
        stacks = self._take(shape.harts * stride)
        logs = self._take(shape.harts * LOG_BYTES) if program.prints else 0
        if self._end - REGION_BASE > MAX_REGION_BYTES:
            asked = self._end - REGION_BASE
            raise QuotaExceeded(f"The launch needs {asked} bytes of memory.", limit=MAX_REGION_BYTES, asked=asked)
        self._log_base = logs
        self._image = image
        self._words = {
            **_words(arrangement),
            **{
                "magic": BLOCK_MAGIC,
                "entry": kernel.stub,
                "arguments": argument_at,
                "first_group": 0,
                "group_end": 0,
            },
            "global_end_0": arrangement.global_offset[0] + arrangement.global_size[0],
            **{"core_stride": 0, "place_stride": 0},
            "flags": (FLAG_BARRIER if kernel.waits else 0) | (FLAG_GRID if arrangement.work_dim > 1 else 0),
            "group_step": shape.cores * arrangement.core_groups,
            "advance": shape.cores * arrangement.core_groups * arrangement.local_size[0],
            "context_base": LOCAL_BASE + shape.local_bytes - context_bytes(shape.lanes),
            **{"local_stride": local_stride, "stack_base": stacks, "stack_stride": stride},
            **{"log_base": logs, "log_stride": LOG_BYTES if program.prints else 0},
        }
        self.memory = bytearray(self._end - REGION_BASE)
        self.memory[: len(image)] = image
        for at, value in zip(self._offsets, values, strict=True):
            self._write(argument_at + at, value)
        for address, array, _ in self._buffers.values():
            self._write(address, array.tobytes())

    def set_slice(self, first: int, count: int) -> None:
        """Say which work-groups the next run takes."""
        places, cores = self._words["core_groups"], self._shape.cores
        strides = (places, 1) if count >= cores * places else (1, cores)
        self._words.update(first_group=first, group_end=first + count, core_stride=strides[0], place_stride=strides[1])
        self._write(self.block_address, pack_block(self._words))

    def read_back(self) -> None:
        """Bring arrays that kernels may write up to date."""
        for address, array, written in self._buffers.values():
            if written:
                at = address - REGION_BASE
                data = np.frombuffer(self.memory[at : at + array.nbytes], array.dtype)
                array[...] = data.reshape(array.shape)

    def log(self) -> str:
        """What was printed."""
        if not self._log_base:
            return ""
        return read_log(self.memory, self._log_base, LOG_BYTES, self._shape.harts)

    def _take(self, size: int) -> int:
        at, self._end = self._end, align(self._end + size)
        return at

    def _write(self, address: int, data: bytes) -> None:
        at = address - REGION_BASE
        self.memory[at : at + len(data)] = data

    def _pack(self, argument: Argument, value: object) -> bytes:
        if argument.space == "local":
            if not isinstance(value, Local) or value.bytes < 1:
                raise _refused(argument, "Local(bytes)")
            at, self._local_at = self._local_at, self._local_at + align(value.bytes, 16)
            return struct.pack("<I", at)
        if argument.is_pointer:
            return struct.pack("<I", 0 if value is None else self._buffer(argument, value))
        return _number(argument, value)

    def _buffer(self, argument: Argument, value: object) -> int:
        if not isinstance(value, np.ndarray):
            raise _refused(argument, "a numpy array or None")
        if argument.element and value.dtype.str.lstrip("<|=") != argument.element:
            raise _refused(argument, f"an array of {np.dtype(argument.element)}, not of {value.dtype}")
        written = not argument.const
        if written and not value.flags.writeable:
            raise _refused(argument, "a writeable array: the kernel may write it")
        address, array, before = self._buffers.get(id(value)) or (self._take(max(1, value.nbytes)), value, False)
        self._buffers[id(value)] = (address, array, before or written)
        return address


def _words(arrangement: Arrangement) -> dict[str, int]:
    """The words of the launch block that say how the ND-range fills the cluster."""
    words = {
        **{"work_dim": arrangement.work_dim, "group_items": arrangement.group_items},
        **{"group_warps": arrangement.group_warps, "core_groups": arrangement.core_groups},
    }
    for name in ("global_size", "global_offset", "local_size", "num_groups"):
        words |= {f"{name}_{k}": size for k, size in enumerate(getattr(arrangement, name))}
    return words


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
