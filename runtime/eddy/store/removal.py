"""A tenant is removed with all its bytes, a little at a time.

It is written down first, with the end of its keys: a process that ends anywhere leaves the rest to the next one. Then
go its jobs, whatever holds them, its blobs, whole and in part, and its rows, as soon as no job of it has anything left
to do. At the end free pages are given back and the write-ahead log is emptied, so that its bytes are nowhere in the
file. What stays is its name: in the accounts of use, in the audit log, among the names that were taken, and with the
slot it used last, until something else is loaded there.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from eddy.core.errors import Conflict
from eddy.store.blobs import Blobs
from eddy.store.database import Database
from eddy.store.jobs import JobTable
from eddy.store.partial import Partials
from eddy.store.purge import ROWS, Purge
from eddy.store.tenants import Tenants

BLOBS_AT_ONCE = 50
"""Blobs that go in one transaction."""
LAGS = "core_lags"
"""Name of the value that holds what tenants owe on shared clusters, by slot and tenant."""
_FOR_EVER_US = 1 << 62
_SMALL = ("held", "label", "idempotency", "api_key", "blob", "purged_to")
"""Tables that name a tenant and have rows of jobs, keys or blobs that are gone by then; for what came late."""


class Removal:
    """Removes tenants.

    Args:
        db: Where they are.
        tenants: All tenants.
        jobs: All jobs.
        purge: Removes those that have ended.
        blobs, partials: What they uploaded.
    """

    def __init__(
        self, db: Database, tenants: Tenants, jobs: JobTable, purge: Purge, blobs: Blobs, partials: Partials
    ) -> None:
        self._db, self._tenants, self._jobs, self._purge = db, tenants, jobs, purge
        self._blobs, self._partials = blobs, partials

    def begin(self, tenant: str, cancel: bool = False) -> list[int]:
        """Have a tenant removed; answers which jobs of it have not ended, which are to be cancelled now.

        Args:
            tenant: Which; again does nothing more.
            cancel: Whether it may have jobs that have not ended.

        Raises:
            NotFound: There is none of that name.
            Conflict: It has jobs that have not ended, and these are not to be cancelled.
        """
        with self._db.transaction() as db:
            unfinished = self._jobs.tally.oldest(tenant, self._jobs.tally.of(tenant))
            if unfinished and not cancel:
                raise Conflict(
                    f"Tenant {tenant} has {len(unfinished)} jobs that have not ended: wait for them, or have them"
                    " cancelled (`cancel=true`, `eddy tenant remove --cancel`).",
                    field="cancel",
                    asked=tenant,
                    jobs=len(unfinished),
                )
            self._tenants.remove(db, tenant)
        return unfinished

    def steps(self, tenant: str) -> Iterator[None]:
        """Remove what is left of a tenant, one transaction at each step; ends early where something of it is still at
        work, to be begun again later.

        Raises:
            Conflict: One of its uploads is under way at this moment.
            StorageFailed: It cannot be written.
        """
        for _ in self._purge.of(tenant, _FOR_EVER_US, everything=True):
            yield
        while self._blobs.drop_some(tenant, BLOBS_AT_ONCE):
            yield
        self._partials.drop_all(tenant)
        if self._jobs.tally.of(tenant):
            return
        while self._events(tenant):
            yield
        with self._db.transaction() as db:
            for table in _SMALL:
                db.execute(f"DELETE FROM {table} WHERE tenant = ?", (tenant,))
            _forget_market(db, tenant)
        yield
        while self._db.give_back(everything=True):
            yield
        if self._db.empty_log():
            with self._db.transaction() as db:
                self._tenants.gone(db, tenant)
                self._db.after_commit(lambda: self._blobs.ledger.forget(tenant))

    def _events(self, tenant: str) -> int:
        """Remove some events of jobs that are gone; answers how many."""
        some = "SELECT seq FROM event WHERE tenant = ? ORDER BY seq LIMIT ?"
        with self._db.transaction() as db:
            return db.execute(f"DELETE FROM event WHERE seq IN ({some})", (tenant, ROWS)).rowcount


def _forget_market(db: sqlite3.Connection, tenant: str) -> None:
    """Remove the epochs of the market that a tenant had part in, and what it owes."""
    name = json.dumps(tenant)
    db.execute("DELETE FROM epoch WHERE instr(body, ?) > 0", (name,))
    row = db.execute("SELECT value FROM meta WHERE key = ?", (LAGS,)).fetchone()
    if row is not None and name in row["value"]:
        lags = {slot: {t: lag for t, lag in of.items() if t != tenant} for slot, of in json.loads(row["value"]).items()}
        db.execute("UPDATE meta SET value = ? WHERE key = ?", (json.dumps(lags, separators=(",", ":")), LAGS))
