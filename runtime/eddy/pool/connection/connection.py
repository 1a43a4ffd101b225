# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A connection to the pool's servers, of a head or a board: it is made again for ever, and calls are tried again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import structlog
from nats.aio.client import Client as Nats
from nats.aio.transport import TcpTransport
from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from eddy.core.errors import EddyError, StorageFull
from eddy.pool.connection.credentials import SERVER_NAME, PoolAccess, PoolUnreachable, UserKey
from eddy.pool.connection.refusals import AWAY, LASTING, SAID_NO, PoolStreams, translate_refusal
from eddy.pool.connection.tasks import ended

SILENT_S = 30.0
"""Wall seconds for which a call is tried again without a word."""
CALL_S = 5.0
"""Wall seconds that the servers have for the answer to a call."""
CONNECT_S, MAX_CONNECT_S = 2, 16
"""Wall seconds that each step of a connection may take; twice as many after each time that it took longer, up to so
many: where all is slow, no attempt would come to its end otherwise."""
PING_S = 2
"""Wall seconds between two pings; after two that are not answered a server is left for another."""
REFUSALS = ("authorization", "authentication")
"""What servers say to whom they do not let in, or let in no more."""
HANG_UP_S = 5.0
"""Wall seconds that the end of a connection may take."""
T = TypeVar("T")

_log = structlog.get_logger("eddy.pool")


def _no_matter_of_ours(record: logging.LogRecord) -> bool:
    """Keep out of the log what asyncio says of each server that ends a connection with TLS: it does not know that the
    client has begun TLS on it."""
    return not str(record.msg).startswith("returning true from eof_received()")


logging.getLogger("asyncio").addFilter(_no_matter_of_ours)


async def steadily(call: Callable[[], Awaitable[T]]) -> T:
    """Call until the pool answers.

    Raises:
        EddyError: What the call raises on purpose, and what would be the same at each further try.
        PoolRefused: The servers answer, and will not.
    """
    wait_s, told_s = 0.1, time.monotonic()
    while True:
        try:
            return await call()
        except LASTING as failure:
            raise EddyError(f"The pool cannot accept this: {failure!r}.", cause=repr(failure)) from failure
        except (*AWAY, StorageFull) as failure:
            if time.monotonic() - told_s > SILENT_S:
                told_s = time.monotonic()
                what = "is full" if isinstance(failure, StorageFull) else "does not answer"
                _log.warning(f"the pool {what}; retrying", error=repr(failure))
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, 2.0)
        except SAID_NO as said:
            raise translate_refusal(said) from said


class _Client(Nats):
    """The client of NATS, which signs as one user. Its own way to do that needs two further packages.

    Args:
        access: Where, and as whom.
        access_now: Reads that again, before each further connection: a key may have been exchanged since.
        board: As which board, whose answers go to an inbox of its own; "" for heads.

    Attributes:
        was_in: Whether a server has ever let this user in.
        refused: Whether one did not, when it was tried last.
    """

    def __init__(self, access: PoolAccess, access_now: Callable[[], PoolAccess] | None = None, board: str = "") -> None:
        super().__init__()
        self.was_in = self.refused = False
        self._access, self._access_now = access, access_now
        self._ending = False
        self._begun: list[asyncio.StreamWriter] = []
        """Connections that were begun and not let go."""
        self._own: dict[str, Any] = {}
        """Options that do not change."""
        if access.certificate:
            self._own |= {"tls": access.tls(), "tls_hostname": SERVER_NAME}
        # However a board says who it is: its rights are on subjects that carry its name.
        if board or access.name:
            self._own["inbox_prefix"] = f"_INBOX.{board or access.name}"

    def _connect_command(self) -> bytes:
        """Say who connects, by the key that is in force; called for each connection."""
        if self._access.seed:
            key, jwt = UserKey.from_seed(self._access.seed), self._access.jwt
            self._auth_configured = True
            self._public_nkey, self._signature_cb = key.public, key.sign
            self._user_jwt_cb = (lambda: bytearray(jwt.encode())) if jwt else None
        return super()._connect_command()

    def _read_again(self) -> None:
        """Take the key that its file has now; what cannot be read changes nothing."""
        if self._access_now is not None and self.refused:
            with contextlib.suppress(PoolUnreachable):
                self._access = self._access_now()

    async def _process_err(self, err_msg: str) -> None:
        """A server says that it ends the connection. Whatever for, it is made again: where the key was exchanged, with
        the new one. The client's own way is to close for ever, and nobody who calls it would notice."""
        if "permissions violation" in err_msg.lower():
            return await super()._process_err(err_msg)
        await self._failed(NatsError(err_msg))
        await self._process_op_err(NatsError(err_msg))

    async def reach(self, name: str) -> None:
        """Connect to one of the servers, and again, for ever, where the connection is lost.

        Args:
            name: Who connects, for the server's log.
        """
        await self.connect(
            [each.strip() for each in self._access.urls.split(",")],
            name=name,
            error_cb=self._failed,
            reconnected_cb=self._came_back,
            max_reconnect_attempts=-1,
            reconnect_time_wait=1,
            connect_timeout=CONNECT_S,
            # A server that stands still, or is cut off, is left for another after so long.
            ping_interval=PING_S,
            max_outstanding_pings=2,
            **self._own,
        )
        await self._came_back()

    def jetstream(self, **opts: Any) -> JetStreamContext:
        """JetStream, as `PoolStreams` has it."""
        return PoolStreams(self, **opts)

    async def _failed(self, failure: Exception) -> None:
        """Reconnecting is the client's matter; who calls hears of it by errors of the calls."""
        if any(word in str(failure).lower() for word in REFUSALS):
            if self.was_in and not self.refused:
                _log.warning("the pool's servers do not let this key in any more", who=self.options["name"])
            self.refused = True
        if isinstance(failure, asyncio.TimeoutError) and not self.is_connected:
            self.options["connect_timeout"] = min(2 * self.options["connect_timeout"], MAX_CONNECT_S)

    async def _came_back(self) -> None:
        """Servers answer: the next connection is given as long as the first try of this one was."""
        self.options["connect_timeout"] = CONNECT_S
        self.was_in, self.refused = True, False

    async def hang_up(self) -> None:
        """End the connection, whether the server that it leads to answers or stands still."""
        self._ending = True
        # A task of its own: the client's end is cancelled where it was about to connect again, and nobody else is.
        closing = asyncio.ensure_future(self.close())
        try:
            await asyncio.wait([closing], timeout=HANG_UP_S)
        finally:
            self._let_go()
            # The client cancels its next connection once, and the cancellation can be lost (`ended`).
            await ended([closing] if self._reconnection_task is None else [closing, self._reconnection_task])

    async def _connect_to_server(self, s: Any) -> None:
        """Begin a connection; what an attempt before left half made, as to a server that stands still, is let go."""
        self._let_go()
        self._read_again()
        await super()._connect_to_server(s)
        assert isinstance(self._transport, TcpTransport)
        writer = self._transport._io_writer
        assert writer is not None
        if self._ending or self._reconnection_task not in (None, asyncio.current_task()):
            writer.transport.abort()
            raise asyncio.CancelledError  # which was lost as the connection was made
        self._begun.append(writer)

    def _let_go(self) -> None:
        """Abort every connection that was begun: two attempts may run at once, where one's cancellation was lost."""
        begun, self._begun = self._begun, []
        if isinstance(self._transport, TcpTransport) and self._transport._io_writer is not None:
            begun.append(self._transport._io_writer)  # over TLS it is another one
        for writer in begun:
            with contextlib.suppress(AttributeError):  # Python 3.11.2 cannot abort TLS that has ended already
                writer.transport.abort()


@contextlib.asynccontextmanager
async def connected(
    access: PoolAccess,
    name: str,
    patience_s: float = 10.0,
    board: str = "",
    access_now: Callable[[], PoolAccess] | None = None,
) -> AsyncIterator[Nats]:
    """A connection to a pool's servers, which is made again for ever once it was made.

    Args:
        access: Where, and as whom.
        name: Who connects, for the server's log.
        patience_s: Wall time the first connection may take.
        board: As which board; "" for the one that the access names, and for heads.
        access_now: Reads the access again where the servers let it in no more; None where it cannot change.

    Raises:
        PoolUnreachable: Nothing answers in time, or it does not let this user in.
    """
    if not access.urls:
        raise PoolUnreachable("No server of this pool has been started: `eddy pool up` starts one.")
    client = _Client(access, access_now, board)
    try:
        await asyncio.wait_for(client.reach(name), patience_s)
    except (*AWAY, NatsError) as failure:
        await client.hang_up()
        where = ",".join(each.rsplit("@", 1)[-1].rsplit("/", 1)[-1] for each in access.urls.split(","))
        if client.refused:
            message = f"The pool at {where} does not let this key in: `eddy pool admit` makes a new one."
            raise PoolUnreachable(message, pool=where) from failure
        message = f"No pool answers at {where}; start one with `eddy pool up`, or name another."
        raise PoolUnreachable(message, pool=where) from failure
    try:
        yield client
    finally:
        await client.hang_up()
