# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that ended go by age and number, whole and with all they left, and what their tenants had stays counted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from eddy.core.errors import NotFound
from eddy.pool.connection.streams import EVENTS, KEPT, PASSING_ON
from eddy.pool.connection.tasks import ended
from eddy.pool.head import record_collector
from eddy.pool.head.record_collector import RecordCollector
from eddy.pool.jetstream import byte_accounts
from eddy.pool.jetstream.blobs import IncomingBlob, PoolBlobs
from eddy.pool.jetstream.byte_accounts import OWNER
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import Link
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.placement.leader import Leader
from eddy.pool.records.records import JobPart, PoolJob
from eddy.store.db.bounds import JobBounds
from pool_boards import all_jobs, objects_in, on_two_links
from pool_kit import WAIT_S

ALL = JobBounds(max_age_s=1e-6)


class Pool:
    """Two heads' views of a pool, the first of which removes."""

    def __init__(self, one: Link, two: Link) -> None:
        self.link, self.table, self.blobs = one, PoolJobs(one), PoolBlobs(one)
        self.lead, self.other = Leader(one, "one"), Mirror(two, "two")
        self.views = [self.lead.mirror, self.other]

    async def run(self, jobs: list[PoolJob], board: str = "b1") -> list[PoolJob]:
        """Have jobs run and end, each with an output of its own."""
        return [await self.run_one(job, board, f"output {job.id}".encode()) for job in jobs]

    async def run_one(self, job: PoolJob, board: str, output: bytes) -> PoolJob:
        placed = await self.table.change(job.id, lambda it: it.place_on(board, 0.0, {}))
        sha = await self.blobs.put("ada", output)
        assert await self.blobs.refer("ada", sha, str(job.id))
        await self.blobs.let_go("ada", OWNER, [sha], lambda *_: False)
        part = JobPart(0, 1, {"x": sha}, board, placed.token, self.table.now() - 2.0, self.table.now())
        return await self.table.change(job.id, lambda it: it.commit_part(part))

    async def collect(self, bounds: JobBounds) -> int:
        await self.caught_up()
        collector = RecordCollector(self.link, self.lead, self.blobs, bounds)
        await collector.collect()
        await self.caught_up()
        return collector.removed

    async def caught_up(self) -> None:
        for view in self.views:
            await view.wait_caught_up()

    async def counts(self) -> dict[str, int]:
        """Messages of each stream."""
        names = ("KV_eddy_jobs", "KV_eddy_submissions", EVENTS)
        found = {name: int((await self.link.js.stream_info(name)).state.messages) for name in names}
        return {**found, "blobs": len(await objects_in(self.link))}

    async def sizes(self, folder: Path) -> dict[str, int]:
        """Bytes of files in the place for bytes, and of messages of each stream; what the tenant counts."""
        found = {name: int((await self.link.js.stream_info(name)).state.bytes) for name in (*KEPT, *PASSING_ON)}
        files = [path.stat().st_size for path in (folder / "bytes").rglob("*") if path.is_file()]
        counted = (await self.link.accounts.of("ada")).total
        return {**found, "bytes": sum(files), "counted": counted, "records": self.views[0].projection.total_bytes()}

    def figures(self) -> list[Any]:
        """What each head counts."""
        kept = [view.projection for view in self.views]
        return [(each.usage(None, "", "9999"), each.total_bytes(), each.tenant_bytes("ada")) for each in kept]


def with_pool(folder: Path, what: Any) -> None:
    async def go(one: Link, two: Link) -> None:
        pool = Pool(one, two)
        following = [asyncio.ensure_future(each.run()) for each in pool.views]
        try:
            for view in pool.views:
                await asyncio.wait_for(view.whole.wait(), WAIT_S)
            await what(pool)
        finally:
            await ended(following)

    with patch.object(record_collector, "MIN_AGE_S", 0.0), patch.object(record_collector, "MARK_S", 0.0):
        on_two_links(folder, go)


BODY = {"application": "a", "batch": 1}


def test_what_goes_leaves_nothing_and_what_was_had_stays_counted(tmp_path: Path) -> None:
    async def play(pool: Pool) -> None:
        empty = await pool.counts()
        jobs = await pool.run([await pool.table.submit("ada", BODY, f"k{i}") for i in range(12)])
        await pool.caught_up()
        before, counts = pool.figures(), await pool.counts()
        assert before[0] == before[1]
        assert before[0][0][0][2].slot_ns == pytest.approx(24e9, rel=1e-3)
        assert await pool.collect(JobBounds(max_jobs_per_tenant=8)) == 12 - 7, "nine tenths of a bound are left"
        for job in jobs[:5]:
            with pytest.raises(NotFound):
                await pool.table.job(job.id)
        assert [(await pool.table.job(job.id)).state for job in jobs[5:]] == ["succeeded"] * 7
        after, left = pool.figures(), await pool.counts()
        assert after[0] == after[1]
        assert after[0][0] == before[0][0], "usage"
        assert after[0][1] == pytest.approx(before[0][1] * 7 / 12, rel=0.02), "bytes of records"
        for stream in counts:
            taken = (counts[stream] - left[stream]) / (counts[stream] - empty[stream])
            assert taken == pytest.approx(5 / 12, abs=0.1), (stream, empty, counts, left)
        assert await pool.collect(ALL) == 7
        assert await pool.collect(ALL) == 0
        assert await pool.counts() == empty
        assert [each[1] for each in pool.figures()] == [0, 0]
        fresh = Mirror(pool.link, "three")
        task = asyncio.ensure_future(fresh.run())
        pool.views.append(fresh)
        try:
            await asyncio.wait_for(fresh.whole.wait(), WAIT_S)
            again = await pool.run([await pool.table.submit("ada", BODY, "k0")])
            assert again[0].id > jobs[-1].id, "the key names nothing any more, and no number is given twice"
            await pool.caught_up()
            one, two, three = pool.figures()
            assert one == two == three
            assert one[0][0][2].slot_ns == pytest.approx(26e9, rel=1e-3)
        finally:
            pool.views.pop()
            await ended([task])

    with_pool(tmp_path, play)


def test_a_pool_that_writes_ten_times_what_it_keeps_ends_as_large_as_it_began(tmp_path: Path) -> None:
    """Jobs have inputs and outputs of their own, some fail, and some senders break off. Inputs are deleted by their
    tenant, and jobs are removed beyond a number; what servers keep as a sign that something went stays a second."""
    size, jobs, kept = 60_000, 12, JobBounds(max_jobs_per_tenant=10)

    async def play(pool: Pool) -> None:
        written, first = 0, dict[str, int]()

        async def breaks_off() -> AsyncIterator[bytes]:
            yield bytes(size)
            raise ConnectionError

        async def one_job(number: int) -> int:
            sha = await pool.blobs.put("ada", os.urandom(size))
            job = await pool.table.submit("ada", {**BODY, "inputs": {"x": [sha]}}, f"k{number}")
            if number % 4:
                await pool.run_one(job, "b1", os.urandom(size))
            else:
                await pool.table.change(job.id, lambda it: it.cancelled(time.time()))
                with contextlib.suppress(ConnectionError):
                    await pool.blobs.store(IncomingBlob("ada", "0" * 64, "", 2 * size, 1 << 40), breaks_off())
            assert await pool.blobs.release("ada", sha, OWNER)
            return 2 * size

        number = rounds = 0
        while rounds < 3 or written < 10 * sum(first.values()):
            for _ in range(jobs):
                written += await one_job(number)
                number += 1
            await pool.collect(kept)
            rounds += 1
            if rounds == 2:
                first = await pool.sizes(tmp_path)
                assert first["bytes"] > 5 * size, "something is kept"
        until_s = time.monotonic() + WAIT_S
        while grown(last := await pool.sizes(tmp_path), first):
            assert time.monotonic() < until_s, (first, last, written)
            await asyncio.sleep(0.5)

    def grown(last: dict[str, int], first: dict[str, int]) -> set[str]:
        """What is larger than it was, by more than two jobs in ten."""
        return {what for what in first if last[what] > 1.2 * first[what] + 4_000}

    with patch.object(byte_accounts, "MARKER_S", 1):
        with_pool(tmp_path, play)


def test_what_is_named_stays_and_an_array_goes_whole(tmp_path: Path) -> None:
    async def play(pool: Pool) -> None:
        first = await pool.table.submit_array("ada", [BODY] * 3)
        await pool.caught_up()
        assert first.array is not None
        jobs = pool.lead.mirror.projection.members(first.array.id)
        await pool.run(jobs[:2])
        alone, partner, free = await pool.run([await pool.table.submit("ada", BODY) for _ in range(3)])
        await pool.table.submit("ada", {**BODY, "after": [alone.id]})
        goes_with = await pool.table.submit("ada", {**BODY, "same_board_as": partner.id})
        assert await pool.collect(ALL) == 1
        with pytest.raises(NotFound):
            await pool.table.job(free.id)
        await pool.run([jobs[2]])
        await pool.table.change(goes_with.id, lambda job: job.cancelled(1.0))
        assert await pool.collect(ALL) == 3 + 2, "the array, who went with another, and that other"
        assert (await pool.table.job(alone.id)).state == "succeeded", "a job waits for it"
        assert pool.lead.mirror.projection.members(first.array.id) == []

    with_pool(tmp_path, play)


@pytest.mark.parametrize("at", ["_remove_job", "_remove_submission", "_remove_record", "_heard_of"])
def test_a_head_that_ends_in_between_loses_and_doubles_nothing(tmp_path: Path, at: str) -> None:
    async def play(pool: Pool) -> None:
        await pool.run([await pool.table.submit("ada", BODY) for _ in range(4)])
        await pool.caught_up()
        before = pool.figures()[0][0]
        plain, calls = getattr(RecordCollector, at), list[int]()

        async def breaks(it: RecordCollector, *arguments: Any) -> None:
            calls.append(1)
            if len(calls) == 2 or at == "_heard_of":
                raise asyncio.TimeoutError("killed")
            await plain(it, *arguments)

        with patch.object(RecordCollector, at, breaks), pytest.raises(asyncio.TimeoutError):
            await pool.collect(ALL)
        await pool.caught_up()
        assert [each[0] for each in pool.figures()] == [before] * 2
        await pool.collect(ALL)
        assert [each[:2] for each in pool.figures()] == [(before, 0)] * 2
        assert await all_jobs(pool.link) == []

    with_pool(tmp_path, play)
