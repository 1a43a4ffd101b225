"""What crosses HTTP: request bodies (strict, unknown fields refused) and answers, as the OpenAPI page shows them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from eddy.core.applications import Application, BufferRole
from eddy.core.counters import CoreCounters
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import PRIORITIES, JobState
from eddy.core.records import JobEvent, JobRecord, KernelRecord, SlotStatus, TenantRecord
from eddy.model.parallel_fraction import Activity

SHA256 = r"^[0-9a-f]{64}$"
NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"
IDEMPOTENCY_KEY = r"^[\x21-\x7e]{1,128}$"
_MAX_ITEMS = 1 << 20

Digest = Annotated[str, Field(pattern=SHA256, description="sha256 of a blob, 64 lower-case hex digits")]


def _priority(value: int) -> int:
    if value not in PRIORITIES:
        text = ", ".join(map(str, PRIORITIES))
        raise PydanticCustomError("one_of", f"must be one of {text}", {"allowed": list(PRIORITIES)})
    return value


def _storable(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse what Python's JSON reader lets in and no other takes: NaN, infinities, lone surrogates."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError as failure:
        raise PydanticCustomError("not_json", "must hold finite numbers and valid text only") from failure
    return value


Priority = Annotated[int, AfterValidator(_priority), Field(json_schema_extra={"enum": list(PRIORITIES)})]


class Request(BaseModel):
    """Base of bodies: no unknown fields, no coercion between types."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _storable_list(value: list[dict[str, Any]]) -> list[dict[str, Any]]:
    _storable({"list": value})
    return value


Sizes = Annotated[list[Annotated[int, Field(ge=0, le=1 << 31)]], Field(min_length=1, max_length=3)]


class KernelSubmission(Request):
    """An OpenCL C kernel over an ND-range; docs/reference/opencl.md has the language."""

    source: str = Field(min_length=1, description="OpenCL C.")
    kernel: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", description="Name of the kernel.")
    defines: dict[str, str] = Field(default_factory=dict, max_length=256, description="Macros.")
    global_size: Sizes = Field(description="Work-items by dimension.")
    local_size: Sizes | None = Field(default=None, description="Work-group size; null for what suits the cluster.")
    offset: Sizes | None = Field(default=None, description="What `get_global_id` counts from; null for zeros.")
    arguments: Annotated[list[dict[str, Any]], AfterValidator(_storable_list)] = Field(
        default_factory=list,
        max_length=64,
        description='In the kernel\'s order: `{"buffer": sha256, "dtype": "<f4", "shape": [n]}`, `{"value": number}`, '
        '`{"value": [numbers]}` for a vector, `{"local": bytes}`, `{"null": true}`.',
    )


class JobSubmission(Request):
    """Run an application over a batch, or a kernel over an ND-range: exactly one of `application` and `kernel`."""

    application: str | None = Field(default=None, min_length=1, max_length=64, examples=["image_compression"])
    kernel: KernelSubmission | None = Field(default=None, description="Instead of `application`.")
    batch: int = Field(default=1, ge=1, le=_MAX_ITEMS, description="Number of items.")
    priority: Priority = Field(default=PRIORITIES[0], description="Higher comes first.")
    inputs: dict[str, Annotated[list[Digest], Field(min_length=1, max_length=_MAX_ITEMS)]] = Field(
        default_factory=dict,
        description="Input buffer to the blobs that fill it: one for each item, or one with all items end to end.",
    )
    constants: dict[str, Digest] = Field(default_factory=dict, description="Constant buffer to its blob.")
    deadline_s: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="After arrival.")
    time_limit_s: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="Board seconds a slice of a kernel may take."
    )

    def check_kind(self) -> None:
        """Check that it asks for one thing, and for nothing that goes with the other.

        Raises:
            InvalidRequest: It asks for both or neither, or has a field too many.
        """
        if (self.application is None) == (self.kernel is None):
            there = "neither" if self.kernel is None else "both"
            message = f"application: a job has exactly one of application and kernel; this has {there}."
            raise InvalidRequest(message, field="application", allowed="exactly one of application, kernel")
        wrong = {"batch", "inputs", "constants"} if self.kernel is not None else {"time_limit_s"}
        for name in sorted(wrong & self.model_fields_set):
            kind = "A kernel" if self.kernel is not None else "An application"
            raise InvalidRequest(f"{kind} job takes no {name}.", field=name, allowed="leave it out")


class QuotaBody(Request):
    """Bounds of a tenant; what is left out takes the default."""

    max_jobs: int = Field(default=64, ge=1, le=1 << 20)
    max_blob_bytes: int = Field(default=1 << 30, ge=0, le=1 << 50)


class TenantCreation(Request):
    """A new tenant."""

    id: str = Field(pattern=NAME, examples=["ada"])
    admin: bool = False
    quota: QuotaBody = Field(default_factory=QuotaBody)
    attributes: Annotated[dict[str, Any], AfterValidator(_storable)] = Field(default_factory=dict, max_length=32)


class Answer(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(extra="forbid")


class Waiting(Answer):
    """Board seconds without a slot, by what was missing."""

    slot: float = Field(description="The policy had not given it a slot.")
    memory: float = Field(description="The board's memory had no room for its buffers.")
    preempted: float = Field(description="Its slots had been taken.")


class Progress(Answer):
    """Items of the batch whose results are committed."""

    done: int
    total: int


class JobError(Answer):
    """Why a job failed."""

    code: str
    cause: str = Field(description="Name from the board's cause register, or what the hypervisor found.")
    message: str
    task: int | None = None
    item: int | None = None


class KernelOutput(Answer):
    """An array a kernel may write."""

    argument: int = Field(description="Its place among the arguments, from 0.")
    dtype: str
    shape: list[int]


class KernelCounters(Answer):
    """What the cores counted over the slices that ended; [000] Table 4.1."""

    cycles: int = Field(description="Clock cycles of the core that ran longest.")
    instructions: int = Field(description="Instructions of warps, over all cores.")
    total_active_cycles: int = Field(description="TOTAL_ACTIVE_CYCLES, over all cores.")
    cycle_thread: list[int] = Field(description="CYCLE_THREAD_X for X = 1, 2, ..., over all cores.")


class Kernel(Answer):
    """What a kernel job runs, and what that showed."""

    name: str
    cluster: str = Field(description="The module it runs on.")
    groups: int = Field(description="Work-groups of the ND-range.")
    slice_groups: int = Field(description="Work-groups of a slice; slices are what `progress` counts.")
    outputs: dict[str, KernelOutput] = Field(description="The arrays it may write, by argument name.")
    counters: KernelCounters | None = Field(description="Null until a slice has ended.")
    parallel_fraction: float | None = Field(description="F by (4.3) of [000]; null where the counters show nothing.")
    log_bytes: int = Field(description="Bytes it printed, once it has ended; `links.log` has them.")


class Job(Answer):
    """A job and what happened to it; every time in board seconds unless it says `unix`."""

    id: int
    tenant: str
    kind: Literal["application", "kernel"]
    application: str = Field(description='The application; "kernel:" and the kernel\'s name for a kernel job.')
    batch: int
    priority: int
    state: JobState
    submitted_unix_s: float
    arrival_s: float
    deadline_s: float | None
    started_s: float | None
    ended_s: float | None
    response_s: float | None
    waiting_s: float
    waiting: Waiting
    reconfiguring_s: float
    running_s: float
    reconfigurations: int
    reuses: int
    preemptions: int
    progress: Progress
    error: JobError | None
    kernel: Kernel | None = Field(description="Of a kernel job; null for applications.")
    outputs: dict[str, str] = Field(description="Output buffer to where its bytes are; empty until it succeeded.")
    links: dict[str, str]


class JobPage(Answer):
    """A page of jobs, newest first."""

    jobs: list[Job]
    next: str | None = Field(description="Cursor of the next page, or null on the last.")


class Blob(Answer):
    """A stored blob."""

    sha256: str
    bytes: int


class Buffer(Answer):
    """A named buffer of an application."""

    name: str
    role: BufferRole
    bytes: int
    dtype: str
    shape: list[int]
    shipped: bool = Field(description="A constant the package brings; it may be left out of a submission.")


class Task(Answer):
    """One task of an application."""

    id: int
    name: str
    module: str
    arguments: dict[str, str | int]
    estimate_s: float
    time_limit_s: float


class App(Answer):
    """An application: tasks, edges, buffers."""

    name: str
    max_batch: int
    goal_slots: int
    tasks: list[Task]
    edges: list[tuple[int, int]]
    buffers: list[Buffer]


class AppList(Answer):
    """Applications, by name."""

    apps: list[App]


class Slot(Answer):
    """What a slot does now. What another tenant does in it does not show: `mine` is false and the names are null."""

    slot: int
    region: str
    pool: str
    phase: str
    since_s: float
    mine: bool
    module: str | None
    tenant: str | None
    job: int | None
    task: int | None
    item: int | None


class SlotList(Answer):
    """The slots of the board, by index."""

    now_s: float
    slots: list[Slot]


class Tenant(Answer):
    """A tenant, without its key."""

    id: str
    admin: bool
    quota: dict[str, int]
    attributes: dict[str, Any]


class TenantWithKey(Tenant):
    """A tenant just created; the key is shown this once."""

    key: str


class TenantList(Answer):
    """Tenants, by name."""

    tenants: list[Tenant]


class Health(Answer):
    """Whether it runs, and whether it can serve."""

    status: Literal["ok", "starting", "unavailable"]
    detail: str = ""


class ProblemKind(Answer):
    """What a problem code means, and what to do."""

    code: str
    status: int
    title: str
    advice: str


def job_answer(record: JobRecord, output_names: tuple[str, ...]) -> Job:
    """The job object of a record; output links appear once the job has succeeded."""
    here = f"/v1/jobs/{record.id}"
    done = record.state is JobState.SUCCEEDED
    waiting = {cause: record.waiting_s.get(cause, 0.0) for cause in Waiting.model_fields}
    return Job(
        id=record.id,
        tenant=record.tenant,
        kind="application" if record.kernel is None else "kernel",
        application=record.application,
        batch=record.batch,
        priority=record.priority,
        state=record.state,
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
        error=_job_error(record),
        kernel=None if record.kernel is None else _kernel(record.kernel),
        outputs={name: f"{here}/outputs/{name}" for name in output_names} if done else {},
        links={"self": here, "events": f"{here}/events", **({"log": f"{here}/log"} if record.kernel else {})},
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


def app_answer(application: Application, shipped: frozenset[str]) -> App:
    """The application object; `shipped` names the constants its package brings."""
    buffers = [
        Buffer(name=b.name, role=b.role, bytes=b.bytes, dtype=b.dtype, shape=list(b.shape), shipped=b.name in shipped)
        for b in application.buffers
    ]
    tasks = [
        Task(id=t.id, name=t.name, module=t.module, arguments=dict(t.arguments), estimate_s=t.estimate_s,
             time_limit_s=t.time_limit_s)
        for t in application.tasks
    ]  # fmt: skip
    return App(name=application.name, max_batch=application.max_batch, goal_slots=application.goal_slots, tasks=tasks,
               edges=list(application.edges), buffers=buffers)  # fmt: skip


def slot_answer(status: SlotStatus, viewer: TenantRecord) -> Slot:
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
        job=status.job if seen else None,
        task=status.task if seen else None,
        item=status.item if seen else None,
    )


def tenant_answer(record: TenantRecord) -> Tenant:
    """A tenant without its key's hash."""
    quota = {"max_jobs": record.quota.max_jobs, "max_blob_bytes": record.quota.max_blob_bytes}
    return Tenant(id=record.id, admin=record.admin, quota=quota, attributes=dict(record.attributes))


def event_data(event: JobEvent) -> dict[str, Any]:
    """The `data` of a server-sent event: the entry of the log without what is not meant."""
    data = {
        "job": event.job,
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
