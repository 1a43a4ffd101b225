# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The helper: reads what the library asks, has the session do it, and says what has ended.

One thread reads, one waits for commands in the order in which they were started, one writes. All that is sent ends by
itself, so waiting for one never keeps another from ending; and reading never waits for the library to read, which may
itself be waiting to write. The helper ends when the library's side of the socket closes.
"""

from __future__ import annotations

import logging
import mmap
import os
import queue
import select
import signal
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

from eddy.core.errors import EddyError
from eddy.opencl.context import HostContext, StartedCommand
from eddy.opencl.device import describe
from eddy.opencl.programs import Mode, build_program
from eddy.opencl.session_port import Device, SessionSource
from eddy.opencl.standard import number
from eddy.opencl.units import SourceUnit
from eddy.opencl.vortex.device import VortexDevice
from eddy.opencl.wire import ChannelFrame, Operation, Reader, receive, text

_log = logging.getLogger(__name__)
SOCKET, ARENA = 3, 4
"""Files that the library leaves open."""
_MEMORY_CODES = frozenset({"quota-exceeded", "memory-lost", "no-memory"})


class Helper:
    """One host's helper.

    Args:
        connection: To the library.
        arena: Memory shared with it.
        sessions: Opens sessions.
    """

    def __init__(self, connection: socket.socket, arena: memoryview, sessions: SessionSource) -> None:
        self._connection, self._arena, self._sessions = connection, arena, sessions
        self._contexts: dict[int, HostContext] = {}
        self._devices: dict[int, VortexDevice] = {}
        self._device: Device | None = None
        self._outgoing: queue.SimpleQueue[ChannelFrame] = queue.SimpleQueue()
        self._started: queue.SimpleQueue[tuple[HostContext, StartedCommand] | None] = queue.SimpleQueue()
        self._calls: dict[Operation, Callable[[Reader], bytes]] = {
            Operation.HELLO: self._hello,
            Operation.CONTEXT_OPEN: self._open,
            Operation.BUFFER_CREATE: self._create,
            Operation.DEVICE_OPEN: self._open_device,
        }

    def run(self) -> None:
        """Serve until the library's side closes."""
        for work in (self._report, self._write):
            threading.Thread(target=work, daemon=True).start()
        try:
            while (frame := receive(self._connection)) is not None:
                self._take(frame)
                if not select.select([self._connection], [], [], 0)[0]:
                    self._flush()
        except OSError:
            _log.info("the host's side of the socket is gone")
        self._started.put(None)
        for context in self._contexts.values():
            with suppress(Exception):
                context.session.close()
        for device in self._devices.values():
            with suppress(Exception):
                device.close()

    def _flush(self) -> None:
        """Have sessions send what gathered; what fails now fails again where its commands are waited for."""
        for context in self._contexts.values():
            try:
                context.session.flush()
            except EddyError as error:
                _log.warning("%s", error)

    def _send(self, frame: ChannelFrame) -> None:
        self._outgoing.put(frame)

    def _write(self) -> None:
        with suppress(OSError):  # the reading side notices that the other one is gone
            while True:
                self._connection.sendall(self._outgoing.get().encode())

    def _take(self, frame: ChannelFrame) -> None:
        reader = Reader(frame.body)
        if frame.operation in self._calls:
            self._answer(frame, lambda: (0, "", self._calls[frame.operation](reader)))
        elif frame.operation in range(Operation.DEVICE_WRITE, Operation.DEVICE_WAIT + 1):
            # Each waits for the board, and other threads of the host go on meanwhile.
            threading.Thread(target=self._answer, args=(frame, lambda: self._call(frame, reader)), daemon=True).start()
        elif frame.operation is Operation.PROGRAM_BUILD:
            self._answer(frame, lambda: self._build(reader))
        elif frame.operation >= Operation.WRITE:
            self._start(frame, reader)
        else:
            self._give_up(frame.operation, reader)

    def _answer(self, frame: ChannelFrame, call: Callable[[], tuple[int, str, bytes]]) -> None:
        try:
            code, message, payload = call()
        except Exception as error:  # whatever it is, the host waits for an answer
            _log.warning("%s: %s", frame.operation.name, error, exc_info=not isinstance(error, EddyError))
            code, message, payload = _code_of_call(frame.operation, error), str(error), b""
        self._send(ChannelFrame(Operation.REPLY, frame.tag, struct.pack("<i", code) + text(message) + payload))

    def _known_device(self) -> Device:
        self._device = self._device or self._sessions.device()
        return self._device

    def _hello(self, reader: Reader) -> bytes:
        return describe(self._known_device())

    def _open(self, reader: Reader) -> bytes:
        shape = self._known_device().shape  # which says how much memory a session gets, too
        self._contexts[reader.u64()] = HostContext(self._sessions.open(), shape, self._arena)
        return b""

    def _open_device(self, reader: Reader) -> bytes:
        described = self._known_device()
        session = self._sessions.open()
        made = self._devices[reader.u64()] = VortexDevice(session, described, self._arena)
        return made.description

    def _call(self, frame: ChannelFrame, reader: Reader) -> tuple[int, str, bytes]:
        return 0, "", self._devices[reader.u64()].call(frame.operation, reader)

    def _create(self, reader: Reader) -> bytes:
        self._contexts[reader.u64()].create(reader)
        return b""

    def _build(self, reader: Reader) -> tuple[int, str, bytes]:
        context, id = self._contexts[reader.u64()], reader.u64()
        mode, options = Mode(reader.u8()), reader.text()
        units = [SourceUnit.read(reader) for _ in range(reader.u32())]
        context.session.flush()
        built = build_program(context.session, context.shape, mode, options, units)
        context.programs[id] = built.program
        return built.code, built.message, built.payload()

    def _start(self, frame: ChannelFrame, reader: Reader) -> None:
        context = self._contexts[reader.u64()]
        try:
            command = context.start(frame.operation, frame.tag, reader)
        except Exception as error:
            _log.warning("%s: %s", frame.operation.name, error, exc_info=not isinstance(error, EddyError))
            self._end(frame.tag, _code_of(error), (0, 0, 0, 0), str(error))
            return
        self._started.put((context, command))

    def _give_up(self, operation: Operation, reader: Reader) -> None:
        context_id = reader.u64()
        context, device = self._contexts.get(context_id), self._devices.pop(context_id, None)
        if device is not None:
            with suppress(EddyError, OSError):
                device.close()
        if context is None:
            return
        with suppress(EddyError, OSError):
            if operation is Operation.BUFFER_FREE:
                context.free(reader.u64())
            elif operation is Operation.PROGRAM_FREE:
                context.programs.pop(reader.u64(), None)
            elif operation is Operation.CONTEXT_CLOSE:
                del self._contexts[context_id]
                context.session.close()

    def _end(self, id: int, code: int, times: tuple[int, ...], message: str) -> None:
        self._send(ChannelFrame(Operation.ENDED, id, struct.pack("<i4Q", code, *times) + text(message)))

    def _report(self) -> None:
        """Say of every command how it ended, in the order in which they were started."""
        while (next_one := self._started.get()) is not None:
            context, command = next_one
            try:
                code, message = self._land(command)
                times = _times(command.events)
            except Exception as error:
                _log.warning("command %d: %s", command.id, error, exc_info=not isinstance(error, EddyError))
                code, message, times = _code_of(error), str(error), (0, 0, 0, 0)
            context.under_way.pop(command.id, None)
            self._end(command.id, code, times, message)

    def _land(self, command: StartedCommand) -> tuple[int, str]:
        """Wait for a command; bring what it read to the arena, and what it printed to the host."""
        for event in command.events:
            event.wait()
            if event.log:
                self._send(ChannelFrame(Operation.PRINTED, command.id, event.log.encode()))
        failed = next((event.error for event in command.events if event.error), None)
        if failed:
            return _code_of_event(failed[0]), f"{failed[0]}: {failed[1]}"
        for landing in command.landing:
            data = landing.event.result()
            self._arena[landing.place : landing.place + len(data)] = data
        return 0, ""


def _times(events: object) -> tuple[int, int, int, int]:
    profiles = [event.profile for event in events]  # type: ignore[attr-defined]
    if not profiles:
        return (0, 0, 0, 0)
    queued, submitted, started, ended = zip(*profiles, strict=True)
    return (min(queued), min(submitted), min(started), max(ended))


def _code_of_event(code: str) -> int:
    return number("CL_MEM_OBJECT_ALLOCATION_FAILURE" if code in _MEMORY_CODES else "CL_OUT_OF_RESOURCES")


def _code_of(error: Exception) -> int:
    return _code_of_event(error.code if isinstance(error, EddyError) else "")


def _code_of_call(operation: Operation, error: Exception) -> int:
    """The standard's code for what failed while a host waits."""
    if operation is Operation.BUFFER_CREATE:
        return number("CL_MEM_OBJECT_ALLOCATION_FAILURE")
    if operation is Operation.PROGRAM_BUILD:
        return number("CL_OUT_OF_RESOURCES")
    return number("CL_DEVICE_NOT_FOUND" if operation is Operation.HELLO else "CL_DEVICE_NOT_AVAILABLE")


def serve(sessions: SessionSource) -> None:
    """Be the helper of the host that started this process, until it ends."""
    os.closerange(ARENA + 1, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 65536 else 65536)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = socket.socket(fileno=SOCKET)
    arena = mmap.mmap(ARENA, 0)
    Helper(connection, memoryview(arena), sessions).run()
    os._exit(0)  # threads that wait for a server must not keep it
