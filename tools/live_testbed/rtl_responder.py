# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A responder host whose accelerator is the simulated RTL board under stock PYNQ, and whose jobs are real work.

An item is an image of `WIDTH` x `ROWS` pixels, other ones each time, which the module `level_shift` takes and writes as
blocks; what it wrote is compared with the reference. A second of the board lasts `PACE` seconds of the instance, as
long as this machine simulates it in that time.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np
from eddy.board.port.port import Access, BoardPort, EventKind, Grant, Launch
from eddy.board.remote.factory import open_board
from eddy_sim.reference import image_compression as reference

from live_testbed.arrivals import Arrivals, Batch, run_responder
from live_testbed.scales import Scales

PROFILE, MODULE = "tiny", "level_shift"
KIND = f"rtl/{PROFILE}"
WIDTH, ROWS = 128, 512
PACE = 400.0
LIMIT_S = 0.1
"""Board seconds that an item may take."""


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """Items to be run before any batch, so that it is known how long they take."""

    items: int
    scales: Scales


class RtlAccelerator:
    """One slot of a simulated board, with the module in it."""

    def __init__(self) -> None:
        self.board: BoardPort = open_board("rtl", PROFILE, modules=(MODULE,))
        image = next(image for image in self.board.images() if image.module == MODULE)
        self._slot, self._seen, self._item = image.slot, -1, 0
        self.board.load(self._slot, image.sha256)
        self._event(EventKind.CONFIGURED)
        self._in = self.board.allocate(WIDTH * ROWS, "testbed")
        self._out = self.board.allocate(2 * WIDTH * ROWS, "testbed")

    def _event(self, kind: EventKind) -> None:
        while not (events := self.board.wait(self.board.now_s() + 1.0, self._seen)):
            pass
        self._seen = events[-1].seq
        if events[-1].kind is not kind:
            raise RuntimeError(f"the simulated board says {events[-1]}, not {kind.value}")

    def compute(self) -> tuple[float, bool]:
        """Run an item; answers the board seconds it took, and whether what it wrote is right."""
        self._item += 1
        pixels = np.random.default_rng(self._item).integers(0, 256, (ROWS, WIDTH), np.uint8)
        self.board.write(self._in.id, 0, pixels.tobytes())
        registers = [(0x28, WIDTH), (0x30, ROWS)]
        for offset, address in ((0x10, self._in.address), (0x1C, self._out.address)):
            registers += [(offset, address & 0xFFFF_FFFF), (offset + 4, address >> 32)]
        grants = (Grant(self._in.id, Access.READ), Grant(self._out.id, Access.WRITE))
        began_s = self.board.now_s()
        self.board.launch(self._slot, Launch(f"item-{self._item}", tuple(registers), grants, LIMIT_S))
        self._event(EventKind.ITEM_DONE)
        took_s = self.board.now_s() - began_s
        wrote = np.frombuffer(self.board.read(self._out.id, 0, 2 * WIDTH * ROWS), "<i2").reshape(-1, 8, 8)
        return took_s, bool(np.array_equal(wrote, reference.level_shift(pixels)))

    async def paced(self, scales: Scales, from_s: float) -> tuple[float, bool]:
        """The same at the pace of the board; answers the monotonic time at which it has ended, and whether it is right.

        Args:
            scales: To this machine.
            from_s: Monotonic time at which it begins: when the one before ended.
        """
        took_s, right = await asyncio.to_thread(self.compute)
        ends_s = from_s + took_s * PACE * scales.wall_s
        await asyncio.sleep(max(ends_s - time.monotonic(), 0.0))
        return max(ends_s, time.monotonic()), right


class RtlResponder:
    """One batch on one responder.

    Args:
        batch: What is to come.
    """

    def __init__(self, batch: Batch, accelerator: RtlAccelerator) -> None:
        self.arrivals = Arrivals(batch, self._ready)
        self._accelerator = accelerator
        self._waiting: deque[int] = deque()

    def _ready(self, number: int) -> None:
        self._waiting.append(number)

    async def begin(self, began_s: float) -> None:
        """Compute jobs in the order in which they arrive, until all have ended."""
        self.arrivals.nothing_sent()
        while not self.arrivals.all_here or self._waiting:
            if self._waiting:
                await self._job(self._waiting.popleft())
            else:
                self.arrivals.changed.clear()
                await self.arrivals.changed.wait()

    async def _job(self, number: int) -> None:
        went, batch = self.arrivals.went[number], self.arrivals.batch
        took, at_s = list[float](), time.monotonic()
        for _ in range(batch.jobs[number].items):
            ended_s, right = await self._accelerator.paced(batch.scales, at_s)
            took.append(ended_s - at_s)
            went.right, at_s = went.right and right, ended_s
        went.items_s, went.ended_s = tuple(took), at_s


async def _learned(accelerator: RtlAccelerator, learning: TrainingRun) -> list[float]:
    took, at_s = list[float](), time.monotonic()
    for _ in range(learning.items):
        ended_s, right = await accelerator.paced(learning.scales, at_s)
        if not right:
            raise RuntimeError("the simulated board wrote what the reference does not")
        took.append(ended_s - at_s)
        at_s = ended_s
    return took


def serve(pipe: Connection) -> None:
    """As `live_testbed.responder.serve`; a `TrainingRun` is answered by the wall seconds of each item."""
    accelerator = RtlAccelerator()
    try:
        while (asked := pipe.recv()) is not None:
            if isinstance(asked, TrainingRun):
                pipe.send(asyncio.run(_learned(accelerator, asked)))
            else:
                pipe.send(asyncio.run(run_responder(RtlResponder(asked, accelerator), pipe)))
    finally:
        accelerator.board.release()
