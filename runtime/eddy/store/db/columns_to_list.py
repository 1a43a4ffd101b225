# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The migration that makes lists of jobs cost what they hold: what they are filtered and ordered by becomes columns."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

_COLUMNS = """
ALTER TABLE job ADD COLUMN submitted_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN application TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN ended_us INTEGER;
ALTER TABLE job ADD COLUMN array INTEGER;
CREATE TABLE label (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    submitted_us INTEGER NOT NULL,
    job INTEGER NOT NULL REFERENCES job (id),
    PRIMARY KEY (tenant, name, value, submitted_us, job)
) WITHOUT ROWID
"""
_INDICES = """
DROP INDEX job_by_tenant;
DROP INDEX job_by_state;
DROP INDEX job_by_tenant_and_state;
CREATE INDEX job_in_order ON job (submitted_us, id);
CREATE INDEX job_by_tenant ON job (tenant, submitted_us, id);
CREATE INDEX job_by_state ON job (state, submitted_us, id);
CREATE INDEX job_by_tenant_and_state ON job (tenant, state, submitted_us, id);
CREATE INDEX job_by_application ON job (application, submitted_us, id);
CREATE INDEX job_by_tenant_and_application ON job (tenant, application, submitted_us, id);
CREATE INDEX job_by_end ON job (ended_us, id) WHERE ended_us IS NOT NULL;
CREATE INDEX job_by_tenant_and_end ON job (tenant, ended_us, id) WHERE ended_us IS NOT NULL;
CREATE INDEX job_by_array ON job (array, submitted_us, id) WHERE array IS NOT NULL;
CREATE INDEX label_of_anybody ON label (name, value, submitted_us, job)
"""
_STEP = 500
"""Jobs whose records are read at once."""
_MOST_S = 1e10
"""A time beyond that is a damaged one; some do not even fit a column."""


def jobs_in_order(db: sqlite3.Connection, _: Path) -> None:
    """Fill the columns from the records that are there; see `eddy.store.job_tables.listing`.

    Args:
        db: In a transaction.
    """
    for statement in _COLUMNS.split(";"):
        db.execute(statement)
    last = 0
    while True:
        rows = db.execute(
            "SELECT id, CAST(record AS BLOB), final FROM job WHERE id > ? ORDER BY id LIMIT ?", (last, _STEP)
        ).fetchall()
        if not rows:
            break
        last = rows[-1][0]
        values = [(*_of_record(record, bool(final)), number) for number, record, final in rows]
        db.executemany("UPDATE job SET submitted_us = ?, application = ?, ended_us = ? WHERE id = ?", values)
    for statement in _INDICES.split(";"):
        db.execute(statement)


def _of_record(text: Any, final: bool) -> tuple[int, str, int | None]:
    """Submission, application and end from a record as it is kept; of one that cannot be read, nothing."""
    try:
        body: dict[str, Any] = json.loads(text)
        ended_us = _microseconds(float(body.get("ended_s") or 0.0)) if final else None
        return _microseconds(float(body["submitted_unix_s"])), str(body["application"]), ended_us
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return 0, "", 0 if final else None


def _microseconds(seconds: float) -> int:
    """Whole microseconds.

    Raises:
        OverflowError: They are those of no job.
    """
    if abs(seconds) > _MOST_S:
        raise OverflowError(seconds)
    return round(seconds * 1e6)
