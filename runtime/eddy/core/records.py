# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a job says about itself, and what slots say: frozen records that the store keeps and the API shows.

Every time here is in board seconds, unless its name says `unix`. For a job, ``waiting_s`` (summed over its causes) plus
``reconfiguring_s`` plus ``running_s`` is the time from its arrival to its end: each instant is booked once.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eddy.core.counters import CoreCounters
from eddy.core.jobs import PRIORITIES, TRANSITIONS, JobState
from eddy.core.profiles import LaunchShape
from eddy.core.submission_options import ECHOED, MAX_SECONDS, NOTHING, Option, SubmissionOptions, option, options_of

APPLICATION = "application"
"""Kind of a job that runs a packaged application over a batch."""
KERNEL = "kernel"
"""Kind of a job that runs a kernel over an ND-range."""


class WaitCause(str, enum.Enum):
    """What a job was waiting for while it had no slot."""

    DEPENDENCY = "dependency"
    """Others were to succeed first."""
    SLOT = "slot"
    """The policy had not given it one."""
    MEMORY = "memory"
    """The board's arena had no room for all its buffers."""
    PREEMPTED = "preempted"
    """Its slots were taken, and it has not been given one again."""
    MAINTENANCE = "maintenance"
    """Its slots are closed by calendar, or close before it could end."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a tenant asks for.

    Attributes:
        application: Name of the application; "" for a job of another kind.
        batch: Number of items, from 1 to the application's `max_batch`.
        inputs: Input buffer's name to sha256 of its blobs: one blob an item, or one blob with all items end to end.
        constants: Constant buffer's name to sha256 of its blob; those the package ships may be left out.
        priority: One of `eddy.core.jobs.PRIORITIES`.
        deadline_s: Board seconds after arrival by which it should end, or None.
        idempotency_key: The same key with the same request names the same job; "" for none.
        time_limit_s: For a kernel job: board seconds one slice may take; None for what the hypervisor allows at most.
        kind: Name of the kind of the job: `APPLICATION`, `KERNEL` or another one.
        body: What a job is asked to do that is no application, as its kind reads it; of a kernel: source, ND-range and
            arguments as `eddy.gpu.launches.request.KernelRequest.to_json` has them.
        asked: What holds for jobs of every kind.
    """

    tenant: str
    application: str
    batch: int = 1
    inputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    priority: int = option(
        int,
        PRIORITIES[0],
        "Of your own jobs, higher comes first.",
        choices=PRIORITIES,
        flag="--priority -p",
        help="higher comes first.",
    )
    deadline_s: float | None = option(
        float,
        None,
        "Board seconds after arrival by which it should end; null for none.",
        bounds={"gt": 0, "le": MAX_SECONDS},
        flag="--deadline",
        help="Board seconds after arrival.",
        for_boards=False,
    )
    idempotency_key: str = ""
    time_limit_s: float | None = option(
        float,
        None,
        "Board seconds a slice of a kernel may take; null for what the server allows.",
        bounds={"gt": 0, "le": MAX_SECONDS},
        flag="--time-limit",
        help="Board seconds a slice may take.",
        only=KERNEL,
    )
    kind: str = APPLICATION
    body: Mapping[str, Any] | None = None
    asked: SubmissionOptions = NOTHING


REQUESTED = options_of(JobRequest)
"""Options that become part of how a job runs: its record has what they made of it."""
OPTIONS: Mapping[str, Option] = {**REQUESTED, **ECHOED}
"""Every plain option of a submission, by the name it has everywhere."""


@dataclass(frozen=True, slots=True)
class KernelOutput:
    """An array a kernel may write.

    Attributes:
        argument: Its place among the arguments, from 0.
        dtype: numpy's name of an element, byte order included.
    """

    name: str
    argument: int
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """What a kernel job is, and what its cores counted so far.

    Attributes:
        module: The cluster it was compiled for and runs on.
        groups: Work-groups of its ND-range.
        slice_groups: Work-groups of a slice, which is an item of the job; the last slice may have fewer.
        outputs: The arrays it may write.
        cores: Of each core of the cluster, the sum over the slices that ended.
        log_bytes: Bytes of text it printed, known once it has ended.
        core_seconds: Time its slices had cores, summed over cores; 0 for a kernel on whole clusters.
        paid: Those core-seconds at the prices of their clusters when they were had; all cores cost 1 a second together.
        shape: How its ND-range fills lanes; None in records of older versions.
    """

    name: str
    module: str
    groups: int
    slice_groups: int
    outputs: tuple[KernelOutput, ...] = ()
    cores: tuple[CoreCounters, ...] = ()
    log_bytes: int = 0
    core_seconds: float = 0.0
    paid: float = 0.0
    shape: LaunchShape | None = None

    @property
    def slices(self) -> int:
        """Number of slices of its ND-range."""
        return -(-self.groups // self.slice_groups)


@dataclass(frozen=True, slots=True)
class JobRecord:
    """What happened to a job so far, and why.

    Attributes:
        id: Grows with every submission on a hypervisor; outside it is called otherwise (`eddy.core.numbering`).
        application: Name of the application; "kernel:" and the kernel's name for a kernel job.
        batch: Number of items; slices of the ND-range for a kernel job.
        priority: One of `eddy.core.jobs.PRIORITIES`.
        state: Where it is in its life.
        submitted_unix_s: Wall time of acceptance.
        arrival_s: Board time of acceptance.
        deadline_s: Board time by which it should end, or None.
        started_s: Board time at which a slot was first given to it, or None.
        ended_s: Board time at which it reached a final state, or None.
        waiting_s: Time without a slot, by `WaitCause` value; up to `ended_s`, or the last change of state.
        reconfiguring_s: Time in which a slot was loaded for it and none of its items ran.
        running_s: Time in which it held a loaded slot (draining included).
        reconfigurations: Loads made for it.
        reuses: Slots it got without a load, because the module was resident.
        preemptions: Times a slot was taken from it.
        items_done: Items of the batch whose results are committed.
        cause: Why it failed: a `eddy.board.port.port.Cause` value, or `image-refused`, `memory`; "" where it did not.
        detail: For people: which task, item and slot, and what the board said.
        failed_task: Task that failed, or None.
        failed_item: Item that failed, or None.
        kernel: For a kernel job, what it is and counted; else None.
        kind: `APPLICATION`, `KERNEL`, or the name of another kind.
        computed: Whether the board computes what it asks for; else it only takes its time, and outputs are zeros.
        collected_unix_s: When its outputs were removed to make room; None where they were not.
        asked: What was asked for beside what it computes.
        retried: Times it was begun again after it had failed.
        cancel_asked_unix_s: When its end was first asked for, or None.
        ended_unix_s: Wall time of its end, or None.
        held_by: Who keeps its outputs from being removed: `tenant` or `operator`; "" for nobody.
        form: The fused tasks it is run with, joined by "+"; "" for its application's tasks as they are. Its tasks are
            numbered in that form.
        unchecked: Modules it was given whose build has no check on record (`eddy module check`), by name.
    """

    id: int
    tenant: str
    application: str
    batch: int
    priority: int
    state: JobState
    submitted_unix_s: float
    arrival_s: float
    deadline_s: float | None = None
    started_s: float | None = None
    ended_s: float | None = None
    waiting_s: Mapping[str, float] = field(default_factory=dict)
    reconfiguring_s: float = 0.0
    running_s: float = 0.0
    reconfigurations: int = 0
    reuses: int = 0
    preemptions: int = 0
    items_done: int = 0
    cause: str = ""
    detail: str = ""
    failed_task: int | None = None
    failed_item: int | None = None
    kernel: KernelRecord | None = None
    kind: str = APPLICATION
    computed: bool = True
    collected_unix_s: float | None = None
    asked: SubmissionOptions = NOTHING
    retried: int = 0
    cancel_asked_unix_s: float | None = None
    ended_unix_s: float | None = None
    held_by: str = ""
    form: str = ""
    unchecked: tuple[str, ...] = ()

    @property
    def response_s(self) -> float | None:
        """Time from arrival to end, or None while it has not ended ([004] section 2.2.1)."""
        return None if self.ended_s is None else self.ended_s - self.arrival_s

    def failed(self, at_s: float, cause: str, detail: str) -> JobRecord:
        """The record of a job that failed where it was, at a board time; along the transition table.

        Raises:
            ValueError: The job had ended.
        """
        if JobState.FAILED not in TRANSITIONS[self.state]:
            raise ValueError(f"a job that has {self.state.value} cannot fail")
        return dataclasses.replace(self, state=JobState.FAILED, ended_s=at_s, cause=cause, detail=detail)

    @property
    def waited_s(self) -> float:
        """Waiting time over all causes."""
        return sum(self.waiting_s.values())


class JobEventKind(str, enum.Enum):
    """Kinds of entries of the event log."""

    SUBMITTED = "submitted"
    STATE = "state"
    """The job moved along the transition table; `state` says where to."""
    WAIT = "wait"
    """What it waits for changed; `detail` is a `WaitCause` value."""
    CONFIGURE = "configure"
    """A slot is given to a task; its load begins, unless `detail` is ``resident``."""
    CONFIGURED = "configured"
    CONFIGURATION_FAILED = "configuration_failed"
    LAUNCH = "launch"
    ITEM_DONE = "item_done"
    ITEM_FAILED = "item_failed"
    RESULT = "result"
    """All tasks are done with an item and its outputs are committed."""
    PREEMPT = "preempt"
    """The slot was taken at a batch boundary; `detail` is an `eddy.core.slots.PreemptReason` value."""
    RELEASE = "release"
    """The slot was given back."""
    DROPPED = "dropped"
    """A decision of the policy no longer fitted the world; `detail` says why."""
    RETRY = "retry"
    """It failed and begins again; `detail` has the cause."""
    RECOVERED = "recovered"
    """A restarted hypervisor, or board, took the job up again."""
    DAMAGED = "damaged"
    """Stands in the place of an entry that cannot be read any more; nothing is written as this."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One entry of the event log; enough of them draw a timeline.

    Attributes:
        seq: Grows over all jobs of a store; `Last-Event-ID` carries what it is told as. 0 before it is stored.
        at_s: Board time.
        state: The state it moved to, for `STATE`; else None.
        slot: Where, or None.
        task: Task id, or None.
        item: Item of the batch, from 0, or None.
        started_s: When the load or the item that ended here began, else None.
        detail: For people and filters; see `JobEventKind`.
    """

    seq: int
    job: int
    tenant: str
    at_s: float
    what: JobEventKind
    state: JobState | None = None
    slot: int | None = None
    task: int | None = None
    item: int | None = None
    started_s: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """What a slot does now, for people.

    Attributes:
        slot: Index.
        pool: `eddy.core.slots.Pool` value.
        region: Its name for `pr_download`.
        module: What is resident or being loaded, or "".
        tenant: Whom it serves, or served last, or "".
        job: Job that holds it, or None.
        task: Task id of that job, or None.
        item: Item that runs, or None.
        phase: ``empty``, ``loading``, ``idle``, ``running``, ``waiting`` (held, next item not ready) or ``faulted``.
        since_s: Board time since which it is so.
        drained: Why nothing new is placed in it; "" where it is.
        lease: The lease that holds it for its tenant; "" for none.
    """

    slot: int
    pool: str
    region: str
    module: str = ""
    tenant: str = ""
    job: int | None = None
    task: int | None = None
    item: int | None = None
    phase: str = "empty"
    since_s: float = 0.0
    drained: str = ""
    lease: str = ""
