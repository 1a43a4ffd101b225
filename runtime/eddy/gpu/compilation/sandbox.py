# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs a program that reads a tenant's text: no files, no network, no other process, bounded time, memory and output.

The work is done by `confine.py`, in processes of its own; here they are fed, watched and ended. What runs in one
`shared_process` has one of them that starts the programs, each confined by itself.
"""

from __future__ import annotations

import array
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from eddy.core.errors import EddyError
from eddy.gpu.compilation import confine
from eddy.gpu.compilation.abandon import check

LOG = logging.getLogger(__name__)
CHUNK = 65536
_ENDED = "The process that confines the kernel compiler has ended; compile again."
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
    with shared_process() as process:
        ended = process.run(argv, stdin, folder, limits)
    if ended.exit == confine.REFUSED:
        why = ended.message.decode(errors="replace").strip().removeprefix("confine: ")
        raise SandboxUnavailable(
            f"The kernel compiler cannot be confined here, so kernels are not compiled: {why}. "
            "It needs Linux with seccomp filters (CONFIG_SECCOMP_FILTER)."
        )
    if folder and "landlock" not in ended.protections:
        _warn_once()
    return ended


class StarterProcess:
    """A process that starts confined programs, one after the other; begun with the first."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def run(self, argv: Sequence[str], stdin: bytes, folder: Path | None, limits: Limits) -> ProcessEnd:
        """See the function `run`."""
        bounds = (getattr(limits, name) for name in confine.LIMITS)
        words = ("folder" if folder else "none", folder or "", *bounds, *argv)
        with ExitStack() as opened:

            def pipe() -> tuple[IO[bytes], IO[bytes]]:
                reading, writing = os.pipe()
                ends = os.fdopen(reading, "rb", buffering=0), os.fdopen(writing, "wb", buffering=0)
                for end in ends:
                    opened.enter_context(end)
                return ends

            (theirs, feed), (out, their_out), (err, their_err), (report, their_report) = (pipe() for _ in range(4))
            answers = self._ask("\0".join(map(str, words)), (theirs, their_out, their_err, their_report))
            for end in (theirs, their_out, their_err, their_report):
                end.close()
            try:
                status, output, message, exceeded = _converse(answers, (feed, out, err), stdin, limits)
            except BaseException:
                self.end()
                raise
            if status is None:
                self.end()
            protections = tuple(report.read(256).decode().split())
        code = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
        return ProcessEnd(code, output, message, exceeded, protections)

    def _ask(self, words: str, along: Sequence[IO[bytes]]) -> socket.socket:
        if self._socket is None:
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", confine.__file__, str(theirs.fileno()), str(os.getpid())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    cwd="/",
                    env={},
                    start_new_session=True,
                )
        descriptors = array.array("i", [end.fileno() for end in along])
        try:
            self._socket.sendmsg([words.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        except OSError as error:
            raise SandboxUnavailable(_ENDED) from error
        return self._socket

    def end(self) -> None:
        """Whatever it is doing, it ends now, and what it started with it."""
        if self._socket is None or self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._socket.close()
        self._socket = self._process = None


_SHARED: ContextVar[StarterProcess | None] = ContextVar("eddy_starter_process", default=None)


@contextmanager
def shared_process() -> Iterator[StarterProcess]:
    """What is run in this block is started by one process: that of the block around it, where there is one."""
    shared = _SHARED.get()
    if shared is not None:
        yield shared
        return
    shared = StarterProcess()
    token = _SHARED.set(shared)
    try:
        yield shared
    finally:
        _SHARED.reset(token)
        shared.end()


def _converse(
    answers: socket.socket, ends: tuple[IO[bytes], IO[bytes], IO[bytes]], stdin: bytes, limits: Limits
) -> tuple[int | None, bytes, bytes, str]:
    """Feed and listen until the process has ended, with its status, or until a bound is reached, with none."""
    feed, output, messages = ends
    until = time.monotonic() + limits.wall_s
    out, err, left = bytearray(), bytearray(), memoryview(stdin)
    os.set_blocking(feed.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(feed, selectors.EVENT_WRITE)
        selector.register(output, selectors.EVENT_READ, out)
        selector.register(messages, selectors.EVENT_READ, err)
        selector.register(answers, selectors.EVENT_READ)
        status: int | None = None
        while selector.get_map():
            if time.monotonic() >= until:
                return None, bytes(out), bytes(err), "time"
            check()
            for key, _ in selector.select(_turn_s(until)):
                if key.fileobj is feed:
                    left = _feed(feed, left, selector)
                elif key.fileobj is answers:
                    status = _status(answers)
                    selector.unregister(answers)
                elif part := os.read(key.fd, CHUNK):
                    if key.data is err:
                        err += part[: max(0, limits.message_bytes - len(err))]
                        continue
                    out += part
                    if len(out) > limits.output_bytes:
                        return None, b"", bytes(err), "output"
                else:
                    selector.unregister(key.fileobj)
    assert status is not None
    stopped = os.waitstatus_to_exitcode(status) in (-signal.SIGXCPU, -signal.SIGKILL)
    return status, bytes(out), bytes(err), "time" if stopped else ""


def _status(answers: socket.socket) -> int:
    """How the program ended."""
    answer = answers.recv(4)
    if not answer:
        raise SandboxUnavailable(_ENDED)
    return int.from_bytes(answer, "little")


def _turn_s(ends: float) -> float:
    """Seconds to wait before looking around again."""
    return max(0.0, min(HEED_S, ends - time.monotonic()))


def _feed(feed: IO[bytes], left: memoryview, selector: selectors.BaseSelector) -> memoryview:
    try:
        left = left[os.write(feed.fileno(), left[:CHUNK]) :] if left else left
    except BrokenPipeError:
        left = left[:0]
    if not left:
        selector.unregister(feed)
        feed.close()
    return left


_warned = False


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        LOG.warning(
            "this system has no Landlock: a source that took over the linker of kernels could read, write, rename and "
            "delete every file that its user may, which is that of the server, or nobody where the server is root; "
            "start a Linux that has it (CONFIG_SECURITY_LANDLOCK, and landlock among lsm=)"
        )
