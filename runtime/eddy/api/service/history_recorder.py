# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Keeps what the board does, minute by minute."""

from __future__ import annotations

import time
from collections import Counter

import anyio
import anyio.to_thread
import structlog

from eddy.api.dependencies.context import Context
from eddy.board.selftest.sensors import temperatures
from eddy.core.errors import StorageFailed
from eddy.core.jobs import JobState
from eddy.hypervisor.cores.market_report import market_answer
from eddy.store.board_tables.samples import Sample, mean_of

LOOK_S, LOOKS = 5.0, 12
"""Wall seconds between two looks, and looks of which a sample is the mean."""
BUSY = ("running", "loading")
_log = structlog.get_logger("eddy.api")


class HistoryRecorder:
    """Looks at slots, jobs, prices and the temperature, and keeps the means."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._ended = Counter(context.store.happened.ended)

    async def run(self) -> None:
        """Keep a sample for each dozen of looks, until cancelled."""
        while True:
            looks = []
            for _ in range(LOOKS):
                await anyio.sleep(LOOK_S)
                looks.append(self.look())
            try:
                await anyio.to_thread.run_sync(self._context.store.samples.add, mean_of(looks))
            except StorageFailed as error:  # the store says so too
                _log.debug("a sample is not kept", code=error.code)

    def look(self) -> Sample:
        """What there is at this moment, and what ended since the last look."""
        engine, store = self._context.hypervisor, self._context.store
        slots, jobs = engine.slots(), Counter(store.jobs.unfinished_by_state())
        waiting, before = jobs[JobState.QUEUED.value], self._ended
        self._ended = Counter(store.happened.ended)
        ended = self._ended - before
        well = ended[JobState.SUCCEEDED.value]
        clusters = [] if engine.price is None else market_answer(engine.price, "")["clusters"]
        return Sample(
            int(time.time()),
            len(slots),
            sum(status.phase in BUSY for status in slots),
            jobs.total() - waiting,
            waiting,
            well,
            ended.total() - well,
            {str(cluster["slot"]): cluster["price"] for cluster in clusters},
            max(temperatures(), default=None),
        )
