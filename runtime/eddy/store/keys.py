"""API keys: several to a tenant, each with a scope; kept as hashes, and for as long as the tenant is."""

from __future__ import annotations

import dataclasses
import secrets
import sqlite3
import time
from collections.abc import Iterable

from eddy.core.errors import NotFound
from eddy.core.tenants import ApiKey, KeyScope
from eddy.store.database import Database

MOST_KEYS = 64
"""Keys of a tenant that are neither revoked nor expired."""


def new_key_id() -> str:
    """What names a key where the key itself must not stand; tells nothing about it."""
    return f"k{secrets.token_hex(6)}"


class Keyring:
    """Keys by their hash and by their name.

    Args:
        keys: Those there are.
    """

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        self.by_id: dict[str, ApiKey] = {}
        self.by_hash: dict[str, ApiKey] = {}
        self.put(*keys)

    def put(self, *keys: ApiKey) -> None:
        """Add or replace some."""
        for key in keys:
            self.by_id[key.id] = key
            self.by_hash[key.key_hash] = key


class Keys:
    """The keys of all tenants; every request asks for one, so all are kept in memory as well.

    Args:
        db: Where they are kept.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._keyring = Keyring(_key(row) for row in db.rows("SELECT * FROM api_key"))

    def by_hash(self, key_hash: str) -> ApiKey | None:
        """The key of this hash, be it valid or not; None where there is none."""
        return self._keyring.by_hash.get(key_hash)

    def get(self, key: str) -> ApiKey:
        """The key of this name.

        Raises:
            NotFound: There is none.
        """
        found = self._keyring.by_id.get(key)
        if found is None:
            raise NotFound(f"There is no key {key}: `eddy key list` lists them.", field="key", asked=key)
        return found

    def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        """Keys of a tenant, or of all, oldest first."""
        found = [key for key in list(self._keyring.by_id.values()) if tenant in (None, key.tenant)]
        return tuple(sorted(found, key=lambda key: (key.created_unix_s, key.id)))

    def put(self, *keys: ApiKey) -> None:
        """Add keys, or replace what is known of them; all or none."""
        with self._db.transaction() as db:
            write_keys(db, keys)
            self._db.after_commit(lambda: self.known(*keys))

    def known(self, *keys: ApiKey) -> None:
        """Keys were written, in a transaction that is committed."""
        self._keyring.put(*keys)


def first_key(tenant: str, key_hash: str, scope: KeyScope) -> ApiKey:
    """The key a tenant is added with."""
    return ApiKey(new_key_id(), tenant, key_hash, scope, "first", time.time())


def revoked(key: ApiKey, at_unix_s: float) -> ApiKey:
    """The key, which is no good from a moment on; one that was revoked before stays so."""
    if key.revoked_unix_s is not None and key.revoked_unix_s <= at_unix_s:
        return key
    return dataclasses.replace(key, revoked_unix_s=at_unix_s)


def write_keys(db: sqlite3.Connection, keys: Iterable[ApiKey]) -> None:
    """Add keys, or replace them, in a transaction."""
    for key in keys:
        values = (key.id, key.tenant, key.key_hash, key.scope.value, key.label)
        times = (key.created_unix_s, key.expires_unix_s, key.revoked_unix_s)
        db.execute("INSERT OR REPLACE INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*values, *times))


def _key(row: sqlite3.Row) -> ApiKey:
    scope = KeyScope(row["scope"])
    times = (row["created_unix_s"], row["expires_unix_s"], row["revoked_unix_s"])
    return ApiKey(row["id"], row["tenant"], row["hash"], scope, row["label"], *times)
