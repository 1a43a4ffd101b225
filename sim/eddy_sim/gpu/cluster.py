# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A simulated GPU cluster by itself: load a program, run it, read what happened.

The RTL is the one that goes into a slot; here its memory port ends in a memory with a fixed latency, and its control
port is driven register by register.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np

from eddy_sim.gpu.cluster_build import Shape, build_cluster
from eddy_sim.gpu.elf import ElfProgram
from eddy_sim.gpu.isa_model import RECORD, Records
from eddy_sim.gpu.registers import (
    CORE,
    CORE_ARGUMENT,
    CORE_CAUSE,
    CORE_FAULT_PC,
    CORE_FAULT_VALUE,
    CORE_START,
    CORE_STRIDE,
    COUNTER,
    COUNTER_STRIDE,
    INTERRUPT_STATUS,
    LAUNCH,
    SNAPSHOT,
)
from eddy_sim.tools.products import Progress, ignore_progress

LATENCY = 20
"""Cycles between a request at the memory port and its answer, unless said otherwise."""

COUNTERS = (
    *("cycles", "instructions", "loads", "stores", "fetch_misses", "data_hits", "data_misses"),
    *("line_reads", "line_writes", "stall_fetch", "stall_memory", "stall_unit", "stall_barrier", "stall_pipeline"),
    *("replays", "total_active_cycles"),
)
"""A core's counters by index; CYCLE_THREAD_X, X = 1 .. threads, follow."""


class Stop(Enum):
    """Why a run ended."""

    IDLE = 0
    EXIT = 1
    TOHOST = 2
    LIMIT = 3


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a core was stopped.

    Attributes:
        core: Which.
        cause: As mcause.
        pc: The instruction; 0 where memory refused.
        value: As mtval: the instruction, or the address.
    """

    core: int
    cause: int
    pc: int
    value: int


class SimulatedCluster:
    """A cluster in its harness."""

    def __init__(
        self,
        shape: Shape,
        *,
        latency: int = LATENCY,
        trace: bool = False,
        library: Path | None = None,
        progress: Progress = ignore_progress,
    ) -> None:
        """Build where needed, and reset.

        Args:
            shape: Parameters.
            latency: Cycles between a request to memory and its answer.
            trace: Record what every instruction does; the build is quicker made and slower.
            library: A build to use instead.
            progress: Told what is being built.
        """
        self.shape = shape
        self._library = _open(library or build_cluster(shape, trace=trace, optimise=not trace, progress=progress))
        self._harness = ctypes.c_void_p(self._library.gpu_new(latency))
        self._library.gpu_trace(self._harness, int(trace))

    def __del__(self) -> None:
        if getattr(self, "_harness", None):
            self._library.gpu_delete(self._harness)

    def load(self, program: ElfProgram) -> None:
        """Load a program, and watch its `tohost`."""
        for segment in program.segments:
            self.write(segment.address, segment.data + bytes(segment.size - len(segment.data)))
        if program.tohost is not None:
            self._library.gpu_watch(self._harness, ctypes.c_uint32(program.tohost))

    def write(self, address: int, data: bytes) -> None:
        """Write memory, as the host would."""
        self._library.gpu_write(self._harness, ctypes.c_uint32(address), data, ctypes.c_uint64(len(data)))

    def read(self, address: int, size: int) -> bytes:
        """Read memory, as the host would."""
        buffer = ctypes.create_string_buffer(size)
        self._library.gpu_read(self._harness, ctypes.c_uint32(address), buffer, ctypes.c_uint64(size))
        return buffer.raw

    def window(self, first: int, last: int, contexts: int = 0xFFFF) -> None:
        """Let memory refuse every access outside the windows named so far; this one is for the contexts in the mask."""
        self._library.gpu_window(self._harness, ctypes.c_uint64(first), ctypes.c_uint64(last), contexts)

    def stall(self, chance: int, seed: int) -> None:
        """Let the memory port's handshakes fail with a chance of `chance` in 256."""
        self._library.gpu_stall(self._harness, chance, ctypes.c_uint32(seed))

    def poke(self, offset: int, value: int) -> None:
        """Write a register."""
        self._library.gpu_register_write(self._harness, offset, ctypes.c_uint32(value))

    def peek(self, offset: int) -> int:
        """Read a register."""
        return int(self._library.gpu_register_read(self._harness, offset))

    @property
    def interrupt(self) -> bool:
        """The interrupt line."""
        return bool(self._library.gpu_irq(self._harness))

    def start(self, pc: int, argument: int = 0, cores: Iterable[int] = (0,)) -> None:
        """Launch a kernel on the cores named."""
        chosen = tuple(cores)
        for core in chosen:
            self.poke(CORE + core * CORE_STRIDE + CORE_START, pc)
            self.poke(CORE + core * CORE_STRIDE + CORE_ARGUMENT, argument)
        self.poke(INTERRUPT_STATUS, 0)
        self.poke(LAUNCH, sum(1 << core for core in chosen))

    def run(self, max_cycles: int) -> Stop:
        """Until the cluster is idle, the program says how it ended, or so many cycles have passed.

        Raises:
            AssertionError: The RTL broke a claim of its own; checked with `trace` only.
        """
        stop = Stop(self._library.gpu_run(self._harness, ctypes.c_uint64(max_cycles)))
        error = ctypes.c_char_p()
        self._library.gpu_records(self._harness, ctypes.byref(ctypes.c_void_p()), ctypes.byref(error))
        if error.value:
            raise AssertionError(error.value.decode())
        return stop

    @property
    def cycles(self) -> int:
        """Clock cycles since the beginning."""
        return int(self._library.gpu_cycles(self._harness))

    @property
    def exit_code(self) -> int:
        """What the program said with `tohost` or the exit register."""
        return int(self._library.gpu_exit_code(self._harness))

    @property
    def memory_quiet(self) -> bool:
        """No request to memory waits for its answer."""
        return bool(self._library.gpu_quiet(self._harness))

    def console(self) -> str:
        """What was written to the console so far."""
        text = ctypes.c_char_p()
        size = self._library.gpu_console(self._harness, ctypes.byref(text))
        return ctypes.string_at(text, size).decode(errors="replace") if size else ""

    def counters(self, core: int = 0) -> Mapping[str, int]:
        """All counters of a core as they were in one cycle."""
        self.poke(SNAPSHOT, core)
        names = (*COUNTERS, *(f"cycle_thread_{x}" for x in range(1, self.shape.threads + 1)))
        offsets = (COUNTER + COUNTER_STRIDE * index for index in range(len(names)))
        return {name: self.peek(at) | self.peek(at + 4) << 32 for name, at in zip(names, offsets, strict=True)}

    def counted_cycles(self, core: int = 0) -> int:
        """The counter of cycles of a core, without the others: it goes on counting less while it is read."""
        self.poke(SNAPSHOT, core)
        at = COUNTER + COUNTER_STRIDE * COUNTERS.index("cycles")
        return self.peek(at) | self.peek(at + 4) << 32

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

    def trace(self) -> Records:
        """What the instructions did, as `isa_model.RECORD`; needs `trace`."""
        first, error = ctypes.c_void_p(), ctypes.c_char_p()
        count = int(self._library.gpu_records(self._harness, ctypes.byref(first), ctypes.byref(error)))
        if not count:
            return np.zeros(0, RECORD)
        return np.frombuffer(ctypes.string_at(first.value or 0, count * RECORD.itemsize), RECORD)


def _open(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.gpu_new.restype = ctypes.c_void_p
    for name in ("gpu_cycles", "gpu_console", "gpu_records"):
        getattr(library, name).restype = ctypes.c_uint64
    for name in ("gpu_exit_code", "gpu_register_read"):
        getattr(library, name).restype = ctypes.c_uint32
    return library
