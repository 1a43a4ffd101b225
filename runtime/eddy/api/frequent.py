"""Routes that are asked most: what their functions take is found out once, when the server starts.

FastAPI goes through the tree of a route's dependencies again for every request, those that appear twice among it, and
looks for parameters where there are none: several times as long as all that is then done with a submission. Here the
tree becomes a list of calls. What a function takes is still said by its signature alone, parameters and bodies are
still checked by FastAPI, in its order, and a request has no other way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_params_to_args
from fastapi.exceptions import RequestValidationError
from pydantic_core import PydanticUndefined
from starlette.routing import request_response

from eddy.api.bodies import JsonRoute, parse

Parameters = Callable[[Request], tuple[dict[str, Any], list[Any]]]
"""Parameters of a request by their names in a call, and what is wrong with them."""
_SCALARS = (str, bool, int, float, type(None))


class _Step(NamedTuple):
    """A call: of a dependency, or at last of the route's function.

    Attributes:
        call: It.
        results: What it takes of earlier steps: its name for it, and which step that is.
        parameters: What it takes of path, query, headers and cookies.
        request: Its name for the request, or None.
        response: Its name for the answer's headers, or None.
    """

    call: Callable[..., Coroutine[Any, Any, Any]]
    results: Sequence[tuple[str, int]]
    parameters: Sequence[Parameters]
    request: str | None
    response: str | None


class FrequentRoute(JsonRoute):
    """A route whose function answers responses and takes one body at most, and whose dependencies are asynchronous and
    clean nothing up."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.app = request_response(self.get_route_handler())

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler."""
        steps, body_params = list[_Step](), self.dependant.body_params
        _plan(self.dependant, {}, steps)
        *dependencies, last = steps

        async def handle(request: Request) -> Response:
            body = await _read_body(request) if body_params else None
            results, errors, headers = list[Any](), list[Any](), Response()
            for step in dependencies:
                values, wrong = _arguments(step, request, headers, results)
                errors += wrong
                results.append(None if wrong else await step.call(**values))
            values, wrong = _arguments(last, request, headers, results)
            errors += wrong
            for field in body_params:
                values[field.name], wrong = (
                    (None, [{"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}])
                    if body is PydanticUndefined
                    else field.validate(body, {}, loc=("body",))
                )
                errors += wrong
            if errors:
                raise RequestValidationError(errors, body=body)
            response: Response = await last.call(**values)
            return response

        return handle


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
        request = of.request_param_name or of.http_connection_param_name
        steps.append(_Step(of.call, named, parameters, request, of.response_param_name))
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
    kind = field.field_info.annotation
    return not field.field_info.is_required() and all(each in _SCALARS for each in get_args(kind) or (kind,))


def _arguments(
    step: _Step, request: Request, headers: Response, results: Sequence[Any]
) -> tuple[dict[str, Any], list[Any]]:
    """What a step's call takes, and what is wrong with it."""
    values = {name: results[index] for name, index in step.results}
    errors = list[Any]()
    for parameters in step.parameters:
        found, wrong = parameters(request)
        values |= found
        errors += wrong
    if step.request:
        values[step.request] = request
    if step.response:
        values[step.response] = headers
    return values, errors


async def _read_body(request: Request) -> Any:
    """The value of a JSON body; `PydanticUndefined` for no body.

    Raises:
        RequestValidationError: It is not JSON.
        UnfitValue: It cannot be kept.
    """
    data = await request.body()
    try:
        return parse(data) if data else PydanticUndefined
    except json.JSONDecodeError as failure:
        error = {"type": "json_invalid", "loc": ("body", failure.pos), "msg": "JSON decode error", "input": {}}
        raise RequestValidationError([{**error, "ctx": {"error": failure.msg}}], body=failure.doc) from failure
