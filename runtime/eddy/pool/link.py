"""The pool's connection: one NATS client with the buckets and the stream that make a pool.

====================  ==================================================================================
bucket or stream      holds
====================  ==================================================================================
`eddy_submissions`    one entry a submission: its revision is the job's number, its key the idempotency key
`eddy_jobs`           the record of each job; changed only from the revision it was read at
`eddy_boards`         what each board is; stays when the board is away
`eddy_leases`         the same with its load, renewed every second, forgotten after `eddy.pool.streams.LEASE_S`
`eddy_leader`         the head that places, renewed the same way
`eddy_keys`           tenants by the hash of their keys
`eddy_blobs`          bytes of inputs and outputs, by tenant and sha256 (an object store)
`eddy_bytes`          who refers to which of them, and so who keeps how many
`EDDY_WORK`           jobs given to boards, a subject a board; gone once acknowledged
`EDDY_WRITTEN`        bytes that boards write, a subject a blob, until a head has checked them; an hour
`EDDY_EVENTS`         what happened, a subject a tenant and job; a week
====================  ==================================================================================
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import structlog
from nats.aio.client import Client as Nats
from nats.aio.transport import TcpTransport
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig, ObjectStoreConfig, StreamConfig
from nats.js.errors import BadRequestError, BucketNotFoundError, NotFoundError
from nats.js.kv import KeyValue
from nats.js.object_store import ObjectStore

from eddy.core.errors import EddyError, StorageFull
from eddy.pool import streams
from eddy.pool.budget import Budget, budget_of
from eddy.pool.byte_accounts import BUCKET as BYTES
from eddy.pool.byte_accounts import ByteAccounts
from eddy.pool.credentials import SERVER_NAME, PoolAccess, PoolUnreachable, UserKey
from eddy.pool.ending import ended
from eddy.pool.refusals import AWAY, LASTING, SAID_NO, UNDONE, PoolStreams, refusal
from eddy.pool.streams import EVENTS, LEASES, MOST_CONSUMERS, STORE
from eddy.pool.troubles import Troubles

RENEW_S = 1.0
"""Between two renewals."""
REPLICAS = 3
"""Servers of a cluster that keep each bucket: all goes on where one of them is lost."""
CLUSTER_S = 30.0
"""Servers of a cluster that start together have chosen their leaders by then."""
SILENT_S = 30.0
"""Wall seconds for which a call is tried again without a word."""
CALL_S = 5.0
"""Wall seconds that the servers have for the answer to a call."""
CONNECT_S, MOST_CONNECT_S = 2, 16
"""Wall seconds that each step of a connection may take; twice as many after each time that it took longer, up to so
many: where all is slow, no attempt would come to its end otherwise."""
PING_S = 2
"""Wall seconds between two pings; after two that are not answered a server is left for another."""
REFUSALS = ("authorization", "authentication")
"""What servers say to whom they do not let in, or let in no more."""
HANG_UP_S = 5.0
"""Wall seconds that the end of a connection may take."""
DIVIDED_S = 30.0
"""Wall seconds in which a head that starts finds out how much is for bytes, the first time."""
ASKED_S = 3.0
"""Wall seconds that a head which starts waits for answers of buckets before it asks again; one without a leader never
answers."""
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
            raise refusal(said) from said


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
            self.options["connect_timeout"] = min(2 * self.options["connect_timeout"], MOST_CONNECT_S)

    async def _came_back(self) -> None:
        """Servers answer: the next connection is given as long as the first try of this one was."""
        self.options["connect_timeout"] = CONNECT_S
        self.was_in, self.refused = True, False

    async def hang_up(self) -> None:
        """End the connection, whether the server that it leads to answers or stands still."""
        # A task of its own: the client's end is cancelled where it was about to connect again, and nobody else is.
        closing = asyncio.ensure_future(self.close())
        try:
            await asyncio.wait([closing], timeout=HANG_UP_S)
        finally:
            self._let_go()
            await ended([closing])

    async def _connect_to_server(self, s: Any) -> None:
        """Begin a connection; what an attempt before left half made, as to a server that stands still, is let go."""
        self._let_go()
        self._read_again()
        await super()._connect_to_server(s)

    def _let_go(self) -> None:
        if not isinstance(self._transport, TcpTransport):
            return  # none was begun
        for writer in (self._transport._io_writer, self._transport._bare_io_writer):
            if writer is not None:
                with contextlib.suppress(AttributeError):  # Python 3.11.2 cannot abort TLS that has ended already
                    writer.transport.abort()


@dataclass(frozen=True, slots=True)
class Link:
    """An open pool; see the module for what each part holds."""

    nats: Nats
    js: JetStreamContext
    submissions: KeyValue
    jobs: KeyValue
    boards: KeyValue
    leases: KeyValue
    leader: KeyValue
    keys: KeyValue
    blobs: ObjectStore
    accounts: ByteAccounts
    budget: Budget
    troubles: Troubles = field(default_factory=Troubles)

    @property
    def connected(self) -> bool:
        """Whether a server of the pool answers at this moment."""
        return self.nats.is_connected

    @property
    def reconnects(self) -> int:
        """How often the connection was lost and made again."""
        return int(self.nats.stats["reconnects"])

    async def tell(self, tenant: str, job: int, kind: str, **data: Any) -> None:
        """Add to a job's events. They tell what is in its record already, so one that is lost loses nothing."""
        text = json.dumps({"kind": kind, **data}).encode()
        with contextlib.suppress(*UNDONE):
            await self.js.publish(f"eddy.events.{tenant}.{job}", text)


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


@contextlib.asynccontextmanager
async def opened(
    pool: str, name: str, patience_s: float = 10.0, replicas: int = 0, creds: str = ""
) -> AsyncIterator[Link]:
    """Connect a head to a pool, and make what is not there yet.

    Args:
        pool: URL, or the file it is in.
        name: Who connects, for the server's log.
        patience_s: Wall time the first connection may take.
        replicas: Servers that keep each bucket, where this makes it; 0 for three where so many are named, else one.
        creds: A credentials file of NATS, where neither says who connects.

    Raises:
        PoolUnreachable: Nothing answers in time.
    """

    def access() -> PoolAccess:
        return PoolAccess.named(pool, creds)

    async with connected(access(), name, patience_s, access_now=access) as client:
        several = len(access().urls.split(",")) >= REPLICAS
        link = await _steadily_made(client, replicas or (REPLICAS if several else 1), patience_s)
        try:
            yield link
        finally:
            await link.accounts.close()


async def _steadily_made(client: Nats, replicas: int, patience_s: float) -> Link:
    """Buckets and streams; servers that have just started choose leaders first.

    Raises:
        PoolUnreachable: They do not work in time.
    """
    deadline = time.monotonic() + max(patience_s, CLUSTER_S)
    while True:
        try:
            return await _made(client, replicas)
        except UNDONE as failure:
            if time.monotonic() > deadline:
                message = f"The pool's servers answer, and cannot keep its records yet ({failure!r}); see their logs."
                raise PoolUnreachable(message) from failure
            await asyncio.sleep(0.5)


async def _made(client: Nats, replicas: int) -> Link:
    """Open the buckets and streams of the pool; create those that do not exist.

    All at once: each may have lost its leader with the same server, and then they wait for new ones together.
    """
    js = client.jetstream(timeout=CALL_S)

    async def bucket(name: str) -> KeyValue:
        try:
            return await js.key_value(name)
        except BucketNotFoundError:
            return await js.create_key_value(KeyValueConfig(bucket=name, history=1, replicas=replicas))

    async def fleeting(name: str) -> KeyValue:
        await stream(streams.fleeting(name, replicas))
        return await js.key_value(name)

    async def stream(config: StreamConfig) -> None:
        try:
            await js.stream_info(str(config.name))
        except NotFoundError:
            with contextlib.suppress(BadRequestError):  # another made it at this moment
                await js.add_stream(config)

    async def objects(name: str) -> ObjectStore:
        try:
            return await js.object_store(name)
        except (NotFoundError, BucketNotFoundError):
            return await js.create_object_store(name, ObjectStoreConfig(bucket=name, replicas=replicas))

    buckets = asyncio.gather(
        bucket("eddy_submissions"),
        bucket("eddy_jobs"),
        bucket("eddy_boards"),
        fleeting("eddy_leases"),
        fleeting("eddy_leader"),
        bucket("eddy_keys"),
    )
    others = (each(replicas) for each in (streams.work, streams.events, streams.written))
    streamed = asyncio.gather(*map(stream, others))
    everything = asyncio.gather(buckets, bucket(BYTES), objects("eddy_blobs"), streamed)
    made, kept, blobs, _ = await asyncio.wait_for(everything, ASKED_S)
    await asyncio.wait_for(as_wanted(js), ASKED_S)
    budget = await asyncio.wait_for(budget_of(js, replicas), DIVIDED_S)
    troubles = Troubles()
    return Link(client, js, *made, blobs, ByteAccounts(client, kept, troubles), budget, troubles)


async def as_wanted(js: JetStreamContext) -> None:
    """Streams that heads follow, with what cannot be said, or was not said, when they were made."""
    followed = (STORE, EVENTS, LEASES, *(f"KV_eddy_{bucket}" for bucket in ("jobs", "boards", "keys", "bytes")))
    await asyncio.gather(*(_updated(js, name) for name in followed))


async def _updated(js: JetStreamContext, stream: str) -> None:
    """Have a stream take `MOST_CONSUMERS`, and leases no header that takes others' away, as buckets do by themselves; a
    server may refuse to change the number."""
    config = (await js.stream_info(stream)).config
    wanted = replace(
        config,
        max_consumers=MOST_CONSUMERS,
        allow_rollup_hdrs=False if stream == LEASES else config.allow_rollup_hdrs,
    )
    if wanted != config:
        with contextlib.suppress(BadRequestError):
            await js.update_stream(wanted)
