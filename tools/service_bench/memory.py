"""What a process holds of this machine's memory, as Linux says."""

from __future__ import annotations

from pathlib import Path


def _status(process: int, name: str) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"/proc/{process}/status has no {name}")


def held_bytes(process: int) -> int:
    """What it holds now."""
    return _status(process, "VmRSS")


def forget_most(process: int) -> None:
    """From now on, `most_bytes` is of what comes."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def most_bytes(process: int) -> int:
    """The most it held since `forget_most`."""
    return _status(process, "VmHWM")
