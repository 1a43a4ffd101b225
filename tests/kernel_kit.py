# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the tests of kernel jobs share: a model board whose clusters compute, on the model of the instruction set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy.board.model.model import SHELL, ModelBoard, ModelFaults
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription, Cause
from eddy.core.records import KERNEL, JobRequest
from eddy.core.slots import Pool, SlotDescription
from eddy.gpu.launches.request import Buffer, KernelRequest
from eddy.gpu.programs.shape import ClusterShape
from eddy.hypervisor.intake.kernels import KernelLimits, KernelPlanner, cluster_shape
from eddy.packages.modules import ModuleKind, ModuleManifest
from eddy.store import Store
from eddy_sim.gpu.executors import IsaExecutor
from hypervisor_kit import BEHAVIOURS, LATENCY, MODULES, put
from unit.gpu_kit import compiler

GPU = "gpu_1c4w4t"
SHAPE = ClusterShape(1, 4, 4)
MANIFEST = ModuleManifest(
    GPU,
    ModuleKind.GPU,
    "gpu_cluster",
    Path("gpu_cluster.f"),
    (1, 0),
    1e8,
    (),
    parameters=(("Cores", "1"), ("Warps", "4"), ("Threads", "4"), ("Fpu", "1")),
)
ALL_MODULES: Mapping[str, ModuleManifest] = {**MODULES, GPU: MANIFEST}
SLICE_S = 1e-3

STEP = """
kernel void step(global uint *y, global const uint *x, uint n) {
  uint i = get_global_id(0);
  for (uint k = 0; k < n; k++) y[i] = y[i] * 1664525u + x[i];
  if (i % 64 == 1) printf("%u\\n", i);
}
kernel void wild(global uint *y) { *(global volatile uint *)0x70000000u = 1; y[0] = 1; }
kernel void spin(global volatile uint *y) { while (y[0] == 0) {} }
kernel void crooked(global uint *y) { *(global volatile uint *)((uint)y + 2) = 1; }
"""


class ComputingBoard(ModelBoard):
    """A model board on which kernels compute: all of a slice when it is launched, its event when its time has come."""

    def __init__(self, description: BoardDescription, faults: dict[str, Cause] | None = None) -> None:
        latency = {**LATENCY, GPU: SLICE_S}
        images, went_wrong = model_images(description, latency), ModelFaults(dict(faults or {}))
        super().__init__(description, images, latency, behaviours=BEHAVIOURS, faults=went_wrong, computing=IsaExecutor)


def description(gpu: int = 1, arena: int = 1 << 20, pipeline: int = 2) -> BoardDescription:
    """A board with some pipeline slots and some for clusters."""
    pools = [Pool.PIPELINE] * pipeline + [Pool.GPU] * gpu
    slots = tuple(SlotDescription(i, f"slot{i}", pool, 1000 + 100 * i, 1e8) for i, pool in enumerate(pools))
    return BoardDescription("model", "test", SHELL, 1e8, slots, arena, 1e6, False)


def kernel_board(gpu: int = 1, faults: dict[str, Cause] | None = None, arena: int = 1 << 20) -> ComputingBoard:
    """A board that runs `CHAIN` and kernels."""
    return ComputingBoard(description(gpu, arena), faults)


def kernels(slices: int = 4) -> KernelPlanner:
    """Compiles with the cache all tests share."""
    return KernelPlanner(ALL_MODULES, compiler(), KernelLimits(slices, 5e-2, waves=8))


def step_arrays(count: int = 512, salt: int = 1) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """What `step` works on: y, x."""
    x = np.arange(count, dtype="u4") * np.uint32(2 * salt + 1)
    return np.full(count, salt, "u4"), x


def stepped(y: npt.NDArray[np.uint32], x: npt.NDArray[np.uint32], n: int) -> npt.NDArray[np.uint32]:
    """What `step` makes of y."""
    for _ in range(n):
        y = y * np.uint32(1664525) + x
    return y


def buffer(store: Store, tenant: str, array: npt.NDArray[Any]) -> Buffer:
    """Put an array up."""
    return Buffer(put(store, tenant, array.tobytes()), array.dtype.str, array.shape)


def step_request(store: Store, tenant: str = "alice", salt: int = 1, count: int = 512, n: int = 2) -> JobRequest:
    """A request for `step` whose arrays are uploaded."""
    y, x = step_arrays(count, salt)
    arguments = (buffer(store, tenant, y), buffer(store, tenant, x), n)
    return JobRequest(tenant, "", kind=KERNEL, body=KernelRequest(STEP, "step", (count,), arguments).to_json())


def bad_request(store: Store, name: str, tenant: str = "alice") -> JobRequest:
    """A request for one of the kernels that go wrong."""
    arguments = (buffer(store, tenant, np.zeros(64, "u4")),)
    return JobRequest(tenant, "", kind=KERNEL, body=KernelRequest(STEP, name, (4,), arguments).to_json())


assert cluster_shape(MANIFEST) == SHAPE
