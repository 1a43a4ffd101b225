"""`/v1/apps`: what can be run."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Response

from eddy.api.context import Caller, Ctx, Operator
from eddy.api.schemas import App, AppList, app_answer

router = APIRouter(prefix="/v1/apps", tags=["applications"])


@router.get("", response_model=AppList, summary="List applications")
def list_apps(context: Ctx, tenant: Caller) -> AppList:
    """Every application, by name."""
    catalogue = context.catalogue
    apps = [catalogue.applications[name] for name in sorted(catalogue.applications)]
    return AppList(apps=[app_answer(app, catalogue.shipped(app.name)) for app in apps])


@router.get("/{name}", response_model=App, summary="Show an application")
def show(name: Annotated[str, Path(max_length=64)], context: Ctx, tenant: Caller) -> App:
    """One application: tasks, edges, and the buffers to fill."""
    return app_answer(context.catalogue.application(name), context.catalogue.shipped(name))


@router.post("", status_code=201, response_model=App, summary="Add an application (operator)")
def add(body: Annotated[dict[str, Any], Body()], response: Response, context: Ctx, operator: Operator) -> App:
    """Add a task graph over the modules that are there, in the form of `bitstreams/applications/*.yaml`, as JSON."""
    application, new = context.catalogue.add(body)
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/v1/apps/{application.name}"
    return app_answer(application, context.catalogue.shipped(application.name))
