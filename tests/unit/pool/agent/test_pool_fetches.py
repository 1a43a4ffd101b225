# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How many fetches of a board a head keeps: as many as its jobs may have, and no more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from eddy.pool.connection.transfer import WaitingBlob
from eddy.pool.head.fetches import MOST_AT_ONCE, BlobFetches


class Blobs:
    def __init__(self) -> None:
        self.begun = 0
        self.gone: list[str] = []

    async def waiting(self, tenant: str, sha256: str, board: str) -> WaitingBlob:
        self.begun += 1
        return WaitingBlob(f"{board}-{self.begun:032x}", 5)

    async def forget(self, consumer: str) -> None:
        self.gone.append(consumer)


@pytest.mark.parametrize(("jobs", "kept"), [(0, MOST_AT_ONCE), (1, MOST_AT_ONCE), (41, 82)])
def test_a_board_of_many_jobs_fetches_as_many_inputs_at_once(jobs: int, kept: int) -> None:
    blobs: Any = Blobs()
    fetches = BlobFetches(blobs)

    async def go() -> None:
        for _ in range(100):
            await fetches.offer_blob("b1", "ada", "x", jobs)

    asyncio.run(go())
    assert len(blobs.gone) == 100 - kept
