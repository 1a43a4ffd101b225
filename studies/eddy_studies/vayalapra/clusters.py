# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the workloads of [000] take on the clusters of Table 5.3, by number of cores: measured on the RTL, and kept.

`measured.json` holds the measurements and says how they were made; `python -m eddy_studies.vayalapra.clusters` makes
them again (an hour of one processor or less). They calibrate every run of figures 5.3 to 5.10.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.workloads import Workload
from eddy.gpu.workloads.learning import kmeans, mlp
from eddy.gpu.workloads.networks import alexnet, resnet50, yolo
from eddy.model.parallel_fraction import karp_flatt_fraction

from eddy_studies.vayalapra.scaling import WARPS, point_of

KEPT = "measured.json"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of Table 5.3.

    Attributes:
        cores: PEs, in the market's sense.
        threads: Lanes of a warp.
        fpu: Whether its cores execute RV32F; without, kernels compute in soft float.
        mhz: Its clock.
    """

    cores: int
    threads: int
    fpu: bool
    mhz: int

    @property
    def shape(self) -> ClusterShape:
        """As the cluster is built."""
        return ClusterShape(self.cores, warps(self.threads), self.threads, self.fpu)


def warps(threads: int) -> int:
    """Warps a core: the thesis does not say how many. Four, and eight of two threads: a work-group of k-means is 16."""
    return max(WARPS, 16 // threads)


BASE = Cluster(2, 4, True, 80)
"""Throughputs are counted in those of one core of this one: clusters 1 and 2 of CFG1."""
CONFIGURATIONS: Mapping[str, tuple[Cluster, ...]] = {
    "CFG1": (BASE, BASE, Cluster(4, 4, False, 120), Cluster(8, 4, False, 110)),
    "CFG2": (BASE, Cluster(2, 8, True, 73), Cluster(4, 2, False, 120), Cluster(8, 4, False, 110)),
    "CFG3": (Cluster(2, 8, False, 80), Cluster(2, 8, False, 80), Cluster(4, 4, False, 110), Cluster(8, 4, False, 110)),
}
"""Table 5.3: cores, threads, FPUs on the first two clusters or nowhere, megahertz."""

SIZES: Mapping[str, Callable[[int], Workload]] = {
    "resnet50": lambda seed: resnet50(2, 32, 8, seed),
    "k-means": lambda seed: kmeans(1024, 4, 128, 1, seed),
    "mlp": lambda seed: mlp(32, 32, seed=seed),
    "alexnet": lambda seed: alexnet(1, 32, 4, seed),
    "yolo": lambda seed: yolo(2, 32, 13, seed),
}
"""Small enough to be measured on every cluster; a batch of 2 where there is one, so that eight cores have work."""


@dataclass(frozen=True, slots=True)
class Run:
    """One workload on some cores of a cluster.

    Attributes:
        workload: Its name.
        of, threads, fpu: The cluster: its cores, lanes, and whether they have FPUs.
        cores: Those that ran it.
        fraction: F among cores, by the counters of this run (4.3); 0 on one core, which shows none.
    """

    workload: str
    of: int
    threads: int
    fpu: bool
    cores: int
    cycles: int
    fraction: float


def counts(cores: int) -> list[int]:
    """Numbers of cores that are measured on a cluster: the powers of two."""
    return [1 << k for k in range(cores.bit_length()) if 1 << k <= cores]


def shapes() -> list[tuple[int, int, bool]]:
    """Cores, threads and FPU of every cluster of Table 5.3, each once; smallest first."""
    return sorted({(c.cores, c.threads, c.fpu) for clusters in CONFIGURATIONS.values() for c in clusters})


def measured_again(seed: int, done: Mapping[tuple[object, ...], Run] | None = None) -> Iterator[Run]:
    """Every workload on every number of cores of every cluster, on the RTL; results are compared with references."""
    from eddy_sim.gpu.executors import RtlExecutor

    compiler, done = Compiler(), done or {}
    for of, threads, fpu in shapes():
        for cores in counts(of):
            executor = RtlExecutor(ClusterShape(cores, warps(threads), threads, fpu), of=of)
            for name, make in SIZES.items():
                kept = done.get((name, of, threads, fpu, cores))
                if kept is not None:
                    yield kept
                    continue
                profile = point_of(make(seed), executor, compiler).profile
                alone = profile.predict_shape(1, threads)
                fraction = karp_flatt_fraction(alone / profile.time, cores) if cores > 1 else 0.0
                yield Run(name, of, threads, fpu, cores, round(profile.time), round(fraction, 5))


@cache
def runs() -> tuple[Run, ...]:
    """The measurements that are kept."""
    text = resources.files(__package__).joinpath(KEPT).read_text(encoding="utf-8")
    return tuple(Run(**record) for record in json.loads(text)["runs"])


@dataclass(frozen=True, slots=True)
class CoreScaling:
    """What more cores of a cluster bring, next to what counters say of it.

    Attributes:
        workload: Its name.
        of, threads, fpu: The cluster.
        cores: Those that ran it, by number; each of the lists below has a value for each.
        by_counters: F by (4.3), from the counters of that run alone; 0 on one core.
        by_times: F by (4.1), Karp-Flatt: from that run's time and one core's; 0 on one core.
    """

    workload: str
    of: int
    threads: int
    fpu: bool
    cores: tuple[int, ...]
    cycles: tuple[int, ...]
    by_counters: tuple[float, ...]
    by_times: tuple[float, ...]

    def error(self, before: int, cores: int) -> float:
        """Relative error of the time on `cores` that (3.1) predicts from time and counters on `before`."""
        at, to = self.cores.index(before), self.cores.index(cores)
        serial = 1.0 - self.by_counters[at]
        ratio = (serial + (1.0 - serial) / cores) / (serial + (1.0 - serial) / before)
        return self.cycles[at] * ratio / self.cycles[to] - 1.0


def core_scaling() -> tuple[CoreScaling, ...]:
    """The measurements that are kept, by workload and cluster."""
    found = []
    for of, threads, fpu in shapes():
        for workload in SIZES:
            own = [r for r in runs() if (r.workload, r.of, r.threads, r.fpu) == (workload, of, threads, fpu)]
            own.sort(key=lambda run: run.cores)
            cores, cycles = tuple(run.cores for run in own), tuple(run.cycles for run in own)
            times = [karp_flatt_fraction(cycles[0] / run.cycles, run.cores) if run.cores > 1 else 0.0 for run in own]
            counters = tuple(run.fraction for run in own)
            found.append(CoreScaling(workload, of, threads, fpu, cores, cycles, counters, tuple(times)))
    return tuple(found)


def main(path: Path) -> None:
    """Measure, and keep after every run what there is; goes on where an earlier call ended."""
    before = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    done: dict[tuple[object, ...], Run] = {
        (r["workload"], r["of"], r["threads"], r["fpu"], r["cores"]): Run(**r) for r in before
    }
    found: list[Run] = []
    for run in measured_again(0, done):
        found.append(run)
        print(run, file=sys.stderr, flush=True)
        records = ",\n".join("  " + json.dumps(asdict(each)) for each in found)
        command = "python -m eddy_studies.vayalapra.clusters"
        head = f'"command": "{command}", "memory_latency_cycles": 20'
        path.write_text(f'{{{head},\n"runs": [\n{records}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name(KEPT))
