# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What routes about jobs have in common: which job is meant, whose it is, what it is shown as and what it expects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, TypeVar

import anyio.to_thread
from fastapi import Depends, Path

from eddy.api.answers.rendering import job_answer
from eddy.api.answers.schemas import Job
from eddy.api.dependencies.callers import Ctx
from eddy.api.dependencies.context import Context
from eddy.api.request_bodies.numbers import Decimal
from eddy.core.records import JobRecord
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.forecast.estimator import JobEstimate
from eddy.hypervisor.forecast.outlook import QueueOutlook

T = TypeVar("T")
PATIENCE_S = 0.25
"""Wall seconds an answer waits for estimates; where the board keeps the engine longer, it has the last ones."""
_LARGEST_ID = (1 << 63) - 1


async def job_meant(job: Annotated[Decimal, Path(ge=1, le=_LARGEST_ID, description="Job id.")], context: Ctx) -> int:
    """Which job an id names; no job where it names none."""
    return context.store.numbers.job.resolve_id(job)


JobId = Annotated[int, Depends(job_meant)]


def owner_of(context: Context, viewer: TenantRecord, job: int) -> str:
    """Whose job it is: the viewer's, or for the operator anybody's.

    Raises:
        NotFound: There is none of that id that the viewer may see.
    """
    if not viewer.admin:
        context.store.jobs.get(viewer.id, job)
        return viewer.id
    found = context.store.jobs.owner(job)
    if found is None:
        raise context.store.jobs.not_found(job)
    return found


async def read(context: Context, call: Callable[[], T]) -> T:
    """Read the store: at once where nothing is on its way to the disk, else in a thread that can wait for it."""
    return await anyio.to_thread.run_sync(call) if context.store.database.settling else call()


def answer(context: Context, record: JobRecord, estimate: JobEstimate | None = None, everyone: bool = False) -> Job:
    """The job object, with its output links; `everyone` as in `estimate_answer`."""
    doing = context.hypervisor.preparation_text(record.id)
    record = context.hypervisor.add_current_wait(record)
    numbers, applications = context.store.numbers, context.catalogue.applications
    return job_answer(record, numbers, applications, doing, context.kinds, estimate, everyone)


async def estimates_of(
    context: Context, records: Iterable[JobRecord], need: int | None = None
) -> Mapping[int, JobEstimate]:
    """What jobs are told, by id; those that have ended, and those nothing can be told, are not in it.

    Args:
        context: The server's.
        records: Of jobs.
        need: A job that should be in it, though it came just now.
    """
    waiting = [record.id for record in records if not record.state.is_final]
    outlook = await outlook_of(context, need) if waiting else None
    if outlook is None:
        return {}
    return {job: estimate for job in waiting if (estimate := outlook.estimate_of(job)) is not None}


async def outlook_of(context: Context, need: int | None = None) -> QueueOutlook | None:
    """What is expected of all jobs, or was a while ago; None where nothing is under way, or nothing was ever said.

    Args:
        context: The server's.
        need: A job that should be in it, though it came just now.
    """
    if (
        not context.ready
        or context.hypervisor.unreachable_reason
        or not any(context.store.jobs.unfinished_by_state().values())
    ):
        return None
    return await context.hypervisor.estimates_at_hand(need, PATIENCE_S)
