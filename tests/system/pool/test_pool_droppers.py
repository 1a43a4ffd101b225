# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Boards that take a job and drop it at once, against a real head: others get it, and the head does not loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from eddy.core.errors import NotFound, StorageFull
from eddy.pool.agent.head_client import HeadClient
from eddy.pool.connection.streams import RENEW_S
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.mirror.board_drops import LEASE_ENDED, NOT_COMMITTED, NOT_WORKED_ON, UNABLE
from eddy.pool.placement.stall_timeout import StallTimeout
from eddy.pool.records.records import SUCCEEDED, JobFenced, PoolBoard, PoolJob
from pool_boards import SHA, Boards, with_boards
from pool_kit import WAIT_S

FACTS = PoolBoard("b1", "k", 1, 1, ("a",), False, "s")


@contextlib.asynccontextmanager
async def doing(*loops: object) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(each) for each in loops]  # type: ignore[call-overload]
    try:
        yield
        assert not [task for task in tasks if task.done()], [task.exception() for task in tasks if task.done()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def renews(board: HeadClient) -> None:
    """Is there, and works on nothing."""
    await board.join(FACTS)
    while True:
        await board.renew(FACTS)
        await asyncio.sleep(RENEW_S)


async def taken(board: HeadClient) -> AsyncIterator[PoolJob]:
    """What a board is given."""
    queue = await board.queue()
    while True:
        for message in await queue.fetch(1, timeout=WAIT_S):  # for more than there is, the client would wait
            told = json.loads(message.data)
            await message.ack()
            with contextlib.suppress(JobFenced):
                yield await board.job(int(told["job"]), int(told["token"]))


async def works(board: HeadClient) -> None:
    """Does all it is given at once."""
    await board.join(FACTS)
    await board.renew(FACTS)
    async for job in taken(board):
        with contextlib.suppress(JobFenced):
            job = await board.report_started(job)
            part = {"first": job.done, "items": job.batch - job.done, "outputs": {"y": SHA}}
            await board.report_part(job, part, 0.1, None)


async def leaves(board: HeadClient) -> None:
    """Takes what it is given, ends its lease, and is back at once."""
    await board.join(FACTS)
    await board.renew(FACTS)
    async for _ in taken(board):
        await board.leave()
        await asyncio.sleep(0.2)
        await board.renew(FACTS)


async def lies(board: HeadClient) -> None:
    """Says that it works on all it is given, and commits nothing."""
    await board.join(FACTS)

    async def has() -> list[int]:
        for number in (mine := await board.placed_jobs()):
            with contextlib.suppress(JobFenced):
                await board.report_started(await board.job(number))
        return mine

    while True:
        with contextlib.suppress(NotFound):
            await board.renew(replace(FACTS, running=tuple(await has())))
        await asyncio.sleep(0.1)


async def cannot(board: HeadClient) -> None:
    """Has a full disk."""
    await board.join(FACTS)
    async for job in taken(board):
        with contextlib.suppress(JobFenced):
            await board.failed(await board.report_started(job), {"code": "job-failed", "cause": StorageFull.code})


async def submitted(boards: Boards, count: int) -> list[int]:
    table = PoolJobs(boards.link)
    return [(await table.submit("ada", {"application": "a", "batch": 1})).id for _ in range(count)]


async def had(boards: Boards, board: str, *numbers: int) -> bool:
    """Whether a board has, or had, one of these jobs."""
    jobs = [await PoolJobs(boards.link).job(number) for number in numbers]
    return any(job.board == board or board in [move["from"] for move in job.moves] for job in jobs)


async def done(boards: Boards, *numbers: int) -> list[PoolJob]:
    """Jobs, once they have ended."""
    table, deadline = PoolJobs(boards.link), asyncio.get_running_loop().time() + WAIT_S
    while True:
        jobs = [await table.job(number) for number in numbers]
        if all(job.is_ended for job in jobs):
            return jobs
        assert asyncio.get_running_loop().time() < deadline, jobs
        await asyncio.sleep(0.05)


def test_jobs_leave_boards_that_do_not_work_on_them(tmp_path: Path) -> None:
    """b1 renews its lease and does nothing; b2 does what both were given."""

    async def check(boards: Boards) -> None:
        async with boards.board("b1") as (_, idle), boards.board("b2") as (_, good):
            async with doing(renews(idle)):
                while not boards.lead.mirror.alive("b1"):
                    await asyncio.sleep(0.05)
                mine = [boards.job.id, *await submitted(boards, 3)]
                async with doing(works(good)):
                    jobs = await done(boards, *mine)
            assert {job.state for job in jobs} == {SUCCEEDED}
            moves = [move for job in jobs for move in job.moves]
            assert NOT_WORKED_ON in [move["because"] for move in moves if move["from"] == "b1"]
            assert {job.parts[-1].board for job in jobs} == {"b2"}

    with patch("eddy.pool.mirror.board_drops.NAMED_WITHIN_S", 1.5):
        with_boards(tmp_path, check, take_back_s=0.0)


def test_jobs_leave_boards_that_only_say_that_they_work(tmp_path: Path) -> None:
    """b1 begins what it is given, names it in each lease, and commits nothing; b2 does all there is."""

    async def check(boards: Boards) -> None:
        async with boards.board("b1") as (_, liar), boards.board("b2") as (_, good):
            async with doing(works(good)):
                await done(boards, boards.job.id, *await submitted(boards, 1))
            boards.lead._patience = StallTimeout(1.0)
            async with doing(lies(liar)):
                while not boards.lead.mirror.alive("b1"):
                    await asyncio.sleep(0.05)
                mine = await submitted(boards, 4)
                while not await had(boards, "b1", *mine):
                    await asyncio.sleep(0.05)
                async with doing(works(good)):
                    jobs = await done(boards, *mine)
            assert {(job.state, job.parts[-1].board) for job in jobs} == {(SUCCEEDED, "b2")}
            reasons = [str(move["because"]) for job in jobs for move in job.moves if move["from"] == "b1"]
            assert reasons
            assert all(because.startswith(NOT_COMMITTED) for because in reasons)
            assert boards.lead.mirror.drops.hold_back_s("b1") > 0

    with (
        patch("eddy.pool.mirror.board_drops.SILENT_S", 600.0),
        patch("eddy.pool.mirror.board_drops.NAMED_WITHIN_S", 600.0),
    ):
        with_boards(tmp_path, check, take_back_s=0.0)


def test_a_board_that_leaves_with_what_it_takes_is_held_back(tmp_path: Path) -> None:
    """Alone in the pool it would be given the same job for ever; then another board gets it."""

    async def check(boards: Boards) -> None:
        async with boards.board("b1") as (_, bad), boards.board("b2") as (_, good):
            await PoolJobs(boards.link).change(boards.job.id, lambda job: job.cancelled(0.0))
            (number,) = await submitted(boards, 1)
            async with doing(leaves(bad)):
                while not boards.lead.mirror.drops.hold_back_s("b1"):
                    await asyncio.sleep(0.05)
                job = await PoolJobs(boards.link).job(number)
                tried = len(job.moves)
                await asyncio.sleep(2.0)
                job = await PoolJobs(boards.link).job(number)
                assert len(job.moves) <= tried + 1, "it is not given to b1 again and again"
                assert {move["because"] for move in job.moves} == {LEASE_ENDED}
                (usable,) = [board for board in boards.lead.mirror.usable_boards if board.name == "b1"]
                assert usable.drained
                async with doing(works(good)):
                    (job,) = await done(boards, number)
            assert (job.state, job.parts[-1].board) == (SUCCEEDED, "b2")

    with (
        patch("eddy.pool.mirror.board_drops.FIRST_S", 600.0),
        patch("eddy.pool.mirror.board_drops.NAMED_WITHIN_S", 600.0),
    ):
        with_boards(tmp_path, check, take_back_s=0.0)


def test_a_board_whose_disk_is_full_fails_nobodys_jobs(tmp_path: Path) -> None:
    """Nor is it given one after another."""

    async def check(boards: Boards) -> None:
        async with boards.board("b1") as (_, full), boards.board("b2") as (_, good):
            (late,) = await submitted(boards, 1)
            async with doing(renews(full), cannot(full)):
                while not boards.lead.mirror.drops.hold_back_s("b1"):
                    await asyncio.sleep(0.05)
                async with doing(works(good)):
                    jobs = await done(boards, late, *await submitted(boards, 2))
            assert {(job.state, job.parts[-1].board) for job in jobs} == {(SUCCEEDED, "b2")}
            reasons = {move["because"] for move in jobs[0].moves}
            assert f"{UNABLE}: storage-full" in reasons

    with patch("eddy.pool.mirror.board_drops.FIRST_S", 600.0):
        with_boards(tmp_path, check, take_back_s=0.0)
