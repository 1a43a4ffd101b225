# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Groups submissions: those that wait at the same time are committed together.

While one group is made durable, which takes a synchronisation of the disk, the next one gathers. So a lone submission
waits for nobody, and many at once share the transaction and the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

MAX_GROUP = 256
"""Submissions of one group."""

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class SubmissionQueue(Generic[Asked, Answer]):
    """Gathers what waits and lets it in, group by group, in order.

    Args:
        let_in: Deals with a group, in a thread of its own; answers for each what came of it, or what it is to raise.
        done: Called in the event loop after every group.
    """

    def __init__(
        self, let_in: Callable[[Sequence[Asked]], Sequence[Answer | Exception]], done: Callable[[], None]
    ) -> None:
        self._let_in, self._done = let_in, done
        self._waiting: list[tuple[Asked, asyncio.Future[Answer]]] = []
        self._porter: asyncio.Task[None] | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def busy(self) -> bool:
        """Whether somebody waits; from any thread."""
        return self._porter is not None

    async def put(self, asked: Asked) -> Answer:
        """Wait for the next group.

        Raises:
            Exception: What `let_in` answered for it.
        """
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, future))
        if self._porter is None:
            self._porter = asyncio.create_task(self._open())
        return await future

    async def _open(self) -> None:
        """Let in group after group until nobody waits."""
        self._limiter = self._limiter or anyio.CapacityLimiter(1)
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:MAX_GROUP], self._waiting[MAX_GROUP:]
                await self._deal_with(group, self._limiter)
        finally:
            self._porter = None

    async def _deal_with(
        self, group: Sequence[tuple[Asked, asyncio.Future[Answer]]], limiter: anyio.CapacityLimiter
    ) -> None:
        answers: Sequence[Answer | Exception]
        try:
            answers = await anyio.to_thread.run_sync(self._let_in, [asked for asked, _ in group], limiter=limiter)
        except Exception as failure:
            answers = [failure] * len(group)
        for (_, future), answer in zip(group, answers, strict=True):
            _settle(future, answer)
        self._done()


def _settle(future: asyncio.Future[Answer], answer: Answer | Exception) -> None:
    if future.done():  # whoever asked is gone
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
