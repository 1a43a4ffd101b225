# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Yosys, from its own wheel (`pyosys`): the program as compiled for the machine, with its reader of SystemVerilog.

The wheel is a library for Python that ends the process at an error, so each script runs in a process of its own. As a
program, `python -m eddy_sim.tools.yosys -q -l LOG SCRIPT` takes what `sby` says to Yosys.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from eddy.core.errors import EddyError

COMMAND = (sys.executable, "-m", "eddy_sim.tools.yosys")
"""What `sby` calls as Yosys."""


class YosysFailed(EddyError):
    """A command of a script failed; the message ends with what Yosys said."""

    code: ClassVar[str] = "yosys-failed"


def run_script(folder: Path, script: str) -> str:
    """Run commands of Yosys.

    Args:
        folder: Working directory, where the script's files are; takes `run.ys` and `log.txt`.
        script: Commands, a line each.

    Returns:
        What Yosys said, warnings left out.

    Raises:
        YosysFailed: A command failed; those after it were not run.
    """
    (folder / "run.ys").write_text(script, encoding="utf-8")
    command = [*COMMAND, "-q", "-l", "log.txt", "run.ys"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise YosysFailed(f"Yosys failed in {folder}:\n{done.stderr[-2000:]}", folder=str(folder))
    return (folder / "log.txt").read_text(encoding="utf-8")


def main() -> None:
    """Run a script; Yosys itself ends the process with status 1 at the first command that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-q", action="store_true", help="say nothing but errors; always so")
    parser.add_argument("-l", metavar="LOG", required=True, help="file that takes what Yosys says")
    parser.add_argument("script", help="file of commands")
    options = parser.parse_args()
    # The library says everything to the process's standard output, and errors to its standard error.
    log = os.open(options.l, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    from pyosys import libyosys

    libyosys.run_pass(f"script {options.script}")


if __name__ == "__main__":
    main()
