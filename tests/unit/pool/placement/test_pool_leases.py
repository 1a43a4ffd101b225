# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When a board is taken to be gone: after `LEASE_S` in which it would have been heard, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.pool.connection.streams import LEASE_S, RENEW_S
from eddy.pool.jetstream.jobs import JobEntry
from eddy.pool.mirror.mirror import MAX_S, LeaseClock, Mirror
from eddy.pool.records.record_json import to_json
from eddy.pool.records.records import JobPart, PoolBoard, PoolJob
from nats.js.errors import BadRequestError


def test_time_in_which_nobody_is_heard_ends_no_lease() -> None:
    clock = [0.0]
    heard = LeaseClock(lambda: clock[0])
    for _ in range(4):
        clock[0] += RENEW_S
        heard.observe_beat()
    assert heard.s == 4 * RENEW_S
    before = heard.s
    clock[0] += 60.0  # the servers choose another leader of the bucket
    heard.observe_beat()
    assert heard.s - before == MAX_S < LEASE_S
    for _ in range(5):
        clock[0] += RENEW_S
        heard.observe_beat()
    assert heard.s - before > LEASE_S, "a board that is silent while others are heard is gone"


def test_a_head_follows_on_after_an_entry_that_it_cannot_deal_with() -> None:
    """It would place by what it knew before, for ever, and say nothing."""
    link: Any = SimpleNamespace(reconnects=0)
    mirror, begun, again = Mirror(link, "head"), list[str](), asyncio.Event()

    async def follows() -> None:
        begun.append("a time")
        if len(begun) == 1:
            raise RuntimeError("nobody foresaw this")
        again.set()
        await asyncio.sleep(3600)

    async def play() -> None:
        mirror._follows = (follows,)  # type: ignore[assignment]
        following = asyncio.ensure_future(mirror.run())
        await asyncio.wait_for(again.wait(), 180)
        assert not following.done()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    asyncio.run(play())


def test_a_head_that_cannot_follow_says_so_and_tries_less_and_less_often(capfd: pytest.CaptureFixture[str]) -> None:
    """Servers that refuse, for as long as they do, are not asked twice a second by each head."""
    link: Any = SimpleNamespace(reconnects=0)
    mirror, waits = Mirror(link, "head"), list[float]()

    async def refused() -> None:
        raise BadRequestError(code=400, description="maximum consumers limit reached")

    async def waited(most_s: float) -> None:
        waits.append(most_s)
        if len(waits) == 6:
            raise asyncio.CancelledError

    async def play() -> None:
        mirror._follows = (refused,)  # type: ignore[assignment]
        mirror._wait = waited  # type: ignore[method-assign]
        with pytest.raises(asyncio.CancelledError):
            await mirror.run()

    asyncio.run(play())
    assert waits == [1.0, 2.0, 4.0, 4.0, 4.0, 4.0]
    said = capfd.readouterr()
    assert "maximum consumers limit reached" in said.out + said.err


def test_parts_are_learned_once_and_by_the_kind_of_their_board_whichever_is_told_first() -> None:
    """Jobs of a pool that are told before its boards taught a head nothing, and what was told again counted twice."""
    link: Any = SimpleNamespace(reconnects=0)
    mirror = Mirror(link, "head")
    parts = tuple(JobPart(first, 1, {}, "b1", 1, 0.0, 2.0) for first in range(2))
    job = PoolJob(1, "ada", {"application": "a", "batch": 3}, 0.0, "running", "b1", 1, parts=parts)

    async def following(after: int) -> AsyncIterator[JobEntry | None]:
        assert after == 0
        for told, revision in ((replace(job, parts=parts[:1]), 8), (job, 9), (job, 9)):
            yield JobEntry("1", told, revision, 0, to_json(told))
        yield None

    async def lone_server() -> str:
        return ""

    async def state() -> tuple[int, int]:
        return 1, 9

    mirror.reader._table.following = following  # type: ignore[method-assign, assignment]
    mirror.reader._table.state = state  # type: ignore[method-assign]
    mirror.reader._table.lone_server = lone_server  # type: ignore[method-assign]

    async def play() -> None:
        jobs = asyncio.ensure_future(mirror._jobs())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not mirror.whole.is_set()
        mirror._board(PoolBoard("b1", "k", 1, 1, ("a",), False, "s"))
        mirror._kinds_known.set()
        await asyncio.wait_for(jobs, 180)
        assert mirror.whole.is_set()

    asyncio.run(play())
    assert mirror.estimates.known["a", "k"].count == 2
    assert mirror.jobs[1].done == 2
