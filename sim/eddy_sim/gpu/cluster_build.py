# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds of a GPU cluster with its harness (`cpp/gpu_harness.cpp`), each a shared object, built once."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from eddy.core.errors import InvalidRequest

from eddy_sim.design import build, shims
from eddy_sim.design.model_unit import write_unit
from eddy_sim.tools.cxx import compile_shared, key, verilated_headers
from eddy_sim.tools.filelist import read_filelist, tool_arguments
from eddy_sim.tools.products import ROOT, Progress, ignore_progress, product
from eddy_sim.tools.toolchain import (
    VERILATOR_FLAGS,
    run,
    verilate,
    verilator_root,
)

CPP = Path(__file__).resolve().parent / "cpp"
FILELIST = ROOT / "hw" / "ip" / "gpu_cluster" / "gpu_cluster.f"
TOP = "gpu_cluster"
HARNESS = ("gpu_harness.cpp", "gpu_axi.h", "isa_core.h", "isa_memory.h")
WHOLE_BLOCKS = ("-fno-split",)
"""Verilator is not to make one block of each thing that a block computes: the condition before them is tested once."""
TRACE_DEFINE = "`define EDDY_GPU_TRACE\n"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a cluster is made of; the parameters of hw/ip/gpu_cluster.

    Attributes:
        cores: Cores, 1 to 8.
        warps: Warps a core, 1 to 16.
        threads: Lanes of a warp, 1 to 16.
        fpu: Whether there is a floating-point unit.
        icache_bytes: Size of a core's instruction cache.
        dcache_bytes: Size of a core's data cache.
        local_bytes: Size of a core's local memory.
        l2_bytes: Size of the second-level cache that the cores share, 0 for none.
        starve_bound: Instructions a group of lanes may execute while others of its warp wait.
    """

    cores: int = 1
    warps: int = 4
    threads: int = 4
    fpu: bool = True
    icache_bytes: int = 4096
    dcache_bytes: int = 8192
    local_bytes: int = 16384
    l2_bytes: int = 0
    starve_bound: int = 4096

    @classmethod
    def parse(cls, name: str, **others: int) -> Shape:
        """The shape of a name as `name()` gives it; `others` are the numbers a name does not say.

        Raises:
            InvalidRequest: It is no such name, or such a cluster cannot be built.
        """
        found = re.fullmatch(r"(\d+)c(\d+)w(\d+)t(x?)(?:-l2-(\d+))?", name)
        if not found:
            raise InvalidRequest(f"{name!r} is no shape; write 2c4w8t, 2c4w8tx without floating point, 2c4w8t-l2-65536")
        cores, warps, threads = (int(found[k]) for k in (1, 2, 3))
        shape = cls(cores, warps, threads, not found[4], l2_bytes=int(found[5] or 0), **others)
        shape.check()
        return shape

    def check(self) -> None:
        """Refuse what cannot be built.

        Raises:
            InvalidRequest: A number is out of its range; says which and what is allowed.
        """
        for name, value, most in (("cores", self.cores, 8), ("warps", self.warps, 16), ("threads", self.threads, 16)):
            if not 1 <= value <= most:
                raise InvalidRequest(f"{name} must be 1 to {most}, not {value}", field=name, allowed=[1, most])
        if self.l2_bytes and (self.l2_bytes < 256 or self.l2_bytes & (self.l2_bytes - 1)):
            allowed = "0 or a power of two from 256"
            raise InvalidRequest(f"l2_bytes must be {allowed}, not {self.l2_bytes}", field="l2_bytes")

    def parameters(self) -> tuple[str, ...]:
        """Overrides of the top's parameters."""
        values = {
            "Cores": self.cores,
            "Warps": self.warps,
            "Threads": self.threads,
            "Fpu": f"1'b{int(self.fpu)}",
            "IcacheBytes": self.icache_bytes,
            "DcacheBytes": self.dcache_bytes,
            "LocalBytes": self.local_bytes,
            "L2Bytes": self.l2_bytes,
            "StarveBound": self.starve_bound,
        }
        return tuple(f"{name}={value}" for name, value in values.items())

    def name(self) -> str:
        """Short: 1c4w4t; 1c4w4tx without floating point; 1c4w4t-l2-65536 with a second-level cache."""
        l2 = f"-l2-{self.l2_bytes}" if self.l2_bytes else ""
        return f"{self.cores}c{self.warps}w{self.threads}t{'' if self.fpu else 'x'}{l2}"


def build_cluster(
    shape: Shape,
    *,
    trace: bool = False,
    files: tuple[Path, ...] = (),
    optimise: bool = True,
    progress: Progress = ignore_progress,
) -> Path:
    """The cluster and its harness.

    Args:
        shape: Parameters.
        trace: Let the cores say what every instruction does, for comparison with the model of the instruction set; the
            RTL's assertions are checked as well.
        files: RTL to use instead of the source tree's.
        optimise: For speed; without, it is built faster.
        progress: Told what is being built.

    Raises:
        InvalidRequest: No such cluster can be built.
        BuildFailed: A tool refused its input; the message holds what it said.
    """
    shape.check()
    sources = files or tuple(read_filelist(FILELIST))
    texts = [path.read_bytes() for path in (*sources, *(CPP / name for name in HARNESS), Path(__file__))]
    texts += [path.read_bytes() for path in sorted(build.CPP.glob("*.h"))]
    digest = hashlib.sha256(repr((shape, trace, optimise, VERILATOR_FLAGS, key())).encode())
    for text in texts:
        digest.update(text + b"\0")

    def make(work: Path) -> None:
        define = work / "define.sv"
        define.write_text(TRACE_DEFINE if trace else "", encoding="utf-8")
        _compile(shape, (define, *sources), work, progress, "-O3" if optimise else "-O0", checked=trace)

    return product(f"gpu_{shape.name()}-{digest.hexdigest()[:16]}.so", make, progress)


def _verilate_checked(shape: Shape, sources: tuple[Path, ...], out: Path) -> None:
    """Like `verilate`, with assertions."""
    root = verilator_root()
    flags = [*(flag for flag in VERILATOR_FLAGS if flag != "--no-assert"), *WHOLE_BLOCKS]
    command = [str(root / "bin" / "verilator_bin"), *flags, "--assert", "--prefix", build.PREFIX, "--top-module", TOP]
    command += ["--Mdir", str(out), *(f"-G{parameter}" for parameter in shape.parameters()), *tool_arguments(sources)]
    run(command, f"verilating {TOP}", {"VERILATOR_ROOT": str(root)})


def _compile(
    shape: Shape, sources: tuple[Path, ...], work: Path, progress: Progress, optimisation: str, *, checked: bool
) -> None:
    generated = work / "verilated"
    if checked:
        _verilate_checked(shape, sources, generated)
    else:
        verilate(TOP, build.PREFIX, sources, shape.parameters(), generated, more=WHOLE_BLOCKS)
    header = (generated / f"{build.PREFIX}___024root.h").read_text(encoding="utf-8")
    (work / "eddy_normalise.h").write_text(
        "#pragma once\n#include <cstddef>\n" + shims.normaliser(header, ""), encoding="utf-8"
    )
    unit = work / "unit.cpp"
    write_unit(unit, generated, CPP / HARNESS[0], sources)
    includes = (f"-I{work}", f"-I{generated}", f"-I{build.CPP}", f"-I{CPP}")
    runtime = build.verilator_runtime(progress)
    flags = (optimisation, *verilated_headers(optimisation, progress))
    compile_shared([unit], work / "out", *includes, *flags, objects=[runtime], progress=progress)
