# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a field of a manifest or a package may be: each check once, each refusal naming the field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from eddy.core.errors import InvalidRequest

MANY = 1000
"""Brackets of a text, or characters of a line, from which on it may be nested too deep for the quick reader."""
try:
    from yaml import CSafeLoader as _Quick
except ImportError:  # a PyYAML built without libyaml
    _Quick = None  # type: ignore[assignment, misc]


def load_yaml(text: str) -> Any:
    """What a YAML text holds.

    Where PyYAML has libyaml it reads eight times as fast. That reader has no bound on nesting but the stack's end, and
    says less of what is wrong; so what may be deep, or is wrong, goes to the other one.

    Raises:
        YAMLError: It is not YAML.
        RecursionError: It is nested too deep.
    """
    brackets, longest = text.count("[") + text.count("{"), max(map(len, text.splitlines()), default=0)
    if _Quick is not None and brackets < MANY and longest < MANY:
        try:
            return yaml.load(text, Loader=_Quick)
        except yaml.YAMLError:
            pass
    return yaml.safe_load(text)


def read_yaml(path: Path) -> Any:
    """What a YAML file holds.

    Raises:
        InvalidRequest: It cannot be read, or is not YAML.
    """
    try:
        return load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}", field="path") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path} is not YAML: {' '.join(str(error).split())}", field="path") from error
    except RecursionError as error:
        raise InvalidRequest(f"{path} is not YAML: it is nested too deep", field="path") from error


def check_names(raw: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse a field that nobody knows."""
    allowed = list(names)
    for name in raw:
        if name not in allowed:
            raise InvalidRequest(f"unknown field {name}", field=str(name), allowed=allowed)


def mapping(value: Any, field: str) -> Mapping[str, Any]:
    """Names and values."""
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{field} must be a mapping", field=field)
    return value


def sequence(value: Any, field: str) -> Sequence[Any]:
    """A list."""
    if not isinstance(value, (list, tuple)):
        raise InvalidRequest(f"{field} must be a list", field=field)
    return value


def choice(value: Any, field: str, allowed: Sequence[Any]) -> Any:
    """One of the values allowed."""
    if value not in allowed:
        raise InvalidRequest(
            f"{field} is {value!r}; allowed: {', '.join(map(str, allowed))}", field=field, allowed=list(allowed)
        )
    return value


def name(value: Any, field: str) -> str:
    """A name."""
    if not isinstance(value, str) or not (value.isascii() and value.isidentifier()) or len(value) > 64:
        raise InvalidRequest(
            f"{field} is {value!r}; a name has ASCII letters, digits and underscores, at most 64", field=field
        )
    return value


def unique(names: Sequence[str], field: str) -> None:
    """Refuse a name that stands twice."""
    for each in names:
        if names.count(each) > 1:
            raise InvalidRequest(f"{field}: {each} occurs twice", field=field)


def integer(value: Any, field: str, low: int, high: int) -> int:
    """An integer from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidRequest(
            f"{field} is {value!r}; allowed: integers from {low} to {high}", field=field, allowed=f"{low}..{high}"
        )
    return value


def count(value: Any, field: str) -> int:
    """An integer from zero."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequest(f"{field} is {value!r}; it must be a count", field=field)
    return value


def positive(value: Any, field: str) -> float:
    """A number above zero."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise InvalidRequest(f"{field} is {value!r}; it must be a positive number", field=field)
    return float(value)
