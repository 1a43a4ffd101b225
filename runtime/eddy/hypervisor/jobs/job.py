# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One job inside the state machine: its state, and what it holds."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from eddy.core.applications import Application
from eddy.core.counters import CoreCounters, add_run
from eddy.core.jobs import TRANSITIONS, JobState
from eddy.core.records import WaitCause
from eddy.hypervisor.jobs.application_graph import Graph
from eddy.hypervisor.jobs.item_progress import ItemProgress
from eddy.hypervisor.jobs.job_views import Fits, JobViews
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.policy.dispatch.views.job_view import JobView, Tasks

_WAITS = frozenset(cause.value for cause in WaitCause)


class JobTimes:
    """Board seconds of one job, each booked once.

    Args:
        arrival_s: Board time at which the job was accepted.

    Attributes:
        bucket: What the time since `since_s` will count as.
        since_s: Board time up to which everything is booked.
        spent_s: Seconds by bucket.
    """

    __slots__ = ("bucket", "since_s", "spent_s")

    def __init__(self, arrival_s: float) -> None:
        self.bucket: str = WaitCause.SLOT.value
        self.since_s = arrival_s
        self.spent_s: dict[str, float] = {}

    @property
    def for_others_s(self) -> float:
        """What it waited for jobs that it comes after."""
        return self.spent_s.get(WaitCause.DEPENDENCY.value, 0.0)

    def book_dependency_wait(self, at_s: float) -> None:
        """Book the time up to now as waiting for other jobs; before anything else."""
        self.spent_s[WaitCause.DEPENDENCY.value] = at_s - self.since_s
        self.since_s = at_s

    def current_wait(self, now_s: float) -> tuple[str, float] | None:
        """The cause of a wait that goes on, and its seconds that are not booked yet; None where there is none."""
        bucket, since_s = self.bucket, self.since_s
        return (bucket, now_s - since_s) if bucket in _WAITS and now_s > since_s else None

    def book(self, at_s: float, bucket: str) -> None:
        """Book the time since the last call where it belongs; what follows counts as `bucket`."""
        elapsed_s = at_s - self.since_s
        if elapsed_s > 0:
            self.spent_s[self.bucket] = self.spent_s.get(self.bucket, 0.0) + elapsed_s
            self.since_s = at_s
        self.bucket = bucket


class BufferState(str, enum.Enum):
    """Where a job is with its buffers."""

    NONE = "none"
    ASKED = "asked"
    """An `Allocate` is out."""
    BLOCKED = "blocked"
    """It stands in the queue for memory."""
    HELD = "held"


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
    runs. Parts of it: how far its items are (`items`), where its time went (`times`), what policies see (`views`).
    """

    __slots__ = (
        "cancel_asked_unix_s",
        "cause",
        "core_seconds",
        "cores",
        "detail",
        "ended_s",
        "ending",
        "failed_item",
        "failed_task",
        "graph",
        "held",
        "items",
        "lacks_memory",
        "load_began_s",
        "loading",
        "log_bytes",
        "memory",
        "paid",
        "placed",
        "postponed",
        "preempted",
        "preemptions",
        "reconfigurations",
        "retried",
        "reuses",
        "running",
        "shaped",
        "slot_of",
        "spec",
        "started_s",
        "state",
        "times",
        "unchecked",
        "views",
        "will_retry",
    )
    """Named: thousands of jobs wait at once, and with a dictionary each took 1.2 kB more."""

    def __init__(self, spec: JobSpec, graph: Graph) -> None:
        self.spec, self.graph = spec, graph
        self.shaped = False
        """Whether the form of its application was chosen."""
        count = len(spec.application.tasks)
        self.items, self.times, self.views = ItemProgress(count, spec.batch), JobTimes(spec.arrival_s), JobViews()
        self.slot_of: list[int | None] = [None] * count
        self.loading = self.held = self.running = 0
        self.memory = BufferState.NONE if spec.needs_memory else BufferState.HELD
        self.lacks_memory = False
        """It was refused memory and stands in the queue for it."""
        self.placed = not spec.needs_memory
        self.preempted = False
        self.postponed = ""
        """The maintenance window that it waits for; "" for none."""
        self.ending: JobState | None = None
        self.state = JobState.QUEUED
        self.started_s: float | None = None
        self.ended_s: float | None = None
        self.will_retry = False
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
        self.unchecked: tuple[str, ...] = ()
        """Modules it was given that have no check on record."""

    @property
    def arrival_s(self) -> float:
        """Since when it is ready: what it waited for others gives it no precedence."""
        return self.spec.arrival_s + self.times.for_others_s

    @property
    def age(self) -> tuple[float, int]:
        """What jobs are ordered by: since when they are ready, then id."""
        return self.arrival_s, self.spec.id

    def set_form(self, form: Application, graph: Graph) -> None:
        """Run in another form of its application; before anything is done for it."""
        self.spec, self.graph = replace(self.spec, application=form), graph
        count = len(form.tasks)
        self.items, self.slot_of = ItemProgress(count, self.spec.batch), [None] * count
        self.views.touch_all()

    # State and time -----------------------------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        """How many slots it has."""
        return self.loading + self.held + self.running

    def derive(self) -> JobState:
        """The state that follows from what it holds."""
        if self.ending is not None:
            return JobState.DRAINING if self.slots else self.ending
        if self.items.committed == self.spec.batch and not self.slots:
            return JobState.SUCCEEDED
        if self.running or self.items.collecting:
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
        self.times.book(at_s, self._account())
        if state.is_final:
            self.ended_s = max(at_s, self.times.since_s)
        return passed

    def _account(self) -> str:
        if self.state in (JobState.RUNNING, JobState.DRAINING):
            return "running"
        if self.state is JobState.RECONFIGURING:
            return "reconfiguring"
        if self.postponed:
            return WaitCause.MAINTENANCE.value
        if self.lacks_memory:
            return WaitCause.MEMORY.value
        return WaitCause.PREEMPTED.value if self.state is JobState.PREEMPTED else WaitCause.SLOT.value

    def can_retry(self, cause: str) -> bool:
        """Whether it is tried again after a failure of that cause."""
        retries = self.spec.asked.retries
        return self.retried < retries.max and cause in retries.on

    def rewind(self) -> None:
        """Go back to the last item every task is done with, or to the first where items work in place, without
        memory."""
        kept = 0 if self.spec.in_place or self.spec.spread is not None else self.items.committed
        self.will_retry, self.ending, self.retried = False, None, self.retried + 1
        self.cause, self.detail, self.failed_task, self.failed_item = "", "", None, None
        self.items.discard_items(kept)
        self.preempted = self.lacks_memory = False
        if self.spec.needs_memory:
            self.memory = BufferState.NONE
        if not kept:
            self.cores = ()
        self.views.touch_all()

    # Items --------------------------------------------------------------------------------------------------------

    def next_item(self, task: int, pipelined: bool) -> int | None:
        """The item `task` may start now, or None."""
        return self.items.next_item(task, self.graph.predecessors[task], pipelined)

    def finish_item(self, task: int) -> list[int]:
        """Count one more item of a task; answers the items every task is now done with."""
        finished = self.items.finish_item(task)
        self.views.touch(task)
        return finished

    def count(self, cores: tuple[CoreCounters, ...]) -> None:
        """Add what the cores of a cluster counted during one slice."""
        if cores:
            self.cores = add_run(self.cores, cores)

    # What others see ----------------------------------------------------------------------------------------------

    @property
    def is_hidden(self) -> bool:
        """Whether nothing could be decided about it: it ends, waits for memory or for the end of maintenance, only
        holds memory, or has its outputs left."""
        waits = self.lacks_memory or bool(self.postponed)
        return self.ending is not None or waits or self.items.all_finished or self.spec.only_holds

    def view(self, fits: Fits, every: int, fresh: Callable[[Job], Tasks]) -> JobView:
        """What a policy sees; see `JobViews.view`."""
        return self.views.view(self, fits, every, lambda: fresh(self))
