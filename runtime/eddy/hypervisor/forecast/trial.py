# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What would be expected of a job that has not been submitted: its cost, its loads, its start and end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eddy.core.slots import Pool
from eddy.hypervisor.forecast.cores import picture_cores
from eddy.hypervisor.forecast.estimator import Estimator, JobEstimate
from eddy.hypervisor.forecast.fabric import GivenSlot
from eddy.hypervisor.forecast.outlook import outlook
from eddy.hypervisor.forecast.queue import as_if_joined, picture_arena, picture_queue
from eddy.hypervisor.jobs.job_spec import arena_bytes
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.slots.memory import MemoryClaim


@dataclass(frozen=True, slots=True)
class JobTrial:
    """A job as it would be.

    Attributes:
        at_s: Board time it would arrive at.
        pool: Pool of slots it would run in.
        slot_s: Seconds of slots it would take, loads among them, as far as is known.
        core_s: Seconds of GPU cores; None where its kernel never ran.
        estimate: Its start and end; None where slots are drained, and of a kernel that never ran.
        given: Slots it would be given, in order; as far as the policy was asked.
    """

    at_s: float
    pool: Pool
    slot_s: float
    core_s: float | None
    estimate: JobEstimate | None
    given: tuple[GivenSlot, ...] = ()


def try_job(machine: Machine, now_s: float, spec: JobSpec) -> Callable[[Estimator], JobTrial]:
    """Take a picture with a job more; for the thread that steps the machine. What it answers is for any thread.

    Args:
        machine: Whose queue it would join; nothing about it changes.
        now_s: Board time.
        spec: The job, with an id above all others.
    """
    if spec.spread is not None and machine.clusters is not None:
        core_s, variant = _core_s(machine, spec), next(iter(spec.spread.variants.values()))
        width = max(variant.groups / max(variant.wave, 1), 1.0)
        cores = picture_cores(machine.clusters, now_s).with_kernel(spec, core_s, width)
        return lambda known: JobTrial(now_s, spec.pool, 0.0, core_s, outlook(known, [cores]).estimate_of(spec.id))
    job = as_if_joined(machine, spec)
    # What modules others have left would show in the loads, to whoever asks: they can be had without a job.
    queue = picture_queue(machine, spec.pool, now_s).without_reuse().with_job(job)
    need = MemoryClaim(spec.tenant, arena_bytes(spec.application, spec.batch) if spec.needs_memory else 0)
    queue = queue.with_memory_wait(picture_arena(machine), spec.id, need)

    def work_out(estimator: Estimator) -> JobTrial:
        made = estimator.forecast(queue)
        told = queue.can_end(job) and spec.id not in made.unknown
        estimate = estimator.estimates(queue, made, [spec.id])[spec.id] if told else None
        given = tuple(each for each in made.given if each.job == spec.id)
        item_s = estimator.seconds()(job)
        load_s = sum(each.load_s for each in given)
        if spec.id in made.unknown or not made.jobs[spec.id].simulated:
            slots = queue.view.slots
            load_s = len(job.tasks) * sum(slot.load_s for slot in slots) / max(len(slots), 1)
        return JobTrial(now_s, spec.pool, job.batch * sum(item_s) + load_s, 0.0, estimate, given)

    return work_out


def _core_s(machine: Machine, spec: JobSpec) -> float | None:
    """Core-seconds of a kernel, as its tenant's earlier runs of it were measured; None where there were none."""
    assert spec.spread is not None
    assert machine.clusters is not None
    learned = machine.clusters.loop.estimates.learned
    for module, variant in spec.spread.variants.items():
        group_s = learned.peek(spec.spread.kernel, module).group_s
        if group_s is not None:
            return group_s * variant.groups
    return None
