# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The queue at one instant, as a value: what a forecast starts from.

A policy's view is frozen and shares what does not change with the next one, so to take this picture of ten thousand
waiting jobs costs as much as of ten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from eddy.core.slots import Pool
from eddy.hypervisor.forecast.arena import ArenaPicture
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.jobs.slot import Phase
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.slots.memory import MemoryClaim
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.view import DispatchPolicy, DispatchView


@dataclass(frozen=True, slots=True)
class QueuePicture:
    """One pool of slots, its jobs and its policy.

    Attributes:
        view: What the policy would see now, with jobs that wait for memory among the others.
        since_s: By slot: board time at which what it does began.
        leaving: Slots that are taken from their jobs at the next boundary.
        port_busy_s: Board seconds until the configuration port is free of another pool's load.
        unseen: Slots no policy is shown, by index, and why: drained, or resting after failed loads.
        arena: The board's memory; None where nobody waits for it.
        known: Jobs whose lengths were measured; None where what was learned of their tasks says so.
    """

    pool: Pool
    policy: DispatchPolicy
    view: DispatchView
    since_s: Mapping[int, float] = field(default_factory=dict)
    leaving: frozenset[int] = frozenset()
    port_busy_s: float = 0.0
    unseen: Mapping[int, str] = field(default_factory=dict)
    known: frozenset[int] | None = None
    arena: ArenaPicture | None = None

    def can_end(self, job: JobView) -> bool:
        """Whether a job could go on to its end: each of its tasks fits a slot that is neither drained nor rests."""
        shown = [slot.index for slot in self.view.slots]
        wanted = (task for task in job.tasks if task.items_done < job.batch and task.slot is None)
        return all(shown if task.slots is None else not set(task.slots).isdisjoint(shown) for task in wanted)

    def with_job(self, job: JobView) -> QueuePicture:
        """With one job more, or another in its place."""
        changed = None if self.view.changed is None else self.view.changed | {job.id}
        return replace(self, view=replace(self.view, jobs=self.view.jobs.put(job), changed=changed))

    def with_memory_wait(self, arena: ArenaPicture | None, number: int, need: MemoryClaim) -> QueuePicture:
        """With a job in it that waits for memory, where it would have to."""
        if (
            arena is None
            or number in arena.waiting
            or number in arena.held
            or not (arena.waiting or arena.must_wait(need))
        ):
            return self
        return replace(self, arena=arena.with_waiting(number, need))

    def without_reuse(self) -> QueuePicture:
        """As if no module were used again without a load for another tenant than the one it served last."""
        slots = tuple(replace(slot, scrubs=False) for slot in self.view.slots)
        return replace(self, view=replace(self.view, slots=slots))


def picture_queue(machine: Machine, pool: Pool, now_s: float) -> QueuePicture:
    """A pool's queue as it is now; for the thread that steps the machine.

    Args:
        pool: Which; the machine has it.
        now_s: Board time, not before the machine's last step.
    """
    state = machine.state
    known = state.pools[pool]
    now_s = max(state.now_s, now_s)
    view = machine.view(pool)
    jobs = view.jobs
    for number in state.memory.waiting:
        job = state.jobs[number]
        if job.spec.pool is pool and job.ending is None:
            jobs = jobs.put(known.view_job(job))
    mine = [slot for slot in state.slots.values() if slot.index in known.slots]
    loading = state.port.loading
    other = loading is not None and loading.index not in known.slots
    return QueuePicture(
        pool,
        known.policy,
        replace(view, now_s=now_s, jobs=jobs, observations=()),
        {slot.index: slot.since_s for slot in mine if slot.phase in (Phase.LOADING, Phase.RUNNING)},
        frozenset(slot.index for slot in mine if slot.leaving is not None),
        max(loading.since_s + loading.load_s - now_s, 0.0) if other and loading is not None else 0.0,
        {slot.index: slot.withheld or "rests after a failed load" for slot in mine if not slot.is_offered(now_s)},
        arena=picture_arena(machine) if state.memory.waiting else None,
    )


def picture_arena(machine: Machine) -> ArenaPicture | None:
    """The board's memory as it is now, None where its size is not known; for the thread that steps the machine."""
    state = machine.state
    if not state.arena_bytes:
        return None
    held, most = state.memory.held, state.memory.most
    free = max(state.arena_bytes - sum(each.bytes for each in held.values()), 0)
    return ArenaPicture(free, state.arena_bytes if most is None else most, held, state.memory.needed)


def as_if_joined(machine: Machine, spec: JobSpec) -> JobView:
    """A job as its policy would see it if it arrived now; for the thread that steps the machine."""
    return machine.state.pools[spec.pool].view_job(Job(spec, machine.graph(spec)))
