# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What operators ask of a head: tenants, boards, and how the pool does."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from nats.js.errors import KeyNotFoundError
from pydantic import Field

from eddy.api.access.key_rules import check_may_add
from eddy.api.answers.schemas import TenantLeaving
from eddy.api.request_bodies.base import Request
from eddy.api.request_bodies.names import DisplayName, Labels
from eddy.api.request_bodies.numbers import Whole
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.api.routes.audit import After, AuditLine, AuditPage, Last, Limit
from eddy.core.board_constraints import BUILT_IN
from eddy.core.errors import Conflict, InvalidRequest, NotFound
from eddy.core.tenants import MAX_WEIGHT, MIN_WEIGHT
from eddy.pool.connection.credentials import NAME
from eddy.pool.jetstream.boards import change_board, forget_board
from eddy.pool.jetstream.bucket_reader import read_entry
from eddy.pool.jetstream.tenants import NAMES, OPERATOR, PoolTenant
from eddy.pool.placement.rebalance import jobs_to_move
from eddy.pool.records.records import JobFenced, PoolBoard
from eddy.pool.routes.context import HeadParts, Operator, Parts
from eddy.pool.routes.keys import used_by
from eddy.pool.routes.pool_examination import examine
from eddy.pool.routes.pool_observer import observe, read_blobs
from eddy.pool.routes.removal import check_removable, remove_tenant
from eddy.pool.routes.rendering import render_quota

router = APIRouter(prefix="/v1", route_class=JsonRoute)


class PoolAttributes(Request):
    """What a pool knows of a tenant beside its bounds."""

    weight: float = Field(
        default=1.0, ge=MIN_WEIGHT, le=MAX_WEIGHT, description="What it is entitled to over the pool."
    )


class PoolQuota(Request):
    """Bounds of a tenant over the pool; what is left out has none. A board's other bounds are set on the board."""

    max_jobs: Whole | None = Field(default=None, ge=1, le=1 << 20, description="Jobs that have not ended, at once.")
    max_priority: Literal[1, 3, 9] = Field(default=1, description="Highest priority of its jobs.")
    max_blob_bytes: Whole | None = Field(
        default=None, ge=0, le=1 << 62, description="Bytes it may keep: blobs, outputs, records of jobs."
    )
    max_requests_per_s: float | None = Field(
        default=None, gt=0, le=1e6, description="Requests of all its keys a second, at each head; null for any."
    )
    max_slot_s: float | None = Field(
        default=None, ge=0, le=1e12, description="Seconds of boards' places a day (UTC); null for any."
    )
    max_core_s: float | None = Field(
        default=None, ge=0, le=1e12, description="Seconds of cores of shared clusters a day; null for any."
    )


class PoolTenantSubmission(Request):
    """A new tenant of the pool."""

    id: str = Field(description="Its name: letters, digits, `_` and `-`, a letter first.")
    admin: bool = Field(default=False, description="Whether it may do what the operator may.")
    display_name: DisplayName = Field(default="", description="What people call it, in any script.")
    quota: PoolQuota = Field(default_factory=PoolQuota, description="Its bounds.")
    attributes: PoolAttributes = Field(default_factory=PoolAttributes, description="Its weight.")


class PoolTenantChange(Request):
    """What changes of a tenant; what is left out stays."""

    quota: PoolQuota | None = Field(default=None, description="Bounds; those left out stay.")
    display_name: DisplayName | None = Field(default=None, description="What people call it; null stays.")
    weight: float | None = Field(
        default=None, ge=MIN_WEIGHT, le=MAX_WEIGHT, description="What it is entitled to over the pool; null stays."
    )


class BoardChange(Request):
    """What changes of a board."""

    because: str = Field(max_length=200, description="Why it gets nothing more; empty gives it work again.")


class BoardLabels(Request):
    """Labels of a board, all of them."""

    labels: Labels = Field(description="Name to value; jobs name them in `board_labels`.")


class Rebalancing(Request):
    """What may be taken from boards."""

    running: bool = Field(default=False, description="Running jobs too, where that pays.")


@router.post("/admin/tenants", status_code=201)
async def add_tenant(parts: Parts, operator: Operator, body: PoolTenantSubmission) -> Any:
    """Add a tenant; its key is in this answer and nowhere else. With a key that was replaced, it ends with that one's
    grace, and no operator is added (403)."""
    if not NAMES.fullmatch(body.id):
        allowed = "letters, digits, - and _, a letter first, at most 58 characters"
        raise InvalidRequest("id: a tenant of a pool is named otherwise.", field="id", allowed=allowed)
    attributes, called = body.attributes, body.display_name
    tenant = PoolTenant(body.id, body.admin, attributes.weight, **body.quota.model_dump(), display_name=called)
    used = used_by(operator)
    check_may_add(used, body.admin)
    await parts.tenants.check_free(body.id)
    await parts.note(operator, "add-tenant", tenant=body.id, admin=body.admin)
    key = await parts.tenants.add(tenant, used.revoked_unix_s)
    return JSONResponse({**_tenant(parts, tenant), "key": key}, 201, headers={"Cache-Control": "no-store"})


@router.get("/admin/tenants")
async def list_tenants(parts: Parts, operator: Operator) -> Any:
    """Every tenant, by name."""
    return {"tenants": [_tenant(parts, each) for each in await parts.tenants.all()]}


@router.get("/admin/tenants/{name}")
async def show_tenant(name: str, parts: Parts, operator: Operator) -> Any:
    """Its bounds and weight."""
    return _tenant(parts, await parts.tenants.get(name))


@router.patch("/admin/tenants/{name}")
async def change_tenant(name: str, parts: Parts, operator: Operator, body: PoolTenantChange) -> Any:
    """Bounds hold from the next submission on; a weight within some rounds of weights, a second each."""
    what: dict[str, Any] = {} if body.quota is None else body.quota.model_dump(exclude_unset=True)
    if body.weight is not None:
        what["weight"] = body.weight
    if body.display_name is not None:
        what["display_name"] = body.display_name
    if (await parts.tenants.get(name)).removed_unix_s:
        raise Conflict(f"Tenant {name} was removed: nothing of it is changed.", field="tenant", asked=name)
    await parts.note(operator, "change-tenant", tenant=name, **body.model_dump(exclude_unset=True))
    return _tenant(parts, await parts.tenants.change(name, **what))


@router.delete("/admin/tenants/{name}", status_code=202)
async def remove(name: str, parts: Parts, operator: Operator, cancel: bool = False) -> TenantLeaving:
    """Its keys end, its jobs are cancelled (`cancel`; 409 while there are some without), its blobs, outputs and events
    go. Records of its jobs stay, and its name, which is given to nobody else."""
    if name in (operator.id, OPERATOR):
        raise Conflict("The operator and the caller cannot be removed.", field="tenant", asked=name)
    await parts.tenants.get(name)
    await check_removable(parts, name, cancel)
    await parts.note(operator, "remove-tenant", tenant=name, cancel=cancel)
    return TenantLeaving(id=name, jobs=await remove_tenant(parts, name, cancel))


def _tenant(parts: HeadParts, tenant: PoolTenant) -> dict[str, Any]:
    """As a board shows one."""
    return {
        "id": tenant.id,
        "admin": tenant.admin,
        "display_name": tenant.display_name,
        "quota": render_quota(tenant, parts.most_bytes(tenant)),
        "attributes": {"weight": tenant.weight},
        "leaving": bool(tenant.removed_unix_s),
    }


@router.get("/pool")
async def pool_status(parts: Parts, operator: Operator) -> Any:
    """Heads, boards, and how many jobs wait and run."""
    try:
        leader = ((await read_entry(parts.link.leader, "head")).value or b"").decode()
    except KeyNotFoundError:
        leader = ""
    jobs = parts.lead.mirror.jobs
    on_boards = len(jobs.jobs_on_boards)
    return {
        "leader": leader,
        "leads": parts.lead.lease.is_leader,
        "policy": parts.lead.policy,
        "boards": [_board(parts, board) for _, board in sorted(parts.lead.mirror.boards.items())],
        "waiting": len(jobs) - on_boards,
        "on_boards": on_boards,
        "missing": sorted(parts.link.troubles.missing),
        "unreadable": parts.link.troubles.list_unreadable(),
        "store": {
            "blobs_bytes": await _blobs_bytes(parts),
            "most_blobs_bytes": parts.link.budget.blobs_bytes,
            "records_bytes": parts.lead.mirror.projection.total_bytes(),
            "most_records_bytes": parts.link.budget.records_bytes,
        },
    }


async def _blobs_bytes(parts: HeadParts) -> int:
    """What blobs and outputs take."""
    async with contextlib.aclosing(parts.link.bytes.blobs()) as there:
        return sum([seen.size_bytes async for _, seen in there])


def _board(parts: HeadParts, board: PoolBoard) -> dict[str, Any]:
    running = [parts.numbers.job.public_id(number) for number in board.running]
    mirror = parts.lead.mirror
    held_back_s = round(mirror.drops.hold_back_s(board.name), 1)
    told = {
        "running": running,
        "present": mirror.alive(board.name),
        "held_back_s": held_back_s,
        "floods": mirror.floods.describe_flood(board.name),
    }
    return {**dataclasses.asdict(board), **told}


@router.get("/pool/examination")
async def examine_pool(parts: Parts, operator: Operator) -> Any:
    """What is wrong with the pool, as this head sees it, and what to do: streams, consumers, orphans, records that
    cannot be read, clocks, releases, the certificate."""
    seen = await observe(parts.link, parts.lead.mirror, parts.blobs)
    return {"findings": [dataclasses.asdict(each) for each in examine(seen)]}


@router.post("/pool/rebalance")
async def rebalance(parts: Parts, operator: Operator, body: Rebalancing) -> Any:
    """Take jobs from boards where others would sooner end them; they are placed again at once, by the head that
    leads. What they have committed stays."""
    await parts.note(operator, "rebalance", running=body.running)
    taken = []
    for each in jobs_to_move(await parts.lead.view(), body.running):
        job = each.job
        with contextlib.suppress(JobFenced):
            await parts.table.change(job.id, lambda now, each=each: each.applied(now, time.time()))  # type: ignore[misc]
            taken.append({"job": parts.numbers.job.public_id(job.id), "from": job.board, "because": each.because})
    return {"taken": taken}


@router.put("/pool/boards/{name}")
async def drain_board(name: str, parts: Parts, operator: Operator, body: BoardChange) -> Any:
    """Give a board nothing more (`because` says why), or, where `because` is empty, work again."""

    def drained(kept: PoolBoard | None) -> PoolBoard:
        return dataclasses.replace(_there(kept, name), drained=body.because)

    await _note_board(parts, operator, name, "drain-board" if body.because else "undrain-board", because=body.because)
    changed = await change_board(parts.link, name, drained)
    return _board(parts, changed)


@router.put("/pool/boards/{name}/labels")
async def label_board(name: str, parts: Parts, operator: Operator, body: BoardLabels) -> Any:
    """Set a board's labels, in place of those it had. What was placed stays where it is."""
    for label in body.labels:
        if label in BUILT_IN:
            message = f"labels: every board has {label} by itself."
            raise InvalidRequest(message, field="labels", asked=label)

    def labelled(kept: PoolBoard | None) -> PoolBoard:
        return dataclasses.replace(_there(kept, name), labels=dict(body.labels))

    await _note_board(parts, operator, name, "label-board", labels=dict(body.labels))
    return _board(parts, await change_board(parts.link, name, labelled))


async def _note_board(parts: HeadParts, operator: PoolTenant, name: str, action: str, **facts: Any) -> None:
    """Note what is about to become of a board.

    Raises:
        NotFound: There is none of that name, nor can there be.
    """
    if not NAME.fullmatch(name):
        _there(None, name)
    try:
        await read_entry(parts.link.boards, name)
    except KeyNotFoundError:
        _there(None, name)
    await parts.note(operator, action, board=name, **facts)


def _there(kept: PoolBoard | None, name: str) -> PoolBoard:
    """A board's record.

    Raises:
        NotFound: There is none.
    """
    if kept is None:
        raise NotFound(f"There is no board {name!r} in the pool.", field="board", asked=name)
    return kept


@router.delete("/pool/boards/{name}", status_code=204, response_class=Response)
async def remove_board(name: str, parts: Parts, operator: Operator) -> Response:
    """Take a board out of the pool that is gone for good, with its queue. One that joins again is a new one."""
    if parts.lead.mirror.alive(name):
        message = f"Board {name} is there: `eddy pool revoke {name}`, or end its server, first."
        raise Conflict(message, board=name)
    await _note_board(parts, operator, name, "forget-board")
    await forget_board(parts.link, name)
    return Response(status_code=204)


@router.get("/pool/bytes")
async def read_bytes(
    parts: Parts,
    operator: Operator,
    cursor: Annotated[str, Query(max_length=200, description="`next` of the answer before.")] = "",
) -> Any:
    """Read blobs and outputs for ten seconds, and say which are damaged or lost; `next` is where to go on, null at the
    end."""
    return await read_blobs(parts.link, parts.blobs, cursor)


@router.get("/admin/audit", response_model=AuditPage)
async def show_audit(
    parts: Parts, operator: Operator, after: After = 0, limit: Limit = 1000, last: Last = None
) -> AuditPage:
    """What was changed, by whom, with which key; `eddy pool doctor` checks the chain."""
    return AuditPage(
        entries=[AuditLine(**dataclasses.asdict(each)) for each in await parts.audit.entries(after, limit, last)]
    )
