# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The servers that are measured: `eddy serve` of this checkout or another one, and the reference."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that runs.

    Attributes:
        port: Where, on this machine.
        process: Its number.
        key: The operator's key; "" for the reference.
    """

    port: int
    process: int
    key: str = ""

    @property
    def memory_bytes(self) -> int:
        """What it holds of this machine's memory."""
        pages = int(Path(f"/proc/{self.process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def served(
    command: list[str], environment: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """A process that prints an object once it listens, and what it printed."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    try:
        yield process, _said(process)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _said(process: subprocess.Popen[str]) -> dict[str, str]:
    """The object a server prints when it listens; it may take several lines."""
    text = ""
    assert process.stdout is not None
    for line in process.stdout:
        text += line
        if line.rstrip().endswith("}"):
            said: dict[str, str] = json.loads(text)
            return said
    raise SystemExit(f"the server ended before it listened: {process.wait()}")


def python_path(root: Path) -> str:
    """Where a process finds the packages of a checkout."""
    return os.pathsep.join(str(root / part) for part in ("runtime", "drivers", "sim"))


@contextmanager
def eddy(data: Path, root: Path = ROOT, more: Sequence[str] = ()) -> Iterator[RunningServer]:
    """`eddy serve` on the model board, as another checkout has it where `root` says so."""
    command = [sys.executable, "-m", "eddy.cli.main", "serve", "--board", "model", "--port", "0", "--json"]
    command += ["--data", str(data), "--bitstreams", str(root / "bitstreams"), *more]
    with served(command, {"PYTHONPATH": python_path(root)}) as (process, said):
        key = Path(said["operator_key_file"]).read_text(encoding="utf-8").strip()
        yield RunningServer(int(said["url"].rsplit(":", 1)[1]), process.pid, key)


@contextmanager
def bare() -> Iterator[RunningServer]:
    """An event loop that tells all; see `service_bench.bare`."""
    command = [sys.executable, "-m", "service_bench.bare"]
    with served(command, {"PYTHONPATH": str(ROOT / "tools")}) as (process, said):
        yield RunningServer(int(said["port"]), process.pid)


@contextmanager
def reference() -> Iterator[RunningServer]:
    """The reference; see `service_bench.reference`."""
    command = [sys.executable, "-m", "service_bench.reference"]
    with served(command, {"PYTHONPATH": str(ROOT / "tools")}) as (process, said):
        yield RunningServer(int(said["port"]), process.pid)
