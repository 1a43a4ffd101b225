# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy notify`: notices by webhook and e-mail, and what became of them."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from eddy.cli.support.local import connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url
from eddy.cli.support.output import Column, errors_in_one_line, print_json, print_status, table

app = typer.Typer(help="Have notices sent by webhook or e-mail.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="Its name, as `eddy notify list` shows it.")]


@app.command("add")
def add(
    target: Annotated[str, typer.Argument(help="https://HOST/PATH, or mailto:NAME@HOST.")],
    kinds: Annotated[list[str], typer.Option("--on", help="What is told; may be given again.")] = ["job.ended"],  # noqa: B006
    everyone: Annotated[bool, typer.Option("--everyone", help="Of everyone's jobs (operators).")] = False,
    label: Annotated[str, typer.Option("--label", help="What you call it.")] = "",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Have notices sent. A webhook's secret is printed this once: receivers check signatures with it."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        made = client.subscribe(target, kinds, everyone=everyone, label=label)
    if as_json:
        print_json(made)
        return
    print(made["id"])
    if made["secret"]:
        print_status(f"its secret, shown this once: {made['secret']}")


@app.command("list")
def list_all(url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Who is told what, and where."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.subscriptions()
    if as_json:
        print_json({"subscriptions": found})
        return
    columns = (
        Column("Subscription", "id"),
        Column("Tenant", "tenant"),
        Column("Notices", "told", folds=True),
        Column("Target", "target", folds=True),
        Column("State", "state", folds=True),
    )
    rows = [{**each, "told": ", ".join(each["kinds"]), "state": each["off"] or "on"} for each in found]
    table("", columns, rows)
    for each in found:
        if each["dropped"]:
            print_status(f"{each['dropped']} messages to {each['id']} were not kept: too many waited")


@app.command("remove")
def remove(name: Name, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Have no more notices sent; what waits is dropped."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        client.unsubscribe(name)
    if as_json:
        print_json({"subscription": name})
    else:
        print_status(f"{name} removed")


@app.command("log")
def log(
    name: Name,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many, the latest.")] = 50,
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """What was sent, what waits, and what receivers answered; newest first."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.deliveries(name, limit)
    if as_json:
        print_json({"deliveries": found})
        return
    columns = (
        Column("Message", "id"),
        Column("Tells", "kind"),
        Column("Made (UTC)", "made"),
        Column("State", "state"),
        Column("Tries", "attempts", right=True),
        Column("Last", "last", folds=True),
    )
    table(
        "",
        columns,
        [{**each, "made": _format_time(each["created_unix_s"]), "last": _describe_answer(each)} for each in found],
    )


def _format_time(unix_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(unix_s))


def _describe_answer(delivery: Any) -> str:
    said = delivery["said"] or (str(delivery["status"]) if delivery["status"] is not None else "")
    if delivery["state"] == "waiting" and delivery["attempts"]:
        return f"{said}; again at {_format_time(delivery['next_unix_s'])}"
    return said


@app.command("test")
def send_test(name: Name, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Send a test message; `eddy notify log` shows what came of it."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        made = client.send_test_notice(name)
    if as_json:
        print_json(made)
    else:
        print(made["id"])


@app.command("redeliver")
def redeliver(
    name: Name,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="Its name, as `eddy notify log` shows it.")],
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Send a message again, under the same id."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        again = client.redeliver(name, message)
    if as_json:
        print_json(again)
    else:
        print_status(f"{again['id']} is sent again")
