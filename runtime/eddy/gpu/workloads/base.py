# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a workload is: kernels launched in order over named buffers, and the results they must leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from eddy.core.errors import EddyError
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.executor import Executor
from eddy.gpu.launches.launch import LaunchResult, launch

KERNELS = Path(__file__).resolve().parents[1] / "kernels"

Array = npt.NDArray[Any]
Bound = Literal["compute", "memory"]


class WrongResult(EddyError):
    """A workload left something other than its reference; the message says where and by how much."""

    code = "wrong-result"


@dataclass(frozen=True, slots=True)
class Step:
    """One launch.

    Attributes:
        kernel: Its name.
        global_size: Work-items by dimension.
        arguments: Buffer names, numbers and `Local`s in the kernel's order.
        local_size: Work-group size; None for what suits the cluster.
    """

    kernel: str
    global_size: tuple[int, ...]
    arguments: tuple[object, ...]
    local_size: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """A program, its data, and what must come out.

    Attributes:
        name: For tables.
        source: File under `eddy/gpu/kernels`.
        bound: What limits it on a cluster: arithmetic, or memory.
        steps: Launches in order.
        buffers: By name; a run works on copies.
        expected: By name of buffer, computed by numpy.
        defines: Macros of the source.
        tolerance: Largest relative error allowed; 0 for equality of every bit.
        description: Its size, in words.
    """

    name: str
    source: str
    bound: Bound
    steps: tuple[Step, ...]
    buffers: Mapping[str, Array]
    expected: Mapping[str, Array]
    defines: Mapping[str, object] = field(default_factory=dict)
    tolerance: float = 0.0
    description: str = ""

    def text(self) -> str:
        """The source."""
        return (KERNELS / self.source).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class StepRun:
    """What one launch of a workload did.

    Attributes:
        kernel: Its name.
        result: Counters and cycles.
    """

    kernel: str
    result: LaunchResult


def run(workload: Workload, executor: Executor, compiler: Compiler) -> tuple[StepRun, ...]:
    """Execute all steps, and compare what they leave with the reference.

    Args:
        workload: What to run.
        executor: Where.
        compiler: Compiles its source, with an FPU or without as the cluster is.

    Raises:
        WrongResult: A buffer differs from its reference.
    """
    program = compiler.compile(workload.text(), fpu=executor.shape.fpu, defines=workload.defines)
    buffers = {name: array.copy() for name, array in workload.buffers.items()}
    runs = []
    for step in workload.steps:
        arguments = [buffers[a] if isinstance(a, str) else a for a in step.arguments]
        runs.append(
            StepRun(
                step.kernel,
                launch(executor, program, step.kernel, step.global_size, arguments, local_size=step.local_size),
            )
        )
    verify(workload, buffers)
    return tuple(runs)


def verify(workload: Workload, buffers: Mapping[str, Array]) -> None:
    """Compare buffers with the reference.

    Raises:
        WrongResult: One differs.
    """
    for name, wanted in workload.expected.items():
        got = buffers[name]
        if workload.tolerance:
            off = np.abs(got - wanted) / np.maximum(np.abs(wanted), np.abs(wanted).max() * 1e-3 + 1e-30)
            wrong = ~(off <= workload.tolerance)
        else:
            wrong = got != wanted
        if wrong.any():
            at = tuple(int(k) for k in np.argwhere(wrong)[0])
            message = f"{workload.name}: {int(wrong.sum())} of {got.size} values of {name!r} are wrong; at {at}: "
            raise WrongResult(message + f"{got[at]} instead of {wanted[at]}.")


def floats(rng: np.random.Generator, *shape: int, low: float = -1.0, high: float = 1.0) -> Array:
    """Uniform binary32 numbers."""
    return rng.uniform(low, high, shape).astype(np.float32)


def in_order(products: Sequence[Array]) -> Array:
    """Sum in binary32, one after the other, rounded each time: as a loop in a kernel adds."""
    total = np.zeros_like(products[0])
    for product in products:
        total = total + product
    return total
