"""A task that loses its cancellation is cancelled again."""

from __future__ import annotations

import asyncio
from unittest.mock import patch

from eddy.pool.ending import ended


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

    with patch("eddy.pool.ending.AGAIN_S", 0.05):
        outcomes = asyncio.run(go())
    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError, ValueError, asyncio.CancelledError]
