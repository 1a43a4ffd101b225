# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/apps`: what can be run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from eddy.api.answers.rendering import app_answer
from eddy.api.answers.schemas import App, AppList
from eddy.api.dependencies.audit import record_action
from eddy.api.dependencies.callers import Caller, Ctx, Operator
from eddy.api.dependencies.context import Context
from eddy.api.http.openapi import LOCATION, refusals
from eddy.api.request_bodies.applications import AppSubmission
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.applications import Application
from eddy.packages.catalogue import Catalogue

router = APIRouter(prefix="/v1/apps", tags=["applications"], route_class=JsonRoute)


@router.get("", operation_id="list_apps", response_model=AppList, summary="List applications")
def list_apps(context: Ctx, tenant: Caller) -> AppList:
    """Every application, by name."""
    catalogue = context.catalogue.now
    apps = [catalogue.applications[name] for name in sorted(catalogue.applications)]
    return AppList(apps=[_answer(context, catalogue, app) for app in apps])


@router.get(
    "/{name}", operation_id="show_app", response_model=App, summary="Show an application", responses=refusals(404)
)
def show(name: Annotated[str, Path(max_length=64, description="Its name.")], context: Ctx, tenant: Caller) -> App:
    """One application: tasks, edges, and the buffers to fill."""
    catalogue = context.catalogue.now
    return _answer(context, catalogue, catalogue.application(name))


@router.post(
    "",
    operation_id="add_app",
    status_code=201,
    response_model=App,
    summary="Add an application (operator)",
    responses={
        200: {"model": App, "description": "It was there already.", "headers": LOCATION},
        201: {"headers": LOCATION},
        **refusals(403, 409),
    },
)
def add(body: AppSubmission, response: Response, context: Ctx, operator: Operator) -> App:
    """Add a task graph over the modules that are there, in the form of `bitstreams/applications/*.yaml`, as JSON.

    Where the server has a trust store, `signature` must be that of a key in it.
    """
    record_action(context, operator, "add-app", application=body.application, signed=body.signature is not None)
    application, new = context.catalogue.add(body.package())
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/v1/apps/{application.name}"
    return _answer(context, context.catalogue.now, application)


def _answer(context: Context, catalogue: Catalogue, application: Application) -> App:
    return app_answer(application, catalogue.shipped(application.name), context.hypervisor.refusal(application))
