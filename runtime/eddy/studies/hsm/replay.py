"""The programs' own requests on the fast cluster model, and how far that is from the RTL.

`rtl_traces` has what each core asked the shared cache for, with a memory that answers at once; the model plays that
back in a closed loop on a machine like the measured one. What traces cannot say is fitted to runs alone: how many lines
a core waits for at once, how much of its work begins only when a line is there, and how far its work is stretched by
what the core does beside. Mixes are not used in the fit: `python -m eddy.studies.hsm.replay` fits, keeps
`replayed.json`, and compares mixes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from eddy.studies.hsm.cluster import Cluster
from eddy.studies.hsm.machine import ClusterModel, Kernel, MemoryModel
from eddy.studies.hsm.rtl_data import MeasuredRuns, kept
from eddy.studies.hsm.rtl_traces import WRITE, Streams
from eddy.studies.hsm.rtl_traces import kept as streams
from eddy.studies.report import Row, write_csv

KEPT = Path(__file__).with_name("replayed.json")
CYCLES = 400_000
"""Of a run of the model, after a quarter of them for warm caches."""
WINDOWS, SERIAL, STORES = (1, 2, 4), (0.0, 0.5, 1.0), (0, 1, 2, 4)
STRETCH = (0.8, 0.85, 0.9, 0.95, 1.05, 1.1, 1.15, 1.25, 1.5)
"""What is tried in the fit."""


def machine(memory: Mapping[str, Any], clk_hz: float, cores: int) -> ClusterModel:
    """The measured cluster, by its memory's settings as `rtl_measured.json` has them."""

    def cycles(ns: str) -> float:
        return float(memory.get(ns, 0.0)) * clk_hz / 1e9

    burst = 64 * clk_hz / float(memory["bytes_per_s"])
    row_lines = int(memory["row_bytes"]) // 64
    return ClusterModel(
        cores=cores,
        warps=1,
        fills=4,
        way=4,
        port=8,
        lookup=2,
        hit=4,
        change=500,
        sets=512,
        ways=2,
        memory=MemoryModel(
            channels=1,
            banks=int(memory["banks"]),
            row_lines=row_lines,
            interleave_lines=row_lines,
            hashed=bool(memory.get("hashing", False)),
            queue=int(memory.get("queue_bursts", 0) or 64),
            cap=int(memory.get("row_hit_cap", 0)),
            starvation=16,
            rcd=cycles("rcd_ns"),
            rp=cycles("rp_ns"),
            cl=cycles("cl_ns"),
            ras=cycles("ras_ns"),
            faw=cycles("faw_ns"),
            rrd=0,
            burst=burst,
            turnaround=(cycles("wtr_ns") + cycles("rtw_ns")) / 2,
        ),
    )


@dataclass(frozen=True, slots=True)
class Fit:
    """What is fitted of a program on so many cores.

    Attributes:
        window: Lines a core waits for at once.
        serial: Part of its work that begins only when it may ask on.
        stores: Of a core under way.
        stretch: Cycles of its work over those with a memory that answers at once.
        off: Cycles of a round in the model over those on the RTL, less 1.
    """

    window: int
    serial: float
    stores: int
    stretch: float
    off: float


def kernel(name: str, traced: Streams, fit: Fit) -> Kernel:
    """The streams as work-groups, one a core."""
    left_out = 8 - np.clip((traced.bytes.astype(np.int64) + 7) // 8, 1, 8)
    marks = np.where(traced.kind == WRITE, (1 << 31) | (left_out << 28), 0)
    return Kernel(
        name,
        np.maximum(traced.gap.astype(np.int32) - 1, 0),
        (traced.line.astype(np.int64) | marks).astype(np.uint32),
        traced.start.astype(np.int32),
        issue=fit.stretch,
        latency=fit.stretch,
        window=fit.window,
        serial=fit.serial,
        stores=fit.stores,
    )


def rounds_per_cycle(model: ClusterModel, kernels: Sequence[Kernel], cores: Sequence[int]) -> list[float]:
    """Rounds each program ends in a cycle, side by side on so many cores each."""
    owners = [tenant for tenant, count in enumerate(cores) for _ in range(count)]
    owners += [-1] * (model.cores - len(owners))
    cluster = Cluster(model, kernels)
    cluster.run(owners, CYCLES // 4)
    found = cluster.run(owners, CYCLES)
    work = [float(each.gaps.sum(dtype=np.int64)) + len(each.gaps) for each in kernels]
    return [each.instructions / CYCLES / whole for each, whole in zip(found, work, strict=True)]


def fitted(name: str, traced: Streams, model: ClusterModel, cores: int, round_cycles: float) -> Fit:
    """The fit whose round alone takes what it took on the RTL; of those alike, one that stretches little."""

    def off(trial: Fit) -> Fit:
        speed = rounds_per_cycle(model, [kernel(name, traced, trial)], [cores])[0]
        return replace(trial, off=1 / (speed * round_cycles) - 1 if speed > 0 else float("inf"))

    plain = [off(Fit(*each, 1.0, 0.0)) for each in product(WINDOWS, SERIAL, STORES)]
    plain.sort(key=lambda fit: abs(fit.off))
    stretched = [off(replace(fit, stretch=stretch)) for fit in plain[:3] for stretch in STRETCH]
    return min(plain + stretched, key=lambda fit: abs(fit.off) + 0.1 * abs(fit.stretch - 1))


def fit_all(found: MeasuredRuns) -> dict[str, Fit]:
    """A fit of every program on eight and on four cores, by `name cores`."""
    model = machine(found.head["memory"], float(found.head["clk_hz"]), 8)
    fits = {}
    for cores in (8, 4):
        for name, each in streams(cores).items():
            if (name, cores) in found.alone:
                wanted = found.alone[name, cores].cycles_for(1)
                fits[f"{name} {cores}"] = fitted(name, each, model, cores, wanted)
                print(name, cores, fits[f"{name} {cores}"], flush=True)
    return fits


def compare(found: MeasuredRuns, fits: Mapping[str, Fit]) -> list[dict[str, object]]:
    """Measured and modelled progress of each program of each mix that can be played back."""
    model = machine(found.head["memory"], float(found.head["clk_hz"]), 8)
    whole: dict[str, float] = {}
    records: list[dict[str, object]] = []
    for mix in found.mixes.values():
        if mix.cores != (4, 4) or not all(f"{name} {cores}" in fits for name in mix.workloads for cores in (4, 8)):
            continue
        for name in mix.workloads:
            if name not in whole:
                every = kernel(name, streams(8)[name], fits[f"{name} 8"])
                whole[name] = rounds_per_cycle(model, [every], [8])[0]
        halves = [kernel(name, streams(4)[name], fits[f"{name} 4"]) for name in mix.workloads]
        shared = rounds_per_cycle(model, halves, mix.cores)
        for name, measured, speed in zip(mix.workloads, found.progress(mix), shared, strict=True):
            modelled = speed / whole[name]
            records.append(
                {"mix": " ".join(mix.workloads), "workload": name, "RTL": round(measured, 4)}
                | {"model": round(modelled, 4), "off": round(modelled / measured - 1, 4)}
            )
    return records


def rows(out: Path) -> tuple[list[Row], dict[str, float]]:
    """How far progress in the model is from that on the RTL, over the measured mixes; nothing where none fits."""
    found = kept()
    records = compare(found, load(found.hardware)) if found.mixes else []
    if not records:
        return [], {}
    write_csv(out / "model_beside_RTL.csv", records)
    off = [abs(float(str(record["off"]))) for record in records]
    near = sum(each <= 0.05 for each in off)
    text = f"{100 * float(np.mean(off)):.1f} % mean, {100 * max(off):.1f} % worst, {near} of {len(off)} within 5 %"
    note = "RTL and model, mixes of 4 + 4 cores; goal 5 %"
    heads = {"mean": float(np.mean(off)), "worst": max(off), "within_5_percent": near, "of": len(off)}
    return [Row("-", "progress in the fast model, off from RTL", "-", text, note)], heads


def load(hardware: str) -> dict[str, Fit]:
    """The kept fits; none where they are of other hardware."""
    document = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if document.get("hardware") != hardware:
        return {}
    return {name: Fit(**each) for name, each in document["fits"].items()}


def keep(found: MeasuredRuns) -> None:
    """Fit, and keep the fits."""
    fits = {name: asdict(each) for name, each in fit_all(found).items()}
    KEPT.write_text(json.dumps({"hardware": found.hardware, "fits": fits}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    keep(kept())
    print(compare(kept(), load(kept().hardware)))
