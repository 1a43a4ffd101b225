# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/leases`: slots that persons hold, and how they are driven from elsewhere."""

from __future__ import annotations

import hmac
import time
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response

from eddy.api.answers.leases import (
    InterruptAnswer,
    Lease,
    LeaseCalendar,
    LeaseList,
    LeaseSpan,
    RegisterValues,
    lease_answer,
)
from eddy.api.dependencies.audit import record_action_async
from eddy.api.dependencies.callers import Caller, Ctx, require_running, visible_tenant
from eddy.api.dependencies.context import Context
from eddy.api.http.openapi import refusals
from eddy.api.http.problems import Forbidden
from eddy.api.request_bodies.leases import (
    MAX_WAIT_S,
    InterruptWait,
    LeaseExtension,
    LeaseSubmission,
    ModuleLoad,
    OwnImage,
    RegisterAccesses,
)
from eddy.api.request_bodies.strict_json import JsonRoute
from eddy.board.port.port import MAX_IMAGE_BYTES
from eddy.core.errors import ImageRefused, NotFound
from eddy.core.leases import LeaseKind, LeaseRecord, LeaseState
from eddy.core.maintenance import WindowStage
from eddy.core.slots import Pool
from eddy.core.tenants import TenantRecord
from eddy.core.units import format_bytes
from eddy.hypervisor.engine.lease_service import MAX_PIECE_BYTES

SHOWN_S = 7 * 86400.0
"""Wall seconds for which the calendar shows what is over."""
TOKEN = "Eddy-Lease-Token"
"""Header in which what drives a lease has its token."""
BYTES = "application/octet-stream"
router = APIRouter(prefix="/v1", tags=["leases"], route_class=JsonRoute)
LeaseId = Annotated[str, Path(max_length=64, description="The lease's name, as `POST /v1/leases` answers it.")]
_Whose = Annotated[str, Query(max_length=64, description="Only this tenant's (operators); empty for all you may see.")]
_Open = Annotated[bool, Query(description="Only those that have not ended.")]
_Wait = Annotated[
    float, Query(ge=0, le=MAX_WAIT_S, description="Wall seconds to wait until it is active and loaded, or has ended.")
]
_Token = Annotated[str, Header(alias=TOKEN, max_length=128, description="The lease's token.")]
_Offset = Annotated[int, Query(ge=0, lt=1 << 40, description="Byte offset in the lease's memory.")]
_Size = Annotated[int, Query(ge=0, le=MAX_PIECE_BYTES, description="How many bytes.")]
_BODY = {"required": True, "content": {BYTES: {"schema": {"type": "string", "format": "binary"}}}}


@router.post(
    "/leases",
    status_code=201,
    operation_id="ask_for_lease",
    response_model=Lease,
    summary="Ask for a lease",
    responses=refusals(403, 429),
)
async def open_lease(body: LeaseSubmission, context: Ctx, tenant: Caller) -> Lease:
    """A slot, or for operators the board, for a stated time. It waits in a queue where none is free."""
    require_running(context)
    if body.kind == LeaseKind.BOARD.value and not tenant.admin:
        raise Forbidden("Only operators lease the board; lease a slot.")
    record = await context.hypervisor.leases.open(tenant.id, tenant.quota, body.options())
    if body.kind == LeaseKind.BOARD.value:
        await record_action_async(context, tenant, "lease-board", lease=record.id, lasts_s=body.lasts_s)
    return _shown(context, record, tenant)


@router.get("/leases", operation_id="list_leases", response_model=LeaseList, summary="List leases")
async def list_leases(context: Ctx, viewer: Caller, tenant: _Whose = "", open: _Open = False) -> LeaseList:
    """Yours, those that ended lately among them; all there are, for the operator."""
    whose = (tenant or None) if viewer.admin else viewer.id
    found = context.hypervisor.leases.standings(whose)
    kept = [each for each in found if not (open and each.record.state.is_final)]
    limit_s = context.hypervisor.leases.idle_limit_s
    return LeaseList(leases=[lease_answer(each, viewer, limit_s, _token(context, each.record.id)) for each in kept])


@router.get(
    "/lease-calendar", operation_id="lease_calendar", response_model=LeaseCalendar, summary="When slots are held"
)
async def show_calendar(context: Ctx, viewer: Caller) -> LeaseCalendar:
    """Leases and maintenance windows, to come, now, and of the last seven days; of others, only the times."""
    now_s = time.time()
    singles = [each.slot for each in context.hypervisor.slots() if each.pool == Pool.PIPELINE.value]
    spans = [*_lease_spans(context, viewer, now_s), *_windows(context, now_s)]
    return LeaseCalendar(
        now_unix_s=now_s,
        slots=sorted(singles),
        most_at_once=context.hypervisor.leases.most_slots(len(singles)),
        spans=sorted(spans, key=lambda each: (each.begins_unix_s, each.ends_unix_s)),
    )


@router.get(
    "/leases/{lease}",
    operation_id="describe_lease",
    response_model=Lease,
    summary="Show a lease",
    responses=refusals(404),
)
async def show_lease(lease: LeaseId, context: Ctx, viewer: Caller, wait_s: _Wait = 0.0) -> Lease:
    """How it stands; with `wait_s`, once it can be driven."""
    context.store.leases.get(lease, visible_tenant(viewer))
    if wait_s > 0:
        await context.hypervisor.leases.wait_until_settled(lease, wait_s)
    return _shown(context, context.store.leases.get(lease), viewer)


@router.post(
    "/leases/{lease}/extend",
    operation_id="extend_lease",
    response_model=Lease,
    summary="Extend a lease",
    responses=refusals(404, 409, 429),
)
async def extend_lease(lease: LeaseId, body: LeaseExtension, context: Ctx, viewer: Caller) -> Lease:
    """It lasts longer, as far as its tenant's quota goes; one that was given notice does not."""
    require_running(context)
    context.store.leases.get(lease, visible_tenant(viewer))
    record = await context.hypervisor.leases.extend(lease, viewer.quota, body.more_s)
    return _shown(context, record, viewer)


@router.delete(
    "/leases/{lease}",
    operation_id="release_lease",
    response_model=Lease,
    summary="Release a lease",
    responses=refusals(404),
)
async def release_lease(lease: LeaseId, context: Ctx, viewer: Caller) -> Lease:
    """What its holder began is stopped, and its slots are closed. Releasing one that has ended changes nothing."""
    record = context.store.leases.get(lease, visible_tenant(viewer))
    if record.state not in (LeaseState.CLOSING, LeaseState.ENDED):
        require_running(context)
        if record.tenant != viewer.id:
            await record_action_async(context, viewer, "release-lease", tenant=record.tenant, lease=lease)
        cause = "released" if record.tenant == viewer.id else "released-by-operator"
        await context.hypervisor.leases.release(lease, cause)
    return _shown(context, context.store.leases.get(lease), viewer)


# What its holder does -------------------------------------------------------------------------------------------------


@router.post(
    "/leases/{lease}/module",
    operation_id="load_leased_slot",
    response_model=Lease,
    summary="Load a slot of a lease",
    responses=refusals(403, 404, 409),
)
async def load_module(lease: LeaseId, body: ModuleLoad, context: Ctx, tenant: Caller, token: _Token = "") -> Lease:
    """Load a module by name. What was begun in the slot ends; its registers are the new module's once it is there."""
    record = _driven(context, lease, tenant, token)
    slot = _slot(record, body.slot)
    await context.hypervisor.leases.load(lease, slot, body.module, body.wait_s)
    return _shown(context, context.store.leases.get(lease), tenant)


@router.post(
    "/leases/{lease}/image",
    operation_id="load_own_image",
    response_model=Lease,
    summary="Load a slot of a lease with an image of your own",
    responses=refusals(403, 404, 409, 422),
)
async def load_image(lease: LeaseId, body: OwnImage, context: Ctx, tenant: Caller, token: _Token = "") -> Lease:
    """Store its `.bit` file as a blob first. A key that the operator trusts for you must have signed its manifest."""
    record = _driven(context, lease, tenant, token)
    file = await context.uploads.on_disk(context.store.blobs.file, tenant.id, body.manifest.sha256)
    if file.size_bytes > MAX_IMAGE_BYTES:
        most = format_bytes(MAX_IMAGE_BYTES)
        raise ImageRefused(f"The file has {format_bytes(file.size_bytes)}; an image has {most} at most.", reason="size")

    async def read() -> bytes:
        data: bytes = await context.uploads.on_disk(context.store.blobs.get, tenant.id, body.manifest.sha256)
        return data

    await record_action_async(
        context, tenant, "load-own-image", lease=lease, slot=body.manifest.slot, image=body.manifest.sha256
    )
    await context.hypervisor.leases.load_own(record.id, body.manifest.image(), read, body.wait_s)
    return _shown(context, context.store.leases.get(lease), tenant)


@router.post(
    "/leases/{lease}/registers",
    operation_id="access_leased_registers",
    response_model=RegisterValues,
    summary="Read and write registers of a lease's slot",
    responses=refusals(403, 404, 409),
)
async def access_registers(
    lease: LeaseId, body: RegisterAccesses, context: Ctx, tenant: Caller, token: _Token = ""
) -> RegisterValues:
    """In order, each bounded by the slot's firewall; offsets are those in the module's own window."""
    record = _driven(context, lease, tenant, token)
    found = await context.hypervisor.leases.access(lease, _slot(record, body.slot), body.port_accesses())
    return RegisterValues(values=list(found), notice=record.notice)


@router.post(
    "/leases/{lease}/interrupt",
    operation_id="await_leased_interrupt",
    response_model=InterruptAnswer,
    summary="Wait for an interrupt of a lease's slot",
    responses=refusals(403, 404, 409),
)
async def await_interrupt(
    lease: LeaseId, body: InterruptWait, context: Ctx, tenant: Caller, token: _Token = ""
) -> InterruptAnswer:
    """Until the module raises its interrupt, or the time is over; ask again then."""
    record = _driven(context, lease, tenant, token)
    slot = _slot(record, body.slot)
    return InterruptAnswer(rang=await context.hypervisor.leases.wait_interrupt(lease, slot, body.wait_s))


@router.get(
    "/leases/{lease}/memory",
    operation_id="read_leased_memory",
    summary="Read a lease's memory",
    response_class=Response,
    responses={200: {"description": "The bytes.", "content": {BYTES: {}}}, **refusals(403, 404, 409)},
)
async def read_memory(
    lease: LeaseId, context: Ctx, tenant: Caller, offset: _Offset = 0, bytes: _Size = 4096, token: _Token = ""
) -> Response:
    """Bytes as modules left them."""
    _driven(context, lease, tenant, token)
    found = await context.hypervisor.leases.read_memory(lease, offset, bytes)
    return Response(found, media_type=BYTES)


@router.put(
    "/leases/{lease}/memory",
    status_code=204,
    operation_id="write_leased_memory",
    summary="Write a lease's memory",
    responses={204: {"description": "They are there."}, **refusals(403, 404, 409)},
    openapi_extra={"requestBody": _BODY},
)
async def write_memory(
    lease: LeaseId, request: Request, context: Ctx, tenant: Caller, offset: _Offset = 0, token: _Token = ""
) -> Response:
    """Bytes that modules find from then on."""
    _driven(context, lease, tenant, token)
    await context.hypervisor.leases.write_memory(lease, offset, await request.body())
    return Response(status_code=204)


def _token(context: Context, lease: str) -> str:
    """A lease's token: it follows from the server's secret, so it is kept nowhere."""
    return f"t{context.hasher.hash(f'lease:{lease}')[:40]}"


def _driven(context: Context, lease: str, tenant: TenantRecord, token: str) -> LeaseRecord:
    """A lease that somebody may drive: its tenant, with its token.

    Raises:
        NotFound: There is none of that name, or it is another tenant's.
        Forbidden: The token is another's.
    """
    require_running(context)
    record = context.store.leases.get(lease, tenant.id)
    if record.state.is_final:
        message = f"Lease {lease} has ended ({record.cause}); ask for another one."
        raise NotFound(message, field="lease", asked=lease, state=record.state.value, cause=record.cause)
    if not hmac.compare_digest(token.encode(), _token(context, lease).encode()):
        raise Forbidden(f"The header {TOKEN} does not have the token of lease {lease}; `eddy lease env` prints it.")
    return record


def _slot(record: LeaseRecord, asked: int | None) -> int:
    """The slot that is meant; where the lease has none yet, the engine says so."""
    return asked if asked is not None else next(iter(record.slots), 0)


def _shown(context: Context, record: LeaseRecord, viewer: TenantRecord) -> Lease:
    leases = context.hypervisor.leases
    return lease_answer(leases.standing(record), viewer, leases.idle_limit_s, _token(context, record.id))


def _lease_spans(context: Context, viewer: TenantRecord, now_s: float) -> list[LeaseSpan]:
    spans = []
    for each in context.hypervisor.leases.standings(None):
        record, options = each.record, each.record.options
        begins_s = record.begins_unix_s if record.begins_unix_s is not None else each.expected_unix_s
        ends_s = record.ended_unix_s if record.ended_unix_s is not None else record.ends_unix_s
        if begins_s is None and not record.state.is_final:
            begins_s = now_s
        if begins_s is None or (ends_s is not None and ends_s < now_s - SHOWN_S):
            continue
        mine = record.tenant == viewer.id
        known = mine or viewer.admin
        spans.append(
            LeaseSpan(
                kind="lease",
                slots=list(record.slots),
                begins_unix_s=begins_s,
                ends_unix_s=ends_s if ends_s is not None else begins_s + options.lasts_s,
                state=record.state.value,
                mine=mine,
                name=record.id if known else "",
                tenant=record.tenant if known else "",
            )
        )
    return spans


def _windows(context: Context, now_s: float) -> list[LeaseSpan]:
    slots = sorted(status.slot for status in context.hypervisor.slots())
    return [
        LeaseSpan(
            kind="maintenance",
            slots=list(window.slots) or slots,
            begins_unix_s=window.drains_unix_s,
            ends_unix_s=window.ends_unix_s,
            state=window.stage(now_s).value,
            mine=False,
            name=window.id,
            tenant="",
        )
        for window in context.store.maintenance.all()
        if window.stage(now_s) is not WindowStage.CANCELLED and window.ends_unix_s > now_s - SHOWN_S
    ]
