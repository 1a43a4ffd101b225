# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pools of slots: which policy decides about which slots, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eddy.core.applications import Application
from eddy.core.projects import WeightsOf, equal_weights
from eddy.core.slots import Pool
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.job_views import Fits, task_view
from eddy.policy.dispatch.views.job_view import JobView, Tasks
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.view import Dispatch, DispatchPolicy, DispatchView, Observation

MANY = 256
"""Jobs that change at once beyond which, if they are most of all, the collection is rebuilt."""


@dataclass(frozen=True, slots=True)
class PoolSlots:
    """The slots of a pool beside the `pipeline` pool.

    Attributes:
        slots: Index to expected load time in seconds.
        policy: Who gets which of them.
    """

    slots: Mapping[int, float]
    policy: DispatchPolicy


class PoolState:
    """One pool inside the state machine, and its jobs as its policy sees them.

    Only what changed is shown again: what a decision costs does not depend on how many jobs wait.

    Args:
        policy: Who gets which of its slots.
        fits: Module to slot to image; what is for other slots is left out.
        weights_of: What tenants are entitled to that have work, relative to each other.
    """

    def __init__(
        self,
        pool: Pool,
        policy: DispatchPolicy,
        slots: Iterable[int],
        fits: Fits,
        weights_of: WeightsOf = equal_weights,
    ) -> None:
        self.pool, self.policy, self.slots, self._weights_of = pool, policy, frozenset(slots), weights_of
        self.fits = {module: {s: i for s, i in images.items() if s in self.slots} for module, images in fits.items()}
        self.memory: Any = policy.initial()
        self.observations: list[Observation] = []
        self.wake_s: float | None = None
        self.asked_s = 0.0
        """Board time of the last decision."""
        self._jobs = Jobs()
        self._shapes: dict[str, tuple[Application, Tasks]] = {}
        """By application: its tasks as a job has them that nothing was done for."""
        self._stale: set[int] = set()
        self._changed: set[int] = set()
        self._all_new = False
        """Whether the policy has not been asked yet."""

    def switch(self, policy: DispatchPolicy) -> None:
        """Another policy decides from now on; it knows nothing of what the last one remembered."""
        self.policy, self.memory, self.wake_s, self._all_new = policy, policy.initial(), None, True
        self.observations.clear()

    def invalidate_job(self, number: int) -> None:
        """What is shown of a job is not true any more."""
        self._stale.add(number)

    def admit_module(self, module: str, images: Mapping[int, str], jobs: Iterable[Job]) -> None:
        """A module may be loaded that was not: what is shown of where modules fit is not true any more."""
        self.fits[module] = {slot: image for slot, image in images.items() if slot in self.slots}
        self._shown_anew(jobs)

    def refuse(self, module: str, slot: int, jobs: Iterable[Job]) -> None:
        """An image will never be taken: nothing of what is shown of where its module fits is true any more."""
        self.fits.get(module, {}).pop(slot, None)
        self._shown_anew(jobs)

    def _shown_anew(self, jobs: Iterable[Job]) -> None:
        self._shapes.clear()
        for job in jobs:
            job.views.touch_all()
            self.invalidate_job(job.spec.id)

    def jobs(self, known: Mapping[int, Job]) -> Jobs:
        """The jobs to be shown.

        Args:
            known: Every job that has not ended, of any pool.
        """
        if len(self._stale) > max(len(self._jobs), MANY):
            mine = (job for job in known.values() if job.spec.pool is self.pool and not job.is_hidden)
            self._jobs = Jobs([self.view_job(job) for job in mine])
        else:
            for number in self._stale:
                job = known.get(number)
                if job is None or job.is_hidden:
                    self._jobs = self._jobs.drop(number)
                else:
                    self._jobs = self._jobs.put(self.view_job(job))
        self._changed |= self._stale
        self._stale.clear()
        return self._jobs

    def weights(self, jobs: Jobs) -> Mapping[str, float]:
        """What the tenants of jobs are entitled to, where there are several."""
        return self._weights_of(jobs.tenants) if len(jobs.tenants) > 1 else {}

    def view_job(self, job: Job) -> JobView:
        """A job as its policy would see it."""
        return job.view(self.fits, len(self.slots), self._shape)

    def decide(self, view: DispatchView) -> Dispatch:
        """Ask the policy; what happened since it was asked last is cleared."""
        dispatch = self.policy.decide(view)
        self.observations.clear()
        self._changed.clear()
        self._all_new = False
        self.memory, self.asked_s = dispatch.memory, view.now_s
        return dispatch

    @property
    def changed(self) -> frozenset[int] | None:
        """Jobs that came, changed or went since the policy was asked last, as far as they were shown; None where it
        never was."""
        return None if self._all_new else frozenset(self._changed)

    def _shape(self, job: Job) -> Tasks:
        """The tasks of a job nothing was done for."""
        application = job.spec.application
        known = self._shapes.get(application.label)
        if known is None or known[0] is not application:
            made = Tasks(task_view(job, task.id, self.fits, len(self.slots)) for task in application.tasks)
            known = self._shapes[application.label] = application, made
        return known[1]
