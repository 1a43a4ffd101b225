# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tokens of a JupyterHub, accepted beside keys: the hub says whose one is, the operator's settings for which tenant.

A token is good if the hub answers `/user` to it with a person, and it has the scope `access:services!service=NAME`: one
that was made for something else opens nothing here. What the hub said holds for a short time, and for streams that are
open until the hub says no. Where the hub cannot be asked, that is said (503), and never taken for a no.

The calls of `JupyterHub` block; `HubTokens` makes them in threads, and is for the event loop's thread alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx

from eddy.api.access.identity_provider import ProviderUnreachable
from eddy.api.access.keys import PREFIX
from eddy.api.access.open_streams import KeysByName
from eddy.api.access.provider_calls import ProviderCalls
from eddy.api.access.roles import parse_pairs
from eddy.api.http.problems import Forbidden
from eddy.core.errors import InvalidRequest, NotFound, RateLimited, Unauthorized
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
ASKED_PER_S = 10
"""Tokens a second of one address about which the hub is asked."""
MOST = 1000
"""Good tokens that are remembered, and as many others; beyond, the one that was used longest ago is forgotten."""
WATCH_S = 5.0
NAMED = "hub:"
"""What the name of such a key begins with, in the logs."""
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")
_VERSION = "X-JupyterHub-Version"
"""Header of every answer of a hub: a no of what stands before it is none of its own."""
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


class JupyterHub:
    """One hub. Its calls block.

    Args:
        settings: Which.
        clock: Seconds that only grow.
    """

    def __init__(self, settings: HubSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings, self._clock = settings, clock
        self._lock = threading.Lock()
        self._failed: tuple[float, str] | None = None
        """When it was last asked in vain, and what came of it."""

    def user(self, token: str) -> tuple[str, frozenset[str]]:
        """Whose a token is, and that one's groups.

        Raises:
            Unauthorized: The hub does not know it.
            Forbidden: It is good for something else.
            ProviderUnreachable: The hub cannot be asked.
        """
        with self._lock:
            if self._failed is not None and self._clock() - self._failed[0] < FAILED_S:
                raise ProviderUnreachable(self._failed[1])
        try:
            answer = self._ask(token)
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
            ProviderUnreachable: It does not answer, or not as a hub does.
        """
        try:
            answer = httpx.get(
                f"{self.settings.api}/user", headers={"Authorization": f"token {token}"}, timeout=TIMEOUT_S
            )
        except (httpx.HTTPError, httpx.InvalidURL) as failure:
            message = f"The hub does not answer ({type(failure).__name__}), so whose token this is cannot be known now."
            raise ProviderUnreachable(f"{message} Try again soon, or use a key.") from failure
        if answer.status_code in (401, 403) and _VERSION in answer.headers:
            return None
        try:
            found = answer.json() if answer.status_code == 200 else None
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in ("kind", "name")):
            message = f"The hub answered {answer.status_code}, and not as a hub does: the operator's --hub-api is wrong"
            raise ProviderUnreachable(f"{message}, or the hub is in trouble. Try again soon, or use a key.")
        return found


def _texts(found: object) -> frozenset[str]:
    return frozenset(each for each in found if isinstance(each, str)) if isinstance(found, list) else frozenset()


@dataclass(frozen=True, slots=True)
class _Good:
    """A token, the key it is taken for, and when the hub said yes."""

    token: str
    key: ApiKey
    at_s: float


class HubTokens:
    """The tokens that came, by their hashes; good ones as keys that are kept nowhere.

    Args:
        hub: Says whose they are.
        clock: Seconds that only grow.
    """

    def __init__(self, hub: JupyterHub, clock: Callable[[], float] = time.monotonic) -> None:
        self._hub, self._clock = hub, clock
        self._calls = ProviderCalls()
        self._good: OrderedDict[str, _Good] = OrderedDict()
        self._refused: OrderedDict[str, tuple[float, Unauthorized | Forbidden]] = OrderedDict()
        """Apart from good ones, which no number of others can push out."""
        self._names: dict[str, str] = {}
        """Hashes by the names of good ones."""
        self._second, self._asked = 0, Counter[str]()
        """Tokens that were asked about in the second that lasts, by address."""

    async def key(self, token: str, address: str) -> ApiKey:
        """A token as a key.

        Args:
            token: As it was sent.
            address: Of who sent it.

        Raises:
            Unauthorized: The hub does not know it, or it looks like a key of ours, of which the hub is not told.
            Forbidden: It is good for something else, or its owner has no tenant here.
            RateLimited: Too many that are not known came from that address.
            ProviderUnreachable: The hub cannot be asked.
        """
        if token.startswith(PREFIX) or not _TOKEN.fullmatch(token):
            raise Unauthorized("This key is unknown; ask the operator for one.", field="Authorization")
        name, now_s = hashlib.sha256(token.encode()).hexdigest(), self._clock()
        known, refused = self._good.get(name), self._refused.get(name)
        if known is not None and now_s - known.at_s < KEPT_S:
            self._good.move_to_end(name)
            return known.key
        if refused is not None and now_s - refused[0] < REFUSED_S:
            raise type(refused[1])(refused[1].message, **refused[1].details)
        if known is None:
            self._count(address)
        return await self._learn(name, token)

    def get(self, name: str) -> ApiKey:
        """A token's key by its name, for streams that are open.

        Raises:
            NotFound: The hub said no since, or was not heard of for long.
        """
        known = self._good.get(self._names.get(name, ""))
        if known is None or self._clock() - known.at_s >= UNCONFIRMED_S:
            raise NotFound(f"There is no token {name} of the hub any more.", field="key", asked=name)
        return known.key

    async def watch(self, in_use: Callable[[], Iterable[str]]) -> None:
        """Ask again and again about tokens that streams came with.

        Args:
            in_use: Names of the keys of streams that are open.
        """
        while True:
            await anyio.sleep(WATCH_S)
            await self.confirm(in_use())

    async def confirm(self, names: Iterable[str]) -> None:
        """Ask about those of the keys that are tokens whose answer is old; where the hub cannot be asked, it stays."""
        for hashed in {self._names[name] for name in names if name in self._names}:
            known = self._good.get(hashed)
            if known is not None and self._clock() - known.at_s >= KEPT_S:
                with contextlib.suppress(Unauthorized, Forbidden, ProviderUnreachable):
                    await self._learn(hashed, known.token)

    def _count(self, address: str) -> None:
        """Count a token of which nothing is known.

        Raises:
            RateLimited: Too many came from that address.
        """
        second = int(self._clock())
        if second != self._second:
            self._second, self._asked = second, Counter()
        self._asked[address] += 1
        if self._asked[address] > ASKED_PER_S:
            message = (
                f"The hub is asked about {ASKED_PER_S} unknown tokens of an address a second: wait, and try again."
            )
            raise RateLimited(message, limit=ASKED_PER_S, retry_after_s=1)

    async def _learn(self, name: str, token: str) -> ApiKey:
        """Ask the hub, and remember what it says.

        Raises:
            Unauthorized, Forbidden, ProviderUnreachable: As `key` does.
        """
        try:
            user, groups = await self._calls.run(self._hub.user, token)
            tenant = self._hub.settings.tenant(user, groups)
            if not tenant:
                message = f"The hub's user {user:.64} leads to no tenant here: ask the operator (--hub-users)."
                raise Forbidden(message, field="Authorization")
        except (Unauthorized, Forbidden) as refused:
            self._forget(name)
            self._refused[name] = self._clock(), refused
            if len(self._refused) > MOST:
                self._refused.popitem(last=False)
            raise
        label = "".join(letter for letter in user if letter.isprintable())[:64]
        key = ApiKey(f"{NAMED}{label}:{name[:8]}", tenant, "", KeyScope.TENANT, label, time.time())
        self._forget(name)
        self._good[name], self._names[key.id] = _Good(token, key, self._clock()), name
        if len(self._good) > MOST:
            self._forget(next(iter(self._good)))
        return key

    def _forget(self, name: str) -> None:
        known = self._good.pop(name, None)
        if known is not None:
            self._names.pop(known.key.id, None)


class KeysAndTokens:
    """Keys by their names, tokens of the hub among them.

    Args:
        keys: Those of the store.
        tokens: Those of the hub.
    """

    def __init__(self, keys: KeysByName, tokens: HubTokens) -> None:
        self._keys, self._tokens = keys, tokens

    def get(self, name: str, /) -> ApiKey:
        """The key of a name.

        Raises:
            NotFound: There is none.
        """
        return self._tokens.get(name) if name.startswith(NAMED) else self._keys.get(name)
