# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Changes of the schema that move what is kept: bytes of blobs and results from rows to files, what lists of jobs are
filtered and ordered by into columns, and ends by wall time, after which jobs are let go.

Files are written first, one in memory at a time, and are all on disk before the transaction ends. Where it does not end
well, the rows are as they were, and the next attempt writes the files again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from eddy.store.disk.files import DraftFile, make_folder, write_all
from eddy.store.disk.names import BLOBS, INCOMING, OUTPUTS, output_name, tenant_folder

_STEP = 500
"""Jobs whose records are read at once."""
_MAX_S = 1e10
"""A time beyond that, the year 2286, is a damaged one; some do not even fit a column."""
_FILE_TABLES = (
    """CREATE TABLE new_blob (
        tenant TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (tenant, sha256)
    ) WITHOUT ROWID""",
    """CREATE TABLE new_result (
        job INTEGER NOT NULL REFERENCES job (id),
        name TEXT NOT NULL,
        item INTEGER NOT NULL,
        place INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        PRIMARY KEY (job, name, item)
    ) WITHOUT ROWID""",
)


def rows_to_files(db: sqlite3.Connection, folder: Path) -> None:
    """Move the bytes of blobs and results into files.

    Args:
        db: In a transaction, with the tables `blob` and `result` of the second schema.
        folder: In which `blobs` and `outputs` are made.
    """
    for table in _FILE_TABLES:
        db.execute(table)
    moved = _blobs(db, folder / BLOBS) + _results(db, folder / OUTPUTS)
    if moved:
        os.sync()
    for table in ("blob", "result"):
        db.execute(f"DROP TABLE {table}")
        db.execute(f"ALTER TABLE new_{table} RENAME TO {table}")


def _blobs(db: sqlite3.Connection, folder: Path) -> int:
    """Move blobs; answers how many."""
    rows = db.execute("SELECT rowid, tenant, sha256 FROM blob").fetchall()
    for number, tenant, sha256 in rows:
        (data,) = db.execute("SELECT data FROM blob WHERE rowid = ?", (number,)).fetchone()
        draft = DraftFile(make_folder(folder / INCOMING))
        try:
            draft.write(data)
            draft.keep(make_folder(folder / tenant_folder(tenant)) / sha256)
        finally:
            draft.drop()
        db.execute("INSERT INTO new_blob VALUES (?, ?, ?)", (tenant, sha256, len(data)))
    return len(rows)


def _results(db: sqlite3.Connection, folder: Path) -> int:
    """Move results; answers how many."""
    rows = db.execute("SELECT job, name, item, rowid FROM result ORDER BY job, name, item").fetchall()
    last, place, file = (0, ""), 0, -1
    try:
        for job, name, item, number in rows:
            if (job, name) != last:
                last, place = (job, name), 0
                file = _open(make_folder(folder) / output_name(job, name), file)
            (data,) = db.execute("SELECT data FROM result WHERE rowid = ?", (number,)).fetchone()
            write_all(file, data, place)
            sha256 = hashlib.sha256(data).hexdigest()
            db.execute("INSERT INTO new_result VALUES (?, ?, ?, ?, ?, ?)", (job, name, item, place, len(data), sha256))
            place += len(data)
    finally:
        if file >= 0:
            os.close(file)
    return len(rows)


def _open(path: Path, before: int) -> int:
    """Open a file to be rewritten, in place of the one before."""
    if before >= 0:
        os.close(before)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


_LIST_COLUMNS = """
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
_LIST_INDICES = """
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


def jobs_in_order(db: sqlite3.Connection, _: Path) -> None:
    """Fill the columns from the records that are there; see `eddy.store.job_tables.listing`.

    Args:
        db: In a transaction.
    """
    for statement in _LIST_COLUMNS.split(";"):
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
    for statement in _LIST_INDICES.split(";"):
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
    if abs(seconds) > _MAX_S:
        raise OverflowError(seconds)
    return round(seconds * 1e6)


_PURGE_TABLES = """
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
_PURGE_INDEX = "CREATE INDEX job_by_tenant_and_close ON job (tenant, closed_us, id) WHERE closed_us IS NOT NULL"


def jobs_that_go(db: sqlite3.Connection, _: Path) -> None:
    """Add what a purge needs. Rows of results name jobs that may be gone: a million of them go in many steps.

    Args:
        db: In a transaction.
    """
    for statement in _PURGE_TABLES.split(";"):
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
    db.execute(_PURGE_INDEX)


def _closed_us(record: bytes, now_us: int) -> int:
    """When a job ended by wall time, as its record says; where it does not, it counts as if it had ended now."""
    try:
        ended_s = float(json.loads(record)["ended_unix_s"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return now_us
    return round(ended_s * 1e6) if 0 <= ended_s <= _MAX_S else now_us
