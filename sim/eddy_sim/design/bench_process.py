# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Processes that run one cocotb simulation each.

cocotb would start an interpreter inside the simulator, for which it needs Python's shared library; many systems (Debian
among them) ship Python without one. Here the simulation is loaded into Python instead. cocotb finds an interpreter
that runs already, sets its path and arguments, and goes on as it would have.

A simulation that lasts a moment would spend most of its time importing cocotb. So one process for each caller, `python
-m eddy_sim.design.bench_process`, imports it once, reads a line of JSON for each simulation, forks, and answers with
the exit status and the processor time since the last answer. It ends with its input, hence with the caller.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, NoReturn

from eddy.core.errors import EddyError

IMPORTED = (
    *("numpy", "cocotbext.axi", "pygpi.entry", "pytest", "unittest"),
    *("cocotb._init", "cocotb.clock", "cocotb.regression", "cocotb.triggers", "cocotb_tools._coverage"),
)
"""What almost every bench imports; nothing of it may start a thread, which no fork would take along."""
SETTINGS = {
    "COCOTB_ANSI_OUTPUT": "0",
    "COCOTB_TRUST_INERTIAL_WRITES": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYGPI_PYTHON_BIN": sys.executable,
    # cocotb has pytest rewrite the assertions of tests; no plugin has a part in that.
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "TOPLEVEL_LANG": "verilog",
}
"""Environment of every simulation, some of it read when cocotb is imported."""
_one_at_a_time = threading.Lock()


class BenchProcessEnded(EddyError):
    """The process that forks simulations is gone."""

    code: ClassVar[str] = "bench-process-ended"


@dataclass(frozen=True)
class _Run:
    """What one simulation is told; all text, as it goes through a pipe."""

    model: str
    plusargs: list[str]
    environment: dict[str, str]
    path: list[str]
    folder: str
    log: str

    def start(self) -> NoReturn:
        """Become the simulation; its exit status is the process's."""
        output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(old, new)
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        sys.path[:] = self.path
        importlib.invalidate_caches()
        # `PyDLL` keeps the interpreter's lock, which cocotb takes for its own.
        model = ctypes.PyDLL(self.model)
        texts = [os.fsencode(argument) for argument in (self.model, *self.plusargs)]
        model.eddy_bench_main(len(texts), (ctypes.c_char_p * (len(texts) + 1))(*texts))
        raise SystemExit("the simulation came back")  # It ends the process itself.


def simulate(
    model: Path,
    top: str,
    module: str,
    results: Path,
    log: Path,
    plusargs: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run cocotb tests in a process of their own.

    Args:
        model: Shared object of the simulation, linked with `cpp/bench_main.cpp`.
        top: Name of the top module.
        module: Python module that holds the tests; it is found along `sys.path`.
        results: JUnit file that cocotb writes; its folder is the working directory.
        log: File that receives what the simulation says.
        plusargs: Arguments of the simulator.
        environment: Further environment variables; cocotb's own settings go here.

    Returns:
        The process's exit status, negative where a signal ended it.
    """
    from cocotb_tools import config

    settings = {
        **os.environ,
        **SETTINGS,
        "COCOTB_RESULTS_FILE": str(results.resolve()),
        "COCOTB_TEST_MODULES": module,
        "COCOTB_TOPLEVEL": top,
        "GPI_USERS": config.pygpi_entry_point(),
        "PYTHONPATH": os.pathsep.join(sys.path),
        **(environment or {}),
    }
    told = _Run(
        str(model.resolve()), [*plusargs], settings, [*sys.path], str(results.resolve().parent), str(log.resolve())
    )
    with _one_at_a_time:
        status, processor_s = _ask(told)
        _spent.append(processor_s)
    return status


_spent: list[float] = []


def spent_s() -> float:
    """Seconds of processor that simulations took so far, in processes that are no children of this one."""
    return sum(_spent)


def _ask(told: _Run) -> tuple[int, float]:
    server = _server(os.getpid())
    assert server.stdin is not None
    assert server.stdout is not None
    answer = ""
    try:
        with contextlib.suppress(BrokenPipeError):
            server.stdin.write(json.dumps(asdict(told)) + "\n")
            server.stdin.flush()
            answer = server.stdout.readline()
    finally:
        if not answer:
            # It has ended, or whoever waited was stopped: the next one gets a new one.
            _server.cache_clear()
            _end(server)
    if not answer:
        raise BenchProcessEnded("the process that starts simulations has ended; the next simulation gets a new one")
    status, processor_s = answer.split()
    return int(status), float(processor_s)


@functools.lru_cache(maxsize=1)
def _server(_caller: int) -> subprocess.Popen[str]:
    """The process that forks; a caller that was forked itself has its own."""
    environment = {**os.environ, **SETTINGS, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "eddy_sim.design.bench_process"]
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    # What it would still have been told is lost with it; its simulation ends as well.
    with contextlib.suppress(BrokenPipeError), process:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def main() -> None:
    """Fork a simulation for each line of the input, and say how it ended."""
    for name in IMPORTED:
        importlib.import_module(name)
    # What cocotb asks of pytest: its own plugins are imported now.
    importlib.import_module("pytest").Config.fromdictargs({}, ["--capture=no"])
    gc.freeze()  # what is there when a simulation is forked is not searched for garbage in it
    spent = 0.0
    for line in sys.stdin:
        told = _Run(**json.loads(line))
        child = os.fork()
        if not child:
            with contextlib.suppress(KeyboardInterrupt):
                told.start()
            os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        before, spent = spent, sum(os.times()[:4])
        print(status, spent - before, flush=True)


if __name__ == "__main__":
    main()
