# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a GPU cluster is asked to run, how that ended, and what may be asked: of one kernel, and of two side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eddy_drivers.regs import gpu_cluster as regs

PAGE = 4096
REGION_AT = 0x8000_0000
"""Where a kernel sees the first byte of its region (register CORE_BASE2)."""
REGION_MOST = 1 << 30
"""Bytes of the cores' address space that one base register places."""

TrapCause = regs.TrapCause


class RegionOverlap(ValueError):
    """Two kernels that may run at once would share memory."""


@dataclass(frozen=True)
class Kernel:
    """What to run.

    Attributes:
        entry: First address of the program, as the cores see it.
        argument: What warp 0 of each core finds in mscratch.
        address: Physical address of the region, which the cores see at `REGION_AT`; a multiple of 4096.
        bytes: Its size.
        cores: Which cores run it; the kernel sees them numbered from 0 in this order.
        context: Memory context, in AxUSER of every burst.
        family: Slices of one kernel name the same family, and may work on one region side by side; "" for a kernel by
            itself.
    """

    entry: int
    argument: int
    address: int
    bytes: int
    cores: tuple[int, ...]
    context: int = 0
    family: str = ""


@dataclass(frozen=True)
class Fault:
    """Why a core was stopped: cause, the instruction's address (0 where memory refused), instruction or address."""

    cause: TrapCause
    pc: int
    value: int


@dataclass(frozen=True)
class CoreEnd:
    """How a kernel ended on one core, and what it counted (`GpuCluster.counters`)."""

    core: int
    counters: Mapping[str, int]
    fault: Fault | None


@dataclass(frozen=True)
class End:
    """How a kernel ended: on each core; `halted` where it was asked to, `cores` empty where it had not begun."""

    ticket: int
    cores: tuple[CoreEnd, ...]
    halted: bool = False


def check(kernel: Kernel, cores: int) -> None:
    """Refuse a kernel that a cluster of so many cores cannot run.

    Raises:
        ValueError: It names cores or addresses that are not there.
    """
    if not kernel.cores or len(set(kernel.cores)) != len(kernel.cores):
        raise ValueError(f"a kernel runs on one or more different cores, not on {list(kernel.cores)}")
    if not all(0 <= core < cores for core in kernel.cores):
        raise ValueError(f"the cluster has cores 0 to {cores - 1}, not {list(kernel.cores)}")
    if kernel.address % PAGE or not 0 < kernel.bytes <= REGION_MOST:
        raise ValueError(
            f"a region begins at a multiple of {PAGE} and has 1 to {REGION_MOST} bytes,"
            f" not {kernel.bytes} at {kernel.address:#x}"
        )
    if kernel.entry % 4 or not REGION_AT <= kernel.entry < REGION_AT + kernel.bytes:
        raise ValueError(
            f"a program begins at a multiple of 4 in its region, {REGION_AT:#x} to"
            f" {REGION_AT + kernel.bytes - 1:#x}, not at {kernel.entry:#x}"
        )
    regs.CORE_CONTEXT.encode(memory_context=kernel.context)
    regs.CORE_ARGUMENT.encode(value=kernel.argument)


def check_apart(kernel: Kernel, other: Kernel, ticket: int) -> None:
    """Refuse what a kernel must not share with kernel `ticket`, which may run at the same time.

    Raises:
        RegionOverlap: Their regions overlap, and they are not slices of one kernel.
        ValueError: They have one memory context.
    """
    one = kernel.family == other.family != "" and (kernel.address, kernel.bytes) == (other.address, other.bytes)
    if not one and kernel.address < _end(other) and other.address < _end(kernel):
        raise RegionOverlap(
            f"the region {kernel.address:#x} to {_end(kernel) - 1:#x} overlaps that of kernel {ticket},"
            f" {other.address:#x} to {_end(other) - 1:#x}, which may run at the same time"
        )
    if kernel.context == other.context:
        raise ValueError(f"kernel {ticket} has memory context {kernel.context}; kernels side by side need their own")


def _end(kernel: Kernel) -> int:
    """One past the last byte of the last page: what a window lets through are whole pages."""
    return kernel.address + -(-kernel.bytes // PAGE) * PAGE
