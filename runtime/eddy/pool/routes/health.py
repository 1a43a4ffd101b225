# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/healthz`, `/readyz` and `/metrics` at a head: how it and its pool are, for who watches them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from eddy.pool.routes.context import Operator, Parts

router = APIRouter()


@router.get("/healthz")
async def healthz() -> Any:
    """Whether this process answers."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(parts: Parts) -> Response:
    """Whether jobs are taken: a server of the pool answers."""
    status = "ok" if parts.link.connected else "the pool is away"
    if missing := sorted(parts.link.troubles.missing):
        status = f"the pool's servers have lost {', '.join(missing)}"
    return JSONResponse({"status": status}, 200 if status == "ok" else 503)


@router.get("/metrics")
async def show_metrics(parts: Parts, operator: Operator) -> Response:
    """The pool and this head, in the Prometheus text format; sums over tenants."""
    body, media_type = parts.metrics.render()
    return Response(body, headers={"Content-Type": media_type})
