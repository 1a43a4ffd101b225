# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Inputs that boards are fetching: how many each may at once, that nothing is left of them, and how often it is told.

A server bounds the consumers of a stream, and each fetch is one. A board says when it has what it fetched, and then its
consumer goes; one that only begins, as the key of a stolen board could, takes the place of its own earlier ones.
"""

from __future__ import annotations

from collections import defaultdict, deque

from eddy.pool.connection.transfer import WaitingBlob
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.records.records import PoolJob

MOST_AT_ONCE = 32
"""Fetches of a board that a head has begun for it at most, beyond which the oldest is given up; of one that has many
jobs, two for each, as each fetches one input at a time."""
KEPT = 10_000
"""Jobs of which it is kept how often a transfer was told of."""
AGAIN = 2
"""Times that a transfer may be told of: an answer that was lost is asked for again."""


class BlobFetches:
    """Those that one head began.

    Args:
        blobs: The pool's.
    """

    def __init__(self, blobs: PoolBlobs) -> None:
        self._blobs = blobs
        self._begun: defaultdict[str, deque[str]] = defaultdict(deque)

    async def offer_blob(self, board: str, tenant: str, sha256: str, jobs: int = 0) -> WaitingBlob:
        """Have a blob wait for a board, which has so many jobs.

        Raises:
            NotFound: It is not there.
        """
        waiting, begun = await self._blobs.waiting(tenant, sha256, board), self._begun[board]
        if waiting.consumer:
            begun.append(waiting.consumer)
            if len(begun) > max(MOST_AT_ONCE, 2 * jobs):
                await self._blobs.forget(begun.popleft())
        return waiting

    async def finish_fetch(self, board: str, consumer: str) -> None:
        """A board has what it fetched, from whichever head; a name that is not one of its own changes nothing."""
        if consumer.rpartition("-")[0] != board:
            return
        if consumer in self._begun[board]:
            self._begun[board].remove(consumer)
        await self._blobs.forget(consumer)


class Transfers:
    """Transfers that one head told followers of. What is told stays a week, and boards may say what they like."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[int, int]] = {}

    def count_transfer(self, job: PoolJob) -> bool:
        """Count a transfer of a job; false where there were more than its inputs under this placement."""
        token, number = self._told.pop(job.id, (job.token, 0))
        number = 1 if token != job.token else number + 1
        self._told[job.id] = job.token, number
        if len(self._told) > KEPT:
            del self._told[next(iter(self._told))]
        return number <= AGAIN * len(job.blobs)
