# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The server of `eddy boardd`: one UNIX socket, one client at a time, and the time of the board in between."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import selectors
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eddy.board.port import wire
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.boardd_calls import Calls, Wait
from eddy.board.remote.journal import Journal
from eddy.core.errors import Conflict, InvalidRequest
from eddy.host.notify import READY, STOPPING, Notifier

SOCKET_MODE = 0o660
SEND_TIMEOUT_S = 5.0
"""Wall time a client may take to read an answer; the loop stands still meanwhile."""
NEWCOMERS = 16
"""Connections that have not said hello; with one more, the one that has kept silent longest is closed."""
TICK_S = 0.005
"""Wall time between looks at a board whose time passes by itself, while no client waits."""


@dataclass
class _Client:
    """A connection.

    Attributes:
        connection: Its socket.
        greeted: Whether the hello was exchanged.
        waiting: A `wait` that has not been answered yet.
    """

    connection: socket.socket
    decoder: wire.Decoder = field(default_factory=lambda: wire.Decoder(wire.HELLO_LIMITS))
    greeted: bool = False
    waiting: Wait | None = None


class Boardd:
    """The server.

    Args:
        board: The board it owns.
        path: Where to listen.
        journal: What to tell a successor; its entries must have been reported already.
    """

    def __init__(self, board: PynqBoard, path: Path, journal: Journal) -> None:
        self._board, self._path, self._calls = board, path, Calls(board, journal)
        self._instance = secrets.token_hex(8)
        self._selector = selectors.DefaultSelector()
        self._listener = listen(path)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._waker = socket.socketpair()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._client: _Client | None = None
        self._newcomers: dict[socket.socket, _Client] = {}
        self._stopping = False
        self._manager = Notifier()

    def stop(self) -> None:
        """Ask the loop to end; may be called from a signal handler or another thread."""
        self._stopping = True
        with contextlib.suppress(OSError):
            self._waker.send(b"x")

    def run(self) -> None:
        """Serve until `stop`; then close every slot and remove the socket."""
        with contextlib.ExitStack() as ending:
            ending.callback(self._close_sockets)
            ending.callback(self._path.unlink, missing_ok=True)
            ending.callback(self._board.release)
            ending.callback(self._manager.tell, STOPPING)
            self._manager.tell(READY)
            while not self._stopping:
                self._manager.send_watchdog()
                for key, _ in self._selector.select(self._patience_s()):
                    self._ready(key.fileobj)
                self._work()

    def _close_sockets(self) -> None:
        for client in [self._client, *self._newcomers.values()]:
            if client is not None:
                client.connection.close()
        for each in (self._selector, self._listener, self._wake, self._waker):
            each.close()

    # The loop

    def _patience_s(self) -> float | None:
        """Wall time to wait for a socket."""
        if self._client is not None and self._client.waiting is not None:
            return 0.0
        if self._client is None and self._board.busy:
            return 0.0
        return TICK_S if self._board.clock.free_running and self._board.busy else self._manager.interval_s

    def _work(self) -> None:
        """Let board time pass where somebody waits for it, or where nobody can."""
        client = self._client
        if client is not None and client.waiting is not None:
            self._continue_wait(client, client.waiting)
        elif client is None and self._board.busy:
            self._calls.pass_time()
        elif self._board.clock.free_running:
            self._board.advance(self._board.now_s())

    def _continue_wait(self, client: _Client, wait: Wait) -> None:
        answer = self._calls.advance_wait(wait)
        if answer is not None:
            client.waiting = None
            self._send(client, answer)

    # Sockets

    def _ready(self, source: Any) -> None:
        if source is self._listener:
            self._accept()
        elif source is self._wake:
            self._wake.recv(16)
        else:
            client = self._newcomers.get(source) or self._client
            if client is not None and client.connection is source:
                self._receive(client)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(SEND_TIMEOUT_S)
        if len(self._newcomers) == NEWCOMERS:
            self._drop(next(iter(self._newcomers.values())))
        self._newcomers[connection] = _Client(connection)
        self._selector.register(connection, selectors.EVENT_READ)

    def _receive(self, client: _Client) -> None:
        try:
            data = client.connection.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            self._drop(client)
            return
        client.decoder.feed(data)
        try:
            while client.connection.fileno() >= 0 and (frame := client.decoder.next()) is not None:
                self._frame(client, frame)
        except InvalidRequest as error:
            self._send(client, wire.Frame({"error": wire.error_to_json(error)}))
            self._drop(client)

    def _frame(self, client: _Client, frame: wire.Frame) -> None:
        if not client.greeted:
            self._hello(client, frame)
        elif client.waiting is not None:
            raise InvalidRequest(
                "the port has one caller: no call is allowed while a wait is in progress", field="call"
            )
        else:
            answer = self._calls.answer(frame)
            if isinstance(answer, Wait):
                client.waiting = answer
            else:
                self._send(client, answer)

    def _hello(self, client: _Client, frame: wire.Frame) -> None:
        if frame.head.get("hello") != wire.NAME or frame.head.get("protocol") != wire.PROTOCOL:
            raise InvalidRequest(
                f"boardd speaks {wire.NAME} {wire.PROTOCOL}, not {frame.head.get('hello')!r:.40}"
                f" {frame.head.get('protocol')!r:.40}; run boardd and serve of one release",
                field="protocol",
                allowed=wire.PROTOCOL,
            )
        if self._client is not None:
            self._look_for_hangup(self._client)
        if self._client is not None:
            error = Conflict(
                f"process {_peer(self._client.connection)} has the board; end it before another connects",
                field="client",
            )
            self._send(client, wire.Frame({"error": wire.error_to_json(error)}))
            self._drop(client)
            return
        client.greeted = True
        client.decoder.limits = wire.LIMITS
        self._newcomers.pop(client.connection, None)
        self._client = client
        hello = {"hello": wire.NAME, "protocol": wire.PROTOCOL, "instance": self._instance, "pid": os.getpid()}
        self._send(client, wire.Frame(hello))

    def _look_for_hangup(self, client: _Client) -> None:
        """Notice that the client is gone even if its socket comes later in this turn of the loop."""
        readable, _, _ = select.select([client.connection], [], [], 0)
        try:
            if readable and client.connection.recv(1, socket.MSG_PEEK) == b"":
                self._drop(client)
        except OSError:
            self._drop(client)

    def _send(self, client: _Client, frame: wire.Frame) -> None:
        try:
            client.connection.sendall(frame.encode())
        except OSError:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        if client.connection.fileno() >= 0:
            self._selector.unregister(client.connection)
            client.connection.close()
        self._newcomers = {c: n for c, n in self._newcomers.items() if n is not client}
        if client is self._client:
            self._client = None


def ensure_unused(path: Path) -> None:
    """See that nobody listens at a socket; one of a boardd that died is removed.

    Raises:
        Conflict: Another boardd listens there.
    """
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.connect(str(path))
    except FileNotFoundError:
        pass
    except OSError:
        # The socket of a boardd that died.
        path.unlink(missing_ok=True)
    else:
        raise Conflict(f"another boardd listens at {path}; end it first, or name another socket", field="socket")
    finally:
        probe.close()


def listen(path: Path) -> socket.socket:
    """A listening socket that owner and group may open.

    Raises:
        Conflict: Another boardd listens there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    ensure_unused(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~SOCKET_MODE)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(8)
    return listener


def _peer(connection: socket.socket) -> int:
    """Process id at the other end."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", data)[0])
