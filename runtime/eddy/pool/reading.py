"""Buckets of the pool read whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from nats.js.kv import KeyValue

PATIENCE_S = 10.0
"""Wall time that the next of the entries known to be there may take."""


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
    watch = await bucket.watchall()
    try:
        read = 0
        while read < last:
            entry = await asyncio.wait_for(anext(watch), PATIENCE_S)
            if entry is not None:
                read = int(entry.revision or 0)
                yield entry
        yield None
        async for entry in watch:
            if entry is not None:
                yield entry
    finally:
        await watch.stop()  # type: ignore[no-untyped-call]
