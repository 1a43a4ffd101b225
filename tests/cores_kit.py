# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the tests of clusters shared core by core have in common: boards that compute, engines, kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from eddy.board.model.model import SHELL, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription, Launch
from eddy.core.records import KERNEL, JobRequest
from eddy.core.slots import Pool, SlotDescription
from eddy.core.tenants import TenantRecord
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.cores.market_loop import ClusterKind, PriceLoop, PriceSettings
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.intake.kernels import KernelLimits, KernelPlanner
from eddy.packages.modules import ModuleKind, ModuleManifest
from eddy.policy.dispatch import POLICIES as DISPATCH
from eddy.policy.price import POLICIES
from eddy.store import Store
from eddy_sim.gpu.executors import IsaExecutor
from hypervisor_kit import BEHAVIOURS, CHAIN, LATENCY, MODULES
from kernel_kit import buffer
from unit.gpu_kit import compiler

SOURCE = """
kernel void step(global uint *y, global const uint *x, uint n) {
  uint i = get_global_id(0);
  for (uint k = 0; k < n; k++) y[i] = y[i] * 1664525u + x[i];
  if (i % 64 == 1) printf("%u\\n", i);
}
kernel void {name}(global uint *y) { y[get_global_id(0)] += 1; }
kernel void crooked(global uint *y) { *(global volatile uint *)((uint)y + 2) = 1; }
"""


def manifest(cores: int, warps: int = 2, threads: int = 2, fpu: bool = True) -> ModuleManifest:
    """A cluster of so many cores."""
    shape = (("Cores", cores), ("Warps", warps), ("Threads", threads), ("Fpu", int(fpu)))
    name = f"gpu_{cores}c{warps}w{threads}t" + "x" * (not fpu)
    parameters = tuple((key, str(value)) for key, value in shape)
    return ModuleManifest(
        name, ModuleKind.GPU, "gpu_cluster", Path("gpu_cluster.f"), (1, 0), 1e8, (), parameters=parameters
    )


def description(slots: int = 1, arena: int = 4 << 20) -> BoardDescription:
    """A board with one pipeline slot and some for clusters."""
    pools = [Pool.PIPELINE] + [Pool.GPU] * slots
    described = tuple(SlotDescription(i, f"slot{i}", pool, 1000 + 100 * i, 1e8) for i, pool in enumerate(pools))
    return BoardDescription("model", "test", SHELL, 1e8, described, arena, 1e6, False)


class CoresBoard(ModelBoard):
    """A model board on which slices compute, each on one core, when they are launched."""

    def __init__(self, modules: Mapping[str, ModuleManifest], slots: int = 1, group_s: float = 1e-4) -> None:
        described = description(slots)
        latency = {**LATENCY, **dict.fromkeys(modules, group_s)}
        images = model_images(described, latency)
        super().__init__(described, images, latency, behaviours=BEHAVIOURS, computing=IsaExecutor)
        self.most: dict[int, int] = {}
        """By slot: most kernels that ran at once."""
        self.started: Counter[int] = Counter()
        """By slot: slices that were started."""

    def launch(self, slot: int, launch: Launch) -> None:
        """See the port."""
        super().launch(slot, launch)
        self.started[slot] += 1
        running = len(self.state().slots[slot].items)
        self.most[slot] = max(self.most.get(slot, 0), running)


def kinds(modules: Mapping[str, ModuleManifest]) -> dict[str, ClusterKind]:
    """What the modules are, as clusters."""
    found = {}
    for name, each in modules.items():
        given = {key: int(value) for key, value in each.parameters}
        found[name] = ClusterKind(given["Cores"], given["Threads"], each.clk_hz)
    return found


def engine_over(
    board: Any,
    store: Any,
    modules: Mapping[str, ModuleManifest],
    price: str = "market",
    settings: PriceSettings | None = None,
) -> Engine:
    """An engine whose clusters are shared by a price policy; tenants' weights are in the store."""
    planner = KernelPlanner({**MODULES, **modules}, compiler(), KernelLimits(time_limit_s=1.0))

    loop = PriceLoop(POLICIES[price](), kinds(modules), store.projects.weights, settings or PriceSettings())
    applications = {CHAIN.name: CHAIN}
    every = {**MODULES, **modules}
    # Clusters of studies, which some tests run on, have no check on record.
    return Engine(
        board, DISPATCH["fcfs"](), store, applications, every, None, planner, price=loop, allow_unchecked=True
    )


def tenants(store: Store, **weights: float) -> None:
    """Tenants of so much weight each."""
    for name, weight in weights.items():
        store.tenants.put(TenantRecord(name, key_hash=name, attributes={"weight": weight}))


def add_request(store: Store, tenant: str, count: int, name: str = "add", key: str = "") -> JobRequest:
    """A request for a kernel that adds one to each element; kernels of other names are other kernels."""
    arguments = (buffer(store, tenant, np.zeros(count, "u4")),)
    source = SOURCE.replace("{name}", name)
    body = KernelRequest(source, name, (count,), arguments).to_json()
    return JobRequest(tenant, "", kind=KERNEL, body=body, idempotency_key=key)
