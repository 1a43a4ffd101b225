# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What executes kernels: the port between a launch and a cluster, real, simulated or modelled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from eddy.core.counters import CoreCounters, add_run
from eddy.gpu.programs.shape import ClusterShape

__all__ = ["CAUSES", "CoreCounters", "Execution", "Executor", "Fault", "total"]

CAUSES: Mapping[int, str] = MappingProxyType(
    {
        0: "fetch_misaligned",
        1: "fetch_fault",
        2: "illegal",
        3: "breakpoint",
        4: "load_misaligned",
        5: "load_fault",
        6: "store_misaligned",
        7: "store_fault",
        11: "ecall",
        24: "barrier_deadlock",
        25: "stack_overflow",
    }
)
"""Names of trap causes, as hw/regs/gpu_cluster.rdl has them."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a core was stopped.

    Attributes:
        core: Which.
        cause: Its name.
        pc: Address of the instruction; 0 where memory refused.
        value: The instruction, or the address of the access.
    """

    core: int
    cause: str
    pc: int
    value: int


@dataclass(frozen=True, slots=True)
class Execution:
    """How one run of all cores ended.

    Attributes:
        finished: Whether every core came to its end; otherwise the bound on time was reached.
        cycles: Clock cycles of the whole run; 0 where the executor has no clock.
        counters: Of each core.
        faults: Cores that were stopped.
    """

    finished: bool
    cycles: int
    counters: tuple[CoreCounters, ...]
    faults: tuple[Fault, ...] = ()


class Executor(Protocol):
    """A cluster that runs one program at a time on all its cores."""

    @property
    def shape(self) -> ClusterShape:
        """What it is made of."""

    def execute(self, region: bytearray, entry: int, argument: int, limit: int) -> Execution:
        """Start every core at `entry` and wait for all.

        Args:
            region: Memory from `REGION_BASE` on, nothing else being accessible; holds what the cores wrote afterwards.
            entry: First address of the program.
            argument: What warp 0 of each core finds in mscratch.
            limit: Clock cycles (instructions, where there is no clock) after which the run is given up.
        """


def total(runs: Iterable[Execution]) -> tuple[CoreCounters, ...]:
    """The counters of several runs of the same cluster, added up core by core."""
    summed: tuple[CoreCounters, ...] = ()
    for run in runs:
        summed = add_run(summed, run.counters)
    return summed
