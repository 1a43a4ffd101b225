# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds a Verilated bench of one block and runs cocotb tests on it, with nothing but wheels.

    from eddy_sim.design.bench import Bench

    BENCH = Bench("async_fifo", HW / "ip/async_fifo/async_fifo.f", parameters={"Depth": 4})

    @pytest.mark.rtl
    def test_async_fifo() -> None:
        BENCH.run("cocotb_async_fifo", folder=Path(__file__).parent)

A build lands in `build/cocotb/<name>/<key>/`, `key` being the hash of sources, flags and tools, so it is built once
however many tests, processes or days use it. clang comes as `ziglang`; neither make nor a system compiler is used.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

from eddy.core.errors import EddyError
from eddy.host import distribution

from eddy_sim.design.bench_process import simulate
from eddy_sim.design.model_unit import CPP, write_unit
from eddy_sim.tools.cxx import TARGET_FLAGS, cxx_library, key, precompile_header
from eddy_sim.tools.filelist import FilelistInvalid, language_arguments, read_filelist, tool_arguments
from eddy_sim.tools.products import ROOT as ROOT
from eddy_sim.tools.prove import Mutation, stage_files
from eddy_sim.tools.toolchain import run, verilator_root, versions

VERILATOR_FLAGS = (
    # Delays are passed over, as synthesis does: HLS writes `#0` into every initial block.
    *("--cc", "--vpi", "--prefix", "Vtop", "--assert", "--no-timing", "--quiet"),
    # Everything starts at zero: with random values the clock may rise, and claims be checked, before there is a reset.
    *("--x-assign", "unique", "--x-initial", "unique", "--timescale", "1ns/1ps", "-Wall", "-Wno-fatal"),
)
COMPILE_FLAGS = (
    *("-std=c++17", "-O1", *TARGET_FLAGS, "-Wno-everything"),
    *("-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0", "-DVM_TIMING=0", "-DVM_TRACE_FST=0"),
    *("-DVM_TRACE_VCD=0", "-DVM_TRACE_SAIF=0"),
)
LINK_FLAGS = (
    "-shared",
    "-O1",
    "-nostdlib++",
    "-mcpu=baseline",
    "-fno-sanitize=all",
    f"-Wl,--version-script={CPP / 'bench.map'}",
)
RUNTIME, RUNTIME_PARTS = "bench_host.cpp", ("model_files.h", "model_files.hpp")


class BenchFailed(EddyError):
    """cocotb tests failed; the message ends with the run's log."""

    code: ClassVar[str] = "bench-failed"


def build_folder() -> Path:
    """Where benches go: `cocotb` in the folder of what is built."""
    return distribution.build_folder() / "cocotb"


@dataclass(frozen=True)
class Bench:
    """A block under test.

    Attributes:
        top: Name of the top module.
        filelist: The block's `.f` list.
        sources: Further sources, after those of the list: a wrapper that flattens ports, say.
        parameters: Overrides of the top's parameters.
        defines: Preprocessor definitions.
        seed: Seed of Python's and of the simulator's random numbers.
        inner: Whether tests look at signals inside blocks of the top. A model in which all can be seen takes longer to
            compile and to run.
        seen: Of modules beside the top, the signals that tests look at, or drive; a pattern, ``*`` for all.
    """

    top: str
    filelist: Path
    sources: Sequence[Path] = ()
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    defines: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    inner: bool = False
    seen: Mapping[str, str] = field(default_factory=dict)

    def build(self) -> Path:
        """The simulation as a shared object, built where missing; `eddy_sim.design.bench_process` runs it.

        Raises:
            BuildFailed: Verilator or the compiler refused; the message holds what it said.
            FilelistInvalid: The list cannot be read.
        """
        files = [*read_filelist(self.filelist), *(path.resolve() for path in self.sources)]
        arguments = [
            *(f"-G{k}={v}" for k, v in self.parameters.items()),
            *(f"-D{k}={v}" for k, v in self.defines.items()),
        ]
        # A bench that looks nowhere else keeps the name it had before there was `seen`.
        looks = (self.top, arguments, self.inner, *self.seen.items(), *language_arguments(files))
        # It finds cocotb's library where that lay when it was linked, which may be an environment that is gone.
        libraries, _ = _cocotb_folders()
        key = _hash(repr(looks), str(libraries), *_texts(files))
        return _product(
            build_folder() / self.top / key / f"{self.top}.so", lambda out: self._make(files, arguments, out)
        )

    def run(
        self, module: str, folder: Path, tests: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        """Build where needed, then run cocotb tests up to the first that fails, or all of them if `environment` asks.

        Args:
            module: Python module that holds the tests.
            folder: Folder in which that module is found.
            tests: Names of the tests to run, each with all its parameters; all where empty.
            environment: Further environment variables for the tests.

        Raises:
            BenchFailed: A test failed, or the simulation ended without a result.
        """
        model = self.build()
        name = re.sub(r"[^\w.=-]+", "_", "-".join([module, *tests, *(environment or {}).values()]))
        settings = {
            "COCOTB_LOG_LEVEL": os.environ.get("COCOTB_LOG_LEVEL", "INFO"),
            # One that fails is enough to say so; 0 runs the others too.
            "COCOTB_MAX_FAILURES": os.environ.get("COCOTB_MAX_FAILURES", "1"),
            "COCOTB_RANDOM_SEED": str(self.seed),
            **(environment or {}),
        }
        if tests:
            settings["COCOTB_TEST_FILTER"] = rf"\.({'|'.join(map(re.escape, tests))})(/.*)?$"
        plusargs = (f"+verilator+seed+{self.seed}", "+verilator+rand+reset+0")
        log = model.parent / f"{name[:100]}.log"
        with tempfile.TemporaryDirectory(prefix=f"{self.top}-", dir=model.parent) as work, _first_on_path(folder):
            results = Path(work) / "results.xml"
            status = simulate(model, self.top, module, results, log, plusargs, settings)
            failed = _failures(results)
        if failed or status:
            said = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-80:])
            end = f"\nthe simulation ended with exit status {status}" if status else ""
            raise BenchFailed(f"{failed} of the tests in {module} failed on {self.top}; log: {log}\n{said}{end}")

    def broken(self, mutation: Mutation, folder: Path) -> Bench:
        """This bench around a block with a mistake in it, made in an empty folder. Its `run` must fail.

        Raises:
            ProofFailed: What the mistake replaces does not occur exactly once.
            FilelistInvalid: The block has no source of that name.
        """
        files = read_filelist(self.filelist)
        if mutation.file not in {path.name for path in files}:
            raise FilelistInvalid(f"{self.filelist} has no {mutation.file} to make the mistake {mutation.name!r} in")
        stage_files(files, folder, mutation)
        filelist = folder / self.filelist.name
        filelist.write_text("".join(f"{path.name}\n" for path in files), encoding="utf-8")
        return replace(self, filelist=filelist)

    def _make(self, files: list[Path], arguments: list[str], output: Path) -> None:
        work = output.parent
        model = work / "model"
        seen = work / "seen.vlt"
        signals = {self.top: "*", **self.seen}.items()
        lines = (f'public_flat_rw -module "{module}" -var "{names}"\n' for module, names in signals)
        seen.write_text("`verilator_config\n" + "".join(lines), encoding="utf-8")
        shown = "--public-flat-rw" if self.inner else str(seen)
        _run(
            [
                *(str(verilator_root() / "bin" / "verilator_bin"), *VERILATOR_FLAGS),
                *("--top-module", self.top, "--Mdir", str(model), *arguments, shown, *tool_arguments(files)),
            ],
            f"verilating {self.top}",
            work,
        )
        libraries, share = _cocotb_folders()
        unit = model / "unit.cpp"
        write_unit(unit, model, CPP / "bench_main.cpp", files)
        objects = [_runtime(), unit.with_suffix(".o")]
        headers = (
            f"-I{model}",
            f"-I{share / 'lib' / 'verilator'}",
            *precompile_header("verilated_vpi.h", COMPILE_FLAGS),
        )
        _run([*_compiler(), *headers, "-c", str(unit), "-o", str(objects[-1])], f"compiling {self.top}", work)
        libraries_found = (f"-L{libraries}", "-lcocotbvpi_verilator", f"-Wl,-rpath,{libraries}")
        linked = (*map(str, objects), str(cxx_library()), "-lunwind", *libraries_found, "-o", str(output))
        _run([sys.executable, "-m", "ziglang", "c++", *LINK_FLAGS, *linked], f"linking {self.top}", work)
        shutil.rmtree(model)


def _failures(results: Path) -> int:
    """How many tests failed; at least one where there is no result."""
    from cocotb_tools.check_results import get_results

    try:
        ran, failed = get_results(results)
    except (RuntimeError, ElementTree.ParseError):
        return 1
    return failed if ran else 1


@contextlib.contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    # The simulation's process takes `sys.path` over.
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _compiler() -> list[str]:
    include = verilator_root() / "include"
    return [sys.executable, "-m", "ziglang", "c++", *COMPILE_FLAGS, f"-I{include}", f"-I{include / 'vltstd'}"]


def _cocotb_folders() -> tuple[Path, Path]:
    from cocotb_tools import config

    return Path(config.libs_dir), Path(config.share_dir)


def _runtime() -> Path:
    """Verilator's own runtime, compiled once for all benches, as one unit."""

    def make(output: Path) -> None:
        command = [*_compiler(), f"-I{CPP}", "-c", str(CPP / RUNTIME), "-o", str(output)]
        _run(command, "compiling the runtime", output.parent)

    texts = _texts([CPP / name for name in (RUNTIME, *RUNTIME_PARTS)])
    return _product(build_folder() / "runtime" / _hash(*texts) / "runtime.o", make)


def _texts(files: Sequence[Path]) -> Iterator[str]:
    for path in files:
        yield f"{path.name}\0{path.read_text(encoding='utf-8', errors='surrogateescape')}"


def _hash(*parts: str) -> str:
    tools = (key(), *versions(), ("cocotb", metadata.version("cocotb")), VERILATOR_FLAGS, COMPILE_FLAGS)
    parts = (*parts, *_texts((CPP / "bench_main.cpp", CPP / "bench.map")))
    return hashlib.sha256("\0".join((repr(tools), *parts)).encode(errors="surrogateescape")).hexdigest()[:16]


def _product(path: Path, make: Callable[[Path], None]) -> Path:
    """Build a file into its folder once, whoever else wants it at the same time; it appears whole or not at all."""
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.is_file():
            return path
        with tempfile.TemporaryDirectory(dir=path.parent) as work:
            output = Path(work) / path.name
            make(output)
            output.replace(path)
    return path


def _run(command: list[str], what: str, folder: Path) -> None:
    environment = {"VERILATOR_ROOT": str(verilator_root()), "ZIG_LOCAL_CACHE_DIR": str(folder / ".zig-cache")}
    run(command, what, environment)
