"""Errors as RFC 9457 problem documents: the one place that knows which error means which HTTP status.

Every answer with a status of 400 or more is ``application/problem+json`` with ``type``, ``title``, ``status``,
``code``, ``detail`` and ``instance``; where one field is to blame, ``field`` names it (dotted, as in the request) and
``allowed`` says what it may be; ``errors`` lists them all. ``code`` never changes its meaning; ``type`` is a reference
that this server answers with a page about the code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from eddy.api.paths import allowed
from eddy.core.errors import EddyError

MEDIA_TYPE = "application/problem+json"
_log = structlog.get_logger("eddy.api")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a code means: its HTTP status, its title, and what to do about it."""

    status: int
    title: str
    advice: str


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "invalid-request": Kind(422, "The request is not valid", "Mend the field that `field` names."),
        "malformed-json": Kind(400, "The body is not JSON", "Send UTF-8 JSON; `detail` says where it breaks."),
        "bad-request": Kind(400, "The request cannot be read", "Check method, headers and body."),
        "unauthorized": Kind(401, "The key is missing or unknown", "Send `Authorization: Bearer <key>`."),
        "forbidden": Kind(403, "This key may not do that", "Use the operator's key."),
        "not-found": Kind(404, "There is no such thing", "List what there is; another tenant's things do not show."),
        "method-not-allowed": Kind(405, "The method does not fit the address", "Use one of the methods in `Allow`."),
        "conflict": Kind(409, "The state of the thing forbids the request", "Look at its present state first."),
        "payload-too-large": Kind(413, "The body is too large", "Send at most `limit` bytes."),
        "unsupported-media-type": Kind(415, "The content type is not understood", "Send `application/json`."),
        "image-refused": Kind(422, "The partial bitstream was refused", "Build it for this slot and shell; sign it."),
        "compilation-failed": Kind(422, "The kernel does not compile", "`diagnostics` has line and column."),
        "quota-exceeded": Kind(429, "A bound is reached", "Wait for your jobs to end, or ask for a higher bound."),
        "internal-error": Kind(500, "Eddy failed", "The server's log has the cause; please report it."),
        "eddy-error": Kind(500, "Eddy failed", "The server's log has the cause; please report it."),
        "board-fault": Kind(502, "The board reported a fault", "`cause` says which; `eddy slots` shows the slot."),
        "configuration-failed": Kind(502, "The configuration port reported an error", "Check the image, then retry."),
        "module-fault": Kind(502, "A module misbehaved", "`cause` says how; `eddy module check` finds out why."),
        "memory-exhausted": Kind(503, "The board's memory arena is full", "Submit a smaller batch, or retry later."),
        "compiler-missing": Kind(503, "There is no kernel compiler here", "Install `eddy[serve]` on the server."),
        "sandbox-unavailable": Kind(503, "The kernel compiler cannot be confined", "`detail` says what is missing."),
        "board-unreachable": Kind(503, "The board cannot be reached", "Start `eddy boardd`, then retry."),
    }
)
"""Every code an answer of this API may carry."""

_HTTP_CODES = {400: "bad-request", 401: "unauthorized", 403: "forbidden", 404: "not-found", 405: "method-not-allowed",
               413: "payload-too-large", 415: "unsupported-media-type", 422: "invalid-request"}  # fmt: skip


class Forbidden(EddyError):
    """A tenant's key where the operator's is needed."""

    code = "forbidden"


class BodyTooLarge(HTTPException):
    """A body beyond its bound.

    It is an HTTP exception because FastAPI turns any other one raised while it reads a body into a 400.
    """

    def __init__(self, limit: int, asked: int | None = None) -> None:
        detail = f"The body is larger than the {limit} bytes this address takes."
        super().__init__(413, detail, headers={"Connection": "close"})
        self.extra = {"limit": limit} if asked is None else {"limit": limit, "asked": asked}


def document(code: str, detail: str, instance: str, **extra: Any) -> dict[str, Any]:
    """Build a problem document; unknown codes are reported as ``internal-error``."""
    code = code if code in KINDS else "internal-error"
    kind = KINDS[code]
    body = {"type": f"/problems/{code}", "title": kind.title, "status": kind.status, "code": code}
    return {**body, "detail": detail, "instance": instance, **extra}


def respond(
    request: Request, code: str, detail: str, headers: Mapping[str, str] | None = None, **extra: Any
) -> JSONResponse:
    """The answer to a request that failed."""
    body = document(code, detail, request.url.path, **extra)
    extra_headers = dict(headers or {})
    if body["status"] == 401:
        extra_headers.setdefault("WWW-Authenticate", "Bearer")
    return JSONResponse(body, status_code=body["status"], media_type=MEDIA_TYPE, headers=extra_headers)


def _field(location: Sequence[Any]) -> str:
    """A field's name from a validation location: ``("body", "inputs", "image", 0)`` is ``inputs.image[0]``."""
    parts = location[1:] if location and location[0] in ("body", "query", "path", "header") else location
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.lstrip(".") or "body"


def _allowed(error: Mapping[str, Any]) -> Any:
    """What the field may be, from a validation error's context; None where only the message says it."""
    context = error.get("ctx") or {}
    for name in ("allowed", "expected"):
        if name in context:
            return context[name]
    bounds = {key: context[key] for key in ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern")
              if key in context}  # fmt: skip
    if error["type"] == "extra_forbidden":
        return "only the documented fields"
    return bounds or None


def _validation(request: Request, failure: RequestValidationError) -> JSONResponse:
    errors = failure.errors()
    broken = [error for error in errors if error["type"] == "json_invalid"]
    if broken:
        reason = (broken[0].get("ctx") or {}).get("error", "it cannot be parsed")
        return respond(request, "malformed-json", f"The body is not valid JSON: {reason}.")
    listed = [_entry(error) for error in errors]
    first = listed[0]
    detail = f"{first['field']}: {first['message']}" + (f" (and {len(listed) - 1} more)" if len(listed) > 1 else "")
    extra = {"allowed": first["allowed"]} if "allowed" in first else {}
    return respond(request, "invalid-request", detail, field=first["field"], errors=listed, **extra)


def _entry(error: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"field": _field(error["loc"]), "message": error["msg"]}
    allowed = _allowed(error)
    return entry if allowed is None else {**entry, "allowed": allowed}


async def _on_validation(request: Request, failure: Exception) -> JSONResponse:
    assert isinstance(failure, RequestValidationError)
    return _validation(request, failure)


async def _on_eddy_error(request: Request, failure: Exception) -> JSONResponse:
    assert isinstance(failure, EddyError)
    reserved = {"type", "title", "status", "code", "detail", "instance"}
    extra = {key: value for key, value in failure.details.items() if key not in reserved}
    return respond(request, failure.code, failure.message, **extra)


async def _on_http(request: Request, failure: Exception) -> JSONResponse:
    assert isinstance(failure, HTTPException)
    code = _HTTP_CODES.get(failure.status_code, "internal-error" if failure.status_code >= 500 else "bad-request")
    by_status = {
        404: f"There is nothing at {request.url.path}; /docs lists what there is.",
        405: f"{request.method} does not fit {request.url.path}.",
    }
    detail = by_status.get(failure.status_code, str(failure.detail))
    extra = failure.extra if isinstance(failure, BodyTooLarge) else {}
    headers = dict(failure.headers or {})
    if failure.status_code == 405:  # the router names the methods of the first route only that has the path
        headers["Allow"] = ", ".join(allowed(request.app, request.url.path))
    return respond(request, code, detail, headers=headers, **extra)


async def _on_anything(request: Request, failure: Exception) -> JSONResponse:
    _log.error("unhandled", path=request.url.path, exc_info=failure)
    return respond(request, "internal-error", "Something failed inside the server.")


def install(app: FastAPI) -> None:
    """Make every error of an app a problem document."""
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(EddyError, _on_eddy_error)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_anything)


def describe(app: FastAPI) -> None:
    """Let every operation of the OpenAPI page say that its errors are problem documents."""
    plain = app.openapi

    def with_problems() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            schema.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _SCHEMA
            for operations in schema["paths"].values():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
                    operation["responses"]["default"] = {
                        "description": "What went wrong",
                        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
                    }
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = with_problems  # type: ignore[method-assign]


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457 problem details.",
    "required": ["type", "title", "status", "code", "detail", "instance"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "enum": sorted(KINDS)},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "field": {"type": "string", "description": "The field to blame, dotted."},
        "allowed": {"description": "What the field may be."},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}
