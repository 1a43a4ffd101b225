"""What each core asks the shared cache for, line by line, with a memory that answers at once.

The fast model of a cluster replays these streams. `rtl_traces_8.npz` and `rtl_traces_4.npz` hold those of all programs
on eight cores and on four; `python -m eddy.studies.hsm.rtl_traces` makes them again (two minutes of one processor).
Each core runs by itself, on a cluster of one core without a shared cache, and believes to be one of them all, so that
gaps are what it computes, not what it waits for.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eddy.studies.hsm.workloads import WORKLOADS

COUNTS = (8, 4)
"""Cores whose streams are kept."""
DATA, PROGRAM, WRITE = 0, 1, 2
"""Kinds of requests: lines read for data, lines read for instructions, stores."""


@dataclass(frozen=True, slots=True)
class Streams:
    """What the cores asked for in one round of a workload.

    Attributes:
        line: 64-byte lines, counted from the tenant's region on.
        gap: Core cycles since the core's request before; 65535 means so many or more.
        kind: `DATA`, `PROGRAM` or `WRITE`.
        bytes: Of the request.
        start: Where each core's stream begins, and after the last one its end.
        instructions: Of warps, by core.
        cycles: Each core took, by core.
    """

    line: npt.NDArray[np.uint32]
    gap: npt.NDArray[np.uint16]
    kind: npt.NDArray[np.uint8]
    bytes: npt.NDArray[np.uint8]
    start: npt.NDArray[np.uint32]
    instructions: npt.NDArray[np.uint32]
    cycles: npt.NDArray[np.uint32]

    def arrays(self, name: str) -> dict[str, npt.NDArray[np.generic]]:
        """As they are kept."""
        return {f"{name}/{field}": getattr(self, field) for field in self.__slots__}


def traced(name: str, cores: int, seed: int = 1) -> Streams:
    """The streams of a workload on so many cores, from the RTL.

    Raises:
        Stuck: A kernel was stopped.
        WrongResult: It left something else than its reference.
    """
    from eddy_sim.dram import dram_parameters
    from eddy_sim.gpu.dram_cluster import DramCluster

    from eddy.gpu.layout import REGION_BASE
    from eddy.studies.hsm import rtl

    work = rtl.rounds(name, cores, seed)
    alone = replace(rtl.SHAPE, cores=1, l2_bytes=0)
    machine = DramCluster(alone, dram_parameters(rtl.IDEAL), clk_hz=rtl.CLK_HZ)
    counted = np.zeros((2, cores), np.int64)
    parts: list[list[npt.NDArray[np.generic]]] = [[] for _ in range(cores)]
    for step in range(work.steps):
        image, argument = work.image(step)
        machine.memory[: len(image)] = image
        for core in range(cores):
            machine.own((0,), 0, 0, index=core, of=cores)
            before = machine.counters(0, ("cycles", "instructions"))
            machine.record(True)
            began = machine.cycles
            machine.start(REGION_BASE, argument, (0,))
            if machine.run(rtl.LIMIT_CYCLES) or machine.faults():
                raise rtl.Stuck(f"{name} did not end: {machine.faults()}")
            after = machine.counters(0, ("cycles", "instructions"))
            counted[:, core] += np.array([after[key] - before[key] for key in ("instructions", "cycles")])
            asked = machine.asked()
            parts[core].append(_stream(asked, began))
        work.ended(step, machine.memory[: len(image)])
    cut = [np.concatenate(each, axis=1) for each in parts]
    line, gap, kind, size = np.concatenate(cut, axis=1)
    start = np.cumsum([0, *(each.shape[1] for each in cut)])
    return Streams(
        *(line.astype(np.uint32), gap.astype(np.uint16), kind.astype(np.uint8), size.astype(np.uint8)),
        *(start.astype(np.uint32), counted[0].astype(np.uint32), counted[1].astype(np.uint32)),
    )


def _stream(asked: npt.NDArray[np.void], began: int) -> npt.NDArray[np.uint64]:
    """Lines, gaps, kinds and sizes of one core's requests, a row each."""
    gap = np.minimum(np.diff(asked["cycle"], prepend=np.uint64(began)), 65535)
    kind = np.where(asked["write"] != 0, WRITE, np.where(asked["id"] & 1, DATA, PROGRAM))
    rows = (asked["address"] // 64, gap, kind, asked["bytes"])
    return np.stack([row.astype(np.uint64) for row in rows])


def path_of(cores: int) -> Path:
    """Where the streams of so many cores are kept."""
    return Path(__file__).with_name(f"rtl_traces_{cores}.npz")


@cache
def kept(cores: int = 8) -> Mapping[str, Streams]:
    """The streams that are kept for so many cores, one of `COUNTS`, by workload."""
    with np.load(path_of(cores)) as found:
        names = dict.fromkeys(key.split("/")[0] for key in found.files)
        return {name: Streams(*(found[f"{name}/{field}"] for field in Streams.__slots__)) for name in names}


def main() -> None:
    """Trace every workload, and keep the streams."""
    for cores in COUNTS:
        arrays: dict[str, npt.NDArray[np.generic]] = {}
        for name in WORKLOADS:
            found = traced(name, cores)
            arrays |= found.arrays(name)
            print(cores, name, len(found.line), found.instructions.sum(), file=sys.stderr, flush=True)
        np.savez_compressed(path_of(cores), **arrays)


if __name__ == "__main__":
    main()
