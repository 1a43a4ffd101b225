# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Run the programs of [001] Table 2 on the RTL, alone and in pairs, and keep what they did.

`python -m eddy_studies.hsm.rtl_measure [--only alone|mixes] [--pairs N] [--seconds S] [--out FILE]` goes on where an
earlier call ended; measurements of other hardware, or of programs that have changed, are left out. Everything takes an
hour or two of one processor.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from eddy.core.errors import InvalidRequest
from eddy.gpu.programs.program import segments

from eddy_studies.hsm import rtl
from eddy_studies.hsm.rtl_data import KEPT, MeasuredRuns, Mix, SoloRun, read, write
from eddy_studies.hsm.workloads import WORKLOADS

COUNTS = (8, 4, 2, 6, 1)
"""Cores of runs alone, the most needed first."""
MIN_ROUNDS, MIN_CYCLES = 2, 120_000
"""Of every tenant, before a run ends."""
FIRST = (
    *(("FWT", "BINO"), ("SRAD", "MRI-Q"), ("LBM", "CONVS"), ("SC", "BH"), ("PVC", "2DCONV"), ("EULER3D", "MRI-Q")),
    *(("FWT", "SRAD"), ("SC", "PVC"), ("LBM", "FWT"), ("EULER3D", "SC"), ("DWT2D", "PVC"), ("SRAD", "EULER3D")),
    *(("BINO", "MRI-Q"), ("CONVS", "BH"), ("2DCONV", "DXTC"), ("HOTSPOT", "BINO"), ("PF", "SC"), ("HOTSPOT", "FWT")),
    *(("DWT2D", "BH"), ("LBM", "PVC"), ("PF", "SRAD"), ("EULER3D", "FWT"), ("SC", "CONVS"), ("PVC", "BINO")),
    *(("LBM", "SC"), ("SRAD", "SC"), ("DWT2D", "FWT"), ("EULER3D", "2DCONV"), ("HOTSPOT", "PVC"), ("PF", "LBM")),
    *(("SRAD", "BH"), ("FWT", "2DCONV"), ("DWT2D", "MRI-Q"), ("LBM", "DXTC"), ("EULER3D", "LBM"), ("HOTSPOT", "PF")),
)
"""Pairs to begin with: of two memory-bound programs, of two others, and of one each."""


def pairs() -> tuple[tuple[str, str], ...]:
    """All pairs of different programs, `FIRST` first."""
    begun = {frozenset(pair) for pair in FIRST}
    return (*FIRST, *(pair for pair in combinations(WORKLOADS, 2) if frozenset(pair) not in begun))


def has_enough_rounds(tenants: Sequence[rtl.ClusterTenant]) -> bool:
    """Whether each has ended as many rounds as are wanted, and run for long enough."""
    return all(
        len(tenant.marks) > MIN_ROUNDS and tenant.marks[-1].cycles - tenant.marks[0].cycles >= MIN_CYCLES
        for tenant in tenants
    )


def has_one_round(tenants: Sequence[rtl.ClusterTenant]) -> bool:
    """Whether each has ended a round: enough where few cores take long."""
    return all(len(tenant.marks) > 1 for tenant in tenants)


def run_alone(name: str, cores: int) -> SoloRun:
    """A program by itself on some cores of the cluster."""
    (played,) = rtl.run_workloads([(name, range(cores))], has_enough_rounds if cores == rtl.CORES else has_one_round)
    return SoloRun(name, cores, _ends(played), played.whole, played.epochs)


def run_mixed(names: Sequence[str], cores: Sequence[int]) -> Mix:
    """Programs side by side, on the first cores, those after them, and so on."""
    first = [sum(cores[:number]) for number in range(len(cores))]
    works = [(name, range(at, at + count)) for name, at, count in zip(names, first, cores, strict=True)]
    played = rtl.run_workloads(works, has_enough_rounds)
    return Mix(
        *(tuple(names), tuple(cores), tuple(_ends(each) for each in played)),
        *(tuple(each.whole for each in played), tuple(each.epochs for each in played)),
    )


def _ends(played: rtl.TenantRun) -> tuple[int, ...]:
    return tuple(mark.cycles - played.marks[0].cycles for mark in played.marks[1:])


def programs() -> dict[str, str]:
    """Digests of the programs as they are now: what is loaded of what the compiler made of them, inputs, sizes."""
    found = {}
    for name in WORKLOADS:
        made, compiled = rtl.compiled(name)
        digest = hashlib.sha256(repr((made.steps, compiled.fpu, [*segments(compiled.elf)])).encode())
        for key, array in sorted(made.buffers.items()):
            digest.update(key.encode() + array.tobytes())
        found[name] = digest.hexdigest()[:16]
    return found


def current(found: MeasuredRuns) -> MeasuredRuns:
    """Of measurements, those of programs that are what they were."""
    now, then = programs(), found.head.get("programs", {})
    same = {name for name in WORKLOADS if then.get(name) == now[name]}
    alone = {key: run for key, run in found.alone.items() if key[0] in same}
    mixes = {key: run for key, run in found.mixes.items() if same.issuperset(key[0])}
    return replace(found, alone=alone, mixes=mixes)


def hardware() -> str:
    """Digest of what the measurements depend on, beside the programs."""
    from eddy_sim.gpu.dram_cluster import digest

    return digest(rtl.SHAPE)


def measure_missing(path: Path, only: str, most_pairs: int, until: float) -> Iterator[str]:
    """Measure what is missing in a file; after each run it is kept, and described."""
    found, now = current(read(path)), hardware()
    if found.hardware != now:
        found = MeasuredRuns(now, {}, {}, {})
    head: dict[str, Any] = {"command": "python -m eddy_studies.hsm.rtl_measure", "shape": rtl.SHAPE.name()}
    head |= {"memory": asdict(rtl.MEMORY), "clk_hz": rtl.CLK_HZ, "epoch_cycles": rtl.EPOCH_CYCLES}
    head |= {"programs": programs()}
    runs, mixes = dict(found.alone), dict(found.mixes)
    half = (rtl.CORES // 2, rtl.CORES // 2)
    todo: list[tuple[str, ...] | tuple[str, int]] = []
    singles = [(name, count) for count in COUNTS for name in WORKLOADS]
    doubles = list(pairs()[:most_pairs])
    if only != "mixes":
        todo += singles
    if only != "alone":
        todo += doubles
    for each in todo:
        if time.monotonic() > until:
            return
        began = time.monotonic()
        if isinstance(each[1], int):
            if each in runs:
                continue
            runs[each[0], each[1]] = run_alone(each[0], each[1])
            what = f"{each[0]} on {each[1]} cores: {runs[each[0], each[1]].rounds}"
        else:
            if (each, half) in mixes:
                continue
            made = run_mixed((each[0], each[1]), half)
            mixes[made.workloads, made.cores] = made
            what = f"{made.workloads}: {made.rounds}"
        write(replace(found, head=head, alone=runs, mixes=mixes), path)
        yield f"{what}, {time.monotonic() - began:.0f} s"


def merge_measurements(parts: Sequence[MeasuredRuns]) -> MeasuredRuns:
    """What calls of the same hardware measured, later ones first; the last one's hardware counts.

    Raises:
        InvalidRequest: One that is to be taken is of other hardware.
    """
    *_, last = parts
    if any(part.hardware != last.hardware for part in parts[1:]):
        raise InvalidRequest("measurements of different hardware are not joined; measure again", field="take")
    same = [part for part in parts if part.hardware == last.hardware]
    alone = {key: run for part in same for key, run in part.alone.items()}
    mixes = {key: run for part in same for key, run in part.mixes.items()}
    return replace(last, alone=alone, mixes=mixes)


def main() -> None:
    """Measure, and say what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("alone", "mixes"), default="")
    parser.add_argument("--pairs", type=int, default=105, help="pairs of programs at most")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after so many")
    parser.add_argument("--out", type=Path, default=KEPT)
    parser.add_argument("--take", type=Path, nargs="*", default=[], help="join files of other calls, run nothing")
    asked = parser.parse_args()
    if asked.take:
        write(merge_measurements([read(path) for path in (asked.out, *asked.take)]), asked.out)
        return
    for line in measure_missing(asked.out, asked.only, asked.pairs, time.monotonic() + asked.seconds):
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
