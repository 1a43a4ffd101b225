# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Records of the core into the answers the API shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal
from urllib.parse import quote

from eddy.api.answers.estimates import estimate_answer
from eddy.api.answers.schemas import (
    App,
    Buffer,
    Cancellation,
    Fused,
    Job,
    JobArrayPlace,
    JobError,
    JobRetries,
    Kernel,
    KernelCounters,
    KernelOutput,
    Key,
    Progress,
    Slot,
    Task,
    Tenant,
    TenantQuota,
    Waiting,
)
from eddy.api.request_bodies.kinds import VIEWS, KindView, unknown_view
from eddy.core.applications import Application
from eddy.core.counters import CoreCounters
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobRecord, KernelRecord, SlotStatus
from eddy.core.submission_options import ECHOED, Condition, Predecessor
from eddy.core.tenants import ApiKey, TenantRecord
from eddy.hypervisor.forecast.estimator import JobEstimate
from eddy.model.parallel_fraction import Activity
from eddy.store.db.numbers import Numbers


def job_answer(
    record: JobRecord,
    numbers: Numbers,
    applications: Mapping[str, Application],
    doing: str = "",
    kinds: Mapping[str, KindView] = VIEWS,
    estimate: JobEstimate | None = None,
    everyone: bool = False,
) -> Job:
    """The job object of a record; output links appear once the job has succeeded. `doing` is what it waits for,
    `numbers` what jobs are told as, `everyone` whether its place counts everyone's jobs."""
    view = kinds.get(record.kind) or unknown_view(record.kind)
    told = numbers.job.public_id
    number = told(record.id)
    here = f"/v1/jobs/{number}"
    done = record.state is JobState.SUCCEEDED and record.collected_unix_s is None
    waiting = {cause: record.waiting_s.get(cause, 0.0) for cause in Waiting.model_fields}
    return Job(
        id=number,
        tenant=record.tenant,
        kind=view.name,
        application=record.application,
        batch=record.batch,
        priority=record.priority,
        state=record.state,
        doing=doing,
        submitted_unix_s=record.submitted_unix_s,
        arrival_s=record.arrival_s,
        deadline_s=record.deadline_s,
        started_s=record.started_s,
        ended_s=record.ended_s,
        response_s=record.response_s,
        waiting_s=record.waited_s,
        waiting=Waiting(**waiting),
        reconfiguring_s=record.reconfiguring_s,
        running_s=record.running_s,
        reconfigurations=record.reconfigurations,
        reuses=record.reuses,
        preemptions=record.preemptions,
        progress=Progress(done=record.items_done, total=record.batch),
        estimate=None if estimate is None else estimate_answer(estimate, everyone),
        error=_job_error(record),
        kernel=_kernel(record.kernel) if record.kernel else None,
        outputs={name: f"{here}/outputs/{quote(name)}" for name in view.outputs(record, applications)} if done else {},
        computed=record.computed,
        unchecked=list(record.unchecked),
        collected_unix_s=record.collected_unix_s,
        held_by=_HOLDERS.get(record.held_by),
        form=record.form,
        labels=dict(record.asked.labels),
        after=referenced_jobs(Condition.SUCCESS, record.asked.after, told),
        afterany=referenced_jobs(Condition.END, record.asked.after, told),
        afternotok=referenced_jobs(Condition.FAILURE, record.asked.after, told),
        retries=_retries(record),
        retried=record.retried,
        **{name: getattr(record.asked, name) for name in ECHOED},
        cancellation=cancellation_answer(record),
        ended_unix_s=record.ended_unix_s,
        array=_array_place(record, numbers),
        links={"self": here, "events": f"{here}/events", **({"log": f"{here}/log"} if view.logs else {})},
    )


def render_job(job: Job) -> bytes:
    """The text of a job object."""
    return Job.__pydantic_serializer__.to_json(job)


def referenced_jobs(wanted: Condition, after: Iterable[Predecessor], told: Callable[[int], int]) -> list[int]:
    """Of what a job waits for, that of which it wants this, as it is told."""
    return [told(each.id) for each in after if each.wanted is wanted]


_HOLDERS: Mapping[str, Literal["tenant", "operator"]] = {"tenant": "tenant", "operator": "operator"}


def _array_place(record: JobRecord, numbers: Numbers) -> JobArrayPlace | None:
    place = record.asked.array
    return (
        None if place is None else JobArrayPlace(id=numbers.job.public_id(place.id), index=place.index, size=place.size)
    )


def _retries(record: JobRecord) -> JobRetries | None:
    asked = record.asked.retries
    return JobRetries(max=asked.max, on=list(asked.on)) if asked.max else None


def cancellation_answer(record: JobRecord) -> Cancellation | None:
    """What is said of a request for a job's end; None where there was none."""
    asked_unix_s, cancelled = record.cancel_asked_unix_s, record.state is JobState.CANCELLED
    if asked_unix_s is None:
        return None
    return Cancellation(
        asked_unix_s=asked_unix_s,
        effective_s=record.ended_s if cancelled else None,
        effective_unix_s=record.ended_unix_s if cancelled else None,
        outcome="cancelled" if cancelled else "too-late" if record.state.is_final else "pending",
    )


def _kernel(record: KernelRecord) -> Kernel:
    return Kernel(
        name=record.name,
        cluster=record.module,
        groups=record.groups,
        slice_groups=record.slice_groups,
        outputs={
            output.name: KernelOutput(argument=output.argument, dtype=output.dtype, shape=list(output.shape))
            for output in record.outputs
        },
        counters=_counters(record.cores),
        parallel_fraction=_fraction(record.cores),
        core_seconds=record.core_seconds,
        paid=record.paid,
        log_bytes=record.log_bytes,
    )


def _counters(cores: tuple[CoreCounters, ...]) -> KernelCounters | None:
    if not cores:
        return None
    return KernelCounters(
        cycles=max(core.cycles for core in cores),
        instructions=sum(core.instructions for core in cores),
        total_active_cycles=sum(core.total_active_cycles for core in cores),
        cycle_thread=[sum(counts) for counts in zip(*(core.cycle_thread for core in cores), strict=True)],
    )


def _fraction(cores: tuple[CoreCounters, ...]) -> float | None:
    """F of a kernel; None where no core was active, or a cluster of one lane shows no parallelism."""
    if not any(core.total_active_cycles for core in cores):
        return None
    activity = Activity(tuple(core.cycle_thread for core in cores))
    return activity.fraction if activity.elements > 1 else None


def _job_error(record: JobRecord) -> JobError | None:
    if record.state is not JobState.FAILED and not record.cause:
        return None
    cause = record.cause or "unknown"
    return JobError(code=f"job-{record.state.value}", cause=cause, message=record.detail or f"The job ended: {cause}.",
                    task=record.failed_task, item=record.failed_item)  # fmt: skip


def app_answer(application: Application, shipped: frozenset[str], refused: str = "") -> App:
    """The application object; `shipped` names the constants its package brings, `refused` says why it takes no jobs."""
    buffers = [
        Buffer(
            name=b.name,
            role=b.role,
            bytes=b.bytes,
            dtype=b.dtype,
            shape=list(b.shape),
            shipped=b.name in shipped,
            picture=b.picture,
        )
        for b in application.buffers
    ]
    tasks = [
        Task(id=t.id, name=t.name, module=t.module, arguments=dict(t.arguments), estimate_s=t.estimate_s,
             time_limit_s=t.time_limit_s)
        for t in application.tasks
    ]  # fmt: skip
    fused = [Fused(name=f.name, module=f.module, covers=list(f.covers)) for f in application.fused]
    return App(name=application.name, max_batch=application.max_batch, goal_slots=application.goal_slots, tasks=tasks,
               edges=list(application.edges), buffers=buffers, fused=fused, refused=refused)  # fmt: skip


def slot_answer(status: SlotStatus, numbers: Numbers, viewer: TenantRecord) -> Slot:
    """A slot as `viewer` may see it: whole for the operator, otherwise only what is the viewer's own."""
    mine = status.tenant == viewer.id
    seen = mine or viewer.admin
    return Slot(
        slot=status.slot,
        region=status.region,
        pool=status.pool,
        phase=status.phase,
        since_s=status.since_s,
        mine=mine,
        module=(status.module or None) if seen else None,
        tenant=(status.tenant or None) if seen else None,
        job=numbers.job.public_id(status.job) if seen and status.job is not None else None,
        task=status.task if seen else None,
        item=status.item if seen else None,
        drained=bool(status.drained),
        drained_because=status.drained if viewer.admin else "",
        leased=bool(status.lease),
        lease=(status.lease or None) if seen else None,
    )


def tenant_answer(record: TenantRecord, leaving: bool = False) -> Tenant:
    """A tenant without its key's hash."""
    quota = TenantQuota(**dataclasses.asdict(record.quota))
    return Tenant(
        id=record.id,
        admin=record.admin,
        display_name=record.display_name,
        quota=quota,
        attributes=dict(record.attributes),
        leaving=leaving,
    )


def key_answer(key: ApiKey, now_unix_s: float) -> Key:
    """A key without its hash."""
    left_out = ("key_hash", "scope", "revoked_for_good")
    fields = {name: value for name, value in dataclasses.asdict(key).items() if name not in left_out}
    return Key(scope=key.scope.value, valid=not key.ended(now_unix_s), **fields)


def event_data(event: JobEvent, numbers: Numbers) -> dict[str, Any]:
    """The `data` of a server-sent event: the entry of the log without what is not meant."""
    data = {
        "job": numbers.job.public_id(event.job),
        "what": event.what.value,
        "at_s": event.at_s,
        "state": event.state.value if event.state else None,
        "slot": event.slot,
        "task": event.task,
        "item": event.item,
        "started_s": event.started_s,
        "detail": event.detail or None,
    }
    return {key: value for key, value in data.items() if value is not None}
