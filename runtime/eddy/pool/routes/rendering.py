# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pool's records as a board's API shows jobs, so that client and command line need not tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from eddy.api.answers.estimates import DryRun, ExpectedTimes
from eddy.api.answers.job_explanation import Explained, Spent, WaitShown
from eddy.api.answers.rendering import referenced_jobs
from eddy.api.answers.schemas import Cancellation, Job, JobArrayPlace, JobError, Kernel, Progress, Waiting
from eddy.api.request_bodies.tenants import QuotaSubmission
from eddy.core.jobs import JobState
from eddy.core.slots import Pool
from eddy.core.submission_options import ECHOED, Condition
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.records.records import CANCELLED, PLACED, QUEUED, PoolJob

NS = 1e9


def render_job(job: PoolJob, told: Callable[[int], int], estimate: ExpectedTimes | None = None) -> Job:
    """The job object, with numbers of jobs as they are told. Its times are wall seconds since its arrival at the pool:
    boards have clocks of their own."""
    number = told(job.id)
    here = f"/v1/jobs/{number}"
    since = job.submitted_unix_s
    started, ended = job.started_unix_s, job.ended_unix_s
    names = job.parts[0].outputs if job.output_blobs else {}
    ran = sum(part.ended_unix_s - part.started_unix_s for part in job.parts)
    waited = (started - since) if started is not None else 0.0
    asked = job.cancel_asked_unix_s
    cancelled = job.state == CANCELLED
    return Job(
        id=number,
        tenant=job.tenant,
        kind="kernel" if job.request.get("kernel") else "application",
        application=job.work,
        batch=job.batch,
        priority=int(job.request.get("priority", 1)),
        state=JobState(job.state),
        submitted_unix_s=since,
        arrival_s=0.0,
        deadline_s=job.deadline_s,
        started_s=None if started is None else started - since,
        ended_s=None if ended is None else ended - since,
        response_s=None if ended is None else ended - since,
        waiting_s=waited,
        waiting=Waiting(**dict.fromkeys(Waiting.model_fields, 0.0)),
        reconfiguring_s=0.0,
        running_s=ran,
        reconfigurations=0,
        reuses=0,
        preemptions=len(job.moves),
        progress=Progress(done=job.done, total=job.batch),
        estimate=estimate,
        error=JobError(**{"task": None, "item": None, **job.error}) if job.error else None,
        kernel=Kernel.model_validate(job.kernel) if job.kernel else None,
        outputs={name: f"{here}/outputs/{quote(name)}" for name in names},
        computed=all(part.computed for part in job.parts),
        unchecked=sorted({module for part in job.parts for module in part.unchecked}),
        form="",
        labels=dict(job.request.get("labels", {})),
        after=referenced_jobs(Condition.SUCCESS, job.after, told),
        afterany=referenced_jobs(Condition.END, job.after, told),
        afternotok=referenced_jobs(Condition.FAILURE, job.after, told),
        retries=None,
        retried=len(job.moves),
        **_echoed(job, told),
        cancellation=None
        if asked is None
        else Cancellation(
            asked_unix_s=asked,
            effective_s=asked - since if cancelled else None,
            effective_unix_s=asked if cancelled else None,
            outcome="cancelled" if cancelled else "too-late" if job.is_ended else "pending",
        ),
        ended_unix_s=ended,
        collected_unix_s=job.collected_unix_s,
        array=None
        if job.array is None
        else JobArrayPlace(id=told(job.array.id), index=job.array.index, size=job.array.size),
        links={"self": here, "events": f"{here}/events"},
    )


def _echoed(job: PoolJob, told: Callable[[int], int]) -> dict[str, Any]:
    """Options as they were asked for, with the number that a job is told as."""
    found = {name: job.request.get(name, option.default) for name, option in ECHOED.items()}
    partner = found["same_board_as"]
    return {**found, "same_board_as": None if partner is None else told(partner)}


OF_ALL = ("makespan_s", "bound_s")
"""Of what a placement was decided on: what the jobs of all tenants would take that waited then."""


def explain_placement(
    job: PoolJob, number: int, everyone: bool, keeps: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Why a job is where it is: `why` its last placement was decided on, and `moves` it made.

    Args:
        number: What it is told as.
        everyone: Whether what others had waiting then is told as well.
        keeps: What keeps boards from having it, while it waits for one.
    """
    return {
        "id": number,
        "state": job.state,
        "board": job.board,
        "token": job.token,
        "given_bps": job.bps,
        "keeps": [*keeps],
        "why": {name: value for name, value in job.why.items() if everyone or name not in OF_ALL},
        "moves": [dict(move) for move in job.moves],
        "parts": [
            {
                "first": part.first,
                "items": part.items,
                "board": part.board,
                "started_unix_s": part.started_unix_s,
                "ended_unix_s": part.ended_unix_s,
                "sent_bytes": part.sent_bytes,
            }
            for part in job.parts
        ],
    }


def render_quota(tenant: PoolTenant, most_bytes: int) -> dict[str, Any]:
    """Bounds of a tenant as a board shows them; null for what has no bound over the pool. `most_bytes` it may keep."""
    bounds = {
        "max_jobs": tenant.max_jobs,
        "max_priority": tenant.max_priority,
        "max_blob_bytes": most_bytes,
        "max_requests_per_s": tenant.max_requests_per_s,
        "max_slot_s": tenant.max_slot_s,
        "max_core_s": tenant.max_core_s,
        "max_leases": 0,
        "max_lease_s": 0.0,
    }
    return {**dict.fromkeys(QuotaSubmission.model_fields), **bounds}


def render_explanation(
    job: PoolJob, number: int, now_unix_s: float, estimate: ExpectedTimes | None, unmet_options: str = ""
) -> Explained:
    """A job explained as a board does it, as far as a pool knows: what happened in slots is its boards' matter.

    Args:
        number: What it is told as.
        now_unix_s: Wall time.
        estimate: Its start and end, where they can be told.
        unmet_options: What it asks of boards that none meets now, in words; "" where that is not why it waits.
    """
    at_s = (now_unix_s if job.ended_unix_s is None else job.ended_unix_s) - job.submitted_unix_s
    life_ns = max(round(NS * at_s), 0)
    begun = life_ns if job.started_unix_s is None else round(NS * (job.started_unix_s - job.submitted_unix_s))
    waited_ns = min(max(begun, 0), life_ns)
    ran_ns = min(round(NS * sum(part.ended_unix_s - part.started_unix_s for part in job.parts)), life_ns - waited_ns)
    parts = {"board": waited_ns, "running": ran_ns, "between parts": life_ns - waited_ns - ran_ns}
    wait = None if job.is_ended else _waits(job, unmet_options)
    ended = f" until it ended as {job.state}" if job.is_ended else ", and it has not ended"
    life_s, waited_s, ran_s = life_ns / NS, waited_ns / NS, ran_ns / NS
    went = f"{waited_s:.3g} s before a board began it, {ran_s:.3g} s on boards, the rest between its parts"
    words = [f"{life_s:.3g} s went by{ended}: {went}."]
    words += [f"It was taken from board {move['from']}: {move['because']}." for move in job.moves]
    if job.board:
        words.append(f"Board {job.board} {'had it' if job.is_ended else 'has it'} last.")
    return Explained(
        job=number,
        state=JobState(job.state),
        at_s=at_s,
        wait=wait,
        life_ns=life_ns,
        spent=[Spent(cause=cause, ns=ns) for cause, ns in parts.items() if ns],
        loads_ns=0,
        items_ns=ran_ns,
        preempted=[],
        would_help=[],
        estimate=estimate,
        words=[*words, *([wait.words] if wait else [])],
    )


def _waits(job: PoolJob, unmet_options: str) -> WaitShown:
    """What a job waits for that has not ended."""
    if job.state == QUEUED:
        if job.after:
            return WaitShown(
                cause="predecessor", words="It waits for the jobs it comes after, or for a board with room."
            )
        if unmet_options:
            return WaitShown(cause="constraint", words=f"No board meets what it asks for: {unmet_options}.")
        most = job.max_running
        bound = "" if most is None else f"; boards have {most} of its array at once at most"
        return WaitShown(cause="board", words=f"It waits for a board with room{bound}.")
    if job.state == PLACED:
        return WaitShown(cause="inputs", words=f"It waits for its inputs, or its turn, on board {job.board}.")
    return WaitShown(cause="items", words=f"{job.done} of {job.batch} items are committed; board {job.board} runs it.")


def render_trial(job: PoolJob, estimate: ExpectedTimes | None, takes_s: float) -> DryRun:
    """What a submission would be, as a board shows it; its slots and cores are told by boards.

    Args:
        job: It, not submitted.
        estimate: Its start and end in seconds from now; None where no board that is there can run it.
        takes_s: Seconds it would take there.
    """
    kernel = bool(job.request.get("kernel"))
    return DryRun(
        admitted=True,
        application="" if kernel else job.work,
        batch=job.batch,
        pool=(Pool.GPU if kernel else Pool.PIPELINE).value,
        slot_seconds=takes_s,
        core_seconds=None if kernel else 0.0,
        loads=[],
        estimate=estimate,
    )
