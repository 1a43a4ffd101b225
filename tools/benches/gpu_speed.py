# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How much work of programs a simulated GPU cluster does in a second, beside that of the cluster's first release.

tools/benches/gpu_speed.py                 against the first release, taken from the repository's history
tools/benches/gpu_speed.py --against DIR   against another checkout

Both trees run in turns, each with its own cluster, compiler and launch: the floating-point loop of
`eddy_sim.gpu.programs`, whose instructions are the same in both, in lane instructions a second; and the workloads of
`eddy.gpu.workloads`, results checked. A workload does the same in both trees however many instructions its compiler
makes of it, so useful lane instructions a second are as one time to the other. Times are the processor's, of what the
simulation takes, without compiling.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benches import AGAINST

ROOT = Path(__file__).resolve().parents[2]
CYCLES, RUNS = 200_000, 5
"""Of the floating-point loop, in each turn."""
FIRST = "daed550b170ffc925a980b872c87520bd0b898ff"
"""The commit of the cluster's first release."""
LEAST = {"float loop, relative": 1.0, "workloads, relative": 1.0}
"""Least work a second, relative to the other tree's in the same run."""


def float_loop() -> float:
    """Lane instructions a second of one core of 4 warps and 4 threads: the best of several runs."""
    from eddy_sim.gpu import cluster as clusters
    from eddy_sim.gpu.assemble import program
    from eddy_sim.gpu.cluster_build import Shape
    from eddy_sim.gpu.programs import FLOAT_LOOP

    kind: Any = getattr(clusters, "SimulatedCluster", None) or vars(clusters)["Cluster"]
    cluster, elf = kind(Shape()), program(FLOAT_LOOP)
    cluster.load(elf)
    cluster.start(elf.entry, cores=range(1))
    cluster.run(2000)
    best = 0.0
    for _ in range(RUNS):
        before, started = dict(cluster.counters()), time.process_time()
        cluster.run(CYCLES)
        took, after = time.process_time() - started, cluster.counters()
        done = sum(x * (after[f"cycle_thread_{x}"] - before[f"cycle_thread_{x}"]) for x in range(1, 5))
        best = max(best, done / took)
    return best


class _Timed:
    """An executor, and the processor time of what it runs."""

    def __init__(self, executor: Any) -> None:
        self._executor, self.shape, self.seconds = executor, executor.shape, 0.0

    def execute(self, *arguments: Any, **named: Any) -> Any:
        started = time.process_time()
        try:
            return self._executor.execute(*arguments, **named)
        finally:
            self.seconds += time.process_time() - started


def workload_seconds() -> dict[str, float]:
    """Processor time of each workload's simulation."""
    from eddy.gpu import workloads
    from eddy.gpu.compilation.compiler import Compiler
    from eddy_sim.gpu.executors import RtlExecutor

    executor: Any = _Timed(RtlExecutor())
    compiler, found = Compiler(), {}
    workloads.run(workloads.WORKLOADS["saxpy"](), executor, compiler)  # the cluster is built
    for name, make in workloads.WORKLOADS.items():
        executor.seconds = 0.0
        workloads.run(make(), executor, compiler)
        found[name] = executor.seconds
    return found


def first_release(folder: Path) -> Path:
    """The first release's sources, put into a folder."""
    archive = ["git", "-C", str(ROOT), "archive", FIRST, "hw", "runtime", "sim", "drivers", "bitstreams"]
    done = subprocess.run(archive, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"the first release is not in this repository's history (a shallow clone?): {done.stderr.decode()}"
        )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=done.stdout, check=True)
    return folder


def _turn(tree: Path) -> dict[str, Any]:
    paths = os.pathsep.join([*(str(tree / part) for part in ("runtime", "sim")), str(ROOT / "tools")])
    command = [sys.executable, __file__]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if not Path(measured["eddy"]).is_relative_to(tree):
        raise SystemExit(f"{tree} is no checkout of the project: eddy came from {measured['eddy']}")
    return measured


def compare(other: Path, turns: int) -> dict[str, float]:
    """This tree's speed relative to the other's, of the medians of turns."""
    here, there = [], []
    for turn in range(turns):
        print(f"bench: turn {turn + 1} of {turns}", file=sys.stderr, flush=True)
        there.append(_turn(other))
        here.append(_turn(ROOT))

    def median(found: list[dict[str, Any]], name: str) -> float:
        return float(statistics.median(turn["float"] if name == "float" else turn["work"][name] for turn in found))

    figures = {
        "float loop, lane instructions/s": median(here, "float"),
        "float loop, relative": median(here, "float") / median(there, "float"),
    }
    gains = {name: median(there, name) / median(here, name) for name in here[0]["work"]}
    figures |= {f"{name}, relative": gain for name, gain in gains.items()}
    figures["workloads, relative"] = math.exp(statistics.fmean(map(math.log, gains.values())))
    return figures


OPTIONS: dict[str, dict[str, Any]] = {"--against": AGAINST, "--turns": {"type": int, "default": 3}}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """This tree next to another one, or to the first release."""
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as folder:
        return compare((options.against or first_release(Path(folder))).resolve(), options.turns)


if __name__ == "__main__":  # in the tree that is measured
    import eddy

    print(json.dumps({"eddy": eddy.__file__, "float": float_loop(), "work": workload_seconds()}))
