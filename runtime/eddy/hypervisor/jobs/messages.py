# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The inputs and commands of the state machine: plain data, so that a run can be recorded and replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.board.port.port import Cause
from eddy.core.counters import CoreCounters
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent
from eddy.core.slots import Pool
from eddy.hypervisor.jobs.job_spec import CorePartition as CorePartition
from eddy.hypervisor.jobs.job_spec import JobSpec as JobSpec
from eddy.hypervisor.jobs.job_spec import KernelVariant as KernelVariant
from eddy.hypervisor.jobs.job_spec import OutputCollection as OutputCollection
from eddy.hypervisor.jobs.job_spec import item_name as item_name
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy.policy.price.view import PricePolicy

# Inputs ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arrive:
    """A job was accepted; one that waited for others is ready since `ready_s`."""

    job: JobSpec
    ready_s: float | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """A job's end was asked for, at that wall time."""

    job: int
    asked_unix_s: float | None = None


@dataclass(frozen=True, slots=True)
class Allocated:
    """All of a job's buffers are there and filled."""

    job: int


@dataclass(frozen=True, slots=True)
class NoMemory:
    """A job's buffers do not fit now; none of them was kept."""

    job: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class JobFault:
    """Something that concerns one job alone went wrong; it cannot go on. `item` is the item it went wrong with, and
    `ends` how it ends: as cancelled where it was not needed."""

    job: int
    cause: str
    detail: str = ""
    item: int | None = None
    ends: JobState = JobState.FAILED


@dataclass(frozen=True, slots=True)
class Collected:
    """The outputs of an item are on disk, and are named together with what this step changes.

    `at_s` is when they were read: what the disk took since then is nobody's time.
    """

    job: int
    item: int
    at_s: float


@dataclass(frozen=True, slots=True)
class Configured:
    """A load ended well."""

    slot: int
    at_s: float
    started_s: float


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """A load ended badly (`refused`: the slot was not touched, and this image will never be taken)."""

    slot: int
    at_s: float
    cause: str
    detail: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class ItemEnded:
    """An item ended; with `Cause.NONE`, well. `cores` is what the cores of a GPU cluster counted."""

    slot: int
    at_s: float
    started_s: float
    cause: Cause = Cause.NONE
    detail: str = ""
    cores: tuple[CoreCounters, ...] = ()


@dataclass(frozen=True, slots=True)
class SliceEnded:
    """A slice of a kernel ended on its core; with `Cause.NONE`, well. `counters` is what the core counted. One that
    `bounced` did not begin: the slot had closed meanwhile."""

    slot: int
    job: int
    core: int
    at_s: float
    started_s: float
    cause: Cause = Cause.NONE
    detail: str = ""
    counters: CoreCounters | None = None
    bounced: bool = False


@dataclass(frozen=True, slots=True)
class LaunchStreamReport:
    """A session has launches one after the other, or none any more: between two of them its tenant still has work."""

    job: int
    on: bool


@dataclass(frozen=True, slots=True)
class Wake:
    """Nothing happened but the time the policy asked for has come."""


@dataclass(frozen=True, slots=True)
class Drain:
    """A slot is to be given to nobody any more; `because` is shown."""

    slot: int
    because: str


@dataclass(frozen=True, slots=True)
class Undrain:
    """A slot is to be given to jobs again."""

    slot: int


@dataclass(frozen=True, slots=True)
class LeaseSlot:
    """A slot is withheld from jobs for a lease of a tenant: what runs there ends at its next boundary."""

    slot: int
    lease: str
    tenant: str


@dataclass(frozen=True, slots=True)
class UnleaseSlot:
    """A slot that a lease held is given to jobs again; what its holder `used` was closed, and is not trusted."""

    slot: int
    used: bool = True


@dataclass(frozen=True, slots=True)
class LoadLeased:
    """A slot that a lease holds, and nothing runs in, is to be loaded with a module, before any job's load once the
    configuration port is free; `Configured` or `LoadFailed` follows. `image` names one of the holder's own, which the
    board was given; "" for the board's image of the module."""

    slot: int
    module: str
    image: str = ""


@dataclass(frozen=True, slots=True)
class CloseSoon:
    """Slots are closed by calendar: which ones, in how many board seconds, and by which maintenance window. Those that
    are not named stay open."""

    closing: Mapping[int, tuple[float, str]]


@dataclass(frozen=True, slots=True)
class AdmitModules:
    """Jobs may be given a module from now on: its check is on record since the machine was made.

    Attributes:
        images: By slot.
        scrubs: Whether it may serve another tenant without a load, once the board has scrubbed it.
    """

    module: str
    images: Mapping[int, str]
    scrubs: bool


@dataclass(frozen=True, slots=True)
class Overdue:
    """A job has waited too long: it goes before the others of its tenant."""

    job: int


@dataclass(frozen=True, slots=True)
class Switch:
    """Another policy decides about a pool's slots from now on."""

    pool: Pool
    policy: DispatchPolicy


@dataclass(frozen=True, slots=True)
class SwitchPrice:
    """Another policy shares the cores of clusters from the next epoch on, which is due at once."""

    policy: PricePolicy


@dataclass(frozen=True, slots=True)
class Resume:
    """First input after a recovery: jobs that were ending continue to end."""


Input = (
    Resume
    | Arrive
    | Cancel
    | Allocated
    | NoMemory
    | JobFault
    | Collected
    | Configured
    | LoadFailed
    | ItemEnded
    | SliceEnded
    | Drain
    | Undrain
    | CloseSoon
    | LeaseSlot
    | UnleaseSlot
    | LoadLeased
    | AdmitModules
    | Overdue
    | Switch
    | SwitchPrice
    | LaunchStreamReport
    | Wake
)


# Commands -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Collect:
    """Read the outputs of an item that every task is done with; `Collected` or `JobFault` follows."""

    job: int
    item: int


@dataclass(frozen=True, slots=True)
class StopItem:
    """Stop what a slot runs, or the item of that name on the board; an `ItemEnded` or `SliceEnded` follows."""

    slot: int
    item: str = ""


@dataclass(frozen=True, slots=True)
class LaunchItem:
    """Start an item of a task on the slot that holds it; an `ItemEnded` follows."""

    slot: int
    job: int
    task: int
    item: int
    form: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class LaunchSlice(LaunchItem):
    """Start work-groups of a kernel on one core; a `SliceEnded` follows. `item` counts the slices of the job, `name`
    is what the board calls it, `area` which part of the region's stacks it has, and `account` whom the board counts it
    for; "" for nobody."""

    name: str
    module: str
    core: int
    first: int
    count: int
    area: int
    account: str = ""


@dataclass(frozen=True, slots=True)
class Free:
    """Give a job's buffers back."""

    job: int


@dataclass(frozen=True, slots=True)
class Allocate:
    """Reserve and fill a job's buffers, all or none; `Allocated` or `NoMemory` follows."""

    job: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """Bring an image into memory."""

    image: str


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """Bring images into memory while the storage has nothing else to do, in this order."""

    images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Load:
    """Load an image; `Configured` or `LoadFailed` follows."""

    slot: int
    image: str


@dataclass(frozen=True, slots=True)
class ScrubSlot:
    """Leave nothing of another tenant in the module a slot holds; `Configured` or `LoadFailed` follows."""

    slot: int


Command = Collect | StopItem | LaunchItem | ScrubSlot | Free | Allocate | Fetch | ReadAhead | Load


@dataclass(slots=True)
class StepResult:
    """What one step did.

    Attributes:
        commands: To be carried out in this order, after what changed is durable.
        log: Entries of the event log, in time order.
        jobs: Ids of jobs whose record changed.
        slots: Indices of slots that changed.
        ended: Ids of jobs that reached a final state.
        drained: By slot that was drained or undrained: why it is drained, "" where it is not any more.
        load_failures: By slot of a lease whose load failed: why.
        stored: Job and item whose outputs count from now on.
    """

    stored: set[tuple[int, int]] = field(default_factory=set)
    commands: list[Command] = field(default_factory=list)
    log: list[JobEvent] = field(default_factory=list)
    jobs: set[int] = field(default_factory=set)
    slots: set[int] = field(default_factory=set)
    ended: list[int] = field(default_factory=list)
    drained: dict[int, str] = field(default_factory=dict)
    load_failures: dict[int, str] = field(default_factory=dict)

    @property
    def only_allocates(self) -> bool:
        """Whether buffers are all that is asked of the board: another step follows at once."""
        return bool(self.commands) and all(isinstance(command, Allocate) for command in self.commands)

    def then(self, later: StepResult) -> StepResult:
        """What this step and the one after it did."""
        return StepResult(
            self.stored | later.stored,
            [*self.commands, *later.commands],
            [*self.log, *later.log],
            self.jobs | later.jobs,
            self.slots | later.slots,
            [*self.ended, *later.ended],
            {**self.drained, **later.drained},
            {**self.load_failures, **later.load_failures},
        )
