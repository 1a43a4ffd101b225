# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Options of the `eddy` command, made from the table of settings; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from eddy.cli.support import configuration, output
from eddy.settings import SETTINGS, Setting


def one_of(allowed: Sequence[Any]) -> Callable[[Any], Any]:
    """A callback that refuses what is not among the allowed values."""

    def check(value: Any) -> Any:
        if value is not None and value not in allowed:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(str, allowed))}.")
        return value

    return check


def whole_number(text: str | int) -> int:
    """A whole number from the command line."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number.") from None


def _integer_option(setting: Setting) -> dict[str, Any]:
    """How a setting that is a whole number is read."""
    return {"parser": whole_number, "metavar": "INTEGER"} if type(setting.default) is int else {}


def not_empty(value: Any) -> Any:
    """Refuse empty text, as an unset variable of a shell gives it: it would name some other folder or host."""
    if value == "":
        raise typer.BadParameter("it is empty; give a value, or leave the option out.")
    return value


def _in_range(setting: Setting) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        wrong = setting.wrong(value)
        if wrong:
            raise typer.BadParameter(f"{value!r}: {wrong}.")
        return value

    return check


def _check(setting: Setting) -> Callable[[Any], Any] | None:
    if setting.allowed:
        return one_of(setting.allowed)
    if setting.least is not None:
        return _in_range(setting)
    return not_empty if setting.default and isinstance(setting.default, str) else None


class UnsetDefault(str):
    """A default, told apart from the same text on the command line or in the environment."""

    __slots__ = ()


def _said(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    """A URL that must not be empty; `UnsetDefault` where it is the default."""
    source = context.get_parameter_source(str(parameter.name))
    found: str = not_empty(value)
    return UnsetDefault(found) if source is None or source.name == "DEFAULT" else found


def _callback(setting: Setting) -> Callable[..., Any] | None:
    if setting.name == "url":
        return _said
    return configuration.use if setting.name == configuration.NAME else _check(setting)


def option(name: str, is_eager: bool = False, allowed: Sequence[Any] = ()) -> Any:
    """The option of a setting: its flag, its environment variable, its help and its allowed values.

    Args:
        is_eager: Whether it is read before all others.
        allowed: Those of its values that this command takes; empty where it takes all.
    """
    setting = SETTINGS[name]
    setting = replace(setting, allowed=tuple(allowed)) if allowed else setting
    return typer.Option(
        setting.flag,
        envvar=setting.environment,
        help=setting.describe(),
        callback=_callback(setting),
        is_eager=is_eager,
        show_default=not setting.secret,
        **_integer_option(setting),
    )


def default(name: str) -> Any:
    """The default of a setting."""
    return SETTINGS[name].default


def _as_json(help_text: str, of_server: bool = False) -> Any:
    def alone(context: typer.Context, parameter: typer.CallbackParam, value: bool) -> bool:
        """Keep standard output for the value, from here to the command's end."""
        if value and not context.resilient_parsing:
            context.with_resource(output.json_alone(of_server))
        return value

    return typer.Option("--json", help=help_text, callback=alone, is_eager=True)


AsJson = Annotated[bool, _as_json("Print one JSON value on standard output.")]
AsJsonReady = Annotated[bool, _as_json("Print one JSON value on standard output once it serves.", of_server=True)]
Url = Annotated[str, option("url")]
Key = Annotated[str, option("key")]


def job_number(text: str | int) -> int:
    """A job's number from the command line."""
    number = int(text) if isinstance(text, int) or (text.isascii() and text.isdecimal() and len(text) < 20) else 0
    if number < 1:
        raise typer.BadParameter(f"{text!r} is not the number of a job; `eddy jobs` lists yours.")
    return number


JobId = Annotated[int, typer.Argument(metavar="ID", parser=job_number, help="Job id.")]
URL: str = default("url")
KEY: str = default("key")
BOARD: str = default("board")
PROFILE: str = default("profile")
