# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A simulated GPU cluster in front of the board's memory model: tenants' kernels side by side, every burst counted.

As `eddy_sim.gpu.cluster`, but memory has banks, rows and a bus (`eddy_sim.boards.dram`), cores have contexts, and what
the memory controller served is told apart by context. There is no shell between: no firewall, no clock crossing.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from eddy.gpu.programs.layout import REGION_BASE

from eddy_sim.boards.dram import DramParameters, UserCounters
from eddy_sim.design import build, shims
from eddy_sim.design.model_unit import write_unit
from eddy_sim.gpu.cluster import COUNTERS, Fault
from eddy_sim.gpu.cluster_build import CPP, FILELIST, TOP, Shape
from eddy_sim.gpu.registers import (
    CORE,
    CORE_ARGUMENT,
    CORE_BASE,
    CORE_CAUSE,
    CORE_CONTEXT,
    CORE_FAULT_PC,
    CORE_FAULT_VALUE,
    CORE_PLACE,
    CORE_START,
    CORE_STRIDE,
    COUNTER,
    COUNTER_STRIDE,
    INTERRUPT_ENABLE,
    INTERRUPT_STATUS,
    KEEP_COUNTERS,
    LAUNCH,
    SNAPSHOT,
    STATUS,
)
from eddy_sim.tools.cxx import compile_shared, key, verilated_headers
from eddy_sim.tools.filelist import read_filelist
from eddy_sim.tools.products import Progress, ignore_progress, product
from eddy_sim.tools.toolchain import VERILATOR_FLAGS, verilate

SOURCE = CPP / "gpu_dram_harness.cpp"
PAGE_BYTES = 4096
LINE_BYTES = 64
ASKED = np.dtype([("cycle", "u8"), ("address", "u8"), ("bytes", "u8"), ("id", "u4"), ("write", "u4")])
"""A burst as it left the cluster; ids of reads are twice the core, plus one for data, ids of writes the core."""


@dataclass(frozen=True, slots=True)
class ContextTraffic:
    """What the memory controller served for one context since the cluster was made: bursts, bytes, row hits."""

    reads: int
    writes: int
    bytes: int
    row_hits: int


class DramCluster:
    """A cluster, its memory, and the registers in between.

    Attributes:
        shape: What the cluster is made of.
        memory: All of it, as bytes, from address 0 on; the host reads and writes it in no time.
    """

    def __init__(
        self,
        shape: Shape,
        dram: DramParameters,
        *,
        clk_hz: float = 100e6,
        library: Path | None = None,
        progress: Progress = ignore_progress,
    ) -> None:
        """Build where needed, and reset.

        Args:
            shape: Parameters.
            dram: The memory; it begins at address 0.
            clk_hz: Clock of cluster and memory port.
            library: A build to use instead.
            progress: Told what is being built.

        Raises:
            BuildFailed: A tool refused its input.
        """
        self.shape = shape
        self.memory: npt.NDArray[np.uint8] = np.zeros(dram.bytes, np.uint8)
        self._library = _open(library or build_dram_cluster(shape, progress))
        period = ctypes.c_uint64(round(1e15 / clk_hz))
        self._harness = ctypes.c_void_p(
            self._library.dram_gpu_new(ctypes.byref(dram), ctypes.c_void_p(self.memory.ctypes.data), period)
        )
        self.poke(INTERRUPT_ENABLE, (1 << shape.cores) - 1)

    def __del__(self) -> None:
        if getattr(self, "_harness", None):
            self._library.dram_gpu_delete(self._harness)

    def poke(self, offset: int, value: int) -> None:
        """Write a register; takes some cycles."""
        self._library.dram_gpu_register_write(self._harness, offset, ctypes.c_uint32(value))

    def peek(self, offset: int) -> int:
        """Read a register; takes some cycles."""
        return int(self._library.dram_gpu_register_read(self._harness, offset))

    def assign_cores(
        self, cores: Iterable[int], context: int, base: int, index: int = 0, of: int | None = None
    ) -> None:
        """Give idle cores to a context.

        Args:
            cores: Which.
            context: Their memory context.
            base: Physical address at which they see `REGION_BASE`, a multiple of a page.
            index: Index of the first one in its kernel.
            of: Cores the kernel believes to have; None for as many as are named.
        """
        chosen = tuple(cores)
        for place, core in enumerate(chosen):
            bank = CORE + core * CORE_STRIDE
            self.poke(bank + CORE_CONTEXT, context)
            self.poke(bank + CORE_PLACE, (of or len(chosen)) << 8 | (index + place))
            self.poke(bank + CORE_BASE + 4 * (REGION_BASE >> 30), base // PAGE_BYTES)

    def start(self, pc: int, argument: int, cores: Iterable[int]) -> None:
        """Launch a kernel on idle cores; their counters go on."""
        chosen = tuple(cores)
        for core in chosen:
            self.poke(CORE + core * CORE_STRIDE + CORE_START, pc)
            self.poke(CORE + core * CORE_STRIDE + CORE_ARGUMENT, argument)
        self.poke(LAUNCH, KEEP_COUNTERS | sum(1 << core for core in chosen))

    def run(self, limit: int) -> frozenset[int]:
        """Until a core ends, or so many cycles have passed; the cores that run then."""
        if self._library.dram_gpu_run(self._harness, ctypes.c_uint64(limit)):
            self.poke(INTERRUPT_STATUS, 0)
        running = self.peek(STATUS)
        return frozenset(core for core in range(self.shape.cores) if running >> core & 1)

    @property
    def cycles(self) -> int:
        """Clock cycles since the beginning."""
        return int(self._library.dram_gpu_cycles(self._harness))

    def traffic(self, context: int) -> ContextTraffic:
        """What the memory controller served for a context so far."""
        found = UserCounters()
        self._library.dram_gpu_served(self._harness, context, ctypes.byref(found))
        requests = found.read_requests, found.write_requests
        return ContextTraffic(*requests, found.read_bytes + found.write_bytes, found.row_hits)

    def counters(self, core: int, names: Iterable[str] = COUNTERS) -> Mapping[str, int]:
        """Counters of a core, all as they were in one cycle; the low 32 bits of each."""
        self.poke(SNAPSHOT, core)
        return {name: self.peek(COUNTER + COUNTER_STRIDE * COUNTERS.index(name)) for name in names}

    def faults(self) -> tuple[Fault, ...]:
        """Cores that were stopped, and why."""
        found = []
        for core in range(self.shape.cores):
            base = CORE + core * CORE_STRIDE
            cause = self.peek(base + CORE_CAUSE)
            if cause >> 31:
                pc, value = self.peek(base + CORE_FAULT_PC), self.peek(base + CORE_FAULT_VALUE)
                found.append(Fault(core, cause & 31, pc, value))
        return tuple(found)

    def record(self, on: bool) -> None:
        """Record from now on which bursts leave the cluster, or stop; what was recorded before is forgotten."""
        self._library.dram_gpu_record(self._harness, int(on))

    def recorded_bursts(self) -> npt.NDArray[np.void]:
        """The bursts recorded, as `ASKED`."""
        first = ctypes.c_void_p()
        count = int(self._library.dram_gpu_asked(self._harness, ctypes.byref(first)))
        if not count:
            return np.zeros(0, ASKED)
        return np.frombuffer(ctypes.string_at(first.value or 0, count * ASKED.itemsize), ASKED)


def digest(shape: Shape, files: tuple[Path, ...] = ()) -> str:
    """Sixteen hex digits that stand for all the measurements depend on: RTL, memory model, harness, tools."""
    texts = [path.read_bytes() for path in (*(files or read_filelist(FILELIST)), SOURCE)]
    texts += [path.read_bytes() for path in (*sorted(build.CPP.glob("dram*")), build.CPP / "verilated_model.h")]
    found = hashlib.sha256(repr((shape, VERILATOR_FLAGS, key(shims.boundary_header()))).encode())
    for text in texts:
        found.update(text + b"\0")
    return found.hexdigest()[:16]


def build_dram_cluster(
    shape: Shape, progress: Progress = ignore_progress, *, files: tuple[Path, ...] = (), optimise: bool = True
) -> Path:
    """The cluster and its harness as a shared object, built where missing.

    Args:
        shape: Parameters.
        progress: Told what is being built.
        files: RTL to use instead of the source tree's.
        optimise: For speed; without, it is built in less than half the time.

    Raises:
        InvalidRequest: No such cluster can be built.
        BuildFailed: A tool refused its input; the message holds what it said.
    """
    shape.check()
    level = "-O3" if optimise else "-O0"

    def make(work: Path) -> None:
        generated = work / "verilated"
        sources = files or tuple(read_filelist(FILELIST))
        verilate(TOP, build.PREFIX, sources, shape.parameters(), generated)
        header = (generated / f"{build.PREFIX}___024root.h").read_text(encoding="utf-8")
        normaliser = "#pragma once\n#include <cstddef>\n" + shims.normaliser(header, "")
        (work / "eddy_normalise.h").write_text(normaliser, encoding="utf-8")
        (work / "eddy_boundary.h").write_text(shims.boundary_header(), encoding="utf-8")
        unit = work / "unit.cpp"
        write_unit(unit, generated, SOURCE, sources)
        includes = (f"-I{work}", f"-I{generated}", f"-I{build.CPP}", f"-I{CPP}", level)
        headers = verilated_headers(level, progress)
        runtime = build.verilator_runtime(progress)
        compile_shared([unit], work / "out", *includes, *headers, objects=[runtime], progress=progress)

    kind = "" if optimise else "plain-"
    return product(f"gpu_dram_{shape.name()}-{kind}{digest(shape, files)}.so", make, progress)


def _open(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.dram_gpu_new.restype = ctypes.c_void_p
    for name in ("dram_gpu_cycles", "dram_gpu_asked"):
        getattr(library, name).restype = ctypes.c_uint64
    library.dram_gpu_register_read.restype = ctypes.c_uint32
    return library
