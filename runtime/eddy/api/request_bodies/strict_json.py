# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""JSON bodies, read strictly: what Python's reader lets in and others do not never reaches a route.

Python accepts NaN, infinities, names that stand twice, half a surrogate pair and integers of any length. Each of them
breaks something inside (a data base, a file name, an answer that must be UTF-8), so all are refused here, once
for every route: what is no JSON with 400 `malformed-json`, what is JSON but cannot be kept with 422 and the field.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

MAX_DEPTH = 32
"""Objects and lists within each other."""
MAX_NAMES = 1024
"""Names in one object; each that is wrong costs far more time and answer than it has bytes."""
MIN_INTEGER, MAX_INTEGER = -(1 << 63), (1 << 64) - 1
"""What a 64-bit register of either signedness holds."""


class UnstorableValue(HTTPException):
    """A value that is JSON, and cannot be kept.

    It is an HTTP exception because FastAPI turns any other one raised while it reads a body into a 400.

    Args:
        field: Where it stands, dotted.
        message: What is wrong with it.
        allowed: What it may be.
    """

    def __init__(self, field: str, message: str, allowed: str) -> None:
        super().__init__(422, f"{field}: {message}.")
        self.extra = {"field": field, "allowed": allowed}


class JsonRoute(APIRoute):
    """A route whose JSON body is read by `parse`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler, over a request that reads strictly where there is something to read."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def strictly(request: Request) -> Response:
            strict = isinstance(request, StrictRequest)
            return await handle(request if strict else StrictRequest(request.scope, request.receive))

        return strictly


class StrictRequest(Request):
    """A request whose body is JSON as RFC 8259 has it, and no more."""

    async def json(self) -> Any:
        """The body's value."""
        return parse(await self.body())


def parse(body: bytes) -> Any:
    """Read a JSON body.

    Raises:
        JSONDecodeError: It is not JSON in UTF-8, a name occurs twice in one object, or it is nested too deep.
        UnfitValue: A number is not finite or longer than 64 bits, a text has a lone surrogate or U+0000, or an object
            has too many names.
    """
    try:
        text = body.decode()
        value = _read(text)
    except UnicodeDecodeError as failure:
        raise json.JSONDecodeError(f"it is not UTF-8 at byte {failure.start}", "", failure.start) from None
    except RecursionError:
        raise json.JSONDecodeError(f"it is nested more than {MAX_DEPTH} deep", "", 0) from None
    except json.JSONDecodeError:
        raise
    except ValueError as failure:  # a name that stands twice
        raise json.JSONDecodeError(str(failure), text, 0) from None
    _check(value, "", 0)
    return value


def _read(text: str) -> Any:
    """As `json.loads` reads it, with a decoder that was made once."""
    if text.startswith("\ufeff"):
        raise json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
    return _decoder.decode(text)


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {printable(name)!r:.80} occurs twice in one object")
        found[name] = value
    return found


def _integer(text: str) -> int:
    """A whole number; one longer than any that is allowed becomes one that is just beyond."""
    return int(text) if len(text) <= 20 else (MIN_INTEGER - 1 if text.startswith("-") else MAX_INTEGER + 1)


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)


def _check(value: Any, field: str, depth: int) -> None:
    """Refuse what cannot be kept.

    Raises:
        UnfitValue: It names the first such value.
    """
    if depth > MAX_DEPTH:
        raise json.JSONDecodeError(f"it is nested more than {MAX_DEPTH} deep", "", 0)
    if isinstance(value, str):
        _check_text(value, field, "the text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise UnstorableValue(field or "body", "the number is not finite", "a finite number")
    elif isinstance(value, int) and not MIN_INTEGER <= value <= MAX_INTEGER:
        raise UnstorableValue(field or "body", "the number has more than 64 bits", f"{MIN_INTEGER} to {MAX_INTEGER}")
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            if not _plain(entry):
                _check(entry, f"{field}[{place}]", depth + 1)
    elif isinstance(value, dict):
        if len(value) > MAX_NAMES:
            raise UnstorableValue(field or "body", f"the object has {len(value)} names", f"at most {MAX_NAMES} names")
        for name, entry in value.items():
            inside = f"{field}.{printable(name):.80}".lstrip(".")
            _check_text(name, inside, "the name")
            _check(entry, inside, depth + 1)


def _plain(value: Any) -> bool:
    """Whether a value is at first sight one that can be kept: a list may have half a million."""
    if type(value) is int:
        return 0 <= value <= MAX_INTEGER
    return type(value) is str and value.isascii() and "\0" not in value


def _check_text(text: str, field: str, what: str) -> None:
    if "\0" in text:
        raise UnstorableValue(field or "body", f"{what} has the character U+0000", "text without U+0000")
    if printable(text) is not text:
        raise UnstorableValue(field or "body", f"{what} has half of a surrogate pair", "text that UTF-8 can write")


def printable(text: str) -> str:
    """The text itself where UTF-8 can write it, otherwise one that shows with backslashes what it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text


def with_body(call: Callable[..., Coroutine[Any, Any, Any]], model: type) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A route's function whose parameter `body` is of a model that is made when the server starts.

    FastAPI reads the model from the signature, and it depends on the kinds of jobs the server takes.
    """

    async def route(**values: Any) -> Any:
        return await call(**values)

    signature = inspect.signature(call, eval_str=True)
    parameters = [p.replace(annotation=model) if name == "body" else p for name, p in signature.parameters.items()]
    route.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    route.__doc__ = call.__doc__
    return route
