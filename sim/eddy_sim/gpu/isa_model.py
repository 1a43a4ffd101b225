# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The GPU's instruction set as a program: what docs/reference/gpu-isa.md says, without time and caches.

It shares no code with the RTL, which is compared with it. It also runs programs by itself, fast:

    python -m eddy_sim.gpu.isa_model PROGRAM.elf [--cores C --warps W --threads T --no-fpu] [--trace]
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eddy_sim.gpu.elf import ElfProgram, read_elf
from eddy_sim.tools.cxx import compile_shared, key
from eddy_sim.tools.products import Progress, ignore_progress, product

CPP = Path(__file__).resolve().parent / "cpp"
SOURCES = ("isa_core.cpp", "isa_execute.cpp", "isa_special.cpp", "isa_api.cpp")
HEADERS = ("isa_core.h", "isa_execute.h", "isa_float.h", "isa_memory.h")
MAX_THREADS = 16
NO_LIMIT = (1 << 63) - 1

RECORD = np.dtype(
    [
        *(("pc", "<u4"), ("instr", "<u4"), ("mask", "<u2")),
        *(("core", "u1"), ("warp", "u1"), ("kind", "u1"), ("rd", "u1"), ("zero", "<u2")),
        ("value", "<u4", (MAX_THREADS,)),
    ]
)
"""A line of a trace: what an instruction wrote (`rd` 255: nothing; 32 and up: a floating-point register), lane by lane,
or with `kind` 1 which lanes trapped, why (`rd`) and with which value."""

Records = npt.NDArray[np.void]


class Stop(Enum):
    """Why a run ended."""

    IDLE = 0
    EXIT = 1
    TOHOST = 2
    LIMIT = 3
    STUCK = 4


@dataclass(frozen=True, slots=True)
class Config:
    """A cluster.

    Attributes:
        cores: Cores, 1 to 8.
        warps: Warps a core, 1 to 16.
        threads: Lanes of a warp, 1 to 16.
        fpu: Whether there are floating-point instructions.
        starve_bound: Instructions a group of lanes may execute while others of its warp wait.
        random_choice: Choose lanes and warps at random: a correct program gives the same.
        seed: Seed of random choices.
        trace: Keep what every instruction did.
    """

    cores: int = 1
    warps: int = 4
    threads: int = 4
    fpu: bool = True
    starve_bound: int = 4096
    random_choice: bool = False
    seed: int = 1
    trace: bool = False


class _Config(ctypes.Structure):
    """`isa::Config`."""

    _fields_ = tuple(
        (name, ctypes.c_uint32)
        for name in (
            *("cores", "warps", "threads", "fpu", "local_base", "local_bytes", "starve_bound", "cap"),
            *("choice", "seed", "trace"),
        )
    )


class _Counters(ctypes.Structure):
    """`isa::Counters`."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("instructions", "loads", "stores")),
        ("by_lanes", ctypes.c_uint64 * (MAX_THREADS + 1)),
    )


@dataclass(frozen=True, slots=True)
class Fault:
    """A trap without a handler: the core stopped.

    Attributes:
        core: Which.
        cause: As mcause.
        pc: The instruction.
        value: As mtval.
    """

    core: int
    cause: int
    pc: int
    value: int


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended.

    Attributes:
        stop: Why.
        exit_code: What the program said: 0 is success; 0 as well where it just ended.
        console: What it wrote to the console.
        instructions: Instructions of warps, by core.
        by_lanes: By core, how many of them were executed by 0, 1, ... lanes.
        faults: Traps without a handler.
    """

    stop: Stop
    exit_code: int
    console: str
    instructions: tuple[int, ...]
    by_lanes: tuple[tuple[int, ...], ...]
    faults: tuple[Fault, ...]


@lru_cache(maxsize=1)
def library(progress: Progress = ignore_progress) -> ctypes.CDLL:
    """The model as a shared object, built where missing.

    Raises:
        BuildFailed: The compiler refused.
    """
    digest = hashlib.sha256(key().encode())
    for name in (*SOURCES, *HEADERS):
        digest.update((CPP / name).read_bytes())

    def make(work: Path) -> None:
        compile_shared([CPP / name for name in SOURCES], work / "out", progress=progress)

    loaded = ctypes.CDLL(str(product(f"gpu_isa-{digest.hexdigest()[:16]}.so", make, progress)))
    loaded.isa_new.restype = ctypes.c_void_p
    for name in ("isa_console", "isa_trace"):
        getattr(loaded, name).restype = ctypes.c_uint64
    for name in ("isa_exit_code", "isa_register"):
        getattr(loaded, name).restype = ctypes.c_uint32
    return loaded


class IsaModel:
    """A cluster that executes instructions."""

    def __init__(self, config: Config = Config()) -> None:
        self.config = config
        self._library = library()
        choice = int(config.random_choice)
        raw = _Config(
            *(config.cores, config.warps, config.threads, config.fpu, 0xFFFF0000, 16384, config.starve_bound, 0),
            *(choice, config.seed, config.trace),
        )
        self._cluster = ctypes.c_void_p(self._library.isa_new(ctypes.byref(raw)))

    def __del__(self) -> None:
        if getattr(self, "_cluster", None):
            self._library.isa_delete(self._cluster)

    def load(self, program: ElfProgram) -> None:
        """Load a program, and watch its `tohost`."""
        for segment in program.segments:
            self.write(segment.address, segment.data + bytes(segment.size - len(segment.data)))
        if program.tohost is not None:
            self._library.isa_watch(self._cluster, ctypes.c_uint32(program.tohost))

    def write(self, address: int, data: bytes) -> None:
        """Write memory."""
        self._library.isa_write(self._cluster, ctypes.c_uint32(address), data, ctypes.c_uint64(len(data)))

    def read(self, address: int, size: int) -> bytes:
        """Read memory."""
        buffer = ctypes.create_string_buffer(size)
        self._library.isa_read(self._cluster, ctypes.c_uint32(address), buffer, ctypes.c_uint64(size))
        return buffer.raw

    def map(self, address: int, memory: bytearray) -> None:
        """Have memory from an address on be the caller's, which changes as the program runs.

        Raises:
            ValueError: Address or size is no multiple of 8 bytes.
        """
        if (address | len(memory)) % 8:
            raise ValueError(f"{len(memory)} bytes at {address:#x} are no whole words of 8 bytes")
        self._mapped = (ctypes.c_char * len(memory)).from_buffer(memory)
        self._library.isa_map(self._cluster, ctypes.c_uint32(address), self._mapped, ctypes.c_uint32(len(memory)))

    def start(self, pc: int, argument: int = 0, cores: Iterable[int] = (0,)) -> None:
        """Warp 0, lane 0 of every core named begins at `pc` with `argument` in mscratch."""
        mask = sum(1 << core for core in cores)
        self._library.isa_start(self._cluster, mask, ctypes.c_uint32(pc), ctypes.c_uint32(argument))

    def run(self, instructions: int = NO_LIMIT) -> RunOutcome:
        """Run until all cores ended, the program says so, nothing can go on, or so many instructions were executed."""
        stop = Stop(self._library.isa_run(self._cluster, ctypes.c_uint64(instructions)))
        code = int(self._library.isa_exit_code(self._cluster))
        counters = [self._counters(core) for core in range(self.config.cores)]
        lanes = tuple(tuple(int(x) for x in c.by_lanes)[: self.config.threads + 1] for c in counters)
        faults = tuple(self._faults())
        return RunOutcome(stop, code, self.console(), tuple(int(c.instructions) for c in counters), lanes, faults)

    def console(self) -> str:
        """What was written to the console so far."""
        text = ctypes.c_char_p()
        size = self._library.isa_console(self._cluster, ctypes.byref(text))
        return ctypes.string_at(text, size).decode(errors="replace") if size else ""

    def trace(self) -> Records:
        """What the instructions did, in the order of execution; needs `Config.trace`."""
        first = ctypes.c_void_p()
        count = int(self._library.isa_trace(self._cluster, ctypes.byref(first)))
        if not count:
            return np.zeros(0, RECORD)
        raw = ctypes.string_at(first.value or 0, count * RECORD.itemsize)
        return np.frombuffer(raw, RECORD)

    def register(self, number: int, lane: int = 0, warp: int = 0, core: int = 0) -> int:
        """A register's value; numbers from 32 are floating-point registers."""
        return int(self._library.isa_register(self._cluster, core, warp, lane, number))

    def _counters(self, core: int) -> _Counters:
        counters = _Counters()
        self._library.isa_counters(self._cluster, core, ctypes.byref(counters))
        return counters

    def _faults(self) -> Iterator[Fault]:
        for core in range(self.config.cores):
            values = (ctypes.c_uint32 * 3)()
            if self._library.isa_fault(self._cluster, core, values):
                yield Fault(core, *values)


def run_program(
    program: ElfProgram, config: Config = Config(), *, all_cores: bool = False
) -> tuple[RunOutcome, IsaModel]:
    """Load a program, start it on core 0 or on all, run it to its end."""
    model = IsaModel(config)
    model.load(program)
    model.start(program.entry, cores=range(config.cores) if all_cores else (0,))
    return model.run(), model


def describe(record: np.void, threads: int) -> str:
    """A line of a trace in words."""
    lanes = [t for t in range(threads) if int(record["mask"]) >> t & 1]
    where = f"core {record['core']} warp {record['warp']} pc {int(record['pc']):08x} {int(record['instr']):08x}"
    mask = format(int(record["mask"]), f"0{threads}b")
    values = " ".join(f"{int(record['value'][t]):08x}" for t in lanes)
    if record["kind"]:
        return f"{where} lanes {mask} trap {record['rd']} {values}"
    rd = int(record["rd"])
    name = "" if rd == 255 else f" f{rd - 32} {values}" if rd >= 32 else f" x{rd} {values}"
    return f"{where} lanes {mask}{name}"


def main() -> int:
    """Run a program; exit 0 where it succeeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    for name, default in (("cores", 1), ("warps", 4), ("threads", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--no-fpu", action="store_true")
    parser.add_argument("--all-cores", action="store_true")
    parser.add_argument("--trace", action="store_true", help="print every instruction")
    options = parser.parse_args()
    config = Config(options.cores, options.warps, options.threads, not options.no_fpu)
    outcome, model = run_program(
        read_elf(options.program), replace(config, trace=options.trace), all_cores=options.all_cores
    )
    for record in model.trace():
        print(describe(record, config.threads))
    print(outcome.console, end="", file=sys.stderr)
    document = {"stop": outcome.stop.name.lower(), "exit_code": outcome.exit_code, "by_lanes": outcome.by_lanes}
    print(json.dumps({**document, "instructions": outcome.instructions, "faults": [str(f) for f in outcome.faults]}))
    return (
        0 if outcome.stop in (Stop.IDLE, Stop.EXIT, Stop.TOHOST) and not outcome.exit_code + len(outcome.faults) else 1
    )


if __name__ == "__main__":
    sys.exit(main())
