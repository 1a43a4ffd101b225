"""How much work of programs a simulated GPU cluster does in a second, beside that of another tree of the project.

tools/bench_gpu_speed.py --against DIR   DIR: a checkout, the first release (commit daed550) for one

Both trees run in turns, each with its own cluster, compiler and launch: the floating-point loop of
`eddy_sim.gpu.programs`, whose instructions are the same in both, in lane instructions a second; and the workloads of
`eddy.gpu.workloads`, results checked. A workload does the same in both trees however many instructions its compiler
makes of it, so useful lane instructions a second are as one time to the other. Times are the processor's, of what the
simulation takes, without compiling. With `--json`, one object on standard output.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CYCLES, RUNS = 200_000, 5
"""Of the floating-point loop, in each turn."""
GOAL = 1.0


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
    from eddy.gpu.compiler import Compiler
    from eddy_sim.gpu.executors import RtlExecutor

    executor, compiler, found = _Timed(RtlExecutor()), Compiler(), {}
    warm: Any = executor
    workloads.run(workloads.WORKLOADS["saxpy"](), warm, compiler)
    for name, make in workloads.WORKLOADS.items():
        executor.seconds = 0.0
        workloads.run(make(), warm, compiler)
        found[name] = executor.seconds
    return found


def _turn(tree: Path) -> dict[str, Any]:
    paths = os.pathsep.join(str(tree / part) for part in ("runtime", "sim"))
    command = [sys.executable, __file__, "--measure"]
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

    def median(found: list[dict[str, Any]], *keys: str) -> float:
        values = []
        for each in found:
            value: Any = each
            for key in keys:
                value = value[key]
            values.append(float(value))
        return statistics.median(values)

    figures = {
        "float loop, lane instructions/s": median(here, "float"),
        "float loop, relative": median(here, "float") / median(there, "float"),
    }
    gains = {name: median(there, "work", name) / median(here, "work", name) for name in here[0]["work"]}
    figures |= {f"{name}, relative": gain for name, gain in gains.items()}
    figures["workloads, relative"] = math.exp(statistics.fmean(map(math.log, gains.values())))
    return figures


def main() -> int:
    """Measure and print; exit 1 where this tree does less than the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="DIR", help="the other checkout")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        import eddy

        print(json.dumps({"eddy": eddy.__file__, "float": float_loop(), "work": workload_seconds()}))
        return 0
    if options.against is None:
        parser.error("--against DIR is missing: a checkout to compare with")
    figures = compare(options.against.resolve(), options.turns)
    missed = [name for name in ("float loop, relative", "workloads, relative") if figures[name] < GOAL]
    if options.json:
        print(json.dumps({"figures": figures, "goals": dict.fromkeys(missed, GOAL), "missed": missed}, indent=2))
    else:
        for name, value in figures.items():
            print(f"{name:34} {value:12.4g}")
        print(*(f"less than the other: {name}" for name in missed), sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
