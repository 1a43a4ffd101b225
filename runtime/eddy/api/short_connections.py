"""Connections on which submissions take the short way; see `short_way`.

A request that comes whole, on a connection where nothing is under way, is offered to the short way before h11 sees any
of it. Clients often send a body apart from its head: then the head is kept back until the next bytes come, or somebody
looks, and is given to h11 with them where that is still not all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import h11

from eddy.api.connections import ConnectionLimits, Connections, GuardedProtocol, guarding
from eddy.api.problems import KINDS, MEDIA_TYPE, document
from eddy.api.short_head import read_head
from eddy.api.short_way import PATH, ShortWay, WrittenAnswer

STOPPED = "The server was stopped before this was done; ask again once it is back."
LEFT_S = 0.5
"""Wall seconds before a server that ends leaves its connections, in which what is not done is refused."""


class ShortProtocol(GuardedProtocol):
    """A connection of a server that takes submissions.

    Args:
        short: The short way.
        connections: The server's.
        arguments: For uvicorn's.
    """

    def __init__(self, short: ShortWay, connections: Connections, **arguments: Any) -> None:
        super().__init__(connections, **arguments)
        self._short = short
        self._answering = False
        """Whether a submission on the short way has no answer yet."""
        self._held = b""
        """What came and nobody has read: part of a request; or, while one is being answered, what came behind it."""
        self._last = False
        """Whether the connection is closed behind the answer."""

    @property
    def waits(self) -> bool:
        """Whether it has no request that is being answered, and none that has come whole."""
        return not self._answering and super().waits

    def data_received(self, data: bytes) -> None:
        """Take the short way where it can be taken."""
        if self._answering:
            self._held += data
            self.flow.pause_reading()
            return
        held, self._held = self._held, b""
        if not self._takes(held + data, first=not held):
            super().data_received(held + data)

    def _takes(self, data: bytes, first: bool) -> bool:
        """Whether what came takes the short way, or is kept back."""
        head = read_head(data) if self._at_rest else None
        if head is None or len(data) > head.end or (len(data) < head.end and not first):
            return False
        if self.config.limit_concurrency is not None or head.end - head.begin > self._short.most_bytes:
            return False
        if len(data) < head.end:
            self._unset_keepalive_if_required()
            self._held = data
            self._asking_s = self._connections.now_s if self._asking_s is None else self._asking_s
            return True
        self._answering = self._short.take(head, data[head.begin :], self._send)
        if self._answering:
            self._unset_keepalive_if_required()
            self._asking_s = None
        return self._answering

    @property
    def _at_rest(self) -> bool:
        """Whether h11 has nothing under way and nothing left to read; and answers are read: h11 waits for that."""
        conn = self.conn
        idle = conn.our_state is h11.IDLE and conn.their_state is h11.IDLE
        free = not self._busy and not self.transport.is_closing() and not self.flow.write_paused
        return idle and free and not conn.trailing_data[0]

    def _send(self, answer: WrittenAnswer) -> None:
        """Write an answer, and go on with what came behind its request."""
        if not self._answering:  # it was refused: the server ends
            return
        self._answering = False
        if self.transport.is_closing():
            return
        every = b"".join([b"%b: %b\r\n" % each for each in self.server_state.default_headers])
        closing = b"connection: close\r\n" if self._last else b""
        self._corked.write_now(b"".join((answer.line, every, answer.fields, closing, b"\r\n", answer.body)))
        self.server_state.total_requests += 1
        if self._last:
            self.transport.close()
            return
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        held, self._held = self._held, b""
        self.flow.resume_reading()
        if held:
            self.data_received(held)

    def look(self, now_s: float) -> None:
        """End it where its client is too slow; what was kept back is h11's now."""
        if self._answering:
            self._look_at_reading(now_s)
            return
        self._give_up_held()
        super().look(now_s)

    def _give_up_held(self) -> None:
        held, self._held = self._held, b""
        if held:
            super().data_received(held)

    def shutdown(self) -> None:
        """Close it, once what was asked is answered."""
        if not self._answering:
            self._give_up_held()
            super().shutdown()
            return
        self._last = True
        patience_s = self.config.timeout_graceful_shutdown
        if patience_s is not None:
            self.loop.call_later(max(0.0, patience_s - LEFT_S), self._refuse)

    def _refuse(self) -> None:
        """Answer what the server does not get done any more."""
        if self._answering:
            body = json.dumps(document("server-stopping", STOPPED, PATH)).encode()
            fields = b"content-type: %b\r\ncontent-length: %d\r\n" % (MEDIA_TYPE.encode(), len(body))
            self._send(
                WrittenAnswer(b"HTTP/1.1 %d Service Unavailable\r\n" % KINDS["server-stopping"].status, fields, body)
            )


def short_cut(
    short: ShortWay, limits: ConnectionLimits, on_slow: Callable[[], None] = lambda: None
) -> Callable[..., ShortProtocol]:
    """As `connections.guarded`, for a server whose submissions take the short way."""
    connections = guarding(limits, on_slow)
    return lambda **arguments: ShortProtocol(short, connections, **arguments)
