# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The GPU cluster's driver under stock PYNQ, without Eddy: overlay, partial download, allocate, interrupt."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pynq
import pytest
from contract.gpu_harness import CLUSTER, MODULES, ROOT, manifest_path, profile
from contract.kernels import MODULE, RESULT, code
from eddy.core.counters import CoreCounters
from eddy.core.slots import Pool
from eddy.packages.manifests import load_module_manifest
from eddy_drivers.gpu_cluster import REGION_AT, GpuCluster, Kernel, TrapCause
from eddy_sim.design import bitstreams, build
from eddy_sim.device import SimDevice
from pynq.pl_server.device import Device

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]

REGION_BYTES = 0x2000


@pytest.fixture(scope="module")
def overlay() -> Iterator[Any]:
    # PYNQ registers its interrupts with the thread's loop; the one of a board before this may be closed.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "manifest_path", manifest_path(build.manifest_path))
        tiny = profile()
        # A folder of its own: GPU slots on both sides, for the cluster of the product and that of the tests.
        slots = tuple(dataclasses.replace(slot, pool=Pool.GPU) for slot in tiny.slots)
        made = dataclasses.replace(tiny, name="tiny-gpus", slots=slots)
        folders = (ROOT / "bitstreams" / "gpu_1c4w4t", MODULES / MODULE)
        files = bitstreams.list_or_build(made, found=[load_module_manifest(folder) for folder in folders])
        before = vars(Device).get("_active_device")
        Device.active_device = SimDevice(made, coherent=False)
        opened = pynq.Overlay(str(files.overlay), device=Device.active_device)
        for slot, module in ((0, "gpu_1c4w4t"), (CLUSTER, MODULE)):
            opened.pr_download(f"slot{slot}", str(files.find(module, slot).file))
        yield opened
        if before is None:
            del Device._active_device
        else:
            Device.active_device = before
    loop.close()


@pytest.fixture
def driver(overlay: Any) -> Iterator[GpuCluster]:
    """The cluster of two cores."""
    window = getattr(overlay.slot1, MODULE).mmio
    made = GpuCluster({"device": overlay.device, "phys_addr": window.base_addr, "addr_range": window.length}, depth=2)
    yield made
    made.quiesce()


def region(overlay: Any, program: str) -> Any:
    buffer = pynq.allocate((REGION_BYTES,), dtype="u1", target=overlay.device)
    buffer[:] = 0
    buffer[: len(code(program))] = np.frombuffer(code(program), np.uint8)
    buffer.flush()
    return buffer


def kernel(buffer: Any, cores: tuple[int, ...], argument: int = 7) -> Kernel:
    return Kernel(REGION_AT, argument, buffer.device_address, REGION_BYTES, cores, cores[0])


def result(buffer: Any, core: int = 0) -> int:
    buffer.invalidate()
    return int.from_bytes(bytes(buffer[RESULT + 4 * core : RESULT + 4 * core + 4]), "little")


def test_pynq_binds_the_driver_and_its_interrupt_ends_a_kernel(overlay: Any) -> None:
    cluster = overlay.slot0.gpu_1c4w4t
    assert isinstance(cluster, GpuCluster)
    made = cluster.configuration
    assert (made.cores, made.warps, made.threads, made.fpu) == (1, 4, 4, True)
    assert (made.icache_bytes, made.dcache_bytes, made.local_bytes) == (4096, 8192, 16384)
    buffer = region(overlay, "count")
    ticket = cluster.launch(kernel(buffer, (0,), argument=11))
    assert cluster.poll() == ()
    asyncio.get_event_loop().run_until_complete(cluster.interrupt.wait())
    (end,) = cluster.poll()
    assert end.ticket == ticket
    counters = CoreCounters.of(end.cores[0].counters)
    assert sum(counters.cycle_thread) == counters.total_active_cycles > 6000
    assert result(buffer) == 11


def test_kernels_queue_for_their_cores_and_run_beside_others(overlay: Any, driver: GpuCluster) -> None:
    assert (driver.configuration.cores, driver.configuration.l2_bytes) == (2, 4096)
    buffers = [region(overlay, "count") for _ in range(3)]
    both = driver.launch(kernel(buffers[0], (0, 1), argument=1))
    left = driver.launch(kernel(buffers[1], (0,), argument=2))
    right = driver.launch(kernel(buffers[2], (1,), argument=3))
    assert list(driver.running) == [both]
    assert (driver.waiting, driver.free) == ((left, right), 0)
    ends = {end.ticket: end for end in (driver.wait(ticket) for ticket in (both, left, right))}
    assert [len(ends[ticket].cores) for ticket in (both, left, right)] == [2, 1, 1]
    assert (result(buffers[0], 0), result(buffers[0], 1)) == (1, 1)
    assert (result(buffers[1]), result(buffers[2])) == (2, 3)


def test_counters_are_read_while_a_kernel_runs(overlay: Any, driver: GpuCluster) -> None:
    buffer = region(overlay, "spin")
    ticket = driver.launch(kernel(buffer, (0,)))
    first, second = (CoreCounters.of(driver.counters(0)) for _ in range(2))
    for counted in (first, second):
        assert sum(counted.cycle_thread) == counted.total_active_cycles == counted.instructions
    assert second.cycles > first.cycles
    driver.halt(ticket)
    end = driver.wait(ticket)
    assert end.halted
    assert end.cores[0].fault is None
    last = driver.counters(0)
    assert driver.counters(0) == last == end.cores[0].counters, "it has stopped"


def test_a_fault_says_where(overlay: Any, driver: GpuCluster) -> None:
    buffers = region(overlay, "count"), region(overlay, "illegal")
    good, bad = driver.launch(kernel(buffers[0], (1,))), driver.launch(kernel(buffers[1], (0,)))
    fault = driver.wait(bad).cores[0].fault
    assert fault is not None
    assert (fault.cause, fault.pc, fault.value) == (TrapCause.ILLEGAL, REGION_AT + 4, 0xFFFF_FFFF)
    assert driver.wait(good).cores[0].fault is None
