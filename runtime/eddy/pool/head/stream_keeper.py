# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sees that the pool's streams are there. Those that pass things on are made again where somebody deleted them; of
those that keep things nobody else has, operators are told."""

from __future__ import annotations

import asyncio

import structlog
from nats.js.api import StreamConfig
from nats.js.errors import NotFoundError

from eddy.pool.connection import streams
from eddy.pool.connection.refusals import AWAY, UNDONE, is_stream_missing
from eddy.pool.connection.streams import (
    EVENTS,
    KEPT,
    LEADER,
    LEASES,
    PASSING_ON,
    RENEW_S,
    WORK,
    work_of,
)
from eddy.pool.jetstream.budget import budget_of
from eddy.pool.jetstream.link import Link, open_followed_streams
from eddy.pool.mirror.mirror import Mirror

_log = structlog.get_logger("eddy.pool")


class StreamMonitor:
    """One head's look at the streams.

    Args:
        mirror: What this head knows of it; follows again where something was made again.
    """

    def __init__(self, link: Link, mirror: Mirror) -> None:
        self._link, self._mirror = link, mirror

    async def run(self) -> None:
        """Look each second, until cancelled."""
        said = ""
        while True:
            try:
                await self.look()
                said = ""
            except AWAY:
                pass  # whoever needs the servers says so
            except UNDONE as refused:
                if said != str(refused):
                    _log.error("the pool's streams cannot be looked after", error=str(refused))
                said = str(refused)
            await asyncio.sleep(RENEW_S)

    async def look(self) -> None:
        """Make again what passes things on, and say what else is not there."""
        answer = await self._link.js._api_request(f"{self._link.js._prefix}.STREAM.NAMES", b"{}", timeout=RENEW_S)
        there = set(answer.get("streams") or ())
        lost = [name for name in (*PASSING_ON, *KEPT) if name not in there and not await self._is_there(name)]
        missing = self._link.troubles.missing
        for name in missing - set(lost):
            _log.info("a stream of the pool is there again", stream=name)
        for name in set(lost) - missing:
            _log.error("a stream of the pool is gone", stream=name, made_again=name in PASSING_ON)
        missing.clear()
        missing.update(lost)
        for name in lost:
            if name in PASSING_ON:
                await self._make(name)
                missing.discard(name)

    async def _is_there(self, stream: str) -> bool:
        """Whether it is, though the list of a server that lags has not its name."""
        try:
            await self._link.js.stream_info(stream)
        except NotFoundError as said:
            if is_stream_missing(said):
                return False
            raise
        return True

    async def _make(self, name: str) -> None:
        await self._link.js.add_stream(await self._config(name))
        if name == EVENTS:  # with the bounds that are noted there
            await budget_of(self._link.js, await self._replicas(), self._link.budget.blobs_bytes)
        if name == WORK:  # placements that boards do not name are told again
            for board in self._mirror.boards:
                await self._link.js.add_consumer(WORK, work_of(board))
        await open_followed_streams(self._link.js)
        self._mirror.restart_following()

    async def _config(self, name: str) -> StreamConfig:
        """As the first head made it."""
        replicas = await self._replicas()
        if name in (LEASES, LEADER):
            return streams.short_lived_bucket(name.removeprefix("KV_"), replicas)
        return {WORK: streams.work, EVENTS: streams.events}[name](replicas)

    async def _replicas(self) -> int:
        """Servers that keep each stream."""
        for name in KEPT:
            if name not in self._link.troubles.missing:
                return int((await self._link.js.stream_info(name)).config.num_replicas or 1)
        return 1
