# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the pool's servers say, told apart: that they are not there, and that they will not.

A server that does not answer, or has no leader for a stream now, may do the same call in a moment: `AWAY`, and whoever
waits calls again. One that answers with an error says no, and says why: `SAID_NO`. Nobody waits for that to change
without a word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from nats.errors import (
    BadSubjectError,
    ConnectionClosedError,
    ConnectionDrainingError,
    ConnectionReconnectingError,
    MaxPayloadError,
    NoRespondersError,
    NoServersError,
    OutboundBufferLimitError,
    SlowConsumerError,
    StaleConnectionError,
)
from nats.js import JetStreamContext
from nats.js.api import PubAck, StreamInfo
from nats.js.errors import (
    APIError,
    ConsumerSequenceMismatchError,
    InvalidKeyError,
    NoStreamResponseError,
    NotFoundError,
    ServiceUnavailableError,
)

from eddy.core.errors import EddyError, StorageFull

AWAY = (
    OSError,
    asyncio.TimeoutError,
    ConnectionClosedError,
    ConnectionDrainingError,
    ConnectionReconnectingError,
    ConsumerSequenceMismatchError,
    NoRespondersError,
    NoServersError,
    NoStreamResponseError,
    OutboundBufferLimitError,
    ServiceUnavailableError,
    SlowConsumerError,
    StaleConnectionError,
)
"""What calls raise while the pool's servers are away."""
LASTING = (MaxPayloadError, BadSubjectError, InvalidKeyError)
"""What a call raises for ever: what it says is too large, or no name."""
SAID_NO = (APIError,)
"""What calls raise where the servers answer that they will not; `AWAY` has some of them, so it is asked for first."""
UNDONE = (*AWAY, *SAID_NO, StorageFull)
"""Whatever keeps a call from being done, for who tidies up and leaves the rest to others."""
FULL = (10023, 10047, 10077)
"""Codes of errors of JetStream: what it may keep is used up.  Source: NATS, errors.json."""
NOTHING = "eddy.nothing"
"""A subject that nothing has."""
NO_STREAM = 10059
"""Code of an error of JetStream: there is no such stream.  Source: NATS, errors.json."""
WRONG_LAST_SEQUENCE = (10071, 10164)
"""Codes of errors of JetStream: an entry is not of the revision that it should be.  Source: NATS, errors.json."""
T = TypeVar("T")


class PoolRefused(EddyError):
    """The pool's servers answer, and will not."""

    code = "pool-refused"


def translate_refusal(said: BaseException) -> PoolRefused:
    """Say what the servers said."""
    why = getattr(said, "description", None) or repr(said)
    return PoolRefused(f"The pool's servers refuse this: {why}.", cause=code_of(said))


def code_of(said: BaseException) -> int | None:
    """JetStream's code of an error; None where it has none. The client's own errors of keys lack the attribute."""
    return getattr(said, "err_code", None)


def is_stream_missing(said: BaseException) -> bool:
    """Whether the servers said that a stream, or a bucket, is not there: nothing of what it kept can be known."""
    return isinstance(said, NotFoundError) and code_of(said) == NO_STREAM


class PoolStreams(JetStreamContext):
    """JetStream, which says that the store is full where it is, and what is so for certain.

    One server answers for each stream. Where it has lost the others, it goes on answering for ten seconds and more, as
    it does not know yet; and they may have chosen another. What it has not, they may have. So nobody is told that
    something is not there before a majority has stood behind who says so: in a moment at which they take something
    together, though it changes nothing.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._under_way: dict[str, asyncio.Future[Any]] = {}
        self._next: dict[str, asyncio.Future[Any]] = {}

    async def confirm_stream(self, stream: str) -> StreamInfo:
        """A stream as it is, for certain; what is read of it after that has all that was there when this was called.

        Raises:
            TimeoutError, APIError: No majority stands behind who answers, or nobody answers.
        """

        async def confirm() -> StreamInfo:
            info = await self.stream_info(stream)
            if (info.config.num_replicas or 1) > 1:
                await self.purge_stream(stream, subject=NOTHING)  # they agree on it as on whatever they keep
                info = await self.stream_info(stream)
            return info

        return await self.ask_together(stream, confirm)

    async def ask_together(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` answers, which begins after this was called. Those who ask the same while an answer is on its way
        wait for the next together.

        Args:
            what: Names the question.
        """
        if (asked := self._next.get(what)) is None:
            asked = self._next[what] = asyncio.ensure_future(self._asked(what, ask))
            asked.add_done_callback(lambda done: done.cancelled() or done.exception())
        answer: T = await asyncio.shield(asked)
        return answer

    async def _asked(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        if (before := self._under_way.get(what)) is not None:
            await asyncio.wait([before])
        mine = self._under_way[what] = self._next.pop(what)
        try:
            return await ask()
        finally:
            if self._under_way[what] is mine:
                del self._under_way[what]

    async def publish(self, subject: str, *args: Any, **kwargs: Any) -> PubAck:
        """Publish.

        Raises:
            StorageFull: What the servers may keep is used up.
        """
        try:
            return await super().publish(subject, *args, **kwargs)
        except APIError as refused:
            if code_of(refused) in FULL:
                message = "The pool's store is full: delete blobs, or outputs of jobs, or give its servers more room."
                raise StorageFull(message) from refused
            raise
