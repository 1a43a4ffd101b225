# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Submissions of a board's tenants: `admit` with what this server takes, and what each tenant may."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Request

from eddy.api.dependencies.context import Context
from eddy.api.dependencies.disconnects import run_while_connected
from eddy.api.dependencies.progress import check_promised_progress
from eddy.api.request_bodies import admission
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.core.board_constraints import ANY, COMPUTING, FIELDS, MODEL
from eddy.core.errors import InvalidRequest
from eddy.core.records import JobRequest
from eddy.core.submission_options import SubmissionOptions
from eddy.core.tenants import TenantRecord

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _BoardTenant:
    """A tenant of a board, as `eddy.api.request_bodies.admission.Submitter`."""

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
        InvalidRequest, Conflict: As `eddy.api.request_bodies.admission.admit` does.
        BoardUnreachable: Nothing is taken at this moment.
    """
    after = submission.predecessors(context.store.numbers.job.resolve_id)
    by = _BoardTenant(context, tenant)
    request = admission.admit(submission, by, context.kinds, after, idempotency_key or "", max_running)
    context.require_running()
    return request


async def for_client(context: Context, http: Request, request: JobRequest, work: Callable[[], Awaitable[T]]) -> T:
    """Do what a request asks for; where that takes long, only for as long as its client is there.

    Raises:
        ClientDisconnect: The client left.
        Exception: Whatever the work raises.
    """
    return await (run_while_connected(http, work) if context.kinds[request.kind].lingers else work())
