# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Serves the dashboard at `/`: files of the package, and headers that let a browser run nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files

from fastapi import FastAPI, Request, Response
from starlette.routing import Route

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Nothing is fetched from elsewhere, and no page of others may hold ours."""
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
MEDIA_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
PAGE = "index.html"


def install(app: FastAPI) -> None:
    """Add the page and its parts to an application; they need no key, what they show does."""
    for entry in sorted(files("eddy.web").joinpath("static").iterdir(), key=lambda entry: entry.name):
        suffix = entry.name.rpartition(".")[2]
        if suffix in MEDIA_TYPES:
            path = "/" if entry.name == PAGE else f"/web/{entry.name}"
            _serve(app, path, entry.read_bytes(), MEDIA_TYPES[suffix])


def _serve(app: FastAPI, path: str, data: bytes, media_type: str) -> None:
    tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
    headers = {**HEADERS, "ETag": tag}

    async def show(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=f"{media_type}; charset=utf-8", headers=headers)

    app.router.routes.append(Route(path, show, methods=["GET"], include_in_schema=False))
