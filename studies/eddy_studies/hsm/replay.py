# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The programs' own requests on the fast cluster model, and how far that is from the RTL.

`rtl_traces` has what each core asked the shared cache for, and which answers it waited for, with a memory that takes
equally long for every answer; the model plays that back in a closed loop on a machine like the measured one. Cores
begin each launch together, and stores to one line that wait leave a core as one. Nothing is fitted, neither to mixes
nor to runs alone: a program's progress is what the streams of each of the traced latencies say, averaged.
`python -m eddy_studies.hsm.replay` prints it beside the RTL's, mix by mix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy.board.port.dram_map import hash_masks
from eddy.board.port.profile import load_profile

from eddy_studies.hsm.cluster import Cluster
from eddy_studies.hsm.machine import TICKS, ClusterModel, Kernel, MemoryModel
from eddy_studies.hsm.rtl_data import MeasuredRuns, Mix, load_runs
from eddy_studies.hsm.rtl_traces import LATENCIES, PROGRAM, WRITE, Streams
from eddy_studies.hsm.rtl_traces import hardware as traced_hardware
from eddy_studies.hsm.rtl_traces import load_streams as streams
from eddy_studies.report import Row, write_csv

STEP_CYCLES = 2_000
"""How exactly the ends of rounds are known."""
ROUNDS, MAX_CYCLES = 4, 6_000_000
"""A run ends when each program has ended so many, and is given up after so long."""
LINE_BYTES = 64
SPACE_BYTES = (16 << 20) + 5 * 8192
"""From one tenant's region to the next one's, as in `rtl`."""
SETS = 512
LINES_UNDER_WAY, CORE_STORES, STORES_UNDER_WAY = 4, 8, 8
"""Of a core, and of the whole shared cache."""


def machine(memory: Mapping[str, Any], clk_hz: float, cores: int) -> ClusterModel:
    """The measured cluster, by its memory's settings as `rtl_measured.json` has them."""

    def cycles(ns: str) -> float:
        return float(memory.get(ns, 0.0)) * clk_hz / 1e9

    row_lines = int(memory["row_bytes"]) // LINE_BYTES
    return ClusterModel(
        cores=cores,
        warps=1,
        fills=LINES_UNDER_WAY,
        way=4,
        port=8,
        lookup=2,
        hit=4,
        change=500,
        sets=SETS,
        ways=2,
        plain_sets=True,
        sends=8,
        writes=STORES_UNDER_WAY,
        forgets=2 * SETS,
        ordered=True,
        spacing=SPACE_BYTES // LINE_BYTES,
        memory=MemoryModel(
            channels=1,
            banks=int(memory["banks"]),
            row_lines=row_lines,
            interleave_lines=row_lines,
            hashed=False,
            masks=row_masks(memory),
            queue=int(memory.get("queue_bursts", 0) or 64),
            cap=0,
            overtakes=int(memory.get("row_hit_cap", 0)),
            starvation=32,
            rcd=cycles("rcd_ns"),
            rp=cycles("rp_ns"),
            cl=cycles("cl_ns"),
            ras=cycles("ras_ns"),
            faw=cycles("faw_ns"),
            rrd=0,
            burst=LINE_BYTES * clk_hz / float(memory["bytes_per_s"]),
            turnaround=0,
            wtr=cycles("wtr_ns"),
            rtw=cycles("rtw_ns"),
        ),
    )


def row_masks(memory: Mapping[str, Any]) -> tuple[int, ...]:
    """Bits of a row's number that are added to each bit of its bank's, as the simulated board's map has them."""
    dram = replace(
        load_profile("hsm").dram,
        base=0,
        bytes=int(memory.get("bytes", 64 << 20)),
        banks=int(memory["banks"]),
        row_bytes=int(memory["row_bytes"]),
        channels=1,
        hashing=bool(memory.get("hashing", False)),
    )
    shift = (dram.row_bytes * dram.banks - 1).bit_length()
    return tuple(mask >> shift for mask in hash_masks(dram))


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """Streams as the model takes them, launch by launch.

    Attributes:
        gaps: Cycles of work before each request, less 1; (records,).
        lines: With the marks of `Kernel.lines`; (records,).
        waits: As `Kernel.waits`; (records,).
        first: First record of each core in each launch, and one past the last; launches one after the other.
    """

    gaps: npt.NDArray[np.int32]
    lines: npt.NDArray[np.uint32]
    waits: npt.NDArray[np.uint32]
    first: npt.NDArray[np.int32]


def launches(traced: Streams) -> list[tuple[int, int]]:
    """First record and one past the last of each core in each launch: all cores of the first, then of the next.

    A core that starts fetches the program's first line, which is where each part begins.
    """
    cores = []
    for begin, end in zip(traced.start[:-1].tolist(), traced.start[1:].tolist(), strict=True):
        entry = (traced.line[begin:end] == traced.line[begin]) & (traced.kind[begin:end] == PROGRAM)
        at = [begin, *(begin + 1 + np.flatnonzero(entry[1:])).tolist(), end]
        cores.append(list(pairwise(at)))
    return [part for each in zip(*cores, strict=True) for part in each]


@lru_cache(maxsize=128)
def _kernel(name: str, cores: int, latency: int) -> Kernel:
    return kernel(name, replayed(streams(cores)[name, latency]), cores)


def replayed(traced: Streams) -> Replayed:
    """The streams launch by launch; work before a request that waited for an answer is counted from that answer on."""
    parts = launches(traced)
    at = np.concatenate([np.arange(begin, end) for begin, end in parts])
    kind, after = traced.kind[at], traced.after[at].astype(np.int64)
    left_out = 8 - np.clip((traced.bytes[at].astype(np.int64) + 7) // 8, 1, 8)
    marks = np.where(kind == WRITE, (1 << 31) | (left_out << 28), np.where(kind == PROGRAM, 1 << 28, 0))
    ticks = np.where(after > 0, np.minimum((after - 1) * TICKS + 1, (1 << 24) - 1), 0)
    on_their_way = [np.minimum(each[at], 15).astype(np.int64) for each in (traced.data, traced.program)]
    return Replayed(
        np.where(after > 0, 0, np.maximum(traced.gap[at].astype(np.int64) - 1, 0)).astype(np.int32),
        (traced.line[at] | marks).astype(np.uint32),
        (ticks << 8 | on_their_way[1] << 4 | on_their_way[0]).astype(np.uint32),
        np.cumsum([0, *(end - begin for begin, end in parts)]).astype(np.int32),
    )


def kernel(name: str, work: Replayed, cores: int) -> Kernel:
    """The streams as work-groups, one a core and launch."""
    return Kernel(
        *(name, work.gaps, work.lines, work.first),
        issue=1.0,
        latency=1.0,
        stores=CORE_STORES,
        launch=cores,
        waits=work.waits,
    )


def rounds_per_cycle(model: ClusterModel, kernels: Sequence[Kernel], cores: Sequence[int]) -> list[float]:
    """Rounds each program ends in a cycle, side by side on so many cores each; after the first, when caches are warm.

    Raises:
        RuntimeError: One does not end.
    """
    owners = [tenant for tenant, count in enumerate(cores) for _ in range(count)]
    owners += [-1] * (model.cores - len(owners))
    cluster = Cluster(model, kernels)
    ends: list[list[int]] = [[] for _ in kernels]
    for now in range(STEP_CYCLES, MAX_CYCLES, STEP_CYCLES):
        for each, counted in zip(ends, cluster.run(owners, STEP_CYCLES), strict=True):
            each.extend([now] * counted.rounds)
        if min(map(len, ends)) >= ROUNDS:
            return [(len(each) - 1) / (each[-1] - each[0]) for each in ends]
    raise RuntimeError(f"{[each.name for each in kernels]} did not end {ROUNDS} rounds in {MAX_CYCLES} cycles")


def compare(found: MeasuredRuns, mixes: Sequence[Mix]) -> list[dict[str, object]]:
    """Measured and modelled progress of each program of mixes of four and four cores.

    Modelled is the mean over the traced latencies.
    """
    model = machine(found.head["memory"], float(found.head["clk_hz"]), 8)

    @cache
    def alone(name: str, latency: int) -> float:
        return rounds_per_cycle(model, [_kernel(name, 8, latency)], [8])[0]

    records: list[dict[str, object]] = []
    for mix in mixes:
        said = []
        for latency in LATENCIES:
            speeds = rounds_per_cycle(model, [_kernel(name, 4, latency) for name in mix.workloads], mix.cores)
            said.append([s / alone(name, latency) for s, name in zip(speeds, mix.workloads, strict=True)])
        for name, measured, modelled in zip(mix.workloads, found.progress(mix), np.mean(said, axis=0), strict=True):
            records.append(
                {"mix": " ".join(mix.workloads), "workload": name, "RTL": round(measured, 4)}
                | {"model": round(float(modelled), 4), "off": round(float(modelled) / measured - 1, 4)}
            )
    return records


def rows(out: Path) -> tuple[list[Row], dict[str, float]]:
    """How far progress in the model is from that on the RTL, over the measured mixes; nothing where none fits."""
    found = load_runs()
    records = compare(found, list(found.mixes.values())) if found.hardware == traced_hardware() else []
    if not records:
        return [], {}
    write_csv(out / "model_beside_RTL.csv", records)
    off = [abs(float(str(record["off"]))) for record in records]
    near = sum(each <= 0.05 for each in off)
    text = f"{100 * float(np.mean(off)):.1f} % mean, {100 * max(off):.1f} % worst, {near} of {len(off)} within 5 %"
    note = "RTL and model, mixes of 4 + 4 cores; goal 5 %"
    heads = {"mean": float(np.mean(off)), "worst": max(off), "within_5_percent": near, "of": len(off)}
    return [Row("-", "progress in the fast model, off from RTL", "-", text, note)], heads


if __name__ == "__main__":
    for each in compare(load_runs(), list(load_runs().mixes.values())):
        print(*each.values())
