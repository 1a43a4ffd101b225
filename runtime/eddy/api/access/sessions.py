# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions of browsers: a key is given once, and a cookie that scripts cannot read stands for it from then on.

They are kept in memory: whoever restarts the server asks people to log in again, and nothing on disk can be stolen.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

COOKIE = "eddy_session"
HEADER = "X-CSRF-Token"
LIFE_S = 12 * 3600.0
"""Wall seconds after which a session ends, used or not."""
MOST_OF_A_KEY = 20
"""Sessions one key may have; beyond them, its own that was opened first ends."""
MOST = 1_000
"""Sessions kept; beyond them, one of the tenant that has most of them ends, the one that was opened first."""


@dataclass(frozen=True, slots=True)
class Session:
    """One browser's session.

    Attributes:
        key_hash: Hash of the key it was opened with: a tenant without that key has no session any more.
        tenant: Whose key that is.
        csrf_token: What requests that change something carry in a header beside the cookie.
        ends_s: When it ends, by the clock of `Sessions`.
    """

    key_hash: str
    tenant: str
    csrf_token: str
    ends_s: float

    def allows(self, token: str) -> bool:
        """Whether a request that changes something carries the right token; takes the same time for any."""
        return hmac.compare_digest(self.csrf_token.encode(), token.encode())


class Sessions:
    """Those that are open, by their cookie's value.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, key_hash: str, tenant: str) -> tuple[str, Session]:
        """A new session: its cookie's value, and what it is."""
        session = Session(key_hash, tenant, secrets.token_urlsafe(32), self._clock() + LIFE_S)
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            mine = [known for known, each in self._open.items() if each.key_hash == key_hash]
            for known in mine[: max(0, len(mine) + 1 - MOST_OF_A_KEY)]:
                del self._open[known]
            self._open[cookie] = session
            if len(self._open) > MOST:
                counts = Counter(each.tenant for each in self._open.values())
                most = max(counts, key=lambda whose: counts[whose])
                del self._open[next(known for known, each in self._open.items() if each.tenant == most)]
        return cookie, session

    def of(self, cookie: str) -> Session | None:
        """The session a cookie stands for; None where there is none, or it has ended."""
        with self._lock:
            found = self._open.get(cookie)
            if found is not None and found.ends_s <= self._clock():
                del self._open[cookie]
                return None
            return found

    def close(self, cookie: str) -> None:
        """End a session; nothing where it has ended."""
        with self._lock:
            self._open.pop(cookie, None)
