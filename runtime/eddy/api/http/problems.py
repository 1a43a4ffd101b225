# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Errors as RFC 9457 problem documents: the one place that knows which error means which HTTP status.

Every answer with a status of 400 or more is ``application/problem+json`` with ``type``, ``title``, ``status``,
``code``, ``detail`` and ``instance``; where one field is to blame, ``field`` names it (dotted, as in the request) and
``allowed`` says what it may be; ``errors`` lists the first of them. ``code`` never changes its meaning; ``type`` is a
reference that this server answers with a page about the code.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Match

from eddy.api.http.current_request import caller_in_use
from eddy.api.request_bodies.base import IDENTIFIER, IN_WORDS, NAME
from eddy.api.request_bodies.strict_json import UnstorableValue, printable
from eddy.core.errors import BoardUnreachable, EddyError, RecordDamaged, StorageFailed
from eddy.core.units import format_bytes
from eddy.host.distribution import install_hint
from eddy.host.logs import request_id
from eddy.store.disk.files import DamagedFile

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")


def is_routed(app: Starlette, method: str, path: str) -> bool:
    """Whether some route takes a method at a path."""
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": [], "app": app}
    return any(route.matches(scope)[0] is Match.FULL for route in app.routes)


def fixed_path_ends(app: FastAPI) -> set[str]:
    """The last parts of paths that do not end in a parameter."""
    return {path.rpartition("/")[2] for path in app.openapi()["paths"] if not path.endswith("}")}


def allowed_methods(app: Starlette, path: str) -> list[str]:
    """The methods a path answers, sorted; none where there is nothing at it.

    RFC 9110 asks for HEAD where there is GET (9.3.2); an event stream, which has no end to wait for, is the exception.
    """
    found = {method for method in METHODS if is_routed(app, method, path)}
    if "GET" in found and not path.endswith("/events"):
        found.add("HEAD")
    return sorted(found | {"OPTIONS"}) if found else []


MEDIA_TYPE = "application/problem+json"
MAX_ERRORS = 32
"""Wrong fields that one answer lists."""
MAX_NAME_SHOWN = 80
"""Characters of a refused name that the answer repeats."""
_log = structlog.get_logger("eddy.api")


@dataclass(frozen=True, slots=True)
class ProblemEntry:
    """What a code means: its HTTP status, its title, and what to do about it."""

    status: int
    title: str
    advice: str


KINDS: Mapping[str, ProblemEntry] = MappingProxyType(
    {
        "invalid-request": ProblemEntry(422, "The request is not valid", "Correct the field that `field` names."),
        "malformed-json": ProblemEntry(
            400, "The body is not JSON", "Send UTF-8 JSON; `detail` gives the position of the error."
        ),
        "bad-request": ProblemEntry(400, "The request cannot be read", "Check method, headers and body."),
        "unauthorized": ProblemEntry(401, "The key is missing or unknown", "Send `Authorization: Bearer <key>`."),
        "forbidden": ProblemEntry(403, "This key may not do that", "Use the operator's key."),
        "not-found": ProblemEntry(404, "It does not exist", "List what exists; other tenants' things are not shown."),
        "method-not-allowed": ProblemEntry(
            405, "The method does not fit the address", "Use one of the methods in `Allow`."
        ),
        "request-timeout": ProblemEntry(
            408, "The request came too slowly", "Send it without long pauses, on a new connection."
        ),
        "conflict": ProblemEntry(409, "Its present state forbids the request", "Check its current state first."),
        "outputs-collected": ProblemEntry(
            410, "The outputs were removed to make room", "Submit the job again; fetch outputs soon after its end."
        ),
        "unknown-cursor": ProblemEntry(
            410, "The position to continue from is unknown", "Start again without it, from the present state."
        ),
        "precondition-failed": ProblemEntry(
            412, "It is not what `If-Match` names", "Ask without `If-Match`, or with the `allowed_methods` tag."
        ),
        "payload-too-large": ProblemEntry(413, "The body is too large", "Send at most `limit` bytes."),
        "range-not-satisfiable": ProblemEntry(
            416, "There are no such bytes", "Ask for a range within the `limit` bytes there are."
        ),
        "unsupported-media-type": ProblemEntry(415, "The content type is not understood", "Send `application/json`."),
        "image-refused": ProblemEntry(
            422, "The partial bitstream was refused", "Build it for this slot and shell; sign it."
        ),
        "package-refused": ProblemEntry(
            422, "The application package was refused", "Sign it with a trusted key: `eddy app sign`."
        ),
        "compilation-failed": ProblemEntry(422, "The kernel does not compile", "`diagnostics` has line and column."),
        "quota-exceeded": ProblemEntry(
            429, "A bound is reached", "Wait for your jobs to end, or ask for a higher bound."
        ),
        "rate-limited": ProblemEntry(
            429, "Too many requests", "Wait as long as `Retry-After` says, then send it again."
        ),
        "internal-error": ProblemEntry(500, "Eddy failed", "The server's log has the cause; please report it."),
        "eddy-error": ProblemEntry(500, "Eddy failed", "The server's log has the cause; please report it."),
        "file-damaged": ProblemEntry(500, "A stored file is damaged", "Upload the blob again, or run the job again."),
        "board-fault": ProblemEntry(
            502, "The board reported a fault", "`cause` says which; `eddy slots` shows the slot."
        ),
        "board-not-ready": ProblemEntry(502, "The board lacks something", "`cause` names it; ask `eddy doctor` on it."),
        "foreign-design": ProblemEntry(502, "Another design is on the fabric", "boardd --take-fabric replaces it."),
        "configuration-failed": ProblemEntry(
            502, "The configuration port reported an error", "Check the image, then retry."
        ),
        "module-fault": ProblemEntry(
            502, "A module misbehaved", "`cause` says how; `eddy module check` finds out why."
        ),
        "memory-exhausted": ProblemEntry(
            503, "The board's memory arena is full", "Submit a smaller batch, or retry later."
        ),
        "compiler-missing": ProblemEntry(503, "There is no kernel compiler here", f"There: {install_hint('kernels')}."),
        "sandbox-unavailable": ProblemEntry(
            503, "The kernel compiler cannot be confined", "`detail` says what is missing."
        ),
        "too-many-uploads": ProblemEntry(503, "Too many uploads are in progress", "Send it again in a moment."),
        "too-many-connections": ProblemEntry(503, "Too many connections are open", "Close some, or wait."),
        "server-stopping": ProblemEntry(503, "The server is being stopped", "Ask again once it is back."),
        "storage-full": ProblemEntry(
            507, "The disk of the data folder is full", "Free space; then repeat the request."
        ),
        "storage-quota-exceeded": ProblemEntry(
            507, "You keep as many bytes as you may", "Delete blobs or outputs, or ask for a higher bound."
        ),
        "storage-read-only": ProblemEntry(
            503, "The data folder cannot be written", "Give the server the right to write it."
        ),
        "storage-damaged": ProblemEntry(
            503, "Stored data is damaged", "The log names the file; restore it from a backup."
        ),
        "record-damaged": ProblemEntry(
            500, "A stored record is damaged", "Others can be read; `eddy doctor` names it, a backup may have it whole."
        ),
        "storage-in-use": ProblemEntry(
            503, "Another program uses the data base", "Stop it; the log says how to find it."
        ),
        "storage-failed": ProblemEntry(503, "The data folder cannot be used", "The log says what the system reported."),
        "pool-unreachable": ProblemEntry(
            503, "The pool cannot be reached", "Start its NATS servers, then repeat the request."
        ),
        "provider-unreachable": ProblemEntry(
            503, "The identity provider, or the hub, cannot be asked", "Try again soon; `detail` says what is wrong."
        ),
        "pool-refused": ProblemEntry(
            503, "The pool's servers refuse this", "`detail` says why; their operator can help."
        ),
        "board-unreachable": ProblemEntry(503, "The board cannot be reached", "Start `eddy boardd`, then retry."),
    }
)
"""Every code an answer of this API may carry."""

_HTTP_CODES = {400: "bad-request", 401: "unauthorized", 403: "forbidden", 404: "not-found", 405: "method-not-allowed",
               408: "request-timeout", 412: "precondition-failed", 413: "payload-too-large",
               415: "unsupported-media-type", 416: "range-not-satisfiable",
               422: "invalid-request"}  # fmt: skip


class Forbidden(EddyError):
    """A tenant's key where the operator's is needed."""

    code = "forbidden"


class BodyTooLarge(HTTPException):
    """A body beyond its bound.

    It is an HTTP exception because FastAPI turns any other one raised while it reads a body into a 400.
    """

    def __init__(self, limit: int, asked: int | None = None) -> None:
        detail = f"The body is larger than the {format_bytes(limit)} this address takes."
        super().__init__(413, detail, headers={"Connection": "close"})
        self.extra = {"limit": limit} if asked is None else {"limit": limit, "asked": asked}


class PreconditionFailed(HTTPException):
    """Bytes that are others than a request would have."""

    def __init__(self, etag: str) -> None:
        super().__init__(412, f"These bytes have the tag {etag}; If-Match names others.")
        self.extra = {"field": "If-Match", "allowed": etag}


class RangeNotSatisfiable(HTTPException):
    """A range that begins behind the last byte."""

    def __init__(self, size_bytes: int) -> None:
        detail = f"The range begins behind the last of {format_bytes(size_bytes)}; ask for one within them."
        super().__init__(416, detail, headers={"Content-Range": f"bytes */{size_bytes}"})
        self.extra = {"limit": size_bytes}


def document(code: str, detail: str, instance: str, **extra: Any) -> dict[str, Any]:
    """Build a problem document; unknown codes are reported as ``internal-error``."""
    code = code if code in KINDS else "internal-error"
    kind = KINDS[code]
    body = {"type": f"/problems/{code}", "title": kind.title, "status": kind.status, "code": code}
    whole: dict[str, Any] = _writable({**body, "detail": detail, "instance": instance, **extra})
    return whole


def _writable(value: Any) -> Any:
    """`value` as JSON in UTF-8 can have it: an answer about something unfit must not be unfit itself."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(name)): _writable(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_writable(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float)) else printable(str(value))


def respond(
    request: Request, code: str, detail: str, headers: Mapping[str, str] | None = None, **extra: Any
) -> JSONResponse:
    """The answer to a request that failed."""
    body = document(code, detail, request.url.path, **extra)
    extra_headers = dict(headers or {})
    if body["status"] == 401:
        extra_headers.setdefault("WWW-Authenticate", "Bearer")
    if "retry_after_s" in extra:
        extra_headers.setdefault("Retry-After", str(math.ceil(extra["retry_after_s"])))
    if code in ("board-unreachable", "pool-unreachable", "too-many-uploads"):
        extra_headers.setdefault("Retry-After", "1")
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
    listed = [_entry(error) for error in errors[:MAX_ERRORS]]
    first = listed[0]
    detail = f"{first['field']}: {first['message']}" + (f" (and {len(errors) - 1} more)" if len(errors) > 1 else "")
    extra = {"allowed": first["allowed"]} if "allowed" in first else {}
    return respond(request, "invalid-request", detail, field=first["field"], errors=listed, **extra)


def _entry(error: Mapping[str, Any]) -> dict[str, Any]:
    pattern = (error.get("ctx") or {}).get("pattern", "")
    words = IN_WORDS.get(pattern, error["msg"].replace("Input should be", "must be", 1))
    if pattern in (NAME, IDENTIFIER):  # what was meant as a name is seen best where it stands
        words = f"{str(error.get('input', ''))[:MAX_NAME_SHOWN]!r} {words}"
    entry: dict[str, Any] = {"field": _field(error["loc"]), "message": words}
    allowed = _allowed(error)
    return entry if allowed is None else {**entry, "allowed": allowed}


async def _on_validation(request: Request, failure: Exception) -> JSONResponse:
    assert isinstance(failure, RequestValidationError)
    return _validation(request, failure)


async def _on_eddy_error(request: Request, failure: Exception) -> JSONResponse:
    assert isinstance(failure, EddyError)
    return _of_eddy_error(request, failure)


def of_failure(request: Request, failure: Exception) -> JSONResponse:
    """The answer to a request that raised an error of ours, or one that nobody foresaw."""
    return _of_eddy_error(request, failure) if isinstance(failure, EddyError) else of_unforeseen(request, failure)


def _of_eddy_error(request: Request, failure: EddyError) -> JSONResponse:
    if isinstance(failure, (StorageFailed, DamagedFile)):
        return _of_storage(request, failure)
    if isinstance(failure, BoardUnreachable):
        return _of_board(request, failure)
    reserved = {"type", "title", "status", "code", "detail", "instance"}
    extra = {key: value for key, value in failure.details.items() if key not in reserved}
    return respond(request, failure.code, failure.message, **extra)


def _of_storage(request: Request, failure: StorageFailed | DamagedFile) -> JSONResponse:
    """Where files lie is the operator's matter: the log has it, and the answer only for an operator."""
    name, where = request_id.get(), {"path": str(failure.path)} if isinstance(failure, DamagedFile) else {}
    how = {"how": str(failure.details["how"])} if "how" in failure.details else {}
    _log.error("storage", code=failure.code, cause=failure.message, **how, **where)
    caller = caller_in_use.get()
    if caller is not None and caller.admin:
        return respond(request, failure.code, failure.message, **{**failure.details, **where})
    own = isinstance(failure, (DamagedFile, RecordDamaged))
    said = f"{failure.message}." if own else f"{KINDS[failure.code].title}."
    detail = f"{said} The operator finds the cause in the server's log beside {name}."
    return respond(request, failure.code, detail, request_id=name)


def _of_board(request: Request, failure: BoardUnreachable) -> JSONResponse:
    """Which socket nobody answers at is the operator's matter, too."""
    name, caller = request_id.get(), caller_in_use.get()
    _log.warning("board", code=failure.code, cause=failure.message)
    if caller is not None and caller.admin:
        return respond(request, failure.code, failure.message)
    detail = request.app.state.context.unavailable or "The board does not answer at this moment; try again soon."
    return respond(request, failure.code, detail, request_id=name)


async def _on_http(request: Request, failure: Exception) -> JSONResponse:
    assert isinstance(failure, HTTPException)
    code = _HTTP_CODES.get(failure.status_code, "internal-error" if failure.status_code >= 500 else "bad-request")
    by_status = {
        404: f"There is nothing at {request.url.path}; /docs lists what there is.",
        405: f"{request.method} does not fit {request.url.path}.",
    }
    detail = by_status.get(failure.status_code, str(failure.detail))
    own = (BodyTooLarge, UnstorableValue, PreconditionFailed, RangeNotSatisfiable)
    extra = failure.extra if isinstance(failure, own) else {}
    headers = dict(failure.headers or {})
    if failure.status_code == 405:  # the router names the methods of the first route only that has the path
        headers["Allow"] = ", ".join(allowed_methods(request.app, request.url.path))
    return respond(request, code, detail, headers=headers, **extra)


def of_unforeseen(request: Request, failure: Exception) -> JSONResponse:
    """A 500, and one line of the log beside the same name."""
    name = request_id.get() or secrets.token_hex(8)
    _log.error("unhandled", request_id=name, method=request.method, path=request.url.path, exc_info=failure)
    detail = f"Something failed inside the server; its log has the cause beside {name}."
    return respond(request, "internal-error", detail, request_id=name)


def install(app: FastAPI) -> None:
    """Make every error of an app a problem document."""
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(EddyError, _on_eddy_error)
    app.add_exception_handler(HTTPException, _on_http)
