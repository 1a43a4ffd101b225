"""The end of tasks that were begun here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_S = 10.0
"""Wall seconds after which a task that has not ended is cancelled again; until then it may be cleaning up."""


async def ended(tasks: Iterable[asyncio.Future[Any]]) -> list[Any]:
    """Cancel tasks and wait until they have ended; answers their results and exceptions, in order.

    Before Python 3.12 `asyncio.wait_for`, which calls to the servers are made of, loses a cancellation that comes as
    what it waits for ends. The task goes on then, so it is cancelled until it has ended.
    """
    tasks = tuple(tasks)
    going = {task for task in tasks if not task.done()}
    while going:
        for task in going:
            task.cancel()
        _, going = await asyncio.wait(going, timeout=AGAIN_S)
    return await asyncio.gather(*tasks, return_exceptions=True)
