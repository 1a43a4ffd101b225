# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The end of tasks that were begun here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import structlog

AGAIN_S = 10.0
"""Wall seconds after which a task that has not ended is cancelled again; until then it may be cleaning up."""
BEGIN_AGAIN_S = 1.0
_log = structlog.get_logger("eddy.pool")


async def run_forever(run: Callable[[], Awaitable[None]]) -> None:
    """Run what has no end until cancelled; it begins again where it ends nevertheless, which nobody else would see."""
    while True:
        try:
            await run()
            _log.error("a part of this process has ended, and begins again", part=repr(run))
        except Exception:
            _log.exception("a part of this process has failed, and begins again", part=repr(run))
        await asyncio.sleep(BEGIN_AGAIN_S)


async def ended(tasks: Iterable[asyncio.Future[Any]]) -> list[Any]:
    """Cancel tasks and wait until they have ended; answers their results and exceptions, in order.

    Before Python 3.12 `asyncio.wait_for`, which calls to the servers are made of, loses a cancellation that comes as
    what it waits for ends. The task goes on then, so it is cancelled until it has ended. A caller that is cancelled
    meanwhile, as by an `ended` of its own, passes that on, and leaves none of them behind.

    Raises:
        CancelledError: The caller was cancelled; they have ended.
    """
    tasks, again = tuple(tasks), None
    going = {task for task in tasks if not task.done()}
    while going:
        for task in going:
            task.cancel()
        try:
            _, going = await asyncio.wait(going, timeout=AGAIN_S)
        except asyncio.CancelledError as cancelled:
            again, going = cancelled, {task for task in going if not task.done()}
    if again is not None:
        raise again
    return await asyncio.gather(*tasks, return_exceptions=True)
