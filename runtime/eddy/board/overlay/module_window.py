# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The register window of what is in a slot: an HLS accelerator, or a GPU cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eddy_drivers import gpu_cluster
from eddy_drivers.hls_accelerator import KIND as HLS_KIND
from eddy_drivers.hls_accelerator import MAP_MAJOR as HLS_MAP_MAJOR
from eddy_drivers.hls_accelerator import HlsAccelerator
from eddy_drivers.identity import read_identity

from eddy.board.port.port import CoreReport
from eddy.board.pynq.fabric import Identity, KernelEnd, KernelStart
from eddy.core.counters import CoreCounters
from eddy.core.errors import Conflict
from eddy.core.slots import Control
from eddy.gpu.programs.shape import ClusterShape


class ModuleWindow:
    """A module's register window behind a fence in software.

    Which driver speaks to it follows from the identity read last; both stand on the same window.
    """

    def __init__(self, driver: HlsAccelerator, description: dict[str, Any]) -> None:
        self._driver, self._description = driver, description
        self.cluster: ClusterControl | None = None
        self.fenced = True

    def fence(self) -> None:
        """Refuse accesses from here on."""
        self.fenced = True

    def unfence(self) -> None:
        """Let accesses pass."""
        self.fenced = False

    def identity(self) -> Identity:
        """Read what is in the slot; from here on the driver is the one for it."""
        found = read_identity(self._driver.get)
        is_cluster = (found.kind, found.major) == (gpu_cluster.KIND, gpu_cluster.MAP_MAJOR)
        # A new driver every time: what the last one knew of its kernels ended with the module it spoke to.
        self.cluster = ClusterControl(gpu_cluster.GpuCluster(self._description), self._check) if is_cluster else None
        return Identity(found.magic, found.kind, found.major, found.minor, found.build)

    def has_driver(self, identity: Identity) -> bool:
        """Whether there is a driver for it."""
        known = ((HLS_KIND, HLS_MAP_MAJOR), (gpu_cluster.KIND, gpu_cluster.MAP_MAJOR))
        return (identity.kind, identity.map_major) in known

    def quiesce(self) -> None:
        """Ask what is in the slot to stop."""
        if self.cluster is not None:
            self.cluster.quiesce()
        else:
            self._driver.quiesce()

    def read(self, offset: int) -> int:
        """Read a register."""
        self._check()
        return self._driver.get(offset)

    def write(self, offset: int, value: int) -> None:
        """Write a register."""
        self._check()
        self._driver.put(offset, value)

    def unready_reason(self) -> str:
        """Why it takes no start; "" where it does."""
        self._check()
        return self._driver.unready_reason()

    def is_at_rest(self) -> bool:
        """Whether nothing was started that has not ended."""
        self._check()
        return self._driver.is_at_rest()

    def start(self) -> None:
        """Start the module."""
        self._check()
        self._driver.start()

    def finished(self, control: Control) -> bool:
        """Whether it has ended since it was last asked."""
        self._check()
        return self._driver.acknowledge_done(chain=control is Control.CHAIN)

    def _check(self) -> None:
        if self.fenced:
            raise Conflict(
                f"the register window at {self._driver.mmio.base_addr:#x} is fenced: its slot is closed", field="slot"
            )


class ClusterControl:
    """A GPU cluster as the board sees it.

    Args:
        driver: Its driver.
        check: Raises where register accesses are fenced.
    """

    def __init__(self, driver: gpu_cluster.GpuCluster, check: Callable[[], None]) -> None:
        self._driver, self._check = driver, check
        self.quiesce = driver.quiesce

    @property
    def shape(self) -> ClusterShape:
        """What it is made of."""
        self._check()
        made = self._driver.configuration
        return ClusterShape(made.cores, made.warps, made.threads, made.fpu, made.local_bytes)

    def start(self, kernel: KernelStart) -> int:
        """Start a kernel; its ticket."""
        self._check()
        asked = gpu_cluster.Kernel(
            kernel.entry,
            kernel.argument,
            kernel.address,
            kernel.bytes,
            kernel.cores,
            kernel.context,
            kernel.family,
        )
        return self._driver.launch(asked)

    def poll(self) -> tuple[KernelEnd, ...]:
        """Take the interrupt away; what has ended."""
        self._check()
        return tuple(KernelEnd(end.ticket, tuple(map(_report, end.cores))) for end in self._driver.poll())

    def halt(self, ticket: int) -> None:
        """Ask a kernel's cores to stop."""
        self._check()
        self._driver.halt(ticket)

    @property
    def shares_cache(self) -> bool:
        """Whether its cores share a second-level cache."""
        self._check()
        return self._driver.configuration.l2_bytes > 0

    def counters(self, cores: Sequence[int]) -> Mapping[int, CoreCounters]:
        """What cores have counted since their kernels began."""
        self._check()
        return {core: CoreCounters.of(self._driver.counters(core)) for core in cores}


def _report(end: gpu_cluster.CoreEnd) -> CoreReport:
    fault = end.fault
    return CoreReport(
        core=end.core,
        counters=CoreCounters.of(end.counters),
        fault=fault.cause.name.lower() if fault else "",
        fault_pc=fault.pc if fault else 0,
        fault_value=fault.value if fault else 0,
    )
