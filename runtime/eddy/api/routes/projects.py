# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/projects`: tenants that share a part of the board; operators make them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path

from eddy.api.answers.projects import ProjectAnswer, ProjectList, project_answers
from eddy.api.dependencies.audit import record_action
from eddy.api.dependencies.callers import Ctx, Operator
from eddy.api.dependencies.context import Context
from eddy.api.http.openapi import refusals
from eddy.api.request_bodies.projects import ProjectChange, ProjectSubmission
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.core.errors import Conflict, InvalidRequest
from eddy.core.projects import Project

_changing = threading.Lock()
"""Between looking at a project and writing it."""
_Name = Annotated[str, Path(max_length=64, description="The project's name.")]
router = APIRouter(prefix="/v1/projects", tags=["operator"], route_class=JsonRoute, responses=refusals(403))


@router.get("", operation_id="list_projects", response_model=ProjectList, summary="List projects")
def list_projects(context: Ctx, operator: Operator) -> ProjectList:
    """Every project, by name."""
    projects = context.store.projects
    return ProjectList(
        projects=_answers(context, projects.all()),
        half_life_days=context.store.usage.half_life_days,
        damaged=sorted(projects.damaged),
    )


@router.post(
    "",
    operation_id="add_project",
    status_code=201,
    response_model=ProjectAnswer,
    summary="Add a project",
    responses=refusals(404, 409),
)
def add_project(body: ProjectSubmission, context: Ctx, operator: Operator) -> ProjectAnswer:
    """Its share holds from the next decision on. A tenant is in one project at most (409)."""
    made = Project(body.id, body.share, tuple(body.members))
    with _changing:
        if any(each.id == body.id for each in context.store.projects.all()):
            raise Conflict(f"A project {body.id!r} exists already; use another name.", field="id", asked=body.id)
        context.store.projects.check(made)
        record_action(context, operator, "add-project", project=body.id, share=body.share, members=body.members)
        context.store.projects.put(made)
    return _answer(context, body.id)


@router.patch(
    "/{project}",
    operation_id="change_project",
    response_model=ProjectAnswer,
    summary="Change a project",
    responses=refusals(404, 409),
)
def change_project(project: _Name, body: ProjectChange, context: Ctx, operator: Operator) -> ProjectAnswer:
    """From the next decision on. What tenants used goes with them from project to project."""
    with _changing:
        known = context.store.projects.get(project)
        missing = sorted(set(body.drop) - set(known.members))
        if missing:
            message = f"Tenant {missing[0]} is not in project {project}."
            raise InvalidRequest(message, field="drop", asked=missing[0], allowed=list(known.members))
        members = tuple(sorted({*known.members, *body.add} - set(body.drop)))
        changed = replace(known, share=known.share if body.share is None else body.share, members=members)
        context.store.projects.check(changed)
        record_action(context, operator, "change-project", project=project, **body.model_dump(exclude_unset=True))
        context.store.projects.put(changed)
    return _answer(context, project)


@router.delete(
    "/{project}", operation_id="remove_project", status_code=204, summary="Remove a project", responses=refusals(404)
)
def remove_project(project: _Name, context: Ctx, operator: Operator) -> None:
    """Its tenants stay, without a project."""
    with _changing:
        if project not in context.store.projects.damaged:
            context.store.projects.get(project)
        record_action(context, operator, "remove-project", project=project)
        context.store.projects.remove(project)


def _answer(context: Context, project: str) -> ProjectAnswer:
    (found,) = _answers(context, [context.store.projects.get(project)])
    return found


def _answers(context: Context, projects: Iterable[Project]) -> list[ProjectAnswer]:
    store = context.store
    every = [tenant.id for tenant in store.tenants.all() if not store.tenants.is_removed(tenant.id)]
    used = store.usage.decayed() if store.usage.half_life_days else None
    return project_answers(projects, store.projects.weights(every), used)
