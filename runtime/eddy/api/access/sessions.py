# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions of browsers: a key is given once, or somebody is vouched for once, and a cookie that scripts cannot read
stands for it from then on.

A server keeps them in its store, as hashes of their cookies: they survive a restart, and what is stolen from the disk
opens none. A head of a pool has them in memory.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from eddy.store.account_tables.logins import LoginRow

COOKIE = "eddy_session"
HEADER = "X-CSRF-Token"
LIFE_S = 12 * 3600.0
"""Wall seconds after which a session ends, used or not."""
MAX_OF_A_KEY = 20
"""Sessions one key may have; beyond them, its own that was opened first ends."""
MAX_SESSIONS = 1_000
"""Sessions kept; beyond them, one of the tenant that has most of them ends, the one that was opened first."""


@dataclass(frozen=True, slots=True)
class Session:
    """One browser's session.

    Attributes:
        key_hash: Hash of the key it was opened with: a tenant without that key has no session any more.
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


class LogInWriter(Protocol):
    """Keeps sessions over restarts; see `eddy.store.account_tables.logins.LoginTable`."""

    def all(self) -> tuple[LoginRow, ...]:
        """Those that are kept."""

    def change(self, opened: Iterable[LoginRow], closed: Iterable[str]) -> None:
        """Keep some, forget others."""


class Sessions:
    """Those that are open, by the hashes of their cookies.

    Args:
        clock: Wall seconds.
        keeper: Keeps them over restarts; None keeps them in memory alone.
    """

    def __init__(self, clock: Callable[[], float] = time.time, keeper: LogInWriter | None = None) -> None:
        self._clock, self._keeper = clock, keeper
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()
        if keeper is not None:
            rows = keeper.all()
            for row in rows:
                session = Session(row.key_hash, row.tenant, row.csrf_token, row.ends_unix_s)
                # One that lasts longer than any was written under a clock that was wrong.
                if clock() < session.ends_s <= clock() + LIFE_S:
                    self._open[row.cookie_hash] = session

    def open(self, key_hash: str, tenant: str) -> tuple[str, Session]:
        """A new session: its cookie's value, and what it is.

        Raises:
            StorageFailed: It cannot be kept.
        """
        now_s = self._clock()
        session = Session(key_hash, tenant, secrets.token_urlsafe(32), now_s + LIFE_S)
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            gone = [known for known, each in self._open.items() if each.ends_s <= now_s]
            mine = [known for known, each in self._open.items() if each.key_hash == key_hash and known not in gone]
            gone += mine[: max(0, len(mine) + 1 - MAX_OF_A_KEY)]
            for known in gone:
                del self._open[known]
            self._open[_hash(cookie)] = session
            if len(self._open) > MAX_SESSIONS:
                counts = Counter(each.tenant for each in self._open.values())
                most = max(counts, key=lambda whose: counts[whose])
                gone.append(next(known for known, each in self._open.items() if each.tenant == most))
                del self._open[gone[-1]]
        if self._keeper is not None:
            row = LoginRow(_hash(cookie), tenant, key_hash, session.csrf_token, session.ends_s)
            self._keeper.change([row], gone)
        return cookie, session

    def of(self, cookie: str) -> Session | None:
        """The session a cookie stands for; None where there is none, or it has ended."""
        with self._lock:
            found = self._open.get(_hash(cookie))
            return None if found is None or found.ends_s <= self._clock() else found

    def close(self, cookie: str) -> None:
        """End a session; nothing where it has ended.

        Raises:
            StorageFailed: That cannot be kept: it has ended here, and would be open again after a restart.
        """
        with self._lock:
            known = self._open.pop(_hash(cookie), None)
        if known is not None and self._keeper is not None:
            self._keeper.change([], [_hash(cookie)])


def _hash(cookie: str) -> str:
    """A cookie has 256 random bits, so no slow hash is needed."""
    return hashlib.sha256(cookie.encode(errors="replace")).hexdigest()
