# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How much of what the servers may keep is for tenants' bytes, so that there is room for what a pool cannot do without.

Servers keep all streams of a pool together up to one bound, and refuse everything beyond it: leases, ends of jobs, and
what operators do, too. So the streams of bytes are bounded below that, once, when a head first finds them without a
bound; and heads take submissions until records use their part. Nobody tells what the bound of the servers is. But they
say whether they could set so much aside, each of them that would keep it.
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
from eddy.pool.connection.streams import EVENTS, STORE, WRITTEN

TRIED_BYTES = tuple(eighths << power - 3 for power in range(50, 23, -1) for eighths in (8, 7, 6, 5))
"""What is tried to be set aside, from 2^50 bytes downwards."""
TENANT_BYTES = 1 << 30
"""What a tenant may keep whose operator says nothing, as on a board, and a quarter of all at most."""
PROBE, PROBE_S, PROBE_BYTES = "EDDY_PROBE", 5.0, 1 << 16
"""The stream that is set aside to see whether it can be, for a moment. Wall seconds that heads wait for another's.
Bytes of it while the store is divided."""
NAME_IN_USE = 10058
"""Code of an error of JetStream: there is a stream of that name, and it is otherwise.  Source: NATS, errors.json."""
_log = structlog.get_logger("eddy.pool")


@dataclass(frozen=True, slots=True)
class Budget:
    """Parts of the store.

    Attributes:
        blobs_bytes: Of blobs and outputs of all tenants; 0 where there is no bound.
        written_bytes: Of outputs that boards have written and no head has taken yet; 0 where there is no bound.
    """

    blobs_bytes: int = 0
    written_bytes: int = 0

    @property
    def records_bytes(self) -> int:
        """Of records of jobs, beyond which no more are taken; 0 for any number. They grow as jobs go on."""
        return self.blobs_bytes // 3

    @property
    def tenant_bytes(self) -> int:
        """Of a tenant whose operator says nothing."""
        return min(TENANT_BYTES, self.blobs_bytes // 4) if self.blobs_bytes else TENANT_BYTES


@dataclass(frozen=True, slots=True)
class Division:
    """What each stream of bytes may have of what the servers can set aside. A quarter is for records, and an eighth is
    nobody's: room for leases, ends and operators."""

    blobs: int
    written: int
    events: int

    @classmethod
    def divide(cls, free_bytes: int) -> Division:
        """Divide it; outputs under way and events need no more than some of it, however much there is."""
        written, events = min(free_bytes // 8, 4 << 30), min(free_bytes // 16, 1 << 30)
        records, reserve = free_bytes // 4, min(free_bytes // 8, 4 << 30)
        return cls(free_bytes - written - events - records - reserve, written, events)


async def budget_of(js: JetStreamContext, replicas: int) -> Budget:
    """The parts of a pool's store; streams of bytes that have no bound are given theirs.

    Args:
        js: The pool's servers; its streams are there.
        replicas: Servers that keep each.
    """
    if await _bound(js) <= 0:
        free_bytes = await _free_bytes(js, replicas)
        if free_bytes:
            division = Division.divide(free_bytes)
            for stream, most in ((EVENTS, division.events), (WRITTEN, division.written), (STORE, division.blobs)):
                config = (await js.stream_info(stream)).config
                await js.update_stream(replace(config, max_bytes=most))
            with suppress(NotFoundError):
                await js.delete_stream(PROBE)
        elif await _bound(js) <= 0:
            _log.warning("the servers can set nothing aside for bytes: what tenants keep has no bound but their own")
    return Budget(max(await _bound(js), 0), max(await _bound(js, WRITTEN), 0))


async def _bound(js: JetStreamContext, stream: str = STORE) -> int:
    return int((await js.stream_info(stream)).config.max_bytes or 0)


async def _free_bytes(js: JetStreamContext, replicas: int) -> int:
    """Bytes that the servers can still set aside, within a sixth; 0 where that is next to nothing, or another head has
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
                if await _bound(js) > 0:
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
