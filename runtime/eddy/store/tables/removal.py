# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
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
from eddy.store.account_tables.projects import Projects
from eddy.store.account_tables.tenants import Tenants
from eddy.store.board_tables.leases import LeaseTable
from eddy.store.board_tables.sessions import SessionTable
from eddy.store.bytes.blobs import Blobs
from eddy.store.bytes.partial import Partials
from eddy.store.db.database import Database
from eddy.store.job_tables.jobs import JobTable
from eddy.store.job_tables.purge import ROWS, Purge
from eddy.store.tables.notices import Notices

BLOBS_AT_ONCE = 50
"""Blobs that go in one transaction."""
LAGS = "core_lags"
"""Name of the value that holds what tenants owe on shared clusters, by slot and tenant."""
_FOR_EVER_US = 1 << 62
_SMALL = ("held", "label", "idempotency", "api_key", "blob", "purged_to", "subscription", "delivery", "login", "member")
"""Tables that name a tenant and have rows of jobs, keys or blobs that are gone by then; for what came late."""
_LATE = ("job", "event", "session", "lease", *_SMALL)
"""Tables in which nothing may stand of a tenant that is gone."""


class Removal:
    """Removes tenants.

    Args:
        purge: Removes those that have ended.
        blobs, partials: What they uploaded.
        notices: What they asked to be told.
        sessions: Memory that they hold on the board.
        leases: Slots that they hold.
        projects: What they are members of.
    """

    def __init__(
        self,
        db: Database,
        tenants: Tenants,
        jobs: JobTable,
        purge: Purge,
        blobs: Blobs,
        partials: Partials,
        notices: Notices,
        sessions: SessionTable,
        leases: LeaseTable,
        projects: Projects,
    ) -> None:
        self._db, self._tenants, self._jobs, self._purge = db, tenants, jobs, purge
        self._blobs, self._partials, self._notices = blobs, partials, notices
        self._sessions, self._leases, self._projects = sessions, leases, projects

    def check_removable(self, tenant: str, cancel: bool) -> list[int]:
        """See that a tenant may be removed; answers which jobs of it have not ended.

        Args:
            cancel: Whether it may have such jobs.

        Raises:
            Conflict: It has, and these are not to be cancelled.
        """
        unfinished = self._jobs.unfinished_of(tenant)
        if unfinished and not cancel:
            raise Conflict(
                f"Tenant {tenant} has {len(unfinished)} jobs that have not ended: wait for them, or have them"
                " cancelled (`cancel=true`, `eddy tenant remove --cancel`).",
                field="cancel",
                asked=tenant,
                jobs=len(unfinished),
            )
        return unfinished

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
            unfinished = self.check_removable(tenant, cancel)
            self._tenants.remove(db, tenant)
            self._projects.take_out(db, tenant)
        return unfinished

    def steps(self, tenant: str) -> Iterator[None]:
        """Remove what is left of a tenant, one transaction at each step; ends early where something of it is still at
        work, or came meanwhile, to be begun again later.

        Raises:
            Conflict: One of its uploads is under way at this moment.
            StorageFailed: It cannot be written.
        """
        self._close_damaged(tenant)
        self._notices.forget_tenant(tenant)
        for _ in self._purge.purge_tenant(tenant, _FOR_EVER_US, everything=True):
            yield
        while self._blobs.drop_some(tenant, BLOBS_AT_ONCE):
            yield
        self._partials.drop_all(tenant)
        if self._sessions.has_open(tenant) or self._leases.has_open(tenant):  # the engine closes them
            return
        with self._db.transaction() as db:
            self._sessions.drop_all(db, tenant)
            self._leases.drop_all(db, tenant)
        if self._db.row("SELECT 1 FROM job WHERE tenant = ? LIMIT 1", tenant) is not None:
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
                if self._is_left(db, tenant):
                    return
                self._tenants.mark_gone(db, tenant)
                self._db.after_commit(lambda: self._blobs.ledger.forget(tenant))

    def _close_damaged(self, tenant: str) -> None:
        """Have jobs that have ended, and whose rows do not say when, go with the others."""
        with self._db.transaction() as db:
            db.execute(
                "UPDATE job SET final = 1, closed_us = 0"
                " WHERE tenant = ? AND final IS NOT 0 AND typeof(closed_us) != 'integer'",
                (tenant,),
            )

    def _is_left(self, db: sqlite3.Connection, tenant: str) -> bool:
        """Whether there is anything of a tenant, in a transaction: jobs end, and requests that were let in before are
        answered, while others of its rows go. Only the rows say so, not what is counted in memory."""
        for table in _LATE:
            if db.execute(f"SELECT 1 FROM {table} WHERE tenant = ? LIMIT 1", (tenant,)).fetchone():
                return True
        lags = db.execute("SELECT value FROM meta WHERE key = ?", (LAGS,)).fetchone()
        return (
            db.execute("SELECT 1 FROM purged LIMIT 1").fetchone() is not None  # outputs, of whom is not known any more
            or db.execute("SELECT 1 FROM epoch WHERE instr(body, ?) > 0 LIMIT 1", (json.dumps(tenant),)).fetchone()
            is not None
            or (lags is not None and json.dumps(tenant) in lags["value"])
            or self._partials.any_of(tenant)
        )

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
