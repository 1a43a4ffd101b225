# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What goes out over HTTP: the answers, as the OpenAPI page shows them. Requests are in the `*submissions` modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from eddy.api.answers.estimates import ExpectedTimes
from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import SHA256, Answer, with_example
from eddy.api.request_bodies.options import with_options
from eddy.core.applications import BufferRole
from eddy.core.jobs import JobState
from eddy.core.submission_options import ECHOED

__all__ = [
    "SHA256",
    "Answer",
    "App",
    "AppList",
    "Blob",
    "Health",
    "Job",
    "JobPage",
    "ProblemKind",
    "Slot",
    "SlotList",
    "Tenant",
]


class Waiting(Answer):
    """Board seconds without a slot, by what was missing."""

    dependency: float = Field(description="Others were first: `after` and its like, or those of its array.")
    slot: float = Field(description="The policy had not given it a slot.")
    memory: float = Field(description="The board's memory was full.")
    preempted: float = Field(description="Its slots had been taken.")
    maintenance: float = Field(description="Slots were closed by calendar, or about to be before it could end.")


class Progress(Answer):
    """Items of the batch whose results are committed."""

    done: int = Field(description="Items that are done.")
    total: int = Field(description="Items of the batch; slices of a kernel.")


class JobError(Answer):
    """Why a job failed."""

    code: str = Field(description="`job-` and the state it ended in.")
    cause: str = Field(description="Name from the board's cause register, or what the hypervisor found.")
    message: str = Field(description="The same for people.")
    task: int | None = Field(default=None, description="Task that failed; null where no single one did.")
    item: int | None = Field(default=None, description="Item that failed; null where no single one did.")


class KernelOutput(Answer):
    """An array a kernel may write."""

    argument: int = Field(description="Its place among the arguments, from 0.")
    dtype: str = Field(description="numpy's name of an element, byte order included.")
    shape: list[int] = Field(description="The array's shape.")


class KernelCounters(Answer):
    """What the cores counted over the slices that ended; [000] Table 4.1."""

    cycles: int = Field(description="Clock cycles of the core that ran longest.")
    instructions: int = Field(description="Instructions of warps, over all cores.")
    total_active_cycles: int = Field(description="TOTAL_ACTIVE_CYCLES, over all cores.")
    cycle_thread: list[int] = Field(description="CYCLE_THREAD_X for X = 1, 2, ..., over all cores.")


class Kernel(Answer):
    """What a kernel job runs, and what that showed."""

    name: str = Field(description="The kernel's name.")
    cluster: str = Field(description="The module it runs on.")
    groups: int = Field(description="Work-groups of the ND-range.")
    slice_groups: int = Field(description="Work-groups of a slice; slices are what `progress` counts.")
    outputs: dict[str, KernelOutput] = Field(description="The arrays it may write, by argument name.")
    counters: KernelCounters | None = Field(description="Null until a slice has ended.")
    parallel_fraction: float | None = Field(description="F by (4.3) of [000]; null where the counters show nothing.")
    core_seconds: float = Field(description="Time its slices had cores, summed over cores; 0 on whole clusters.")
    paid: float = Field(description="Those core-seconds at the clusters' prices; all cores cost 1 a second together.")
    log_bytes: int = Field(description="Bytes it printed, once it has ended; `links.log` has them.")


class JobArrayPlace(Answer):
    """A job's place in an array."""

    id: int = Field(description="The array's.")
    index: int = Field(description="Its place, from 0.")
    size: int = Field(description="Jobs of the array.")


class JobRetries(Answer):
    """How often a job that failed is tried again."""

    max: int = Field(description="Times.")
    on: list[str] = Field(description="Causes after which it is.")


class Cancellation(Answer):
    """That a job's end was asked for, and what came of it."""

    asked_unix_s: float = Field(description="Wall time at which it was first asked for.")
    effective_s: float | None = Field(
        description="Board time from which the job held nothing any more; null before, and where it ended otherwise."
    )
    effective_unix_s: float | None = Field(description="The same by wall time.")
    outcome: Literal["pending", "cancelled", "too-late"] = Field(
        description="`pending` until the job has ended; `too-late` where it had succeeded or failed before it could be"
        " stopped: its `state` and `ended_unix_s` say how and when."
    )


class SlowdownEpoch(Answer):
    """A kernel's tenant in one epoch while it ran."""

    epoch: int = Field(description="Its number.")
    at_s: float = Field(description="Board time of its start.")
    ended_s: float = Field(description="Of its end.")
    price_policy: str = Field(description="Policy in force.")
    progress: float = Field(description="Speed over that alone on all cores.")
    measured: bool = Field(
        default=False,
        description="Whether its kernels ran alone before, so that progress was measured; else it is predicted.",
    )
    cores: float = Field(description="Cores it had on average.")
    memory_share: float = Field(description="Its part of what went to and from memory.")


class JobSlowdown(Answer):
    """How far others slowed a kernel down, by its tenant's counters."""

    asked: float | None = Field(description="The least progress that held for it; null for none.")
    mean: float = Field(description="Progress over the epochs in which it ran, by time.")
    met: bool | None = Field(description="Whether that is what was asked for; null where nothing was.")
    epochs: list[SlowdownEpoch] = Field(description="The epochs it ran in, as far as they are kept; oldest first.")
    words: list[str] = Field(description="The same for people, with who took the memory's bandwidth; nobody is named.")


class _Job(Answer):
    """A job and what happened to it; every time in board seconds unless it says `unix`."""

    model_config = with_example(examples.JOB)

    id: int = Field(description="Its number; a later job has a larger one.")
    tenant: str = Field(description="Whose it is.")
    kind: str = Field(
        description="What was submitted: `application`, `kernel`, or another kind that this server takes."
    )
    application: str = Field(description='The application; "kernel:" and the kernel\'s name for a kernel job.')
    batch: int = Field(description="Items; slices of the ND-range for a kernel job.")
    priority: int = Field(description="As submitted; higher comes first.")
    state: JobState = Field(description="Its state; `succeeded`, `failed` and `cancelled` are final.")
    doing: str = Field(
        default="",
        description="What is being made for it before it can have a slot, such as building the simulation model of a "
        "module; empty where nothing is.",
    )
    submitted_unix_s: float = Field(description="Wall time of acceptance, seconds since 1970.")
    arrival_s: float = Field(description="Board time of acceptance.")
    deadline_s: float | None = Field(description="Board time by which it should end; null for none.")
    started_s: float | None = Field(description="Board time at which it first had a slot; null before.")
    ended_s: float | None = Field(description="Board time of its end; null before.")
    response_s: float | None = Field(description="Arrival to end; null before its end.")
    waiting_s: float = Field(description="Time without a slot, for whatever cause.")
    waiting: Waiting = Field(description="The same by cause.")
    reconfiguring_s: float = Field(description="Time in which a slot was loaded for it and none of its items ran.")
    running_s: float = Field(description="Time in which it held a loaded slot.")
    reconfigurations: int = Field(description="Loads made for it.")
    reuses: int = Field(description="Slots it got without a load, because the module was there.")
    preemptions: int = Field(description="Times a slot was taken from it.")
    progress: Progress = Field(description="How far it is.")
    estimate: ExpectedTimes | None = Field(
        default=None,
        description="When it should start and end. Null once it has ended, in the answer to a submission, and where "
        "nothing can be told: while it waits for others, or its slots are drained, and for kernels that never ran.",
    )
    error: JobError | None = Field(description="Why it failed; null where it did not.")
    kernel: Kernel | None = Field(description="Of a kernel job; null for applications.")
    outputs: dict[str, str] = Field(description="Output buffer to where its bytes are; empty until it succeeded.")
    computed: bool = Field(
        description="Whether the board computes what was asked for; false on a board that models times alone, where "
        "every output is zeros."
    )
    unchecked: list[str] = Field(
        default=[],
        description="Modules it was given whose build has no check on record, where the server allows them; nobody "
        "knows whether they keep to the contract of a slot.",
    )
    collected_unix_s: float | None = Field(
        default=None, description="Wall time at which its outputs were removed to make room; null where they were not."
    )
    held_by: Literal["tenant", "operator"] | None = Field(
        default=None, description="Who keeps its outputs from being removed to make room; null for nobody."
    )
    form: str = Field(
        description='Fused tasks it is run with, joined by "+"; empty for its application\'s tasks as they are. Its '
        "tasks are numbered in that form."
    )
    labels: dict[str, str] = Field(description="As submitted.")
    after: list[int] = Field(description="Jobs and arrays that must have succeeded before this one is ready.")
    afterany: list[int] = Field(description="Those that must have ended, however.")
    afternotok: list[int] = Field(description="Those that must have failed or have been cancelled.")
    retries: JobRetries | None = Field(description="Whether it is tried again where it fails; null for not.")
    retried: int = Field(description="Times it was begun again after it had failed.")
    slowdown: JobSlowdown | None = Field(
        default=None,
        description="How far others slowed it down; null in lists, before it runs, and where progress is not measured.",
    )
    cancellation: Cancellation | None = Field(description="Null where nobody asked for its end; never after a 202.")
    ended_unix_s: float | None = Field(description="Wall time of its end; null before.")
    array: JobArrayPlace | None = Field(description="Its place in the array it was submitted with; null for none.")
    links: dict[str, str] = Field(description="Addresses: `self`, `events`, and `log` of a kernel job.")


if TYPE_CHECKING:

    class Job(_Job):
        """The answer, with a field for each option of the submission that is shown as it came."""
else:
    Job = with_options(_Job, ECHOED, answer=True)


class JobPage(Answer):
    """A page of jobs, newest first."""

    model_config = with_example({"jobs": [examples.JOB], "next": None})

    jobs: list[Job] = Field(description="Jobs, newest first.")
    next: str | None = Field(description="Cursor of the next page, or null on the last.")
    damaged: list[int] = Field(
        default_factory=list, description="Jobs that belong on this page, and whose records cannot be read."
    )


class Blob(Answer):
    """A stored blob."""

    model_config = with_example(examples.BLOB)

    sha256: str = Field(pattern=SHA256, description="sha256 of its bytes, which is its name.")
    bytes: int = Field(description="Its size.")


class Buffer(Answer):
    """A named buffer of an application."""

    name: str = Field(description="Unique in the application.")
    role: BufferRole = Field(
        description="Filled by a submission, handed back, between tasks, one for all items, or both of the first two."
    )
    bytes: int = Field(description="Size of one item's.")
    dtype: str = Field(description="numpy's name of an element, byte order included.")
    shape: list[int] = Field(description="Shape of one item's array.")
    shipped: bool = Field(description="A constant the package brings; it may be left out of a submission.")
    picture: bool = Field(default=False, description="Whether it is a tile of a picture in grey levels.")


class Task(Answer):
    """One task of an application."""

    id: int = Field(description="Its place in a topological order, from 0.")
    name: str = Field(description="Unique in the application.")
    module: str = Field(description="The reconfigurable module that carries it out.")
    arguments: dict[str, str | int] = Field(description="Register of the module to a buffer's name, or a number.")
    estimate_s: float = Field(description="Expected board time of an item, in seconds; may be wrong by far.")
    time_limit_s: float = Field(description="Board seconds after which an item is stopped and the job fails.")


class Fused(Answer):
    """A module that may do the work of several tasks of an application."""

    name: str = Field(description="Unique among the application's tasks.")
    module: str = Field(description="The module.")
    covers: list[str] = Field(description="Names of the tasks it stands for.")


class App(Answer):
    """An application: tasks, edges, buffers."""

    model_config = with_example(examples.APP)

    name: str = Field(description="What a submission calls it.")
    max_batch: int = Field(description="Most items of a job.")
    goal_slots: int = Field(description="Slots beyond which it gets no faster.")
    tasks: list[Task] = Field(description="Its tasks, by id.")
    edges: list[tuple[int, int]] = Field(description="Pairs of task ids: the second needs the first's item.")
    buffers: list[Buffer] = Field(description="What tasks read and write.")
    fused: list[Fused] = Field(description="Modules that may do the work of several tasks; empty for none.")
    refused: str = Field(description="Why no job of it is accepted now; empty where jobs are.")


class AppList(Answer):
    """Applications, by name."""

    model_config = with_example({"apps": [examples.APP]})

    apps: list[App] = Field(description="Applications, by name.")


class BlobPage(Answer):
    """Some of your blobs, in order of their hashes."""

    model_config = with_example({"blobs": [examples.BLOB], "next": None})

    blobs: list[Blob] = Field(description="Their names and sizes.")
    next: str | None = Field(description="Cursor of the page after this one; null for the last.")
    damaged: list[str] = Field(
        default_factory=list, description="Blobs that belong on this page, and whose records cannot be read."
    )


class Slot(Answer):
    """What a slot does now. What another tenant does in it does not show: `mine` is false and the names are null."""

    model_config = with_example(examples.SLOT)

    slot: int = Field(description="Its index, from 0.")
    region: str = Field(description="Name of its partition.")
    pool: str = Field(description="`pipeline` for applications, `gpu` for kernels.")
    phase: str = Field(
        description="`empty`, `loading`, `idle`, `running`, `waiting` or `faulted`; `unknown` while the board is away."
    )
    since_s: float = Field(description="Board time since when.")
    mine: bool = Field(description="Whether it works for you.")
    module: str | None = Field(description="Module in it; null for none, or where it is not yours.")
    tenant: str | None = Field(description="The tenant it works for; null if none, or another tenant.")
    job: int | None = Field(description="Job it works for.")
    task: int | None = Field(description="Task of that job.")
    item: int | None = Field(description="Item it runs.")
    drained: bool = Field(description="Whether nothing new is placed here; what runs ends, its job goes on elsewhere.")
    drained_because: str = Field(description="For the operator: why, and what to do; empty for tenants.")
    leased: bool = Field(default=False, description="Whether a person holds it by a lease.")
    lease: str | None = Field(default=None, description="That lease; null where there is none, or it is not yours.")


class SlotList(Answer):
    """The slots of the board, by index."""

    model_config = with_example({"now_s": 0.0149, "computes": True, "slots": [examples.SLOT]})

    computes: bool = Field(
        description="Whether the board computes what jobs ask for; false where it models times alone (`--board model`) "
        "and every output is zeros."
    )
    now_s: float = Field(description="Board time.")
    slots: list[Slot] = Field(description="Slots, by index.")


class TenantQuota(Answer):
    """Bounds of a tenant."""

    max_jobs: int = Field(description="Jobs that have not ended, at once.")
    max_blob_bytes: int = Field(description="Bytes of blobs kept.")
    max_priority: int = Field(description="Highest priority of its jobs.")
    max_requests_per_s: float | None = Field(description="Requests a second, by wall time; null for any number.")
    max_slot_s: float | None = Field(description="Board seconds of slots in a day (UTC); null for any number.")
    max_core_s: float | None = Field(description="Board seconds of GPU cores in a day (UTC); null for any number.")
    max_leases: int = Field(description="Leases that have not ended, at once; 0 in a pool, which leases nothing.")
    max_lease_s: float = Field(description="Wall seconds that a lease may last.")


class Tenant(Answer):
    """A tenant, without its key."""

    model_config = with_example(examples.TENANT)

    id: str = Field(description="Its name.")
    admin: bool = Field(description="Whether it may do what the operator may.")
    display_name: str = Field(description="What people call it, in any script; empty where it has no other name.")
    quota: TenantQuota = Field(description="Its bounds.")
    attributes: dict[str, Any] = Field(description="What the operator keeps with it.")
    leaving: bool = Field(description="Whether it is being removed; then its keys are no good any more.")


class TenantWithKey(Tenant):
    """A tenant just created; the key is shown this once."""

    model_config = with_example({**examples.TENANT, "key": "eddy_..."})

    key: str = Field(description="Its API key: in this answer, and nowhere else.")


class TenantLeaving(Answer):
    """A tenant that is being removed."""

    model_config = with_example({"id": "ada", "jobs": 2})

    id: str = Field(description="Its name. `GET /v1/admin/tenants/{tenant}` answers 404 once nothing of it is left.")
    jobs: int = Field(description="Jobs of it that have not ended, and are cancelled.")


class PurgeAnswer(Answer):
    """What a purge removed."""

    model_config = with_example({"removed": 1204, "more": False})

    removed: int = Field(description="Jobs that are gone.")
    more: bool = Field(description="Whether time was up before all were looked at: ask again.")


class TenantList(Answer):
    """Tenants, by name."""

    model_config = with_example({"tenants": [examples.TENANT]})

    tenants: list[Tenant] = Field(description="Tenants, by name.")
    damaged: list[str] = Field(
        default_factory=list, description="Tenants whose records cannot be read; adding one again mends it."
    )


class Key(Answer):
    """An API key, without the key itself."""

    model_config = with_example(examples.KEY)

    id: str = Field(description="Its name.")
    tenant: str = Field(description="Whose it is.")
    scope: Literal["tenant", "operator", "read"] = Field(description="What it may do; `read` changes nothing.")
    label: str = Field(description="What its owner calls it.")
    created_unix_s: float = Field(description="When it was made, by wall time.")
    expires_unix_s: float | None = Field(description="When it ends by itself; null for never.")
    revoked_unix_s: float | None = Field(description="When it was or will be revoked; null where it is not.")
    valid: bool = Field(description="Whether it is good at this moment.")


class KeyMade(Key):
    """A key just made; it is shown this once."""

    model_config = with_example({**examples.KEY, "key": "eddy_..."})

    key: str = Field(description="The key: in this answer, and nowhere else.")


class KeyList(Answer):
    """Keys, oldest first."""

    model_config = with_example({"keys": [examples.KEY]})

    keys: list[Key] = Field(description="Also those that have ended.")
    damaged: list[str] = Field(
        default_factory=list, description="For the operator: keys whose records cannot be read; they open nothing."
    )


class Health(Answer):
    """Whether it runs, and whether it can serve."""

    model_config = with_example({"status": "ok", "detail": ""})

    status: Literal["ok", "starting", "unavailable"] = Field(description="`ok` where it serves.")
    detail: str = Field(default="", description="Why it does not; empty where it does.")


class ProblemKind(Answer):
    """What a problem code means, and what to do."""

    code: str = Field(description="The stable code.")
    status: int = Field(description="HTTP status it comes with.")
    title: str = Field(description="What it means.")
    advice: str = Field(description="What to do about it.")
