# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Liveness, readiness and the meaning of problem codes, which need no key; metrics, which need an operator's."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from eddy.api.answers.schemas import Health, ProblemKind
from eddy.api.dependencies.callers import Ctx, Operator
from eddy.api.http.openapi import content, refusals
from eddy.api.http.problems import KINDS, MEDIA_TYPE, respond
from eddy.core.errors import NotFound

router = APIRouter(tags=["system"])


@router.get("/healthz", operation_id="health", response_model=Health, summary="Is the server alive?")
async def healthz() -> Health:
    """200 whenever the server answers at all."""
    return Health(status="ok")


@router.get(
    "/readyz",
    operation_id="readiness",
    response_model=Health,
    summary="Can it take jobs?",
    responses={
        503: {
            "model": Health,
            "description": "Not ready; `detail` gives the reason, and `code` if nothing can be stored.",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    },
)
async def readyz(request: Request, response: Response, context: Ctx) -> Health | Response:
    """200 where jobs run; 503 while the hypervisor starts, while its board does not answer, or after it has stopped.

    Where nothing can be kept, on a full disk say, the answer is a problem document: its `code` says why.
    """
    problem = context.store.problem
    if problem is not None and not context.failure:
        return respond(request, problem.code, f"{KINDS[problem.code].title}; the server's log has the cause.")
    if context.unavailable:
        response.status_code = 503
        return Health(status="unavailable", detail=context.unavailable)
    if not context.ready:
        response.status_code = 503
        return Health(status="starting")
    return Health(status="ok")


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Metrics",
    response_class=Response,
    responses={200: content("text/plain", "Prometheus text format."), **refusals(403)},
)
async def metrics(request: Request, _: Operator) -> Response:
    """Counters and gauges in the Prometheus text format; sums over tenants, never one tenant's.

    For operators, by a key that only reads, say: where there are two tenants, each could subtract its own from a sum.
    It costs the same however many jobs there are.
    """
    body, media_type = request.app.state.metrics.render()
    return Response(body, headers={"Content-Type": media_type})


@router.get(
    "/problems/{code}",
    operation_id="show_problem",
    response_model=ProblemKind,
    summary="What a problem code means",
    responses=refusals(404),
)
async def problem(code: Annotated[str, Path(description="The code.")]) -> ProblemKind:
    """The page the `type` of a problem document refers to."""
    if code not in KINDS:
        raise NotFound(f"There is no problem code {code!r}.", field="code", allowed=sorted(KINDS))
    kind = KINDS[code]
    return ProblemKind(code=code, status=kind.status, title=kind.title, advice=kind.advice)
