# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The schema, as a list of migrations; `PRAGMA user_version` says how many were made. One is a script, or a function
where SQL alone will not do.

A migration is never edited once it has been released: a change is a new entry at the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from eddy.core.errors import EddyError
from eddy.host.files import translate_os_errors
from eddy.store.db.data_migrations import jobs_in_order, jobs_that_go, rows_to_files

Migration = str | Callable[[sqlite3.Connection, Path], None]
MIGRATIONS: tuple[Migration, ...] = (
    """
    CREATE TABLE tenant (
        id TEXT PRIMARY KEY,
        key_hash TEXT NOT NULL DEFAULT '',
        admin INTEGER NOT NULL DEFAULT 0,
        max_jobs INTEGER NOT NULL,
        max_blob_bytes INTEGER NOT NULL,
        attributes TEXT NOT NULL DEFAULT '{}'
    );
    CREATE INDEX tenant_by_key ON tenant (key_hash);

    CREATE TABLE job (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        tenant TEXT NOT NULL,
        state TEXT NOT NULL,
        final INTEGER NOT NULL DEFAULT 0,
        cancel INTEGER NOT NULL DEFAULT 0,
        request TEXT NOT NULL,
        record TEXT NOT NULL,
        snapshot TEXT NOT NULL DEFAULT '{}'
    );
    CREATE INDEX job_by_tenant ON job (tenant, id);
    CREATE INDEX job_unfinished ON job (id) WHERE final = 0;

    CREATE TABLE idempotency (
        tenant TEXT NOT NULL,
        key TEXT NOT NULL,
        body TEXT NOT NULL,
        job INTEGER NOT NULL REFERENCES job (id),
        PRIMARY KEY (tenant, key)
    ) WITHOUT ROWID;

    CREATE TABLE event (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        job INTEGER NOT NULL,
        tenant TEXT NOT NULL,
        at_s REAL NOT NULL,
        what TEXT NOT NULL,
        state TEXT,
        slot INTEGER,
        task INTEGER,
        item INTEGER,
        started_s REAL,
        detail TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX event_by_job ON event (job, seq);

    CREATE TABLE blob (
        tenant TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (tenant, sha256)
    );

    CREATE TABLE result (
        job INTEGER NOT NULL REFERENCES job (id),
        name TEXT NOT NULL,
        item INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (job, name, item)
    );

    CREATE TABLE slot (
        slot INTEGER PRIMARY KEY,
        snapshot TEXT NOT NULL
    );

    CREATE TABLE meta (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE program (
        job INTEGER PRIMARY KEY REFERENCES job (id),
        body TEXT NOT NULL
    );
    """,
    rows_to_files,
    """
    CREATE INDEX job_by_state ON job (state, id);
    CREATE INDEX job_by_tenant_and_state ON job (tenant, state, id);
    """,
    """
    ALTER TABLE tenant ADD COLUMN bounds TEXT NOT NULL DEFAULT '{}';

    CREATE TABLE api_key (
        id TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        scope TEXT NOT NULL,
        label TEXT NOT NULL,
        created_unix_s REAL NOT NULL,
        expires_unix_s REAL,
        revoked_unix_s REAL
    );
    INSERT INTO api_key
        SELECT 'k' || lower(hex(randomblob(6))), id, key_hash, CASE admin WHEN 0 THEN 'tenant' ELSE 'operator' END,
            'first', strftime('%s', 'now') + 0.0, NULL, NULL
        FROM tenant WHERE key_hash != '';
    """,
    """
    CREATE TABLE usage (
        day TEXT NOT NULL,
        tenant TEXT NOT NULL,
        slot INTEGER NOT NULL,
        unit TEXT NOT NULL,
        ns INTEGER NOT NULL,
        PRIMARY KEY (day, tenant, slot, unit)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY,
        at_unix_s REAL NOT NULL,
        actor TEXT NOT NULL,
        key TEXT NOT NULL,
        action TEXT NOT NULL,
        facts TEXT NOT NULL,
        chain TEXT NOT NULL
    );
    CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
    CREATE TRIGGER audit_is_not_cut BEFORE DELETE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
    """,
    jobs_in_order,
    """
    CREATE TABLE epoch (
        number INTEGER PRIMARY KEY,
        body TEXT NOT NULL
    );
    """,
    """
    CREATE INDEX event_by_tenant ON event (tenant, seq);
    """,
    """
    CREATE TABLE held (
        job INTEGER PRIMARY KEY REFERENCES job (id),
        tenant TEXT NOT NULL,
        bytes INTEGER NOT NULL
    );
    """,
    """
    ALTER TABLE api_key ADD COLUMN revoked_for_good INTEGER NOT NULL DEFAULT 0;
    UPDATE api_key SET revoked_for_good = 1 WHERE revoked_unix_s <= strftime('%s', 'now') + 0.0;
    """,
    """
    -- Records name arrays, and ends other than success, among what jobs wait for; earlier versions do not read that.
    -- Arrays have ids that no job has. Those that are there keep theirs, which are their first jobs' as well.
    """,
    jobs_that_go,
    """
    CREATE TABLE sample (
        unix_s INTEGER PRIMARY KEY,
        body TEXT NOT NULL
    );
    """,
    """
    CREATE TABLE subscription (
        id TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        target TEXT NOT NULL,
        kinds TEXT NOT NULL,
        everyone INTEGER NOT NULL,
        label TEXT NOT NULL,
        created_unix_s REAL NOT NULL,
        since INTEGER NOT NULL,
        off TEXT NOT NULL,
        dropped INTEGER NOT NULL
    );
    CREATE INDEX subscription_by_tenant ON subscription (tenant);

    CREATE TABLE delivery (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        subscription TEXT NOT NULL,
        tenant TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        created_unix_s REAL NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        next_unix_s REAL NOT NULL,
        tried_unix_s REAL,
        status INTEGER,
        said TEXT NOT NULL
    );
    CREATE INDEX delivery_waiting ON delivery (subscription, next_unix_s) WHERE state = 'waiting';
    CREATE INDEX delivery_by_subscription ON delivery (subscription, seq);
    CREATE INDEX delivery_by_tenant ON delivery (tenant);

    CREATE TABLE maintenance (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        begins_unix_s REAL NOT NULL,
        ends_unix_s REAL NOT NULL,
        drain_s REAL NOT NULL,
        slots TEXT NOT NULL,
        created_unix_s REAL NOT NULL,
        actor TEXT NOT NULL,
        cancelled_unix_s REAL,
        told TEXT NOT NULL
    );
    """,
    """
    CREATE TABLE session (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        tenant TEXT NOT NULL,
        final INTEGER NOT NULL DEFAULT 0,
        record TEXT NOT NULL
    );
    CREATE INDEX session_by_tenant ON session (tenant, number);
    """,
    """
    CREATE TABLE login (
        cookie_hash TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        key_hash TEXT NOT NULL,
        csrf_token TEXT NOT NULL,
        ends_unix_s REAL NOT NULL
    );
    """,
    """
    CREATE TABLE lease (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        tenant TEXT NOT NULL,
        final INTEGER NOT NULL DEFAULT 0,
        record TEXT NOT NULL
    );
    CREATE INDEX lease_by_tenant ON lease (tenant, number);
    """,
    """
    CREATE TABLE project (
        id TEXT PRIMARY KEY,
        share REAL NOT NULL
    );

    CREATE TABLE member (
        tenant TEXT PRIMARY KEY,
        project TEXT NOT NULL
    );
    """,
)


UPGRADED_FROM = "upgraded_from"
"""Name of the value that says which schema a data base had before it was brought to this one."""


class SchemaTooNew(EddyError):
    """The file was written by a newer Eddy."""

    code = "schema-too-new"


def migrate(connection: sqlite3.Connection, folder: Path) -> None:
    """Bring a database to the newest schema, each migration in one transaction.

    Args:
        connection: In no transaction.
        folder: What is kept beside the database.

    Raises:
        SchemaTooNew: It is newer than this program knows.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise SchemaTooNew(
            f"the store has schema {version}, this Eddy knows {len(MIGRATIONS)}: upgrade Eddy, or use another --data",
            found=version,
            known=len(MIGRATIONS),
        )
    if 0 < version < len(MIGRATIONS):
        # Kept until the audit log has it; of several that were cut short, the first.
        connection.executescript(f"INSERT OR IGNORE INTO meta (key, value) VALUES ('{UPGRADED_FROM}', '{version}')")
    for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
        if isinstance(migration, str):
            connection.executescript(f"BEGIN;{migration};PRAGMA user_version = {number};COMMIT;")
        else:
            _run(connection, migration, number, folder)
    if 0 < version < len(MIGRATIONS):
        with suppress(sqlite3.OperationalError):  # giving room back is not worth failing for
            connection.execute("VACUUM")


def _run(
    connection: sqlite3.Connection, migration: Callable[[sqlite3.Connection, Path], None], number: int, folder: Path
) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        with translate_os_errors(folder):
            migration(connection, folder)
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
