# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What each core asks the shared cache for, line by line, with a memory whose every answer takes equally long.

The fast model of a cluster replays these streams. `rtl_traces_8.npz` and `rtl_traces_4.npz` hold those of all programs
on eight cores and on four; `python -m eddy_studies.hsm.rtl_traces` makes them again (two minutes of one processor).
Each core runs by itself, on a cluster of one core without a shared cache, and believes to be one of them all. What it
asks for when an answer has just come waited for that answer; what it asks for while lines are on their way did not wait
for them. That differs with how long answers take, because warps take turns, so there are streams for several times.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_studies.hsm.workloads import WORKLOADS

COUNTS = (8, 4)
"""Cores whose streams are kept."""
LATENCIES = (45, 90, 160)
"""Cycles from a request to its answer: the memory of the study takes about as long for a line that is in the shared
cache, for one that is not, and for one that others are waiting with."""
DATA, PROGRAM, WRITE = 0, 1, 2
"""Kinds of requests: lines read for data, lines read for instructions, stores."""
ON_THE_WAY, BEATS = 3, 8
"""Cycles from core to memory and back beside `LATENCIES`, and those that a line takes on the port."""


@dataclass(frozen=True, slots=True)
class Streams:
    """What the cores asked for in one round of a workload.

    Attributes:
        line: 64-byte lines, counted from the tenant's region on.
        gap: Core cycles since the core's request before.
        kind: `DATA`, `PROGRAM` or `WRITE`.
        after: Cycles since the last answer, and 1 more, where one came since the core's request before; else 0.
        data, program: Lines on their way to the core, of data and of instructions.
        start: Where each core's stream begins, and after the last one its end.
        instructions: Of warps, by core.
        cycles: Each core took, by core.
    """

    line: npt.NDArray[np.uint32]
    gap: npt.NDArray[np.uint32]
    kind: npt.NDArray[np.uint8]
    bytes: npt.NDArray[np.uint8]
    after: npt.NDArray[np.uint32]
    data: npt.NDArray[np.uint8]
    program: npt.NDArray[np.uint8]
    start: npt.NDArray[np.uint32]
    instructions: npt.NDArray[np.uint32]
    cycles: npt.NDArray[np.uint32]

    def arrays(self, name: str, latency: int) -> dict[str, npt.NDArray[np.generic]]:
        """As they are kept."""
        return {f"{name}/{latency}/{field}": getattr(self, field) for field in self.__slots__}


def trace_workload(name: str, cores: int, latency: int, seed: int = 1) -> Streams:
    """The streams of a workload on so many cores, from the RTL, with answers after so many cycles.

    Raises:
        Stuck: A kernel was stopped.
        WrongResult: It left something else than its reference.
    """
    from eddy.gpu.programs.layout import REGION_BASE
    from eddy_sim.boards.dram import dram_parameters
    from eddy_sim.gpu.dram_cluster import DramCluster

    from eddy_studies.hsm import rtl

    work = rtl.rounds(name, cores, seed)
    alone = replace(rtl.SHAPE, cores=1, l2_bytes=0)
    memory = replace(rtl.IDEAL, cl_ns=latency * 1e9 / rtl.CLK_HZ)
    machine = DramCluster(alone, dram_parameters(memory), clk_hz=rtl.CLK_HZ)
    counted = np.zeros((2, cores), np.int64)
    parts: list[list[npt.NDArray[np.generic]]] = [[] for _ in range(cores)]
    for step in range(work.steps):
        image, argument = work.image(step)
        machine.memory[: len(image)] = image
        for core in range(cores):
            machine.assign_cores((0,), 0, 0, index=core, of=cores)
            before = machine.counters(0, ("cycles", "instructions"))
            machine.record(True)
            began = machine.cycles
            machine.start(REGION_BASE, argument, (0,))
            if machine.run(rtl.LIMIT_CYCLES) or machine.faults():
                raise rtl.KernelStuck(f"{name} did not end: {machine.faults()}")
            after = machine.counters(0, ("cycles", "instructions"))
            counted[:, core] += np.array([after[key] - before[key] for key in ("instructions", "cycles")])
            asked = machine.recorded_bursts()
            parts[core].append(stream(asked, began, latency))
        work.ended(step, machine.memory[: len(image)])
    cut = [np.concatenate(each, axis=1) for each in parts]
    line, gap, kind, size, after, data, program = np.concatenate(cut, axis=1)
    start = np.cumsum([0, *(each.shape[1] for each in cut)])
    return Streams(
        *(line.astype(np.uint32), gap.astype(np.uint32), kind.astype(np.uint8), size.astype(np.uint8)),
        *(after.astype(np.uint32), data.astype(np.uint8), program.astype(np.uint8)),
        *(start.astype(np.uint32), counted[0].astype(np.uint32), counted[1].astype(np.uint32)),
    )


def stream(asked: npt.NDArray[np.void], began: int, latency: int) -> npt.NDArray[np.int64]:
    """Lines, gaps, kinds and sizes of one core's requests, what each waited for and what was on its way; a row each.

    Args:
        asked: Bursts that left the core, as `eddy_sim.gpu.dram_cluster.ASKED`.
        began: Cycle in which it was started.
        latency: Cycles of an answer.
    """
    at = asked["cycle"].astype(np.int64)
    before = np.concatenate([[began], at[:-1]])
    kind = np.where(asked["write"] != 0, WRITE, np.where(asked["id"] & 1, DATA, PROGRAM)).astype(np.int64)
    reads = kind != WRITE
    answered = _answers(at[reads], latency)
    came = np.searchsorted(answered, at, side="right")  # answers until each request
    asked_for = np.cumsum(reads) - reads
    last = np.concatenate([[began - 1], answered])[came]
    after = np.where(last > before, at - last + 1, 0)
    on_their_way = []
    for each in (DATA, PROGRAM):
        of_kind = np.concatenate([[0], np.cumsum(kind[reads] == each)])
        on_their_way.append(of_kind[asked_for] - of_kind[came])
    rows = (
        asked["address"].astype(np.int64) // 64,
        at - before,
        kind,
        asked["bytes"].astype(np.int64),
        after,
        *on_their_way,
    )
    return np.stack(rows)


def _answers(at: npt.NDArray[np.int64], latency: int) -> npt.NDArray[np.int64]:
    """Cycles in which lines asked for in these have come: one after the other on the port."""
    turn = np.arange(len(at)) * BEATS
    return np.asarray(np.maximum.accumulate(at + latency + ON_THE_WAY - turn) + turn + BEATS)


def path_of(cores: int) -> Path:
    """Where the streams of so many cores are kept."""
    return Path(__file__).with_name(f"rtl_traces_{cores}.npz")


@cache
def load_streams(cores: int = 8) -> Mapping[tuple[str, int], Streams]:
    """The streams that are kept for so many cores, one of `COUNTS`, by workload and one of `LATENCIES`."""
    with np.load(path_of(cores)) as found:
        names = dict.fromkeys(tuple(key.split("/")[:2]) for key in found.files if "/" in key)
        return {
            (name, int(latency)): Streams(*(found[f"{name}/{latency}/{field}"] for field in Streams.__slots__))
            for name, latency in names
        }


def hardware() -> str:
    """Digest of the hardware of the streams that are kept, as `rtl_measure` gives it."""
    found = set()
    for cores in COUNTS:
        with np.load(path_of(cores)) as kept_streams:
            found.add(str(kept_streams["hardware"]))
    return found.pop() if len(found) == 1 else ""


def main() -> None:
    """Trace every workload, and keep the streams."""
    from eddy_studies.hsm import rtl_measure

    for cores in COUNTS:
        arrays: dict[str, npt.NDArray[Any]] = {"hardware": np.array(rtl_measure.hardware())}
        for name, latency in product(WORKLOADS, LATENCIES):
            found = trace_workload(name, cores, latency)
            arrays |= found.arrays(name, latency)
            print(cores, name, latency, len(found.line), found.instructions.sum(), file=sys.stderr, flush=True)
        np.savez_compressed(path_of(cores), **arrays)


if __name__ == "__main__":
    main()
