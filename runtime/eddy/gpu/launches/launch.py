# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Launches: a kernel packed into a region of memory, executed slice by slice, and its arrays read back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy.core.errors import ModuleFault, QuotaExceeded
from eddy.gpu.launches.executor import CoreCounters, Execution, Executor, Fault, total
from eddy.gpu.launches.packed_arguments import Extent
from eddy.gpu.launches.packing import Packing
from eddy.gpu.programs.image import Texels
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.ndrange import Arrangement, arrange_ndrange, slices
from eddy.gpu.programs.ndrange import Local as Local
from eddy.gpu.programs.program import Program, symbols
from eddy.gpu.work_items.ir_pieces import source_name

DEFAULT_LIMIT = 2_000_000_000

Array = npt.NDArray[Any]
__all__ = ["Array", "ImageArgument", "LaunchResult", "Local", "describe", "launch"]


@dataclass(frozen=True, slots=True)
class ImageArgument:
    """Argument for an image of any type.

    Attributes:
        array: Texels, of shape (width, channels) for `image1d_t` and `image1d_buffer_t`, (height, width, channels) for
            `image2d_t`, (layers, width, channels) for `image1d_array_t`, (depth, height, width, channels) for
            `image3d_t`, and (layers, height, width, channels) for `image2d_array_t`.
        order: Channel order: "rgba", "bgra", "rg", "r", ... (`eddy.gpu.programs.image.ORDERS`).
        kind: Channel type: "unorm_int8", "float", ... (`eddy.gpu.programs.image.KINDS`).
    """

    array: Array
    order: str = "rgba"
    kind: str = "float"


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
    stack_bytes: int = 0,
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
        stack_bytes: Stack of each lane, at least; the kernel's need counts where it is more.
        limit: Clock cycles (or instructions) for one slice.

    Raises:
        InvalidRequest: An argument or size does not fit.
        QuotaExceeded: The launch needs too much memory, or a slice took too long.
        ModuleFault: A core was stopped; the message names cause and place.
    """
    arrays: dict[Hashable, Array] = {id(array): array for array in map(array_of, arguments) if array is not None}
    values = [extent(value) if isinstance(value, (np.ndarray, ImageArgument)) else value for value in arguments]
    arrangement = arrange_ndrange(
        executor.shape, program, kernel, global_size, values, local_size=local_size, offset=offset
    )
    packing = Packing(executor.shape, program, kernel, arrangement, values, stack_bytes=stack_bytes)
    memory = bytearray(packing.bytes)
    _put(memory, *packing.fixed())
    _put(memory, *((placed.offset, arrays[placed.key].tobytes()) for placed in packing.arrays))
    runs = []
    for first, count in slices(packing.arrangement, slice_groups):
        _put(memory, packing.block(first, count))
        run = executor.execute(memory, REGION_BASE, packing.block_address, limit)
        runs.append(run)
        _check(run, program, limit)
    for placed in packing.arrays:
        if placed.written:
            array = arrays[placed.key]
            data = np.frombuffer(memory[placed.offset : placed.offset + placed.bytes], array.dtype)
            array[...] = data.reshape(array.shape)
    cycles = sum(run.cycles for run in runs)
    log = packing.log(lambda at, size: bytes(memory[at : at + size]))
    return LaunchResult(total(runs), cycles, log, len(runs), packing.arrangement)


def array_of(value: object) -> Array | None:
    """The array of an argument, itself or an image's; None where it has none."""
    array = value.array if isinstance(value, ImageArgument) else value
    return array if isinstance(array, np.ndarray) else None


def extent(value: Array | ImageArgument) -> Extent:
    """An array as packing sees it."""
    array = value.array if isinstance(value, ImageArgument) else value
    texels = Texels(array.shape, value.order, value.kind) if isinstance(value, ImageArgument) else None
    return Extent(id(array), array.nbytes, array.dtype.str.lstrip("<|="), array.flags.writeable, texels)


def _put(memory: bytearray, *parts: tuple[int, bytes]) -> None:
    for at, data in parts:
        memory[at : at + len(data)] = data


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
        where = f"{fault.cause}, address 0x{fault.value:08x}{_MEANING.get(fault.cause, '')}"
        return f"The kernel was stopped on core {fault.core}: {where}."
    at, name = max(below)
    name = source_name(name)
    what = f"0x{fault.value:08x}{_MEANING.get(fault.cause, '')}"
    return f"The kernel was stopped on core {fault.core}: {fault.cause} in {name}+0x{fault.pc - at:x}, value {what}."


_MEANING = {
    "load_fault": ": it read outside the job's arrays",
    "store_fault": ": it wrote outside the job's arrays",
    "fetch_fault": ": there is no code; perhaps it wrote past the end of an array and changed its own stack",
    "stack_overflow": ": its private variables do not fit the stack of a work-item",
}
"""What a fault most often comes from."""
