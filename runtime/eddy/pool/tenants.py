"""Tenants of the pool, by the hash of their keys; the same on every head."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from dataclasses import asdict, dataclass

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError

from eddy.core.errors import Conflict, Unauthorized
from eddy.pool.link import Link
from eddy.pool.reading import entries

PREFIX = "eddy_"
"""What every key begins with, as on a board."""
OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class PoolTenant:
    """Who asks.

    Attributes:
        id: Name.
        admin: Whether it is the operator.
    """

    id: str
    admin: bool = False


class PoolTenants:
    """The pool's tenants. Keys have 256 random bits, so a plain hash tells nothing about them.

    Args:
        link: The pool.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    async def add(self, name: str, admin: bool = False) -> str:
        """Add a tenant; answers its key, which is kept nowhere.

        Raises:
            Conflict: There is one of that name.
        """
        tenant = PoolTenant(name, admin)
        try:
            await self._link.keys.create(f"tenant.{name}", json.dumps(asdict(tenant)).encode())
        except KeyWrongLastSequenceError:
            message = f"A tenant {name!r} exists already; use another name."
            raise Conflict(message, field="id", asked=name) from None
        return await self.make_key(tenant)

    async def make_key(self, tenant: PoolTenant) -> str:
        """A further key of a tenant."""
        key = PREFIX + secrets.token_urlsafe(32)
        await self._link.keys.put(f"key.{_hash(key)}", json.dumps(asdict(tenant)).encode())
        return key

    async def of_key(self, key: str) -> PoolTenant:
        """Whose key it is.

        Raises:
            Unauthorized: Nobody's.
        """
        try:
            entry = await self._link.keys.get(f"key.{_hash(key)}")
        except KeyNotFoundError:
            raise Unauthorized("This key is not one of the pool's.") from None
        return PoolTenant(**json.loads(entry.value or b"{}"))

    async def all(self) -> list[PoolTenant]:
        """Every tenant, by name."""
        found: dict[str, PoolTenant] = {}
        async with contextlib.aclosing(entries(self._link.keys)) as told:
            async for entry in told:
                if entry is None:
                    break
                if entry.key.startswith("tenant.") and entry.operation is None:
                    found[entry.key] = PoolTenant(**json.loads(entry.value or b"{}"))
        return [found[key] for key in sorted(found)]


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
