# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Keys of the pool's tenants, by their hashes; the same on every head. They have 256 random bits, so a plain hash tells
nothing about them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, replace

from nats.js.errors import APIError, KeyNotFoundError, KeyWrongLastSequenceError, NotFoundError
from nats.js.kv import KeyValue

from eddy.core.errors import Conflict, NotFound, Unauthorized
from eddy.core.tenants import ApiKey, KeyScope
from eddy.pool.connection.refusals import UNDONE, WRONG_LAST_SEQUENCE, code_of
from eddy.pool.jetstream.bucket_reader import entries, read_entry, read_together
from eddy.pool.jetstream.link import Link
from eddy.pool.records.record_json import (
    NO_SENSE,
    UnreadableRecord,
    parse_json,
    unreadable_record_error,
    value_from_json,
)
from eddy.store.account_tables.tenants import new_key_id

PREFIX = "eddy_"
"""What every key begins with, as on a board."""
KEY = "key."
"""What entries of keys begin with."""

TRIES = 64
"""Times a change is tried again because somebody else changed the key in between."""
TURN, TURN_S = "keys", 20.0
"""The entry, beside the leader's, of whoever changes keys, and wall seconds that others wait for it."""


class PoolKeys:
    """The keys of a pool.

    Args:
        now: Wall time, seconds since 1970.
    """

    def __init__(self, link: Link, now: Callable[[], float] = time.time) -> None:
        self._link, self._now = link, now
        self._at_this_head = asyncio.Lock()

    async def make(self, tenant: str, scope: KeyScope, ends_unix_s: float | None = None) -> str:
        """A new key, which is kept nowhere."""
        secret = new_secret()
        await self.keep(replace(self.of(secret, tenant, scope, self._now()), expires_unix_s=ends_unix_s))
        return secret

    @staticmethod
    def of(secret: str, tenant: str, scope: KeyScope, now_unix_s: float) -> ApiKey:
        """What is kept of a key."""
        return ApiKey(new_key_id(), tenant, hash_of(secret), scope, "", now_unix_s)

    async def keep(self, key: ApiKey) -> None:
        """Keep a new key."""
        await self._link.keys.put(f"{KEY}{key.key_hash}", _encoded(key))

    async def change(self, key: ApiKey, how: Callable[[ApiKey], ApiKey]) -> ApiKey:
        """Change a key, on what it is at that moment; `how` may be called several times.

        Raises:
            Conflict: Too many change it at once.
        """
        name = f"{KEY}{key.key_hash}"
        for _ in range(TRIES):
            entry = await read_entry(self._link.keys, name)
            changed = how(_decoded(key.key_hash, entry.value))
            with contextlib.suppress(KeyWrongLastSequenceError):
                await self._link.keys.update(name, _encoded(changed), last=int(entry.revision or 0))
                return changed
        raise Conflict(f"Key {key.id} is changed by too many at once; try again.", field="key", asked=key.id)

    async def settle(
        self, plan: Callable[[Sequence[ApiKey]], ApiKey], note: Callable[[ApiKey], Awaitable[None]]
    ) -> ApiKey:
        """Make or change a key by what all keys are, and write it only where none has changed since they were read,
        however long that is: what `plan` saw holds at the moment of the change.

        Args:
            plan: The key as it shall be; called again where keys have changed.
            note: Told of it before it is written, and again where it comes out otherwise.

        Raises:
            Conflict: Others change keys again and again.
        """
        noted = None
        for _ in range(TRIES):
            at = await self._newest()
            planned = plan(await self.all())
            if planned != noted:
                await note(planned)
                noted = planned
            try:
                await self._write_after(planned, at)
            except APIError as refused:
                if code_of(refused) not in WRONG_LAST_SEQUENCE:
                    raise
            else:
                return planned
        raise Conflict("Keys are changed by others at this moment; try again.")

    async def _newest(self) -> int:
        """The last revision of any key; where it lags, what is written after it is refused."""
        keys = self._link.keys
        try:
            return int((await keys._js.get_last_msg(keys._stream, f"{keys._pre}{KEY}>")).seq or 0)
        except NotFoundError:
            return 0

    async def _write_after(self, key: ApiKey, at: int) -> None:
        keys = self._link.keys
        after = {
            "Nats-Expected-Last-Subject-Sequence": str(at),
            "Nats-Expected-Last-Subject-Sequence-Subject": f"{keys._pre}{KEY}>",
        }
        await keys._js.publish(f"{keys._pre}{KEY}{key.key_hash}", _encoded(key), headers=after)

    @contextlib.asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Alone among all heads, so that nobody has to look again. Who stands still in the block for longer than
        `LEASE_S` is alone no more; `settle` finds that out, and `change` still loses nothing.

        Raises:
            Conflict: Others are at it for too long.
        """
        async with self._at_this_head:
            deadline = time.monotonic() + TURN_S
            while (revision := await self._turn()) is None:
                if time.monotonic() > deadline:
                    raise Conflict("Keys are changed by others at this moment; try again.")
                await asyncio.sleep(0.05)
            try:
                yield
            finally:
                with contextlib.suppress(*UNDONE):
                    await self._link.leader.delete(TURN, last=revision)

    async def _turn(self) -> int | None:
        """Revision of the entry that says whose turn it is; None where it is another's."""
        with contextlib.suppress(KeyWrongLastSequenceError, KeyNotFoundError):
            return int(await self._link.leader.create(TURN, b"keys"))
        return None

    async def operators(self, now_unix_s: float) -> int:
        """Good keys of operators."""
        return sum(key.scope is KeyScope.OPERATOR and not key.ended(now_unix_s) for key in await self.all())

    async def of_hash(self, key_hash: str) -> ApiKey:
        """A key that is good.

        Raises:
            Unauthorized: There is none of that hash, or it has ended.
        """
        try:
            key = _decoded(key_hash, (await read_together(self._link.keys, f"{KEY}{key_hash}")).value)
        except KeyNotFoundError:
            raise Unauthorized("This key is not one of the pool's.") from None
        if why := key.ended(self._now()):
            raise Unauthorized(f"This key is {why}; ask the operator for another.")
        return key

    async def all(self, tenant: str = "") -> list[ApiKey]:
        """Keys of a tenant, or all there are, oldest first; also those that have ended."""
        found: list[ApiKey] = []
        async with contextlib.aclosing(entries(self._link.keys)) as told:
            async for entry in told:
                if entry is None:
                    break
                if (key := self.read_entry(entry)) is not None:
                    found.append(key)
        latest = {key.key_hash: key for key in found if tenant in ("", key.tenant)}
        return sorted(latest.values(), key=lambda key: (key.created_unix_s, key.id))

    def read_entry(self, entry: KeyValue.Entry) -> ApiKey | None:
        """The key of an entry; None where it is another's, gone, or cannot be read, which is set aside then."""
        if not entry.key.startswith(KEY):
            return None
        self._link.troubles.forget("eddy_keys", entry.key)
        if entry.operation is None:
            try:
                return _decoded(entry.key[len(KEY) :], entry.value)
            except UnreadableRecord as wrong:
                self._link.troubles.record_unreadable("eddy_keys", entry.key, wrong.details["cause"])
        return None


class KeyCache:
    """Keys as a head last heard of them, without a question to the servers."""

    def __init__(self) -> None:
        self._keys: dict[str, ApiKey] = {}

    def add_key(self, key: ApiKey) -> None:
        """A key is new, or changed."""
        self._keys[key.id] = key

    def note_use(self, key: ApiKey) -> None:
        """Somebody came with a key that was just read: it may be heard of only later."""
        self._keys.setdefault(key.id, key)

    def get(self, name: str) -> ApiKey:
        """The key of this name.

        Raises:
            NotFound: It was not heard of.
        """
        if (found := self._keys.get(name)) is None:
            raise NotFound(f"There is no key {name}: `eddy key list` lists them.", field="key", asked=name)
        return found


def new_secret() -> str:
    """A key that nobody has."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_of(key: str) -> str:
    """What a key is kept as."""
    return hashlib.sha256(key.encode()).hexdigest()


def _encoded(key: ApiKey) -> bytes:
    """`id` and `admin` are as releases read them that know one key a tenant."""
    old = {"id": key.tenant, "admin": key.scope is KeyScope.OPERATOR}
    return json.dumps({**old, "api_key": asdict(key)}).encode()


def _decoded(key_hash: str, data: bytes | None) -> ApiKey:
    """What is kept of a key.

    Raises:
        UnreadableRecord: It is none, or another key's.
    """
    try:
        raw = parse_json(data)
        kept = raw.get("api_key")
        if kept is None:  # of a release before keys had names and scopes
            scope = KeyScope.OPERATOR if raw.get("admin") is True else KeyScope.TENANT
            return value_from_json(
                ApiKey, {"id": f"k{key_hash[:12]}", "tenant": raw["id"], "key_hash": key_hash, "scope": scope}
            )
        key = value_from_json(ApiKey, kept)
        if key.key_hash != key_hash:
            raise ValueError("it is another key's")
    except NO_SENSE as wrong:
        raise unreadable_record_error("eddy_keys", f"{KEY}{key_hash}", wrong) from wrong
    return key
