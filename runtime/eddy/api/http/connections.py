# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
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
import ipaddress
import json
import secrets
import struct
import termios
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httptools
from starlette.types import Message, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from eddy.api.http.problems import KINDS, MEDIA_TYPE, document
from eddy.core.errors import InvalidRequest
from eddy.core.units import format_rate
from eddy.host.logs import REQUEST_ID_HEADER

DIRECT = "eddy.direct"
"""In a request's `extensions`: `write` writes part of a body without a known length to the connection at once. It
answers False, and writes nothing, where the client has not read what was written before."""
LOOK_S = 1.0
"""Most wall seconds between two looks at every connection."""
NOT_HTTP = "What arrived is no request in HTTP/1.1: send one as RFC 9112 has it, and HTTPS only to a server with TLS."
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
MAX_PART = 1 << 16
"""Bytes of a head, of the lines around chunks or behind a body that has not come whole, at most."""
READ_PATIENCE = 3
"""Times the patience in which an answer must be read on: a receiver tells of what it read in large steps."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds on connections.

    Attributes:
        connections: Most at once.
        connections_per_client: Most at once of one address, as `client_of` has it.
        patience_s: Wall time a request's head may take, and over which the rates are measured.
        bytes_per_s: Least rate at which a body comes, and at which an answer is read.
        trusted_proxies: Whose word is taken for where a request comes from (`X-Forwarded-For`, `X-Forwarded-Proto`);
            they carry the connections of many, so `connections_per_client` does not bound theirs.
    """

    connections: int = 512
    connections_per_client: int = 256
    patience_s: float = 10.0
    bytes_per_s: int = 1000
    trusted_proxies: tuple[Network, ...] = ()

    def is_proxy(self, address: str) -> bool:
        """Whether an address is that of a proxy that is trusted."""
        if not self.trusted_proxies:
            return False
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found.version == each.version and found in each for each in self.trusted_proxies)


def client_of(address: str) -> str:
    """What bounds by address count an address as: a client of IPv6 has the whole /64 that its address is in."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))


def parse_proxies(text: str) -> tuple[Network, ...]:
    """The setting `trusted_proxies`.

    Raises:
        InvalidRequest: It names what is no network.
    """
    found = list[Network]()
    for word in filter(None, map(str.strip, text.split(","))):
        try:
            found.append(ipaddress.ip_network(word))
        except ValueError:
            allowed = "addresses and networks with commas between, as 10.1.0.7,fd00::/64"
            message = f"--trusted-proxies has {word!r:.100}; it must be {allowed}."
            raise InvalidRequest(message, field="trusted_proxies", allowed=allowed) from None
    return tuple(found)


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

    def is_too_slow(self, now_s: float, stretch_s: float, bytes_per_s: int) -> bool:
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
        self._open[connection] = client = client_of(address)
        mine = [each for each, whose in self._open.items() if whose == client]
        if self.limits.is_proxy(address):
            mine = []
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
            connection.end_if_slow(now_s)
        if self._open:
            self._look_soon()


def _make_room(among: list[GuardedProtocol]) -> bool:
    """End the connection that has waited longest without asking, the newest excepted; answers whether there was one."""
    for connection in among[:-1]:
        if connection.is_waiting:
            connection.close_with_problem(
                "too-many-connections", "The idle connection was closed to make room for others."
            )
            return True
    return False


class GuardedProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP/1.1 connection, with bounds; what it refuses by itself is a problem document too.

    Requests that come before an answer wait for their turn, and so does what is no HTTP behind them.
    """

    def __init__(self, connections: Connections, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._connections = connections
        self._asking_s: float | None = connections.now_s
        self._incoming, self._outgoing = _Flow(), _Flow()
        self._answered: Any = None
        """The request that is being answered, or was last; uvicorn's `cycle` is the one that came last."""
        self._in_body = self._broken = False
        """Whether the parser is behind the head of a request; whether what came is no HTTP, and no more is read."""
        self._unread = 0
        """Bytes of a part of a request that has not come whole."""

    @property
    def is_waiting(self) -> bool:
        """Whether it has no request that is being answered, and none that has come whole."""
        return not self._busy

    @property
    def _busy(self) -> bool:
        return self._answered is not None and not self._answered.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it."""
        super().connection_made(transport)
        if not self._connections.add(self, self.client[0] if self.client else ""):
            self.close_with_problem("too-many-connections", "This server has as many connections as it may.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._connections.remove(self)
        self._drop_requests()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what came, and read it."""
        if self.transport.is_closing() or self._broken:
            return
        if self._busy:
            self._incoming.moved += len(data)
        elif self._asking_s is None:
            self._asking_s = self._connections.now_s
        self._unset_keepalive_if_required()
        self._unread += len(data)
        try:
            self._parse(memoryview(data))
        except httptools.HttpParserError:
            self._break_off()
        else:
            if self._unread > MAX_PART:
                self._break_off()
        if self._busy:
            self._asking_s = None

    def _parse(self, data: memoryview) -> None:
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                self._decline()
                data = data[offer.args[0] :]
            else:
                return

    def _decline(self) -> None:
        """Read on in HTTP/1.1 behind a head that offers another protocol, of which the parser takes what follows."""
        lines = [line for line in self.headers if line[0] not in (b"upgrade", b"connection")]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % b"".join(b"%b: %b\r\n" % line for line in lines))

    def _should_upgrade(self) -> bool:
        return False

    def on_message_begin(self) -> None:
        """Begin with a request, unless its head is known already."""
        if not self._in_body:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take part of the address."""
        if not self._in_body:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a line of the head; one behind the body says nothing here."""
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin with a request, or let it wait for its turn.

        Raises:
            ValueError: It is none, though the parser takes it.
        """
        if self._in_body:
            return
        version = self.parser.get_http_version()
        hosts = sum(name == b"host" for name, _ in self.headers)
        if version not in ("1.0", "1.1") or b"#" in self.url or (version == "1.1" and hosts != 1):
            raise ValueError("no request in HTTP/1.1: RFC 9112, 2.3 and 3.2")
        if version == "1.1":
            self.scope["extensions"] = {DIRECT: {"write": self._direct}}
        self._unread, self._in_body = 0, True
        waits = self._busy
        super().on_headers_complete()
        if version == "1.0":
            self.cycle.send = _without_chunks(self.cycle)  # type: ignore[assignment, method-assign]
        if not waits:
            self._answered = self.cycle

    def on_body(self, body: bytes) -> None:
        """Take part of a body."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of a request; of one that offers another protocol, the body is still to come."""
        if not self.parser.should_upgrade():
            self._unread, self._in_body = 0, False
            super().on_message_complete()

    def _break_off(self) -> None:
        """What came is no HTTP: say so once the requests before it are answered."""
        self._broken = True
        if self._in_body and self.pipeline:
            self.pipeline.popleft()
        elif self._in_body and not self._busy:  # it was answered before its body was there
            self.transport.close()
        elif not self._busy or self._in_body:
            self._refuse()

    def _refuse(self) -> None:
        self.close_with_problem("bad-request", NOT_HTTP)

    def _direct(self, part: bytes) -> bool:
        """Write part of a body whose beginning was sent; as `DIRECT` has it."""
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(b"%x\r\n%b\r\n" % (len(part), part))  # a chunk: RFC 9112, 7.1
        return True

    def end_if_slow(self, now_s: float) -> None:
        """End it where its client is too slow."""
        limits = self._connections.limits
        if self._reading_is_too_slow(now_s):
            self._connections.on_slow()
            self.transport.abort()
        elif self._asking_s is not None and not self._busy:
            if now_s - self._asking_s > limits.patience_s:
                self._connections.on_slow()
                self.close_with_problem(
                    "request-timeout", f"The head of a request must arrive within {limits.patience_s:g} s."
                )
        elif self._busy and self._answered.more_body and not self._we_keep_it_waiting():
            if self._incoming.is_too_slow(now_s, limits.patience_s, limits.bytes_per_s):
                self._connections.on_slow()
                detail = f"A body must arrive at {format_rate(limits.bytes_per_s)} or more."
                self.close_with_problem("request-timeout", detail)
        else:
            self._incoming.stop()

    def _we_keep_it_waiting(self) -> bool:
        """Whether the client may not send just now."""
        return bool(self.flow.read_paused or self._answered.waiting_for_100_continue)

    def _reading_is_too_slow(self, now_s: float) -> bool:
        if self.transport.get_write_buffer_size() == 0:  # what the kernel holds costs us nothing
            self._outgoing.stop()
            return False
        left = self.transport.get_write_buffer_size() + _in_kernel(self.transport)
        # What was added since the last look hides as much of what was read: then the answer goes on all the same.
        self._outgoing.moved += max(0, self._outgoing.left - left)
        self._outgoing.left = left
        limits = self._connections.limits
        return self._outgoing.is_too_slow(now_s, READ_PATIENCE * limits.patience_s, limits.bytes_per_s)

    def resume_writing(self) -> None:
        """The client has read most of what was waiting for it."""
        self._outgoing.stop()
        super().resume_writing()

    def close_with_problem(self, code: str, detail: str) -> None:
        """Answer with a problem where nothing has been answered yet, and close."""
        if self._busy and self._answered.response_started:
            self.transport.abort()
            return
        if self._busy or self._broken or self._asking_s is not None:
            self.transport.write(_problem(code, detail, self._answered.scope["path"] if self._busy else "/"))
        self._drop_requests()
        self._connections.remove(self)
        self.transport.close()
        # Nobody watches over its being read.
        self.loop.call_later(self._connections.limits.patience_s, self.transport.abort)

    def _drop_requests(self) -> None:
        """What is under way was answered here, or its client is gone: whoever answers it now writes nothing."""
        self.pipeline.clear()
        if self._busy:
            self._answered.disconnected = True
            self._answered.message_event.set()

    def on_response_complete(self) -> None:
        """Go on with the next request, or wait for it."""
        self._asking_s = None
        self._incoming.stop()
        if self.pipeline:
            self._answered = self.pipeline[-1][0]
        super().on_response_complete()
        if self._broken and not self._busy and not self.transport.is_closing():
            self._refuse()


def _without_chunks(cycle: Any) -> Send:
    """Answers a client of HTTP/1.0, which knows no chunks: a body without a length ends with the connection."""
    write, endless = cycle.send, False

    async def send(message: Message) -> None:
        nonlocal endless
        if message["type"] == "http.response.start":
            endless = all(name.lower() != b"content-length" for name, _ in message.get("headers", ()))
            cycle.chunked_encoding = False if endless else None
        elif endless:
            cycle.expected_content_length = len(message.get("body", b""))
        await write(message)

    return send


def _problem(code: str, detail: str, path: str) -> bytes:
    """A whole answer, behind which the connection is closed."""
    status, body = KINDS[code].status, json.dumps(document(code, detail, path)).encode()
    headers = {
        **{"content-type": MEDIA_TYPE, "content-length": str(len(body)), "connection": "close"},
        REQUEST_ID_HEADER: secrets.token_hex(8),
        **({"retry-after": "1"} if status == 503 else {}),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{lines}\r\n".encode() + body


def _in_kernel(transport: asyncio.Transport) -> int:
    """Bytes the kernel holds that the client's has not acknowledged; 0 where it does not say."""
    connection = transport.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        (held,) = struct.unpack("i", fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4)))
        return int(held)
    return 0


def guard_connections(
    limits: ConnectionLimits, on_slow: Callable[[], None] = lambda: None
) -> Callable[..., GuardedProtocol]:
    """What `uvicorn.Config(http=...)` takes: makes the connections of one server.

    Args:
        on_slow: Called for each that is ended because its client is too slow.
    """
    connections = Connections(limits, on_slow)
    return lambda **arguments: GuardedProtocol(connections, **arguments)


def proxy_options(limits: ConnectionLimits) -> dict[str, Any]:
    """What `uvicorn.Config` is told of proxies: by itself it takes the word of whoever is on this machine."""
    trusted = [str(each) for each in limits.trusted_proxies]
    return {"proxy_headers": bool(trusted), "forwarded_allow_ips": trusted}
