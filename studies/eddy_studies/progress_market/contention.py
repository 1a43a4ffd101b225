# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels that share one cluster's memory, in closed form: a world in which policies of progress can be tried.

Every core of a kernel executes at a fixed rate and asks memory for a fixed number of lines an instruction, unless the
memory cannot keep up; then requests are served in proportion to what is asked for, as queues that are served mostly in
order do ([001] 4.3). A kernel that hides the memory's latency keeps its pace while the queue slows others down. What a
memory gives follows the hit rate ([001] insight 4). It is what HSM assumes and no more: how far real clusters are from
it is measured elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters


@dataclass(frozen=True, slots=True)
class KernelBehaviour:
    """How a kernel uses a core and the memory.

    Attributes:
        instructions_per_cycle: Of one core while memory keeps up.
        requests_per_instruction: Lines asked of the memory.
        hit_rate: Part of them that find their row open.
        patience: Times the memory may become slower before the kernel does: its latency is hidden so well.
    """

    instructions_per_cycle: float
    requests_per_instruction: float
    hit_rate: float
    patience: float = 1.0

    def memory_load(self, cores: float, machine: ClusterParameters, law: MemoryLaw) -> float:
        """Part of the memory's time that it asks for on so many cores; above 1 where that is more than there is."""
        requests = self.requests_per_instruction * self.instructions_per_cycle * cores
        bytes_per_s = requests * machine.request_bytes * machine.clock_hz
        return bytes_per_s / law.supply_bytes_per_s(self.hit_rate)


@dataclass(frozen=True, slots=True)
class SharedRun:
    """What came of kernels that ran side by side.

    Attributes:
        sharing: What is counted of each.
        progress: Normalised progress of each, as it is.
        speeds: Instructions a cycle of each.
    """

    sharing: tuple[SharedRunCounters, ...]
    progress: tuple[float, ...]
    speeds: tuple[float, ...]


def solo_ipc(kernel: KernelBehaviour, machine: ClusterParameters, law: MemoryLaw) -> float:
    """Instructions a cycle of a kernel that has every core and the memory to itself."""
    busy = kernel.memory_load(machine.cores, machine, law)
    return kernel.instructions_per_cycle * machine.cores / max(busy, 1.0)


def share_cluster(
    kernels: Sequence[KernelBehaviour],
    cores: Sequence[float],
    machine: ClusterParameters,
    law: MemoryLaw,
    cycles: float = 100_000.0,
) -> SharedRun:
    """Run kernels side by side for an epoch.

    Args:
        kernels: What each does.
        cores: Each has.
    """
    asked = [kernel.memory_load(x, machine, law) for kernel, x in zip(kernels, cores, strict=True)]
    served = _served(asked, [kernel.patience for kernel in kernels])
    sharing, progress, speeds = [], [], []
    for kernel, x, wanted, got in zip(kernels, cores, asked, served, strict=True):
        speed = kernel.instructions_per_cycle * x * (got / wanted if wanted > 0 else 1.0)
        requests = speed * kernel.requests_per_instruction * cycles
        sharing.append(SharedRunCounters(cycles, x, speed * cycles, requests, requests * kernel.hit_rate))
        progress.append(speed / solo_ipc(kernel, machine, law))
        speeds.append(speed)
    return SharedRun(tuple(sharing), tuple(progress), tuple(speeds))


def _served(asked: Sequence[float], patience: Sequence[float]) -> list[float]:
    """Parts of the memory's time each gets: what it asks for, or so many times that as all others of its patience."""
    left, open_ = 1.0, set(range(len(asked)))
    served = list(asked)
    if sum(asked) <= 1:
        return served
    while open_:
        level = left / sum(asked[i] * patience[i] for i in open_) if left > 0 else 0.0
        content = {i for i in open_ if patience[i] * level >= 1}
        if not content:
            for i in open_:
                served[i] = asked[i] * patience[i] * level
            break
        left -= sum(asked[i] for i in content)
        open_ -= content
    return served
