# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The migration that lets jobs go: when each ended by wall time, and what is gone in part."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

_TABLES = """
ALTER TABLE job ADD COLUMN closed_us INTEGER;
CREATE INDEX label_by_job ON label (job);
CREATE INDEX idempotency_by_job ON idempotency (job);
CREATE TABLE purged (job INTEGER PRIMARY KEY);
CREATE TABLE purged_to (tenant TEXT PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE removed (tenant TEXT PRIMARY KEY, asked_unix_s REAL NOT NULL, gone_unix_s REAL);
CREATE TABLE new_result (
    job INTEGER NOT NULL,
    name TEXT NOT NULL,
    item INTEGER NOT NULL,
    place INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (job, name, item)
) WITHOUT ROWID;
INSERT INTO new_result SELECT job, name, item, place, bytes, sha256 FROM result;
DROP TABLE result;
ALTER TABLE new_result RENAME TO result
"""
_INDEX = "CREATE INDEX job_by_tenant_and_close ON job (tenant, closed_us, id) WHERE closed_us IS NOT NULL"
_STEP = 500
"""Jobs whose records are read at once."""
_MOST_UNIX_S = 1e10
"""An end after the year 2286 is a damaged one; some do not even fit a column."""


def jobs_that_go(db: sqlite3.Connection, _: Path) -> None:
    """Add what a purge needs. Rows of results name jobs that may be gone: a million of them go in many steps.

    Args:
        db: In a transaction.
    """
    for statement in _TABLES.split(";"):
        db.execute(statement)
    last, now_us = 0, round(time.time() * 1e6)
    while True:
        rows = db.execute(
            "SELECT id, CAST(record AS BLOB) FROM job WHERE final = 1 AND id > ? ORDER BY id LIMIT ?", (last, _STEP)
        ).fetchall()
        if not rows:
            break
        last = rows[-1][0]
        values = [(_closed_us(record, now_us), number) for number, record in rows]
        db.executemany("UPDATE job SET closed_us = ? WHERE id = ?", values)
    db.execute(_INDEX)


def _closed_us(record: bytes, now_us: int) -> int:
    """When a job ended by wall time, as its record says; where it does not, it counts as if it had ended now."""
    try:
        ended_s = float(json.loads(record)["ended_unix_s"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return now_us
    return round(ended_s * 1e6) if 0 <= ended_s <= _MOST_UNIX_S else now_us
