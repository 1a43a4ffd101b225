"""Options of the `eddy` command, made from the table of settings; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from eddy.settings import SETTINGS


def one_of(allowed: Sequence[Any]) -> Callable[[Any], Any]:
    """A callback that refuses what is not among the allowed values."""

    def check(value: Any) -> Any:
        if value is not None and value not in allowed:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(str, allowed))}.")
        return value

    return check


def option(name: str) -> Any:
    """The option of a setting: its flag, its environment variable, its help and its allowed values."""
    setting = SETTINGS[name]
    check = one_of(setting.allowed) if setting.allowed else None
    return typer.Option(
        setting.flag,
        envvar=setting.environment,
        help=setting.describe(),
        callback=check,
        show_default=not setting.secret,
    )


def default(name: str) -> Any:
    """The default of a setting."""
    return SETTINGS[name].default


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value on standard output.")]
AsJsonReady = Annotated[bool, typer.Option("--json", help="Print one JSON value on standard output once it serves.")]
Url = Annotated[str, option("url")]
Key = Annotated[str, option("key")]
JobId = Annotated[int, typer.Argument(metavar="ID", min=1, help="Job id.")]

URL: str = default("url")
KEY: str = default("key")
BOARD: str = default("board")
PROFILE: str = default("profile")
