# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What of a data folder is not what was written, for who vouches for it (`eddy backup`, `eddy doctor`): every row is
read, every file that rows name compared with its hashes, and the chain of the audit log followed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from eddy.core.errors import RecordDamaged
from eddy.store.account_tables.audit import load_entry, read_head, verify
from eddy.store.account_tables.logins import login_from_row
from eddy.store.account_tables.projects import member_from_row, project_from_row
from eddy.store.account_tables.tenants import key_from_row, make_keyed_hash, removed_of, tenant_from_row
from eddy.store.account_tables.usage import ACCOUNTED, ACCOUNTED_BEFORE, ACCOUNTED_FROM, ACCOUNTED_SLOTS, usage_row
from eddy.store.board_tables.epochs import epoch_body
from eddy.store.board_tables.leases import lease_from_row
from eddy.store.board_tables.maintenance import window_from_row
from eddy.store.board_tables.samples import sample_from_row
from eddy.store.board_tables.sessions import session_from_row
from eddy.store.bytes.blobs import hash_and_size
from eddy.store.db.damage import names_damage
from eddy.store.db.database import text_or_bytes
from eddy.store.db.faults import storage_errors
from eddy.store.db.field_types import parse_finite
from eddy.store.db.numbers import read_numbers
from eddy.store.db.rows import RECORD, load_event, load_request, load_snapshot, parse_object, record_of
from eddy.store.db.schema import MIGRATIONS
from eddy.store.disk import files
from eddy.store.disk.files import DamagedFile
from eddy.store.disk.names import is_blob
from eddy.store.job_tables.outputs import part_of
from eddy.store.tables.notices import delivery_from_row, subscription_from_row
from eddy.store.upkeep.snapshot import FILES_SINCE, NamedFile, named_files

APPLICATIONS = "applications"
"""Folder of the applications that were added, in a data folder."""
MAX_NAMED = 1000
"""Damaged records that are named; of more only the number is said."""
Row = sqlite3.Row


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and how its rows are read.

    Attributes:
        query: Columns and table.
        name: What a row is called; `public_id` is what jobs are told as.
        load: Reads one; raises `RecordDamaged` where it is not what was written.
    """

    query: str
    name: Callable[[Row, Callable[[int], int]], str]
    load: Callable[[Row], object]


def _job(row: Row) -> None:
    record_of(row)
    _known(row, "tenant")
    load_request(row["request"])
    parse_object(row["snapshot"])
    _typed(row, submitted_us=int, application=str)
    _typed(row, ended_us=(int, type(None)), closed_us=(int, type(None)), array=(int, type(None)))


def _typed(row: Row, **columns: type | tuple[type, ...]) -> None:
    for name, kind in columns.items():
        if not isinstance(row[name], kind):
            raise TypeError(f"{name} is {row[name]!r:.40}")


def _known(row: Row, *names: str) -> None:
    """See that what a row names is there; `known_NAME` is 0 where it is not."""
    for name in names:
        if not row[f"known_{name}"]:
            raise LookupError(f"there is no {name} {row[name]!r:.80}")


def _counts(row: Row, *names: str) -> None:
    """See that no number is less than 0."""
    for name in names:
        if row[name] < 0:
            raise ValueError(f"{name} is {row[name]}")


def _of_job(row: Row) -> None:
    """See that a row names a job, or one that goes, and whose that is."""
    _known(row, "job")
    if row["owner"] not in (None, row["tenant"]):
        raise ValueError(f"its tenant is {row['tenant']!r:.80}, and its job's {row['owner']!r:.80}")


def _event(row: Row) -> None:
    load_event({name: row[name] for name in row.keys() if name not in ("known_job", "owner")})  # noqa: SIM118
    _of_job(row)


def _tenant(row: Row) -> None:
    tenant_from_row(row)
    _counts(row, "max_jobs", "max_blob_bytes")


def _key(row: Row) -> None:
    key = key_from_row(row)
    if not is_blob(key.key_hash):
        raise ValueError(f"hash is {key.key_hash!r:.80}")
    _known(row, "tenant")


def _held(row: Row) -> None:
    _typed(row, job=int, tenant=str, bytes=int)
    _counts(row, "bytes")
    _of_job(row)


def _program(row: Row) -> None:
    parse_object(row["body"])
    _known(row, "job")


def _slot(row: Row) -> None:
    load_snapshot(row["snapshot"])
    _counts(row, "slot")


def _blob(row: Row) -> None:
    _typed(row, tenant=str, sha256=str)
    if not is_blob(row["sha256"]):
        raise ValueError(f"sha256 is {row['sha256']!r:.80}")
    hash_and_size(row)


def _result(row: Row) -> None:
    _typed(row, job=int, name=str, item=int)
    part_of((row["place"], row["bytes"], row["sha256"]))
    _counts(row, "item")
    _known(row, "job")


def _idempotency(row: Row) -> None:
    _typed(row, tenant=str, key=str, body=str, job=int, named=int)


def _label(row: Row) -> None:
    _typed(row, tenant=str, name=str, value=str, submitted_us=int, job=int, named=int)


_NUMBERS: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys((ACCOUNTED, ACCOUNTED_BEFORE, ACCOUNTED_FROM, ACCOUNTED_SLOTS, "seen", "life"), int),
    **dict.fromkeys(("now_s", "offset_s"), parse_finite),
}


def _value(row: Row) -> None:
    """A value by name: a number, JSON, or any text."""
    _typed(row, key=str, value=str)
    if row["key"] in _NUMBERS:
        _NUMBERS[row["key"]](row["value"])
    elif row["value"].startswith(("{", "[")):
        json.loads(row["value"])


def _job_of(table: str) -> str:
    """Columns that say whether a row's job is there, or goes at this moment, and whose it is. Where its tenant is
    unknown, that is the job's damage alone."""
    return (
        f"EXISTS (SELECT 1 FROM job WHERE id = {table}.job)"
        f" OR EXISTS (SELECT 1 FROM purged WHERE job = {table}.job) AS known_job,"
        f" (SELECT job.tenant FROM job JOIN tenant ON tenant.id = job.tenant WHERE job.id = {table}.job) AS owner"
    )


_KNOWN_TENANT = "EXISTS (SELECT 1 FROM tenant WHERE id = {0}.tenant)"
_KNOWN_OR_REMOVED = f"{_KNOWN_TENANT} OR EXISTS (SELECT 1 FROM removed WHERE removed.tenant = {{0}}.tenant)"


TABLES: Mapping[str, Table] = {
    "job": Table(
        f"{RECORD}, request, snapshot, submitted_us, application, ended_us, closed_us, array,"
        f" {_KNOWN_OR_REMOVED.format('job')} AS known_tenant FROM job",
        lambda row, told: f"job {told(row['id'])}",
        names_damage("a job")(_job),
    ),
    "event": Table(
        f"event.*, {_job_of('event')} FROM event",
        lambda row, _: f"event {row['seq']}",
        names_damage("an event")(_event),
    ),
    "tenant": Table("* FROM tenant", lambda row, _: f"tenant {row['id']}", names_damage("a tenant")(_tenant)),
    "removed": Table("* FROM removed", lambda row, _: f"removed tenant {row['tenant']}", removed_of),
    "purged_to": Table(
        "* FROM purged_to",
        lambda row, _: f"the end of what was removed of tenant {row['tenant']}",
        names_damage("an end of what was removed")(lambda row: _typed(row, tenant=str, seq=int)),
    ),
    "api_key": Table(
        f"*, {_KNOWN_TENANT.format('api_key')} AS known_tenant FROM api_key",
        lambda row, _: f"key {row['id']}",
        names_damage("a key")(_key),
    ),
    "idempotency": Table(
        "idempotency.*, job.id AS named FROM idempotency LEFT JOIN job ON job.id = idempotency.job",
        lambda row, _: f"idempotency key {row['key']!r} of tenant {row['tenant']}",
        names_damage("an idempotency key")(_idempotency),
    ),
    "label": Table(
        "label.*, job.id AS named FROM label LEFT JOIN job ON job.id = label.job",
        lambda row, _: f"label {row['name']!r} of tenant {row['tenant']}",
        names_damage("a label")(_label),
    ),
    "blob": Table(
        "* FROM blob", lambda row, _: f"blob {row['sha256']} of tenant {row['tenant']}", names_damage("a blob")(_blob)
    ),
    "result": Table(
        f"result.*, {_job_of('result')} FROM result",
        lambda row, told: f"output {row['name']} of job {told(row['job']) if type(row['job']) is int else row['job']}",
        names_damage("an output")(_result),
    ),
    "held": Table(
        f"held.*, {_job_of('held')} FROM held",
        lambda row, told: f"hold of job {told(row['job'])}",
        names_damage("a hold")(_held),
    ),
    "program": Table(
        f"program.*, {_job_of('program')} FROM program",
        lambda row, told: f"program of job {told(row['job'])}",
        names_damage("a program")(_program),
    ),
    "usage": Table(
        "day, tenant, slot, unit, ns FROM usage",
        lambda row, _: f"usage of {row['tenant'] or 'nobody'} on {row['day']} (slot {row['slot']}, {row['unit']})",
        usage_row,
    ),
    "epoch": Table("* FROM epoch", lambda row, _: f"epoch {row['number']}", epoch_body),
    "sample": Table("* FROM sample", lambda row, _: f"sample {row['unix_s']}", sample_from_row),
    "session": Table("* FROM session", lambda row, _: f"session {row['id']}", session_from_row),
    "lease": Table("* FROM lease", lambda row, _: f"lease {row['id']}", lease_from_row),
    "slot": Table("* FROM slot", lambda row, _: f"slot {row['slot']}", names_damage("a slot")(_slot)),
    "subscription": Table("* FROM subscription", lambda row, _: f"subscription {row['id']}", subscription_from_row),
    "delivery": Table("* FROM delivery", lambda row, _: f"message {row['id']}", delivery_from_row),
    "login": Table("* FROM login", lambda row, _: f"a log-in of tenant {row['tenant']}", login_from_row),
    "maintenance": Table("* FROM maintenance", lambda row, _: f"maintenance window {row['id']}", window_from_row),
    "project": Table("* FROM project", lambda row, _: f"project {row['id']}", project_from_row),
    "member": Table("* FROM member", lambda row, _: f"the project of tenant {row['tenant']}", member_from_row),
    "meta": Table("* FROM meta", lambda row, _: f"value {row['key']}", names_damage("a value")(_value)),
}
"""Every table but that of the audit log, which its chain vouches for."""


@contextlib.contextmanager
def open_for_reading(database: Path) -> Iterator[sqlite3.Connection]:
    """A data base that may be in use, to be read as it is now, whatever its texts are.

    Raises:
        StorageFailed: It cannot be read.
    """
    # Without a log nobody writes, and SQLite must not make one for a mere look.
    mode = "mode=ro" if database.with_name(database.name + "-wal").exists() else "immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(database))}?{mode}", uri=True)
    with storage_errors(database), contextlib.closing(connection):
        connection.row_factory = sqlite3.Row
        connection.text_factory = text_or_bytes
        connection.execute("PRAGMA busy_timeout = 5000")
        connection.execute("BEGIN")
        yield connection


def damaged_records(connection: sqlite3.Connection) -> Iterator[str]:
    """Every row that is not what was written, by what it is called, and how that shows.

    Args:
        connection: As `open_for_reading` opens one.
    """
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    told = read_numbers(connection).job.public_id
    if schema < len(MIGRATIONS):
        _add_missing_tables(connection)
    for table in TABLES.values():
        try:
            rows = connection.execute(f"SELECT {table.query}")
        except sqlite3.OperationalError as error:
            if schema < len(MIGRATIONS) and "no such" in str(error):
                continue  # an older version had it otherwise, or not at all
            raise
        for row in rows:
            try:
                table.load(row)
            except RecordDamaged as error:
                yield f"the record of {table.name(row, told)} is damaged: {error.details['how']}"


def _add_missing_tables(connection: sqlite3.Connection) -> None:
    """Have what rows are compared with, which an older version did not have: nothing went there."""
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    for name, column in (("purged", "job"), ("removed", "tenant")):
        if name not in there:
            connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name} ({column})")


def damaged_audit(connection: sqlite3.Connection, secret: bytes, head: bytes | None) -> list[str]:
    """What is wrong with the audit log.

    Args:
        connection: As `open_for_reading` opens one.
        head: What the head's file holds, read before the data base was; None where it is missing.
    """
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    try:
        entries = [load_entry(row) for row in connection.execute("SELECT * FROM audit ORDER BY seq")]
    except sqlite3.OperationalError as error:
        if schema < len(MIGRATIONS) and "no such" in str(error):
            return []
        raise
    if schema < len(MIGRATIONS) and not entries and head is None:
        return []  # older versions had no head
    problems = verify(entries, head, make_keyed_hash(secret)).problems
    return [f"the audit log is damaged: {problem}" for problem in problems]


def pieces(data: Path, named: NamedFile) -> Iterator[bytes]:
    """The bytes of a file that rows name, compared with their hashes as they are read.

    Raises:
        DamagedFile: They are not what was written.
    """
    path, end = data / named.path, 0
    for part in named.parts:
        if part.place != end:
            raise files.damaged_file_error(path, named.what, f"it has a gap before byte {part.place}")
        digest = hashlib.sha256()
        for piece in files.pieces(path, part.place, part.size_bytes, named.what):
            digest.update(piece)
            yield piece
        end += part.size_bytes
        how = f"the sha256 of bytes {part.place} to {end} is {digest.hexdigest()}"
        files.check(digest.hexdigest() == part.sha256, path, named.what, how)


def damaged_files(database: Path) -> list[str]:
    """Every file that rows name and that is not what was written, beside a server that may work."""
    data, suspects = database.parent, list(_named(database))
    for _ in range(2):  # one that went meanwhile is named by no row any more
        found = {each.path: how for each in suspects if (how := _describe_damage(data, each))}
        if not found:
            return []
        suspects = [each for each in _named(database) if each.path in found]
    return [found[each.path] for each in suspects if each.path in found]


def _named(database: Path) -> Iterable[NamedFile]:
    with open_for_reading(database) as connection:
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        return named_files(connection) if schema >= FILES_SINCE else []


def _describe_damage(data: Path, named: NamedFile) -> str:
    """What is wrong with a file; "" for nothing."""
    try:
        for _ in pieces(data, named):
            pass
    except DamagedFile as error:
        return f"{error.message} ({error.path})"
    return ""


def damaged_applications(data: Path) -> Iterator[str]:
    """Every file of an added application that holds nothing such a file may hold."""
    for path in sorted((data / APPLICATIONS).glob("*.json")):
        try:
            names_damage("an application")(parse_object)(path.read_text(encoding="utf-8"))
        except RecordDamaged as error:
            yield f"the application in {path.name} is damaged: {error.details['how']}"
        except OSError as error:
            yield f"the application in {path.name} is damaged: {error.strerror}"


def listed(found: Iterable[str], most: int = MAX_NAMED) -> list[str]:
    """What was found, and of more than `most` how many there are."""
    shown, more = list[str](), 0
    for each in found:
        if len(shown) < most:
            shown.append(each)
        else:
            more += 1
    return [*shown, f"and {more} more"] if more else shown


def examine_folder(database: Path, secret: Path) -> list[str]:
    """Everything of a data folder that is not what was written.

    Raises:
        StorageFailed: It cannot be read.
    """
    head = read_head(database.parent)  # before the entries: those that come meanwhile are beyond it
    with open_for_reading(database) as connection:
        records = listed(damaged_records(connection))
        audit = damaged_audit(connection, secret.read_bytes(), head)
    return [*records, *audit, *damaged_applications(database.parent), *damaged_files(database)]
