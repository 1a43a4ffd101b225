# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds of the floating-point unit under test and of the host's floating-point unit, each a shared object."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from eddy.core.errors import EddyError

from eddy_sim.design.build import verilator_runtime
from eddy_sim.design.model_unit import write_unit
from eddy_sim.gpu.softfloat import Flags, FloatAnswer, Op, Words
from eddy_sim.tools.cxx import compile_shared, verilated_headers
from eddy_sim.tools.filelist import read_filelist, tool_arguments
from eddy_sim.tools.products import ROOT, ignore_progress, product
from eddy_sim.tools.toolchain import run, verilator_root, versions

CPP = Path(__file__).resolve().parent / "cpp"
FILELIST = ROOT / "hw" / "ip" / "gpu_fpu" / "gpu_fpu.f"
TAG_BITS = 6

VERILATOR_FLAGS = (
    *("--cc", "--assert", "-O3", "--prefix", "Vfpu", "--top-module", "gpu_fpu", "--no-timing", "--quiet"),
    *("--x-assign", "fast", "--x-initial", "fast"),
)
HOST_FLAGS = ("-O1", "-frounding-math", "-ffp-contract=off", "-ffp-exception-behavior=strict")

VERDICTS = ("good", "an unknown tag", "a wrong mask", "a wrong order", "no answer", "an answer that did not wait")


class FpuMisbehaved(EddyError):
    """The unit broke a promise of its handshake."""

    code: ClassVar[str] = "fpu-misbehaved"


class _Run(ctypes.Structure):
    """`Run` of cpp/fpu_harness.cpp."""

    _fields_ = (
        ("warps", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in ("op", "rm", "mask", "a", "b", "c", "result", "flags")),
        *((name, ctypes.c_uint32) for name in ("seed", "idle", "stall")),
        *((name, ctypes.c_uint64) for name in ("cycles", "failed_warp")),
    )


@dataclass(frozen=True)
class Pace:
    """How the unit is driven: chances in 256 that a cycle offers no request, or takes no answer; the seed of both."""

    seed: int = 1
    idle: int = 0
    stall: int = 0


FULL_SPEED = Pace()
"""A request in every cycle, every answer taken at once."""


class Fpu:
    """The Verilated unit."""

    def __init__(self, library: Path, lanes: int) -> None:
        self.lanes = lanes
        self._library = ctypes.CDLL(str(library))
        self._library.fpu_run.argtypes = [ctypes.c_void_p]

    def run(
        self,
        op: Flags,
        rm: Flags,
        mask: npt.NDArray[np.uint16],
        operands: tuple[Words, Words, Words],
        pace: Pace = FULL_SPEED,
    ) -> tuple[FloatAnswer, int]:
        """Answers of warps of operations, each array of operands having the shape (warps, lanes), and the cycles taken.

        Raises:
            FpuMisbehaved: An answer came with a wrong tag, mask or order, not at all, or did not wait to be taken.
        """
        warps = len(op)
        result = np.zeros((warps, self.lanes), np.uint32)
        flags = np.zeros((warps, self.lanes), np.uint8)
        arrays = [np.ascontiguousarray(x) for x in (op, rm, mask, *operands)] + [result, flags]
        run = _Run(warps, *(x.ctypes.data for x in arrays), pace.seed, pace.idle, pace.stall, 0, 0)
        verdict = int(self._library.fpu_run(ctypes.byref(run)))
        if verdict:
            raise FpuMisbehaved(f"the unit gave {VERDICTS[verdict]}", warp=run.failed_warp, cycle=run.cycles)
        return FloatAnswer(result, flags), int(run.cycles)

    def run_lanes(
        self, op: Op, rm: Flags, operands: tuple[Words, ...], pace: Pace = FULL_SPEED
    ) -> tuple[FloatAnswer, int]:
        """Like `run`, one operation on flat arrays: cases with like rounding modes share warps."""
        order = np.argsort(rm, kind="stable")
        index = np.concatenate([_padded(order[rm[order] == mode], self.lanes) for mode in np.unique(rm)])
        warps = index.reshape(-1, self.lanes)
        full = np.full(len(warps), (1 << self.lanes) - 1, np.uint16)
        a, b, c = (x[warps] for x in operands)
        answer, cycles = self.run(np.full(len(warps), op, np.uint8), rm[warps[:, 0]], full, (a, b, c), pace)
        result, flags = np.zeros(len(rm), np.uint32), np.zeros(len(rm), np.uint8)
        result[index], flags[index] = answer.result.ravel(), answer.flags.ravel()
        return FloatAnswer(result, flags), cycles


def _padded(index: npt.NDArray[np.int64], lanes: int) -> npt.NDArray[np.int64]:
    return np.concatenate([index, np.repeat(index[-1:], -len(index) % lanes)])


class Host:
    """The host's floating-point unit: RNE, RTZ, RDN and RUP of everything that rounds."""

    OPERATIONS = (*(op for op in Op if op <= Op.FSQRT), Op.FCVT_W_S, Op.FCVT_WU_S, Op.FCVT_S_W, Op.FCVT_S_WU)

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.host_run.argtypes = [ctypes.c_int, ctypes.c_uint64, *[ctypes.c_void_p] * 6]
        self._library.host_run.restype = None

    def usable(self) -> bool:
        """Whether it judges tininess after rounding, as RISC-V does."""
        return bool(self._library.host_usable())

    def evaluate(self, op: Op, rm: Flags, a: Words, b: Words, c: Words) -> FloatAnswer:
        """As `softfloat.evaluate`; cases of RMM stay zero."""
        arrays = [np.ascontiguousarray(x) for x in (rm, a, b, c)]
        result, flags = np.zeros(len(rm), np.uint32), np.zeros(len(rm), np.uint8)
        self._library.host_run(int(op), len(rm), *(x.ctypes.data for x in (*arrays, result, flags)))
        return FloatAnswer(result, flags)


def build_fpu(lanes: int = 4, sources: list[Path] | None = None, optimise: bool = True) -> Fpu:
    """The unit for `lanes` lanes, built where missing.

    Args:
        lanes: Lanes of a warp.
        sources: Its files, if not those of the tree: a mutation, say.
        optimise: Whether it shall run fast; else it is built fast.

    Raises:
        BuildFailed: A tool refused its input, or warned; the message holds what it said.
    """
    files = sources if sources is not None else read_filelist(FILELIST)
    harness = CPP / "fpu_harness.cpp"
    name = f"gpu_fpu{lanes}-{_key(lanes, optimise, VERILATOR_FLAGS, *files, harness, Path(__file__))}.so"

    def make(work: Path) -> None:
        generated = work / "verilated"
        _verilate(files, lanes, generated)
        unit = work / "unit.cpp"
        write_unit(unit, generated, harness, files)
        optimisation = "-O3" if optimise else "-O0"
        flags = (optimisation, *verilated_headers(optimisation), f"-DFPU_LANES={lanes}", f"-DFPU_TAG_BITS={TAG_BITS}")
        compile_shared([unit], work / "out", f"-I{generated}", *flags, objects=[verilator_runtime(ignore_progress)])

    return Fpu(product(name, make, ignore_progress), lanes)


def build_host() -> Host:
    """The host's unit, built where missing."""
    source = CPP / "host_float.cpp"

    def make(work: Path) -> None:
        compile_shared([source], work / "out", *HOST_FLAGS)

    return Host(product(f"host_float-{_key(HOST_FLAGS, source)}.so", make, ignore_progress))


def _verilate(files: list[Path], lanes: int, out: Path) -> None:
    root = verilator_root()
    command = [str(root / "bin" / "verilator_bin"), *VERILATOR_FLAGS, "--Mdir", str(out)]
    command += [f"-GLanes={lanes}", f"-GTagWidth={TAG_BITS}", *tool_arguments(files)]
    run(command, "verilating gpu_fpu", {"VERILATOR_ROOT": str(root)})


def _key(*parts: object) -> str:
    digest = hashlib.sha256(repr(versions()).encode())
    for part in parts:
        digest.update(part.read_bytes() if isinstance(part, Path) else repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]
