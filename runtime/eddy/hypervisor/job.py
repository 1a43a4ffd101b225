"""One job inside the state machine: its progress, what it holds, and where its time goes."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from eddy.core.applications import Application
from eddy.core.counters import CoreCounters, added
from eddy.core.jobs import TRANSITIONS, JobState
from eddy.core.records import JobRecord, KernelRecord, WaitCause
from eddy.hypervisor.messages import JobSpec
from eddy.policy.dispatch.job_view import JobView, Tasks, TaskView

Fits = Mapping[str, Mapping[int, str]]
"""Module to slot to the image (sha256) for it."""


class BufferState(str, enum.Enum):
    """Where a job is with its buffers."""

    NONE = "none"
    ASKED = "asked"
    """An `Allocate` is out."""
    BLOCKED = "blocked"
    """It stands in the queue for memory."""
    HELD = "held"


class Graph:
    """An application's edges, both ways."""

    __slots__ = ("predecessors", "successors")

    def __init__(self, application: Application) -> None:
        before: list[list[int]] = [[] for _ in application.tasks]
        after: list[list[int]] = [[] for _ in application.tasks]
        for a, b in application.edges:
            before[b].append(a)
            after[a].append(b)
        self.predecessors = tuple(tuple(sorted(p)) for p in before)
        self.successors = tuple(tuple(sorted(s)) for s in after)


@lru_cache(maxsize=256)
def _path(start: JobState, end: JobState) -> tuple[JobState, ...]:
    """The shortest way along the transition table, without `start`; () where they are the same.

    Raises:
        ValueError: The table has no way.
    """
    ways: dict[JobState, tuple[JobState, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if here is end:
            return ways[here]
        for there in sorted(TRANSITIONS[here], key=lambda state: list(JobState).index(state)):
            if there not in ways and (not there.is_final or there is end):
                ways[there] = (*ways[here], there)
                queue.append(there)
    raise ValueError(f"no way from {start.value} to {end.value}")


class Job:
    """A job that has arrived and not ended.

    The counters `loading`, `held` and `running` say in how many slots of it a load is under way, nothing runs, an item
    runs. `done[t]` items of task `t` are finished, always the first ones.
    """

    def __init__(self, spec: JobSpec, graph: Graph) -> None:
        self.spec, self.graph = spec, graph
        self.shaped = False
        """Whether the form of its application was chosen."""
        count = len(spec.application.tasks)
        self.done = [0] * count
        self.slot_of: list[int | None] = [None] * count
        self.attempts = [0] * count
        self.left = [count] * spec.batch
        """Per item: tasks not done with it."""
        self.finished = 0
        """Items every task is done with."""
        self.committed = 0
        """Items that count as done: of the finished ones, those whose outputs are stored."""
        self.loading = self.held = self.running = 0
        self.memory = BufferState.NONE if spec.needs_memory else BufferState.HELD
        self.lacks_memory = False
        """It was refused memory and stands in the queue for it."""
        self.placed = not spec.needs_memory
        self.preempted = False
        self.ending: JobState | None = None
        self.state = JobState.QUEUED
        self.bucket: str = WaitCause.SLOT.value
        self.since_s = spec.arrival_s
        self.times: dict[str, float] = {}
        self.started_s: float | None = None
        self.ended_s: float | None = None
        self.again = False
        """Whether it begins again once it holds no slot any more, instead of ending."""
        self.retried = 0
        self.cancel_asked_unix_s: float | None = None
        self.reconfigurations = self.reuses = self.preemptions = 0
        self.cause = self.detail = ""
        self.failed_task: int | None = None
        self.failed_item: int | None = None
        self.cores: tuple[CoreCounters, ...] = ()
        """Of a kernel job: what its cores counted, over the slices that ended."""
        self.core_seconds = self.paid = 0.0
        """What its slices had of cores, and what that cost."""
        self.load_began_s = 0.0
        """Board time at which the last load that is booked for it began."""
        self.log_bytes = 0
        self.shown_s: float | None = None
        """Where it was hidden from the policies for a while: the board time from which its waiting counts."""
        self._task_views: list[TaskView | None] = []
        self._view: JobView | None = None

    def ready(self, at_s: float) -> None:
        """Book the time up to now as waiting for others; before anything else."""
        self.times[WaitCause.DEPENDENCY.value] = at_s - self.since_s
        self.since_s = at_s

    @property
    def arrival_s(self) -> float:
        """Since when it is ready: what it waited for others gives it no precedence."""
        return self.spec.arrival_s + self.times.get(WaitCause.DEPENDENCY.value, 0.0)

    @property
    def age(self) -> tuple[float, int]:
        """What jobs are ordered by: since when they are ready, then id."""
        return self.arrival_s, self.spec.id

    def take_form(self, form: Application, graph: Graph) -> None:
        """Run in another form of its application; before anything is done for it."""
        self.spec, self.graph = replace(self.spec, application=form), graph
        count = len(form.tasks)
        self.done, self.slot_of, self.attempts = [0] * count, [None] * count, [0] * count
        self.left = [count] * self.spec.batch
        self.touch_all()

    # State and time -----------------------------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        """How many slots it has."""
        return self.loading + self.held + self.running

    @property
    def collecting(self) -> bool:
        """Whether outputs of finished items are still to be stored."""
        return self.committed < self.finished

    def derive(self) -> JobState:
        """The state that follows from what it holds."""
        if self.ending is not None:
            return JobState.DRAINING if self.slots else self.ending
        if self.committed == self.spec.batch and not self.slots:
            return JobState.SUCCEEDED
        if self.running or self.collecting:
            return JobState.RUNNING
        if self.loading:
            return JobState.RECONFIGURING
        if self.held:
            return JobState.RUNNING
        if self.preempted:
            return JobState.PREEMPTED
        return JobState.PLACED if self.placed else JobState.QUEUED

    def advance(self, state: JobState, at_s: float) -> tuple[JobState, ...]:
        """Move to a state and book the time since the last move; answers every state passed, the last being `state`."""
        passed = _path(self.state, state)
        self.state = state
        self._book(at_s)
        if state.is_final:
            self.ended_s = max(at_s, self.since_s)
        return passed

    def _book(self, at_s: float) -> None:
        """Book the time since the last call where it belongs, and open the account for what follows."""
        bucket = self._account()
        elapsed = at_s - self.since_s
        if elapsed > 0:
            self.times[self.bucket] = self.times.get(self.bucket, 0.0) + elapsed
            self.since_s = at_s
        self.bucket = bucket

    def _account(self) -> str:
        if self.state in (JobState.RUNNING, JobState.DRAINING):
            return "running"
        if self.state is JobState.RECONFIGURING:
            return "reconfiguring"
        if self.lacks_memory:
            return WaitCause.MEMORY.value
        return WaitCause.PREEMPTED.value if self.state is JobState.PREEMPTED else WaitCause.SLOT.value

    def may_begin_again(self, cause: str) -> bool:
        """Whether it is tried again after a failure of that cause."""
        retries = self.spec.asked.retries
        return self.retried < retries.max and cause in retries.on

    def begin_again(self) -> None:
        """Go back to the last item every task is done with, or to the first where items work in place, without
        memory."""
        kept = 0 if self.spec.in_place or self.spec.spread is not None else self.finished
        self.again, self.ending, self.retried = False, None, self.retried + 1
        self.cause, self.detail, self.failed_task, self.failed_item = "", "", None, None
        self.finished, self.committed = kept, min(self.committed, kept)
        self.done, self.attempts = [kept] * len(self.done), [0] * len(self.done)
        self.left = [0 if item < kept else len(self.done) for item in range(self.spec.batch)]
        self.preempted = self.lacks_memory = False
        if self.spec.needs_memory:
            self.memory = BufferState.NONE
        if not kept:
            self.cores = ()
        self.touch_all()

    # Items --------------------------------------------------------------------------------------------------------

    def next_item(self, task: int, pipelined: bool) -> int | None:
        """The item `task` may start now, or None; items go in order, each after its predecessors' same item."""
        item, batch = self.done[task], self.spec.batch
        if item >= batch:
            return None
        needed = item + 1 if pipelined else batch
        for before in self.graph.predecessors[task]:
            if self.done[before] < needed:
                return None
        return item

    def finish_item(self, task: int) -> list[int]:
        """Count one more item of a task; answers the items every task is now done with."""
        item = self.done[task]
        self.done[task] = item + 1
        self.touch(task)
        self.left[item] -= 1
        before = self.finished
        self._count_finished()
        return list(range(before, self.finished))

    def _count_finished(self) -> None:
        while self.finished < self.spec.batch and self.left[self.finished] == 0:
            self.finished += 1

    def count(self, cores: tuple[CoreCounters, ...]) -> None:
        """Add what the cores of a cluster counted during one slice."""
        if cores:
            self.cores = added(self.cores, cores)

    def touch(self, task: int) -> None:
        """Forget the cached view of a task that changed."""
        if self._task_views:
            self._task_views[task] = None
        self._view = None

    def touch_all(self) -> None:
        """Forget every cached view."""
        self._task_views = []
        self._view = None

    # What others see ----------------------------------------------------------------------------------------------

    @property
    def hidden(self) -> bool:
        """Whether nothing could be decided about it: it ends, waits for memory, or has its outputs left."""
        return self.ending is not None or self.lacks_memory or self.finished == self.spec.batch

    def view(self, fits: Fits, every: int, fresh: Callable[[Job], Tasks]) -> JobView:
        """What a policy sees; made again only where something changed.

        Args:
            fits: Which image is for which slot.
            every: Number of slots of the pool.
            fresh: The tasks of a job nothing was done for; one value for all of an application.
        """
        if self._view is None:
            spec = self.spec
            self._view = JobView(
                id=spec.id,
                application=spec.application.label,
                tenant=spec.tenant,
                batch=spec.batch,
                priority=spec.priority,
                arrival_s=self.arrival_s,
                deadline_s=spec.deadline_s,
                goal_slots=spec.application.goal(spec.batch),
                tasks=self._tasks(fits, every) if self.slots or any(self.done) else fresh(self),
                shown_s=self.shown_s,
            )
        return self._view

    def _tasks(self, fits: Fits, every: int) -> Tasks:
        if not self._task_views:
            self._task_views = [None] * len(self.done)
        views = self._task_views
        for number, known in enumerate(views):
            if known is None:
                views[number] = self.task_view(number, fits, every)
        return Tasks(view for view in views if view is not None)

    def task_view(self, number: int, fits: Fits, every: int) -> TaskView:
        """What a policy sees of a task; see `view`."""
        task = self.spec.application.tasks[number]
        slots = fits.get(task.module, {})
        return TaskView(
            id=number,
            module=task.module,
            estimate_s=task.estimate_s,
            items_done=self.done[number],
            slot=self.slot_of[number],
            predecessors=self.graph.predecessors[number],
            slots=None if len(slots) == every else tuple(sorted(slots)),
        )

    def record(self) -> JobRecord:
        """What happened to it so far."""
        spec, times = self.spec, self.times
        return JobRecord(
            id=spec.id,
            tenant=spec.tenant,
            application=spec.application.name,
            batch=spec.batch,
            priority=spec.priority,
            state=self.state,
            submitted_unix_s=spec.submitted_unix_s,
            arrival_s=spec.arrival_s,
            deadline_s=spec.deadline_s,
            started_s=self.started_s,
            ended_s=self.ended_s,
            waiting_s={cause.value: times[cause.value] for cause in WaitCause if cause.value in times},
            reconfiguring_s=times.get("reconfiguring", 0.0),
            running_s=times.get("running", 0.0),
            reconfigurations=self.reconfigurations,
            reuses=self.reuses,
            preemptions=self.preemptions,
            items_done=self.committed,
            cause=self.cause,
            detail=self.detail,
            failed_task=self.failed_task,
            failed_item=self.failed_item,
            kernel=self._kernel(),
            kind=spec.kind,
            computed=spec.computed,
            asked=spec.asked,
            retried=self.retried,
            cancel_asked_unix_s=self.cancel_asked_unix_s,
            form=spec.application.form,
        )

    def _kernel(self) -> KernelRecord | None:
        kernel = self.spec.kernel
        return (
            None
            if kernel is None
            else replace(
                kernel, cores=self.cores, log_bytes=self.log_bytes, core_seconds=self.core_seconds, paid=self.paid
            )
        )

    # Persistence --------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """What `restore` needs beside the record; plain JSON."""
        return {
            "done": list(self.done),
            "attempts": list(self.attempts),
            "memory": self.memory is BufferState.HELD,
            "preempted": self.preempted,
            "ending": self.ending.value if self.ending else "",
            "bucket": self.bucket,
            "since_s": self.since_s,
        }

    @classmethod
    def restore(
        cls, spec: JobSpec, graph: Graph, record: JobRecord, snapshot: Mapping[str, Any], has_memory: bool
    ) -> Job:
        """A job as it was when its record and snapshot were written.

        Args:
            spec: What it is.
            graph: Its application's edges.
            record: What had happened.
            snapshot: As `snapshot` gave it; empty for a job that was only accepted.
            has_memory: Whether all its buffers are still there. If not, every task restarts after the last item
                whose results are committed, because what lies between tasks is gone; and a kernel restarts from
                its first slice on the arrays as they were submitted, because slices update them in place.
        """
        job = cls(spec, graph)
        job.shaped = bool(spec.application.form) or bool(snapshot)
        job.state, job.started_s = record.state, record.started_s
        job.times = {**record.waiting_s, "reconfiguring": record.reconfiguring_s, "running": record.running_s}
        job.reconfigurations, job.reuses, job.preemptions = record.reconfigurations, record.reuses, record.preemptions
        job.retried, job.cancel_asked_unix_s = record.retried, record.cancel_asked_unix_s
        job.cause, job.detail = record.cause, record.detail
        job.failed_task, job.failed_item = record.failed_task, record.failed_item
        if not snapshot:
            return job
        job.placed = job.placed or record.state is not JobState.QUEUED
        job.attempts = list(snapshot["attempts"])
        job.preempted = snapshot["preempted"]
        job.ending = JobState(snapshot["ending"]) if snapshot["ending"] else None
        job.bucket, job.since_s = snapshot["bucket"], snapshot["since_s"]
        kept = has_memory or not spec.needs_memory
        job.committed = record.items_done if kept or not spec.in_place else 0
        job.done = list(snapshot["done"]) if kept else [job.committed] * len(job.done)
        job.memory = BufferState.HELD if kept else BufferState.NONE
        job.cores = record.kernel.cores if kept and record.kernel is not None else ()
        job.left = [sum(1 for count in job.done if count <= item) for item in range(spec.batch)]
        job._count_finished()
        return job
