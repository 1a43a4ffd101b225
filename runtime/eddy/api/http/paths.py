# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which methods a path answers, as the routes of an application say."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Match

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
