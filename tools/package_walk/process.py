# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs that are run, and what they said when they fail."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path


class Failed(Exception):
    """A step failed; what was said is in the message."""


def run(command: Sequence[object], folder: Path | None = None, **variables: str) -> str:
    """Run a program without this one's settings; what it prints on standard output.

    Raises:
        Failed: It did not end with 0; the message has all it printed.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("EDDY_", "PYTHONPATH"))}
    told = [str(each) for each in command]
    done = subprocess.run(told, cwd=folder, env={**clean, **variables}, capture_output=True)
    if done.returncode:
        raise Failed(f"$ {' '.join(told)}\n{(done.stdout + done.stderr).decode(errors='replace')}")
    return done.stdout.decode(errors="replace")
