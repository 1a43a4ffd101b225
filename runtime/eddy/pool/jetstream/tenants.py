# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tenants of the pool, by the hash of their keys; the same on every head."""

from __future__ import annotations

import contextlib
import json
import math
import re
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KeyValue

from eddy.core.errors import Conflict, NotFound
from eddy.core.jobs import PRIORITIES
from eddy.core.submission_options import SubmissionOptions
from eddy.core.tenants import ApiKey, KeyScope
from eddy.pool.jetstream.bucket_reader import entries, read_together
from eddy.pool.jetstream.link import Link
from eddy.pool.jetstream.tenant_keys import PoolKeys, hash_of
from eddy.pool.records.record_json import (
    NO_SENSE,
    UnreadableRecord,
    parse_json,
    unreadable_record_error,
    value_from_json,
)

OPERATOR = "operator"
NAMES = re.compile("[A-Za-z][A-Za-z0-9_-]{0,57}")
"""Names of tenants: a board's (`pool.` before them) without the dot, which parts subjects of NATS."""
TENANT = "tenant."
"""What entries of tenants begin with."""


@dataclass(frozen=True, slots=True)
class PoolTenant:
    """Who asks.

    Attributes:
        admin: Whether it is the operator.
        weight: What it is entitled to over the whole pool, relative to the others.
        max_jobs: Jobs that have not ended, at once; None for any number.
        max_priority: Highest priority of its jobs.
        max_blob_bytes: Bytes it may keep: blobs, outputs, records of jobs; None for what the pool gives everyone.
        max_requests_per_s: Requests of all its keys together at one head; None for any number.
        max_slot_s: Seconds of boards' places it may have a day (UTC); None for any number.
        max_core_s: The same of cores of shared clusters.
        scope: What the key may do that it asks with.
        key_expires_unix_s: When that key ends by itself, or None.
        display_name: What people call it, in any script; "" where it has no other name.
        key: That key, or None.
        removed_unix_s: When it was removed; 0 where it was not. Its entry keeps the name from others.
    """

    id: str
    admin: bool = False
    weight: float = 1.0
    max_jobs: int | None = None
    max_priority: int = PRIORITIES[0]
    max_blob_bytes: int | None = None
    max_requests_per_s: float | None = None
    max_slot_s: float | None = None
    max_core_s: float | None = None
    scope: str = KeyScope.TENANT.value
    key_expires_unix_s: float | None = None
    display_name: str = ""
    key: ApiKey | None = None
    removed_unix_s: float = 0.0

    def check_progress(self, wanted: float) -> None:
        """Boards measure progress, and refuse what a tenant was not promised there."""

    def check_boards(self, asked: SubmissionOptions) -> None:
        """What boards there are is known further in (`eddy.pool.routes.submission`)."""

    @staticmethod
    def decode(data: bytes | None, name: str) -> PoolTenant:
        """As JetStream keeps it; fields of a later release are passed over.

        Raises:
            UnreadableRecord: It is none, or of another name.
        """
        try:
            tenant = value_from_json(PoolTenant, parse_json(data))
            bounds = (tenant.max_requests_per_s, tenant.max_slot_s, tenant.max_core_s)
            sensible = all(bound is None or 0 <= bound < math.inf for bound in bounds)
            if tenant.id != name or not 0 < tenant.weight < math.inf or not sensible:
                raise ValueError("it makes no sense")
        except NO_SENSE as wrong:
            raise unreadable_record_error("eddy_keys", f"{TENANT}{name}", wrong) from wrong
        return tenant

    def encode(self) -> bytes:
        """What `decode` reads; without what is a key's."""
        kept = asdict(self)
        del kept["scope"], kept["key_expires_unix_s"], kept["key"]
        return json.dumps(kept).encode()


class PoolTenants:
    """The pool's tenants."""

    def __init__(self, link: Link) -> None:
        self._link, self._keys = link, PoolKeys(link)

    async def add(self, tenant: PoolTenant, key_ends_unix_s: float | None = None) -> str:
        """Add a tenant; answers its key, which is kept nowhere.

        Args:
            key_ends_unix_s: When that ends; None for never.

        Raises:
            Conflict: There is one of that name.
        """
        try:
            await self._link.keys.create(f"{TENANT}{tenant.id}", tenant.encode())
        except KeyWrongLastSequenceError:
            raise _exists(tenant.id) from None
        scope = KeyScope.OPERATOR if tenant.admin else KeyScope.TENANT
        return await self._keys.make(tenant.id, scope, key_ends_unix_s)

    async def check_free(self, name: str) -> None:
        """Check that a tenant may be added.

        Raises:
            Conflict: There is one of that name, or was.
        """
        with contextlib.suppress(NotFound):
            await self.get(name)
            raise _exists(name)

    async def operated(self) -> bool:
        """Whether there is an operator, and a key that is good for what an operator may do."""
        with contextlib.suppress(NotFound):
            await self.get(OPERATOR)
            return await self._keys.operators(time.time()) > 0
        return False

    async def operate(self, secret: str) -> None:
        """Let an operator in with a key that is written down already. The key first: an operator without one would
        keep every later head from making another."""
        await self._keys.keep(PoolKeys.of(secret, OPERATOR, KeyScope.OPERATOR, time.time()))
        with contextlib.suppress(KeyWrongLastSequenceError):
            await self._link.keys.create(
                f"{TENANT}{OPERATOR}", PoolTenant(OPERATOR, admin=True, max_priority=PRIORITIES[-1]).encode()
            )

    async def get(self, name: str) -> PoolTenant:
        """A tenant.

        Raises:
            NotFound: There is none of that name.
        """
        return (await self._read(name))[0]

    async def _read(self, name: str) -> tuple[PoolTenant, int]:
        try:
            if not NAMES.fullmatch(name):
                raise KeyNotFoundError
            entry = await read_together(self._link.keys, f"{TENANT}{name}")
        except KeyNotFoundError:
            raise NotFound(f"The pool has no tenant {name!r}.", field="tenant", asked=name) from None
        return PoolTenant.decode(entry.value, name), int(entry.revision or 0)

    async def change(self, name: str, **what: Any) -> PoolTenant:
        """Change fields of a tenant.

        Raises:
            NotFound: There is none of that name.
            Conflict: Another changed it at the same time.
        """
        kept, revision = await self._read(name)
        changed = replace(kept, **what)
        try:
            await self._link.keys.update(f"{TENANT}{name}", changed.encode(), last=revision)
        except KeyWrongLastSequenceError:
            message = f"The tenant {name!r} is changed by another at this moment; try again."
            raise Conflict(message, field="tenant", asked=name) from None
        return changed

    async def of_key(self, key: str) -> PoolTenant:
        """Whose key it is; its name, and what it may do with this key.

        Raises:
            Unauthorized: Nobody's, or it has ended.
        """
        return await self.of_hash(hash_of(key))

    async def of_hash(self, key_hash: str) -> PoolTenant:
        """As `of_key`, of a key's hash.

        Raises:
            Unauthorized: It is no key's, or of one that has ended.
        """
        key = await self._keys.of_hash(key_hash)
        reads_all = key.scope is KeyScope.READ and (await self.get(key.tenant)).admin
        return PoolTenant(
            key.tenant,
            key.scope is KeyScope.OPERATOR or reads_all,
            scope=key.scope.value,
            key_expires_unix_s=key.expires_unix_s,
            key=key,
        )

    async def all(self) -> list[PoolTenant]:
        """Every tenant whose record can be read, by name."""
        found: dict[str, PoolTenant] = {}
        async with contextlib.aclosing(entries(self._link.keys)) as told:
            async for entry in told:
                if entry is None:
                    break
                if (tenant := self.read_entry(entry)) is not None:
                    found[tenant.id] = tenant
        return [found[key] for key in sorted(found)]

    def read_entry(self, entry: KeyValue.Entry) -> PoolTenant | None:
        """The tenant of an entry; None where it is another's, gone, or cannot be read, which is set aside then."""
        if not entry.key.startswith(TENANT):
            return None
        self._link.troubles.forget("eddy_keys", entry.key)
        if entry.operation is None:
            try:
                return PoolTenant.decode(entry.value, entry.key.removeprefix(TENANT))
            except UnreadableRecord as wrong:
                self._link.troubles.record_unreadable("eddy_keys", entry.key, wrong.details["cause"])
        return None


def _exists(name: str) -> Conflict:
    return Conflict(f"A tenant {name!r} exists already; use another name.", field="id", asked=name)
