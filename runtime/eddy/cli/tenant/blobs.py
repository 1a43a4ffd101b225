# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy blobs`: inputs that are kept on the server, by their hash."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from eddy.cli.support.local import Answer, Client, asks_server, connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url
from eddy.cli.support.output import (
    Column,
    errors_in_one_line,
    print_json,
    print_status,
    say_damaged,
    table,
    write_bytes,
)
from eddy.core.units import format_bytes, format_size

app = typer.Typer(help="Inputs kept on the server, by their sha256.", invoke_without_command=True)
Sha256 = Annotated[str, typer.Argument(metavar="SHA256", help="Of the bytes, as `eddy blobs` shows it.")]


@app.callback(invoke_without_command=True)
def blobs(context: typer.Context, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """List your blobs."""
    if context.invoked_subcommand is not None:
        return
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.blobs()
    say_damaged("blobs", found.damaged)
    if as_json:
        print_json({"blobs": found})
        return
    rows = [{**blob, "size": format_bytes(blob["bytes"])} for blob in found]
    table("", (Column("sha256", "sha256"), Column("Size", "size", right=True)), rows)
    print_status(f"{len(found)} blobs, {format_size(sum(blob['bytes'] for blob in found))}")


@app.command("put")
@asks_server
def put(
    client: Client,
    file: Annotated[Path, typer.Argument(help="File to keep.")],
) -> Answer:
    """Keep a file's bytes; prints their sha256."""
    name = client.put_blob(file.read_bytes())
    yield {"sha256": name}
    print(name)


@app.command("get")
def get(
    sha256: Sha256,
    out: Annotated[Path | None, typer.Option("--out", help="File to write; standard output by default.")] = None,
    url: Url = URL,
    key: Key = KEY,
) -> None:
    """Fetch a blob."""
    with errors_in_one_line(), connect(url, key) as client:
        data = client.blob(sha256)
        if out is not None:
            write_bytes(out, data)
        else:
            sys.stdout.buffer.write(data)


@app.command("rm")
@asks_server
def remove(client: Client, sha256: Sha256) -> Answer:
    """Forget a blob; refused while an unfinished job needs it."""
    client.delete_blob(sha256)
    yield {"sha256": sha256}
    print_status(f"blob {sha256} forgotten")
