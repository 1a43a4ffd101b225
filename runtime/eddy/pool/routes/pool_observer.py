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

from eddy.core.errors import EddyError, StorageFull
from eddy.host.distribution import version
from eddy.pool.bytes.byte_store import BytesAway
from eddy.pool.connection.refusals import UNDONE
from eddy.pool.connection.streams import AUDIT, HEADS, KEPT, PASSING_ON, WORK
from eddy.pool.jetstream.audit import PoolAudit
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.bucket_reader import read_entry
from eddy.pool.jetstream.byte_accounts import LEFT_S, SETTLED_S
from eddy.pool.jetstream.byte_references import read_references
from eddy.pool.jetstream.link import Link
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.records.record_json import parse_json
from eddy.pool.routes.pool_examination import ExaminedBytes, ExaminedStream, ObservedPool

BOARD = "board-"
"""What consumers of boards' queues begin with."""
HEARD_S = 1.0
"""Wall seconds in which heads say who they are."""
LOOKED_S = 10.0
"""Wall seconds for which bytes are looked at, or read, in one request."""
LAG = 1000
"""Messages that a server may be behind that keeps a stream: fewer come and go."""


async def observe(link: Link, mirror: Mirror, blobs: PoolBlobs) -> ObservedPool:
    """The pool as it is now."""
    names = (*PASSING_ON, *KEPT)
    found = await asyncio.gather(*(_stream(link, name) for name in names))
    streams = {name: stream for name, stream in zip(names, found, strict=True) if stream is not None}
    leader = ""
    with contextlib.suppress(KeyNotFoundError):
        leader = ((await read_entry(link.leader, "head")).value or b"").decode()
    return ObservedPool(
        streams=streams,
        audit=await PoolAudit(link).examine() if AUDIT in streams else None,
        queues=await _queues(link) if WORK in streams else frozenset(),
        queued=await _queued(link) if WORK in streams else {},
        boards={name: board.release for name, board in mirror.boards.items()},
        present=frozenset(board.name for board in mirror.live_boards),
        placed=Counter(job.board for job in mirror.jobs.jobs_on_boards),
        unreadable=[f"{bucket}/{key}" for bucket, key in sorted(link.troubles.unreadable)],
        skew_s=mirror.date.skew_s(time.time()),
        release=version(),
        heads=await _heads(link),
        bytes=await _examined_bytes(link, blobs),
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


async def _heads(link: Link) -> dict[str, str]:
    """Releases of the heads that answer."""
    answers, found = link.nats.new_inbox(), dict[str, str]()
    asked = await link.nats.subscribe(answers)
    try:
        await link.nats.publish(HEADS, b"", reply=answers)
        with contextlib.suppress(asyncio.TimeoutError):
            deadline = time.monotonic() + HEARD_S
            while (left_s := deadline - time.monotonic()) > 0:
                told = parse_json((await asked.next_msg(left_s)).data)
                found[str(told.get("name"))] = str(told.get("release"))
    finally:
        with contextlib.suppress(*UNDONE):
            await asked.unsubscribe()
    return found


async def _examined_bytes(link: Link, blobs: PoolBlobs) -> ExaminedBytes:
    """What lies in the place for bytes, beside what entries name."""
    place, full = link.bytes, ""
    told = await read_references(link.accounts.bucket)
    try:
        try:
            place.check_room(0)
        except StorageFull as said:
            full = said.message
        named, lost, old_s = told.named, told.required_blobs, time.time() - SETTLED_S
        blobs_seen = kept_bytes = unnamed = 0
        deadline = time.monotonic() + LOOKED_S
        async with contextlib.aclosing(place.blobs()) as there:
            async for name, seen in there:
                blob = name.tenant, name.sha256
                blobs_seen, kept_bytes = blobs_seen + 1, kept_bytes + seen.size_bytes
                unnamed += name.generation not in named.get(blob, ()) and seen.at_unix_s < old_s
                if seen.size_bytes == told.sizes.get(blob, seen.size_bytes):
                    lost.discard(name)
                if is_late := time.monotonic() > deadline:
                    break
            else:
                is_late = False
        found = list[str]()
        for name in () if is_late else sorted(lost, key=lambda each: each.path):
            if await blobs.is_lost(name):
                found.append(f"{name.tenant}/{name.sha256}")
            if is_late := time.monotonic() > deadline:
                break
        drafts = len(await place.left_drafts(time.time() - LEFT_S))
    except (EddyError, BytesAway) as said:
        return ExaminedBytes(place.place, away=str(said))
    return ExaminedBytes(place.place, "", full, blobs_seen, kept_bytes, not is_late, found, unnamed, drafts)


async def read_blobs(link: Link, blobs: PoolBlobs, after: str) -> dict[str, Any]:
    """Read what must be there for some seconds, from a place in the order of names on; answers how much that was, what
    is damaged or lost of it, and how far that came: None for to the end."""
    names = sorted((await read_references(link.accounts.bucket)).required_blobs, key=lambda each: each.path)
    deadline, damaged = time.monotonic() + LOOKED_S, list[str]()
    left = [each for each in names if each.path > after]
    for number, name in enumerate(left, 1):
        if await blobs.is_lost(name, read=True):
            damaged.append(f"{name.tenant}/{name.sha256}")
        if time.monotonic() > deadline:
            return {"read": number, "damaged": damaged, "next": name.path if number < len(left) else None}
    return {"read": len(left), "damaged": damaged, "next": None}


def _certificate_s(link: Link) -> float | None:
    """Wall seconds until the certificate of the connection ends."""
    transport: Any = link.nats._transport
    writer = transport._io_writer if isinstance(transport, TcpTransport) else None
    tls = None if writer is None else writer.get_extra_info("ssl_object")
    ends = (tls.getpeercert() or {}).get("notAfter") if tls is not None else None
    return None if ends is None else ssl.cert_time_to_seconds(str(ends)) - time.time()
