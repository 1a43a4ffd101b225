# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The migration that takes blobs and results out of the database: their bytes become files, their rows name them.

Files are written first, one in memory at a time, and are all on disk before the transaction ends. Where it does not end
well, the rows are as they were, and the next attempt writes the files again.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path

from eddy.store.disk.files import DraftFile, make_folder, write_all
from eddy.store.disk.names import BLOBS, INCOMING, OUTPUTS, output_name, tenant_folder

_TABLES = (
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
    for table in _TABLES:
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
