# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a kernel's launch must be: by itself, and beside others on the same cluster; the same on every board."""

from __future__ import annotations

from collections.abc import Iterable

from eddy.board.port.port import Access, Cause, CoreReport, KernelLaunch, Launch
from eddy.core.errors import Conflict, InvalidRequest
from eddy.core.units import format_bytes
from eddy.gpu.programs.layout import REGION_BASE

MAX_REGION_BYTES = 1 << 30
_CAUSES = {
    "illegal": Cause.ILLEGAL_INSTRUCTION,
    "load_misaligned": Cause.MISALIGNED_ACCESS,
    "store_misaligned": Cause.MISALIGNED_ACCESS,
    "barrier_deadlock": Cause.BARRIER_DEADLOCK,
    "stack_overflow": Cause.STACK_OVERFLOW,
    "fetch_fault": Cause.READ_OUTSIDE_WINDOW,
    "load_fault": Cause.READ_OUTSIDE_WINDOW,
    "store_fault": Cause.WRITE_OUTSIDE_WINDOW,
}
"""Causes of cores' faults; every other fault is a `KERNEL_TRAP`."""


def cause_of(reports: Iterable[CoreReport]) -> tuple[Cause, str]:
    """Why cores were stopped: the cause of the first, and what each met; `Cause.NONE` and "" where none was."""
    faults = [report for report in reports if report.fault]
    if not faults:
        return Cause.NONE, ""
    return _CAUSES.get(faults[0].fault, Cause.KERNEL_TRAP), "; ".join(map(_describe, faults))


def _describe(report: CoreReport) -> str:
    where = f" at {report.fault_pc:#010x}" if report.fault_pc else ""
    return f"core {report.core}: {report.fault}{where}, value {report.fault_value:#010x}"


def kernel_of(slot: int, launch: Launch) -> KernelLaunch:
    """The kernel of an item that a cluster in `slot` is to run.

    Raises:
        InvalidRequest: The item has none.
    """
    if launch.kernel is None:
        message = f"slot {slot} holds a GPU cluster, which takes kernels; the item has none"
        raise InvalidRequest(message, field="kernel")
    return launch.kernel


def check_no_kernel(slot: int, launch: Launch) -> None:
    """Check an item that an accelerator in `slot` is to run.

    Raises:
        InvalidRequest: It is a kernel.
    """
    if launch.kernel is not None:
        message = f"slot {slot} holds no GPU cluster; the item is a kernel and needs one"
        raise InvalidRequest(message, field="kernel")


def check_kernel(launch: Launch, kernel: KernelLaunch, region_bytes: int, cores: int) -> tuple[int, ...]:
    """Check a launch against the cluster it is meant for; answer the cores it takes.

    Args:
        launch: The launch.
        kernel: Its kernel.
        region_bytes: Size of its region.
        cores: How many cores the cluster has.

    Raises:
        InvalidRequest: Says which field, and what it may be.
    """
    if launch.registers or launch.status != -1 or launch.results:
        raise InvalidRequest("a kernel's launch has neither registers nor a status register", field="registers")
    if tuple((grant.buffer, grant.access) for grant in launch.grants) != ((kernel.region, Access.READ_WRITE),):
        raise InvalidRequest(
            f"a kernel is granted its region, buffer {kernel.region}, to read and write, and nothing else",
            field="grants",
            allowed=f"buffer {kernel.region}, rw",
        )
    if region_bytes > MAX_REGION_BYTES:
        raise InvalidRequest(
            f"a region has at most {format_bytes(MAX_REGION_BYTES)}, not {format_bytes(region_bytes)}",
            field="kernel.region",
            allowed=MAX_REGION_BYTES,
        )
    last = REGION_BASE + region_bytes - 4
    if kernel.entry % 4 or not REGION_BASE <= kernel.entry <= last:
        raise InvalidRequest(
            f"the program's entry is in its region, not at {kernel.entry:#x}",
            field="kernel.entry",
            allowed=f"multiples of 4 from {REGION_BASE:#x} to {last:#x}",
        )
    if not 0 <= kernel.argument < 1 << 32:
        raise InvalidRequest(f"argument {kernel.argument} has more than 32 bits", field="kernel.argument")
    asked = kernel.cores or tuple(range(cores))
    if len(set(asked)) != len(asked) or not all(0 <= core < cores for core in asked):
        raise InvalidRequest(
            f"the cluster has cores 0 to {cores - 1}, each to be named once, not {list(asked)}",
            field="kernel.cores",
            allowed=f"0..{cores - 1}",
        )
    return asked


def _slices_of_one(kernel: KernelLaunch, other: KernelLaunch) -> bool:
    return kernel.family == other.family != ""


def check_apart(kernel: KernelLaunch, cores: tuple[int, ...], other: Launch, taken: frozenset[int]) -> None:
    """Refuse a kernel beside another one that runs on the cores `taken`.

    Raises:
        Conflict: They share a core; or their region, and are not slices of one kernel.
    """
    if shared := sorted(taken.intersection(cores)):
        raise Conflict(
            f"cores {shared} run another item; wait for it, or name other cores",
            field="kernel.cores",
            item=other.item,
        )
    if other.kernel is not None and other.kernel.region == kernel.region and not _slices_of_one(kernel, other.kernel):
        raise Conflict(
            "its region is that of another item, which runs; kernels share no memory",
            field="kernel.region",
            item=other.item,
        )
