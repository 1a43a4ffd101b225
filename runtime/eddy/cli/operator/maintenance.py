# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy maintenance`: slots closed by calendar."""

from __future__ import annotations

import re
import time
from calendar import timegm
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from eddy.cli.support.local import connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url
from eddy.cli.support.output import Column, errors_in_one_line, print_json, print_status, table
from eddy.core.errors import InvalidRequest

app = typer.Typer(help="Maintenance windows: slots closed by calendar.", no_args_is_help=True)
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_FORMATS = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d %H:%M")
TIME = "2026-12-24T08:00Z (UTC), or +2h from now"


@app.command("plan")
def plan(
    title: Annotated[str, typer.Argument(help="What is done, for everyone.")],
    begins: Annotated[str, typer.Option("--from", help=f"When it begins: {TIME}.")],
    lasts: Annotated[str, typer.Option("--for", help="For how long, as 90m or 2h.")],
    drain: Annotated[str, typer.Option("--drain", help="How long before the slots take nothing new, as 15m.")] = "0s",
    slots: Annotated[list[int], typer.Option("--slot", min=0, help="Only this slot; may be given again.")] = [],  # noqa: B006
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Plan a window: its slots are drained before, and back in use after. Jobs that could not end before wait."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        begins_s = parse_time(begins, time.time())
        drain_s, lasts_s = parse_duration(drain, "drain"), parse_duration(lasts, "for")
        made = client.plan_maintenance(title, begins_s, lasts_s, drain_s=drain_s, slots=slots)
    _say(made, as_json)


@app.command("list")
def list_windows(url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Windows to come and under way, and those of the last seven days."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.maintenance()
    if as_json:
        print_json({"windows": found})
        return
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
def cancel(
    window: Annotated[str, typer.Argument(metavar="WINDOW", help="Its name, as `eddy maintenance list` shows it.")],
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Cancel a window, or end it early: its slots are back in use at once."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.cancel_maintenance(window)
    _say(found, as_json)


def _say(window: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(window)
        return
    row = _row(window)
    print(window["id"])
    print_status(f"{window['stage']}: {window['title']}, slots {row['which']}, from {row['from']} to {row['to']} UTC")


def _row(window: Mapping[str, Any]) -> dict[str, Any]:
    begins, ends = (
        time.strftime("%Y-%m-%d %H:%M", time.gmtime(window[name])) for name in ("begins_unix_s", "ends_unix_s")
    )
    which = ", ".join(map(str, window["slots"])) or "all"
    return {**window, "from": begins, "to": ends, "which": which}


def parse_duration(text: str, option: str) -> float:
    """Seconds of a duration such as ``90m``.

    Raises:
        InvalidRequest: It is none.
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([smhd])", text.strip())
    if found is None:
        message = f"--{option} is {text!r:.40}; give a number with s, m, h or d, as 90m."
        raise InvalidRequest(message, field=option, allowed="a number with s, m, h or d")
    return float(found.group(1)) * _UNITS_S[found.group(2)]


def parse_time(text: str, now_unix_s: float) -> float:
    """Seconds since 1970 of a time in UTC, or of one that is so far from now.

    Raises:
        InvalidRequest: It is none.
    """
    if text.startswith("+"):
        return now_unix_s + parse_duration(text[1:], "from")
    for form in _FORMATS:
        try:
            return float(timegm(time.strptime(text.strip(), form)))
        except ValueError:
            continue
    raise InvalidRequest(f"--from is {text!r:.40}; give {TIME}.", field="from", allowed=TIME)
