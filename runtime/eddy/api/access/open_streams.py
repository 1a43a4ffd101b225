# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Streams end with what opened them: a key that is revoked or expires, a session that is closed.

A request is checked when it comes, and most are answered soon after. A feed of events may stay open for days; a wait
for the end of a job, and an upload, for long enough that somebody who took a key would still have something of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from eddy.api.access.sessions import Sessions
from eddy.api.http.current_request import cookie_in_use, key_in_use
from eddy.core.errors import NotFound, Unauthorized
from eddy.core.tenants import ApiKey

LOOK_S = 1.0
"""Wall seconds after which a stream has ended at the latest, where its key has."""


class KeysByName(Protocol):
    """The keys there are."""

    def get(self, name: str, /) -> ApiKey:
        """The key of a name.

        Raises:
            NotFound: There is none.
        """


@dataclass(frozen=True, slots=True)
class Credential:
    """What a stream was opened with.

    Attributes:
        cookie: Value of the session's cookie; "" for none.
    """

    key: str
    cookie: str = ""

    @classmethod
    def in_use(cls) -> Credential:
        """That of the request under way."""
        return cls(key_in_use.get(), cookie_in_use.get())


@dataclass(slots=True)
class OpenStreams:
    """Every open stream, by what it was opened with: a look costs as much as there are keys, not streams.

    Attributes:
        clock: Wall time, in seconds since 1970.
    """

    keys: KeysByName
    sessions: Sessions
    clock: Callable[[], float] = time.time
    _open: dict[Credential, set[asyncio.Future[None]]] = field(default_factory=dict)

    @contextlib.contextmanager
    def track_stream(self, credential: Credential) -> Iterator[asyncio.Future[None]]:
        """Count a stream in; what it yields is done once the stream may not go on."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        mine = self._open.setdefault(credential, set())
        mine.add(over)
        try:
            yield over
        finally:
            over.cancel()
            mine.discard(over)
            if not mine:
                self._open.pop(credential, None)

    def keys_in_use(self) -> list[str]:
        """Names of the keys of streams that are open."""
        return [credential.key for credential in self._open]

    def is_authorized(self, credential: Credential) -> bool:
        """Whether a request with it would be taken."""
        try:
            key = self.keys.get(credential.key)
        except NotFound:
            return False
        if key.ended(self.clock()):
            return False
        return not credential.cookie or self.sessions.of(credential.cookie) is not None

    def check(self, credential: Credential) -> None:
        """See that a request that is under way may go on.

        Raises:
            Unauthorized: Its key, or its session, has ended meanwhile.
        """
        if not self.is_authorized(credential):
            message = "The key or session this request came with has ended meanwhile; take another one."
            raise Unauthorized(message, field="Authorization")

    def end_revoked(self) -> None:
        """End the streams that may not go on."""
        for credential, streams in list(self._open.items()):
            if not self.is_authorized(credential):
                for over in streams:
                    if not over.done():
                        over.set_result(None)

    async def watch(self) -> None:
        """Look again and again."""
        while True:
            await anyio.sleep(LOOK_S)
            self.end_revoked()
