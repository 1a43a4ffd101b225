# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/overview`, `/v1/slots`: what the board does now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Literal

from fastapi import APIRouter

from eddy.api.answers.overview import ENDED, JOBS, SESSIONS, LeaseGlance, Overview, SessionGlance, Span, TenantLoad
from eddy.api.answers.rendering import job_answer, slot_answer
from eddy.api.answers.schemas import Job, SlotList
from eddy.api.dependencies.callers import Caller, Ctx, visible_tenant
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.job_access import outlook_of, read
from eddy.core.errors import NotFound, RecordDamaged
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.forecast.outlook import QueueOutlook
from eddy.store import Store
from eddy.store.db.numbers import Numbers

router = APIRouter(prefix="/v1", tags=["slots"])
ENTRIES = 600
"""Entries of the event log that are looked through for what happened in slots."""
_KINDS: dict[JobEventKind, Literal["load", "item"]] = {
    JobEventKind.CONFIGURED: "load",
    JobEventKind.CONFIGURATION_FAILED: "load",
    JobEventKind.ITEM_DONE: "item",
    JobEventKind.ITEM_FAILED: "item",
}
_FAILED = (JobEventKind.CONFIGURATION_FAILED, JobEventKind.ITEM_FAILED)


@router.get("/overview", operation_id="overview", response_model=Overview, summary="The board at a glance")
async def show(context: Ctx, viewer: Caller) -> Overview:
    """Slots, jobs under way and ended last, what slots did of late: what the dashboard and `eddy top` show."""
    outlook = await outlook_of(context)
    return await read(context, partial(_overview, context, viewer, outlook))


@router.get("/slots", operation_id="list_slots", response_model=SlotList, summary="List slots")
async def list_slots(context: Ctx, viewer: Caller) -> SlotList:
    """Every slot, by index; what another tenant does in one does not show."""
    statuses = sorted(context.hypervisor.slots(), key=lambda status: status.slot)
    return SlotList(
        computes=context.hypervisor.computes_results,
        now_s=context.hypervisor.now_s(),
        slots=[slot_answer(status, context.store.numbers, viewer) for status in statuses],
    )


def _overview(context: Context, viewer: TenantRecord, outlook: QueueOutlook | None = None) -> Overview:
    """The board as `viewer` may see it. Reads the store, at a cost that does not grow with the jobs that have ended."""
    whose = visible_tenant(viewer)
    hypervisor, store = context.hypervisor, context.store
    applications = context.catalogue.applications

    def shown(records: Sequence[JobRecord]) -> list[Job]:
        return [
            job_answer(
                *(
                    hypervisor.add_current_wait(record),
                    store.numbers,
                    applications,
                    hypervisor.preparation_text(record.id),
                    context.kinds,
                ),
                None if outlook is None or record.state.is_final else outlook.estimate_of(record.id),
                viewer.admin,
            )
            for record in records
        ]

    starting = "" if context.ready else "starting"
    slots = sorted(hypervisor.slots(), key=lambda status: status.slot)
    loads = store.jobs.unfinished_by_tenant()
    counts = Counter[str]()
    for name, states in loads.items():
        counts.update(states if whose in (None, name) else {})
    done = (_span(event, store.numbers) for event in store.events.latest_in_slots(whose, ENTRIES))
    return Overview(
        now_s=hypervisor.now_s(),
        ready=context.ready and not context.unavailable,
        detail=context.unavailable or starting,
        viewer=viewer.id,
        board=context.settings.board_name,
        operator=viewer.admin,
        policy=hypervisor.policy,
        slots=[slot_answer(status, store.numbers, viewer) for status in slots],
        counts=dict(counts),
        jobs=shown(store.jobs.under_way(whose, JOBS)),
        ended=shown(_ended(store, whose)),
        spans=[span for span in done if span is not None],
        sessions=_sessions(context, whose),
        leases=_leases(context, whose),
        faults=dict(store.happened.faults) if viewer.admin else {},
        tenants=[_load(store, name, jobs) for name, jobs in loads.items()] if viewer.admin else [],
        damaged={kind: count for kind, count in store.damage.counts().items() if count} if viewer.admin else {},
    )


def _sessions(context: Context, whose: str | None) -> list[SessionGlance]:
    _, there = context.hypervisor.sessions.overview()
    mine = [(record, now) for record, now in there if whose in (None, record.tenant)]
    return [
        SessionGlance(
            session=record.id,
            tenant=record.tenant,
            state=now.state,
            memory_bytes=record.options.memory_bytes,
            buffers=now.buffers,
            queued=now.queued,
            running=now.running,
            launches=now.launches,
            core_seconds=now.core_s,
        )
        for record, now in mine[:SESSIONS]
    ]


def _leases(context: Context, whose: str | None) -> list[LeaseGlance]:
    open_now = [each for each in context.hypervisor.leases.standings(whose) if each.figures is not None]
    return [
        LeaseGlance(
            lease=each.record.id,
            tenant=each.record.tenant,
            state=each.record.state,
            slots=list(each.record.slots),
            module=", ".join(name for name in each.figures.modules.values() if name),
            ends_unix_s=each.record.ends_unix_s,
            idle_s=each.figures.idle_s,
        )
        for each in open_now[:SESSIONS]
        if each.figures is not None
    ]


def _load(store: Store, tenant: str, jobs: dict[str, int]) -> TenantLoad:
    try:
        called = store.tenants.get(tenant).display_name
    except (NotFound, RecordDamaged):  # it has jobs of a version that knew it, or is damaged
        called = ""
    return TenantLoad(tenant=tenant, display_name=called, jobs=jobs)


def _span(event: JobEvent, numbers: Numbers) -> Span | None:
    kind = _KINDS.get(event.what)
    if kind is None or event.slot is None or event.started_s is None:
        return None
    return Span(
        slot=event.slot,
        kind=kind,
        start_s=event.started_s,
        end_s=event.at_s,
        tenant=event.tenant,
        job=numbers.job.public_id(event.job),
        task=event.task,
        item=event.item,
        ok=event.what not in _FAILED,
    )


def _ended(store: Store, whose: str | None) -> list[JobRecord]:
    """The newest jobs that have ended; each state has an index of its own."""
    found = [record for state in JobState if state.is_final for record in store.lists.page(whose, state, limit=ENDED)]
    return sorted(found, key=lambda record: -record.id)[:ENDED]
