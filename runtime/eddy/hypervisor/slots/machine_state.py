# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The state of the state machine: jobs, slots, memory, configuration port, and the event log.

`InputHandler` and `PolicyDriver` change it: by what the board reports, and by what the policies decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind
from eddy.core.slots import Pool, PreemptReason
from eddy.hypervisor.jobs.application_graph import Graph
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import Allocate, Collect, Free, JobSpec, ReadAhead, SliceEnded, StepResult, StopItem
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.slots.config_port import ConfigurationPort
from eddy.hypervisor.slots.memory import MemoryQueue
from eddy.hypervisor.slots.pools import PoolState
from eddy.hypervisor.slots.residency import LIVE, Residency
from eddy.hypervisor.slots.resident_images import PrefetchPlanner, ResidentImages
from eddy.policy.price.view import PricePolicy


class Cores(Protocol):
    """What the state asks of clusters that are shared core by core; see `clusters.SharedClusters`."""

    def add_kernel(self, job: Job) -> None:
        """A kernel wants cores."""

    def remove_job(self, job: Job) -> None:
        """A job is to end."""

    def add_cluster(self, slot: MachineSlot) -> None:
        """A cluster is there."""

    def load_failed(self, slot: MachineSlot, module: str, refused: bool) -> None:
        """A load failed."""

    def charge_slice(self, message: SliceEnded) -> Job | None:
        """A slice ended; the job whose last one it was."""

    def switch(self, policy: PricePolicy) -> None:
        """Another policy shares the cores, from now on."""


class MachineState:
    """Slots, jobs and their memory, kept consistent; every change is noted in the outcome of the step.

    Args:
        pools: By name.
        scrubbed: Modules that may serve another tenant without a load, once the board has scrubbed them.
        residency: What becomes of modules that stay in slots.
        near: The account of the images in the board's memory.
        unchecked: Modules whose build has no check on record; a job that is given one says so.
        most_memory: Bytes that the jobs of a tenant hold together at most; None for any number.
        arena_bytes: Of the board's memory; 0 where that is not known.

    Attributes:
        slots: By index.
        jobs: Those that have not ended, by id.
        memory: Who has board memory, and who waits for it.
        images: Which images are read ahead of their loads.
        out: What the step under way did so far.
        now_s: Board time of the step under way.
    """

    def __init__(
        self,
        slots: Iterable[MachineSlot],
        pools: Mapping[Pool, PoolState],
        scrubbed: Collection[str] = (),
        residency: Residency = LIVE,
        near: ResidentImages | None = None,
        unchecked: Collection[str] = (),
        most_memory: Callable[[], int] | None = None,
        arena_bytes: int = 0,
    ) -> None:
        self.slots = {slot.index: slot for slot in slots}
        self.pools, self.scrubbed, self.residency = pools, set(scrubbed), residency
        self.images = PrefetchPlanner(near or ResidentImages(), pools)
        self.jobs: dict[int, Job] = {}
        self.port, self.memory = ConfigurationPort(), MemoryQueue(most_memory)
        self.arena_bytes = arena_bytes
        self.out = StepResult()
        self.now_s = 0.0
        self.begun = False
        """Whether a step was made."""
        self._unchecked = frozenset(unchecked)
        self.clusters: Cores | None = None
        """What shares clusters core by core; None where kernels take whole slots."""
        self.streaming: dict[int, str] = {}
        """Tenants of sessions whose launches follow one another, by session: they have work between two, too."""
        self._holding = 0
        """Jobs that only hold memory."""
        self._gone: dict[int, Job] = {}
        """Ended in the last step."""
        self._graphs: dict[str, tuple[object, Graph]] = {}

    def begin(self, now_s: float) -> StepResult:
        """A step begins; answers where what it does will be found."""
        self.out, self.now_s = StepResult(), now_s
        self._gone.clear()
        return self.out

    def derive_states(self) -> None:
        """Move every job that changed in this step to the state that follows from what it holds."""
        for number in sorted(self.out.jobs):
            job = self.jobs.get(number)
            if job is not None:
                self.settle(job, self.now_s)

    def job(self, number: int) -> Job:
        """A job that has not ended, or ended in the last step.

        Raises:
            KeyError: There is none of that number.
        """
        return self.jobs[number] if number in self.jobs else self._gone[number]

    def note_module(self, job: Job, module: str) -> None:
        """A job is given a module: that is on its record where no check of the module is."""
        if module in self._unchecked and module not in job.unchecked:
            job.unchecked = tuple(sorted((*job.unchecked, module)))
            self.mark_changed(job)

    def graph(self, spec: JobSpec) -> Graph:
        """The edges of a job's application, shared by all its jobs."""
        known = self._graphs.get(spec.application.label)
        if known is None or known[0] is not spec.application:
            known = self._graphs[spec.application.label] = (spec.application, Graph(spec.application))
        return known[1]

    def adopt_job(self, job: Job) -> None:
        """Recover a job as it was."""
        self.jobs[job.spec.id] = job
        self._holding += job.spec.only_holds
        self.memory.adopt(job)
        self.invalidate_view(job)
        self._wants_cores(job)

    def adopt_slot(self, known: MachineSlot) -> None:
        """Recover a slot as it was; its job, if any, was recovered before."""
        slot = self.slots[known.index] = known
        if slot.phase is Phase.LOADING and not slot.scrubbing:
            self.port.loading = slot
        job = self.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            if self.clusters is not None and slot.phase is Phase.FREE:
                self.clusters.add_cluster(slot)
            return
        job.slot_of[slot.task] = slot.index
        job.views.touch(slot.task)
        self.invalidate_view(job)
        if slot.phase is Phase.LOADING:
            job.loading += 1
        elif slot.phase is Phase.RUNNING:
            job.running += 1
        else:
            job.held += 1

    def add(self, job: Job) -> None:
        """Take in a job that has arrived."""
        self.jobs[job.spec.id] = job
        self._holding += job.spec.only_holds
        self.invalidate_view(job)
        self.mark_changed(job)
        self._wants_cores(job)

    @property
    def has_work(self) -> bool:
        """Whether there is a job other than sessions, which run nothing by themselves."""
        return len(self.jobs) > self._holding

    def _wants_cores(self, job: Job) -> None:
        if self.clusters is not None and job.spec.spread is not None and job.ending is None:
            self.clusters.add_kernel(job)

    def invalidate_view(self, job: Job) -> None:
        """What policies are shown of a job is not true any more."""
        self.pools[job.spec.pool].invalidate_job(job.spec.id)

    def end(self, job: Job, state: JobState, at_s: float, cause: str = "", detail: str = "") -> None:
        """Begin a job's end: stop what runs, give back what does not; it is over when it holds no slot.

        A job that is tried again after such a failure then begins again instead.
        """
        job.ending, job.cause, job.detail = state, cause, detail
        job.will_retry = state is JobState.FAILED and job.can_retry(cause)
        self.invalidate_view(job)
        self.mark_changed(job)
        if self.clusters is not None and job.spec.spread is not None:
            self.clusters.remove_job(job)
        for slot in self._slots_of(job):
            if slot.phase is Phase.RUNNING:
                slot.stopping = True
                self.out.commands.append(StopItem(slot.index))
                self.out.slots.add(slot.index)
            elif slot.phase is Phase.HELD:
                self.release(slot, job, at_s)
        self.settle(job, at_s)

    def _slots_of(self, job: Job) -> list[MachineSlot]:
        return [self.slots[index] for index in job.slot_of if index is not None] if job.slots else []

    def _take_back(self, job: Job) -> None:
        """Of what is asked for in this step, drop what a job that is over has no use for: memory, and the outputs of an
        item that ended in the step in which the job was cancelled."""
        self.out.commands[:] = [
            command
            for command in self.out.commands
            if not (isinstance(command, (Allocate, Collect)) and command.job == job.spec.id)
        ]

    def settle(self, job: Job, at_s: float) -> None:
        """Move a job to the state that follows from what it holds, and let go of it where that is final."""
        if job.will_retry and not job.slots:
            self._retry(job, at_s)
        before = job.state, job.times.bucket
        for state in job.advance(job.derive(), at_s):
            self.note(job, at_s, JobEventKind.STATE, state=state, detail=job.cause if state.is_final else "")
        if before != (job.state, job.times.bucket):
            self.mark_changed(job)
            if not job.slots and not job.state.is_final:
                self.note(job, at_s, JobEventKind.WAIT, detail=job.times.bucket)
        if job.state.is_final and job.spec.id in self.jobs:
            del self.jobs[job.spec.id]
            self._holding -= job.spec.only_holds
            self.streaming.pop(job.spec.id, None)
            self.out.ended.append(job.spec.id)
            self._gone[job.spec.id] = job
            self.invalidate_view(job)
            self._take_back(job)
            if self.memory.release_job(job):
                self.out.commands.append(Free(job.spec.id))
            self.request_next_memory()

    def _retry(self, job: Job, at_s: float) -> None:
        most = job.spec.asked.retries.max
        self.note(job, at_s, JobEventKind.RETRY, detail=f"{job.cause} ({job.retried + 1} of {most})")
        if self.memory.release_job(job):
            self.out.commands.append(Free(job.spec.id))
        job.rewind()
        self.invalidate_view(job)
        self.mark_changed(job)
        self._wants_cores(job)
        self.request_next_memory()

    def request_memory(self, job: Job) -> None:
        """Ask for a job's buffers, unless older jobs stand in the queue."""
        if self.memory.request(job):
            self.out.commands.append(Allocate(job.spec.id))
        else:
            self.invalidate_view(job)
            self.mark_changed(job)

    def request_next_memory(self) -> None:
        """Let the head of the queue for memory ask; the others stay behind it."""
        number = self.memory.next()
        if number is not None:
            self.out.commands.append(Allocate(number))

    def preempt(self, slot: MachineSlot, job: Job, at_s: float, reason: PreemptReason) -> None:
        """Take a slot in which nothing runs from a job that would go on in it."""
        self.log(job, slot, at_s, JobEventKind.PREEMPT, detail=reason.value)
        job.preemptions += 1
        job.preempted = True
        self._free(slot, job, at_s)

    def release(self, slot: MachineSlot, job: Job, at_s: float) -> None:
        """Give back a slot in which nothing runs."""
        self.log(job, slot, at_s, JobEventKind.RELEASE)
        self._free(slot, job, at_s)

    def _free(self, slot: MachineSlot, job: Job, at_s: float) -> None:
        if slot.phase is Phase.LOADING:
            job.loading -= 1
        else:
            job.held -= 1
        if slot.task is not None:
            job.slot_of[slot.task] = None
            job.views.touch(slot.task)
            self.invalidate_view(job)
        slot.release(at_s)
        self.residency.given_back(slot)

    def read_ahead(self, images: tuple[str, ...]) -> None:
        """Have images read into memory ahead of their loads."""
        if images:
            self.out.commands.append(ReadAhead(images))

    def mark_changed(self, job: Job) -> None:
        """Note that a job's record changed."""
        self.out.jobs.add(job.spec.id)

    def log(
        self,
        job: Job,
        slot: MachineSlot,
        at_s: float,
        what: JobEventKind,
        item: int | None = None,
        started_s: float | None = None,
        detail: str = "",
    ) -> None:
        """Note what happened in a slot, and that both changed; of what has no record, nothing is written down."""
        if not job.spec.kept:
            self.mark_changed(job)
            return
        self.out.slots.add(slot.index)
        self.out.jobs.add(job.spec.id)
        self.out.log.append(
            JobEvent(0, job.spec.id, job.spec.tenant, at_s, what, None, slot.index, slot.task, item, started_s, detail)
        )

    def note(
        self,
        job: Job,
        at_s: float,
        what: JobEventKind,
        state: JobState | None = None,
        item: int | None = None,
        detail: str = "",
    ) -> None:
        """Note what happened to a job that has a record."""
        if not job.spec.kept:
            return
        event = JobEvent(0, job.spec.id, job.spec.tenant, at_s, what, state, None, None, item, None, detail)
        self.out.log.append(event)

    @staticmethod
    def task_name(job: Job, task: int) -> str:
        """What people call a task."""
        return job.spec.application.tasks[task].name
