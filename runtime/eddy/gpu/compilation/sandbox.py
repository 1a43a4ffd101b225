# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs a program that reads a tenant's text: no files, no network, no other process, bounded time, memory and output.

The work is done by `confine.py`, in a process of its own; here it is fed, watched and ended.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from eddy.core.errors import EddyError
from eddy.gpu.compilation import confine
from eddy.gpu.compilation.abandon import check

LOG = logging.getLogger(__name__)
CHUNK = 65536
HEED_S = 0.05
"""How often a run looks whether anybody still waits for it."""


class SandboxUnavailable(EddyError):
    """This system cannot confine the compiler, so nothing is compiled; the message says what is missing."""

    code: ClassVar[str] = "sandbox-unavailable"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use.

    Attributes:
        cpu_s: Processor seconds.
        wall_s: Seconds; on a machine with much else to do far more pass than a program uses.
        memory_bytes: Address space.
        output_bytes: Standard output, and any one file.
        message_bytes: Standard error kept.
    """

    cpu_s: int = 10
    wall_s: float = 300.0
    memory_bytes: int = 2 << 30
    output_bytes: int = 32 << 20
    message_bytes: int = 64 << 10


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a run ended.

    Attributes:
        exit: Exit code; negative the number of the signal that ended it.
        output: Standard output, cut at its bound.
        message: Standard error, cut at its bound.
        exceeded: "time" or "output", whose bound ended it; "" where none did.
        protections: What confined it: limits, landlock, nobody, seccomp.
    """

    exit: int
    output: bytes
    message: bytes
    exceeded: str
    protections: tuple[str, ...]


def run(
    argv: Sequence[str],
    stdin: bytes = b"",
    *,
    folder: Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> ProcessEnd:
    """Run a program without rights.

    Args:
        argv: Program (an absolute path) and arguments.
        stdin: What it reads.
        folder: The one folder it may read and write; None for no file at all.
        limits: What it may use.

    Raises:
        SandboxUnavailable: It could not be confined, and was not started.
        Abandoned: Nobody waits for it any more (`eddy.gpu.compilation.abandon`); it was ended.
    """
    check()
    reading, reporting = os.pipe()
    bounds = (getattr(limits, name) for name in confine.LIMITS)
    plan = ("folder" if folder else "none", folder or "", *bounds, reporting, os.getpid())
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(confine.__file__)), *map(str, plan), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(reporting,),
        cwd="/",
        env={},
        start_new_session=True,
    )
    os.close(reporting)
    try:
        output, message, exceeded = _converse(process, stdin, limits)
    finally:
        _end(process)
        with os.fdopen(reading, "rb") as report:
            protections = tuple(report.read(256).decode().split())
    if process.returncode == confine.REFUSED:
        why = message.decode(errors="replace").strip().removeprefix("confine: ")
        raise SandboxUnavailable(
            f"The kernel compiler cannot be confined here, so kernels are not compiled: {why}. "
            "It needs Linux with seccomp filters (CONFIG_SECCOMP_FILTER)."
        )
    if folder and "landlock" not in protections:
        _warn_once()
    return ProcessEnd(process.returncode, output, message, exceeded, protections)


def _converse(process: subprocess.Popen[bytes], stdin: bytes, limits: Limits) -> tuple[bytes, bytes, str]:
    """Feed and listen until both ends are closed or a bound is reached."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    ends = time.monotonic() + limits.wall_s
    out, err, left = bytearray(), bytearray(), memoryview(stdin)
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ, out)
        selector.register(process.stderr, selectors.EVENT_READ, err)
        while selector.get_map():
            if time.monotonic() >= ends:
                return bytes(out), bytes(err), "time"
            check()
            for key, _ in selector.select(_turn_s(ends)):
                if key.fileobj is process.stdin:
                    left = _feed(process, left, selector)
                    continue
                part = os.read(key.fd, CHUNK)
                if not part:
                    selector.unregister(key.fileobj)
                elif key.data is err:
                    err += part[: max(0, limits.message_bytes - len(err))]
                else:
                    out += part
                    if len(out) > limits.output_bytes:
                        return b"", bytes(err), "output"
    while process.poll() is None:
        check()
        if time.monotonic() >= ends:
            return bytes(out), bytes(err), "time"
        with suppress(subprocess.TimeoutExpired):
            process.wait(_turn_s(ends))
    return bytes(out), bytes(err), "time" if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else ""


def _turn_s(ends: float) -> float:
    """Seconds to wait before looking around again."""
    return max(0.0, min(HEED_S, ends - time.monotonic()))


def _feed(process: subprocess.Popen[bytes], left: memoryview, selector: selectors.BaseSelector) -> memoryview:
    assert process.stdin is not None
    try:
        left = left[os.write(process.stdin.fileno(), left[:CHUNK]) :] if left else left
    except BrokenPipeError:
        left = left[:0]
    if not left:
        selector.unregister(process.stdin)
        with suppress(BrokenPipeError):
            process.stdin.close()
    return left


def _end(process: subprocess.Popen[bytes]) -> None:
    """Whatever it is doing, it ends now."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()


_warned = False


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        LOG.warning(
            "this system has no Landlock: the linker of kernels has no rights, but could read world-readable files"
        )
