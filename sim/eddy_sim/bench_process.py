"""A process that runs one cocotb simulation: `python -m eddy_sim.bench_process MODEL [ARGUMENT ...]`.

cocotb would start an interpreter inside the simulator, for which it needs Python's shared library; many systems (Debian
among them) ship Python without one. Here the simulation is loaded into Python instead. cocotb finds an interpreter
that runs already, sets its path and arguments, and goes on as it would have.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn


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
        "COCOTB_ANSI_OUTPUT": "0",
        "COCOTB_RESULTS_FILE": str(results.resolve()),
        "COCOTB_TEST_MODULES": module,
        "COCOTB_TOPLEVEL": top,
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        "GPI_USERS": config.pygpi_entry_point(),
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TOPLEVEL_LANG": "verilog",
        **(environment or {}),
    }
    command = [sys.executable, "-m", "eddy_sim.bench_process", str(model.resolve()), *plusargs]
    with log.open("w", encoding="utf-8") as output:
        return subprocess.run(
            command, cwd=results.parent, env=settings, stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode


def main(arguments: Sequence[str]) -> NoReturn:
    """Load the simulation and give it the process; `arguments` are the model and the simulator's."""
    # `PyDLL` keeps the interpreter's lock, which cocotb takes for its own.
    model = ctypes.PyDLL(arguments[0])
    texts = [os.fsencode(argument) for argument in arguments]
    model.eddy_bench_main(len(texts), (ctypes.c_char_p * (len(texts) + 1))(*texts))
    raise SystemExit("the simulation came back")  # It ends the process itself.


if __name__ == "__main__":
    main(sys.argv[1:])
