"""Bounds on connections: how many, how long one may take to ask, and how slowly it may send or read.

A connection costs a file descriptor and memory for as long as its client likes, and some clients mean no good. So a
request's head must come within a time, its body and the reading of its answer must go on at a least rate, and there are
so many connections at once, of one address and in all. Where one too many comes, the one that has waited longest
without asking anything makes room for it; only where all are at work is it refused. A slow upload or download that goes
on may take as long as it needs, and time in which the server itself stood still counts against nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import secrets
import struct
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from eddy.api.corked import Corked
from eddy.api.events import DIRECT
from eddy.api.problems import KINDS, MEDIA_TYPE, document
from eddy.logs import REQUEST_ID_HEADER

LOOK_S = 1.0
"""Most wall seconds between two looks at every connection."""
NOT_HTTP = "What arrived is no request in HTTP/1.1: send one as RFC 9112 has it, and HTTPS only to a server with TLS."
READ_PATIENCE = 3
"""Times the patience in which an answer must be read on: a receiver tells of what it read in large steps."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds on connections.

    Attributes:
        connections: Most at once.
        connections_per_client: Most at once of one address.
        patience_s: Wall time a request's head may take, and over which the rates are measured.
        bytes_per_s: Least rate at which a body comes, and at which an answer is read.
    """

    connections: int = 512
    connections_per_client: int = 256
    patience_s: float = 10.0
    bytes_per_s: int = 1000


@dataclass(slots=True)
class _Flow:
    """Bytes that should be moving one way.

    Attributes:
        since_s: Since when they are watched; None while nothing should move.
        moved: Bytes since then.
        left: Bytes that were waiting when it was last looked at.
    """

    since_s: float | None = None
    moved: int = 0
    left: int = 0

    def stop(self) -> None:
        """Nothing should move."""
        self.since_s, self.moved = None, 0

    def too_slow(self, now_s: float, stretch_s: float, bytes_per_s: int) -> bool:
        """Whether less moved over the last stretch than should have; begins the next one where not."""
        if self.since_s is None:
            self.since_s, self.moved = now_s, 0
        if now_s - self.since_s < stretch_s:
            return False
        slow = self.moved < bytes_per_s * stretch_s
        self.since_s, self.moved = now_s, 0
        return slow


@dataclass(slots=True)
class Connections:
    """Every open connection of a server, oldest first.

    Attributes:
        limits: Bounds on them.
        on_slow: Called for each that is ended because its client is too slow.
    """

    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    on_slow: Callable[[], None] = lambda: None
    _open: dict[GuardedProtocol, str] = field(default_factory=dict)
    _looking: asyncio.TimerHandle | None = None
    _due_s: float = 0.0
    _still_s: float = 0.0

    @property
    def now_s(self) -> float:
        """Wall seconds in which this server watched: not those by which it came late to a look at every connection."""
        return asyncio.get_running_loop().time() - self._still_s

    def add(self, connection: GuardedProtocol, address: str) -> bool:
        """Take a new connection in; answers False where there is no room for it."""
        self._open[connection] = address
        mine = [each for each, whose in self._open.items() if whose == address]
        fits = (len(mine) <= self.limits.connections_per_client or _make_room(mine)) and (
            len(self._open) <= self.limits.connections or _make_room(list(self._open))
        )
        if not fits:
            self.remove(connection)
        if self._looking is None:
            self._look_soon()
        return fits

    @property
    def _look_s(self) -> float:
        return min(LOOK_S, self.limits.patience_s / 4)

    def remove(self, connection: GuardedProtocol) -> None:
        """Forget a connection that ended."""
        self._open.pop(connection, None)

    def _look_soon(self) -> None:
        loop = asyncio.get_running_loop()
        self._due_s = loop.time() + self._look_s
        self._looking = loop.call_at(self._due_s, self._look)

    def _look(self) -> None:
        self._still_s += max(0.0, asyncio.get_running_loop().time() - self._due_s)
        now_s, self._looking = self.now_s, None
        for connection in list(self._open):
            connection.look(now_s)
        if self._open:
            self._look_soon()


def _make_room(among: list[GuardedProtocol]) -> bool:
    """End the connection that has waited longest without asking, the newest excepted; answers whether there was one."""
    for connection in among[:-1]:
        if connection.waits:
            connection.give_up("too-many-connections", "The idle connection was closed to make room for others.")
            return True
    return False


class GuardedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 connection, with bounds; what it refuses by itself is a problem document too.

    Args:
        connections: The server's.
        arguments: For uvicorn's.
    """

    _corked: Corked

    def __init__(self, connections: Connections, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._connections = connections
        self._asking_s: float | None = connections.now_s
        self._incoming, self._outgoing = _Flow(), _Flow()

    @property
    def waits(self) -> bool:
        """Whether it has no request that is being answered, and none that has come whole."""
        return not self._busy

    @property
    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it."""
        self._corked = Corked(transport, self.loop)
        super().connection_made(self._corked)
        if not self._connections.add(self, self.client[0] if self.client else ""):
            self.give_up("too-many-connections", "This server has as many connections as it may.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what came."""
        if self.transport.is_closing():
            return
        if self._busy:
            self._incoming.moved += len(data)
        elif self._asking_s is None:
            self._asking_s = self._connections.now_s
        super().data_received(data)
        if self._busy:
            self._asking_s = None

    def handle_events(self) -> None:
        """Offer streams to write to the connection at once, where a body has no length and goes out in chunks."""
        super().handle_events()
        if self.scope is not None and self.scope["http_version"] == "1.1":
            self.scope["extensions"] = {DIRECT: {"write": self._direct}}

    def _direct(self, part: bytes) -> bool:
        """Write part of a body whose beginning was sent; as `DIRECT` has it."""
        if self.flow.write_paused or self._corked.is_closing():
            return False
        self._corked.write_now(b"%x\r\n%b\r\n" % (len(part), part))  # a chunk: RFC 9112, 7.1
        return True

    def look(self, now_s: float) -> None:
        """End it where its client is too slow."""
        limits = self._connections.limits
        if self._look_at_reading(now_s):
            return
        if self._asking_s is not None and not self._busy:
            if now_s - self._asking_s > limits.patience_s:
                self._connections.on_slow()
                self.give_up("request-timeout", f"The head of a request must arrive within {limits.patience_s:g} s.")
        elif self._busy and self.cycle.more_body and not self._we_keep_it_waiting():
            if self._incoming.too_slow(now_s, limits.patience_s, limits.bytes_per_s):
                self._connections.on_slow()
                detail = f"A body must arrive at {limits.bytes_per_s} bytes a second or more."
                self.give_up("request-timeout", detail)
        else:
            self._incoming.stop()

    def _look_at_reading(self, now_s: float) -> bool:
        """End it where its client reads answers too slowly; answers whether it did."""
        slow = self._reading_is_too_slow(now_s)
        if slow:
            self._connections.on_slow()
            self.transport.abort()
        return slow

    def _we_keep_it_waiting(self) -> bool:
        """Whether the client may not send just now."""
        return bool(self.flow.read_paused or self.cycle.waiting_for_100_continue)

    def _reading_is_too_slow(self, now_s: float) -> bool:
        if self.transport.get_write_buffer_size() == 0:  # what the kernel holds costs us nothing
            self._outgoing.stop()
            return False
        left = self.transport.get_write_buffer_size() + _in_kernel(self.transport)
        # What was added since the last look hides as much of what was read: then the answer goes on all the same.
        self._outgoing.moved += max(0, self._outgoing.left - left)
        self._outgoing.left = left
        limits = self._connections.limits
        return self._outgoing.too_slow(now_s, READ_PATIENCE * limits.patience_s, limits.bytes_per_s)

    def resume_writing(self) -> None:
        """The client has read most of what was waiting for it."""
        self._outgoing.stop()
        super().resume_writing()

    def give_up(self, code: str, detail: str) -> None:
        """Answer with a problem where nothing has been answered yet, and close."""
        if self._busy and self.cycle.response_started:
            self.transport.abort()
            return
        if self._busy or self._asking_s is not None:
            self._answer(code, detail)
        self._drop_cycle()
        self._connections.remove(self)
        self._corked.flush()
        if self.transport.get_write_buffer_size():  # nobody would watch over its being read
            self.transport.abort()
        self.transport.close()

    def _drop_cycle(self) -> None:
        """A request that is under way was answered here: whoever answers it now writes nothing."""
        if self._busy:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing of an offer to change protocols: uvicorn writes advice into the log, for anyone."""

    def send_400_response(self, msg: str) -> None:
        """What uvicorn answers to what is not HTTP, as a problem."""
        self._answer("bad-request", NOT_HTTP)
        self._drop_cycle()
        self.transport.close()

    def _answer(self, code: str, detail: str) -> None:
        path = self.scope["path"] if self._busy else "/"
        body = json.dumps(document(code, detail, path)).encode()
        headers = [
            *(("content-type", MEDIA_TYPE), ("content-length", str(len(body))), ("connection", "close")),
            (REQUEST_ID_HEADER, secrets.token_hex(8)),
        ]
        if KINDS[code].status == 503:
            headers.append(("retry-after", "1"))
        try:
            for event in _whole(KINDS[code].status, headers, body):
                self.transport.write(cast(bytes, self.conn.send(event)))
        except h11.LocalProtocolError:  # something has been answered already
            self.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._asking_s = None
        self._incoming.stop()
        self._corked.flush()
        super().on_response_complete()


def _in_kernel(transport: asyncio.Transport) -> int:
    """Bytes the kernel holds that the client's has not acknowledged; 0 where it does not say."""
    connection = transport.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        (held,) = struct.unpack("i", fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4)))
        return int(held)
    return 0


def _whole(status: int, headers: list[tuple[str, str]], body: bytes) -> Iterator[h11.Event]:
    yield h11.Response(status_code=status, headers=headers)
    yield h11.Data(data=body)
    yield h11.EndOfMessage()


def _no_matter_of_ours(record: logging.LogRecord) -> bool:
    """Keep out of the log what any stranger can write into it as often as he likes: that his bytes were not HTTP."""
    return record.msg != "Invalid HTTP request received."


def guarded(limits: ConnectionLimits, on_slow: Callable[[], None] = lambda: None) -> Callable[..., GuardedProtocol]:
    """What `uvicorn.Config(http=...)` takes: makes the connections of one server.

    Args:
        limits: Bounds on them.
        on_slow: Called for each that is ended because its client is too slow.
    """
    connections = guarding(limits, on_slow)
    return lambda **arguments: GuardedProtocol(connections, **arguments)


def guarding(limits: ConnectionLimits, on_slow: Callable[[], None]) -> Connections:
    """What holds the connections of one server; see `guarded`."""
    logging.getLogger("uvicorn.error").addFilter(_no_matter_of_ours)
    return Connections(limits, on_slow)
