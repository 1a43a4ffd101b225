# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A requester host in a process of its own: sends each of its jobs at the rates of the plan, through one port."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

from eddy.pool.connection.token_bucket import TokenBucket

from live_testbed.scales import BEHIND_S, BURST_S, HEADER_BYTES, PIECE_BYTES, SPARE, Scales, content


@dataclass(frozen=True, slots=True)
class PlannedTransfer:
    """One job to be sent.

    Attributes:
        job: Its number.
        port: TCP port of the responder.
        segments: From, to (seconds of the instance), bits per second; in order.
    """

    job: int
    port: int
    size_bytes: int
    segments: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """What a requester sends in one batch.

    Attributes:
        egress_bps: Of its port, in the instance.
        scales: To this machine.
    """

    sendings: tuple[PlannedTransfer, ...]
    egress_bps: float
    scales: Scales


def serve(pipe: Connection) -> None:
    """Send batches until told to end: an `Order`, then the monotonic time at which it begins.

    Answers once all is sent.
    """
    while (order := pipe.recv()) is not None:
        pipe.send(asyncio.run(_batch(order, pipe)))


async def _batch(order: Order, pipe: Connection) -> str:
    ready = [await _connected(each) for each in order.sendings]
    pipe.send("connected")
    began_s = await asyncio.to_thread(pipe.recv)
    port_bps = SPARE * order.scales.bps_of(order.egress_bps)
    port = TokenBucket(port_bps, BURST_S * port_bps, began_s)
    await asyncio.gather(
        *(_send(each, writer, port, began_s, order.scales) for each, writer in zip(order.sendings, ready, strict=True))
    )
    return "sent"


async def _connected(sending: PlannedTransfer) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_connection("127.0.0.1", sending.port)
    writer.transport.set_write_buffer_limits(high=PIECE_BYTES)
    writer.write(sending.job.to_bytes(HEADER_BYTES, "big"))
    return writer


async def _send(
    sending: PlannedTransfer, writer: asyncio.StreamWriter, port: TokenBucket, began_s: float, scales: Scales
) -> None:
    """Send one job."""
    data = memoryview(content(sending.job, sending.size_bytes))
    done, planned_bits = 0, 0.0
    all_bits = sum((to_s - from_s) * bps for from_s, to_s, bps in sending.segments)
    for from_s, to_s, bps in sending.segments:
        planned_bits += (to_s - from_s) * bps
        until = round(len(data) * planned_bits / all_bits)
        begin_s = began_s + from_s * scales.wall_s
        await asyncio.sleep(max(begin_s - time.monotonic(), 0.0))
        # The bucket is empty at the time given, not when this process was scheduled: that is made up for, as far as
        # the port allows.
        given_bps = scales.bps_of(bps)
        given = TokenBucket(given_bps, BEHIND_S * given_bps, begin_s)
        given.level_bits = 0.0
        while done < until:
            piece = data[done : min(done + PIECE_BYTES, until)]
            await _may_send(8 * len(piece), given, port)
            writer.write(piece)
            await writer.drain()
            done += len(piece)
    writer.close()
    await writer.wait_closed()


async def _may_send(bits: float, *buckets: TokenBucket) -> None:
    now_s = time.monotonic()
    wait_s = max(bucket.wait_s(bits, now_s) for bucket in buckets)
    if wait_s > 0:
        await asyncio.sleep(wait_s)
