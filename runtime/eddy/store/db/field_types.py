# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether a value that was read back has the types its class says: JSON and SQLite keep whatever they are given."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Check = Callable[[Any], bool]


def check_types(value: T) -> T:
    """The value, a dataclass's instance, where each of its fields is what the class says, and theirs are too.

    Numbers are finite and texts can be written as UTF-8, as what answers are made of must be.

    Raises:
        TypeError: One is not; says which.
    """
    kind: Any = type(value)
    values, checks = _fields(kind)
    for found, (at_once, fits, name) in zip(values(value), checks, strict=True):
        if type(found) not in at_once and not fits(found):
            raise TypeError(f"{kind.__name__}.{name} is {found!r:.40}")
    return value


def parse_flag(column: object) -> bool:
    """What a column says that holds 0 or 1.

    Raises:
        ValueError: It holds something else.
    """
    if type(column) is int and column in (0, 1):
        return bool(column)
    raise ValueError(f"a flag is {column!r:.40}")


def parse_finite(text: str) -> float:
    """A number that was written.

    Raises:
        ValueError: It is none.
    """
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(text)
    return found


@functools.lru_cache(maxsize=64)
def _fields(kind: type) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[tuple[frozenset[type], Check, str], ...]]:
    """What gets the values of all fields, and of each the types that need no further look, its check and its name."""
    hints, names = get_type_hints(kind), [each.name for each in dataclasses.fields(kind)]
    checks = tuple((_at_once(hints[name]), _check(hints[name]), name) for name in names)
    return operator.attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),), checks


def _at_once(hint: Any) -> frozenset[type]:
    """Types of a hint of which every value will do."""
    alternatives = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    found = {each for each in alternatives if isinstance(each, type)}
    enums = {each for each in found if issubclass(each, enum.Enum)}
    return frozenset((found & {int, bool, types.NoneType}) | enums | ({int} if float in found else set()))


def _check(hint: Any) -> Check:
    """What tells whether a value is of a type, as annotations give it."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _: True
    if origin in (Union, types.UnionType):
        each = tuple(map(_check, inner))
        return lambda value: any(fits(value) for fits in each)
    if origin is tuple:
        return _sequence(inner)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(*map(_check, inner))
    return _PLAIN.get(hint) or _instance(hint)


def _sequence(inner: tuple[Any, ...]) -> Check:
    each = tuple(_check(hint) for hint in inner if hint is not Ellipsis)
    if inner[-1] is Ellipsis:
        return lambda value: type(value) is tuple and all(map(each[0], value))
    return lambda value: (
        type(value) is tuple
        and len(value) == len(each)
        and all(fits(part) for fits, part in zip(each, value, strict=True))
    )


def _mapping(key: Check, entry: Check) -> Check:
    return lambda value: isinstance(value, Mapping) and all(key(k) and entry(v) for k, v in value.items())


def _instance(hint: type) -> Check:
    if hint is types.NoneType:
        return lambda value: value is None
    if dataclasses.is_dataclass(hint) and not issubclass(hint, enum.Enum):
        return lambda value: isinstance(value, hint) and check_types(value) is value
    return lambda value: isinstance(value, hint)


def _text(value: Any) -> bool:
    if type(value) is not str:
        return False
    if not value.isascii():
        value.encode()  # half of a surrogate pair is no text; UnicodeEncodeError is a ValueError
    return True


_PLAIN: Mapping[Any, Check] = {
    int: lambda value: type(value) is int,
    float: lambda value: type(value) is int or (type(value) is float and math.isfinite(value)),
    bool: lambda value: type(value) is bool,
    str: _text,
}
