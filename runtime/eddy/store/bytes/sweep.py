# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Files that no row names: what a crash left between a file and its row is swept when the server starts.

Only what Eddy could have called so is swept, and no link is followed: a folder may be a link to one that is shared with
others.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from eddy.host.files import translate_os_errors
from eddy.store.db.database import Database, pairs_table
from eddy.store.disk.names import DRAFT, INCOMING, is_blob, output_of, tenant_of

BATCH = 400
"""Names that are looked up by one statement."""
_log = logging.getLogger(__name__)


def sweep(db: Database, blobs: Path, outputs: Path) -> list[Path]:
    """Delete every file of ours that no row names, drafts among them; answers which. None is deleted where a row that
    names a file is damaged: the file may be its.

    Nobody may be writing files: to be called before anything is served, by the process that owns the folder.
    """
    gone: list[Path] = []
    if _nameless(db):
        _log.warning("rows that name files are damaged: files that no row names are left where they are")
        return gone
    for folder in sorted(_folders(blobs)):
        gone += _sweep_folder(folder, is_blob, partial(_blobs_among, db, tenant_of(folder.name)))
    return gone + _sweep_folder(outputs, lambda name: output_of(name) is not None, partial(_outputs_among, db))


def _nameless(db: Database) -> bool:
    """Whether there are rows that cannot say which file they name."""
    unlike = "SELECT 1 FROM blob WHERE NOT (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*') LIMIT 1"
    tenants = db.rows("SELECT DISTINCT tenant FROM blob")
    outputs = db.rows("SELECT DISTINCT job, name FROM result")
    return (
        db.row(unlike) is not None
        or any(not isinstance(row["tenant"], str) for row in tenants)
        or any(not (isinstance(row["job"], int) and isinstance(row["name"], str)) for row in outputs)
    )


def _folders(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for entry in path.iterdir():
            ours = entry.name == INCOMING or tenant_of(entry.name) is not None
            if ours and entry.is_dir() and not entry.is_symlink():
                yield entry


def _sweep_folder(folder: Path, ours: Callable[[str], bool], known: Callable[[Sequence[str]], set[str]]) -> list[Path]:
    """Delete our files of a folder whose names are not among those known, some at a time."""
    gone = []
    for names in _batches(name for name in _names(folder) if name.endswith(DRAFT) or ours(name)):
        rows = known(names)
        gone += [folder / name for name in names if name.endswith(DRAFT) or name not in rows]
    for path in gone:
        with translate_os_errors(path):
            path.unlink()
    return gone


def _names(folder: Path) -> Iterator[str]:
    if folder.is_dir():
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in entries if entry.is_file(follow_symlinks=False))


def _batches(names: Iterable[str]) -> Iterator[list[str]]:
    names = iter(names)
    while batch := list(islice(names, BATCH)):
        yield batch


def _blobs_among(db: Database, tenant: str | None, names: Sequence[str]) -> set[str]:
    """Those of some files' names that are blobs of a tenant; drafts are nobody's."""
    places = ", ".join("?" * len(names))
    query = f"SELECT sha256 FROM blob WHERE tenant = ? AND sha256 IN ({places})"
    return {row["sha256"] for row in db.rows(query, tenant, *names)}


def _outputs_among(db: Database, names: Sequence[str]) -> set[str]:
    """Those of some files' names that rows have; what is not `<job>.<name>` is nobody's."""
    keys = {name: output_of(name) for name in names}
    asked = [key for key in keys.values() if key is not None]
    table = "wanted CROSS JOIN result ON job = first AND name = second"
    query = f"{pairs_table(len(asked))} SELECT DISTINCT job, name FROM {table}"
    rows = db.rows(query, *(part for key in asked for part in key)) if asked else []
    there = {(row["job"], row["name"]) for row in rows}
    return {name for name, key in keys.items() if key in there}
