# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Cycles of kernels as OpenCL C, on the RTL of one core: what an item costs beside what it does, and the workloads.

With `--json`, one object on standard output: cycles an item, an element or a multiply-add; for each of `WORKLOADS`, how
many times fewer cycles it takes than with the first release of the cluster, and the geometric mean of that. `--warps`
and `--threads` choose the core. Results are checked against numpy.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy.gpu import workloads
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.shape import ClusterShape
from eddy_sim.gpu.executors import RtlExecutor

Floats = npt.NDArray[np.float32]
ITEMS, SIDE = 4096, 64
KERNELS = Path(workloads.__file__).resolve().parents[1] / "kernels"
FIRST = {
    "resnet50": 2_458_939,
    "yolo": 2_581_695,
    "alexnet": 1_396_880,
    "k-means": 234_289,
    "mlp": 756_830,
    "sgemm": 123_112,
    "sgemm_tiled": 139_218,
    "black_scholes": 199_659,
    "divergent": 198_683,
    "vecadd": 58_270,
    "saxpy": 58_563,
    "reduction": 132_992,
    "transpose": 117_586,
}
"""Cycles of each workload on one core of 4 warps and 4 lanes as the cluster was first released (commit daed550)."""
EMPTY = "kernel void empty(global int *a) {}"


def product(a: Floats, b: Floats) -> Floats:
    """As the kernels add: in order, each step rounded."""
    c = np.zeros((SIDE, SIDE), np.float32)
    for k in range(SIDE):
        c = c + a[:, k : k + 1] * b[k : k + 1, :]
    return c


def measure(shape: ClusterShape) -> dict[str, float]:
    """Cycles by kernel."""
    executor, compiler, rng = RtlExecutor(shape), Compiler(), np.random.default_rng(1)
    found = {}
    empty = compiler.compile(EMPTY)
    found["empty"] = launch(executor, empty, "empty", (ITEMS,), [np.zeros(1, "i4")]).cycles / ITEMS
    basic = compiler.compile((KERNELS / "basic.cl").read_text())
    a, b = (rng.random(ITEMS, dtype="f4") for _ in range(2))
    c = np.zeros(ITEMS, "f4")
    found["vecadd"] = launch(executor, basic, "vecadd", (ITEMS,), [a, b, c]).cycles / ITEMS
    _check("vecadd", c, a + b)
    x = np.arange(ITEMS, dtype="i4")
    for group in (16, 256):
        sums = np.zeros(ITEMS // group, "i4")
        arguments = [x, sums, Local(4 * group)]
        done = launch(executor, basic, "reduction", (ITEMS,), arguments, local_size=(group,))
        found[f"reduction {group}"] = done.cycles / ITEMS
        _check("reduction", sums, x.reshape(-1, group).sum(1))
    left, right = (rng.random((SIDE, SIDE), dtype="f4") for _ in range(2))
    for tile in (0, 4, 8, 16):
        source = compiler.compile((KERNELS / "sgemm.cl").read_text(), defines={"TILE": tile or 4})
        out, name = np.zeros((SIDE, SIDE), "f4"), "sgemm_tiled" if tile else "sgemm"
        local = (tile, tile) if tile else None
        done = launch(executor, source, name, (SIDE, SIDE), [left, right, out, SIDE, SIDE], local_size=local)
        found[f"{name} {tile}" if tile else name] = done.cycles / SIDE**3
        _check(name, out, product(left, right))
    return found


def gains(shape: ClusterShape) -> dict[str, float]:
    """How many times fewer cycles workloads take than at first; the last is their geometric mean."""
    executor, compiler = RtlExecutor(shape), Compiler()
    found = {}
    for name, cycles in FIRST.items():
        steps = workloads.run(workloads.WORKLOADS[name](), executor, compiler)
        found[f"{name}, gain"] = cycles / sum(step.result.cycles for step in steps)
    return {**found, "workloads, gain": math.exp(sum(map(math.log, found.values())) / len(found))}


def _check(name: str, found: npt.NDArray[np.generic], wanted: npt.NDArray[np.generic]) -> None:
    if not np.array_equal(found, wanted):
        raise SystemExit(f"{name} is wrong")


OPTIONS = {"--warps": {"type": int, "default": 4}, "--threads": {"type": int, "default": 4}}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Cycles of what OpenCL C offers."""
    shape = ClusterShape(1, options.warps, options.threads)
    return {**measure(shape), **gains(shape)}
