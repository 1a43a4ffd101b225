# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is written down of a job, and the job made of it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, KernelRecord, WaitCause
from eddy.hypervisor.jobs.application_graph import Graph
from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.messages import JobSpec


def record_of(job: Job) -> JobRecord:
    """What happened to a job so far."""
    spec, spent_s = job.spec, job.times.spent_s
    return JobRecord(
        id=spec.id,
        tenant=spec.tenant,
        application=spec.application.name,
        batch=spec.batch,
        priority=spec.priority,
        state=job.state,
        submitted_unix_s=spec.submitted_unix_s,
        arrival_s=spec.arrival_s,
        deadline_s=spec.deadline_s,
        started_s=job.started_s,
        ended_s=job.ended_s,
        waiting_s={cause.value: spent_s[cause.value] for cause in WaitCause if cause.value in spent_s},
        reconfiguring_s=spent_s.get("reconfiguring", 0.0),
        running_s=spent_s.get("running", 0.0),
        reconfigurations=job.reconfigurations,
        reuses=job.reuses,
        preemptions=job.preemptions,
        items_done=job.items.committed,
        cause=job.cause,
        detail=job.detail,
        failed_task=job.failed_task,
        failed_item=job.failed_item,
        kernel=_kernel_of(job),
        kind=spec.kind,
        computed=spec.computed,
        asked=spec.asked,
        retried=job.retried,
        cancel_asked_unix_s=job.cancel_asked_unix_s,
        form=spec.application.form,
        unchecked=job.unchecked,
    )


def _kernel_of(job: Job) -> KernelRecord | None:
    kernel = job.spec.kernel
    if kernel is None:
        return None
    return replace(kernel, cores=job.cores, log_bytes=job.log_bytes, core_seconds=job.core_seconds, paid=job.paid)


def snapshot_of(job: Job) -> dict[str, Any]:
    """What `restore_job` needs beside the record; plain JSON."""
    return {
        "done": list(job.items.done),
        "attempts": list(job.items.attempts),
        "memory": job.memory is BufferState.HELD,
        "preempted": job.preempted,
        "ending": job.ending.value if job.ending else "",
        "bucket": job.times.bucket,
        "since_s": job.times.since_s,
    }


def restore_job(spec: JobSpec, graph: Graph, record: JobRecord, snapshot: Mapping[str, Any], has_memory: bool) -> Job:
    """A job as it was when its record and snapshot were written.

    Args:
        snapshot: As `snapshot_of` gave it; empty for a job that was only accepted.
        has_memory: Whether all its buffers are still there. If not, every task restarts after the last item
            whose results are committed, because what lies between tasks is gone; and a kernel restarts from
            its first slice on the arrays as they were submitted, because slices update them in place.
    """
    job = Job(spec, graph)
    job.shaped = bool(spec.application.form) or bool(snapshot)
    job.state, job.started_s = record.state, record.started_s
    job.times.spent_s = {**record.waiting_s, "reconfiguring": record.reconfiguring_s, "running": record.running_s}
    job.reconfigurations, job.reuses, job.preemptions = record.reconfigurations, record.reuses, record.preemptions
    job.retried, job.cancel_asked_unix_s = record.retried, record.cancel_asked_unix_s
    job.cause, job.detail, job.unchecked = record.cause, record.detail, record.unchecked
    job.failed_task, job.failed_item = record.failed_task, record.failed_item
    if not snapshot:
        return job
    job.placed = job.placed or record.state is not JobState.QUEUED
    job.preempted = snapshot["preempted"]
    job.ending = JobState(snapshot["ending"]) if snapshot["ending"] else None
    job.times.bucket, job.times.since_s = snapshot["bucket"], snapshot["since_s"]
    kept = has_memory or not spec.needs_memory
    committed = record.items_done if kept or not spec.in_place else 0
    done = snapshot["done"] if kept else [committed] * len(spec.application.tasks)
    job.items.resume(done, snapshot["attempts"], committed)
    job.memory = BufferState.HELD if kept else BufferState.NONE
    job.cores = record.kernel.cores if kept and record.kernel is not None else ()
    return job
