# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""API keys: several to a tenant, each with a scope; kept as hashes, and for as long as the tenant is."""

from __future__ import annotations

import dataclasses
import hmac
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable

from eddy.core.errors import NotFound, RecordDamaged
from eddy.core.tenants import ApiKey, KeyScope
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types, parse_flag

MOST_KEYS = 64
"""Keys of a tenant that are neither revoked nor expired."""
KEPT_ENDED = 64
"""Keys of a tenant that are, and are still known; beyond them, those that were made first are forgotten."""


def make_keyed_hash(secret: bytes) -> Callable[[str], str]:
    """Answers how a text (a key that is kept, an entry of the audit log) is hashed under the server's secret: nobody
    makes the hash without it."""
    keyed = hmac.new(secret, digestmod="sha256")

    def hash_text(text: str) -> str:
        of_text = keyed.copy()
        of_text.update(text.encode())
        return of_text.hexdigest()

    return hash_text


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

    def drop(self, keys: Iterable[ApiKey]) -> None:
        """Forget some."""
        for key in keys:
            self.by_id.pop(key.id, None)
            self.by_hash.pop(key.key_hash, None)


class Keys:
    """The keys of all tenants; every request asks for one, so all are kept in memory as well.

    Args:
        db: Where they are kept.

    Attributes:
        damaged: Hashes of those whose records cannot be read, by their names; they open nothing.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        rows = db.rows("SELECT * FROM api_key")
        self._keyring = Keyring(db.damage.read_rows(RecordKind.KEY, rows, _name, key_from_row))
        self.damaged = {_name(row): row["hash"] for row in rows if _name(row) not in self._keyring.by_id}

    def by_hash(self, key_hash: str) -> ApiKey | None:
        """The key of this hash, be it valid or not; None where there is none.

        Raises:
            RecordDamaged: There is one, and whether it is valid cannot be read.
        """
        found = self._keyring.by_hash.get(key_hash)
        if found is None:
            for name, damaged in self.damaged.items():
                if damaged == key_hash:
                    raise self._damaged(name)
        return found

    def _damaged(self, key: str) -> RecordDamaged:
        return self._db.damage.note(RecordKind.KEY, key, "its record could not be read at the start")

    def get(self, key: str) -> ApiKey:
        """The key of this name.

        Raises:
            NotFound: There is none.
            RecordDamaged: Its record cannot be read.
        """
        found = self._keyring.by_id.get(key)
        if found is None and key in self.damaged:
            raise self._damaged(key)
        if found is None:
            raise NotFound(f"There is no key {key}: `eddy key list` lists them.", field="key", asked=key)
        return found

    def all(self, tenant: str | None = None) -> tuple[ApiKey, ...]:
        """Keys of a tenant, or of all, oldest first."""
        found = [key for key in list(self._keyring.by_id.values()) if tenant in (None, key.tenant)]
        return tuple(sorted(found, key=lambda key: (key.created_unix_s, key.id)))

    def put(self, *keys: ApiKey) -> None:
        """Add keys, or replace what is known of them; all or none. Of those that ended, few stay known."""
        with self._db.transaction() as db:
            write_keys(db, keys)
            old = self._forgotten(keys)
            db.executemany("DELETE FROM api_key WHERE id = ?", [(key.id,) for key in old])
            self._db.after_commit(lambda: self.add_known(*keys))
            self._db.after_commit(lambda: self._keyring.drop(old))

    def drop_all(self, db: sqlite3.Connection, tenant: str) -> None:
        """Forget all keys of a tenant, in a transaction."""
        old = self.all(tenant)
        db.execute("DELETE FROM api_key WHERE tenant = ?", (tenant,))
        self._db.after_commit(lambda: self._keyring.drop(old))

    def _forgotten(self, changed: Iterable[ApiKey]) -> list[ApiKey]:
        """Of the tenants whose keys change: keys that ended, beyond those that stay known."""
        now, new = time.time(), {key.id: key for key in changed}
        found: list[ApiKey] = []
        for tenant in {key.tenant for key in new.values()}:
            ended = [key for key in self.all(tenant) if new.get(key.id, key).ended(now)]
            found += ended[: max(len(ended) - KEPT_ENDED, 0)]
        return found

    def add_known(self, *keys: ApiKey) -> None:
        """Keys were written, in a transaction that is committed."""
        self._keyring.put(*keys)


def first_key(tenant: str, key_hash: str, scope: KeyScope) -> ApiKey:
    """The key a tenant is added with."""
    return ApiKey(new_key_id(), tenant, key_hash, scope, "first", time.time())


def revoke_after(key: ApiKey, now_unix_s: float, grace_s: float = 0.0) -> ApiKey:
    """The key, which is no good once so many seconds have passed; one that was revoked before stays so."""
    at_unix_s = now_unix_s + grace_s
    if key.revoked_unix_s is not None:
        at_unix_s = min(at_unix_s, key.revoked_unix_s)
    return dataclasses.replace(key, revoked_unix_s=at_unix_s, revoked_for_good=key.revoked_for_good or grace_s <= 0)


def write_keys(db: sqlite3.Connection, keys: Iterable[ApiKey]) -> None:
    """Add keys, or replace them, in a transaction."""
    for key in keys:
        values = (key.id, key.tenant, key.key_hash, key.scope.value, key.label)
        times = (key.created_unix_s, key.expires_unix_s, key.revoked_unix_s, key.revoked_for_good)
        db.execute("INSERT OR REPLACE INTO api_key VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*values, *times))


@names_damage("a key's row")
def key_from_row(row: sqlite3.Row) -> ApiKey:
    """A key from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    scope = KeyScope(row["scope"])
    times = (row["created_unix_s"], row["expires_unix_s"], row["revoked_unix_s"], parse_flag(row["revoked_for_good"]))
    return check_types(ApiKey(row["id"], row["tenant"], row["hash"], scope, row["label"], *times))


def _name(row: sqlite3.Row) -> str:
    return row["id"] if isinstance(row["id"], str) else repr(row["id"])
