# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs that are run, and what they said when they fail."""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path


class Failed(Exception):
    """A step failed; what was said is in the message."""


def run(command: Sequence[object], folder: Path | None = None, **variables: str) -> str:
    """Run a program without this one's settings; what it prints on standard output.

    Raises:
        Failed: It did not end with 0; the message has all it printed.
    """
    told = [str(each) for each in command]
    done = subprocess.run(told, cwd=folder, env={**_clean(), **variables}, capture_output=True)
    if done.returncode:
        raise Failed(f"$ {' '.join(told)}\n{(done.stdout + done.stderr).decode(errors='replace')}")
    return done.stdout.decode(errors="replace")


def follow(command: Sequence[object], folder: Path | None = None, **variables: str) -> Iterator[str]:
    """Run a program without this one's settings; the lines it prints, as they come.

    Raises:
        Failed: It did not end with 0; the message has its last lines.
    """
    told = [str(each) for each in command]
    kept: deque[str] = deque(maxlen=60)
    with subprocess.Popen(
        told, cwd=folder, env={**_clean(), **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as done:
        assert done.stdout is not None
        for line in done.stdout:
            kept.append(line.decode(errors="replace"))
            yield kept[-1].rstrip("\n")
    if done.returncode:
        raise Failed(f"$ {' '.join(told)}\n{''.join(kept)}")


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("EDDY_", "PYTHONPATH"))}
