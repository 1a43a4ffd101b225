# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every responder host does, whatever computes behind it: jobs come in over loopback, through its port."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol

from eddy.pool.connection.token_bucket import TokenBucket

from live_testbed.scales import BURST_S, HEADER_BYTES, PIECE_BYTES, SPARE, Scales, content


@dataclass(frozen=True, slots=True)
class Expected:
    """A job that is to come here.

    Attributes:
        slot: Accelerator it was placed on.
        takes_s: Seconds of the instance that it computes.
        items: What it computes, where that is real work.
    """

    size_bytes: int
    slot: int
    takes_s: float
    items: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """What comes to a responder in one batch.

    Attributes:
        jobs: By number.
        ingress_bps: Of its port, in the instance.
        scales: To this machine.
    """

    jobs: Mapping[int, Expected]
    ingress_bps: float
    scales: Scales


@dataclass
class JobOutcome:
    """What became of a job: monotonic times, whether its bytes were right, and what each of its items took where those
    were real work, in wall seconds."""

    arrived_s: float = 0.0
    ended_s: float = 0.0
    slot: int = -1
    right: bool = False
    items_s: tuple[float, ...] = ()


class Arrivals:
    """What has come of one batch to one responder.

    Args:
        batch: What is to come.
        ready: Told a job that has arrived and is to be computed.

    Attributes:
        went: What has come, by job.
        changed: Set when a job arrives.
    """

    def __init__(self, batch: Batch, ready: Callable[[int], None]) -> None:
        self.batch, self._ready = batch, ready
        self.went: dict[int, JobOutcome] = {}
        self.changed = asyncio.Event()
        ingress_bps = SPARE * batch.scales.bps_of(batch.ingress_bps)
        self._port = TokenBucket(ingress_bps, BURST_S * ingress_bps, time.monotonic())

    async def joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Receive a job through the port, as fast as that allows."""
        number = int.from_bytes(await reader.readexactly(HEADER_BYTES), "big")
        data = bytearray()
        while piece := await reader.read(PIECE_BYTES):
            wait_s = self._port.wait_s(8 * len(piece), time.monotonic())
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            data += piece
        writer.close()
        self.arrived(number, bytes(data) == content(number, self.batch.jobs[number].size_bytes))

    def arrived(self, number: int, right: bool) -> None:
        """A job's bytes are here; one that computes for no time has ended with that."""
        now_s, job = time.monotonic(), self.batch.jobs[number]
        self.went[number] = JobOutcome(arrived_s=now_s, slot=job.slot, right=right)
        if job.takes_s > 0:
            self._ready(number)
        else:
            self.went[number].ended_s = now_s
        self.changed.set()

    def nothing_sent(self) -> None:
        """Jobs without bytes are here from the beginning."""
        for number, job in self.batch.jobs.items():
            if not job.size_bytes:
                self.arrived(number, right=True)

    @property
    def all_here(self) -> bool:
        """Whether all have arrived."""
        return len(self.went) == len(self.batch.jobs)


class BatchComputer(Protocol):
    """A responder for one batch."""

    arrivals: Arrivals

    def begin(self, began_s: float) -> Awaitable[None]:
        """Compute what arrives from a monotonic time on, until all has ended."""


async def run_responder(it: BatchComputer, pipe: Connection) -> dict[int, JobOutcome]:
    """Listen, tell the TCP port, wait for the time at which the batch begins, and run it."""
    listening = socket.socket()
    # Little waits in the kernel, so that a port that is full is felt by who sends.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 * PIECE_BYTES)
    listening.bind(("127.0.0.1", 0))
    async with await asyncio.start_server(it.arrivals.joined, sock=listening, limit=PIECE_BYTES, backlog=1024):
        pipe.send(listening.getsockname()[1])
        began_s = await asyncio.to_thread(pipe.recv)
        await asyncio.sleep(max(began_s - time.monotonic(), 0.0))
        await it.begin(began_s)
    return it.arrivals.went
