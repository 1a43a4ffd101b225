# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A faked board to run programs on: `FakeBoard` starts the machine, and lets processes into its namespace."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from eddy.core.errors import BoardFault

from eddy_sim.tools.cxx import compile_shared, key
from eddy_sim.tools.products import product

_SOURCE = Path(__file__).resolve().parents[1] / "cpp" / "mem_trap.cpp"
_INSIDE = Path(__file__).resolve().parent / "inside"
_START_BOUND_S = 300.0
_NAMESPACES = ("--user", "--map-root-user", "--mount")


def unavailable() -> str:
    """Why a faked kernel cannot run here; "" where it can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "a faked kernel catches loads and stores with the trap flag of x86-64 Linux"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "a faked kernel needs /dev/fuse, and this user may not open it"
    if not shutil.which("unshare") or not shutil.which("nsenter"):
        return "a faked kernel needs unshare and nsenter (Debian package util-linux)"
    tried = subprocess.run(["unshare", *_NAMESPACES, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
    return "" if tried.returncode == 0 else f"no user and mount namespace here: {tried.stderr.decode().strip()}"


def _trap_library() -> Path:
    def make(work: Path) -> None:
        compile_shared([_SOURCE], work / "out")

    return product(f"mem_trap-{key(_SOURCE.read_text(encoding='utf-8'))}.so", make)


class FakeBoard:
    """A board of its own: a faked kernel with a simulated shell, until `close`.

    Args:
        root: An empty folder for it.
        profile: Name of the board profile.
        name: What its device tree calls the board.

    Raises:
        BoardFault: The machine did not start; says what it said.
    """

    def __init__(self, root: Path, profile: str = "tiny", name: str = "Eddy") -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        shutil.copy(_trap_library(), root / "mem_trap.so")
        command = ["unshare", *_NAMESPACES, sys.executable, "-m", "eddy_sim.kernel.machine", str(root), profile, name]
        self._machine = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._machine.stdout is not None
        if self._machine.stdout.readline() != b"ready\n":
            self.close()
            raise BoardFault("the faked kernel did not start; its errors are above", cause="simulation")
        self._calls = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._calls.connect(str(root / "calls.sock"))

    def __enter__(self) -> FakeBoard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the machine; processes that are still on it are the caller's to end, before."""
        for stream in (self._machine.stdin, self._machine.stdout):
            if stream is not None:
                stream.close()
        self._machine.wait(_START_BOUND_S)
        if hasattr(self, "_calls"):
            self._calls.close()

    def call(self, what: str, **arguments: Any) -> Any:
        """Ask the machine for something; its calls are those of `Xrt` and `Mishaps`.

        Raises:
            BoardFault: It refused.
        """
        self._calls.send(json.dumps({"what": what, **arguments}).encode())
        answer = json.loads(self._calls.recv(1 << 20))
        if "error" in answer:
            raise BoardFault(f"the faked kernel refused {what}: {answer['error']}", cause="simulation")
        return answer["value"]

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command that runs a program on the board."""
        enter = ["nsenter", f"--target={self._machine.pid}", "--user", "--mount", "--preserve-credentials"]
        return [*enter, *arguments]

    def environment(self, xrt: bool = True) -> dict[str, str]:
        """What such a program finds in its environment; `XILINX_XRT` as the board's login shell sets it."""
        kept: Mapping[str, str] = {name: value for name, value in os.environ.items() if name != "XILINX_XRT"}
        path, python = kept.get("PATH", ""), kept.get("PYTHONPATH", "")
        return {
            **kept,
            "EDDY_FAKE_KERNEL": str(self.root),
            "PYTHONPATH": f"{_INSIDE}:{python}".rstrip(":"),
            "PATH": f"{_INSIDE}:{path}",
            **({"XILINX_XRT": "/usr"} if xrt else {}),
        }

    def run(
        self, arguments: Sequence[str], timeout_s: float = 600.0, xrt: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on the board to its end."""
        return subprocess.run(
            self.command(arguments),
            env=self.environment(xrt),
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
