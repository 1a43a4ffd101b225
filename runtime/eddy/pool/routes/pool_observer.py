# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Gathers what a head sees of its pool, for `eddy.pool.routes.pool_examination`."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections import Counter
from typing import Any

from nats.aio.transport import TcpTransport
from nats.js.api import StreamInfo
from nats.js.errors import KeyNotFoundError, NotFoundError

from eddy.host.distribution import version
from eddy.pool.connection.streams import KEPT, PASSING_ON, WORK
from eddy.pool.jetstream.bucket_reader import read_entry
from eddy.pool.jetstream.link import Link
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.routes.pool_examination import ExaminedStream, ObservedPool

BOARD = "board-"
"""What consumers of boards' queues begin with."""
LAG = 1000
"""Messages that a server may be behind that keeps a stream: fewer come and go."""


async def observe(link: Link, mirror: Mirror) -> ObservedPool:
    """The pool as it is now."""
    names = (*PASSING_ON, *KEPT)
    found = await asyncio.gather(*(_stream(link, name) for name in names))
    streams = {name: stream for name, stream in zip(names, found, strict=True) if stream is not None}
    leader = ""
    with contextlib.suppress(KeyNotFoundError):
        leader = ((await read_entry(link.leader, "head")).value or b"").decode()
    return ObservedPool(
        streams=streams,
        queues=await _queues(link) if WORK in streams else frozenset(),
        queued=await _queued(link) if WORK in streams else {},
        boards={name: board.release for name, board in mirror.boards.items()},
        present=frozenset(board.name for board in mirror.live_boards),
        placed=Counter(job.board for job in mirror.jobs.jobs_on_boards),
        unreadable=[f"{bucket}/{key}" for bucket, key in sorted(link.troubles.unreadable)],
        skew_s=mirror.date.skew_s(time.time()),
        release=version(),
        server_release=str(link.nats.connected_server_version or ""),
        certificate_s=_certificate_s(link),
        leader=leader,
    )


async def _stream(link: Link, name: str) -> ExaminedStream | None:
    try:
        info: StreamInfo = await link.js.stream_info(name)
    except NotFoundError:
        return None
    behind = [
        str(peer.name)
        for peer in (info.cluster.replicas if info.cluster else None) or ()
        if peer.offline or int(peer.lag or 0) > LAG
    ]
    return ExaminedStream(
        kept_bytes=int(info.state.bytes),
        most_bytes=max(int(info.config.max_bytes or 0), 0),
        consumers=int(info.state.consumer_count),
        behind=tuple(behind),
    )


async def _queues(link: Link) -> frozenset[str]:
    """Boards that have a queue."""
    found: list[str] = []
    while page := await link.js.consumers_info(WORK, offset=len(found)):
        found += [str(each.name) for each in page]
    return frozenset(name.removeprefix(BOARD) for name in found if name.startswith(BOARD))


async def _queued(link: Link) -> dict[str, int]:
    state: Any = (await link.js.stream_info(WORK, subjects_filter="eddy.work.>")).state
    return {subject.rsplit(".", 1)[-1]: int(count) for subject, count in (state.subjects or {}).items()}


def _certificate_s(link: Link) -> float | None:
    """Wall seconds until the certificate of the connection ends."""
    transport: Any = link.nats._transport
    writer = transport._io_writer if isinstance(transport, TcpTransport) else None
    tls = None if writer is None else writer.get_extra_info("ssl_object")
    ends = (tls.getpeercert() or {}).get("notAfter") if tls is not None else None
    return None if ends is None else ssl.cert_time_to_seconds(str(ends)) - time.time()
