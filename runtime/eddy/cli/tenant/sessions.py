# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy sessions`: memory that stays on the board: listed, shown and closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server, connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url
from eddy.cli.support.output import Column, errors_in_one_line, print_json, print_status, table
from eddy.core.units import format_duration, format_size

app = typer.Typer(help="Sessions: memory that stays on the board, and launches on it.", invoke_without_command=True)

_ENDED = ("closed", "lost")
_COLUMNS = (
    Column("Session", "session"),
    Column("Tenant", "tenant"),
    Column("State", "state"),
    Column("Memory", "memory", right=True),
    Column("Buffers", "buffers", right=True),
    Column("Queued", "queued", right=True),
    Column("Running", "running", right=True),
    Column("Launches", "launches", right=True),
    Column("Core-s", "core", right=True),
    Column("Idle", "idle", right=True),
)
SessionName = Annotated[str, typer.Argument(metavar="SESSION", help="Its name, as `eddy sessions` lists it.")]
All = Annotated[bool, typer.Option("--all", help="Also those that ended lately.")]


@app.callback()
def sessions(
    context: typer.Context, ended: All = False, url: Url = URL, key: Key = KEY, as_json: AsJson = False
) -> None:
    """List sessions that are open: yours, or everyone's with the operator's key."""
    if context.invoked_subcommand is not None:
        return
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.sessions()
    shown = [each for each in found if ended or each["state"] not in _ENDED]
    if as_json:
        print_json({"sessions": shown})
        return
    table("sessions", _COLUMNS, [_row(each) for each in shown])


@app.command()
@asks_server
def show(client: Client, session: SessionName) -> Answer:
    """Show what a session holds and has done."""
    from eddy.client.transport.request_values import quote_segment

    found = client.transport.json("GET", f"/v1/sessions/{quote_segment(session)}")
    yield found
    for name, value in found.items():
        print(f"{name:<16}{'-' if value in (None, '') else value}")


@app.command()
@asks_server
def close(client: Client, session: SessionName) -> Answer:
    """Close a session: what runs of it is stopped, its memory given back."""
    from eddy.client.transport.request_values import quote_segment

    found = client.transport.json("DELETE", f"/v1/sessions/{quote_segment(session)}")
    yield found
    print_status(f"session {session} is {found['state']}")


def _row(found: Mapping[str, Any]) -> dict[str, Any]:
    times = {"core": f"{found['core_seconds']:.3g}", "idle": format_duration(found["idle_s"])}
    return {**found, **times, "memory": f"{format_size(found['memory_bytes'])}"}
