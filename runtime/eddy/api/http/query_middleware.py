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
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from eddy.api.http import problems

FOREIGN = frozenset({"/v1/session/sign-on/callback"})
"""Addresses whose queries others write, who may add to them: OpenID Connect lets a provider."""
MOST_PARAMETERS = 256
"""Parameters in a query; each that is wrong costs far more time than it has bytes."""


class RouteQuery(NamedTuple):
    """What a route takes.

    Attributes:
        path: Its pattern.
        methods: Of requests.
        names: Of parameters, and whether each may stand there several times.
        asks: Whether it asks who is there first.
    """

    path: re.Pattern[str]
    methods: frozenset[str]
    names: Mapping[str, bool]
    asks: bool


class QueryMiddleware:
    """Refuses parameters that a route does not have, and two values of one that has a single value.

    Args:
        app: The application behind it.
        routes: All it has, in their order.
        caller: What its routes depend on that ask who is there.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[APIRoute], caller: Callable[..., Any]) -> None:
        self._app = app
        self._known = [_query_of(route, caller) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on where its query is right."""
        if scope["type"] == "http" and scope["query_string"] and scope["path"] not in FOREIGN:
            known = self._route(scope["method"], scope["path"])
            # Who has no key is told that, not what is wrong beside it.
            told = known is not None and not (known.asks and _is_stranger(scope))
            wrong = _wrong(scope["query_string"], known.names) if known is not None and told else None
            if known is not None and wrong is not None:
                field, message = wrong
                allowed = sorted(known.names)
                extra: dict[str, Any] = {
                    "field": field,
                    "allowed": allowed,
                    "errors": [{"field": field, "message": message}],
                }
                answer = problems.respond(Request(scope), "invalid-request", f"{field}: {message}", **extra)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _route(self, method: str, path: str) -> RouteQuery | None:
        """Which route is asked; None for none."""
        methods = (method, "GET") if method == "HEAD" else (method,)
        found = (each for name in methods for each in self._known if name in each.methods and each.path.match(path))
        return next(found, None)


def _query_of(route: APIRoute, caller: Callable[..., Any]) -> RouteQuery:
    methods, names = frozenset(route.methods or ()), dict(_taken(route.dependant))
    return RouteQuery(route.path_regex, methods, names, _asks(route.dependant, caller))


def _taken(of: Dependant) -> Iterator[tuple[str, bool]]:
    """The parameters a function takes, with those of what it depends on."""
    for field in of.query_params:
        kind: Any = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from ((each.alias or name, _many(each.annotation)) for name, each in kind.model_fields.items())
        else:
            yield field.alias, _many(kind)
    for each in of.dependencies:
        yield from _taken(each)


def _asks(of: Dependant, caller: Callable[..., Any]) -> bool:
    return of.call is caller or any(_asks(each, caller) for each in of.dependencies)


def _is_stranger(scope: Scope) -> bool:
    return not any(name in (b"authorization", b"cookie") for name, _ in scope["headers"])


def _many(kind: Any) -> bool:
    return get_origin(kind) is list


def _wrong(query: bytes, names: Mapping[str, bool]) -> tuple[str, str] | None:
    """The first parameter that is wrong, and why."""
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError:
        return "query", f"there are more than {MOST_PARAMETERS} parameters"
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in names:
            return f"{name:.80}", "there is no such parameter here"
        if not names[name] and found.setdefault(name, value) != value:
            return name, "it stands there twice, with different values"
    return None
