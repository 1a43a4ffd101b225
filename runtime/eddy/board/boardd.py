"""`eddy boardd`: the privileged half. It owns the board and serves the board port on a UNIX socket.

One thread, one board, one client at a time. A client that dies loses nothing: what runs goes on, events are kept, and
the next client finds them. A second client is refused while the first one's connection lives. When boardd itself
starts, every slot is closed before any memory is handed out, and what its predecessor had running is reported with
cause `BOARD_RESTARTED`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import selectors
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eddy import signals
from eddy.board import wire
from eddy.board.factory import open_board
from eddy.board.journal import Journal, Started
from eddy.board.pynq import PynqBoard
from eddy.core.errors import BoardFault, Conflict, EddyError, InvalidRequest
from eddy.files import Hold, os_errors

SOCKET_MODE = 0o660
SEND_TIMEOUT_S = 5.0
"""Wall time a client may take to read an answer; the loop stands still meanwhile."""
TICK_S = 0.005
"""Wall time between looks at a board whose time passes by itself, while no client waits."""
REPLY_WITHIN_S = 1.0
"""Wall time after which a wait is answered though nothing happened, so that the client knows that boardd lives."""
_SLICE_WALL_S = (0.02, 0.1)
"""A wait is cut into slices of board time that take this much wall time, so that a new client is not kept waiting."""


@dataclass
class _Client:
    """A connection.

    Attributes:
        connection: Its socket.
        greeted: Whether the hello was exchanged.
        waiting: Arguments of a `wait` that has not been answered yet.
        asked_s: Wall time at which it came.
    """

    connection: socket.socket
    decoder: wire.Decoder = field(default_factory=wire.Decoder)
    greeted: bool = False
    waiting: tuple[float, int] | None = None
    asked_s: float = 0.0


class Boardd:
    """The server.

    Args:
        board: The board it owns.
        path: Where to listen.
        journal: What to tell a successor; its entries must have been reported already.
    """

    def __init__(self, board: PynqBoard, path: Path, journal: Journal) -> None:
        self._board, self._path, self._journal = board, path, journal
        self._instance = secrets.token_hex(8)
        self._selector = selectors.DefaultSelector()
        self._listener = listen(path)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._waker = socket.socketpair()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._client: _Client | None = None
        self._newcomers: dict[socket.socket, _Client] = {}
        self._stopping = False
        self._slice_s = 1e-3

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
            while not self._stopping:
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
        return TICK_S if self._board.clock.free_running and self._board.busy else None

    def _work(self) -> None:
        """Let board time pass where somebody waits for it, or where nobody can."""
        client = self._client
        if client is not None and client.waiting is not None:
            self._continue_wait(client)
        elif client is None and self._board.busy:
            with self._slice() as length_s:
                self._board.advance(self._board.now_s() + length_s)
        elif self._board.clock.free_running:
            self._board.advance(self._board.now_s())

    @contextlib.contextmanager
    def _slice(self) -> Iterator[float]:
        """A slice of board time; the next one is longer or shorter after how long this one took."""
        start = time.monotonic()
        yield self._slice_s
        took_s = time.monotonic() - start
        if took_s < _SLICE_WALL_S[0]:
            self._slice_s = min(self._slice_s * 2, 3600.0)
        elif took_s > _SLICE_WALL_S[1]:
            self._slice_s = max(self._slice_s / 2, 1e-6)

    def _continue_wait(self, client: _Client) -> None:
        assert client.waiting is not None
        until_s, acknowledge = client.waiting
        with self._slice() as length_s:
            end_s = min(until_s, self._board.now_s() + length_s)
            try:
                events = self._board.wait(end_s, acknowledge)
            except EddyError as error:
                client.waiting = None
                self._send(client, wire.Frame({"error": wire.error_to_json(error)}))
                return
        if events or self._board.now_s() >= until_s:
            client.waiting = None
            self._send(client, wire.Frame({"result": wire.to_json(events)}))
        elif time.monotonic() - client.asked_s > REPLY_WITHIN_S:
            client.waiting = None
            self._send(client, wire.Frame({"result": [], "again": True}))

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
            self._send(client, self._call(client, frame))

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

    def _send(self, client: _Client, frame: wire.Frame | None) -> None:
        if frame is None:
            return
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

    # Calls

    def _call(self, client: _Client, frame: wire.Frame) -> wire.Frame | None:
        """Carry a call out; None for a `wait`, which is answered later."""
        try:
            name = frame.head.get("call", "")
            arguments = wire.arguments_of(name, frame.head.get("args", {}), frame.payload)
            if name == "wait":
                self._acknowledge(arguments["acknowledge"])
                client.waiting = (arguments["until_s"], arguments["acknowledge"])
                client.asked_s = time.monotonic()
                return None
            if name == "read" and arguments["bytes"] > wire.CHUNK:
                raise InvalidRequest(f"one read moves at most {wire.CHUNK} bytes", field="bytes", allowed=wire.CHUNK)
            with self._written_down(name, arguments):
                result = getattr(self._board, name)(**arguments)
        except EddyError as error:
            return wire.Frame({"error": wire.error_to_json(error)})
        except (OSError, RuntimeError, ValueError) as error:
            # The hardware or PYNQ failed in a way nobody foresaw: the client must hear of it, boardd goes on.
            fault = BoardFault(f"the board failed in {name}: {error}", cause="driver")
            return wire.Frame({"error": wire.error_to_json(fault)})
        if isinstance(result, bytes):
            return wire.Frame({"result": None}, result)
        return wire.Frame({"result": wire.to_json(result)})

    def _acknowledge(self, seq: int) -> None:
        if seq >= 0:
            kept = self._board.wait(-1.0)
            self._journal.acknowledge(event for event in kept if event.seq <= seq)

    @contextlib.contextmanager
    def _written_down(self, name: str, arguments: dict[str, Any]) -> Iterator[None]:
        """Journal what a call starts before it starts."""
        if name == "launch":
            started = Started(arguments["slot"], item=arguments["launch"].item)
        elif name == "load":
            started = Started(arguments["slot"], image=arguments["image"])
        else:
            yield
            return
        self._journal.begin(started)
        try:
            yield
        except BaseException:
            self._journal.abandon(started)
            raise


def listen(path: Path) -> socket.socket:
    """A listening socket that owner and group may open.

    Raises:
        Conflict: Another boardd listens there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
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
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~SOCKET_MODE)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(8)
    return listener


def serve(
    board: str,
    socket_path: Path,
    profile: str = "tiny",
    *,
    images: Path | None = None,
    trusted_keys: Path | None = None,
    ready: Callable[[Boardd], None] | None = None,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Open a board and serve it until a signal asks for the end.

    Args:
        board: ``rtl`` or ``pynq``.
        socket_path: Where to listen; the journal lies beside it.
        profile: Name of the board profile.
        images: Folder of partial bitstreams; the profile's own by default.
        trusted_keys: Folder of public keys whose signatures count.
        ready: Called once clients can connect.
        progress: Told what is being built; standard error where not given.

    Raises:
        InvalidRequest: No such board or profile.
        Conflict: Another boardd listens there.
        StorageInUse: Another boardd has begun to.
    """
    with signals.caught():
        _serve(board, socket_path, profile, images, trusted_keys, ready, progress or _to_stderr)


def _serve(
    board: str,
    socket_path: Path,
    profile: str,
    images: Path | None,
    trusted_keys: Path | None,
    ready: Callable[[Boardd], None] | None,
    progress: Callable[[str], None],
) -> None:
    with os_errors(socket_path):
        socket_path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as ending:
        # Before a board is opened: two must not own it.
        held = Hold(socket_path.with_name(socket_path.name + ".lock"), f"the socket {socket_path}")
        ending.callback(held.release)
        held.note()
        listen(socket_path).close()
        socket_path.unlink(missing_ok=True)
        journal = Journal(socket_path.with_name(socket_path.name + ".journal"))
        with signals.interruptible():
            opened = open_board(
                board,
                profile,
                images=images,
                trusted_keys=trusted_keys,
                first_seq=journal.first_seq(),
                progress=progress,
            )
        if not isinstance(opened, PynqBoard):
            raise InvalidRequest(f"boardd owns hardware, not a {board} board", field="board", allowed=["rtl", "pynq"])
        for lost in journal.lost:
            opened.report_lost(lost.slot, lost.item, lost.image)
        server = Boardd(opened, socket_path, journal)
        with signals.calling(server.stop):  # in another thread than the main one, whoever runs this has `stop`
            if ready is not None:
                ready(server)
            server.run()


def _to_stderr(message: str) -> None:
    print(f"eddy: {message}", file=sys.stderr, flush=True)


def _peer(connection: socket.socket) -> int:
    """Process id at the other end."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", data)[0])
