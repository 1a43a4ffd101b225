"""Routes that are asked most: what their functions take is found out once, when the server starts.

FastAPI goes through the tree of a route's dependencies again for every request, those that appear twice among it, and
looks for parameters where there are none: several times as long as all that is then done with a submission. Here the
tree becomes a list of calls. What a function takes is still said by its signature alone, parameters and bodies are
still checked by FastAPI, in its order, and a request has no other way. Whatever FastAPI would do that is not done here
is refused when the server is built: no rule that is added to a route, to what it depends on or to the application is
skipped in silence.
"""

from __future__ import annotations

import email.message
import inspect
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import lru_cache
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

from fastapi import APIRouter, FastAPI, Request, Response, params
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_typed_return_annotation, request_body_to_args, request_params_to_args
from fastapi.exceptions import RequestValidationError
from pydantic_core import PydanticUndefined
from starlette.routing import request_response

from eddy.api.request_bodies.strict_json import JsonRoute, parse

Parameters = Callable[[Request], tuple[dict[str, Any], list[Any]]]
"""Parameters of a request by their names in a call, and what is wrong with them."""
_SCALARS = (str, bool, int, float, type(None))


class _Step(NamedTuple):
    """A call: of a dependency, or at last of the route's function.

    Attributes:
        call: It.
        sources: Earlier steps it depends on, in order, one as often as it is named.
        results: What it takes of these: its name for it, and which step that is.
        parameters: What it takes of path, query, headers and cookies.
        requests: Its names for the request.
        response: Its name for the answer's headers, or None.
    """

    call: Callable[..., Coroutine[Any, Any, Any]]
    sources: Sequence[int]
    results: Sequence[tuple[str, int]]
    parameters: Sequence[Parameters]
    requests: Sequence[str]
    response: str | None


class FrequentRoute(JsonRoute):
    """A route whose function answers responses and takes one JSON body at most, and whose dependencies are asynchronous
    and clean nothing up.

    Raises:
        TypeError: It is another one; the message names the route, and what of it does not go.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.app = request_response(self.get_route_handler())

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler."""
        for what in _unsupported(self):
            raise _refusal(self, what)
        steps, body_params = list[_Step](), self.dependant.body_params
        _plan(self.dependant, {}, steps)
        *dependencies, last = steps

        async def handle(request: Request) -> Response:
            if getattr(request.app, "dependency_overrides", None):
                raise _refusal(self, "the application has `dependency_overrides`")
            body = await _read_body(request) if body_params else None
            results, errors, headers = list[Any](), list[Sequence[Any]](), Response()
            for step in dependencies:
                values, wrong = _arguments(step, request, headers, results, errors)
                results.append(None if wrong else await step.call(**values))
                errors.append(wrong)
            values, wrong = _arguments(last, request, headers, results, errors)
            if body_params:
                found, more = await request_body_to_args(body_params, body, embed_body_fields=False)
                values |= found
                wrong += more
            if wrong:
                raise RequestValidationError(wrong, body=None if body is PydanticUndefined else body)
            response: Response = await last.call(**values)
            return response

        return handle


def install(app: FastAPI, router: APIRouter) -> None:
    """Put frequent routes before all others of an application: one that is included is searched twice for a request.

    Raises:
        TypeError: The application has rules of its own, which they would skip.
    """
    for name, there in (
        ("dependencies", app.router.dependencies),
        ("dependency_overrides", app.dependency_overrides),
        ("strict_content_type=False", app.router.strict_content_type is False),
    ):
        if there:
            names = ", ".join(route.path for route in router.routes if isinstance(route, FrequentRoute))
            raise TypeError(f"the application has `{name}`, which frequent routes ({names}) would skip")
    app.router.routes[:0] = router.routes


def _refusal(route: FrequentRoute, what: str) -> TypeError:
    methods = "/".join(sorted(route.methods or ()))
    return TypeError(f"{methods} {route.path} cannot be a frequent route: {what}")


def _unsupported(route: FrequentRoute) -> Iterator[str]:
    """What FastAPI would do for a route and is not done here."""
    last = route.dependant
    if not _is_asynchronous(last.call):
        yield f"`{_name(last.call)}` is no asynchronous function"
    returned = get_typed_return_annotation(route.endpoint)
    if not (inspect.isclass(returned) and issubclass(returned, Response)):
        yield f"`{_name(last.call)}` does not say that it answers a `Response`"
    if route.strict_content_type is False:
        yield "it has `strict_content_type=False`"
    if route.max_body_size is not None:
        yield "it has `max_body_size`"
    if len(last.body_params) > 1:
        yield f"it takes several bodies, {', '.join(f'`{field.name}`' for field in last.body_params)}"
    for field in last.body_params:
        if isinstance(field.field_info, params.Form):
            yield f"parameter `{field.name}` is a form"
        if getattr(field.field_info, "embed", None) or route._embed_body_fields:
            yield f"body `{field.name}` has `embed=True`"
    yield from _unsupported_of(last)
    for each in last.dependencies:
        yield from _unsupported_below(each)


def _unsupported_below(of: Dependant) -> Iterator[str]:
    """The same for something it depends on, and what that depends on."""
    what = f"dependency `{_name(of.call)}`" + (f" (parameter `{of.name}`)" if of.name else "")
    if not _is_asynchronous(of.call):
        yield f"{what} is no asynchronous function"
    if not of.use_cache:
        yield f"{what} has `use_cache=False`"
    if of.scope is not None:
        yield f"{what} has `scope={of.scope!r}`"
    if of.concurrency is not None:
        yield f"{what} has `max_concurrency`"
    if of.own_oauth_scopes:
        yield f"{what} has security scopes"
    for field in of.body_params:
        yield f"{what} takes a body, `{field.name}`"
    yield from _unsupported_of(of)
    for each in of.dependencies:
        yield from _unsupported_below(each)


def _unsupported_of(of: Dependant) -> Iterator[str]:
    """Parameters that nobody fills in here, of any function."""
    for name, kind in (
        (of.background_tasks_param_name, "background tasks"),
        (of.security_scopes_param_name, "security scopes"),
        (of.websocket_param_name, "a web socket"),
    ):
        if name:
            yield f"parameter `{name}` of `{_name(of.call)}` is for {kind}"


def _is_asynchronous(call: Any) -> bool:
    """Whether a call gives something to await, and neither it nor what it wraps is a generator."""
    for each in (call, inspect.unwrap(call)):
        called = each if inspect.isroutine(each) or inspect.isclass(each) else type(each).__call__
        if not (inspect.iscoroutinefunction(each) or inspect.iscoroutinefunction(called)):
            return False
    return True


def _name(call: Any) -> str:
    return getattr(call, "__qualname__", None) or type(call).__name__


def _plan(of: Dependant, found: dict[Any, int], steps: list[_Step]) -> int:
    """Add a call and what it depends on, each once; answers which step it is."""
    if of.call not in found:
        assert of.call is not None
        results = [(each.name, _plan(each, found, steps)) for each in of.dependencies]
        named = [(name, step) for name, step in results if name]
        groups: list[tuple[Sequence[Any], Callable[[Request], Mapping[str, Any]]]] = [
            (of.path_params, lambda request: request.path_params),
            (of.query_params, lambda request: request.query_params),
            (of.header_params, lambda request: request.headers),
            (of.cookie_params, lambda request: request.cookies),
        ]
        parameters = [_parameters(fields, read) for fields, read in groups if fields]
        requests = [name for name in (of.http_connection_param_name, of.request_param_name) if name]
        sources = [step for _, step in results]
        steps.append(_Step(of.call, sources, named, parameters, requests, of.response_param_name))
        found[of.call] = len(steps) - 1
    return found[of.call]


def _parameters(fields: Sequence[Any], read: Callable[[Request], Mapping[str, Any]]) -> Parameters:
    if not all(_is_optional_scalar(field) for field in fields):
        return lambda request: request_params_to_args(fields, read(request))
    known = [(field, field.name, field.alias, (field.field_info.in_.value, field.alias)) for field in fields]
    defaults = {field.name: field.default for field in fields}

    def scalars(request: Request) -> tuple[dict[str, Any], list[Any]]:
        given, values, errors = read(request), dict(defaults), list[Any]()
        for field, name, alias, place in known:
            if (value := given.get(alias)) is not None:
                values[name], wrong = field.validate(value, {}, loc=place)
                errors += wrong
        return values, errors

    return scalars


def _is_optional_scalar(field: Any) -> bool:
    """Whether a parameter is one value under one name, with a default that is always the same."""
    info = field.field_info
    kinds = get_args(info.annotation) if get_origin(info.annotation) in (Union, UnionType) else (info.annotation,)
    return (
        not info.is_required()
        and all(each in _SCALARS for each in kinds)
        and info.default_factory is None
        and not info.validate_default
        and isinstance(info.default, _SCALARS)
        and info.validation_alias in (None, field.alias)
        and not field.config
    )


def _arguments(
    step: _Step, request: Request, headers: Response, results: Sequence[Any], errors: Sequence[Sequence[Any]]
) -> tuple[dict[str, Any], list[Any]]:
    """What a step's call takes, and what is wrong with it or with what it depends on: it is not made then."""
    values = {name: results[index] for name, index in step.results}
    all_wrong = [error for index in step.sources for error in errors[index]]
    for parameters in step.parameters:
        found, wrong = parameters(request)
        values |= found
        all_wrong += wrong
    for name in step.requests:
        values[name] = request
    if step.response:
        values[step.response] = headers
    return values, all_wrong


async def _read_body(request: Request) -> Any:
    """The value of a JSON body; the bytes of one that is not said to be JSON, and `PydanticUndefined` for no body.

    Raises:
        RequestValidationError: It is not JSON.
        UnfitValue: It cannot be kept.
    """
    data = await request.body()
    if not data:
        return PydanticUndefined
    if not _is_json(request.headers.get("content-type", "")):
        return data
    try:
        return parse(data)
    except json.JSONDecodeError as failure:
        error = {"type": "json_invalid", "loc": ("body", failure.pos), "msg": "JSON decode error", "input": {}}
        raise RequestValidationError([{**error, "ctx": {"error": failure.msg}}], body=failure.doc) from failure


@lru_cache(maxsize=64)
def _is_json(content_type: str) -> bool:
    """Whether a body of that type is JSON, as FastAPI has it."""
    if not content_type:
        return False
    message = email.message.Message()
    message["content-type"] = content_type
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))
