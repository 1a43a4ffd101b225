# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tokens of a JupyterHub, accepted beside keys: the hub says whose one is, the operator's settings for which tenant.

A token is good if the hub answers `/user` to it with a person, and it has the scope `access:services!service=NAME`: one
that was made for something else opens nothing here. What the hub said holds for a short time, and for streams that are
open until the hub says no. Where the hub cannot be asked, that is said (503), and never taken for a no.

The calls of `JupyterHub` block; `HubTokens` makes them in threads, and is for the event loop's thread alone. Whoever
comes with a token about which the hub is being asked waits for that answer. One address has few questions at the hub at
once, and so has one user whose tokens it knew: what they ask beyond waits, and holds up nobody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx

from eddy.api.access.identity_provider import ProviderUnreachable
from eddy.api.access.keys import PREFIX
from eddy.api.access.open_streams import KeysByName
from eddy.api.access.provider_calls import ProviderCalls
from eddy.api.access.roles import parse_pairs
from eddy.api.http.connections import client_of
from eddy.api.http.problems import Forbidden
from eddy.core.errors import EddyError, InvalidRequest, NotFound, RateLimited, Unauthorized
from eddy.core.tenants import ApiKey, KeyScope

TIMEOUT_S = 5.0
KEPT_S = 60.0
"""Seconds for which the hub's yes holds."""
REFUSED_S = 10.0
"""Seconds for which its no holds."""
FAILED_S = 5.0
"""Seconds before a hub that did not answer is asked again: those who come meanwhile are told so at once."""
UNCONFIRMED_S = 600.0
"""Seconds after the last yes after which a stream ends, where the hub cannot be asked any more."""
ASKED_AT_ONCE = 2
"""Tokens about which the hub is asked at once for one address, or one user: half of what it is asked at once."""
WAIT_S = 5.0
"""Seconds for which a further one waits."""
MAX_WAITING = 100
"""Further ones of one address, or one user, that wait."""
MAX_OF_USER = 20
"""Good tokens of one user that are remembered, besides those of open streams."""
MAX_REFUSED = 1000
"""Refused tokens that are remembered; beyond, the oldest answer is forgotten."""
WATCH_S = 5.0
NAMED = "hub:"
"""What the name of such a key begins with, in the logs."""
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")
_VERSION = "X-JupyterHub-Version"
"""Header of every answer of a hub: a no of what stands before it is none of its own."""
_AWAY = (502, 503, 504)
"""What a proxy says of a hub that is away, whoever asks."""
UNKNOWN = "This key is unknown, and the hub has no such token; ask the operator for a key, or the hub for a new token."


@dataclass(frozen=True, slots=True)
class HubSettings:
    """Which hub's tokens are accepted, and for which tenants.

    Attributes:
        api: Address of its API, as `http://127.0.0.1:8081/hub/api`; "" for none.
        service: What the server is called there.
        users: Tenants by user, in the order in which they are looked for.
        groups: Tenants by group of the hub, after users.
    """

    api: str = ""
    service: str = "eddy"
    users: tuple[tuple[str, str], ...] = ()
    groups: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> HubSettings:
        """The settings by their names in `eddy.settings`.

        Raises:
            InvalidRequest: One cannot be read.
        """
        found = cls(
            told["hub_api"].rstrip("/"),
            told["hub_service"],
            parse_pairs("hub_users", told["hub_users"], "USER=TENANT"),
            parse_pairs("hub_groups", told["hub_groups"], "GROUP=TENANT"),
        )
        parts = urlsplit(found.api)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if found.api and not (parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and local))):
            allowed = "an https URL, or http on this machine"
            message = f"--hub-api is {found.api!r:.100}; it must be {allowed}."
            raise InvalidRequest(message, field="hub_api", allowed=allowed)
        return found

    def tenant(self, user: str, groups: Iterable[str]) -> str:
        """The tenant of somebody the hub knows; "" for none."""
        mine = frozenset(groups)
        found = [tenant for each, tenant in self.users if each == user]
        found += [tenant for group, tenant in self.groups if group in mine]
        return next(iter(found), "")


class OddAnswer(ProviderUnreachable):
    """The hub, or what stands before it, answers one token as no hub does; of other tokens that says nothing."""


class JupyterHub:
    """One hub. Its calls block.

    No proxy of the environment comes between: it would read the tokens. Nor is a cookie kept: it would go along with
    the next one's token.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, settings: HubSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings, self._clock = settings, clock
        self._client = httpx.Client(
            verify=ssl.create_default_context(),  # a lab's own certificates by SSL_CERT_FILE among them
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            trust_env=False,
            follow_redirects=False,
        )
        self._lock = threading.Lock()
        self._failed: tuple[float, str] | None = None
        """When it was last asked in vain, and what came of it."""

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def user(self, token: str) -> tuple[str, frozenset[str]]:
        """Whose a token is, and that one's groups.

        Raises:
            Unauthorized: The hub does not know it.
            Forbidden: It is good for something else.
            OddAnswer: What it answers to this token is no answer of a hub.
            ProviderUnreachable: The hub cannot be asked.
        """
        with self._lock:
            if self._failed is not None and self._clock() - self._failed[0] < FAILED_S:
                raise ProviderUnreachable(self._failed[1])
        try:
            answer = self._ask(token)
        except OddAnswer:
            raise
        except ProviderUnreachable as failure:
            with self._lock:
                self._failed = self._clock(), failure.message
            raise
        if answer is None:
            raise Unauthorized(UNKNOWN, field="Authorization")
        needed = f"access:services!service={self.settings.service}"
        if answer["kind"] != "user" or not {needed, "access:services"} & _texts(answer.get("scopes")):
            message = f"This token of the hub does not have the scope {needed}: ask for one that has."
            raise Forbidden(message, field="Authorization", allowed=[needed])
        return answer["name"], _texts(answer.get("groups"))

    def _ask(self, token: str) -> dict[str, Any] | None:
        """What the hub says of a token's owner; None where it knows no such token.

        Raises:
            OddAnswer: It answers, and not as a hub does.
            ProviderUnreachable: It does not answer.
        """
        try:
            answer = self._client.get(
                f"{self.settings.api}/user", headers={"Authorization": f"token {token}"}, timeout=TIMEOUT_S
            )
        except (httpx.HTTPError, httpx.InvalidURL) as failure:
            message = f"The hub does not answer ({type(failure).__name__}), so whose token this is cannot be known now."
            kind = ProviderUnreachable if isinstance(failure, httpx.TransportError) else OddAnswer
            raise kind(f"{message} Try again soon, or use a key.") from failure
        if answer.status_code in (401, 403) and _VERSION in answer.headers:
            return None
        try:
            found = answer.json() if answer.status_code == 200 else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in ("kind", "name")):
            message = f"The hub answered {answer.status_code}, and not as a hub does: the operator's --hub-api is wrong"
            kind = ProviderUnreachable if answer.status_code in _AWAY else OddAnswer
            raise kind(f"{message}, or the hub is in trouble. Try again soon, or use a key.")
        return found


def _texts(found: object) -> frozenset[str]:
    return frozenset(each for each in found if isinstance(each, str)) if isinstance(found, list) else frozenset()


@dataclass(frozen=True, slots=True)
class _Good:
    """A token, whose it is, the key it is taken for, and when the hub said yes."""

    token: str
    user: str
    key: ApiKey
    at_s: float


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What a token is answered, and until when. An error itself would hold what its traceback leads to: requests."""

    kind: type[EddyError]
    message: str
    details: Mapping[str, Any]
    until_s: float = 0.0

    @classmethod
    def of(cls, error: EddyError, until_s: float = 0.0) -> _Refusal:
        """What an error says."""
        return cls(type(error), error.message, dict(error.details), until_s)

    def error(self) -> EddyError:
        """The error again."""
        return self.kind(self.message, **self.details)


@dataclass(slots=True)
class _Places:
    """Questions at the hub of one address, or one user."""

    free: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(ASKED_AT_ONCE))
    inside: int = 0
    """Those that are asked, and those that wait."""


class HubTokens:
    """The tokens that came, by their hashes; good ones as keys that are kept nowhere.

    Args:
        clock: Seconds that only grow.

    Attributes:
        in_use: Names of the keys of streams that are open.
    """

    def __init__(self, hub: JupyterHub, clock: Callable[[], float] = time.monotonic) -> None:
        self._hub, self._clock = hub, clock
        self.in_use: Callable[[], Iterable[str]] = tuple
        self._calls, self._confirmations = ProviderCalls(), ProviderCalls()
        """Those for streams wait behind no others."""
        self._good: dict[str, _Good] = {}
        """The oldest answer first."""
        self._refused: OrderedDict[str, _Refusal] = OrderedDict()
        """Apart from good ones, which no number of others can push out."""
        self._names: dict[str, str] = {}
        """Hashes by the names of good ones."""
        self._pending: dict[str, asyncio.Task[ApiKey | _Refusal]] = {}
        """Questions under way, by hash."""
        self._places: dict[tuple[str, str], _Places] = {}

    async def key(self, token: str, address: str) -> ApiKey:
        """A token as a key.

        Raises:
            Unauthorized: The hub does not know it, or it looks like a key of ours, of which the hub is not told.
            Forbidden: It is good for something else, or its owner has no tenant here.
            RateLimited: Too many others of that address, or that user, wait for the hub.
            ProviderUnreachable: The hub cannot be asked.
        """
        if token.startswith(PREFIX) or not _TOKEN.fullmatch(token):
            raise Unauthorized("This key is unknown; ask the operator for one.", field="Authorization")
        name, now_s = hashlib.sha256(token.encode()).hexdigest(), self._clock()
        known, refused = self._good.get(name), self._refused.get(name)
        if known is not None and now_s - known.at_s < KEPT_S:
            return known.key
        if refused is not None and now_s < refused.until_s:
            raise refused.error()
        pending = self._pending.get(name)
        if pending is None:
            asker = ("user", known.user) if known is not None else ("address", client_of(address))
            pending = self._pending[name] = asyncio.create_task(self._answer(name, token, asker))
            pending.add_done_callback(lambda _: self._pending.pop(name, None))
        answer = await asyncio.shield(pending)  # others may wait for it, and it is remembered
        if isinstance(answer, _Refusal):
            raise answer.error()
        return answer

    def get(self, name: str) -> ApiKey:
        """A token's key by its name, for streams that are open.

        Raises:
            NotFound: The hub said no since, or was not heard of for long.
        """
        known = self._good.get(self._names.get(name, ""))
        if known is None or self._clock() - known.at_s >= UNCONFIRMED_S:
            raise NotFound(f"There is no token {name} of the hub any more.", field="key", asked=name)
        return known.key

    async def watch(self) -> None:
        """Ask again and again about tokens that streams came with, and close the hub's connections at the end."""
        try:
            while True:
                await anyio.sleep(WATCH_S)
                await self.confirm(self.in_use())
        finally:
            self._hub.close()

    async def confirm(self, names: Iterable[str]) -> None:
        """Ask about those of the keys that are tokens whose answer is old; where the hub cannot be asked, it stays."""
        asked = {self._names[name] for name in names if name in self._names}
        for hashed in [each for each in self._good if each in asked]:
            known = self._good.get(hashed)
            if known is not None and self._clock() - known.at_s >= KEPT_S:
                with contextlib.suppress(Unauthorized, Forbidden, ProviderUnreachable):
                    await self._learn(hashed, known.token, self._confirmations)

    async def _answer(self, name: str, token: str, asker: tuple[str, str]) -> ApiKey | _Refusal:
        """What everybody hears who waits for it; raises nothing, since nobody may be left."""
        try:
            async with self._place(asker):
                return await self._learn(name, token, self._calls)
        except EddyError as failure:
            return _Refusal.of(failure)

    @contextlib.asynccontextmanager
    async def _place(self, asker: tuple[str, str]) -> AsyncIterator[None]:
        """Wait until the hub may be asked for an address, or a user.

        Raises:
            RateLimited: Too many of it wait, or it takes too long.
        """
        places = self._places.setdefault(asker, _Places())
        message = f"Others of the same {asker[0]} wait for the hub: it is asked about {ASKED_AT_ONCE} tokens at once."
        late = RateLimited(f"{message} Wait, and try again.", limit=ASKED_AT_ONCE, retry_after_s=1)
        if places.inside >= ASKED_AT_ONCE + MAX_WAITING:
            raise late
        places.inside += 1
        try:
            try:
                with anyio.fail_after(WAIT_S):
                    await places.free.acquire()
            except TimeoutError:
                raise late from None
            try:
                yield
            finally:
                places.free.release()
        finally:
            places.inside -= 1
            if not places.inside:
                del self._places[asker]

    async def _learn(self, name: str, token: str, calls: ProviderCalls) -> ApiKey:
        """Ask the hub, and remember what it says.

        Raises:
            Unauthorized, Forbidden, ProviderUnreachable: As `key` does.
        """
        try:
            user, groups = await calls.run(self._hub.user, token)
            tenant = self._hub.settings.tenant(user, groups)
            if not tenant:
                message = f"The hub's user {user:.64} leads to no tenant here: ask the operator (--hub-users)."
                raise Forbidden(message, field="Authorization")
        except (Unauthorized, Forbidden) as refused:
            self._forget(name)
            self._refuse(name, refused, REFUSED_S)
            raise
        except OddAnswer as failure:
            self._refuse(name, failure, FAILED_S)
            raise
        label = "".join(letter for letter in user if letter.isprintable())[:64]
        key = ApiKey(f"{NAMED}{label}:{name[:8]}", tenant, "", KeyScope.TENANT, label, time.time())
        self._forget(name)
        self._good[name], self._names[key.id] = _Good(token, user, key, self._clock()), name
        self._forget_old(user, name)
        return key

    def _refuse(self, name: str, error: EddyError, for_s: float) -> None:
        self._refused[name] = _Refusal.of(error, self._clock() + for_s)
        self._refused.move_to_end(name)
        if len(self._refused) > MAX_REFUSED:
            self._refused.popitem(last=False)

    def _forget_old(self, user: str, newest: str) -> None:
        """Forget what is good for nothing any more, and what a user has beyond its bound; never what a stream needs."""
        spared, now_s = {newest, *(self._names.get(each, "") for each in self.in_use())}, self._clock()
        mine = [each for each, known in self._good.items() if known.user == user and each not in spared]
        old = [each for each, known in self._good.items() if now_s - known.at_s >= UNCONFIRMED_S and each not in spared]
        for each in {*old, *mine[: max(0, len(mine) + 1 - MAX_OF_USER)]}:
            self._forget(each)

    def _forget(self, name: str) -> None:
        known = self._good.pop(name, None)
        if known is not None:
            self._names.pop(known.key.id, None)


class KeysAndTokens:
    """Keys by their names, tokens of the hub among them."""

    def __init__(self, keys: KeysByName, tokens: HubTokens) -> None:
        self._keys, self._tokens = keys, tokens

    def get(self, name: str, /) -> ApiKey:
        """The key of a name.

        Raises:
            NotFound: There is none.
        """
        return self._tokens.get(name) if name.startswith(NAMED) else self._keys.get(name)
