# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""OpenCL C kernels of two tenants on the cores of one cluster: side by side, and with a neighbour that goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from contract.gpu_harness import CLUSTER, GpuHarness
from contract.kernels import THREADS
from eddy.board.port.port import Access, BoardEvent, Buffer, Cause, EventKind, Grant, KernelLaunch, Launch, SlotPhase
from eddy.gpu.launches.launch import extent
from eddy.gpu.launches.packing import Packing
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.ndrange import Local, arrange_ndrange
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import compiled

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

CORE = ClusterShape(1, 2, THREADS, fpu=False, local_bytes=4096)
"""What one tenant gets: a core of the cluster."""
SOURCE = """
kernel void sums(global const int *x, global int *out, local int *t) {
  uint l = get_local_id(0), n = get_local_size(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = n / 2; s; s /= 2) { if (l < s) t[l] += t[l + s]; barrier(CLK_LOCAL_MEM_FENCE); }
  if (l == 0) out[get_group_id(0)] = t[0];
}
kernel void wild(global const int *x, global int *out, local int *t) { out[(1 << 20) + x[0]] = t[0]; }
kernel void spin(global const int *x, global int *out, local int *t) { while (!((global volatile int *)x)[0]) t[0]++; }
kernel void nonsense(global const int *x, global int *out, local int *t) { __asm__ volatile(".word 0xffffffff"); }
kernel void crooked(global const int *x, global int *out, local int *t) {
  *(global volatile int *)((global char *)out + x[0] + 1) = t[0];
}
"""
GROUP = 4
GOES_WRONG = {
    "wild": (Cause.WRITE_OUTSIDE_WINDOW, "store_fault"),
    "spin": (Cause.TIME_LIMIT, ""),
    "nonsense": (Cause.ILLEGAL_INSTRUCTION, "illegal"),
    "crooked": (Cause.MISALIGNED_ACCESS, "store_misaligned"),
}


@dataclass
class Tenant:
    """A tenant with a kernel in a region of its own."""

    packing: Packing
    region: Buffer
    data: npt.NDArray[Any]

    def result(self, gpu: GpuHarness) -> npt.NDArray[Any]:
        """What the kernel left in `out`."""
        placed = self.packing.arrays[1]
        return np.frombuffer(gpu.board.read(self.region.id, placed.offset, placed.bytes), "i4")

    @property
    def wanted(self) -> npt.NDArray[Any]:
        """What `sums` must leave there."""
        return np.asarray(self.data.reshape(-1, GROUP).sum(axis=1))


def start(gpu: GpuHarness, owner: str, kernel: str, data: npt.NDArray[Any], core: int, limit_s: float = 0.01) -> Tenant:
    """Put a tenant's kernel into memory and start it on one core."""
    out = np.zeros(len(data) // GROUP, "i4")
    arguments = [extent(data), extent(out), Local(4 * GROUP)]
    program = compiled(SOURCE, fpu=False)
    arrangement = arrange_ndrange(CORE, program, kernel, (len(data),), arguments, local_size=(GROUP,))
    packing = Packing(CORE, program, kernel, arrangement, arguments)
    region = gpu.board.allocate(packing.bytes, owner)
    arrays = ((packing.arrays[0].offset, data.tobytes()),)
    for offset, part in (*packing.fixed(), packing.block(0, len(data) // GROUP), *arrays):
        gpu.board.write(region.id, offset, part)
    asked = KernelLaunch(region.id, REGION_BASE, packing.block_address, (core,))
    launch = Launch(owner, (), (Grant(region.id, Access.READ_WRITE),), limit_s, kernel=asked)
    gpu.board.launch(CLUSTER, launch)
    return Tenant(packing, region, data)


def both(gpu: GpuHarness) -> dict[str, BoardEvent]:
    return {event.item: event for event in (gpu.next_event(), gpu.next_event())}


def test_two_tenants_kernels_with_barriers_run_at_once(gpu: GpuHarness) -> None:
    rng = np.random.default_rng(3)
    data = [rng.integers(-1000, 1000, 160).astype("i4") for _ in range(2)]
    ada, grace = start(gpu, "ada", "sums", data[0], core=0), start(gpu, "grace", "sums", data[1], core=1)
    assert gpu.board.state().slots[CLUSTER].items == ("ada", "grace")
    events = both(gpu)
    for tenant, event in ((ada, events["ada"]), (grace, events["grace"])):
        assert event.kind is EventKind.ITEM_DONE, event.detail
        np.testing.assert_array_equal(tenant.result(gpu), tenant.wanted)
        (report,) = event.cores
        assert sum(report.counters.cycle_thread) == report.counters.total_active_cycles > 0
    # At once, not one after the other.
    begin, end = max(e.started_s for e in events.values()), min(e.at_s for e in events.values())
    shortest = min(e.at_s - e.started_s for e in events.values())
    assert end - begin > 0.5 * shortest


@pytest.mark.parametrize("kernel", GOES_WRONG)
def test_a_bad_kernel_ends_alone_and_says_why(gpu: GpuHarness, kernel: str) -> None:
    zeros, data = np.zeros(16, "i4"), np.arange(400, dtype="i4")
    mallory = start(gpu, "mallory", kernel, zeros, core=0, limit_s=1e-4)
    ada = start(gpu, "ada", "sums", data, core=1)
    events = both(gpu)
    bad, good = events["mallory"], events["ada"]
    cause, fault = GOES_WRONG[kernel]
    assert (bad.kind, bad.cause) == (EventKind.ITEM_FAILED, cause), bad.detail
    assert [report.fault for report in bad.cores] == [fault]
    assert fault in bad.detail
    assert good.kind is EventKind.ITEM_DONE, good.detail
    np.testing.assert_array_equal(ada.result(gpu), ada.wanted)
    assert gpu.board.state().slots[CLUSTER].phase is SlotPhase.IDLE
    # Whoever is next on the bad one's core gets a clean one, with nothing reloaded.
    gpu.board.free(mallory.region.id)
    grace = start(gpu, "grace", "sums", data[:32], core=0)
    assert gpu.next_event().kind is EventKind.ITEM_DONE
    np.testing.assert_array_equal(grace.result(gpu), grace.wanted)
