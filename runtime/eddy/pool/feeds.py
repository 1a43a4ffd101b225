"""Feeds of a head end with what opened them: a key that is revoked or expires, a session that is closed.

As on a board (`eddy.api.open_streams`); here keys are on the pool's servers, and any head may revoke one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.requests import Request

from eddy.api.open_streams import LOOK_S
from eddy.api.sessions import COOKIE, Sessions
from eddy.core.errors import Unauthorized
from eddy.pool.link import AWAY
from eddy.pool.tenant_keys import hash_of


@dataclass(frozen=True, slots=True)
class HeadCredential:
    """What a feed was opened with.

    Attributes:
        key_hash: Of the key.
        cookie: Value of the session's cookie; "" for none.
    """

    key_hash: str
    cookie: str = ""

    @classmethod
    def of(cls, request: Request, sessions: Sessions) -> HeadCredential:
        """That of a request that was let in."""
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return cls(hash_of(key.strip()))
        cookie = request.cookies.get(COOKIE, "")
        session = sessions.of(cookie)
        return cls("" if session is None else session.key_hash, cookie)


@dataclass(slots=True)
class _Look:
    good: bool = True
    at_s: float = 0.0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    feeds: int = 0


class Feeds:
    """Every open feed, by what it was opened with: a look costs as much as there are credentials, not feeds.

    Args:
        sessions: Those that are open at this head.
        let_in: Raises `Unauthorized` where a key of this hash is none, or has ended.
        clock: Seconds that never jump.
    """

    def __init__(
        self,
        sessions: Sessions,
        let_in: Callable[[str], Awaitable[object]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sessions, self._let_in, self._clock = sessions, let_in, clock
        self._looks: dict[HeadCredential, _Look] = {}

    def opened(self, credential: HeadCredential) -> None:
        """Count a feed in."""
        self._looks.setdefault(credential, _Look(at_s=self._clock())).feeds += 1

    def closed(self, credential: HeadCredential) -> None:
        """Count it out."""
        look = self._looks[credential]
        look.feeds -= 1
        if not look.feeds:
            del self._looks[credential]

    async def good(self, credential: HeadCredential) -> bool:
        """Whether a request with it would be taken, as of the last `LOOK_S`; yes while the servers do not answer."""
        look = self._looks[credential]
        async with look.turn:
            if look.good and self._clock() - look.at_s >= LOOK_S:
                look.good, look.at_s = await self._asked(credential), self._clock()
        return look.good

    async def _asked(self, credential: HeadCredential) -> bool:
        if credential.cookie and self._sessions.of(credential.cookie) is None:
            return False
        try:
            await self._let_in(credential.key_hash)
        except Unauthorized:
            return False
        except AWAY:
            pass
        return True
