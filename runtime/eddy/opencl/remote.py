# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions of a server, as the platform needs them."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from eddy.client import Client
from eddy.client.answers import ProgramKernel
from eddy.client.calls import sessions as client_sessions
from eddy.client.calls.command_exchange import OVER
from eddy.core.errors import EddyError, InvalidRequest, QuotaExceeded
from eddy.core.sessions import MAX_IDLE_S
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.signature import Argument, Kernel
from eddy.host import distribution
from eddy.opencl.session_port import BufferPart, Device, ImageView, LocalBytes

MOST_MEMORY_BYTES, LEAST_MEMORY_BYTES = 1 << 30, 1 << 20
"""What a session can be opened with."""
SHARE = 4
"""A context takes this part of what a tenant may hold on the board, so that several fit."""
OVERHEAD_BYTES = 512 << 10
"""Of a session's memory: its program, and the stacks and logs of launches."""
LEASE_S = 60.0
"""Wall seconds after which the sessions of a helper that was killed, or cannot be reached, are closed. A helper that is
there renews them, so that a host may rest for a day."""
CLOCK_HZ = 100_000_000
"""Of clusters where the server does not say, which is everywhere yet."""


class RemoteEvent:
    """A command of a server's session."""

    def __init__(self, event: client_sessions.SessionEvent) -> None:
        self.event = event

    @property
    def error(self) -> tuple[str, str] | None:
        """Code and message of what failed."""
        return self.event.error

    @property
    def profile(self) -> tuple[int, int, int, int]:
        """Nanoseconds of board time: queued, submitted, started, ended."""
        return self.event.profile

    @property
    def log(self) -> str:
        """What a kernel printed."""
        return self.event.log

    def wait(self, timeout_s: float | None = None) -> None:
        """Return once it has ended, well or not.

        Raises:
            EddyError: The server does not answer.
            TimeoutError: It has not ended in so many wall seconds.
        """
        try:
            self.event.wait(timeout_s)
        except EddyError:
            if self.event.error is None:
                raise

    def result(self) -> bytes:
        """What was read."""
        return self.event.result()


class RemoteProgram:
    """A program of a server's session."""

    def __init__(self, program: client_sessions.SessionProgram) -> None:
        self._program = program
        self.build_log, self.local_bytes = program.build_log, program.local_bytes
        self.kernels = {name: _kernel(each, self.local_bytes) for name, each in program.kernels.items()}

    def kernel(self, name: str) -> client_sessions.SessionKernel:
        """A kernel of it."""
        return self._program.kernel(name)


def _kernel(told: ProgramKernel, local_bytes: int) -> Kernel:
    arguments = tuple(
        Argument(each["name"], each["type"], each["space"], "", 1, each["bytes"], each["const"])  # type: ignore[arg-type]
        for each in told["arguments"]
    )
    stack = told["stack_bytes"]
    return Kernel(
        told["name"], arguments, tuple(told["group_size"]), local_variables=local_bytes > 0, frame_bytes=stack
    )


class RemoteSession:
    """A session of a server's."""

    def __init__(self, session: client_sessions.Session) -> None:
        self._session = session

    def buffer(self, size_bytes: int, at: int | None = None) -> client_sessions.SessionBuffer:
        """A new buffer, at an offset of the session's memory where one is named.

        Raises:
            EddyError: There is no room for it.
        """
        made = self._session.buffer(size_bytes, at)
        made.created.wait()
        return made

    def write(self, buffer: Any, data: Any, offset: int = 0, after: Sequence[RemoteEvent] = ()) -> RemoteEvent:
        """Bytes to a buffer."""
        return RemoteEvent(self._session.write(buffer, data, offset, _events(after)))

    def read(
        self, buffer: Any, offset: int = 0, size_bytes: int | None = None, after: Sequence[RemoteEvent] = ()
    ) -> RemoteEvent:
        """Bytes of a buffer."""
        return RemoteEvent(self._session.read(buffer, offset, size_bytes, _events(after)))

    def copy(
        self,
        source: Any,
        target: Any,
        source_offset: int = 0,
        target_offset: int = 0,
        size_bytes: int | None = None,
        after: Sequence[RemoteEvent] = (),
    ) -> RemoteEvent:
        """Bytes from buffer to buffer."""
        waits = _events(after)
        return RemoteEvent(self._session.copy(source, target, source_offset, target_offset, size_bytes, waits))

    def fill(
        self,
        buffer: Any,
        pattern: bytes,
        offset: int = 0,
        size_bytes: int | None = None,
        after: Sequence[RemoteEvent] = (),
    ) -> RemoteEvent:
        """A pattern over and over."""
        return RemoteEvent(self._session.fill(buffer, pattern, offset, size_bytes, _events(after)))

    def write_box(
        self,
        buffer: Any,
        data: Any,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Sequence[RemoteEvent] = (),
    ) -> RemoteEvent:
        """Bytes to rows and layers of a buffer."""
        return RemoteEvent(self._session.write_box(buffer, data, shape, pitch, offset, _events(after)))

    def read_box(
        self,
        buffer: Any,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Sequence[RemoteEvent] = (),
    ) -> RemoteEvent:
        """Bytes of rows and layers, end to end."""
        return RemoteEvent(self._session.read_box(buffer, shape, pitch, offset, _events(after)))

    def copy_box(
        self,
        source: Any,
        target: Any,
        shape: Sequence[int],
        source_pitch: Sequence[int],
        target_pitch: Sequence[int],
        source_offset: int = 0,
        target_offset: int = 0,
        after: Sequence[RemoteEvent] = (),
    ) -> RemoteEvent:
        """Rows and layers of one buffer to those of another."""
        offsets = source_offset, target_offset, _events(after)
        return RemoteEvent(self._session.copy_box(source, target, shape, source_pitch, target_pitch, *offsets))

    def fill_box(
        self,
        buffer: Any,
        pattern: bytes,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Sequence[RemoteEvent] = (),
    ) -> RemoteEvent:
        """A pattern over and over in rows and layers."""
        return RemoteEvent(self._session.fill_box(buffer, pattern, shape, pitch, offset, _events(after)))

    def program(self, source: str, options: str = "", headers: Mapping[str, str] | None = None) -> RemoteProgram:
        """A program, compiled.

        Raises:
            CompilationFailed: The source was refused; the message is the compiler's.
        """
        return RemoteProgram(self._session.program(source, options, headers))

    def launch(
        self,
        kernel: client_sessions.SessionKernel,
        global_size: Sequence[int],
        arguments: Sequence[object],
        local_size: Sequence[int] | None = None,
        global_offset: Sequence[int] | None = None,
        after: Sequence[RemoteEvent] = (),
    ) -> RemoteEvent:
        """A kernel over an ND-range."""
        values = [_value(each) for each in arguments]
        waits = _events(after)
        return RemoteEvent(self._session.launch(kernel, global_size, values, local_size, global_offset, waits))

    def start(self, memory: Any, entry: int, argument: int, module: str, cores: int) -> RemoteEvent:
        """An image in a buffer on so many cores."""
        return RemoteEvent(self._session.start(memory.at(entry), memory.at(argument), module, cores))

    def flush(self) -> None:
        """Send what waits to be sent."""
        self._session.flush()

    def close(self) -> None:
        """End it and its buffers."""
        self._session.close()


def _events(after: Sequence[RemoteEvent]) -> list[client_sessions.SessionEvent]:
    return [each.event for each in after]


def _value(given: object) -> object:
    """An argument as the client's sessions take it."""
    if isinstance(given, ImageView):
        return client_sessions.BufferImage(given.buffer, given.shape, given.order, given.kind, given.offset)
    if isinstance(given, BufferPart):
        return client_sessions.BufferView(given.buffer, given.offset)
    return client_sessions.Local(given.bytes) if isinstance(given, LocalBytes) else given


class RemoteSessions:
    """Sessions of a server's.

    Args:
        client: Of a tenant.
        memory_bytes: Board memory of each; 0 for a share of what there is.
    """

    def __init__(self, client: Client, memory_bytes: int = 0) -> None:
        self._client, self._memory_bytes = client, memory_bytes
        self._opened: list[client_sessions.Session] = []
        self._renewer: threading.Thread | None = None

    def device(self) -> Device:
        """What there is to compute with.

        Raises:
            EddyError: The server does not answer, or has no clusters.
        """
        with self._probe() as session:
            kinds = session.show()["clusters"]
            self._memory_bytes = self._memory_bytes or max(LEAST_MEMORY_BYTES, session.memory_bytes // SHARE)
        best = max(kinds, key=lambda each: each["slots"] * each["cores"])
        cores, warps, threads = best["cores"], best["warps"], best["threads"]
        shape = ClusterShape(cores, warps, threads, best["fpu"], best["local_bytes"])
        room, version = self._memory_bytes - OVERHEAD_BYTES, distribution.version()
        known = f"Eddy {shape.name}", shape, best["slots"], room, room // 2, CLOCK_HZ, version
        return Device(*known, module=best["module"], session_bytes=self._memory_bytes)

    def _probe(self) -> client_sessions.Session:
        """A session of little memory, or, where a context's is not stated, of as much as the server gives when it is
        asked for too much."""
        asked = LEAST_MEMORY_BYTES if self._memory_bytes else MOST_MEMORY_BYTES
        while True:
            try:
                return self._client.open_session(memory_bytes=asked)
            except (InvalidRequest, QuotaExceeded) as error:
                allowed, taken = error.details.get("allowed"), error.details.get("asked")
                if not isinstance(allowed, int) or not isinstance(taken, int) or asked <= LEAST_MEMORY_BYTES:
                    raise
                asked = max(LEAST_MEMORY_BYTES, min(allowed - (taken - asked), asked - 1))

    def open(self) -> RemoteSession:
        """A session of its own for a context.

        Raises:
            QuotaExceeded: The tenant has as many as it may.
        """
        opened = self._client.open_session(
            memory_bytes=self._memory_bytes, out_of_order=True, lease_s=LEASE_S, idle_timeout_s=MAX_IDLE_S
        )
        self._opened.append(opened)
        if self._renewer is None:
            self._renewer = threading.Thread(target=self._renew, daemon=True)
            self._renewer.start()
        return RemoteSession(opened)

    def _renew(self) -> None:
        """Keep sessions as long as this process is there."""
        while True:
            time.sleep(LEASE_S / 4)
            self._opened = [each for each in self._opened if each.state not in OVER]
            for session in self._opened:
                with suppress(EddyError):  # commands are told
                    session.renew()

    def close(self) -> None:
        """Close the client's connections."""
        with suppress(EddyError):
            self._client.close()
