# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How fast batches are placed, and how far from the lower bound: 1,000 jobs x 150 accelerators, 1,000,000 x 1,500.

Every figure stands beside what it should be. Small ones are the best of several runs in seconds of processor time, so
that other programs on the machine disturb them least; large ones are given in seconds of the clock and of the
processor, over one run: the two threads of a large placement share two cores. Goals are ratios: small batches to plain
list scheduling of the same jobs, large ones to one pass over the table that finds each row's least. `--json` prints one
object. The large tables take 6 GB of memory and are left out where there is not enough.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from eddy.model.placement.instance import Instance, Kind, as_document
from eddy.model.placement.verify import problems_of
from eddy.policy.place import METHODS
from eddy.policy.place.joint import joint_bound
from eddy.policy.place.list_scheduling import first_answer
from eddy_studies.makespan.workload import BatchShape, batch

from benches import tell

SEEDS = range(8)
JOBS, ACCELERATORS = 1_000_000, 1_500
NEEDED_KB = 9_000_000
Figure = dict[str, Any]


def best_ms(work: Callable[[], object], runs: int = 9) -> float:
    """Least processor time of several runs."""
    least = np.inf
    for _ in range(runs):
        begin = time.process_time()
        work()
        least = min(least, time.process_time() - begin)
    return float(least) * 1e3


def plain(it: Instance) -> None:
    """List scheduling as one would write it down: the longest job first, each to where it ends first."""
    ends = it.ready_s.astype(it.time_s.dtype)
    for job in np.argsort(-it.time_s.min(axis=1)):
        ends_with = ends + it.time_s[job]
        where = ends_with.argmin()
        ends[where] = ends_with[where]


def small() -> list[Figure]:
    """1,000 jobs on 150 accelerators, computation only: [002] 5.2's batches, float32."""
    whole, first, listed, gaps = [], [], [], []
    for seed in SEEDS:
        it = Instance(batch(BatchShape(), "computation", seed).time_s.astype(np.float32))
        whole.append(best_ms(partial(METHODS["default"], it)))
        first.append(best_ms(partial(first_answer, it.time_s, it.ready_s)))
        listed.append(best_ms(partial(plain, it)))
        answer = METHODS["default"](it)
        gaps.append(answer.makespan_s / answer.lower_bound_s - 1)
    return [
        {"what": "1,000 x 150: plain list scheduling, ms (median of the seeds)", "value": float(np.median(listed))},
        {"what": "1,000 x 150: default, ms (median)", "value": float(np.median(whole))},
        {"what": "1,000 x 150: first answer, ms (median)", "value": float(np.median(first))},
        {"what": "1,000 x 150: default over list scheduling", "value": over(whole, listed), "at_most": 9.0},
        {"what": "1,000 x 150: first answer over list scheduling", "value": over(first, listed), "at_most": 1.5},
        {"what": "1,000 x 150: default over the bound (worst of the seeds)", "value": max(gaps), "at_most": 0.01},
    ]


def over(times: list[float], others: list[float]) -> float:
    """Ratio of times, seed by seed, at the median."""
    return float(np.median(np.array(times) / np.array(others)))


def sending(kind: Kind) -> list[Figure]:
    """The same where sending counts: the gap to the bound, and the lead over SJF and LJF."""
    gaps, leads, took = [], [], []
    for seed in SEEDS:
        it = batch(BatchShape(), kind, seed)
        begin = time.process_time()
        answer = METHODS["default"](it)
        took.append(time.process_time() - begin)
        if problems := problems_of(it, as_document(answer)):
            raise SystemExit(f"{kind}, seed {seed}: {problems[0]}")
        gaps.append(answer.makespan_s / joint_bound(it) - 1)
        leads.append(answer.makespan_s / min(METHODS[m](it).makespan_s for m in ("sjf", "ljf")) - 1)
    return [
        {"what": f"1,000 x 150, {kind}: over the bound (worst)", "value": max(gaps), "at_most": 0.05},
        {"what": f"1,000 x 150, {kind}: over the better of SJF and LJF (worst)", "value": max(leads), "at_most": 0.0},
        {"what": f"1,000 x 150, {kind}: seconds (median)", "value": float(np.median(took))},
    ]


def fill(table: np.ndarray[Any, Any], speed: np.ndarray[Any, Any] | float, seed: int, rows: slice) -> None:
    """Exponential sizes, +-20 % on every cell, over the accelerators' speeds; float32, in place."""
    random = np.random.default_rng(seed)
    part = table[rows]
    for at in range(0, len(part), 4096):
        some = part[at : at + 4096]
        random.random(out=some, dtype=np.float32)
        some *= 0.4
        some += 0.8
        some *= random.exponential(0.2, (len(some), 1)).astype(np.float32)
        some /= speed


def large() -> list[Figure]:
    """1,000,000 jobs on 1,500 accelerators."""
    table = np.empty((JOBS, ACCELERATORS), np.float32)
    classes = 2.0 ** np.random.default_rng(5).integers(0, 5, ACCELERATORS)
    figures: list[Figure] = []
    for name, speed, passes, gap in (
        ("independent +-20 %", 1.0, 6.0, 0.005),
        ("classes with 16x spread, +-20 %", classes.astype(np.float32), 12.0, 0.03),
    ):
        tell(f"1,000,000 x 1,500, {name}: the table")
        halves = (slice(0, JOBS // 2), slice(JOBS // 2, JOBS))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(partial(fill, table, speed), (1, 2), halves))
        begin = time.perf_counter()
        table.argmin(axis=1)
        once = time.perf_counter() - begin
        tell("placing")
        clock, processor = time.perf_counter(), time.process_time()
        it = Instance(table)
        answer = METHODS["default"](it)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        gap_found = answer.makespan_s / answer.lower_bound_s - 1
        figures += [
            {"what": f"1,000,000 x 1,500, {name}: seconds", "value": clock},
            {"what": f"1,000,000 x 1,500, {name}: passes over the table", "value": clock / once, "at_most": passes},
            {
                "what": f"1,000,000 x 1,500, {name}: seconds of the processor, halved",
                "value": processor / 2,
            },
            {"what": f"1,000,000 x 1,500, {name}: over the bound", "value": gap_found, "at_most": gap},
        ]
    return figures


def memory_kb() -> int:
    """Memory available, or 0 where that cannot be told."""
    info = Path("/proc/meminfo")
    lines = info.read_text(encoding="ascii").splitlines() if info.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), 0)


OPTIONS = {"--small": {"action": "store_true", "help": "leave the large tables out"}}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Times and gaps, those of large tables where there is memory for them."""
    # Seconds of the clock mean something only on a machine that does nothing else.
    load: Figure = {"what": "programs running beside, on average of a minute", "value": os.getloadavg()[0]}
    figures = [load, *small(), *sending("network"), *sending("joint")]
    if not options.small and memory_kb() >= NEEDED_KB:
        figures += large()
    elif not options.small:
        tell(f"the large tables need {NEEDED_KB // 1000} MB of free memory: left out")
    return {"place": figures}


def lines(found: dict[str, list[Figure]]) -> list[str]:
    """One a figure, with its goal."""
    goals = [f"   (at most {f['at_most']:g})" if "at_most" in f else "" for f in found["place"]]
    return [f"{f['what']:<80} {f['value']:10.4f}{goal}" for f, goal in zip(found["place"], goals, strict=True)]


def missed(found: dict[str, list[Figure]]) -> list[str]:
    """Figures above their goals."""
    return [f["what"] for f in found["place"] if "at_most" in f and f["value"] > f["at_most"] * (1 + 1e-9) + 1e-9]
