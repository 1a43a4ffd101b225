# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether a module's model begins: `python -m eddy_sim.design.model_trial FILE`, in a process of its own.

What a model does in its initial blocks may take for ever, or end the process.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

from eddy_sim.tools.toolchain import BuildFailed

BOUND_S = 60.0
"""Wall seconds a model may take to begin."""


def check_instantiates(program: Path, what: str) -> None:
    """Make an instance of a module, and drop it.

    Args:
        program: Its shared object.
        what: What it is called in the message.

    Raises:
        BuildFailed: It does not begin; the message says why.
    """
    command = [sys.executable, "-m", "eddy_sim.design.model_trial", str(program)]
    try:
        tried = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False)
    except subprocess.TimeoutExpired:
        raise BuildFailed(f"{what} does not begin: its initial blocks do not end within {BOUND_S:g} s") from None
    if tried.returncode:
        said = tried.stdout.strip() or f"its process ended with status {tried.returncode}\n{tried.stderr}".strip()
        raise BuildFailed(f"{what} does not begin: {said}", exit=tried.returncode)


def main(program: str) -> int:
    """Try a module; why it does not begin goes to standard output."""
    library = ctypes.CDLL(program)
    library.eddy_module_tried.restype = ctypes.c_char_p
    why: str = library.eddy_module_tried().decode(errors="replace")
    print(why, end="")
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
