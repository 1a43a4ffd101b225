# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A task that loses its cancellation is cancelled again."""

from __future__ import annotations

import asyncio
import contextlib
from unittest.mock import patch

import pytest
from eddy.pool.connection.tasks import ended, run_forever
from structlog.testing import capture_logs


def test_a_task_that_loses_a_cancellation_ends_too() -> None:
    async def loses_one() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    async def fails() -> None:
        raise ValueError

    async def go() -> list[object]:
        tasks = [asyncio.ensure_future(each()) for each in (loses_one, fails, asyncio.Event().wait)]
        await asyncio.sleep(0)
        return await asyncio.wait_for(ended(tasks), 180)

    with patch("eddy.pool.connection.tasks.AGAIN_S", 0.05):
        outcomes = asyncio.run(go())
    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError, ValueError, asyncio.CancelledError]


def test_one_that_is_ended_itself_meanwhile_leaves_no_task_behind() -> None:
    """A head ends its mirror, which ends what it follows: of both, the second cancellation came at the same moment."""
    ends: list[str] = []

    async def loses_one() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("inner")

    async def outer() -> None:
        inner = asyncio.ensure_future(loses_one())
        await asyncio.sleep(0)
        try:
            await asyncio.Event().wait()
        finally:
            await ended([inner])

    async def go() -> list[object]:
        task = asyncio.ensure_future(outer())
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)  # it waits for the inner one, which has lost its cancellation
        with patch("eddy.pool.connection.tasks.AGAIN_S", 0.05):
            outcomes = await asyncio.wait_for(ended([task]), 180)
        assert ends == ["inner"]
        return outcomes

    (outcome,) = asyncio.run(go())
    assert isinstance(outcome, asyncio.CancelledError)


def test_what_has_no_end_begins_again_where_it_ends_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("eddy.pool.connection.tasks.BEGIN_AGAIN_S", 0.001)
    times, again = [], asyncio.Event()

    async def gate() -> None:
        times.append(1)
        if len(times) == 1:
            raise RuntimeError("nobody foresaw this")
        if len(times) == 3:
            again.set()
            await asyncio.sleep(3600)

    async def play() -> None:
        task = asyncio.ensure_future(run_forever(gate))
        await asyncio.wait_for(again.wait(), 180)
        assert not task.done()
        await ended((task,))
        assert task.cancelled()

    with capture_logs() as logs:
        asyncio.run(play())
    assert [entry["log_level"] for entry in logs] == ["error", "error"]
