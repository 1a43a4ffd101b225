"""The programs' own requests on the fast cluster model, and how far that is from the RTL.

`rtl_traces` has what each core asked the shared cache for, with a memory that answers at once; the model plays that
back in a closed loop on a machine like the measured one. Cores begin each launch together, and stores to one line that
wait leave a core as one. What traces cannot say is fitted to runs alone: how far apart stores become one, how many
lines a core waits for at once, how much of its work begins only when a line is there, and how many stores it has under
way. Runs alone do not tell which settings are right: the few that fit best are all kept, and what they say of a mix is
averaged. Mixes are not used in the fit: `python -m eddy.studies.hsm.replay` fits, keeps `replayed.json`, and compares
mixes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy.board.dram_map import hash_masks
from eddy.board.profile import load_profile
from eddy.studies.hsm.cluster import Cluster
from eddy.studies.hsm.machine import ClusterModel, Kernel, MemoryModel
from eddy.studies.hsm.rtl_data import Alone, MeasuredRuns, kept
from eddy.studies.hsm.rtl_traces import PROGRAM, WRITE, Streams
from eddy.studies.hsm.rtl_traces import kept as streams
from eddy.studies.report import Row, write_csv

KEPT = Path(__file__).with_name("replayed.json")
CYCLES = 400_000
"""Of a run of the model, after a quarter of them for warm caches."""
WINDOWS, SERIAL, TOGETHER = (1, 2, 3, 4), (0.0, 0.25, 0.5, 0.75, 1.0), (0, 6, 12, 20)
AHEAD = (0, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 64)
"""What is tried in the fit."""
ALIKE = 5
"""Settings of a program that are kept."""
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


@dataclass(frozen=True, slots=True)
class Fit:
    """What is fitted of a program on so many cores.

    Attributes:
        window: Times a core asks before it waits.
        serial: Part of its work that begins only when it may ask on.
        ahead: Stores of a core between two to one line that become one.
        together: Lines asked for less than so many cycles after the one before are asked for with it, at one time; 0:
            each by itself.
        off: Cycles of a round in the model over those on the RTL, less 1.
    """

    window: int
    serial: float
    ahead: int
    together: int
    off: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """Streams as the model takes them, launch by launch.

    Attributes:
        gaps: Cycles of work before each request, less 1; (records,).
        lines: With the marks of `Kernel.lines`; (records,).
        first: First record of each core in each launch, and one past the last; launches one after the other.
        writes: Stores among the records.
    """

    gaps: npt.NDArray[np.int32]
    lines: npt.NDArray[np.uint32]
    first: npt.NDArray[np.int32]
    writes: int


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


def _gathered(traced: Streams, begin: int, end: int, ahead: int) -> Iterator[tuple[int, int, int]]:
    """Gap, line and bytes stored of each request, where stores at most `ahead` stores apart became one.

    Of reads of data 0, of instructions -1.
    """
    kind = traced.kind[begin:end]
    stored = np.where(kind == WRITE, traced.bytes[begin:end].astype(int), -(kind == PROGRAM).astype(int)).tolist()
    line, gap = traced.line[begin:end].tolist(), traced.gap[begin:end].tolist()
    into = dict[int, tuple[int, int]]()
    joins, number = set[int](), 0
    for i, size in enumerate(stored):
        if size <= 0:
            into.pop(line[i], None)
            continue
        number += 1
        first, at = into.get(line[i], (-1, 0))
        if first >= 0 and number - at <= ahead and stored[first] < LINE_BYTES:
            stored[first] = min(stored[first] + size, LINE_BYTES)
            joins.add(i)
        else:
            into[line[i]] = i, number
    waited = 0
    for i, size in enumerate(stored):
        waited += gap[i]
        if i not in joins:
            yield waited, line[i], size
            waited = 0


@lru_cache(maxsize=128)
def _replayed(name: str, cores: int, ahead: int, together: int) -> Replayed:
    return replayed(streams(cores)[name], ahead, together)


def replayed(traced: Streams, ahead: int, together: int = 0) -> Replayed:
    """The streams launch by launch, with stores that became one."""
    records: list[tuple[int, int, int]] = []
    first = [0]
    for begin, end in launches(traced):
        records.extend(_gathered(traced, begin, end, ahead))
        first.append(len(records))
    gap, line, stored = np.array(records, np.int64).T
    left_out = 8 - np.clip((stored + 7) // 8, 1, 8)
    marks = np.where(stored > 0, (1 << 31) | (left_out << 28), np.where(stored < 0, 1 << 28, 0))
    if together:
        marks |= _bursts(gap, stored, together)
    return Replayed(
        np.maximum(gap - 1, 0).astype(np.int32),
        (line | marks).astype(np.uint32),
        np.array(first, np.int32),
        int((stored > 0).sum()),
    )


def _bursts(gap: npt.NDArray[np.int64], stored: npt.NDArray[np.int64], together: int) -> npt.NDArray[np.int64]:
    """Marks of lines that are asked for before the one before can have come: together with it."""
    reads = np.flatnonzero(stored == 0)
    at = np.cumsum(gap)[reads]
    near = np.zeros(len(reads), bool)
    near[1:] = (np.diff(at) < together) & (np.diff(reads) == 1)
    marks = np.zeros(len(gap), np.int64)
    marks[reads] = near * (1 << 29)
    marks[reads[:-1]] |= near[1:] * (1 << 30)
    return marks


def kernel(name: str, work: Replayed, cores: int, fit: Fit) -> Kernel:
    """The streams as work-groups, one a core and launch."""
    return Kernel(
        name,
        work.gaps,
        work.lines,
        work.first,
        issue=1.0,
        latency=1.0,
        window=fit.window,
        serial=fit.serial,
        stores=CORE_STORES,
        launch=cores,
    )


def _kernel(name: str, cores: int, fit: Fit) -> Kernel:
    return kernel(name, _replayed(name, cores, fit.ahead, fit.together), cores, fit)


def rounds_per_cycle(model: ClusterModel, kernels: Sequence[Kernel], cores: Sequence[int]) -> list[float]:
    """Rounds each program ends in a cycle, side by side on so many cores each."""
    owners = [tenant for tenant, count in enumerate(cores) for _ in range(count)]
    owners += [-1] * (model.cores - len(owners))
    cluster = Cluster(model, kernels)
    cluster.run(owners, CYCLES // 4)
    found = cluster.run(owners, CYCLES)
    work = [float(each.gaps.sum(dtype=np.int64)) + len(each.gaps) for each in kernels]
    return [each.instructions / CYCLES / whole for each, whole in zip(found, work, strict=True)]


def stores_alone(alone: Alone) -> float:
    """Stores that memory served in a round: requests that were no line read."""
    return (alone.counted.requests - alone.counted.cache_misses) / len(alone.rounds)


def fitted(work: Callable[[int, int], Replayed], alone: Alone, model: ClusterModel) -> list[Fit]:
    """The fits whose round alone takes most nearly what it took on the RTL, best first.

    How far apart stores become one follows from how many there were.

    Args:
        work: The program's streams, by how far apart stores become one.
        alone: Its run alone on the RTL.
        model: The machine.
    """
    wanted = stores_alone(alone)
    ahead = min(AHEAD, key=lambda each: (abs(work(each, 0).writes - wanted), each))

    def off(trial: Fit) -> Fit:
        played = kernel(alone.workload, work(ahead, trial.together), alone.cores, trial)
        speed = rounds_per_cycle(model, [played], [alone.cores])[0]
        return replace(trial, off=1 / (speed * alone.cycles_for(1)) - 1 if speed > 0 else float("inf"))

    trials = [off(Fit(*each, ahead, near)) for near in TOGETHER for each in product(WINDOWS, SERIAL)]
    return sorted(trials, key=lambda fit: abs(fit.off))[:ALIKE]


Fits = Mapping[str, Sequence[Fit]]
"""Of every program on eight and on four cores, by `name cores`."""


def fit_all(found: MeasuredRuns) -> Fits:
    """The fits of all programs."""
    model = machine(found.head["memory"], float(found.head["clk_hz"]), 8)
    fits = {}
    for cores in (8, 4):
        for name in streams(cores):
            if (name, cores) in found.alone:
                work = partial(_replayed, name, cores)
                fits[f"{name} {cores}"] = fitted(work, found.alone[name, cores], model)
                print(name, cores, fits[f"{name} {cores}"], flush=True)
    return fits


def compare(found: MeasuredRuns, fits: Fits) -> list[dict[str, object]]:
    """Measured and modelled progress of each program of each mix that can be played back.

    Modelled is the mean over the settings that are kept.
    """
    model = machine(found.head["memory"], float(found.head["clk_hz"]), 8)
    whole: dict[str, list[float]] = {}
    records: list[dict[str, object]] = []
    for mix in found.mixes.values():
        if mix.cores != (4, 4) or not all(f"{name} {cores}" in fits for name in mix.workloads for cores in (4, 8)):
            continue
        for name in mix.workloads:
            if name not in whole:
                alone = [_kernel(name, 8, fit) for fit in fits[f"{name} 8"]]
                whole[name] = [rounds_per_cycle(model, [each], [8])[0] for each in alone]
        shared = []
        for settings in zip(*(fits[f"{name} 4"] for name in mix.workloads), strict=True):
            halves = [_kernel(name, 4, fit) for name, fit in zip(mix.workloads, settings, strict=True)]
            shared.append(rounds_per_cycle(model, halves, mix.cores))
        for name, measured, speeds in zip(mix.workloads, found.progress(mix), zip(*shared, strict=True), strict=True):
            modelled = float(np.mean([speed / alone for speed, alone in zip(speeds, whole[name], strict=True)]))
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


def load(hardware: str) -> Fits:
    """The kept fits; none where they are of other hardware."""
    document = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if document.get("hardware") != hardware:
        return {}
    return {name: [Fit(*each) for each in fits] for name, fits in document["fits"].items()}


def keep(found: MeasuredRuns) -> None:
    """Fit, and keep the fits."""
    rows = ",\n".join(
        f'  "{name}": {json.dumps([[*asdict(fit).values()] for fit in fits])}' for name, fits in fit_all(found).items()
    )
    KEPT.write_text(f'{{\n "hardware": "{found.hardware}",\n "fits": {{\n{rows}\n }}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    keep(kept())
    print(compare(kept(), load(kept().hardware)))
