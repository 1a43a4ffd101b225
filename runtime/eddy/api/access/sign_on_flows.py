# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Log-ins at the identity provider that are not over: what was asked there, and for whom. In memory, for minutes."""

from __future__ import annotations

import hmac
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from eddy.api.access.identity_provider import challenge_of, new_verifier
from eddy.api.access.roles import Role
from eddy.api.http.connections import client_of
from eddy.core.errors import EddyError, Unauthorized

LIFE_S = 600.0
"""Wall seconds in which somebody logs in at the provider."""
CODE_LIFE_S = 120.0
"""Wall seconds in which a command line fetches its key."""
MAX_KEPT = 1_000
"""Of each that are kept. Beyond them, the oldest goes of the address that began most: anyone may begin a log-in, and
one who begins many ends nobody else's."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One log-in.

    Attributes:
        browser: What the browser's cookie holds: a log-in that somebody else began is not finished here.
        nonce, verifier: Of the request to the provider.
        tenant: The tenant that is asked for; "" for any.
        port: Where a command line listens; 0 for a dashboard.
        challenge: Of that command line.
        client: Who began it, as `client_of` has it.
        ends_s: When it is too late.
    """

    browser: str
    nonce: str
    verifier: str
    tenant: str
    port: int
    challenge: str
    client: str
    ends_s: float


@dataclass(frozen=True, slots=True)
class Granted:
    """A key that a command line may fetch.

    Attributes:
        label: Of whom it is.
    """

    role: Role
    label: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a command line may fetch: a key, or why there is none.

    Attributes:
        challenge: Of the command line.
        ends_s: When it is too late.
    """

    outcome: Granted | EddyError
    challenge: str
    ends_s: float


class SignOnFlows:
    """Those that are not over.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._flows: OrderedDict[str, Flow] = OrderedDict()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, tenant: str, port: int, challenge: str, address: str = "") -> tuple[str, Flow]:
        """A new log-in: its state, and what it is."""
        now_s, state, client = self._clock(), new_verifier(), client_of(address)
        made = Flow(new_verifier(), new_verifier(), new_verifier(), tenant, port, challenge, client, now_s + LIFE_S)
        with self._lock:
            while self._flows and next(iter(self._flows.values())).ends_s <= now_s:
                self._flows.popitem(last=False)
            self._flows[state] = made
            if len(self._flows) > MAX_KEPT:
                most = Counter(flow.client for flow in self._flows.values()).most_common(1)[0][0]
                del self._flows[next(each for each, flow in self._flows.items() if flow.client == most)]
        return state, made

    def take(self, state: str, browser: str) -> Flow:
        """The log-in of a state, which is over with this.

        Raises:
            Unauthorized: There is none, it took too long, or another browser began it.
        """
        with self._lock:
            found = self._flows.get(state)
            mine = found is not None and hmac.compare_digest(found.browser.encode(), browser.encode())
            if found is not None and mine:
                del self._flows[state]
        if found is None or not mine or found.ends_s <= self._clock():
            message = "This log-in is unknown here: it took too long, or began in another browser. Begin again."
            raise Unauthorized(message, field="state")
        return found

    def keep(self, outcome: Granted | EddyError, challenge: str) -> str:
        """Let a command line fetch a key, or hear why there is none; answers the code it does so with."""
        code = new_verifier()
        with self._lock:
            self._kept[code] = _Kept(outcome, challenge, self._clock() + CODE_LIFE_S)
            if len(self._kept) > MAX_KEPT:
                # Anybody can be refused, so refusals push out no key.
                refused = (each for each, kept in self._kept.items() if isinstance(kept.outcome, EddyError))
                del self._kept[next(refused, next(iter(self._kept)))]
        return code

    def fetch(self, code: str, verifier: str) -> Granted:
        """What a code is good for, once.

        Raises:
            Unauthorized: Nothing.
            EddyError: Why there is no key.
        """
        with self._lock:
            found = self._kept.pop(code, None)
        challenge = challenge_of(verifier)
        if found is None or found.ends_s <= self._clock() or not hmac.compare_digest(found.challenge, challenge):
            raise Unauthorized("This code is good for nothing, or was used; log in again.", field="code")
        if isinstance(found.outcome, EddyError):
            raise found.outcome
        return found.outcome
