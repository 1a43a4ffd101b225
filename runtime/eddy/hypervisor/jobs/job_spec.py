# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A job as the state machine knows it, and what it takes of slots and memory."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from eddy.board.port.pages import PAGE
from eddy.core.applications import Application, BufferRole, StreamedEdge
from eddy.core.profiles import LaunchShape
from eddy.core.records import APPLICATION, JobRecord, KernelRecord
from eddy.core.slots import Pool
from eddy.core.submission_options import NOTHING, SubmissionOptions


def item_name(job: int, task: int, item: int) -> str:
    """What a launch is called on the board."""
    return f"{job}.{task}.{item}"


def expected_slot_s(application: Application, batch: int) -> float:
    """Slot-seconds a batch takes by its tasks' estimates, without loads."""
    return batch * sum(task.estimate_s for task in application.tasks)


def arena_bytes(application: Application, batch: int) -> int:
    """What the buffers of a job take, in whole pages each; as `eddy.hypervisor.jobs.buffers.needed` has them, without
    making them."""
    pages = 0
    for spec in application.buffers:
        of_one = -(-spec.bytes // PAGE)
        pages += of_one if spec.role is BufferRole.CONSTANT else of_one * batch
    return pages * PAGE


class OutputCollection(str, enum.Enum):
    """Which items of a job leave outputs that are read from the board and stored."""

    NONE = "none"
    EVERY_ITEM = "every item"
    LAST_ITEM = "last item"


@dataclass(frozen=True, slots=True)
class KernelVariant:
    """A kernel on one kind of cluster, to be run in slices on one core each.

    Attributes:
        application: The kernel as one task on that module, with its region as one buffer.
        groups: Work-groups of its ND-range there.
        wave: Work-groups a core runs side by side: the least a slice has.
        soft: Whether it computes with floating point that the cluster has no unit for.
        clusters: Clusters of that kind whose cores may run slices of it at the same time.
        shape: How its ND-range fills lanes there; None where nobody asks.
    """

    application: Application
    groups: int
    wave: int
    soft: bool = False
    clusters: int = 1
    shape: LaunchShape | None = None


@dataclass(frozen=True, slots=True)
class CorePartition:
    """A kernel that may be spread over cores.

    Attributes:
        kernel: Names the program and its kernel: what was learned of one run holds for the next.
        variants: By module.
    """

    kernel: str
    variants: Mapping[str, KernelVariant]


StreamsOfForms = tuple[tuple[str, tuple[StreamedEdge, ...]], ...]
"""Forms of an application, and edges of each that may be streamed."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job as the machine needs it.

    Attributes:
        id: Unique, lower is older.
        batch: Number of items.
        priority: One of `eddy.core.jobs.PRIORITIES`.
        arrival_s: Board time of acceptance.
        deadline_s: Board time by which it should end, or None.
        needs_memory: Whether buffers must be allocated before it may run.
        kernel: For a kernel job, what its record says of it.
        collects: Which items leave outputs; such an item counts as done when they are stored.
        in_place: Its items work on one memory in place: they count only as long as that memory is there.
        pool: The pool whose slots it runs in.
        submitted_unix_s: Wall time of acceptance.
        kind: Name of its kind, for its record.
        spread: For a kernel whose slices are granted cores; None for what takes whole slots.
        computed: Whether the board computes what it asks for, for its record.
        asked: What was asked for beside what it computes.
        kept: Whether it has a record. A session and its launches have none: nothing of them is written to the disk, and
            a launch that has begun is never begun again, since its buffers are as it left them.
        streams: Edges that may go from slot to slot, where the board can.
    """

    id: int
    tenant: str
    application: Application
    batch: int = 1
    priority: int = 1
    arrival_s: float = 0.0
    deadline_s: float | None = None
    needs_memory: bool = False
    kernel: KernelRecord | None = None
    collects: OutputCollection = OutputCollection.NONE
    in_place: bool = False
    pool: Pool = Pool.PIPELINE
    submitted_unix_s: float = 0.0
    kind: str = APPLICATION
    spread: CorePartition | None = None
    computed: bool = True
    asked: SubmissionOptions = NOTHING
    kept: bool = True
    streams: StreamsOfForms = ()

    @classmethod
    def of(
        cls,
        record: JobRecord,
        application: Application,
        *,
        pool: Pool = Pool.PIPELINE,
        collects: OutputCollection = OutputCollection.NONE,
        in_place: bool = False,
        spread: CorePartition | None = None,
        streams: StreamsOfForms = (),
    ) -> JobSpec:
        """A job as its record has it."""
        return cls(
            id=record.id,
            tenant=record.tenant,
            application=application,
            batch=record.batch,
            priority=record.priority,
            arrival_s=record.arrival_s,
            deadline_s=record.deadline_s,
            needs_memory=bool(application.buffers),
            kernel=record.kernel,
            collects=collects,
            in_place=in_place,
            pool=pool,
            submitted_unix_s=record.submitted_unix_s,
            kind=record.kind,
            spread=spread,
            computed=record.computed,
            asked=record.asked,
            streams=streams,
        )

    @property
    def only_holds(self) -> bool:
        """Whether it holds memory and runs nothing by itself: a session."""
        return not self.application.tasks

    @property
    def expected_slot_s(self) -> float:
        """Slot-seconds it is expected to use, as its submission had it; 0 where nothing is known."""
        return expected_slot_s(self.application, self.batch) if self.kind == APPLICATION else 0.0

    @property
    def streamed(self) -> tuple[StreamedEdge, ...]:
        """Edges of its form that may go from slot to slot."""
        return next((edges for form, edges in self.streams if form == self.application.form), ())

    def leaves_outputs(self, item: int) -> bool:
        """Whether an item leaves outputs that are to be stored."""
        last = item == self.batch - 1
        return self.collects is OutputCollection.EVERY_ITEM or (self.collects is OutputCollection.LAST_ITEM and last)
