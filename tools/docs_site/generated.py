# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Pages of the site that are made of the program: commands, Python interfaces, the HTTP interface."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INTERFACES = {
    "client": (
        "Python client",
        ("eddy.client", "eddy.client.calls.job", "eddy.client.calls.kernel", "eddy.client.answers"),
    ),
    "policies": (
        "Policies",
        ("eddy.policy.registry", "eddy.policy.dispatch.views", "eddy.policy.price.view", "eddy.policy.place.schedule"),
    ),
    "board-port": ("Board port", ("eddy.board.port.port", "eddy.board.port.profile", "eddy.board.port.clock")),
    "models": (
        "Models and the market",
        ("eddy.market", "eddy.model.parallel_fraction", "eddy.model.slowdown", "eddy.model.progress"),
    ),
}
"""Pages of the Python reference: title, and the modules whose docstrings they show."""


def write_pages(folder: Path) -> None:
    """All of them, below `reference/`."""
    reference = folder / "reference"
    (reference / "python").mkdir(parents=True, exist_ok=True)
    for name, (title, modules) in INTERFACES.items():
        shown = "\n\n".join(f"::: {module}" for module in modules)
        (reference / "python" / f"{name}.md").write_text(f"# {title}\n\n{shown}\n", encoding="utf-8")
    lines = [f"- [{title}]({name}.md)" for name, (title, _) in INTERFACES.items()]
    index = "# Python interfaces\n\nMade of the docstrings.\n\n" + "\n".join(lines) + "\n"
    with (reference / "index.md").open("a", encoding="utf-8") as page:
        page.write("- [All commands](commands.md)\n- [Python interfaces](python/index.md)\n")
        page.write('- <a href="openapi/index.html">HTTP interface (OpenAPI)</a>\n')
    (reference / "python" / "index.md").write_text(index, encoding="utf-8")
    (reference / "commands.md").write_text(command_page(), encoding="utf-8")
    write_http(reference / "openapi")


def command_page() -> str:
    """Every command with its arguments and options, from the command tree."""
    import typer
    from eddy.cli.main import app

    parts = ["# All commands\n\nMade of the command tree; [the guide to the command](cli.md) says what they are for.\n"]
    parts += _commands(typer.main.get_command(app), ("eddy",))
    return "\n".join(parts)


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    if hasattr(command, "commands"):
        for name in command.list_commands(None):
            if not command.commands[name].hidden:
                yield from _commands(command.commands[name], (*path, name))
        return
    yield f"## {' '.join(path)}\n\n{(command.help or '').strip()}\n"
    rows = [row for parameter in command.params for row in _row(parameter)]
    if rows:
        yield "| argument or option | |\n|---|---|"
        yield "\n".join(rows) + "\n"


def _row(parameter: Any) -> Iterator[str]:
    if getattr(parameter, "hidden", False):
        return
    names = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        names = [str(parameter.metavar or parameter.name).upper()]
    words = " ".join((getattr(parameter, "help", "") or "").split()).replace("|", "\\|")
    yield f"| `{', '.join(names)}` | {words} |"


def write_http(folder: Path) -> None:
    """The OpenAPI document, and a page that shows it without a network: the viewer comes with `fastapi-offline`."""
    import fastapi_offline
    from eddy.api.http import openapi
    from eddy.api.service.app import routes
    from fastapi import FastAPI

    whole = FastAPI(title="Eddy", version="1", routes=[*routes()])
    openapi.describe(whole)
    folder.mkdir(parents=True, exist_ok=True)
    document = json.dumps(whole.openapi(), sort_keys=True)
    (folder / "openapi.json").write_text(document, encoding="utf-8")
    (folder / "document.js").write_text(f"window.document_of_eddy = {document};\n", encoding="utf-8")
    viewer = Path(fastapi_offline.__file__).parent / "static" / "redoc.standalone.js"
    shutil.copyfile(viewer, folder / "redoc.standalone.js")
    shutil.copyfile(Path(__file__).parent / "openapi.html", folder / "page.html")
