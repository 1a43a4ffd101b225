# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Buckets of the pool read whole."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, cast

import anyio
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DeliverPolicy, StreamInfo
from nats.js.errors import KeyNotFoundError, NotFoundError
from nats.js.kv import KV_MARKER_REASON, KV_OP, KeyValue

from eddy.pool.connection.refusals import UNDONE, PoolStreams, is_stream_missing, translate_refusal

PATIENCE_S = 10.0
"""Wall time that the next of the entries known to be there may take."""
LOOK_S = 0.5
"""Wall time after which the servers are asked again which entry is the last."""
INACTIVE_S = 60.0
"""Wall seconds after which servers forget a watch of which nobody said that it ended."""
FORGET_S = 1.0
"""Wall seconds that the servers have to forget one at its end; after that they do it by themselves."""


@contextlib.asynccontextmanager
async def watch_bucket(bucket: KeyValue, keys: str = ">", after: int = 0) -> AsyncIterator[KeyValue.KeyWatcher]:
    """Every entry of a bucket and every change, in the order of revisions; nothing is left of it after the block.

    The client alone leaves the watch's consumer behind, for five minutes, and a server bounds those of a stream.

    Args:
        bucket: One that keeps the last entry of each key alone.
        keys: Of these names, a pattern of NATS.
        after: Those of later revisions alone.
    """
    beginning: asyncio.Future[Any] = asyncio.ensure_future(_watch(bucket, keys, after))
    try:
        # The client leaves one that is cancelled meanwhile, and hears it for ever.
        yield await asyncio.shield(beginning)
    finally:
        await asyncio.wait([beginning], timeout=FORGET_S)
        if beginning.done() and not beginning.exception():
            await _forgotten(bucket, beginning.result())


async def _watch(bucket: KeyValue, keys: str, after: int) -> Any:
    """As the client's own, which begins with the first entry always, and ends the list by a mark of its own."""
    watch: Any = KeyValue.KeyWatcher(bucket)  # type: ignore[no-untyped-call]

    async def told(message: Msg) -> None:
        place, at = message.metadata, cast(Any, message.metadata.timestamp)
        key, operation = message.subject.removeprefix(bucket._pre), operation_of(message.header)
        await watch._updates.put(
            KeyValue.Entry(bucket._name, key, message.data, place.sequence.stream, None, at, operation)
        )

    begin = ConsumerConfig(
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=after + 1, inactive_threshold=INACTIVE_S
    )
    watch._sub = await bucket._js.subscribe(
        f"{bucket._pre}{keys}", stream=bucket._stream, cb=told, ordered_consumer=True, config=begin
    )
    return watch


def operation_of(header: Mapping[str, str] | None) -> str | None:
    """What took an entry away; None where it is there."""
    return next((header[name] for name in (KV_OP, KV_MARKER_REASON) if name in header), None) if header else None


async def _forgotten(bucket: KeyValue, watch: Any) -> None:
    consumer = watch._sub._consumer  # another than at first, where the client had to begin again
    with contextlib.suppress(*UNDONE):
        await watch.stop()
    with contextlib.suppress(*UNDONE):
        await asyncio.wait_for(bucket._js.delete_consumer(bucket._stream, consumer), FORGET_S)


async def read_entry(bucket: KeyValue, key: str) -> KeyValue.Entry:
    """What a bucket has under a key.

    Raises:
        KeyNotFoundError: Nothing, for certain.
        TimeoutError: Whether it has something cannot be known now.
        PoolRefused: The bucket is gone: nobody knows what it had.
    """
    try:
        return await bucket.get(key)
    except KeyNotFoundError as nothing:
        if (said := nothing.__context__) is not None and is_stream_missing(said):
            raise translate_refusal(said) from nothing
    await confirm_bucket(bucket)
    return await bucket.get(key)


async def read_together(bucket: KeyValue, key: str) -> KeyValue.Entry:
    """`read_entry` of what many ask for at once."""
    name = f"{bucket._pre}{key}"
    return await cast(PoolStreams, bucket._js).ask_together(name, lambda: read_entry(bucket, key))


async def confirm_bucket(bucket: KeyValue) -> StreamInfo:
    """A bucket's stream as it is, for certain (`PoolStreams.confirm_stream`)."""
    return await confirm_stream(bucket._js, bucket._stream)


async def confirm_stream(js: JetStreamContext, stream: str) -> StreamInfo:
    """The same of any stream."""
    return await cast(PoolStreams, js).confirm_stream(stream)


async def entries(bucket: KeyValue, after: int = 0) -> AsyncGenerator[KeyValue.Entry | None, None]:
    """Every entry of a bucket and every change from then on; None once, when those that were there are through.
    Those of later revisions than `after` alone.

    The client's own mark for that is not used. It comes from whichever server serves the watch, and one that was cut
    off tells of an end before it has caught up. Here the end is the last entry that the bucket's leader knew of.
    Where that is gone meanwhile, as marks of what was deleted go, it is the last of those that are there. Close the
    generator (`contextlib.aclosing`), or the servers go on telling.

    Raises:
        TimeoutError: What was there did not come within ten seconds of the one before.
    """
    state = (await confirm_bucket(bucket)).state
    last = int(state.last_seq) if state.messages else 0
    async with watch_bucket(bucket, after=after) as watch:
        read, deadline = after, time.monotonic() + PATIENCE_S
        while read < last:
            entry = None
            with anyio.move_on_after(LOOK_S) as look:
                entry = await anext(watch)
            if entry is not None:
                read, deadline = int(entry.revision or 0), time.monotonic() + PATIENCE_S
                yield entry
            elif (
                look.cancelled_caught and read < (last := await newest_revision(bucket)) and time.monotonic() > deadline
            ):
                raise asyncio.TimeoutError(f"entry {last} of what was there does not come after {read}")
        yield None
        async for entry in watch:
            if entry is not None:
                yield entry


async def newest_revision(bucket: KeyValue) -> int:
    """The revision of the entry that was written last, of those that are there; 0 where there is none."""
    try:
        return int((await bucket._js.get_last_msg(bucket._stream, f"{bucket._pre}>")).seq or 0)
    except NotFoundError:
        return 0
