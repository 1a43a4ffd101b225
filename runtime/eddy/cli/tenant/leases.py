# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy lease` and `eddy leases`: a slot, or the board, for a person."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eddy.cli.support.durations import parse_duration
from eddy.cli.support.local import Answer, Client, asks_server, connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url
from eddy.cli.support.output import BOARD, Column, errors_in_one_line, print_exports, print_json, print_status, table
from eddy.core.errors import InvalidRequest
from eddy.core.units import format_duration

if TYPE_CHECKING:
    from eddy.client import Client

app = typer.Typer(help="A slot, or the board, for a person: held for a stated time.", no_args_is_help=True)

_COLUMNS = (
    Column("Lease", "lease"),
    Column("Tenant", "tenant"),
    Column("State", "state"),
    Column("Slots", "which"),
    Column("Holds", "module"),
    Column("Begins", "begins"),
    Column("Ends", "ends"),
    Column("Says", "says", folds=True),
)
LeaseName = Annotated[str, typer.Argument(metavar="LEASE", help="Its name, as `eddy leases` lists it.")]
Lasts = Annotated[str, typer.Option("--for", help="For how long, as 30m or 2h.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait until it begins.")]
All = Annotated[bool, typer.Option("--all", help="Also those that ended lately.")]
Module = Annotated[str, typer.Option("--module", help="What the slot is loaded with at first.")]
Memory = Annotated[
    int | None,
    typer.Option("--memory", min=1, max=1024, help="MiB of board memory for your buffers."),
]


@app.command()
def slot(
    lasts: Lasts = "30m",
    module: Module = "",
    memory: Memory = None,
    no_wait: NoWait = False,
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Hold a slot, and wait until it can be driven."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        lasts_s = parse_duration(lasts, "for")
        size = None if memory is None else memory << 20
        made = client.ask_for_lease(lasts_s=lasts_s, module=module, memory_bytes=size)
        _say(made if no_wait else _wait(client, made, as_json), as_json)


@app.command()
def board(
    lasts: Lasts = "30m", no_wait: NoWait = False, url: Url = URL, key: Key = KEY, as_json: AsJson = False
) -> None:
    """Hold every slot of the board (operators): jobs wait, and leases of others are given notice."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        made = client.ask_for_lease(lasts_s=parse_duration(lasts, "for"), kind="board")
        _say(made if no_wait else _wait(client, made, as_json), as_json)


@app.command()
def load(
    lease: LeaseName,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE.bit...]", help="Images of your own, each with its signed .json; one a slot."),
    ] = None,
    module: Annotated[str, typer.Option("--module", help="A module of the board, instead of files.")] = "",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Load a lease's slot: with a module of the board, or with an image of your own."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        if bool(files) == bool(module):
            raise InvalidRequest("Give either .bit files or --module.", field="files")
        token = client.lease(lease)["token"]
        found = client.load_own_image(lease, token, files) if files else client.load_leased(lease, token, module)
        while found["loading"] and found["state"] == "active":
            found = client.lease(lease, wait_s=20.0)
        _say(found, as_json)
        if not found["holds"]:
            raise typer.Exit(BOARD)


@app.command()
def extend(
    lease: LeaseName,
    more: Annotated[str, typer.Option("--for", help="How much longer, as 15m.")] = "15m",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Have a lease last longer."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        _say(client.extend_lease(lease, parse_duration(more, "for")), as_json)


@app.command()
def release(lease: LeaseName, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """End a lease: its slot is closed, and given to others."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        _say(client.release_lease(lease), as_json)


@app.command()
@asks_server
def show(client: Client, lease: LeaseName) -> Answer:
    """Show how a lease stands."""
    found = client.lease(lease)
    yield found
    for name, value in found.items():
        if name != "token":
            print(f"{name:<16}{'-' if value in (None, '', [], {}) else value}")


@app.command()
def env(lease: LeaseName, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Print what a shell needs so that PYNQ scripts drive the slot: eval "$(eddy lease env LEASE)"."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        token = client.lease(lease)["token"]
        found = {
            "EDDY_URL": client.transport.url,
            "EDDY_LEASE": lease,
            "EDDY_LEASE_TOKEN": token,
        }
    print_exports(found, as_json)


@app.command()
@asks_server
def calendar(client: Client) -> Answer:
    """Show when slots are held, and asked for; of others, the times alone."""
    found = client.lease_calendar()
    yield found
    columns = (
        Column("Slots", "which"),
        Column("From (UTC)", "begins"),
        Column("To (UTC)", "ends"),
        Column("State", "state"),
        Column("What", "what"),
        Column("Tenant", "tenant"),
    )
    table("leases", columns, [_span(each) for each in found["spans"]])


@asks_server
def leases(client: Client, ended: All = False) -> Answer:
    """List leases: yours, or everyone's with the operator's key."""
    found = client.leases(open_only=not ended)
    yield {"leases": found}
    table("leases", _COLUMNS, [_row(each) for each in found])


def _wait(client: Client, lease: Any, as_json: bool) -> Any:
    """The lease once it can be driven, or has ended; says its place in the queue meanwhile."""
    told = None
    while lease["state"] in ("queued", "preparing") or (lease["state"] == "active" and lease["loading"]):
        said = _standing(lease)
        if said != told and not as_json:
            print_status(said)
        told = said
        lease = client.lease(lease["lease"], wait_s=20.0)
    return lease


def _standing(lease: Mapping[str, Any]) -> str:
    if lease["state"] == "queued":
        expected = lease["expected_unix_s"]
        when = "" if expected is None else f", should begin in {format_duration(max(0.0, expected - time.time()))}"
        return f"lease {lease['lease']} waits at place {lease['position']}{when}"
    return f"lease {lease['lease']} has slot {_which(lease)}: what runs there ends, and it is loaded"


def _say(lease: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(lease)
        return
    print(lease["lease"])
    row = _row(lease)
    if lease["state"] == "active":
        until = f"slot {row['which']} is yours until {row['ends']} UTC"
        print_status(f"{until}; it ends after {format_duration(lease['idle_limit_s'])} without a sign of you")
        if lease["kind"] == "slot":
            print_status(f'eval "$(eddy lease env {lease["lease"]})" and run a PYNQ script')
    else:
        print_status(f"{lease['state']}{': ' + row['says'] if row['says'] else ''}")
    if lease["said"]:
        print_status(lease["said"])


def _row(lease: Mapping[str, Any]) -> dict[str, Any]:
    expected = lease["begins_unix_s"] if lease["begins_unix_s"] is not None else lease["expected_unix_s"]
    ends = lease["ended_unix_s"] if lease["ended_unix_s"] is not None else lease["ends_unix_s"]
    place = f"place {lease['position']}" if lease["position"] else ""
    return {
        **lease,
        "which": _which(lease) or "-",
        "module": ", ".join(lease["holds"].values()) or "-",
        "begins": _time(expected),
        "ends": _time(ends),
        "says": lease["cause"] or lease["notice"] or lease["said"] or place or "-",
    }


def _which(lease: Mapping[str, Any]) -> str:
    return "all" if lease["kind"] == "board" and lease["slots"] else ", ".join(map(str, lease["slots"]))


def _span(span: Mapping[str, Any]) -> dict[str, Any]:
    which = ", ".join(map(str, span["slots"])) or "-"
    times = {"begins": _time(span["begins_unix_s"]), "ends": _time(span["ends_unix_s"])}
    return {**span, **times, "which": which, "what": span["name"] or span["kind"], "tenant": span["tenant"] or "-"}


def _time(unix_s: float | None) -> str:
    return "-" if unix_s is None else time.strftime("%m-%d %H:%M", time.gmtime(unix_s))
