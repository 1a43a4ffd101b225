# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy project`: tenants that have a part of the board together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import Column, print_status, say_damaged, table

app = typer.Typer(
    help="Projects: tenants that have a part of the board together (the operator's key is needed).",
    no_args_is_help=True,
)
Name = Annotated[str, typer.Argument(help="The project's name.")]


@app.command("add")
@asks_server
def add(
    client: Client,
    name: Annotated[str, typer.Argument(help="Letters, digits, _ . - ; begins with a letter.")],
    share: Annotated[
        float, typer.Option("--share", min=1e-6, max=1e6, help="Its weight among projects and tenants without one.")
    ] = 1.0,
    members: Annotated[list[str], typer.Option("--member", help="A tenant of it; may be given again.")] = [],  # noqa: B006
) -> Answer:
    """Add a project; its share is divided among its tenants by their weights."""
    made = client.add_project(name, share=share, members=members)
    yield made
    _say(made)


@app.command("set")
@asks_server
def change(
    client: Client,
    name: Name,
    share: Annotated[float | None, typer.Option("--share", min=1e-6, max=1e6, help="Its weight.")] = None,
    coming: Annotated[list[str], typer.Option("--add", help="A tenant that comes; may be given again.")] = [],  # noqa: B006
    leaving: Annotated[list[str], typer.Option("--drop", help="A tenant that leaves; may be given again.")] = [],  # noqa: B006
) -> Answer:
    """Change a project's share and tenants while they work; what is not named stays."""
    changed = client.change_project(name, share=share, add=coming, drop=leaving)
    yield changed
    _say(changed)


@app.command("remove")
@asks_server
def remove(client: Client, name: Name) -> Answer:
    """Remove a project; its tenants stay, without one."""
    client.remove_project(name)
    yield {"id": name, "removed": True}
    print_status(f"project {name} is removed; its tenants stay, without a project")


@app.command("list")
@asks_server
def list_projects(client: Client) -> Answer:
    """List projects: shares, tenants, the part of the board that each is entitled to, and past use that counts."""
    found = client.projects()
    say_damaged("projects", found["damaged"])
    yield found
    _list(found["projects"])


def _say(project: Mapping[str, Any]) -> None:
    _list([project])


def _list(projects: Sequence[Mapping[str, Any]]) -> None:
    columns = (
        Column("Project", "id"),
        Column("Share", "share", right=True),
        Column("Of the board", "part", right=True),
        Column("Used", "past", right=True),
        Column("Tenants", "names", folds=True),
    )
    table("", columns, [{**each, **_words(each)} for each in projects])


def _words(project: Mapping[str, Any]) -> dict[str, str]:
    used = project["used"]
    return {
        "part": f"{100 * project['entitled']:.1f} %",
        "past": "not counted" if used is None else f"{100 * used:.1f} %",
        "names": ", ".join(project["members"]),
    }
