# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy audit`: what operators and owners of keys changed; `eddy audit verify` says whether the log is whole."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eddy.cli.support.local import connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url, option
from eddy.cli.support.output import FAILED, Column, errors_in_one_line, print_json, print_status, table
from eddy.core.errors import InvalidRequest
from eddy.settings import SETTINGS

if TYPE_CHECKING:
    from eddy.board.remote.notary import SignedHead

app = typer.Typer(help="The audit log: who changed what, with which key.", invoke_without_command=True)
DATA = str(SETTINGS["data"].default)


@app.callback(invoke_without_command=True)
def audit(context: typer.Context, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Show the audit log (the operator's key is needed)."""
    if context.invoked_subcommand is not None:
        return
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.audit()
    if as_json:
        print_json({"entries": found})
        return
    columns = (
        Column("No.", "seq", right=True),
        Column("When (UTC)", "when"),
        Column("Who", "actor"),
        Column("Action", "action"),
        Column("With", "with", folds=True),
    )
    table("", columns, [{**entry, "when": _format_time(entry), "with": _facts(entry["facts"])} for entry in found])


def _facts(facts: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in facts.items()
        if value != ""
    )


def _format_time(entry: Mapping[str, Any]) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(entry["at_unix_s"]))


@app.command("verify")
def verify_log(
    data: Annotated[str, option("data")] = DATA,
    head: Annotated[str, typer.Option("--head", help="A head kept elsewhere, as this command printed it before.")] = "",
    boardd: Annotated[str, option("boardd")] = str(SETTINGS["boardd"].default),
    notary: Annotated[str, option("notary")] = str(SETTINGS["notary"].default),
    as_json: AsJson = False,
) -> None:
    """Check the log of a data folder: edits, entries taken out or put in, the end cut off; exit code 1 if any.

    With --boardd (its socket) or --notary (its folder), the log is compared with every head boardd signed: then it
    shows too where it was put back to an older state, or written again by somebody who has the server's secret. Without
    boardd, a head that was kept elsewhere (--head) shows the same. Works beside a running server.
    """
    import sqlite3

    from eddy.api.access.keys import KeyHasher, load_secret
    from eddy.store.account_tables.audit import load_entry, read_head, verify
    from eddy.store.db.database import text_or_bytes
    from eddy.store.db.faults import storage_errors
    from eddy.store.upkeep.folder import open_existing

    folder = Path(data).expanduser()
    with errors_in_one_line(as_json):
        database, secret = open_existing(folder)
        hasher = KeyHasher(load_secret(secret, first=False))
        last = read_head(folder)  # before the entries: those that come meanwhile are beyond it
        with (
            storage_errors(database),
            contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as rows,
        ):
            rows.row_factory, rows.text_factory = sqlite3.Row, text_or_bytes
            entries = [load_entry(row) for row in rows.execute("SELECT * FROM audit ORDER BY seq")]
        signed = _signed(boardd, notary)
        verdict = verify(entries, last, hasher.hash, head, [(each.number, each.chain) for each in signed])
        if entries and not signed and (boardd or notary):
            unsigned = "boardd has signed no entry of this log: its list was removed, or it is another server's boardd"
            verdict = replace(verdict, problems=(*verdict.problems, unsigned))
    if as_json:
        found = {"entries": verdict.entries, "head": verdict.head, "problems": list(verdict.problems)}
        found["signed_to"] = signed[-1].number if signed else 0
        print_json({**found, "ok": not verdict.problems})
    else:
        for problem in verdict.problems:
            print_status(f"eddy: {problem}")
        if not verdict.problems:
            how_far = _how_far(signed, boardd or notary, verdict.entries)
            print_status(f"{verdict.entries} entries, all as they were written{how_far}")
            print(verdict.head)
    if verdict.problems:
        raise typer.Exit(FAILED)


def _signed(boardd: str, notary: str) -> tuple[SignedHead, ...]:
    """The heads boardd signed, from itself or from its folder; none where neither is named."""
    if boardd:
        from eddy.board.remote.notary_client import NotaryClient

        return NotaryClient(Path(boardd)).heads()
    if notary:
        from eddy.board.remote.notary import KEY as KEY_NAME
        from eddy.board.remote.notary import read_list

        folder = Path(notary).expanduser()
        if not (folder / f"{KEY_NAME}.pub").exists():
            message = f"{folder} is not where a boardd keeps its signatures: name the folder it was started with."
            raise InvalidRequest(message, field="notary", asked=notary)
        return read_list(folder)
    return ()


def _how_far(signed: tuple[SignedHead, ...], asked: str, entries: int) -> str:
    if not asked:
        return "; keep this head elsewhere:"
    last = signed[-1].number if signed else 0
    beyond = f", and has not signed {entries - last} after that" if entries > last else ""
    return f"; boardd signed entry {last}{beyond}; the head:"
