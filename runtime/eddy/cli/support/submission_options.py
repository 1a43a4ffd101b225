# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Plain options of a submission as flags: of every command that submits one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from eddy.core.records import OPTIONS
from eddy.core.submission_options import MAX_SECONDS, Option

ASKED = "asked"
"""The parameter of a command that gets those that were given, by name."""
_ENDS = (("ge", "gt"), ("le", "lt"))
"""Least and most, with and without the bound itself; the server refuses that."""


def with_options(kind: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with a flag for each option that jobs of a kind have, in the place of its parameter `asked`."""
    mine = {name: each for name, each in OPTIONS.items() if each.flag and each.only in ("", kind)}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def submitting(**given: Any) -> None:
            options = {name: given.pop(name) for name in mine}
            command(**given, **{ASKED: {name: value for name, value in options.items() if value is not None}})

        parameters: list[inspect.Parameter] = []
        signature = inspect.signature(command, eval_str=True)
        for parameter in signature.parameters.values():
            taken = [_flag(*each) for each in mine.items()] if parameter.name == ASKED else [parameter]
            parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in taken]
        submitting.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return submitting

    return decorate


def _flag(name: str, option: Option) -> inspect.Parameter:
    """An option as a parameter; what is not given is None, and the server knows what that means."""
    shown: dict[str, Any] = {"help": option.help or option.description}
    if option.choices:
        levels = ", ".join(map(str, option.choices))
        shown |= {"parser": _one_of(option), "metavar": "INTEGER" if option.type is int else "TEXT"}
        shown["help"] = f"One of {levels}; {shown['help']}"
    else:
        least, most = (option.bounds.get(with_it, option.bounds.get(without)) for with_it, without in _ENDS)
        shown |= {"min": least, "max": None if most == MAX_SECONDS else most}
    annotation = Annotated[option.type | None, typer.Option(*option.flag.split(), **shown)]  # type: ignore[name-defined]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _one_of(option: Option) -> Callable[[Any], Any]:
    def parse(text: Any) -> Any:
        for choice in option.choices:
            if str(text) == str(choice):
                return choice
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(str, option.choices))}.")

    return parse
