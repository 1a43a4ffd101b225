# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/apps` at a head: what boards of the pool may run."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from eddy.api.answers.rendering import app_answer
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.pool.routes.context import Caller, Parts

router = APIRouter(prefix="/v1", route_class=JsonRoute)


@router.get("/apps")
async def list_apps(parts: Parts, caller: Caller) -> Any:
    """Every application that boards of the pool may have."""
    apps = sorted(parts.catalogue.applications.values(), key=lambda app: app.name)
    return {"apps": [app_answer(app, parts.catalogue.shipped(app.name)) for app in apps]}


@router.get("/apps/{name}")
async def show_app(name: str, parts: Parts, caller: Caller) -> Any:
    """One application."""
    return app_answer(parts.catalogue.application(name), parts.catalogue.shipped(name))
