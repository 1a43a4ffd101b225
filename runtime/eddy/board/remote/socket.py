# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The board port over a UNIX socket, to a running `boardd`.

What a caller must know about losing it: the call during which the connection breaks raises `BoardUnreachable`, and
whether it was carried out is not known. The next call connects again, once, and raises `BoardUnreachable` when that
fails; nothing retries by itself. After a reconnection the caller asks `state()`: items that ran have gone on, and
their events are kept. `instance` changes when it was boardd itself that ended: then every slot has been closed, every
buffer is gone, and what was running or loading is reported as `BOARD_RESTARTED`.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from eddy.board.port import wire
from eddy.board.port.port import (
    BoardDescription,
    BoardEvent,
    BoardState,
    Buffer,
    Launch,
    Preparation,
    RegisterAccess,
    SlotCounters,
)
from eddy.core.counters import SharingCounters
from eddy.core.errors import BoardUnreachable, InvalidRequest
from eddy.core.slots import Image

_Bytes = bytes
"""The type, where an argument of the port has its name."""
CALL_TIMEOUT_S = 60.0
"""Wall time a call may take that does something: the longest move megabytes."""
PATIENCE_S = 10.0
"""Wall time boardd may be silent where it has nothing to do but answer: greetings, questions, and waits, which it
answers within `boardd.REPLY_WITHIN_S` whatever happens."""
_PROMPT = ("describe", "now_s", "prepare", "state", "wait")


class BoarddConnector(Protocol):
    """How a connection to a boardd is made; as text, where it leads."""

    def connect(self, patience_s: float) -> socket.socket:
        """A connection, to be used with that time limit.

        Raises:
            BoardUnreachable, Unauthorized: There is none.
        """


@dataclass(frozen=True)
class LocalConnector:
    """By the UNIX socket that boardd listens on."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def connect(self, patience_s: float) -> socket.socket:
        """A connection."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(patience_s)
        try:
            connection.connect(str(self.path))
        except OSError as error:
            connection.close()
            raise BoardUnreachable(
                f"no boardd answers at {self} ({error.strerror or error}); start"
                f" `eddy boardd --socket {self}`, or check that you may open the socket"
            ) from error
        return connection


class SocketBoard:
    """A board behind a UNIX socket.

    Args:
        path: Where `eddy boardd` listens, or the way to it.
        patience_s: Wall time after which a silent boardd counts as lost, with its connection.

    Raises:
        BoardUnreachable: Nobody listens there, another client has the board, or it speaks another protocol.
    """

    def __init__(self, path: Path | BoarddConnector, patience_s: float = PATIENCE_S) -> None:
        self._way = LocalConnector(path) if isinstance(path, Path) else path
        self._patience_s = patience_s
        self._socket: socket.socket | None = None
        self._decoder = wire.Decoder()
        self.instance = ""
        """Which boardd answers: random, new with every start."""
        self._connect()

    def release(self) -> None:
        """Hang up; the next call connects again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def describe(self) -> BoardDescription:
        """Say what the board is."""
        result: BoardDescription = self._call("describe")
        return result

    def state(self) -> BoardState:
        """Say what is loaded, what runs, and which buffers are whose."""
        result: BoardState = self._call("state")
        return result

    def now_s(self) -> float:
        """Board time in seconds."""
        result: float = self._call("now_s")
        return result

    def images(self) -> tuple[Image, ...]:
        """The images the board can load."""
        result: tuple[Image, ...] = self._call("images")
        return result

    def load(self, slot: int, image: str) -> None:
        """Start the swap sequence for an image, named by its sha256."""
        self._call("load", slot=slot, image=image)

    def take_image(self, image: Image, tenant: str, data: _Bytes) -> None:
        """Keep an image of a tenant's own, to be loaded into its slot."""
        self._call("take_image", data, image=image, tenant=tenant)

    def scrub(self, slot: int) -> None:
        """Leave nothing of one tenant in an idle slot's module for the next, without a load."""
        self._call("scrub", slot=slot)

    def prefetch(self, image: str) -> None:
        """Bring an image into the board's memory ahead of its load; a hint, never an error."""
        self._call("prefetch", image=image)

    def read_ahead(self, images: tuple[str, ...]) -> None:
        """Bring images into the board's memory while its storage has nothing else to do; a hint, never an error."""
        self._call("read_ahead", images=images)

    def prepare(self, module: str) -> Preparation:
        """Begin what the loads of a module need beforehand, and say how that stands."""
        result: Preparation = self._call("prepare", module=module)
        return result

    def launch(self, slot: int, launch: Launch) -> None:
        """Start an item on an idle slot."""
        self._call("launch", slot=slot, launch=launch)

    def stop(self, slot: int, item: str = "") -> None:
        """Stop what a slot runs, or one of its items."""
        self._call("stop", slot=slot, item=item)

    def access(self, slot: int, item: str, accesses: tuple[RegisterAccess, ...]) -> tuple[int, ...]:
        """Read and write registers of a module that an item holds, in order."""
        result: tuple[int, ...] = self._call("access", slot=slot, item=item, accesses=accesses)
        return result

    def listen(self, slot: int, item: str) -> None:
        """Have the next interrupt of a module that an item holds reported."""
        self._call("listen", slot=slot, item=item)

    def close(self, slot: int) -> None:
        """Close a slot."""
        self._call("close", slot=slot)

    def wait(self, until_s: float, acknowledge: int = -1) -> tuple[BoardEvent, ...]:
        """Events not yet acknowledged, in order, once there is one; or () at board time `until_s`."""
        while True:
            reply = self._reply("wait", until_s=until_s, acknowledge=acknowledge)
            if not reply.head.get("again"):
                kind = wire.calls()["wait"].result
                result: tuple[BoardEvent, ...] = wire.from_json(kind, reply.head["result"], "wait")
                return result

    def counters(self, slot: int, context: int | None = None) -> SlotCounters:
        """Read a slot's monitor."""
        result: SlotCounters = self._call("counters", slot=slot, context=context)
        return result

    def sharing(self, slot: int) -> SharingCounters:
        """What items did on a slot, by account."""
        result: SharingCounters = self._call("sharing", slot=slot)
        return result

    def allocate(self, bytes: int, owner: str) -> Buffer:
        """Reserve a scrubbed buffer."""
        result: Buffer = self._call("allocate", bytes=bytes, owner=owner)
        return result

    def free(self, buffer: int) -> None:
        """Give a buffer back."""
        self._call("free", buffer=buffer)

    def write(self, buffer: int, offset: int, data: bytes) -> None:
        """Copy bytes into a buffer; long ones in pieces of `wire.CHUNK`."""
        for start in range(0, max(len(data), 1), wire.CHUNK):
            self._call("write", data[start : start + wire.CHUNK], buffer=buffer, offset=offset + start)

    def read(self, buffer: int, offset: int, bytes: int) -> bytes:
        """Copy bytes out of a buffer; long ones in pieces of `wire.CHUNK`."""
        result = bytearray()
        while True:
            size = min(wire.CHUNK, bytes - len(result))
            piece = self._call("read", buffer=buffer, offset=offset + len(result), bytes=size)
            result += piece
            if len(result) >= bytes:
                return _Bytes(result)

    def _connect(self) -> socket.socket:
        self._decoder = wire.Decoder()
        connection = self._way.connect(self._patience_s)
        self._socket = connection
        hello = self._exchange(wire.Frame({"hello": wire.NAME, "protocol": wire.PROTOCOL})).head
        if "error" in hello:
            self.release()
            raise wire.error_from_json(hello["error"])
        if hello.get("hello") != wire.NAME or hello.get("protocol") != wire.PROTOCOL:
            self.release()
            raise BoardUnreachable(
                f"what answers at {self._way} speaks {hello.get('hello')!r} {hello.get('protocol')!r}, not"
                f" {wire.NAME} {wire.PROTOCOL}; run boardd and serve of one release"
            )
        self.instance = str(hello.get("instance"))
        return connection

    def _reply(self, name: str, payload: bytes = b"", **arguments: Any) -> wire.Frame:
        connection = self._socket or self._connect()
        connection.settimeout(self._patience_s if name in _PROMPT else max(self._patience_s, CALL_TIMEOUT_S))
        reply = self._exchange(wire.Frame({"call": name, "args": wire.to_json(arguments)}, payload))
        if "error" in reply.head:
            raise wire.error_from_json(reply.head["error"])
        return reply

    def _call(self, name: str, payload: bytes = b"", **arguments: Any) -> Any:
        reply = self._reply(name, payload, **arguments)
        kind = wire.calls()[name].result
        if kind is bytes:
            return reply.payload
        return wire.from_json(kind, reply.head.get("result"), name)

    def _exchange(self, frame: wire.Frame) -> wire.Frame:
        assert self._socket is not None
        try:
            self._socket.sendall(frame.encode())
            while (reply := self._decoder.next()) is None:
                data = self._socket.recv(1 << 20)
                if not data:
                    raise ConnectionError("boardd hung up")
                self._decoder.feed(data)
        except (OSError, InvalidRequest) as error:
            self.release()
            raise BoardUnreachable(
                f"the connection to boardd at {self._way} was lost ({error}); whether the call was carried out is not"
                " known: ask state() once boardd is back"
            ) from error
        return reply
