# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a process holds of this machine's memory, and has taken of its processors, as Linux says."""

from __future__ import annotations

import os
from pathlib import Path


def _status(process: int, name: str) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"/proc/{process}/status has no {name}")


def spent_s(process: int) -> float:
    """Processor seconds it has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def held_bytes(process: int) -> int:
    """What it holds now."""
    return _status(process, "VmRSS")


def forget_most(process: int) -> None:
    """From now on, `most_bytes` is of what comes."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def most_bytes(process: int) -> int:
    """The most it held since `forget_most`."""
    return _status(process, "VmHWM")
