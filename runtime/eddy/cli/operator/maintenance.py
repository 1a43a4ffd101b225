# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy maintenance`: slots closed by calendar."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from eddy.cli.support.durations import TIME, parse_duration, parse_time
from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import Column, print_status, table

app = typer.Typer(help="Maintenance windows: slots closed by calendar.", no_args_is_help=True)


@app.command("plan")
@asks_server
def plan(
    client: Client,
    title: Annotated[str, typer.Argument(help="What is done, for everyone.")],
    begins: Annotated[str, typer.Option("--from", help=f"When it begins: {TIME}.")],
    lasts: Annotated[str, typer.Option("--for", help="For how long, as 90m or 2h.")],
    drain: Annotated[str, typer.Option("--drain", help="How long before the slots take nothing new, as 15m.")] = "0s",
    slots: Annotated[list[int], typer.Option("--slot", min=0, help="Only this slot; may be given again.")] = [],  # noqa: B006
) -> Answer:
    """Plan a window: its slots are drained before, and back in use after. Jobs that could not end before wait."""
    begins_s = parse_time(begins, time.time())
    drain_s, lasts_s = parse_duration(drain, "drain"), parse_duration(lasts, "for")
    made = client.plan_maintenance(title, begins_s, lasts_s, drain_s=drain_s, slots=slots)
    yield made
    _say(made)


@app.command("list")
@asks_server
def list_windows(client: Client) -> Answer:
    """Windows to come and under way, and those of the last seven days."""
    found = client.maintenance()
    yield {"windows": found}
    columns = (
        Column("Window", "id"),
        Column("Stage", "stage"),
        Column("From (UTC)", "from"),
        Column("To (UTC)", "to"),
        Column("Slots", "which"),
        Column("Title", "title", folds=True),
    )
    table("", columns, [_row(each) for each in found])


@app.command("cancel")
@asks_server
def cancel(
    client: Client,
    window: Annotated[str, typer.Argument(metavar="WINDOW", help="Its name, as `eddy maintenance list` shows it.")],
) -> Answer:
    """Cancel a window, or end it early: its slots are back in use at once."""
    found = client.cancel_maintenance(window)
    yield found
    _say(found)


def _say(window: Mapping[str, Any]) -> None:
    row = _row(window)
    print(window["id"])
    which = f"slots {row['which']}" if window["slots"] else "all slots"
    print_status(f"{window['stage']}: {window['title']}, {which}, from {row['from']} to {row['to']} UTC")


def _row(window: Mapping[str, Any]) -> dict[str, Any]:
    begins, ends = (
        time.strftime("%Y-%m-%d %H:%M", time.gmtime(window[name])) for name in ("begins_unix_s", "ends_unix_s")
    )
    which = ", ".join(map(str, window["slots"])) or "all"
    return {**window, "from": begins, "to": ends, "which": which}
