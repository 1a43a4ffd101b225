# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head's connection with the buckets and streams that make a pool.

====================  ==================================================================================
bucket or stream      holds
====================  ==================================================================================
`eddy_submissions`    one entry a submission: its revision is the job's number, its key the idempotency key
`eddy_jobs`           the record of each job; changed only from the revision it was read at
`eddy_boards`         what each board is; stays when the board is away
`eddy_leases`         the same with its load, renewed every second, forgotten after `streams.LEASE_S`
`eddy_leader`         the head that places, renewed the same way
`eddy_keys`           tenants by the hash of their keys
`eddy_bytes`          who refers to which inputs and outputs, and so who keeps how many bytes of them
`EDDY_WORK`           jobs given to boards, a subject a board; gone once acknowledged
`EDDY_AUDIT`          what operators changed, each entry chained to the one before
`EDDY_EVENTS`         what happened, a subject a tenant and job; a week
====================  ==================================================================================

The bytes themselves lie in a place of their own (`eddy.pool.bytes`), of which all heads have the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nats.aio.client import Client as Nats
from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig, StreamConfig
from nats.js.errors import (
    BadRequestError,
    BucketNotFoundError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
    NotFoundError,
)
from nats.js.kv import KeyValue

from eddy.core.errors import InvalidRequest
from eddy.pool.bytes.byte_store import ByteStore
from eddy.pool.bytes.places import open_store
from eddy.pool.connection import connection, streams
from eddy.pool.connection.connection import connected
from eddy.pool.connection.credentials import PoolAccess, PoolUnreachable
from eddy.pool.connection.refusals import UNDONE
from eddy.pool.connection.streams import EVENTS, LEASES, MAX_CONSUMERS
from eddy.pool.jetstream.bucket_reader import read_entry
from eddy.pool.jetstream.budget import Budget, budget_of
from eddy.pool.jetstream.byte_accounts import BUCKET as BYTES
from eddy.pool.jetstream.byte_accounts import STORE, ByteAccounts
from eddy.pool.jetstream.store_anomalies import StoreAnomalies

REPLICAS = 3
"""Servers of a cluster that keep each bucket: all goes on where one of them is lost."""
CLUSTER_S = 30.0
"""Servers of a cluster that start together have chosen their leaders by then."""
DIVIDED_S = 30.0
"""Wall seconds in which a head that starts finds out how much is for bytes, the first time."""
ASKED_S = 3.0
"""Wall seconds that a head which starts waits for answers of buckets before it asks again; one without a leader never
answers."""


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
    bytes: ByteStore
    accounts: ByteAccounts
    budget: Budget
    troubles: StoreAnomalies = field(default_factory=StoreAnomalies)

    @property
    def connected(self) -> bool:
        """Whether a server of the pool answers at this moment."""
        return self.nats.is_connected

    @property
    def reconnects(self) -> int:
        """How often the connection was lost and made again."""
        return int(self.nats.stats["reconnects"])

    async def tell(self, tenant: str, job: int, kind: str, **data: Any) -> None:
        """Add to a job's events. They tell what is in its record already, so one that is lost loses nothing: nobody
        waits until the servers have it."""
        text = json.dumps({"kind": kind, **data}).encode()
        with contextlib.suppress(*UNDONE):
            await self.nats.publish(f"eddy.events.{tenant}.{job}", text)


@contextlib.asynccontextmanager
async def open_pool(
    pool: str,
    name: str,
    patience_s: float = 10.0,
    replicas: int = 0,
    creds: str = "",
    bytes_at: str = "",
    folder: Path | None = None,
) -> AsyncIterator[Link]:
    """Connect a head to a pool, and make what is not there yet.

    Args:
        pool: URL, or the file it is in.
        name: Who connects, for the server's log.
        patience_s: Wall time the first connection may take.
        replicas: Servers that keep each bucket, where this makes it; 0 for three where so many are named, else one.
        creds: A credentials file of NATS, where neither says who connects.
        bytes_at: Where bytes lie (`eddy.pool.bytes.byte_store.open_store`); beside the file, where `pool` is one and
            nothing is said.
        folder: This head's own, for what is on its way to S3.

    Raises:
        PoolUnreachable: Nothing answers in time.
        InvalidRequest: Bytes lie elsewhere.
    """
    if not bytes_at and Path(pool).is_file():
        bytes_at = str(Path(pool).absolute().parent / "bytes")
    place = open_store(bytes_at, folder)

    def access() -> PoolAccess:
        return PoolAccess.named(pool, creds)

    async with connected(access(), name, patience_s, access_now=access) as client:
        several = len(access().urls.split(",")) >= REPLICAS
        link = await _steadily_made(client, replicas or (REPLICAS if several else 1), patience_s, place)
        try:
            yield link
        finally:
            await link.accounts.close()


async def _steadily_made(client: Nats, replicas: int, patience_s: float, place: ByteStore) -> Link:
    """Buckets and streams; servers that have just started choose leaders first.

    Raises:
        PoolUnreachable: They do not work in time.
    """
    deadline = time.monotonic() + max(patience_s, CLUSTER_S)
    while True:
        try:
            return await _made(client, replicas, place)
        except UNDONE as failure:
            if time.monotonic() > deadline:
                message = f"The pool's servers answer, and cannot keep its records yet ({failure!r}); see their logs."
                raise PoolUnreachable(message) from failure
            await asyncio.sleep(0.5)


async def _made(client: Nats, replicas: int, place: ByteStore) -> Link:
    """Open the buckets and streams of the pool; create those that do not exist.

    All at once: each may have lost its leader with the same server, and then they wait for new ones together.
    """
    js = client.jetstream(timeout=connection.CALL_S)

    async def bucket(name: str) -> KeyValue:
        try:
            return await js.key_value(name)
        except BucketNotFoundError:
            return await js.create_key_value(KeyValueConfig(bucket=name, history=1, replicas=replicas))

    async def short_lived(name: str) -> KeyValue:
        await stream(streams.short_lived_bucket(name, replicas))
        return await js.key_value(name)

    async def stream(config: StreamConfig) -> None:
        try:
            await js.stream_info(str(config.name))
        except NotFoundError:
            with contextlib.suppress(BadRequestError):  # another made it at this moment
                await js.add_stream(config)

    buckets = asyncio.gather(
        bucket("eddy_submissions"),
        bucket("eddy_jobs"),
        bucket("eddy_boards"),
        short_lived("eddy_leases"),
        short_lived("eddy_leader"),
        bucket("eddy_keys"),
    )
    others = (each(replicas) for each in (streams.work, streams.events, streams.audit))
    streamed = asyncio.gather(*map(stream, others))
    everything = asyncio.gather(buckets, bucket(BYTES), streamed)
    made, kept, _ = await asyncio.wait_for(everything, ASKED_S)
    await asyncio.wait_for(open_followed_streams(js), ASKED_S)
    await _begun(kept, place)
    troubles = StoreAnomalies()
    accounts = ByteAccounts(client, kept, troubles)
    try:
        budget = await asyncio.wait_for(budget_of(js, replicas, place.capacity()), DIVIDED_S)
    except BaseException:
        await accounts.close()
        raise
    return Link(client, js, *made, place, accounts, budget, troubles)


async def _begun(kept: KeyValue, place: ByteStore) -> None:
    """Use the pool's part of the place for bytes; the first head makes it.

    Raises:
        InvalidRequest: It is not there: bytes lie elsewhere.
    """
    try:
        part = await read_entry(kept, STORE)
    except KeyNotFoundError:
        made = secrets.token_hex(16)
        await place.begin(made, make=True)
        try:
            await kept.create(STORE, made.encode())
            return
        except KeyWrongLastSequenceError:  # of two heads that begin at once, the first one's holds
            part = await read_entry(kept, STORE)
    if not await place.begin((part.value or b"").decode(), make=False):
        message = (
            f"{place.place} has none of this pool's bytes. Its heads keep them in one place: name the folder that they"
            " share, or s3://BUCKET/PREFIX, with --bytes; where it was lost, restore it."
        )
        raise InvalidRequest(message, field="bytes", asked=place.place)


async def open_followed_streams(js: JetStreamContext) -> None:
    """Streams that heads follow, with what cannot be said, or was not said, when they were made."""
    followed = (EVENTS, LEASES, *(f"KV_eddy_{bucket}" for bucket in ("jobs", "boards", "keys", "bytes")))
    await asyncio.gather(*(_updated(js, name) for name in followed))


async def _updated(js: JetStreamContext, stream: str) -> None:
    """Have a stream take `MAX_CONSUMERS`, and leases no header that takes others' away, as buckets do by themselves; a
    server may refuse to change the number."""
    config = (await js.stream_info(stream)).config
    wanted = replace(
        config,
        max_consumers=MAX_CONSUMERS,
        allow_rollup_hdrs=False if stream == LEASES else config.allow_rollup_hdrs,
    )
    if wanted != config:
        with contextlib.suppress(BadRequestError):
            await js.update_stream(wanted)
