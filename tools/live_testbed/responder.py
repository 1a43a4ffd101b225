"""A responder host in a process of its own: a network port, and a `model` board whose slots are its accelerators."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from eddy.board.model import ModelBoard
from eddy.board.port import EventKind, Launch
from eddy.board.profile import load_profile
from eddy.pool.pace import TokenBucket

from live_testbed.scales import BURST_S, HEADER_BYTES, PIECE_BYTES, SPARE, Scales, content

PROFILE = "zcu106"
"""Ten slots."""
MODULE = "job"


@dataclass(frozen=True, slots=True)
class Expected:
    """A job that is to come here.

    Attributes:
        size_bytes: Of its input.
        slot: Accelerator it was placed on.
        takes_s: Seconds of the instance that it computes.
    """

    size_bytes: int
    slot: int
    takes_s: float


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
class Went:
    """What became of a job: monotonic times, and whether its bytes were right."""

    arrived_s: float = 0.0
    ended_s: float = 0.0
    slot: int = -1
    right: bool = False


@dataclass
class Responder:
    """One batch on one responder.

    Attributes:
        batch: What is to come.
        began_s: Monotonic time at which the batch begins; infinite until that is told.
        went: What has come, by job.
    """

    batch: Batch
    began_s: float = float("inf")
    went: dict[int, Went] = field(default_factory=dict)

    def __post_init__(self) -> None:
        times = {f"job-{number}": job.takes_s for number, job in self.batch.jobs.items()}
        self.board = ModelBoard.from_profile(load_profile(PROFILE), [MODULE], lambda _, item: times[item])
        images = {image.slot: image.sha256 for image in self.board.images()}
        self._seen = -1
        for slot in {job.slot for job in self.batch.jobs.values()}:
            self.board.load(slot, images[slot])
            while not (events := self.board.wait(float("inf"), self._seen)):
                pass
            self._seen = events[-1].seq
        self._zero_s = self.board.now_s()
        """Board time at the batch's beginning: loading is no part of it."""
        self._waiting: dict[int, deque[int]] = {job.slot: deque() for job in self.batch.jobs.values()}
        self._busy: dict[int, int] = {}
        """What each slot runs."""
        self._ends_s: dict[int, float] = {}
        """Board time at which that ends."""
        self._changed = asyncio.Event()
        ingress_bps = SPARE * self.batch.scales.bps_of(self.batch.ingress_bps)
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
        self.went[number] = Went(arrived_s=now_s, slot=job.slot, right=right)
        if job.takes_s > 0:
            self._waiting[job.slot].append(number)
        else:
            self.went[number].ended_s = now_s
        self._changed.set()

    async def compute(self) -> None:
        """Run jobs as they arrive, each on its accelerator, until all have ended."""
        for number, job in self.batch.jobs.items():
            if not job.size_bytes:
                self.arrived(number, right=True)
        while True:
            self._changed.clear()
            self._step()
            if len(self.went) == len(self.batch.jobs) and not self._busy:
                return
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(self._ends(), default=None))

    def _now_s(self) -> float:
        """Board time."""
        return (time.monotonic() - self.began_s) / self.batch.scales.wall_s + self._zero_s

    def _step(self) -> None:
        """Bring the board to now, see what has ended, and start what can be."""
        now_s = self._now_s()
        while events := self.board.wait(now_s, self._seen):
            for event in events:
                self._seen = event.seq
                if event.kind is EventKind.ITEM_DONE:
                    self.went[self._busy.pop(event.slot)].ended_s = time.monotonic()
        for slot, waiting in self._waiting.items():
            if waiting and slot not in self._busy:
                self._busy[slot] = number = waiting.popleft()
                self.board.launch(slot, Launch(f"job-{number}", (), (), float("inf")))
                self._ends_s[slot] = self.board.now_s() + self.batch.jobs[number].takes_s

    def _ends(self) -> list[float]:
        """Wall seconds until each running job ends."""
        now_s = self._now_s()
        return [max(self._ends_s[slot] - now_s, 0.0) * self.batch.scales.wall_s for slot in self._busy]


def serve(pipe: Connection) -> None:
    """Serve batches until told to end: a `Batch`, answered by the TCP port; then the monotonic time at which it begins;
    answers what became of each job."""
    while (batch := pipe.recv()) is not None:
        pipe.send(asyncio.run(_batch(batch, pipe)))


async def _batch(batch: Batch, pipe: Connection) -> dict[int, Went]:
    it = Responder(batch)
    listening = socket.socket()
    # Little waits in the kernel, so that a port that is full is felt by who sends.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 * PIECE_BYTES)
    listening.bind(("127.0.0.1", 0))
    async with await asyncio.start_server(it.joined, sock=listening, limit=PIECE_BYTES, backlog=1024):
        pipe.send(listening.getsockname()[1])
        it.began_s = await asyncio.to_thread(pipe.recv)
        await asyncio.sleep(max(it.began_s - time.monotonic(), 0.0))
        await it.compute()
    return it.went
