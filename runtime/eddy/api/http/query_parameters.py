# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What stands in the query of a request: parameters that its route has, each once, in one place for all routes.

A parameter nobody knows is a mistake that would pass in silence: `?dryrun=true` would submit the job.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_origin
from urllib.parse import parse_qsl

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import Scope

FOREIGN = frozenset({"/v1/session/sign-on/callback"})
"""Addresses whose queries others write, who may add to them: OpenID Connect lets a provider."""
MAX_PARAMETERS = 256
"""Parameters in a query; each that is wrong costs far more time than it has bytes."""


class RouteQuery(NamedTuple):
    """What a route takes.

    Attributes:
        path: Its pattern.
        names: Of parameters, and whether each may stand there several times.
        asks: Whether it asks who is there first.
    """

    path: re.Pattern[str]
    methods: frozenset[str]
    names: Mapping[str, bool]
    asks: bool


class WrongParameter(NamedTuple):
    """A parameter that is refused.

    Attributes:
        allowed: Parameters that the route has.
    """

    field: str
    message: str
    allowed: list[str]


class QueryParameters:
    """Which parameters each route has, and which of them have a single value.

    Args:
        routes: All there are, in their order.
        caller: What those depend on that ask who is there.
    """

    def __init__(self, routes: Iterable[APIRoute], caller: Callable[..., Any]) -> None:
        self._known = [_query_of(route, caller) for route in routes]

    def find_wrong(self, scope: Scope) -> WrongParameter | None:
        """The first parameter of a request that its route does not have, or that has two values; None for none."""
        known = None if scope["path"] in FOREIGN else self._route(scope["method"], scope["path"])
        # Who has no key is told that, not what is wrong beside it.
        if known is None or (known.asks and _is_stranger(scope)):
            return None
        wrong = _wrong(scope["query_string"], known.names)
        return None if wrong is None else WrongParameter(*wrong, sorted(known.names))

    def _route(self, method: str, path: str) -> RouteQuery | None:
        """Which route is asked; None for none."""
        methods = (method, "GET") if method == "HEAD" else (method,)
        found = (each for name in methods for each in self._known if name in each.methods and each.path.match(path))
        return next(found, None)


def _query_of(route: APIRoute, caller: Callable[..., Any]) -> RouteQuery:
    methods, names = frozenset(route.methods or ()), dict(_taken(route.dependant))
    return RouteQuery(route.path_regex, methods, names, _depends_on(route.dependant, caller))


def _taken(of: Dependant) -> Iterator[tuple[str, bool]]:
    """The parameters a function takes, with those of what it depends on."""
    for field in of.query_params:
        kind: Any = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from ((each.alias or name, _is_list(each.annotation)) for name, each in kind.model_fields.items())
        else:
            yield field.alias, _is_list(kind)
    for each in of.dependencies:
        yield from _taken(each)


def _depends_on(of: Dependant, caller: Callable[..., Any]) -> bool:
    return of.call is caller or any(_depends_on(each, caller) for each in of.dependencies)


def _is_stranger(scope: Scope) -> bool:
    return not any(name in (b"authorization", b"cookie") for name, _ in scope["headers"])


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is list


def _wrong(query: bytes, names: Mapping[str, bool]) -> tuple[str, str] | None:
    """The first parameter that is wrong, and why."""
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return "query", f"there are more than {MAX_PARAMETERS} parameters"
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in names:
            return f"{name:.80}", "there is no such parameter here"
        if not names[name] and found.setdefault(name, value) != value:
            return name, "it stands there twice, with different values"
    return None
