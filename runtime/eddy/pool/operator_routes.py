"""What operators ask of a head: tenants, boards, and how the pool does."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from nats.js.errors import KeyNotFoundError
from pydantic import Field

from eddy.api.bodies import JsonRoute
from eddy.api.submissions import Request
from eddy.core.errors import InvalidRequest, NotFound
from eddy.pool.boards import change_board
from eddy.pool.head_parts import Operator, Parts
from eddy.pool.lead import Lead
from eddy.pool.records import PoolBoard

TENANT = re.compile("[A-Za-z][A-Za-z0-9_-]{0,57}")
"""Names of tenants: a board's (`pool.` before them) without the dot, which parts subjects of NATS."""
router = APIRouter(prefix="/v1", route_class=JsonRoute)


class PoolTenantSubmission(Request):
    """A new tenant of the pool."""

    id: str = Field(description="Its name: letters, digits, `_` and `-`, a letter first.")
    admin: bool = Field(default=False, description="Whether it may do what the operator may.")
    quota: dict[str, Any] = Field(default_factory=dict, max_length=0, description="Empty: a pool has no bounds yet.")
    attributes: dict[str, Any] = Field(default_factory=dict, max_length=0, description="Empty: nor any weights.")


class BoardChange(Request):
    """What changes of a board."""

    because: str = Field(max_length=200, description="Why it gets nothing more; empty gives it work again.")


@router.post("/admin/tenants", status_code=201)
async def add_tenant(parts: Parts, operator: Operator, body: PoolTenantSubmission) -> Any:
    """Add a tenant; its key is in this answer and nowhere else."""
    if not TENANT.fullmatch(body.id):
        allowed = "letters, digits, - and _, a letter first, at most 58 characters"
        raise InvalidRequest("id: a tenant of a pool is named otherwise.", field="id", allowed=allowed)
    key = await parts.tenants.add(body.id, body.admin)
    answer = {"id": body.id, "admin": body.admin, "quota": {}, "attributes": {}, "key": key}
    return JSONResponse(answer, 201, headers={"Cache-Control": "no-store"})


@router.get("/admin/tenants")
async def list_tenants(parts: Parts, operator: Operator) -> Any:
    """Every tenant, by name."""
    return {
        "tenants": [{**dataclasses.asdict(each), "quota": {}, "attributes": {}} for each in await parts.tenants.all()]
    }


@router.get("/pool")
async def pool_status(parts: Parts, operator: Operator) -> Any:
    """Heads, boards, and how many jobs wait and run."""
    try:
        leader = ((await parts.link.leader.get("head")).value or b"").decode()
    except KeyNotFoundError:
        leader = ""
    jobs = parts.lead.mirror.jobs.values()
    return {
        "leader": leader,
        "leads": parts.lead.lease.held,
        "policy": parts.lead.policy,
        "boards": [_board(parts.lead, board) for _, board in sorted(parts.lead.mirror.boards.items())],
        "waiting": sum(not job.board for job in jobs),
        "on_boards": sum(bool(job.board) for job in jobs),
    }


def _board(lead: Lead, board: PoolBoard) -> dict[str, Any]:
    return {**dataclasses.asdict(board), "present": lead.mirror.alive(board.name)}


@router.put("/pool/boards/{name}")
async def drain_board(name: str, parts: Parts, operator: Operator, body: BoardChange) -> Any:
    """Give a board nothing more (`because` says why), or, where `because` is empty, work again."""

    def drained(kept: PoolBoard | None) -> PoolBoard:
        if kept is None:
            raise NotFound(f"There is no board {name!r} in the pool.", field="board", asked=name)
        return dataclasses.replace(kept, drained=body.because)

    changed = await change_board(parts.link, name, drained)
    return {**dataclasses.asdict(changed), "present": parts.lead.mirror.alive(name)}
