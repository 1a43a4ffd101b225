# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How much of what the servers may keep is for records of jobs: there is room for what a pool cannot do without.

Servers keep all streams of a pool together up to one bound, and refuse everything beyond it: leases, ends of jobs, and
what operators do, too. So events are bounded, once, when a head first finds them without a bound; and heads take
submissions until records use their part. Tenants' bytes lie elsewhere. Nobody tells what the bound of the servers is.
But they say whether they could set so much aside, each of them that would keep it.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog
from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, StreamConfig
from nats.js.errors import BadRequestError, NotFoundError, ServerError

from eddy.pool.connection.refusals import code_of
from eddy.pool.connection.streams import EVENTS

TRIED_BYTES = tuple(eighths << power - 3 for power in range(50, 23, -1) for eighths in (8, 7, 6, 5))
"""What is tried to be set aside, from 2^50 bytes downwards."""
TENANT_BYTES = 1 << 30
"""What a tenant may keep whose operator says nothing, as on a board, and a quarter of all at most."""
RECORDS, RECORDS_PART = "eddy_records_bytes", 1 / 3
"""What the note is called, and the part of what the servers can set aside. A record is written again as its job goes
on, and a file is compacted later: as much again is room for that, and the rest for leases, ends and operators."""
PROBE, PROBE_S, PROBE_BYTES = "EDDY_PROBE", 5.0, 1 << 16
"""The stream that is set aside to see whether it can be, for a moment. Wall seconds that heads wait for another's.
Bytes of it while the store is divided."""
NAME_IN_USE = 10058
"""Code of an error of JetStream: there is a stream of that name, and it is otherwise.  Source: NATS, errors.json."""
_log = structlog.get_logger("eddy.pool")


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be kept.

    Attributes:
        blobs_bytes: Of blobs and outputs of all tenants, where bytes lie; 0 where nobody knows.
        records_bytes: Of records of jobs, beyond which no more are taken; 0 for any number. They grow as jobs go on.
    """

    blobs_bytes: int = 0
    records_bytes: int = 0

    @property
    def tenant_bytes(self) -> int:
        """Of a tenant whose operator says nothing."""
        return min(TENANT_BYTES, self.blobs_bytes // 4) if self.blobs_bytes else TENANT_BYTES


async def budget_of(js: JetStreamContext, replicas: int, blobs_bytes: int) -> Budget:
    """The parts of a pool's store; events, where they have no bound, are given theirs.

    Args:
        js: The pool's servers; its streams are there.
        replicas: Servers that keep each.
        blobs_bytes: What there is for bytes beside.
    """
    if await _records_bytes(js) <= 0:
        free_bytes = await _free_bytes(js, replicas)
        if free_bytes:
            config = (await js.stream_info(EVENTS)).config
            noted = {**(config.metadata or {}), RECORDS: str(int(RECORDS_PART * free_bytes))}
            most = min(free_bytes // 16, 1 << 30)
            await js.update_stream(replace(config, max_bytes=most, metadata=noted))
            with suppress(NotFoundError):
                await js.delete_stream(PROBE)
        elif await _records_bytes(js) <= 0:
            _log.warning("the servers can set nothing aside: how many jobs are taken has no bound but tenants' own")
    return Budget(blobs_bytes, await _records_bytes(js))


async def _records_bytes(js: JetStreamContext) -> int:
    """What was set aside for records; 0 where nothing was yet. It is noted on the stream of events."""
    return int(((await js.stream_info(EVENTS)).config.metadata or {}).get(RECORDS, 0))


async def _free_bytes(js: JetStreamContext, replicas: int) -> int:
    """Bytes that the servers can set aside, within a sixth; 0 where that is next to nothing, or another head has
    set the bounds meanwhile. As long as the stream is there that was tried, no other head divides the store."""
    for size in TRIED_BYTES:
        config = StreamConfig(
            name=PROBE, subjects=[PROBE], max_bytes=size, discard=DiscardPolicy.NEW, num_replicas=replicas
        )
        while True:
            try:
                await js.add_stream(config)
            except (BadRequestError, ServerError) as refused:
                if code_of(refused) != NAME_IN_USE:
                    break
                await _another_tried(js)
                if await _records_bytes(js) > 0:
                    return 0
            else:
                await js.update_stream(replace(config, max_bytes=PROBE_BYTES))
                return size - PROBE_BYTES
    return 0


async def _another_tried(js: JetStreamContext) -> None:
    """Wait until another head has; what one left that was killed goes."""
    deadline = time.monotonic() + PROBE_S
    while time.monotonic() < deadline:
        try:
            await js.stream_info(PROBE)
        except NotFoundError:
            return
        await asyncio.sleep(0.1)
    with suppress(NotFoundError):
        await js.delete_stream(PROBE)
