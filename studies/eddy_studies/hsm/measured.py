# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figures 2 to 4 and 10 from runs of the programs on the RTL of a cluster, which `rtl_measured.json` keeps."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from eddy.model.eddy_slowdown import EddySlowdown, QueueConstants
from eddy.model.progress import ClusterEpoch, ProgressPredictor
from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters, fit_memory_law

from eddy_studies.hsm import figures
from eddy_studies.hsm.rtl_data import CounterTotals, MeasuredRuns, Mix, SoloRun, load_runs
from eddy_studies.hsm.train import fit
from eddy_studies.policies import PREDICTORS
from eddy_studies.report import Row, write_csv

RTL = "RTL"
LINE_BYTES = 64
WAITING = 0.25
"""Part of its core-cycles that a program waits for memory, alone on all cores, to count as memory-bound."""


def sharing(counted: CounterTotals) -> SharedRunCounters:
    """What predictors are told. A store of less than a line counts as a request, since the memory serves it as one."""
    return SharedRunCounters(
        cycles=float(counted.cycles),
        cores=counted.core_cycles / counted.cycles,
        instructions=float(counted.instructions),
        requests=float(counted.requests),
        row_hits=float(counted.row_hits),
        cache_hits=float(counted.cache_hits),
        cache_misses=float(counted.cache_misses),
        memory_stall_cycles=float(counted.stall_cycles),
    )


class Cluster8:
    """The measurements as predictors see them.

    Args:
        found: At least every program of a mix alone on all cores.

    Attributes:
        names: Programs that were measured alone on all cores.
        machine: Its cores.
        law: Of its memory, by its memory-bound programs alone.
        points: Hit rate and utilisation of each memory-bound program.
    """

    def __init__(self, found: MeasuredRuns) -> None:
        self.found = found
        self.cores = max(cores for _, cores in found.alone)
        self.names = [name for name, cores in found.alone if cores == self.cores]
        self.clk_hz = float(found.head["clk_hz"])
        self.peak_bytes_per_s = float(found.head["memory"]["bytes_per_s"])
        self.machine = ClusterParameters(self.cores, 1.0, self.clk_hz, LINE_BYTES)
        self.points = {name: self._point(name) for name in self.names if self.waiting(name) > WAITING}
        hits, used = zip(*self.points.values(), strict=True)
        self.law: MemoryLaw = fit_memory_law(hits, used, self.peak_bytes_per_s)

    def waiting(self, name: str) -> float:
        """Part of its core-cycles it waits for memory, alone on all cores."""
        counted = self.found.alone[name, self.cores].counted
        return counted.stall_cycles / counted.core_cycles

    def _point(self, name: str) -> tuple[float, float]:
        counted = self.found.alone[name, self.cores].counted
        bytes_per_s = counted.requests * LINE_BYTES / counted.cycles * self.clk_hz
        return counted.row_hit_rate, min(bytes_per_s / self.peak_bytes_per_s, 1.0)

    def epoch(self, mix: Mix) -> ClusterEpoch:
        """A mix as one epoch."""
        return ClusterEpoch(self.machine, self.law, tuple(sharing(each) for each in mix.shared))

    def constants(self) -> QueueConstants:
        """Of `eddy_slowdown`, fitted to the runs alone, as c1 and c2 are."""
        examples = [
            (ClusterEpoch(self.machine, self.law, (sharing(alone.counted),)), (self._faster(name, alone),))
            for (name, _), alone in self.found.alone.items()
            if name in self.names
        ]
        return fit(examples, QueueConstants(20.0, 90.0, 20.0, 0.1, 0.1), lambda _: None)

    def _faster(self, name: str, alone: SoloRun) -> float:
        return self.found.alone[name, self.cores].cycles_for(1) / alone.cycles_for(1)

    def scaling(self) -> dict[str, dict[int, float]]:
        """Speed on some cores over that on all, by rounds."""
        curves: dict[str, dict[int, float]] = defaultdict(dict)
        for (name, cores), alone in sorted(self.found.alone.items(), key=lambda each: each[0][1]):
            if name in self.names:
                curves[name][cores] = self._faster(name, alone)
        return {name: curves[name] for name in self.names}


def rows(out: Path) -> tuple[list[Row], dict[str, object]]:
    """The figures' data and pictures, and what headlines have of them; nothing where no mix was measured."""
    found = load_runs()
    if not found.mixes:
        return [], {}
    here = Cluster8(found)
    mixes = [mix for mix in found.mixes.values() if all((name, here.cores) in found.alone for name in mix.workloads)]
    beside: dict[str, list[float]] = defaultdict(list)
    predictors: dict[str, ProgressPredictor] = {name: make() for name, make in PREDICTORS.items()}
    predictors["eddy_slowdown"] = EddySlowdown(constants=here.constants())
    errors: dict[str, list[float]] = {name: [] for name in PREDICTORS}
    records: list[dict[str, object]] = []
    for mix in mixes:
        measured = found.progress(mix)
        predicted = {name: each.predict(here.epoch(mix)) for name, each in predictors.items()}
        for index, workload in enumerate(mix.workloads):
            beside[workload].append(mix.shared[index].row_hit_rate)
            record: dict[str, object] = {"mix": " ".join(mix.workloads), "workload": workload}
            record["measured"] = round(measured[index], 4)
            for name, curves in predicted.items():
                curve = curves[index]
                value = curve.progress if curve is not None else 0.0
                errors[name].append(abs(value - measured[index]) / measured[index])
                record[name] = round(value, 4)
            records.append(record)
    write_csv(out / "predictions_RTL.csv", records)
    bound = list(here.points)
    alone = {name: found.alone[name, here.cores].counted.row_hit_rate for name in bound}
    made = [
        *figures.scaling(out, here.scaling(), bound, RTL),
        *figures.law(out, here.points, here.law.c1, here.law.c2, RTL),
        *figures.hit_rates(out, alone, beside, RTL),
        *figures.accuracy(out, errors, RTL),
    ]
    heads = {
        "mixes": len(mixes),
        "hardware": found.hardware,
        "progress_error": {name: figures.mean_worst(each) for name, each in errors.items()},
        "c1": here.law.c1,
        "c2": here.law.c2,
    }
    return made, heads
