# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What routes about jobs have in common: which job is meant, whose it is, what it is shown as and what it expects;
and how one is submitted here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

import anyio.to_thread
from fastapi import Depends, Path, Request

from eddy.api.answers.rendering import job_answer
from eddy.api.answers.schemas import Job
from eddy.api.dependencies.callers import Ctx, require_running
from eddy.api.dependencies.context import Context
from eddy.api.dependencies.disconnects import run_while_connected
from eddy.api.dependencies.progress import check_promised_progress
from eddy.api.request_bodies import jobs as submissions
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.api.request_bodies.numbers import Decimal
from eddy.core.board_constraints import ANY, COMPUTING, FIELDS, MODEL
from eddy.core.errors import InvalidRequest
from eddy.core.records import JobRecord, JobRequest
from eddy.core.submission_options import SubmissionOptions
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.forecast.estimator import JobEstimate
from eddy.hypervisor.forecast.outlook import QueueOutlook

T = TypeVar("T")
PATIENCE_S = 0.25
"""Wall seconds an answer waits for estimates; where the board keeps the engine longer, it has the last ones."""
_LARGEST_ID = (1 << 63) - 1


async def resolve_job(job: Annotated[Decimal, Path(ge=1, le=_LARGEST_ID, description="Job id.")], context: Ctx) -> int:
    """Which job an id names; no job where it names none."""
    return context.store.numbers.job.resolve_id(job)


JobId = Annotated[int, Depends(resolve_job)]


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
        need: A job that should be in it, though it came just now.
    """
    if (
        not context.ready
        or context.hypervisor.unreachable_reason
        or not any(context.store.jobs.unfinished_by_state().values())
    ):
        return None
    return await context.hypervisor.estimates_at_hand(need, PATIENCE_S)


@dataclass(frozen=True, slots=True)
class _BoardTenant:
    """A tenant of a board, as `eddy.api.request_bodies.jobs.Submitter`."""

    context: Context
    tenant: TenantRecord

    @property
    def id(self) -> str:
        return self.tenant.id

    @property
    def max_priority(self) -> int:
        return self.tenant.quota.max_priority

    def check_progress(self, wanted: float) -> None:
        check_promised_progress(self.context.store, self.context.hypervisor.price, self.tenant.id, wanted)

    def check_boards(self, asked: SubmissionOptions) -> None:
        named = [name for name in FIELDS if name != "board_kind" and getattr(asked, name) is not None]
        if named:
            message = f"{named[0]}: this is one board; boards are chosen by the head of a pool."
            raise InvalidRequest(message, field=named[0], allowed="leave it out")
        kind = COMPUTING if self.context.hypervisor.computes_results else MODEL
        if asked.board_kind not in (None, ANY, kind):
            message = f"board_kind: this board is a {kind} one."
            raise InvalidRequest(message, field="board_kind", asked=asked.board_kind, allowed=[kind, ANY])


def admit(
    context: Context,
    tenant: TenantRecord,
    submission: JobSubmission,
    idempotency_key: str | None = None,
    max_running: int | None = None,
) -> JobRequest:
    """Make a request of a tenant's submission.

    Raises:
        InvalidRequest, Conflict: As `eddy.api.request_bodies.jobs.admit` does.
        BoardUnreachable: Nothing is taken at this moment.
    """
    after = submission.predecessors(context.store.numbers.job.resolve_id)
    by = _BoardTenant(context, tenant)
    request = submissions.admit(submission, by, context.kinds, after, idempotency_key or "", max_running)
    require_running(context)
    return request


async def for_client(context: Context, http: Request, request: JobRequest, work: Callable[[], Awaitable[T]]) -> T:
    """Do what a request asks for; where that takes long, only for as long as its client is there.

    Raises:
        ClientDisconnect: The client left.
        Exception: Whatever the work raises.
    """
    return await (run_while_connected(http, work) if context.kinds[request.kind].lingers else work())
