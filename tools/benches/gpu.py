# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How fast the GPU's simulation is, and how many cycles its kernels take beside their bounds.

Speeds are for each second of processor time of one thread: the median of several runs, and the best. Stalled cores look
fast, so instructions of lanes a second stand beside. Goals are in turns of a fixed compiled loop (`tools/yardstick.py`)
for each instruction of a lane, so that they mean the same on every machine. With `--json`, one object on stdout.

- *float loop*: four dependent floating-point operations, a decrement and a branch, on cores of 4 warps and 4 threads
  with floating point, caches and counters; one core, and four;
- *vecadd*, *sgemm*: cycles an element, or a multiply-add; the bounds are those of docs/explanations/gpu-cluster.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.cluster import SimulatedCluster, Stop
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.programs import FLOAT_LOOP, OUT, SGEMM, VECADD, A, B, C, c_program
from yardstick import compiled_turns_per_s

from benches import tell

MOST = {"1 core, turns/lane instruction": 107.0, "4 cores, turns/lane instruction": 125.0}
"""Most turns of the compiled yardstick in the time of a simulated instruction of one lane."""
Floats = npt.NDArray[np.float32]
RUNS = 7
VECADD_INSTRUCTIONS = 9
"""Of a lane for each of its elements: two loads, the sum, a store, three addresses, the count, the branch."""


def lane_instructions(cluster: SimulatedCluster) -> int:
    """Instructions of all lanes of all cores so far."""
    counters = [cluster.counters(core) for core in range(cluster.shape.cores)]
    return sum(x * c[f"cycle_thread_{x}"] for c in counters for x in range(1, cluster.shape.threads + 1))


def float_loop(cores: int, cycles: int) -> dict[str, float]:
    """Speed on the floating-point loop."""
    cluster = SimulatedCluster(Shape(cores=cores), progress=tell)
    elf = program(FLOAT_LOOP)
    cluster.load(elf)
    cluster.start(elf.entry, cores=range(cores))
    cluster.run(2000)
    before, begin = lane_instructions(cluster), cluster.cycles
    rates = []
    for _ in range(RUNS):
        started = time.process_time()
        if cluster.run(cycles) is not Stop.LIMIT:
            raise SystemExit("the loop ended before the measurement")
        rates.append(cycles / (time.process_time() - started))
    share = (lane_instructions(cluster) - before) / (cluster.cycles - begin)
    name = f"{cores} core{'s' if cores > 1 else ''}"
    return {
        f"{name}, cycles/s": statistics.median(rates),
        f"{name}, best cycles/s": max(rates),
        f"{name}, lane instructions/s": statistics.median(rates) * share,
        f"{name}, turns/lane instruction": compiled_turns_per_s() / max(rates) / share,
    }


def kernel(source: str, n: int, elements: int) -> tuple[int, Floats, tuple[Floats, Floats]]:
    """Cycles of a kernel, what it left at C, and its inputs."""
    rng = np.random.default_rng(n)
    a, b = (rng.standard_normal(elements).astype(np.float32) for _ in range(2))
    cluster = SimulatedCluster(Shape(), progress=tell)
    elf = c_program(source)
    cluster.load(elf)
    cluster.write(OUT, n.to_bytes(4, "little"))
    cluster.write(A, a.tobytes())
    cluster.write(B, b.tobytes())
    cluster.start(elf.entry)
    if cluster.run(10_000_000) is not Stop.IDLE or cluster.faults():
        raise SystemExit("a kernel did not end")
    return cluster.counters()["cycles"], np.frombuffer(cluster.read(C, 4 * elements), np.float32), (a, b)


def kernels() -> dict[str, float]:
    """Cycles of vecadd and sgemm on one core of 4 warps and 4 threads, results checked."""
    n = 4096
    cycles, got, (a, b) = kernel(VECADD, n, n)
    if not np.array_equal(got, a + b):
        raise SystemExit("vecadd is wrong")
    side = 24
    gemm, product, (a, b) = kernel(SGEMM, side, side * side)
    if not np.allclose(product.reshape(side, side), a.reshape(side, side) @ b.reshape(side, side), atol=1e-4):
        raise SystemExit("sgemm is wrong")
    return {
        "vecadd, cycles/element": cycles / n,
        "vecadd, bound": VECADD_INSTRUCTIONS / Shape().threads,
        "sgemm, cycles/multiply-add": gemm / side**3,
        "sgemm, bound": 3 / Shape().threads,
    }


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """A loop of floating point, and kernels."""
    return {**float_loop(1, 300_000), **float_loop(4, 75_000), **kernels()}
