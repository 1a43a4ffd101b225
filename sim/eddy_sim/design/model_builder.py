# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds of modules' models beside a running board: one at a time, each in a process of its own.

A model is built when it is first needed, which takes tens of seconds. In the board's own thread that would stop every
slot; so whoever schedules asks `ModelBuilder.prepare` first, goes on with everything else, and asks again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from eddy.board.port.port import READY, Preparation
from eddy.core.errors import EddyError

from eddy_sim.design import build
from eddy_sim.tools import toolchain
from eddy_sim.tools.products import Progress, ignore_progress

SAY_AGAIN_S = 15.0
"""Wall seconds between two lines about a build that goes on."""
FORGET_S = 30.0
"""Wall seconds after which a build that failed is tried again when somebody asks."""
END_S = 5.0
"""Wall seconds a build may take to end once its model is there."""
GRACE_S = 1.0
"""Wall seconds a build that is given up has to end by itself."""
TAIL_LINES, TAIL_LETTERS = 12, 2000
"""What is kept of what a build said: its end, which begins with the errors of a compiler that refused."""


def command_of(module: str, memory_bits: int = 64) -> Sequence[str]:
    """What builds a module's model for a port to memory of so many bits."""
    return [sys.executable, "-m", "eddy_sim.design.model_builder", module, str(memory_bits)]


@dataclass(slots=True)
class _Build:
    """A build that is under way."""

    module: str
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    began_s: float
    said_s: float


class ModelBuilder:
    """Builds models beside whatever else goes on.

    Args:
        progress: Told what begins, goes on and ends.
        built: Whether a module's model is there.
        command: What builds it; ends when its standard input does.
        now_s: Wall clock.
    """

    def __init__(
        self,
        progress: Progress = ignore_progress,
        built: Callable[[str], bool] = build.module_is_built,
        command: Callable[[str], Sequence[str]] = command_of,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._progress, self._built, self._command, self._now_s = progress, built, command, now_s
        self._waiting: deque[str] = deque()
        self._current: _Build | None = None
        self._failed: dict[str, tuple[float, str]] = {}

    def prepare(self, module: str) -> Preparation:
        """Begin to build a module's model where it is missing, or as soon as its turn comes; say how that stands."""
        try:
            if self._built(module):
                self._finish(module)
                return READY
        except (EddyError, OSError) as error:  # no such module, its manifest is wrong, or a source is gone
            return Preparation(False, "", error.message if isinstance(error, EddyError) else str(error))
        self._look()
        if module in self._failed:
            failed_s, why = self._failed[module]
            if self._now_s() - failed_s < FORGET_S:
                return Preparation(False, "", why)
            del self._failed[module]
        if module not in self._waiting and (self._current is None or self._current.module != module):
            self._waiting.append(module)
            self._look()
        return Preparation(self._built(module), self._doing(module))

    def close(self) -> None:
        """End the build that is under way."""
        current, self._current = self._current, None
        self._waiting.clear()
        if current is not None:
            _kill(current.process)
            current.errors.close()

    def _doing(self, module: str) -> str:
        current = self._current
        if current is not None and current.module == module:
            return f"building the simulation model of {module}, {self._now_s() - current.began_s:.0f} s so far"
        return f"building the simulation model of {module} as soon as that of {current.module} is" if current else ""

    def _finish(self, module: str) -> None:
        """Where a module's build has just left its model, let its process end, and the next begin."""
        current = self._current
        if current is not None and current.module == module:
            with contextlib.suppress(subprocess.TimeoutExpired):
                current.process.wait(END_S)
            self._look()

    def _look(self) -> None:
        """Deal with the end of the build that is under way, and begin the next."""
        current = self._current
        if current is not None and current.process.poll() is not None:
            self._current = None
            self._ended(current)
        elif current is not None and self._now_s() - current.said_s >= SAY_AGAIN_S:
            current.said_s = self._now_s()
            self._progress(self._doing(current.module))
        while self._current is None and self._waiting:
            self._begin(self._waiting.popleft())

    def _begin(self, module: str) -> None:
        self._progress(f"building the simulation model of {module}; its jobs wait, everything else goes on")
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the build has ended
        process = subprocess.Popen(
            self._command(module), stdin=subprocess.PIPE, stdout=errors, stderr=errors, start_new_session=True
        )
        self._current = _Build(module, process, errors, self._now_s(), self._now_s())

    def _ended(self, done: _Build) -> None:
        took_s = self._now_s() - done.began_s
        done.errors.seek(0)
        said = done.errors.read().decode(errors="replace")
        done.errors.close()
        if done.process.stdin is not None:
            done.process.stdin.close()
        with contextlib.suppress(EddyError, OSError):  # its sources may be gone meanwhile
            if done.process.returncode == 0 and self._built(done.module):
                self._progress(f"built the simulation model of {done.module} in {took_s:.0f} s")
                return
        tail = "\n".join(said.strip().splitlines()[-TAIL_LINES:])[-TAIL_LETTERS:]
        why = f"the simulation model of {done.module} cannot be built: {tail or 'its compiler was ended'}"
        self._failed[done.module] = (self._now_s(), why)
        self._progress(f"the simulation model of {done.module} cannot be built; its jobs fail")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a build with the compilers it has started."""
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)  # it ends its compilers, which are in sessions of their own, and itself
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end_with_parent() -> None:
    """End, with all compilers, as soon as whoever started this build has ended: then nobody holds the other end."""
    while os.read(0, 1):  # not through sys.stdin, whose lock the interpreter wants when it ends
        pass
    toolchain.end_all()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main(module: str, memory_bits: int = 64) -> int:
    """Build one module's model for a port to memory of so many bits; the compiler's message goes to standard error."""
    if os.getpgrp() == os.getpid():
        threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(5)  # those who are served come first
    try:
        build.build_module(module, memory_bits=memory_bits)
    except EddyError as error:
        print("\n".join(error.message.splitlines()[:TAIL_LINES]), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
