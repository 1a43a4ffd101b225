"""One answer with all that a page, or a terminal, shows at a glance: `/v1/overview`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from eddy.api import examples
from eddy.api.context import Context
from eddy.api.rendering import job_answer, slot_answer
from eddy.api.schemas import Answer, Job, Slot
from eddy.core.errors import NotFound, RecordDamaged
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.forecast.outlook import QueueOutlook
from eddy.store import Store
from eddy.store.db.numbers import Numbers

JOBS = 40
"""Jobs that have not ended, at most; the oldest."""
ENDED = 12
"""Jobs that ended last, at most."""
ENTRIES = 600
"""Entries of the event log that are looked through for what happened in slots."""

_KINDS: dict[JobEventKind, Literal["load", "item"]] = {
    JobEventKind.CONFIGURED: "load",
    JobEventKind.CONFIGURATION_FAILED: "load",
    JobEventKind.ITEM_DONE: "item",
    JobEventKind.ITEM_FAILED: "item",
}
_FAILED = (JobEventKind.CONFIGURATION_FAILED, JobEventKind.ITEM_FAILED)


class Span(Answer):
    """A stretch of a slot's time, in board seconds: a load, or an item."""

    slot: int = Field(description="The slot's index.")
    kind: Literal["load", "item"] = Field(description="Loading a module, or running an item.")
    start_s: float = Field(description="Its beginning.")
    end_s: float = Field(description="Its end.")
    tenant: str = Field(description="For whom.")
    job: int = Field(description="For which job.")
    task: int | None = Field(description="Task of that job.")
    item: int | None = Field(description="Item of the batch; null for a load.")
    ok: bool = Field(description="False where it ended in a fault.")


class TenantLoad(Answer):
    """What a tenant has under way."""

    tenant: str = Field(description="Its name.")
    display_name: str = Field(description="What people call it; empty where it has no other name.")
    jobs: dict[str, int] = Field(description="Its jobs that have not ended, by state.")


class Overview(Answer):
    """The board at a glance. A tenant sees its own jobs and what slots did for it; the operator sees everyone's."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [examples.OVERVIEW]})

    now_s: float = Field(description="Board time.")
    ready: bool = Field(description="Whether jobs are taken and would run.")
    detail: str = Field(description="Why not; empty where they are.")
    viewer: str = Field(description="Who you are.")
    operator: bool = Field(description="Whether you may do what the operator may.")
    policy: str = Field(description="Dispatch policy of the pipeline slots.")
    slots: list[Slot] = Field(description="Slots, by index.")
    counts: dict[str, int] = Field(description="Jobs that have not ended, by state.")
    jobs: list[Job] = Field(description=f"Jobs that have not ended, oldest first; at most {JOBS}.")
    ended: list[Job] = Field(description=f"Jobs that have ended, of the newest {ENDED}, newest first.")
    spans: list[Span] = Field(description="What slots did of late, oldest first.")
    faults: dict[str, int] = Field(
        description="For the operator: faults since the start, by code. Empty for a tenant, whose jobs say theirs."
    )
    tenants: list[TenantLoad] = Field(description="For the operator: who has jobs under way. Empty for a tenant.")
    damaged: dict[str, int] = Field(
        default_factory=dict,
        description="For the operator: damaged records that were met since the start, by kind, where there are any.",
    )


def overview(context: Context, viewer: TenantRecord, outlook: QueueOutlook | None = None) -> Overview:
    """The board as `viewer` may see it. Reads the store, at a cost that does not grow with the jobs that have ended."""
    whose = None if viewer.admin else viewer.id
    hypervisor, store = context.hypervisor, context.store
    applications = context.catalogue.applications

    def shown(records: Sequence[JobRecord]) -> list[Job]:
        return [
            job_answer(
                *(
                    hypervisor.up_to_now(record),
                    store.numbers,
                    applications,
                    hypervisor.doing(record.id),
                    context.kinds,
                ),
                None if outlook is None or record.state.is_final else outlook.of(record.id),
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
        operator=viewer.admin,
        policy=hypervisor.policy,
        slots=[slot_answer(status, store.numbers, viewer) for status in slots],
        counts=dict(counts),
        jobs=shown(store.jobs.under_way(whose, JOBS)),
        ended=shown(_ended(store, whose)),
        spans=[span for span in done if span is not None],
        faults=dict(store.happened.faults) if viewer.admin else {},
        tenants=[_load(store, name, jobs) for name, jobs in loads.items()] if viewer.admin else [],
        damaged={kind: count for kind, count in store.damage.counts().items() if count} if viewer.admin else {},
    )


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
        job=numbers.job.told(event.job),
        task=event.task,
        item=event.item,
        ok=event.what not in _FAILED,
    )


def _ended(store: Store, whose: str | None) -> list[JobRecord]:
    """The newest jobs that have ended; each state has an index of its own."""
    found = [record for state in JobState if state.is_final for record in store.jobs.page(whose, state, limit=ENDED)]
    return sorted(found, key=lambda record: -record.id)[:ENDED]
