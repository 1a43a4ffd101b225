# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy notify`: notices by webhook and e-mail, and what became of them."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import Column, print_status, table

app = typer.Typer(help="Have notices sent by webhook or e-mail.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="Its name, as `eddy notify list` shows it.")]


@app.command("add")
@asks_server
def add(
    client: Client,
    target: Annotated[str, typer.Argument(help="https://HOST/PATH, or mailto:NAME@HOST.")],
    kinds: Annotated[list[str], typer.Option("--on", help="What is told; may be given again.")] = ["job.ended"],  # noqa: B006
    everyone: Annotated[bool, typer.Option("--everyone", help="Of everyone's jobs (operators).")] = False,
    label: Annotated[str, typer.Option("--label", help="What you call it.")] = "",
) -> Answer:
    """Have notices sent. A webhook's secret is printed this once: receivers check signatures with it."""
    made = client.subscribe(target, kinds, everyone=everyone, label=label)
    yield made
    print(made["id"])
    if made["secret"]:
        print_status(f"its secret, shown this once: {made['secret']}")


@app.command("list")
@asks_server
def list_all(client: Client) -> Answer:
    """Who is told what, and where."""
    found = client.subscriptions()
    yield {"subscriptions": found}
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
@asks_server
def remove(client: Client, name: Name) -> Answer:
    """Have no more notices sent; what waits is dropped."""
    client.unsubscribe(name)
    yield {"subscription": name}
    print_status(f"{name} removed")


@app.command("log")
@asks_server
def log(
    client: Client,
    name: Name,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many, the latest.")] = 50,
) -> Answer:
    """What was sent, what waits, and what receivers answered; newest first."""
    found = client.deliveries(name, limit)
    yield {"deliveries": found}
    columns = (
        Column("Message", "id", whole=True),
        Column("Tells", "kind", folds=True),
        Column("Made (UTC)", "made", folds=True),
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
@asks_server
def send_test(client: Client, name: Name) -> Answer:
    """Send a test message; `eddy notify log` shows what came of it."""
    made = client.send_test_notice(name)
    yield made
    print(made["id"])


@app.command("redeliver")
@asks_server
def redeliver(
    client: Client,
    name: Name,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="Its name, as `eddy notify log` shows it.")],
) -> Answer:
    """Send a message again, under the same id."""
    again = client.redeliver(name, message)
    yield again
    print_status(f"{again['id']} is sent again")
