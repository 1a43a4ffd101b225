"""`eddy audit`: what operators and owners of keys changed; `eddy audit verify` says whether the log is whole."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from eddy.cli.local import connect
from eddy.cli.options import KEY, URL, AsJson, Key, Url, option
from eddy.cli.output import FAILED, Column, errors_in_one_line, print_json, say, table
from eddy.settings import SETTINGS

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
        Column("With", "with"),
    )
    table("", columns, [{**entry, "when": _when(entry), "with": _facts(entry["facts"])} for entry in found])


def _facts(facts: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value)}" for name, value in facts.items()
    )


def _when(entry: dict[str, Any]) -> str:
    return time.strftime("%m-%d %H:%M:%S", time.gmtime(entry["at_unix_s"]))


@app.command("verify")
def verify_log(
    data: Annotated[str, option("data")] = DATA,
    head: Annotated[str, typer.Option("--head", help="A head kept elsewhere, as this command printed it before.")] = "",
    as_json: AsJson = False,
) -> None:
    """Check the log of a data folder: edits, entries taken out or put in, the end cut off; exit code 1 if any.

    Keep the head it prints elsewhere: with --head it proves that the log was not put back to an older state, or
    written again by somebody who has the server's secret. Works beside a running server too.
    """
    from eddy.api.keys import KeyHasher, load_secret
    from eddy.store.audit import load_entry, read_head, verify
    from eddy.store.folder import database_of

    folder = Path(data).expanduser()
    with errors_in_one_line(as_json):
        database, secret = database_of(folder)
        hasher = KeyHasher(load_secret(secret, first=False))
        last = read_head(folder)  # before the entries: those that come meanwhile are beyond it
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            entries = [load_entry(row) for row in connection.execute("SELECT * FROM audit ORDER BY seq")]
        finally:
            connection.close()
        verdict = verify(entries, last, hasher.hash, head)
    if as_json:
        found = {"entries": verdict.entries, "head": verdict.head, "problems": list(verdict.problems)}
        print_json({**found, "ok": not verdict.problems})
    else:
        for problem in verdict.problems:
            say(f"eddy: {problem}")
        if not verdict.problems:
            say(f"{verdict.entries} entries, all as they were written; keep this head elsewhere:")
            print(verdict.head)
    if verdict.problems:
        raise typer.Exit(FAILED)
