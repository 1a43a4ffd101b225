"""Buckets of the pool read whole."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import anyio
from nats.errors import Error as NatsError
from nats.js.kv import KeyValue

PATIENCE_S = 10.0
"""Wall time that the next of the entries known to be there may take."""
INACTIVE_S = 60.0
"""Wall seconds after which servers forget a watch of which nobody said that it ended."""
FORGET_S = 1.0
"""Wall seconds that the servers have to forget one at its end; after that they do it by themselves."""


@contextlib.asynccontextmanager
async def watched(bucket: KeyValue, keys: str = ">") -> AsyncIterator[KeyValue.KeyWatcher]:
    """Every entry of a bucket and every change, as the client tells them; nothing is left of it after the block. Of
    these names, a pattern of NATS.

    The client alone leaves the watch's consumer behind, for five minutes, and a server bounds those of a stream.
    """
    beginning: asyncio.Future[Any] = asyncio.ensure_future(bucket.watch(keys, inactive_threshold=INACTIVE_S))
    try:
        # The client leaves one that is cancelled meanwhile, and hears it for ever.
        yield await asyncio.shield(beginning)
    finally:
        await asyncio.wait([beginning], timeout=FORGET_S)
        if beginning.done() and not beginning.exception():
            await _forgotten(bucket, beginning.result())


async def _forgotten(bucket: KeyValue, watch: Any) -> None:
    consumer = watch._sub._consumer  # another than at first, where the client had to begin again
    with contextlib.suppress(NatsError, OSError, asyncio.TimeoutError):
        await watch.stop()
    with contextlib.suppress(NatsError, OSError, asyncio.TimeoutError):
        await asyncio.wait_for(bucket._js.delete_consumer(bucket._stream, consumer), FORGET_S)


async def entries(bucket: KeyValue) -> AsyncGenerator[KeyValue.Entry | None, None]:
    """Every entry of a bucket and every change from then on; None once, when those that were there are through.

    The client's own mark for that is not used. It comes from whichever server serves the watch, and one that was cut
    off tells of an end before it has caught up. Here the end is the last entry that the bucket's leader knew of.
    Entries must not expire, or the last one may never come. Close the generator (`contextlib.aclosing`), or the
    servers go on telling.

    Raises:
        TimeoutError: What was there did not come within ten seconds of the one before.
    """
    state = (await bucket.status()).stream_info.state
    last = int(state.last_seq) if state.messages else 0
    async with watched(bucket) as watch:
        read = 0
        while read < last:
            with anyio.fail_after(PATIENCE_S):
                entry = await anext(watch)
            if entry is not None:
                read = int(entry.revision or 0)
                yield entry
        yield None
        async for entry in watch:
            if entry is not None:
                yield entry
