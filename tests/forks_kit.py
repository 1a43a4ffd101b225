# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs as forks of a process that has imported what they import: their beginning, most of it imports, comes once.

What counts in a test is what a program does and how it is killed, not its interpreter's start; where that counts, it is
started as people start it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

COMMAND_S = 180.0
"""Most wall seconds a command may take."""


class Fork:
    """A running fork; signals and ends are those of `subprocess.Popen`."""

    def __init__(self, forks: Forks, pid: int) -> None:
        self._forks, self.pid = forks, pid
        self._handle = os.pidfd_open(pid)
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        """Send a signal, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """How it ended, if it has."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """How it ended, once it has."""
        if self.returncode is None:
            if not select.select([self._handle], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired([str(self.pid)], timeout or 0.0)
            self.returncode = self._forks.ask({"ended": self.pid})
            os.close(self._handle)
        return self.returncode


class Forks:
    """The process that forks.

    Args:
        imported: Modules that it imports first.
    """

    def __init__(self, *imported: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, *imported], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()
        atexit.register(self._process.communicate)

    def start(self, command: Sequence[str], log: Path, errors: Path | None = None) -> Fork:
        """Run a script or a module with arguments; its streams are added to `log`, or the second to `errors`."""
        told = {"command": list(command), "logs": [str(log), str(errors or log)]}
        return Fork(self, self.ask({**told, "folder": os.getcwd(), "environment": dict(os.environ)}))

    def eddy(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What a command line of `eddy` leaves."""
        with tempfile.TemporaryDirectory() as folder:
            out, errors = Path(folder) / "out", Path(folder) / "errors"
            code = self.start(["eddy", *arguments], out, errors).wait(COMMAND_S)
            return subprocess.CompletedProcess(["eddy", *arguments], code, out.read_text(), errors.read_text())

    def ask(self, what: dict[str, Any]) -> int:
        """Ask the process that forks."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            print(json.dumps(what), file=self._process.stdin, flush=True)
            return int(self._process.stdout.readline())


@functools.cache
def forks() -> Forks:
    """Forks of what commands, servers and boards of a pool import."""
    return Forks(
        "eddy.cli.main",
        "eddy.client",
        "eddy.cli.demo.demo_pool_board",
        "eddy.api.service.server",
        "eddy.pool.agent.agent",
    )


def _become(command: Sequence[str], logs: Sequence[str], folder: str, environment: dict[str, str]) -> NoReturn:
    written = [os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) for log in logs]
    for new, old in enumerate((os.open(os.devnull, os.O_RDONLY), *written)):
        os.dup2(old, new)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the one before has read ahead
    sys.argv = list(command)
    if command[0].endswith(".py"):
        sys.path[0] = str(Path(command[0]).parent)
        runpy.run_path(command[0], run_name="__main__")
    else:
        sys.path[0] = folder
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    sys.exit()


def main() -> None:
    """Fork at each line of the input; whatever still runs when it ends is killed."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    gc.freeze()  # what is there when a fork begins is not searched for garbage when it ends
    running = set[int]()
    for line in sys.stdin:
        asked = json.loads(line)
        if "ended" in asked:
            running.discard(asked["ended"])
            print(os.waitstatus_to_exitcode(os.waitpid(asked["ended"], 0)[1]), flush=True)
            continue
        child = os.fork()
        if not child:
            _become(**asked)
        running.add(child)
        print(child, flush=True)
    for child in running:
        os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
