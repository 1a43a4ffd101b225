# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which form of its application a job is run in: as it is written, or with tasks fused that one module does."""

from __future__ import annotations

from collections.abc import Callable, Collection

from eddy.core.applications import Application
from eddy.core.fusion import list_forms
from eddy.core.slots import Pool
from eddy.hypervisor.jobs.application_graph import Graph
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.slot import Phase
from eddy.hypervisor.slots.machine_state import MachineState
from eddy.hypervisor.slots.pools import PoolState
from eddy.policy.dispatch.views.forms import choose_form
from eddy.policy.dispatch.views.view import DispatchView

ONE_BY_ONE = 4
"""Jobs that take another form one by one within a turn; from then on all that are alike do, at once."""


class JobForms:
    """Has jobs take the form in which they are expected to end first; each once, before its first slot.

    Args:
        state: The state that jobs are of.
        view: What a pool's policy sees now.

    Attributes:
        taken: Jobs that took another form than that of their application, so far.
    """

    def __init__(self, state: MachineState, view: Callable[[Pool], DispatchView]) -> None:
        self._state, self._view = state, view
        self.taken = 0
        self._before = 0
        """`taken` when this turn began."""

    def begin_turn(self) -> None:
        """The policies are about to be asked."""
        self._before = self.taken

    def choose(self, job: Job, pool: PoolState) -> bool:
        """Before a job's first slot: choose the form in which it is run; answers whether it is another one."""
        if job.shaped or not self._state.residency.fused(job.spec.application):
            return False
        job.shaped = True
        form = self._best(job, pool)
        if form is job.spec.application:
            return False
        # A policy that passes over a job in its new form comes to the next one that is alike, be they ten thousand.
        for each in self._similar_jobs(job, pool) if self.taken - self._before >= ONE_BY_ONE else (job,):
            self._take(each, form)
        return True

    def fit_residents(self, pool: PoolState, promised: Collection[int]) -> bool:
        """Have jobs that wait take the form for which a free slot holds a module, where they end first in it: a policy
        sees the tasks of a job's form, and would load what is there already. Of jobs that are alike, the first in line.

        Args:
            promised: Slots that are free, but not for others.

        Returns:
            Whether one did.
        """
        free = [slot for index in pool.slots if (slot := self._state.slots[index]).phase is Phase.FREE]
        there = {slot.module for slot in free if slot.index not in promised}
        before = self.taken
        for kind in pool.jobs(self._state.jobs).kinds.values() if there - {""} else ():
            for shown in kind.front:
                job = self._state.jobs[shown.id]
                fused = self._state.residency.fused(job.spec.application)
                if job.shaped or not any(task.module in there for task in fused):
                    continue
                form = self._best(job, pool)
                if form is not job.spec.application and any(task.module in there for task in form.tasks):
                    self._take(job, form)
        return self.taken != before

    def _similar_jobs(self, job: Job, pool: PoolState) -> list[Job]:
        """A job, and those that wait, differ from it in their age alone, and have not chosen their form."""
        shown, number = pool.jobs(self._state.jobs), job.spec.id
        if number in shown.begun or shown.get(number) is None:
            return [job]
        line = [self._state.jobs[each.id] for each in shown.line_of(shown.job(number)).values()]
        return [job, *(each for each in line if not each.shaped and each.spec.tenant == job.spec.tenant)]

    def _best(self, job: Job, pool: PoolState) -> Application:
        return choose_form(list_forms(job.spec.application), pool.view_job(job), self._view(pool.pool), pool.fits)

    def _take(self, job: Job, form: Application) -> None:
        job.shaped = True
        job.set_form(form, Graph(form))
        self.taken += 1
        self._state.invalidate_view(job)
        self._state.mark_changed(job)
