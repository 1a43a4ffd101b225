# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What jobs and entries of the log are called outside, so that no tenant counts what others do
(docs/decisions/what-tenants-learn-of-each-other.md)."""

from __future__ import annotations

import json
import secrets
import sqlite3
import sys
from contextlib import suppress
from dataclasses import dataclass

from eddy.core.errors import RecordDamaged
from eddy.core.numbering import Numbering
from eddy.host.files import damaged_file_error
from eddy.store.db.damage import names_damage
from eddy.store.db.database import Database
from eddy.store.db.rows import parse_object

JOB_DIGITS, EVENT_DIGITS = 12, 15
_NAME = "numbering"


@dataclass(frozen=True, slots=True)
class Numbers:
    """What counts of a store are told as.

    Attributes:
        job: Of jobs and of arrays, which are counted together: no id is both, but in arrays of earlier versions.
        event: Of entries of the event log.
    """

    job: Numbering
    event: Numbering


def load_numbers(db: Database) -> Numbers:
    """How a store tells its counts. A new one tells none of them plainly, an older one those that it has told already.

    Raises:
        StorageDamaged: What is kept of it cannot be read.
        StorageFailed: It is not kept yet, and cannot be written.
    """
    query = "SELECT value FROM meta WHERE key = ?"
    if db.row(query, _NAME) is None:
        made = {"key": secrets.token_hex(32), **{name: _next(db, name) for name in ("job", "event")}}
        with db.transaction() as connection:  # of two that open it at once, the first one's holds
            connection.execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)", (_NAME, json.dumps(made)))
    row = db.row(query, _NAME)
    assert row is not None
    try:
        return _read(row["value"])
    except RecordDamaged as error:  # without it nobody knows which job an id is of
        how = f"has no numbering of jobs that can be read ({error.details['how']})"
        raise damaged_file_error(db.path, how, "restore it from a backup") from error


def read_numbers(connection: sqlite3.Connection) -> Numbers:
    """How a store that is not open tells its counts; plainly, where it has told none otherwise, or that is damaged."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_NAME,)).fetchone()
    everything = Numbering(b"", JOB_DIGITS, sys.maxsize)
    with suppress(RecordDamaged):
        if row is not None:
            return _read(row[0])
    return Numbers(everything, everything)


@names_damage("the numbering of jobs")
def _read(text: str) -> Numbers:
    kept = parse_object(text)
    key, first = bytes.fromhex(kept["key"]), [kept[name] for name in ("job", "event")]
    if [type(each) for each in first] != [int, int]:
        raise TypeError(f"it begins at {first}")
    return Numbers(Numbering(key, JOB_DIGITS, first[0]), Numbering(key, EVENT_DIGITS, first[1]))


def _next(db: Database, table: str) -> int:
    """The number the next row of a table has."""
    row = db.row("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
    return 1 if row is None else int(row["seq"]) + 1
