# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Why a job stands as it does, and what would have made it faster; from the machine, by the same forecasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from eddy.core.maintenance import MARK
from eddy.core.slots import Pool
from eddy.hypervisor.forecast.cores import picture_cores
from eddy.hypervisor.forecast.estimator import Estimator, JobEstimate
from eddy.hypervisor.forecast.outlook import outlook
from eddy.hypervisor.forecast.queue import as_if_joined, picture_arena, picture_queue
from eddy.hypervisor.forecast.waits import WaitNow, describe_wait, maintenance_wait, window_of
from eddy.hypervisor.forecast.whatif import WhatIf, explore_what_ifs, solo_queue
from eddy.hypervisor.intake.admission_hold import hold_reason
from eddy.hypervisor.jobs.job import BufferState
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.jobs.slot import Phase
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.slots.memory import memory_claim


@dataclass(frozen=True, slots=True)
class JobStanding:
    """How a job stands.

    Attributes:
        at_s: Board time.
        would_help: What would be if one thing were different, the most that is saved first.
        estimate: Its start and end; None where that cannot be told.
    """

    at_s: float
    wait: WaitNow
    would_help: tuple[WhatIf, ...] = ()
    estimate: JobEstimate | None = None


Answered = Callable[[Estimator], JobStanding]


def describe_standing(machine: Machine, now_s: float, number: int, doing: str) -> Answered:
    """How a job that has not ended stands; for the thread that steps the machine. What it answers is for any thread.

    Args:
        now_s: Board time.
        doing: What it waits for that keeps it out of the machine, for people; "" where nothing does.
    """
    job = machine.jobs.get(number)
    if job is None:
        just = WaitNow("", "It has just been accepted, or has just ended.")
        wait = WaitNow(hold_reason(doing), f"It is {doing}.") if doing else just
        return lambda _: JobStanding(now_s, wait)
    if job.spec.spread is not None and machine.clusters is not None:
        shared, cores = _of_kernel(machine, number), picture_cores(machine.clusters, now_s)
        return lambda estimator: JobStanding(now_s, shared, (), outlook(estimator, [cores]).estimate_of(number))
    if job.ending is not None or job.items.all_finished:
        wait = WaitNow("ending", "Its items are done or stopped; what it leaves is being kept.")
        return lambda _: JobStanding(now_s, wait)
    if job.postponed:
        held = maintenance_wait(job.postponed, job.started_s is not None)
        return lambda _: JobStanding(now_s, held)
    queue, preempted, lacks_memory = picture_queue(machine, job.spec.pool, now_s), job.preempted, job.lacks_memory
    if job.memory is BufferState.NONE and not job.slots:
        queue = queue.with_memory_wait(picture_arena(machine), number, memory_claim(job))

    def work_out(estimator: Estimator) -> JobStanding:
        made = estimator.forecast(queue)
        wait = describe_wait(queue, made, number, preempted, lacks_memory)
        _, found = explore_what_ifs(queue, number, estimator.seconds())
        told = number not in made.unknown and queue.can_end(queue.view.jobs.job(number))
        return JobStanding(now_s, wait, found, estimator.estimates(queue, made, [number])[number] if told else None)

    return work_out


def _of_kernel(machine: Machine, number: int) -> WaitNow:
    """What a kernel waits for whose cores prices share out."""
    assert machine.clusters is not None
    clusters, tenant = machine.clusters, machine.jobs[number].spec.tenant
    progress = clusters.queues.progress.get(number)
    if progress is not None and progress.running:
        return WaitNow("", f"It runs on {progress.running} of the cores in slot {progress.slot}.")
    if machine.jobs[number].lacks_memory:
        return WaitNow("memory", "The board's memory is full: it is given memory when jobs before it end.")
    if all(slot.withheld for slot in clusters.slots):
        closed = [slot.drained for slot in clusters.slots if slot.drained.startswith(MARK)]
        if closed:
            return WaitNow("maintenance", f"Every cluster is closed by calendar ({window_of(closed[0])}).")
        return WaitNow("drain", "Every cluster is drained.")
    if progress is None and any(slot.phase is Phase.LOADING for slot in clusters.slots):
        return WaitNow("load", "A cluster is being loaded.")
    shares = {slot.index: clusters.loop.accounts[slot.index].shares.get(tenant, 0.0) for slot in clusters.slots}
    where = "" if progress is None else f" It is bound to slot {progress.slot}."
    said = ", ".join(f"{share:.3g} of the cores in slot {slot}" for slot, share in shares.items() if share > 0)
    return WaitNow(
        "price-share",
        f"Its tenant's share is {said or 'nothing at this moment'}, and its earlier kernels, or slices of others,"
        f" have them.{where}",
    )


@dataclass(frozen=True, slots=True)
class JobAlone:
    """What a job takes that has the board for itself, in board seconds.

    Attributes:
        takes_s: From its arrival to its end.
        resident_s: The same where its modules are in the slots already.
    """

    takes_s: float
    resident_s: float


def solo_estimate(machine: Machine, now_s: float, spec: JobSpec) -> Callable[[Estimator], JobAlone]:
    """What a job would take alone, by what is known now; for the thread that steps the machine.

    Args:
        machine: Its slots are there, and free.
        now_s: Board time.
        spec: The job, in a pool that a dispatch policy decides about.
    """
    job = as_if_joined(machine, spec)
    queue = solo_queue(picture_queue(machine, Pool.PIPELINE, now_s), job)
    shown = queue.view.slots or tuple(slot.view() for slot in machine.slots.values() if slot.job is None)
    bare = tuple(replace(slot, module="", tenant="") for slot in shown)
    queue = replace(queue, view=replace(queue.view, slots=bare), since_s={}, leaving=frozenset(), port_busy_s=0.0)

    def work_out(estimator: Estimator) -> JobAlone:
        now, changed = explore_what_ifs(queue, spec.id, estimator.seconds())
        resident = next(each for each in changed if each.what == "resident")
        assert now is not None
        return JobAlone(now.end_s - now_s, resident.end_s - now_s)

    return work_out
