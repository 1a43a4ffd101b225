# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What policies see of a job: made again only where something changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from eddy.hypervisor.jobs.application_graph import Graph
from eddy.hypervisor.jobs.item_progress import ItemProgress
from eddy.hypervisor.jobs.job_spec import JobSpec
from eddy.policy.dispatch.views.job_view import JobView, Tasks, TaskView

Fits = Mapping[str, Mapping[int, str]]
"""Module to slot to the image (sha256) for it."""


class ViewSource(Protocol):
    """What a view is made of; see `Job`."""

    spec: JobSpec
    graph: Graph
    items: ItemProgress
    slot_of: list[int | None]

    @property
    def arrival_s(self) -> float:
        """Since when it is ready."""

    @property
    def slots(self) -> int:
        """How many slots it has."""


class JobViews:
    """The views of one job and of its tasks.

    Attributes:
        shown_s: Where the job was hidden from the policies for a while: the board time from which its waiting counts.
        overdue: Whether it goes before its tenant's others.
    """

    __slots__ = ("_job", "_tasks", "overdue", "shown_s")

    def __init__(self) -> None:
        self.shown_s: float | None = None
        self.overdue = False
        self._tasks: list[TaskView | None] = []
        self._job: JobView | None = None

    def touch(self, task: int) -> None:
        """Forget the view of a task that changed."""
        if self._tasks:
            self._tasks[task] = None
        self._job = None

    def touch_all(self) -> None:
        """Forget every view."""
        self._tasks = []
        self._job = None

    def show(self, at_s: float) -> None:
        """Count its waiting from now on: it was hidden before."""
        self.shown_s = at_s
        self.touch_all()

    def view(self, job: ViewSource, fits: Fits, every: int, fresh: Callable[[], Tasks]) -> JobView:
        """What a policy sees of the job.

        Args:
            job: Whose views these are.
            fits: Which image is for which slot.
            every: Number of slots of the pool.
            fresh: The tasks of a job nothing was done for; one value for all of an application.
        """
        if self._job is None:
            spec = job.spec
            self._job = JobView(
                id=spec.id,
                application=spec.application.label,
                tenant=spec.tenant,
                batch=spec.batch,
                priority=spec.priority,
                arrival_s=job.arrival_s,
                deadline_s=spec.deadline_s,
                goal_slots=spec.application.goal(spec.batch),
                tasks=self._every_task(job, fits, every) if job.slots or any(job.items.done) else fresh(),
                shown_s=self.shown_s,
                overdue=self.overdue,
            )
        return self._job

    def _every_task(self, job: ViewSource, fits: Fits, every: int) -> Tasks:
        if not self._tasks:
            self._tasks = [None] * len(job.items.done)
        views = self._tasks
        for number, known in enumerate(views):
            if known is None:
                views[number] = task_view(job, number, fits, every)
        return Tasks(view for view in views if view is not None)


def task_view(job: ViewSource, number: int, fits: Fits, every: int) -> TaskView:
    """What a policy sees of a task; see `JobViews.view`."""
    task = job.spec.application.tasks[number]
    slots = fits.get(task.module, {})
    return TaskView(
        id=number,
        module=task.module,
        estimate_s=task.estimate_s,
        items_done=job.items.done[number],
        slot=job.slot_of[number],
        predecessors=job.graph.predecessors[number],
        slots=None if len(slots) == every else tuple(sorted(slots)),
    )
