# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy backup | restore`: a data folder kept elsewhere, and brought back."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eddy.cli.support.options import AsJson, default, option
from eddy.cli.support.output import FAILED, errors_in_one_line, print_json, print_status
from eddy.core.units import format_size

if TYPE_CHECKING:
    from eddy.store.upkeep.backup import BackupNote

Data = Annotated[str, option("data")]
DATA: str = default("data")


def backup(
    into: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the backup.")],
    data: Data = DATA,
    as_json: AsJson = False,
) -> None:
    """Copy the data folder, while the server works in it too; exit code 1 where something in it was damaged already.

    Every record, file and entry of the audit log is read and compared; what is damaged is named. The rest is backed up.

    Run it as the server's user. The backup has the secret and the operator's key in it: keep it as private as those.
    """
    from eddy.store.upkeep.backup import write_backup

    with errors_in_one_line(as_json):
        note = write_backup(Path(data).expanduser(), into.expanduser())
    _say(note, as_json, f"backed up into {into}")
    if note.damaged:
        raise typer.Exit(FAILED)


def restore(
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="A folder `eddy backup` made.")],
    data: Data = DATA,
    as_json: AsJson = False,
) -> None:
    """Fill an empty data folder from a backup; `eddy serve` then continues with the jobs that had not ended."""
    with errors_in_one_line(as_json):
        note = _restore(source.expanduser(), Path(data).expanduser())
    _say(note, as_json, f"restored into {data}; `eddy serve --data {data}` continues from there")


def _restore(source: Path, folder: Path) -> BackupNote:
    from eddy.api.access.keys import KeyHasher, load_secret
    from eddy.store import Store
    from eddy.store.upkeep.folder import DataFolder
    from eddy.store.upkeep.restore import restore as fill

    note = fill(source, folder)
    with contextlib.closing(DataFolder(folder)) as opened, contextlib.closing(Store(opened.database)) as store:
        sign = KeyHasher(load_secret(opened.secret, first=False)).hash
        store.audit.note_upgrade(sign)
        store.audit.note(sign, "", "", "restore-backup", {"taken_unix_s": note.taken_unix_s, "eddy": note.eddy})
    return note


def _say(note: BackupNote, as_json: bool, done: str) -> None:
    from eddy.store.upkeep.restore import describe_note

    if as_json:
        print_json(describe_note(note))
        return
    for each in note.damaged:
        print_status(f"eddy: damaged: {each}")
    taken = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(note.taken_unix_s))
    print_status(f"eddy: {done}: {note.jobs} jobs, {note.files} files, {format_size(note.size_bytes)}, of {taken}")
