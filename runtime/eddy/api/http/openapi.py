# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The OpenAPI page: every status a route can give, with its body and headers, and no catch-all beside them.

A route says by `refusals` what is its own; what follows from its kind (a key, parameters, a JSON body) or from being
served at all is added by `describe`, so that it cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from eddy.api.http.problems import KINDS, MEDIA_TYPE
from eddy.api.request_bodies import examples
from eddy.core.records import JobEventKind

Responses = dict[int | str, dict[str, Any]]

ANYWHERE = (400, 408, 413, 500, 503, 507)
"""What any request may meet: it cannot be read, comes too slowly, is too large, Eddy failed, the server is full, or the
disk is."""
WITH_KEY = (401, 429)
WITH_SESSION = (403,)
"""What changes something needs the session's token where a session asks."""
WITH_FIELDS = (422,)
WITH_JSON = (415,)

_TEXT = {"type": "string"}
LOCATION: dict[str, Any] = {"Location": {"description": "Address of it.", "required": True, "schema": _TEXT}}
_HEADERS: Mapping[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": {"description": "`Bearer`.", "required": True, "schema": _TEXT}},
    429: {"Retry-After": {"description": "Seconds to wait, where known.", "schema": {"type": "integer", "minimum": 0}}},
    503: {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}},
}


def refusals(*statuses: int) -> Responses:
    """Entries of a route's `responses`: problem documents of these statuses."""
    return {status: _refusal(status) for status in statuses}


def content(media_type: str, description: str, example: str | None = None) -> dict[str, Any]:
    """An entry of a route's `responses` for an answer that is not JSON."""
    shown = {} if example is None else {"example": example}
    return {"description": description, "content": {media_type: {"schema": _TEXT, **shown}}}


def stream(description: str, example: str) -> dict[str, Any]:
    """An entry of a route's `responses` for server-sent events; the schema is that of one event."""
    return {"description": description, "content": {"text/event-stream": {"schema": EVENT, "example": example}}}


def _refusal(status: int) -> dict[str, Any]:
    codes = [f"`{code}`: {kind.title}." for code, kind in KINDS.items() if kind.status == status]
    answer: dict[str, Any] = {
        "description": " ".join(codes),
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    return {**answer, "headers": _HEADERS[status]} if status in _HEADERS else answer


def describe(app: FastAPI) -> None:
    """Complete an application's page."""
    plain = app.openapi

    def complete() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            known = schema.setdefault("components", {}).setdefault("schemas", {})
            for name in ("HTTPValidationError", "ValidationError"):
                known.pop(name, None)
            known["Problem"] = PROBLEM
            for operations in schema["paths"].values():
                for method, operation in operations.items():
                    _complete(method, operation)
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = complete  # type: ignore[method-assign]


def _complete(method: str, operation: dict[str, Any]) -> None:
    """Add to an operation's answers those it need not name."""
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _never_null(parameter["schema"])
    responses = operation["responses"]
    responses.pop("default", None)
    body = operation.get("requestBody", {}).get("content", {})
    wanted = list(ANYWHERE)
    wanted += WITH_KEY if operation.get("security") else ()
    wanted += WITH_SESSION if operation.get("security") and method not in ("get", "head") else ()
    wanted += WITH_FIELDS if operation.get("parameters") or "application/json" in body else ()
    wanted += WITH_JSON if "application/json" in body else ()
    for status in wanted:
        generated = "HTTPValidationError" in str(responses.get(str(status), ""))
        if generated or str(status) not in responses:
            responses[str(status)] = _refusal(status)
    operation["responses"] = dict(sorted(responses.items()))


def _never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter that may be left out: text in an address or a header cannot be null."""
    forms = [form for form in schema.get("anyOf", ()) if form != {"type": "null"}]
    if len(forms) != 1:
        return schema
    return {**{name: value for name, value in schema.items() if name != "anyOf"}, **forms[0]}


def _property(kind: str, description: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": description, **more}


EVENT: dict[str, Any] = {
    "type": "object",
    "description": "One event of the stream.",
    "required": ["event", "data"],
    "properties": {
        "id": _property("string", "Number of the event, for `Last-Event-ID`; `end` has none.", pattern="^[0-9]+$"),
        "event": _property(
            "string", "What happened; `end` is the last.", enum=[*(what.value for what in JobEventKind), "end"]
        ),
        "data": _property(
            "string",
            "The rest, as JSON.",
            contentMediaType="application/json",
            contentSchema={
                "type": "object",
                "properties": {
                    "job": _property("integer", "The job."),
                    "what": _property("string", "As `event`."),
                    "at_s": _property("number", "Board time."),
                    "state": _property("string", "The job's new state."),
                    "slot": _property("integer", "The slot it is about."),
                    "task": _property("integer", "The task it is about."),
                    "item": _property("integer", "The item it is about."),
                    "started_s": _property("number", "Board time at which what has ended began."),
                    "detail": _property("string", "More, for people."),
                },
            },
        ),
        "retry": _property("integer", "Milliseconds to wait before connecting again."),
    },
}
PROBLEM: dict[str, Any] = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457 problem details.",
    "required": ["type", "title", "status", "code", "detail", "instance"],
    "properties": {
        "type": _property("string", "Reference to a page about the code."),
        "title": _property("string", "What the code means."),
        "status": _property("integer", "The HTTP status.", minimum=400, maximum=599),
        "code": _property("string", "Stable name of the problem.", enum=sorted(KINDS)),
        "detail": _property("string", "What is wrong this time, and what to do."),
        "instance": _property("string", "Path of the request."),
        "field": _property("string", "The field to blame, dotted as in the request."),
        "allowed": {"description": "What the field may be."},
        "asked": {"description": "What it was."},
        "limit": _property("number", "The bound that is reached."),
        "retry_after_s": _property("number", "Seconds after which the same request may be accepted.", minimum=0),
        "cause": _property("string", "Name from the board's cause register."),
        "request_id": _property("string", "Names this failure in the server's log; with 500, and of storage."),
        "diagnostics": _property("array", "What the compiler said, with lines and columns.", items={"type": "object"}),
        "errors": _property(
            "array",
            "Every field that is wrong.",
            items={
                "type": "object",
                "required": ["field", "message"],
                "properties": {
                    "field": _property("string", "The field, dotted."),
                    "message": _property("string", "What is wrong with it."),
                    "allowed": {"description": "What it may be."},
                },
            },
        ),
    },
    "additionalProperties": True,
    "examples": [examples.PROBLEM],
}
