"""Options of the `eddy` command, made from the table of settings; imports nothing heavy."""

from __future__ import annotations

from typing import Annotated, Any

import click
import typer

from eddy.settings import SETTINGS


def option(name: str) -> Any:
    """The option of a setting: its flag, its environment variable, its help and its allowed values."""
    setting = SETTINGS[name]
    choice = {"click_type": click.Choice(list(setting.allowed))} if setting.allowed else {}
    return typer.Option(setting.flag, envvar=setting.environment, help=setting.describe(), show_envvar=True, **choice)


def default(name: str) -> Any:
    """The default of a setting."""
    return SETTINGS[name].default


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value on standard output.")]
Url = Annotated[str, option("url")]
Key = Annotated[str, option("key")]
JobId = Annotated[int, typer.Argument(metavar="ID", min=1, help="Job id.")]

URL: str = default("url")
KEY: str = default("key")
